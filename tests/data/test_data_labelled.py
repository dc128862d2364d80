"""Texts with labels from files: fastText's form and two columns, read as `HashedText` reads the same texts."""

import gzip
import io
import json
import re
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perceptrons.data import DataFileError, stream
from perceptrons.features import HashedText
from tests.reference import labelled as reference

TEXTS = ["Free entry, WIN a prize!", "see you at home", "Ça va? Ça va.", "", "prize prize prize"]
LABELS = ["spam", "ham", "ham", "ham", "spam"]
FASTTEXT = "".join(f"__label__{label} {text}\n" for label, text in zip(LABELS, TEXTS, strict=True)).encode()
TABBED = "".join(f"{label}\t{text}\n" for label, text in zip(LABELS, TEXTS, strict=True)).encode()
BOTH = pytest.mark.parametrize("content", [FASTTEXT, TABBED], ids=["fasttext", "tab"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("labelled")


def reader(folder, content, name="a.ft", **options):
    """A reader of a file with this content."""
    path = folder / name
    path.write_bytes(content)
    return stream(
        path,
        format="text",
        many_classes=True,
        **{"on_error": "raise", "text_labels": False, "need_labels": True} | options,
    )


def joined(blocks):
    """All rows as one matrix, labels (a sorted tuple for each where there may be several), and lines."""
    width = blocks[-1].X.shape[1]
    parts = [sp.csr_matrix((b.X.data, b.X.indices, b.X.indptr), (b.X.shape[0], width)) for b in blocks]
    labelled = all(block.y is not None for block in blocks)
    y = [label for block in blocks for label in labels_of(block)] if labelled else None
    return sp.vstack(parts), y, np.concatenate([block.lines for block in blocks]).tolist()


def labels_of(block):
    if block.sets is None:
        return block.y.tolist()
    return [tuple(block.classes[row.indices].tolist()) for row in block.y]


def same(X, Y):
    """The same matrix, in the same order of columns within rows."""
    assert X.shape == Y.shape
    assert X.indptr.tolist() == Y.indptr.tolist()
    assert X.indices.tolist() == Y.indices.tolist()
    assert X.data.tolist() == Y.data.tolist()


# ---- what is read


@BOTH
def test_rows_are_those_of_hashed_text_and_labels_as_written(folder, content):
    reading = reader(folder, content)
    X, y, lines = joined(list(reading))
    same(X, HashedText().transform(TEXTS))
    assert y == LABELS
    assert lines == [1, 2, 3, 4, 5]
    assert reading.recipe()["form"] == ("fasttext" if content is FASTTEXT else "tab")
    assert reading.columns.name_of(int(X[1].indices[0])) == ["see"]


@BOTH
def test_texts_are_cut_as_their_transformer_says(folder, content):
    text = HashedText(bits=12, words=(1, 2), chars=(2, 3), values="count", norm=None, signed=False, lowercase=False)
    same(joined(list(reader(folder, content, text=text)))[0], text.transform(TEXTS))
    same(joined(list(reader(folder, content, text=text, hash_bits=8)))[0], text.set_params(bits=8).transform(TEXTS))


def test_a_label_may_stand_anywhere_in_fasttexts_form(folder):
    content = b"__label__a one two\nthree __label__b four __label_ x__label__y\n five six\t__label__a \n"
    X, y, _ = joined(list(reader(folder, content, text=HashedText(words=(1, 2)))))
    assert y == ["a", "b", "a"]
    same(X, HashedText(words=(1, 2)).transform(["one two", "three four __label_ x__label__y", "five six"]))


def test_a_label_before_a_tab_may_have_spaces_and_a_text_may_have_tabs(folder):
    X, y, _ = joined(list(reader(folder, b" New York \tbig\tapple\nRome\t eternal\n")))
    assert y == ["New York", "Rome"]
    same(X, HashedText().transform(["big apple", "eternal"]))


def test_whole_numbers_as_labels_are_numbers_unless_text_is_asked_for(folder):
    content = b"__label__1 a\n__label__2 b\n"
    assert joined(list(reader(folder, content)))[1] == [1, 2]
    assert joined(list(reader(folder, content, text_labels=True)))[1] == ["1", "2"]


def test_lines_without_a_label_are_texts_where_no_labels_are_needed(folder):
    plain = b"one two\nthree\n"
    for form in (None, "tab", "fasttext"):
        blocks = list(reader(folder, plain, need_labels=False, form=form))
        assert [block.y for block in blocks] == [None]
        same(blocks[0].X, HashedText().transform(["one two", "three"]))
    mixed = list(reader(folder, b"a\tone\ntwo\n\tthree\n", need_labels=False))
    assert [block.y for block in mixed] == [None]
    same(mixed[0].X, HashedText().transform(["one", "two", "three"]))
    assert joined(list(reader(folder, TABBED, need_labels=False)))[1] == LABELS


def test_the_form_of_the_first_line_holds_for_all_files(folder):
    (folder / "first.ft").write_bytes(b"\n  \n__label__a one\n")
    (folder / "second.ft").write_bytes(b"b\ttwo\n")
    paths = (folder / "first.ft", folder / "second.ft")
    with pytest.raises(DataFileError, match=r"second\.ft:1:1: there is no label .a word that begins with __label__"):
        list(stream(*paths, format="text", many_classes=True, on_error="raise", text_labels=False, need_labels=True))


# ---- columns


@BOTH
def test_without_hashing_words_get_columns_in_their_order_of_coming(folder, content, monkeypatch):
    monkeypatch.setattr("perceptrons.data.source.PIECE", 30)
    reading = reader(folder, content, hash_bits=0)
    blocks = list(reading)
    widths = [block.X.shape[1] for block in blocks]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1] == reading.n_features
    vocabulary = HashedText(bits=None).fit(TEXTS)
    assert reading.columns.names() == list(vocabulary.vocabulary_)
    assert reading.columns.counts.tolist() == vocabulary.counts_.tolist()
    same(joined(blocks)[0], vocabulary.transform(TEXTS))
    same(joined(list(reading))[0], vocabulary.transform(TEXTS))


@pytest.mark.parametrize("hash_bits", [0, 9])
def test_columns_of_a_model_are_used_as_they_are(folder, hash_bits):
    reading = reader(folder, FASTTEXT, hash_bits=hash_bits, text=HashedText(seed=3))
    X, *_ = joined(list(reading))
    columns, names = reading.columns, reading.columns.names()
    columns.frozen = True
    recipe = json.loads(json.dumps(reading.recipe()))
    text = HashedText(**recipe["text"])
    more = reader(
        folder, FASTTEXT + b"unheard words\n", columns=columns, text=text, form=recipe["form"], need_labels=False
    )
    Y, *_ = joined(list(more))
    same(Y[:-1], X)
    assert Y[-1].nnz == (2 if hash_bits else 0)
    assert columns.names() == names
    with pytest.raises(ValueError, match="the columns have"):
        reader(folder, FASTTEXT, hash_bits=11, columns=columns)


@BOTH
def test_a_recipe_reads_other_files_alike_and_what_is_known_can_be_kept(folder, content):
    text = HashedText(bits=np.int64(10), words=(1, 2), values="binary", seed=5)
    reading = reader(folder, content, text=text, text_labels=True)
    X, *_ = joined(list(reading))
    recipe = json.loads(json.dumps(reading.recipe()))
    same(joined(list(stream(folder / "a.ft", **recipe)))[0], X)
    other = stream(folder / "a.ft", **recipe)
    facts, arrays = reading.learned_state()
    other.restore(json.loads(json.dumps(facts)), arrays)
    assert other.columns.names() == reading.columns.names()
    assert other.n_features == 2**10


def test_options_that_do_not_go_together_are_refused(folder):
    with pytest.raises(ValueError, match="form='csv': choose 'fasttext', 'tab' or 'files'"):
        reader(folder, FASTTEXT, form="csv")
    with pytest.raises(ValueError, match="min_count"):
        reader(folder, FASTTEXT, text=HashedText(bits=None, min_count=2))
    with pytest.raises(ValueError, match="words"):
        reader(folder, FASTTEXT, text=HashedText(words=(2, 1)))


# ---- against the reference

PARTS = [
    b"__label__", b"__label__a", b"__label__b", b"__label", b"_", b" ", b" ", b"\t", b"\t", b"\r", b"\n", b"\n", b"\0",
    b"\x0b", b"\x1c", b"a", b"B", b"one two", b"\xc3\x9f", b"\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82",
    b"\xc0\x80", b"\xf0\x9f\x98\x80", b"nan", b"\xef\xbb\xbf",
]  # fmt: skip
CONTENTS = st.one_of(st.lists(st.sampled_from(PARTS), max_size=25).map(b"".join), st.binary(max_size=40))
PACKED = (b"\x1f\x8b", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd")


def is_sound(label):
    """Is it a label, and no number that is none? NumPy forgets NUL at the end of strings."""
    return label.lower().lstrip("+-") not in ("nan", "inf", "infinity") and "\0" not in label


@settings(max_examples=300, deadline=None)
@given(CONTENTS, st.sampled_from([None, "fasttext", "tab"]), st.booleans())
@example(b"__label__a __label____label__", None, False)
@example(b"__label__b x __label__a y __label__b\nz\n__label__nan __label__a\n__label__a __label__\n", None, True)
@example(b"no label here\n__label__a x\n", None, True)
@example(b"__label__a x\n__label__b\xf4\x8f\xbf\xbf \xee\x80\x80\xed\x9f\xbf\n", None, True)
def test_any_bytes_are_read_as_by_the_reference_or_refused(folder, content, form, need_labels):
    if content.startswith(PACKED):
        return
    reading = reader(folder, content, form=form, need_labels=need_labels, on_error="skip", text_labels=True)
    blocks = list(reading)
    content = content.removeprefix(b"\xef\xbb\xbf")
    examples, n_bad = [], 0
    for number, line in enumerate(content.split(b"\n"), 1):
        try:
            one = reference.read_line(line, form or reference.form_of(content))
        except ValueError:
            n_bad += 1
            continue
        if one is not None:
            examples.append((number, *one))
    several = need_labels and any(len(labels) > 1 for _, labels, _ in examples)  # of one label each, if nobody asks
    if need_labels and not several:
        n_bad += sum(not labels for _, labels, _ in examples)
        examples = [one for one in examples if one[1]]
    labelled = several or all(len(labels) == 1 for _, labels, _ in examples)
    if labelled:
        sound = [one for one in examples if all(map(is_sound, one[1]))]
        examples, n_bad = sound, n_bad + len(examples) - len(sound)
    answers = [tuple(sorted(set(labels))) if several else labels[0] for _, labels, _ in examples if labelled]
    assert reading.skipped == n_bad
    for complaint in reading.complaints:
        assert re.fullmatch(r".*a\.ft:\d+:\d+: .+", complaint), complaint
    assert len(blocks) == (len(examples) > 0)
    if blocks:
        X, y, lines = joined(blocks)
        assert lines == [number for number, _, _ in examples]
        assert y == (answers if labelled else None)
        same(X, HashedText().transform([text for _, _, text in examples]))


def test_what_is_utf8_is_what_python_says(folder):
    """All sequences of two bytes, and those of three and four at the bounds, with a letter before and behind."""
    edges = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5]
    byte = [bytes([value]) for value in range(256) if value != 10]
    tries = [a + b for a in byte for b in byte]
    tries += [bytes([a, b, c, d]) for a in edges for b in edges for c in (0x41, 0x7F, 0x80, 0xBF, 0xC0) for d in edges]
    reading = reader(folder, b"".join(b"l\ta" + middle + b"z\n" for middle in tries), on_error="skip")
    lines = joined(list(reading))[2]

    def is_utf8(middle):
        try:
            return bool(middle.decode())
        except UnicodeDecodeError:
            return False

    assert lines == [number for number, middle in enumerate(tries, 1) if is_utf8(middle)]


# ---- files as they are


@BOTH
def test_blocks_do_not_depend_on_threads_or_where_bytes_come_from(folder, content, monkeypatch):
    content = content * 5
    monkeypatch.setattr("perceptrons.data.source.PIECE", 60)
    for bits in (0, 12):
        wanted = list(reader(folder, content, hash_bits=bits))
        assert len(wanted) > 5

        def alike(blocks, wanted=wanted):
            for block, other in zip(blocks, wanted, strict=True):
                same(block.X, other.X)
                assert block.y.tolist() == other.y.tolist()
                assert block.lines.tolist() == other.lines.tolist()

        reading = reader(folder, content, hash_bits=bits)
        alike(list(reading))
        alike(list(reading))
        alike(list(reader(folder, gzip.compress(content), name="a.ft.gz", hash_bits=bits)))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
            shared = {"on_error": "raise", "text_labels": False, "need_labels": True}
            alike(list(stream("-", format="text", many_classes=True, hash_bits=bits, **shared)))
            for threads in (1, 3):
                patch.setattr("perceptrons.engine.streaming.threads.cores", lambda n=threads: n)
                alike(list(reader(folder, content, hash_bits=bits)))


@BOTH
@pytest.mark.parametrize("piece", [1, 13, 64])
def test_rows_do_not_depend_on_the_cut_into_pieces(folder, content, monkeypatch, piece):
    wanted = joined(list(reader(folder, content)))
    monkeypatch.setattr("perceptrons.data.source.PIECE", piece)
    got = joined(list(reader(folder, content)))
    same(got[0], wanted[0])
    assert got[1:] == wanted[1:]


@BOTH
@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.replace(b"\n", b"\r\n"),
        lambda content: b"\xef\xbb\xbf" + content,
        lambda content: content.rstrip(b"\n"),
        lambda content: b" \n" + content.replace(b"\n", b"\n\n  \n\t\r\n\0\n"),
        lambda content: content.replace(b"a ", b"a\0"),
    ],
    ids=["crlf", "bom", "last newline", "empty lines", "nul"],
)
def test_line_ends_byte_order_marks_and_empty_lines_change_nothing(folder, content, change):
    X, y, _ = joined(list(reader(folder, content)))
    again = joined(list(reader(folder, change(content))))
    same(again[0], X)
    assert again[1] == y


def test_a_line_of_ten_megabytes_is_read(folder):
    text = " ".join(f"word{k % 5000}" for k in range(1_100_000))
    content = f"__label__a {text}\n__label__b short\n".encode()
    X, y, _ = joined(list(reader(folder, content, hash_bits=0)))
    assert y == ["a", "b"]
    assert np.diff(X.indptr).tolist() == [5000, 1]


# ---- bad lines

REFUSED = [
    ("fasttext", b"no label", 1, "there is no label (a word that begins with __label__): add"),
    ("fasttext", b"x__label__a no label", 1, "there is no label"),
    ("fasttext", "é __label__a b __label__".encode(), 16, "__label__ without a name"),
    ("fasttext", b"a __label__ b", 3, "__label__ without a name"),
    ("fasttext", "__label__a é".encode() + b"\xffb", 13, "byte 0xff is not UTF-8"),
    ("fasttext", b"__label__inf a", 1, "'inf' is not a label:"),
    ("tab", b"no tab", 1, "there is no tab between a label and a text"),
    ("tab", b"no tab __label__a", 1, "form='fasttext'"),
    ("tab", b" \tno label", 1, "there is no label before the tab"),
    ("tab", b"a\tb\xe2\x82", 4, "byte 0xe2 is not UTF-8"),
]


@pytest.mark.parametrize(("form", "line", "column", "about"), REFUSED)
def test_a_bad_line_is_refused_with_its_place(folder, form, line, column, about):
    good = b"__label__a b" if form == "fasttext" else b"a\tb"
    content = good + b"\n\n" + line + b"\n" + good + b"\n"
    with pytest.raises(DataFileError) as caught:
        list(reader(folder, content))
    message = str(caught.value)
    assert message.startswith(f"{folder / 'a.ft'}:3:{column}: "), message
    assert about in message
    assert "\n" not in message
    reading = reader(folder, content, on_error="skip")
    assert [block.X.shape[0] for block in reading] == [2]
    assert reading.skipped == 1
    assert reading.complaints == [message]


def test_blocks_before_the_first_bad_line_are_given(folder, monkeypatch):
    monkeypatch.setattr("perceptrons.data.source.PIECE", 4)
    blocks = iter(reader(folder, b"a\tb\nc\td\nbad\nworse\n"))
    assert [next(blocks).y.tolist() for _ in range(2)] == [["a"], ["c"]]
    with pytest.raises(DataFileError, match=r"a\.ft:3:1: "):
        next(blocks)


def test_a_file_without_lines_has_no_blocks(folder):
    for content in (b"", b"\n\n", b" \r\n\t"):
        reading = reader(folder, content)
        assert list(reading) == []
        assert reading.recipe()["form"] is None
