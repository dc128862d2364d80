"""Interactions of namespaces in VW's files (-q, --cubic): the same features, columns and values as VW has."""

import io
import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perceptrons
from perceptrons import Perceptron
from perceptrons.data import DataFileError, read, stream, vw
from tests.data.test_data_vw import FEATURES, HEADS, NAMES, pairs, summed
from tests.reference import vw as reference
from tests.support.vw_audit import ASKED, LINES, audit, read_audit

RECORDED = read_audit((Path(__file__).parent / "vw_audit.txt").read_text())


def table(lines, **options):
    text = lines if isinstance(lines, str) else "".join(f"{line}\n" for line in lines)
    return read(io.StringIO(text), format="vw", **options)


def asked_of(text):
    """VW's arguments as options of `stream`."""
    words, found = text.split(), {}
    for name, value in zip(words[::2], words[1::2], strict=True):
        found.setdefault({"-q": "quadratic", "--cubic": "cubic"}[name], []).append(value)
    return found


def same(X, i, wanted, about):
    got, wanted = dict(pairs(X, i)), dict(summed(wanted))
    assert set(got) == set(wanted), about
    np.testing.assert_allclose([got[column] for column in wanted], list(wanted.values()), rtol=1e-5, err_msg=about)


# ---- as VW has them


@pytest.mark.parametrize("asked", ASKED)
def test_columns_and_values_are_those_that_vw_printed(asked):
    found = table(LINES, hash_bits=12, **asked_of(asked))
    for i, features in enumerate(RECORDED[asked]):
        same(found.X, i, [(column, value) for _, column, value in features], f"{asked}: {LINES[i]}")


def test_names_are_those_that_vw_printed():
    vw = {"user^": "user^:0", "x^a*b": "x^a|*b", "x^is^red": "x^is:red"}  # what is otherwise, so that names differ
    for asked, rows in RECORDED.items():
        columns = table(LINES, hash_bits=12, **asked_of(asked)).columns
        known = dict(zip(columns.names(), columns.columns.tolist(), strict=True))
        features = {name: column for row in rows for name, column, _ in row}
        plain = [name for name in features if "*" not in name or name == "x^a*b"]
        for name, column in features.items():
            parts = [part for part in re.split(rf"({'|'.join(map(re.escape, plain))})(?:\*|$)", name) if part]
            assert known["*".join(vw.get(part, part) for part in parts)] == column, name
        assert len(known) == len(features)


@pytest.mark.slow
def test_lines_by_chance_are_read_as_vw_reads_them_now(tmp_path, rng):
    pytest.importorskip("vowpalwabbit", reason="vowpalwabbit is not installed (pip install '.[bench]')")
    letters, names = [" ", "a", "b", "c", "aa", "~z", "1"], ["x", "y", "17", "x:2", "y:-.5", "z:red", ":3", "w:0"]
    lines = []
    for _ in range(40):
        spaces = rng.choice(letters, rng.integers(1, 5))
        parts = [f"|{space.strip()} {' '.join(rng.choice(names, rng.integers(0, 5)))} " for space in spaces]
        lines.append(f"1 {''.join(parts)}|q always")  # of a line without a feature VW prints nothing
    alphabet = ["a", "b", "c", ":", "~", "\\x20", "1"]
    asked = [
        " ".join(
            ["-q " + "".join(rng.choice(alphabet, 2)) for _ in range(rng.integers(0, 3))]
            + ["--cubic " + "".join(rng.choice(alphabet, 3)) for _ in range(rng.integers(1, 3))]
        )
        for _ in range(60)
    ]
    path = tmp_path / "lines.vw"
    path.write_text("".join(f"{line}\n" for line in lines))
    found = read_audit(audit(path, asked))
    assert len(found) == len(set(asked))
    for text, rows in found.items():
        got = table(lines, hash_bits=12, **asked_of(text))
        assert len(rows) == len(lines)
        for i, features in enumerate(rows):
            same(got.X, i, [(column, value) for _, column, value in features], f"{text}: {lines[i]}")


# ---- against the reference

TERMS = st.text(":abf ", min_size=2, max_size=2)
CUBIC = st.text(":abf ", min_size=3, max_size=3)
SPACES = st.lists(
    st.tuples(st.sampled_from(["", "a", "b", "ab", "f"]) | NAMES, st.lists(FEATURES, max_size=4)).map(
        lambda part: f"|{part[0]} {' '.join(part[1])} "
    ),
    min_size=1,
    max_size=4,
).map("".join)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(HEADS, SPACES).map("".join), min_size=1, max_size=5),
    st.lists(TERMS, max_size=3), st.lists(CUBIC, max_size=2), st.sampled_from([0, 6, 18]),
)  # fmt: skip
def test_any_lines_are_read_as_by_the_reference(lines, quadratic, cubic, hash_bits):
    reader = stream(
        io.BytesIO("".join(f"{line}\n" for line in lines).encode()), format="vw", on_error="skip", text_labels=True,
        quadratic=quadratic, cubic=cubic, hash_bits=hash_bits, many_classes=True,
    )  # fmt: skip
    blocks = list(reader)
    terms, sound, names = [text.encode() for text in (*quadratic, *cubic)], [], {}
    for line in lines:
        try:
            plain = reference.read_line(line.encode()).features
        except ValueError:
            continue
        made = reference.interactions(line.encode(), terms)
        if terms:
            plain = [(name.replace(b"*", b"|*"), h, value) for name, h, value in plain]
        for name, h, _ in (*plain, *made):
            names.setdefault(name, h)
        if any(abs(value) > reference.LARGEST for _, _, value in made):
            continue
        sound.append([*plain, *made])
    assert sum(len(block.lines) for block in blocks) == len(sound)
    if not sound:
        return
    _, arrays = reader.columns.state()
    text = arrays["arena"].tobytes()
    known = {text[a:b]: k for k, (a, b) in enumerate(pairwise(arrays["ends"].tolist()))}
    assert set(known) == set(names)
    where = known if hash_bits == 0 else {name: h % 2**hash_bits for name, h in names.items()}
    assert reader.columns.columns.tolist() == [where[name] for name in known]
    rows = [(block.X, i) for block in blocks for i in range(block.X.shape[0])]
    for (X, i), features in zip(rows, sound, strict=True):
        same(X, i, [(where[name], value) for name, _, value in features], "")


# ---- names


def test_every_feature_has_a_name_of_its_own():
    found = table(["1 | a b a*b a|*b |n x*y |n|x z", "2 | b"], quadratic=["  ", " n"], hash_bits=0)
    names = found.columns.names()
    assert len(set(names)) == len(names)
    assert {"a*b", "a|*b", "a*a|*b", "a*n^x|*y"} <= set(names)


def test_without_interactions_names_stay_as_they_were():
    assert table(["1 |n a*b", "2 |n c"]).columns.names() == ["n^a*b", "n^c"]


def test_inspect_and_collisions_name_interactions(run, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{1 if a == b else -1} |u u{a} |i i{b}\n" for a, b in rng.integers(0, 3, (200, 2)).tolist()]
    (tmp_path / "x.vw").write_text("".join(lines))
    saved = tmp_path / "m"
    how = ["train", tmp_path / "x.vw", "--test-share", 0, "--epochs", 20, "-o", saved, "--json"]
    assert json.loads(run(*how)[1])["train_accuracy"] < 0.8  # no plane separates them
    assert json.loads(run(*how, "-q", "ui")[1])["train_accuracy"] == 1.0
    told = json.loads(run("inspect", saved, "--json", "--top", 20)[1])
    weights = {one["feature"]: one["weight"] for one in told["weights"][-1]["weights"]}
    assert all(weights[f"u^u{k}*i^i{k}"] > 0 for k in range(3))
    assert told["source"]["quadratic"] == ["ui"]
    run("train", tmp_path / "x.vw", "-q", "ui", "--hash-bits", 2, "--epochs", 1, "-o", saved, "--quiet")
    assert re.search(r"\*i\^i\d", run("inspect", saved, "--collisions")[1])


# ---- streams, models, recipes


def some_lines(n, rng):
    parts = ["|a x{} y{}:2 ", "|b z{}:.5 w{} ", "| p{} q{} "]
    return [f"{rng.integers(0, 2)} " + "".join(part.format(*rng.integers(0, 9, 2)) for part in parts) for _ in range(n)]


@pytest.mark.parametrize("hash_bits", [18, 0])
def test_blocks_are_small_and_rows_do_not_depend_on_them(monkeypatch, rng, hash_bits):
    lines = some_lines(60, rng)
    whole = table(lines, quadratic=["::"], cubic=["ab:"], hash_bits=hash_bits)
    monkeypatch.setattr(vw, "FEATURES_PER_PIECE", 100)
    text = io.StringIO("".join(f"{line}\n" for line in lines))
    reader = stream(text, format="vw", quadratic=["::"], cubic=["ab:"], hash_bits=hash_bits)
    blocks = list(reader)
    assert len(blocks) > 10
    assert [line for block in blocks for line in block.lines.tolist()] == list(range(1, 61))
    names, again = whole.columns.names(), reader.columns.names()
    assert again == names
    assert reader.columns.counts.tolist() == whole.columns.counts.tolist()
    rows = [(block.X, i) for block in blocks for i in range(block.X.shape[0])]
    for i, (X, row) in enumerate(rows):
        got, wanted = dict(pairs(X, row)), dict(pairs(whole.X, i))
        if hash_bits == 0:
            got, wanted = ({of[c]: x for c, x in row.items()} for of, row in ((again, got), (names, wanted)))
        assert got == wanted


def test_a_model_reads_other_lines_as_those_it_learned_from(tmp_path, rng):
    path = tmp_path / "x.vw"
    path.write_text("".join(f"{line}\n" for line in some_lines(80, rng)))
    for hash_bits in (10, 0):
        reader = stream(path, quadratic=["ab", "a "], cubic=["aab"], hash_bits=hash_bits)
        model = Perceptron().fit_stream(reader, epochs=2)
        wanted = model.decision_function(read(path, quadratic=["ab", "a "], cubic=["aab"], hash_bits=hash_bits).X)
        perceptrons.save(model, tmp_path / "m")
        again = perceptrons.load(tmp_path / "m")
        assert again.source_["quadratic"] == ["ab", "a "]
        assert again.source_["cubic"] == ["aab"]
        np.testing.assert_array_equal(again.decision_function(read(path, like=again).X), wanted)
        with pytest.raises(ValueError, match="was trained with ab, a : leave it out"):
            stream(path, like=again, quadratic=["ba"])
    with pytest.raises(ValueError, match="trained without"):
        stream(path, like=Perceptron().fit_stream(stream(path), epochs=1), quadratic=["ba"])


def test_another_interaction_is_another_cache(tmp_path, rng):
    path = tmp_path / "x.vw"
    path.write_text("".join(f"{line}\n" for line in some_lines(50, rng)))
    plain = Perceptron().fit_stream(stream(path, quadratic=["ab"]), epochs=2)
    for _ in range(2):
        kept = Perceptron().fit_stream(stream(path, quadratic=["ab"]), epochs=2, cache=tmp_path / "c")
        np.testing.assert_array_equal(kept.coef_, plain.coef_)
    other = Perceptron().fit_stream(stream(path, quadratic=["aa"]), epochs=2)
    kept = Perceptron().fit_stream(stream(path, quadratic=["aa"]), epochs=2, cache=tmp_path / "c")
    np.testing.assert_array_equal(kept.coef_, other.coef_)


# ---- limits and refusals


def test_a_line_with_too_many_interactions_is_refused(monkeypatch):
    monkeypatch.setattr(vw, "MAX_FEATURES_PER_ROW", 20)
    lines = ["1 |a x y |b z w", "2 |a " + " ".join("abcdef"), "1 |a x"]
    with pytest.raises(DataFileError, match=r":2:1: its interactions make 21 features, more than 20: name fewer"):
        table(lines, quadratic=["aa"])
    found = table(lines, quadratic=["aa"], on_error="skip")
    assert found.skipped == 1
    assert found.lines.tolist() == [1, 3]
    assert table(lines[:1], quadratic=["::"], many_classes=True).X.nnz == 4 + 10


def test_a_short_line_of_thousands_of_millions_of_interactions_is_refused_at_once():
    line = "1 |a " + " ".join(f"{k}" for k in range(20_000))
    with pytest.raises(DataFileError, match=r":1:1: its interactions make 1,333,533,340,000 features"):
        table([line], cubic=["aaa"])


def test_a_product_that_is_too_large_is_refused_by_name():
    with pytest.raises(DataFileError, match=r":1:1: 'a\^x\*b\^y' is 1e\+16, too large \(at most 1e\+13\)"):
        table(["1 |a x:1e8 |b y:1e8", "2 |a x"], quadratic=["ab"])
    assert table(["1 |a x:1e-30 |b y:1e-30", "2 |a x"], quadratic=["ab"]).X.nnz == 3  # a product of 0 is no feature


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"quadratic": ["a"]}, "^quadratic 'a': give the first letters of 2 namespaces, such as ab"),
        ({"quadratic": ["abc"]}, "^quadratic 'abc'"),
        ({"quadratic": ["é:"]}, "^quadratic 'é:'"),
        ({"cubic": ["ab"]}, "^cubic 'ab': give the first letters of 3 namespaces, such as abc"),
        ({"quadratic": [3]}, "^quadratic must be a list of texts such as 'ab', not 3"),
    ],
)
def test_what_is_no_interaction_is_refused(options, about):
    with pytest.raises(ValueError, match=about):
        table(LINES, **options)


def test_the_command_says_it_in_its_own_words(run, tmp_path):
    (tmp_path / "x.vw").write_text("1 |a x\n-1 |b y\n")
    code, _, err = run("train", tmp_path / "x.vw", "-q", "abc")
    assert code == 2
    assert "--quadratic 'abc': give the first letters of 2 namespaces" in err
    (tmp_path / "x.svm").write_text("1 1:2\n-1 1:3\n")
    assert "--quadratic does not apply to files of format 'svmlight'" in run("train", tmp_path / "x.svm", "-q", "ab")[2]


def test_a_forged_recipe_is_refused():
    from perceptrons.features.rows import check_recipe

    check_recipe({"format": "vw", "hash_bits": 3, "quadratic": ["ab"], "cubic": ["abc"]})
    for wrong in ({"quadratic": "ab"}, {"cubic": [3]}, {"cubic": {"a": 1}}):
        with pytest.raises(ValueError, match="expected"):
            check_recipe({"format": "vw", **wrong})
