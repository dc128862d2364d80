"""Vowpal Wabbit's text: what is read is what VW reads, to the column; what VW would lose or take for 0 is refused."""

import gzip
import io
import json
import re
import sys
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perceptrons.data import DataFileError, stream
from perceptrons.features import Columns
from tests.reference import vw as reference

# Lines that VW reads without a warning, and what it made of them: the weights after one pass, and of some lines the
# (column, value) pairs. Written by:
#
#     workspace = vowpalwabbit.Workspace(VW + " --quiet")
#     for line in LINES:
#         workspace.learn(line)
#     print({column: workspace.get_weight(column) for column in range(2**10) if workspace.get_weight(column)})
#     for line in LINES:
#         example = workspace.example(line)
#         print([(example.feature(space, place) % 2**10, example.feature_weight(space, place))
#                for space in range(example.num_namespaces()) for place in range(example.num_features_in(space))])
#         workspace.finish_example(example)
VW = "--noconstant --sgd --loss_function logistic -l 0.5 --power_t 0 --initial_t 1 -b 10"
LINES = [
    "1 |words good news:2 good",
    "-1 2.5 |words bad:.5 news",
    "1 0.5 0 'house_1|size:0.1 height:12 width:-3.5e0|colour is:red",
    "-1 'tag | plain 17 007 :2 :0 :1.5",
    "1 |17 3 4:2 x",
    "-1 1 tag|words good:-1  bad\tugly |words news",
    "1 3 |é ü:0.25 ß |a^b c^d:1e-3 |f |  z:+2",
    "-1 | 99999999999999999999 a^b:5. 0x10",
    "1 |size :12 height:0.000001 :red colour:blue:2",
    "-1 'x |words good news bad ugly plain",
]
WEIGHTS = {
    0: -0.5, 2: -0.375, 7: -0.25, 17: -0.25, 20: 0.25, 21: 0.5, 50: 0.75, 73: 0.1875, 107: 0.125,
    115: -0.707843005657196, 121: -0.25, 191: 0.25, 227: 0.25, 264: 0.15000025928020477, 267: -0.5968801379203796,
    344: -0.25, 535: 1.5, 594: -0.3188059628009796, 630: -1.25, 665: 0.0007499999483115971, 885: -0.20011718571186066,
    934: 0.25, 1012: 0.4185715913772583, 1016: -0.04374999925494194, 1018: 3.0, 1023: -0.25,
}  # fmt: skip
PAIRS = [
    [(1012, 1.0), (267, 2.0), (1012, 1.0)],
    [(115, 0.5), (267, 1.0)],
    [(264, 1.2000000476837158), (1016, -0.3499999940395355), (107, 1.0)],
    [(121, 1.0), (17, 1.0), (7, 1.0), (0, 2.0), (2, 1.5)],
    [(20, 1.0), (21, 2.0), (934, 1.0)],
    [(1012, -1.0), (115, 1.0), (594, 1.0), (267, 1.0)],
    [(73, 0.25), (50, 1.0), (665, 0.0009999999310821295), (535, 2.0)],
    [(1023, 1.0), (630, 5.0), (344, 1.0)],
    [(1018, 12.0), (264, 9.99999883788405e-07), (191, 1.0), (227, 1.0)],
    [(1012, 1.0), (267, 1.0), (115, 1.0), (594, 1.0), (885, 1.0)],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("vw")


def reader(folder, content, name="a.vw", **options):
    """A reader of a file with this content."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else "".join(f"{line}\n" for line in content).encode())
    return stream(
        path,
        format="vw",
        many_classes=True,
        **{"on_error": "raise", "text_labels": False, "need_labels": True} | options,
    )


def read(folder, content, **options):
    """All rows as one matrix, labels, weights and lines."""
    blocks = list(reader(folder, content, **options))
    return joined(blocks)


def joined(blocks):
    weight = [np.ones(block.X.shape[0]) if block.weight is None else block.weight for block in blocks]
    return (
        sp.vstack(
            [sp.csr_matrix((b.X.data, b.X.indices, b.X.indptr), (b.X.shape[0], blocks[-1].X.shape[1])) for b in blocks]
        ),
        np.concatenate([block.y for block in blocks]) if all(block.y is not None for block in blocks) else None,
        np.concatenate(weight),
        np.concatenate([block.lines for block in blocks]),
    )


def pairs(X, i):
    part = slice(X.indptr[i], X.indptr[i + 1])
    return list(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True))


def summed(entries):
    """The pairs with the values of one column added up, in the order of coming."""
    total = {}
    for column, value in entries:
        total[column] = total.get(column, 0.0) + value
    return list(total.items())


def plain_weights(X, y, weight):
    """What VW's plain update makes of these rows."""
    parts = [slice(begin, end) for begin, end in pairwise(X.indptr.tolist())]
    columns, values = [X.indices[part] for part in parts], [X.data[part].astype(float) for part in parts]
    return reference.plain_pass(zip(y.tolist(), weight.tolist(), columns, values, strict=True), X.shape[1], 0.5)


# ---- as VW reads it


def test_the_weights_after_a_plain_pass_are_those_that_vw_learned(folder):
    X, y, weight, _ = read(folder, LINES, hash_bits=10)
    w = plain_weights(X, y, weight)
    assert np.flatnonzero(w).tolist() == list(WEIGHTS)
    np.testing.assert_allclose(w[list(WEIGHTS)], list(WEIGHTS.values()), rtol=1e-5)


def test_columns_and_values_are_those_that_vw_read(folder):
    X, *_ = read(folder, LINES, hash_bits=10)
    for i, entries in enumerate(PAIRS):
        same_pairs(pairs(X, i), entries, LINES[i])


def same_pairs(got, wanted, line):
    """The same columns, and values as near as VW's own reading of decimals is, which rounds at every digit."""
    got, wanted = dict(got), dict(summed(wanted))
    assert set(got) == set(wanted), line
    np.testing.assert_allclose([got[column] for column in wanted], list(wanted.values()), rtol=3e-6, err_msg=line)


@pytest.fixture(scope="module")
def vw_workspace():
    """VW itself, with as many weights as the reader has by default."""
    workspace = pytest.importorskip("vowpalwabbit").Workspace("--noconstant --sgd --quiet -b 18")
    yield workspace
    workspace.finish()


def vw_reads(workspace, line):
    """The (column, value) pairs of a line, its label and its importance, by VW itself."""
    parsed = workspace.example(line)
    spaces = range(parsed.num_namespaces())
    places = [(space, place) for space in spaces for place in range(parsed.num_features_in(space))]
    entries = [(parsed.feature(*place) % 2**18, parsed.feature_weight(*place)) for place in places]
    label, importance = parsed.get_simplelabel_label(), parsed.get_simplelabel_weight()
    workspace.finish_example(parsed)
    return entries, label, importance


def test_the_weights_after_a_plain_pass_are_those_that_vw_learns_now(folder):
    workspace = pytest.importorskip("vowpalwabbit").Workspace(f"{VW} --quiet")
    for line in LINES:
        workspace.learn(line)
    weights = np.array([workspace.get_weight(column) for column in range(2**10)])
    workspace.finish()
    X, y, weight, _ = read(folder, LINES, hash_bits=10)
    np.testing.assert_allclose(plain_weights(X, y, weight), weights, rtol=1e-5)


NUMBERS = st.one_of(
    st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-20).map(repr),  # VW takes 2e-150 for infinity
    st.integers(-999, 999).map(str),
    st.sampled_from(["-.5", "1e-3", "5.", "+3", "1E+2", "-0", "0.0", ".5e2", "123456789012"]),
)
NAMES = st.one_of(
    st.text("ab^_12é-+.eE'/\x01", min_size=1, max_size=9),
    st.integers(0, 10**20).map(str),
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters=" \t\r\n|:\0"), min_size=1, max_size=5),
)
WORDS = st.text("abeEnifNI_Zé:0-", min_size=1, max_size=5)
FEATURES = st.one_of(NAMES, st.tuples(NAMES, NUMBERS | WORDS).map(":".join), (NUMBERS | WORDS).map(":{}".format))
SPACE = st.tuples(
    st.one_of(st.just(""), st.sampled_from("fg"), NAMES),
    st.one_of(st.just(""), NUMBERS.map(":{}".format)),
    st.lists(st.tuples(st.sampled_from([" ", "  ", "\t"]), FEATURES).map("".join), max_size=5).map("".join),
).map("".join)
SPACES = st.lists(SPACE.map("|{}".format), min_size=1, max_size=3).map("".join)
HEADS = st.sampled_from(["1 ", "-1  ", " 1 2 ", "1 0.5 0 ", "-1 'tag ", "1 'tag", "1 tag", "3 0 -0. 'x"])
EXAMPLES = st.tuples(HEADS, SPACES, st.sampled_from(["", " "])).map(
    lambda parts: parts[0] + "".join(parts[1]) + parts[2]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(EXAMPLES, min_size=1, max_size=20))
def test_every_line_that_is_read_is_read_as_vw_reads_it(folder, vw_workspace, lines):
    reading = reader(folder, lines, on_error="skip", text_labels=True)
    blocks = list(reading)
    if not blocks:
        assert reading.skipped == len(lines)
        return
    X, y, weight, numbers = joined(blocks)
    assert len(numbers) + reading.skipped == len(lines)
    for i, number in enumerate(numbers.tolist()):
        entries, label, importance = vw_reads(vw_workspace, lines[number - 1])
        same_pairs(pairs(X, i), entries, lines[number - 1])
        assert float(y[i]) == label
        assert weight[i] == pytest.approx(importance, rel=1e-6)


# ---- against the reference

BITS = [
    b"1", b"1 ", b" ", b"|", b"|f ", b":", b"a", b"^", b"\t", b"\r", b"'", b"e5", b"-", b".", b"nan", b"0", b"\n", b",",
    b"red", b"1e400", b"1e-400", b"1e13", b"\xff", b"\0", b"1" * 40, b".0000000000000000000001", b"-3.5e-2",
    b"\xc3\xa9",
]  # fmt: skip
CONTENTS = st.lists(
    st.one_of(
        EXAMPLES.map(str.encode), st.binary(max_size=30), st.lists(st.sampled_from(BITS), max_size=15).map(b"".join)
    ),
    max_size=4,
).map(b"\n".join)


def is_label(label):
    try:
        return label.decode().lower().lstrip("+-") not in ("nan", "inf", "infinity")
    except UnicodeDecodeError:
        return False


def wanted(content, need_labels):
    """The examples of the reference and their lines, and how many lines are bad."""
    examples, n_bad = [], 0
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            one = reference.read_line(line)
        except ValueError:
            n_bad += 1
            continue
        if one is not None and need_labels and (one.label is None or b"," in one.label):
            n_bad += 1
        elif one is not None:
            examples.append((number, one))
    labelled = all(one.label is not None and b"," not in one.label for _, one in examples)
    sound = [(number, one) for number, one in examples if not labelled or is_label(one.label)]
    return sound, n_bad + len(examples) - len(sound), labelled


@settings(max_examples=250, deadline=None)
@given(CONTENTS, st.booleans())
@example(b"1 | a:" + b"9" * 30 + b"e-20 b:0." + b"0" * 400 + b"1e400 c:-1.00000000000000000000000000000000001", True)
@example(b"1 | a:1335724900046201825547471e-15 b:-20774.03361175881028843138 c:1e-320", True)
@example(b"1 |f a:1e-46 b:1e-45 c:1e-500 d:0e999999999999 e:1e13", True)
@example(b"1 1e-320 |f a\n1 1e-20 |f a\n1 -0 |f a", True)
@example(b"1 1e-400 |f a\n1 0e5 |f a\n1 1 1e-400 |f a\n1 1 0.0 |f a\n1 -1e-400 |", True)
def test_any_bytes_are_read_as_by_the_reference_or_refused(folder, content, need_labels):
    if content.startswith((b"\x1f\x8b", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd")):  # packed, then
        return
    reading = reader(folder, content, on_error="skip", text_labels=True, need_labels=need_labels, multilabel=False)
    blocks = list(reading)
    examples, n_bad, labelled = wanted(content, need_labels)
    assert reading.skipped == n_bad
    for complaint in reading.complaints:
        assert re.fullmatch(r".*a\.vw:\d+:\d+: .+", complaint), complaint
        assert "not of the form" not in complaint, complaint
    assert len(blocks) == (len(examples) > 0)
    if not blocks:
        return
    X, y, weight, lines = joined(blocks)
    assert lines.tolist() == [number for number, _ in examples]
    assert weight.tolist() == [one.importance for _, one in examples]
    assert (y.tolist() == [one.label.decode() for _, one in examples]) if labelled else y is None
    names = {}
    for i, (_, one) in enumerate(examples):
        entries = summed((h % 2**18, value) for _, h, value in one.features)
        assert pairs(X, i) == [(column, float(np.float32(value))) for column, value in entries]
        names |= {name: h % 2**18 for name, h, _ in one.features if name not in names}
    _, arrays = reading.columns.state()
    arena, ends = arrays["arena"].tobytes(), arrays["ends"].tolist()
    kept = [arena[a:b] for a, b in pairwise(ends)]
    assert [name for name in kept if name in names] == list(names)
    assert kept == list(names) or n_bad  # lines without a label, or with several, have names too
    assert dict(zip(kept, arrays["columns"].tolist(), strict=True)).items() >= names.items()


def test_values_are_the_nearest_float32_numbers(folder, rng):
    texts = [repr(x) for x in (rng.standard_normal(2000) * 10.0 ** rng.integers(-30, 12, 2000)).tolist()]
    texts += [f"{int(x)}.{int(y)}e{z}" for x, y, z in rng.integers(0, [10**18, 10**18, 5], (2000, 3)) - [0, 0, 10]]
    X, *_ = read(folder, [f"1 | a:{text}" for text in texts])
    np.testing.assert_array_equal(X.data, np.array([float(text) for text in texts]).astype(np.float32))


# ---- names and columns


def test_features_have_names_for_people(folder):
    line = "1 |words:2 good news:3 is:red :5 |a^b c | plain a^b a:x^y"
    reading = reader(folder, [line])
    list(reading)
    assert reading.columns.names() == [
        "words^good", "words^news", "words^is:red", "words^:0", "a|b^c", "plain", "^a^b", "^a:x^y",
    ]  # fmt: skip
    assert reading.columns.name_of(reference.vw_hash(b"good", reference.vw_hash(b"words", 0)) % 2**18) == ["words^good"]


def test_features_whose_names_look_alike_have_their_own_columns(folder):
    lines = ["1 |a b^c", "1 |a^b c", "1 | a^b^c", "1 |a b:c", "1 |^ a", "1 | ^^a"]
    X, *_ = read(folder, lines)
    assert len(set(X.indices.tolist())) == len(lines)


def test_without_hashing_every_name_has_a_column_of_its_own(folder, monkeypatch):
    monkeypatch.setattr("perceptrons.data.source.PIECE", 16)
    reading = reader(folder, ["1 |f a b:2", "-1 |f b c", "1 |g a |f c:3"], hash_bits=0)
    blocks = list(reading)
    assert [block.X.shape for block in blocks] == [(1, 2), (1, 3), (1, 4)]
    assert reading.columns.names() == ["f^a", "f^b", "f^c", "g^a"]
    assert joined(blocks)[0].toarray().tolist() == [[1, 2, 0, 0], [0, 1, 1, 0], [0, 0, 3, 1]]
    columns = reading.columns
    columns.frozen = True
    again = reader(folder, ["1 |f new b:5 |g a"], hash_bits=None, columns=columns)
    assert joined(list(again))[0].toarray().tolist() == [[0, 5, 0, 1]]
    assert columns.n_columns == 4


def test_columns_of_a_model_are_used_as_they_are(folder):
    reading = reader(folder, LINES, hash_bits=10)
    first = joined(list(reading))[0]
    columns = reading.columns
    columns.frozen = True
    again = reader(folder, [*LINES, "1 |words unheard"], columns=columns)
    second = joined(list(again))[0]
    assert (second[:-1] != first).nnz == 0
    assert second.shape[1] == again.n_features == 2**10
    assert "words^unheard" not in columns.names()
    with pytest.raises(ValueError, match="columns have 10 bits"):
        reader(folder, LINES, hash_bits=12, columns=columns)


def test_a_recipe_reads_other_files_alike_and_what_is_known_can_be_kept(folder):
    reading = reader(folder, LINES, hash_bits=10, text_labels=True)
    X = joined(list(reading))[0]
    recipe = json.loads(json.dumps(reading.recipe()))
    again = stream(folder / "a.vw", **recipe)
    assert (joined(list(again))[0] != X).nnz == 0
    other = stream(folder / "a.vw", **recipe)
    facts, arrays = reading.learned_state()
    other.restore(json.loads(json.dumps(facts)), arrays)
    assert other.columns.names() == reading.columns.names()
    assert other.n_features == 2**10


# ---- labels and importances


def test_labels_are_as_written_and_numbers_if_all_look_like_it(folder):
    assert read(folder, ["1 |f a", "-1 |f a", "3.0 |f b"])[1].tolist() == [1, -1, 3]
    assert read(folder, ["spam |f a", "ham 2 |f a", "'s 1 't |f a"])[1].tolist() == ["spam", "ham", "'s"]
    assert read(folder, ["1 |f a", "2 |f a"], text_labels=True)[1].tolist() == ["1", "2"]


def test_importances_are_weights(folder, monkeypatch):
    assert [block.weight for block in reader(folder, ["1 |f a", "2 'tag|f b"])] == [None]
    assert read(folder, ["1 |f a", "2 0.25 |f b", "1 0 0 'tag |f a"])[2].tolist() == [1, 0.25, 0]
    monkeypatch.setattr("perceptrons.data.source.PIECE", 8)
    weights = [block.weight for block in reader(folder, ["1 |f a", "2 0.25 |f b"])]
    assert weights[0] is None
    assert weights[1].tolist() == [0.25]


def test_examples_without_labels_are_read_where_none_are_needed(folder):
    blocks = list(reader(folder, ["|f a", "'tag | b", "tag| b", "  |f"], need_labels=False))
    assert [block.y for block in blocks] == [None]
    assert blocks[0].X.shape[0] == 4
    assert [block.y for block in reader(folder, ["1 |f a", "|f a"], need_labels=False)] == [None]
    assert next(iter(reader(folder, ["1 |f a", "2 |f a"], need_labels=False))).y.tolist() == [1, 2]


# ---- files as they are


def test_blocks_do_not_depend_on_threads_or_where_bytes_come_from(folder, monkeypatch):
    content = b"".join(f"{line}\n".encode() for line in LINES * 3)
    monkeypatch.setattr("perceptrons.data.source.PIECE", 100)
    wanted = list(reader(folder, content))
    assert len(wanted) > 10

    def same(blocks):
        assert len(blocks) == len(wanted)
        for block, other in zip(blocks, wanted, strict=True):
            assert (block.X != other.X).nnz == 0
            assert block.X.indices.tolist() == other.X.indices.tolist()
            assert block.y.tolist() == other.y.tolist()
            assert block.lines.tolist() == other.lines.tolist()

    reading = reader(folder, content)
    same(list(reading))
    same(list(reading))
    same(list(reader(folder, gzip.compress(content), name="a.vw.gz")))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    same(list(stream("-", format="vw", many_classes=True, on_error="raise", text_labels=False, need_labels=True)))
    for threads in (1, 3):
        monkeypatch.setattr("perceptrons.engine.streaming.threads.cores", lambda n=threads: n)
        same(list(reader(folder, content)))


@pytest.mark.parametrize("piece", [1, 7, 64])
def test_rows_do_not_depend_on_the_cut_into_pieces(folder, monkeypatch, piece):
    X, y, weight, lines = read(folder, LINES)
    monkeypatch.setattr("perceptrons.data.source.PIECE", piece)
    again = read(folder, LINES)
    assert (again[0] != X).nnz == 0
    assert [part.tolist() for part in again[1:]] == [y.tolist(), weight.tolist(), lines.tolist()]


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.replace(b"\n", b"\r\n"),
        lambda content: content.replace(b"\n", b"\r\r\n"),
        lambda content: b"\xef\xbb\xbf" + content,
        lambda content: content.rstrip(b"\n"),
        lambda content: content.replace(b"\n", b"\n\n  \n\t\r\n"),
        lambda content: content.replace(b"\n", b" \n"),
    ],
    ids=["crlf", "crcrlf", "bom", "last newline", "empty lines", "spaces"],
)
def test_line_ends_byte_order_marks_and_empty_lines_change_nothing(folder, change):
    content = b"".join(f"{line}\n".encode() for line in LINES)
    X, y, weight, _ = read(folder, content)
    again = read(folder, change(content))
    assert (again[0] != X).nnz == 0
    assert (again[1].tolist(), again[2].tolist()) == (y.tolist(), weight.tolist())


def test_a_label_and_nothing_else_is_an_example(folder):
    X, y, *_ = read(folder, ["1 |", "2 |f", "1 |f:2", "2 ||"])
    assert X.nnz == 0
    assert y.tolist() == [1, 2, 1, 2]


def test_a_line_of_ten_megabytes_is_read(folder):
    line = b"1 |f " + b" ".join(b"%d:0.5" % k for k in range(1_000_000))
    X, y, *_ = read(folder, b"1 |f a\n" + line + b"\n-1 |f a\n", hash_bits=24)
    assert y.tolist() == [1, 1, -1]
    assert np.diff(X.indptr).tolist() == [1, 1_000_000, 1]
    assert set(X.data[1:-1].tolist()) == {0.5}


def test_short_features_of_a_namespace_with_a_long_name_find_room(folder):
    name = "n" * 255
    X, *_ = read(folder, [f"1 |{name} " + " ".join("abcdefgh" * 100)])
    assert X.shape[0] == 1
    assert sorted(X.data.tolist()) == [100.0] * 8


# ---- bad lines


@pytest.mark.parametrize(
    ("line", "column", "about"),
    [
        ("1 f a", 1, r"no \|"),
        ("1\t|f a", 2, "spaces"),
        ("1|f a", 1, r"'1' touches the \|"),
        ("|f a", 1, "label is missing"),
        ("'tag |f a", 1, "label is missing"),
        ("1:0.5 2:1 |f a", 1, "costs"),
        ("1,,2 |f a", 1, "there is no label here"),
        ("a\0 |f a", 1, "control character"),
        ("a\x7f |f a", 1, "control character"),
        ("1 -2 |f a", 3, "importance '-2'"),
        ("1 2e6 |f a", 3, "importance '2e6'"),
        ("1 nan |f a", 3, "importance"),
        ("1 tag |f a", 3, "begin a tag with '"),
        ("1 1 0.5 |f a", 5, "base '0.5'"),
        ("1 1 0 0 |f a", 7, "4 words"),
        ("1 |f:x a", 6, "'x' is not a number"),
        ("1 |f:1e14 a:1e-5", 6, "too large"),
        ("1 |:2 a", 4, "namespace"),
        ("1 |" + "n" * 256 + " a", 4, "more than 255 bytes"),
        ("1 |f a: 5", 8, "no number after the colon:"),
        ("1 |f a:", 8, "no number after the colon:"),
        ("1 |f a:1,5 b", 8, "'1,5' is not a number: write decimals with a point"),
        ("1 |f a:1x b", 8, "'1x' is not a number"),
        ("1 |f a:1_000", 8, "'1_000' is not a number"),
        ("1 |f a:0x10", 8, "'0x10' is not a number"),
        ("1 |f a:1:2", 8, "'1:2' is not a number"),
        ("1 |f b a:nan", 10, "'nan' is not a finite number"),
        ("1 |f a:-inf", 8, "'-inf' is not a finite number"),
        ("1 |f a:nano", 8, "'nano' is a word that VW reads as a number:"),
        (b"1 |f a:nan\xff", 8, r"'nan\\udcff' is a word that VW reads as a number:"),
        ("1 |f a:e5", 8, "'e5' is a word that VW reads as a number:"),
        ("1 |f a:1e14", 8, "too large"),
        ("1 |f:1e7 b a:1e7", 14, "too large"),
        ("1 |f a:red|g b", 8, r"touches the \|"),
        ("1 |f a\rb", 7, "carriage return"),
        ("é |ü ß:ö:ä é:1x", 14, "'1x' is not a number"),
    ],
)
def test_a_bad_line_is_refused_with_its_place(folder, line, column, about):
    content = b"1 |f a\n\n" + (line if isinstance(line, bytes) else line.encode()) + b"\n1 |f a\n"
    with pytest.raises(DataFileError) as caught:
        list(reader(folder, content))
    message = str(caught.value)
    assert message.startswith(f"{folder / 'a.vw'}:3:{column}: "), message
    assert re.search(about, message), message
    assert "\n" not in message
    assert message.encode()
    reading = reader(folder, content, on_error="skip")
    assert [block.X.shape[0] for block in reading] == [2]
    assert reading.skipped == 1
    assert reading.complaints == [message]


def test_a_long_bad_line_is_refused_at_once(folder):
    digits = "1" * 300_000  # a pattern that tries all ways to split them would take hours
    for value in (f"{digits}x", f"1e{digits}", f"nan{digits}", f"e{digits}", digits):
        with pytest.raises(DataFileError, match=r"a\.vw:1:300009: "):
            list(reader(folder, [f"1 |f {digits} a:{value}"]))


def test_blocks_before_the_first_bad_line_are_given(folder, monkeypatch):
    monkeypatch.setattr("perceptrons.data.source.PIECE", 8)
    blocks = iter(reader(folder, ["1 |f a", "2 |f b", "1 f a", "1"]))
    assert [next(blocks).y.tolist() for _ in range(2)] == [[1], [2]]
    with pytest.raises(DataFileError, match=r"a\.vw:3:1: "):
        next(blocks)


def test_a_model_of_columns_is_not_needed_to_know_the_width(folder):
    assert reader(folder, []).n_features == 2**18
    assert list(reader(folder, [])) == []
    assert isinstance(reader(folder, []).columns, Columns)
