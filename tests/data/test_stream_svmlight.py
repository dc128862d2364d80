"""Files of svmlight text in blocks: every bit as scikit-learn and the slow reader read it, whatever they come from."""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from perceptrons.data import DataFileError, source, stream
from perceptrons.engine.streaming import threads
from tests.reference import stream as reference
from tests.support.blocks import threads_end

slow_uncompiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="minutes without compiling")
often = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture
def write(tmp_path):
    """Write content to a file of the given name and return its path."""

    def written(content, name="a.svm"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


@pytest.fixture
def pieces_of(monkeypatch):
    """Cut files into pieces of so many bytes."""
    return lambda size: monkeypatch.setattr(source, "PIECE", size)


def rows(X):
    """The columns and the exact values of every row, in the order of the file."""
    cut = X.indptr[1:-1]
    columns, values = np.split(X.indices, cut), np.split(X.data, cut)
    return [(c.tolist(), [x.hex() for x in v.tolist()]) for c, v in zip(columns, values, strict=True)]


def plain(blocks):
    """Blocks as lists of rows, labels and line numbers, without the blocks that have no row."""
    return [(rows(block.X), block.y.tolist(), block.lines.tolist()) for block in blocks if block.X.shape[0]]


def expected(reading):
    """The same of a reading of the reference."""
    exact = [[(columns, [value.hex() for value in values]) for columns, values in block] for block in reading.blocks]
    return list(zip(exact, reading.labels, reading.lines, strict=True))


def read_until_it_fails(reader):
    """The blocks, and the error that ended them, or None."""
    blocks = []
    try:
        for block in reader:
            blocks.append(block)
    except DataFileError as error:
        return blocks, error
    return blocks, None


def together(reader):
    blocks = list(reader)
    width = blocks[-1].X.shape[1]
    for block in blocks:
        block.X.resize(block.X.shape[0], width)
    return sp.vstack([block.X for block in blocks], format="csr"), np.concatenate([block.y for block in blocks])


def same_as_scikit_learn(content, reader, **wanted):
    X, y = together(reader)
    theirs, labels = load_svmlight_file(io.BytesIO(content), **wanted)
    assert X.dtype == np.float64
    assert X.shape == theirs.shape
    assert np.array_equal(X.indptr, theirs.indptr)
    assert np.array_equal(X.indices, theirs.indices)
    assert np.array_equal(X.data.view(np.int64), theirs.data.view(np.int64))
    assert np.array_equal(y.astype(float), labels)


# ---- numbers

NUMBERS = [
    *("0", "-0", "+0", "00", "0.0", ".0", "0.", "-.5", "+.5", "5.", "007", "1e-3", "1E5", "1e+5", "-1e-0", "0e999"),
    *("1e22", "1e23", "-1e23", "9007199254740992", "9007199254740993", "9007199254740995", "9007199254740993.0000001"),
    *("1.7976931348623157e-308", "2.2250738585072014e-308", "2.2250738585072011e-308", "4.9406564584124654e-324"),
    *("4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-323", "1e-400", "1e-99999999999999999999"),
    *("0.1", "0.30000000000000004", "0.1234567890123456789", "12345678901234567890", "123456789012345678901234567890"),
    *("18446744073709551615", "18446744073709551616", "99999999999999999999", "1.00000000000000011102230246251565"),
    *("1.00000000000000011102230246251566", "1.00000000000000011102230246251564", "1.00000000000000033306690738754696"),
    *(
        "6.631236846766476e-316",
        "8.988465674311580e99",
        "9.999999999999999e99",
        "1e100",
        "-1e100",
        "3.5844466002796428e18",
    ),
    *("7.2057594037927933e16", "10000000000000000000000e-22", "0.000000000000000000000000000001e30", "1" + "0" * 99),
    *("0." + "0" * 400 + "1e400", "1" + "0" * 400 + "e-400", "0." + "9" * 400, "1." + "0" * 800 + "1", "5e-1000000"),
    *("8.5e-05", "1e-5", "123456e-10", "4503599627370497.5", "4503599627370496.5", "9.5367431640625e-07"),
]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_the_nearest_float(write, number):
    (block,) = stream(write(f"1 1:{number} 2:{number}\n2 1:7 2:{number}"))
    expected = np.array([float(number), float(number), 7.0, float(number)])
    assert np.array_equal(block.X.data.view(np.int64), expected.view(np.int64))


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=30), st.sampled_from(["%.16g", "%.17g", "%r", "%.3e"]))
@settings(often, max_examples=60)
@example([5e-324, 2.2250738585072011e-308, 1e22, 1e23, -0.0, 1e100], "%.17g")
def test_floats_come_back_as_they_were_written(tmp_path_factory, values, form):
    texts = [form % value for value in values]
    assume(all(abs(float(text)) <= 1e100 for text in texts))
    path = tmp_path_factory.getbasetemp() / "floats.svm"
    path.write_text("1 " + " ".join(f"{k}:{text}" for k, text in enumerate(texts, 1)) + "\n")
    (block,) = stream(path)
    assert [x.hex() for x in block.X.data.tolist()] == [float(text).hex() for text in texts]


digits = st.text("0123456789", max_size=25)
signs = st.sampled_from(["", "+", "-", "--"])
points = st.sampled_from(["", ".", ".", ".."])
letters = st.sampled_from(["", "", "e", "E", "e+", "e-", "e-30", "e+1", "d", "x", "_", "f"])
number_like = st.builds("".join, st.tuples(signs, digits, points, digits, letters, st.integers(0, 400).map(str)))


@given(st.lists(number_like, min_size=1, max_size=40))
@settings(often, max_examples=40)
@example(["9007199254740993" + "0" * 9])
def test_what_looks_like_a_number_is_that_number_or_refused(tmp_path_factory, texts):
    path = tmp_path_factory.getbasetemp() / "number.svm"
    path.write_text("".join(f"1 1:{text}\n" for text in texts))
    numbers, refused = {}, []
    for line, text in enumerate(texts, 1):
        try:
            numbers[line] = reference.number(text.encode()).hex()
        except ValueError:
            refused.append(f"{path}:{line}:3:")
    reader = stream(path, on_error="skip")
    found = {}
    for block in reader:
        found |= dict(zip(block.lines.tolist(), [x.hex() for x in block.X.data.tolist()], strict=True))
    assert found == numbers
    assert reader.skipped == len(refused)
    assert [complaint.split(" ")[0] for complaint in reader.complaints] == refused[:10]


@given(st.integers(2**52, 2**54), st.integers(-360, 99), st.integers(0, 12))
@settings(often, max_examples=150)
def test_numbers_half_way_between_two_floats_go_to_the_even_one(tmp_path_factory, mantissa, exponent, more):
    exponent = min(exponent, 60)
    low = np.ldexp(float(mantissa), exponent) if exponent > -1000 else 0.0
    high = np.nextafter(low, np.inf)
    assume(0 < high < 1e100)
    from fractions import Fraction

    half = (Fraction(low) + Fraction(high)) / 2
    places = half.denominator.bit_length() - 1  # the denominator is a power of two
    shown = str(half.numerator * 5**places)
    texts = [
        f"{shown}e-{places}",
        f"{shown}{'0' * more}1e-{places + more + 1}",
        f"{shown}{'0' * more}e-{places + more}",
    ]
    path = tmp_path_factory.getbasetemp() / "half.svm"
    path.write_text("1 " + " ".join(f"{k}:{text}" for k, text in enumerate(texts, 1)) + "\n")
    (block,) = stream(path)
    assert block.X.data.tolist() == [float(text) for text in texts]
    assert block.X.data[1] == high


@pytest.mark.parametrize(
    "token",
    [
        *(
            "nan",
            "NaN",
            "inf",
            "-inf",
            "+Infinity",
            "0x10",
            "0x1p3",
            "1_000",
            "1e",
            "1e+",
            "e5",
            ".",
            "-",
            "+",
            "",
            "--1",
        ),
        *("+-1", "1..2", "1.2.3", "1e5.", "1e5e5", "1d5", "1f", "1,5", "1:2", "1e101", "-1e101", "1.1e100", "1e999"),
        *("1" + "0" * 101, "1" * 5000, "1e99999999999999999999", "٣", "１", "1\x00", "\x001", "1\xa0", "1\u2028", "−1"),
        *(
            "1e−5",
            "1'000",
            "0b1",
            "true",
            "None",
            "''",
            '"1"',
            "1L",
            "1.5j",
            "½",
            "1%",
            "$1",
            "1e1_0",
            "0o7",
            "NA",
            "?",
        ),
    ],
)
def test_what_is_no_number_is_refused_at_its_place(write, token):
    for before, after, column in (("", "", 3), ("1:1 ", "", 7), ("", " 9:1", 3)):
        column = 1 if token in ("1\xa0", "1\u2028") else column  # spaces to some: what a word is, is not clear
        path = write(f"1 1:1\n2 {before}2:{token}{after}\n3 1:1\n")
        with pytest.raises(DataFileError) as caught:
            list(stream(path))
        assert str(caught.value).startswith(f"{path}:2:{column}: ")
        assert len(str(caught.value).splitlines()) == 1
        reader = stream(path, on_error="skip")
        (block,) = reader
        assert block.lines.tolist() == [1, 3]
        assert reader.skipped == 1
        assert len(reader.complaints) == 1
        assert reader.complaints[0].startswith(f"{path}:2:{column}: ")


@pytest.mark.parametrize(
    "token", ["+1:2", "-1:2", "1.0:2", "x:2", ":2", "1e3:2", "0x1:2", "1_0:2", "1", "a", "1:", ":", "٣:1"]
)
def test_what_is_no_feature_is_refused_at_its_place(write, token):
    path = write(f"1 1:1\n\n2 1:1 {token} 9:1\n")
    with pytest.raises(DataFileError) as caught:
        list(stream(path))
    assert str(caught.value).startswith(f"{path}:3:7: ")


@pytest.mark.parametrize(
    "line", ["1,3 1:2", "1:2 2:3", "nan 1:2", "-inf 1:2", "Infinity", "qid:3 1:2", "qid:3", " qid:3 # x", ",", "1, 1:2"]
)
def test_what_is_no_label_is_refused_at_its_place(write, line):
    path = write(f"1 1:1\n{line}\n")
    with pytest.raises(DataFileError, match=r"a\.svm:2:\d+: .*label"):
        list(stream(path, multilabel=False))


# ---- scikit-learn


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("size", [300, 2**20])
def test_files_that_scikit_learn_writes_are_read_as_scikit_learn_reads_them(write, pieces_of, rng, zero_based, size):
    pieces_of(size)
    X = sp.random(80, 1200, 0.02, format="csr", random_state=rng)
    X.data = rng.standard_normal(len(X.data)) * 10.0 ** rng.integers(-320, 99, len(X.data))
    X.indices[[0, X.indptr[1] - 1]] = 0, 1199  # so that the least and the largest index occur
    X.data[rng.random(len(X.data)) < 0.1] = 0.0
    y = rng.integers(-3, 100, 80)
    text = io.BytesIO()
    dump_svmlight_file(X, y, text, zero_based=zero_based, comment="made\nfor a test", query_id=np.arange(80))
    content = text.getvalue()
    for reader in (stream(write(content), many_classes=True),
                   stream(write(content), many_classes=True, zero_based=zero_based)):  # fmt: skip
        same_as_scikit_learn(content, reader, zero_based=zero_based)


def test_the_first_block_decides_whether_a_file_counts_from_zero(write):
    content = b"1 2:1 3:.5\n2 1:7\n"
    for zero_based in (True, False):
        same_as_scikit_learn(content, stream(write(content), zero_based=zero_based), zero_based=zero_based)
    same_as_scikit_learn(content, stream(write(content)), zero_based="auto")
    content += b"3 0:1\n"
    same_as_scikit_learn(content, stream(write(content)), zero_based="auto")


def test_a_zero_in_a_later_block_is_an_error_that_says_what_to_give(write, pieces_of):
    pieces_of(8)
    path = write("1 1:1\n2 2:1\n3 0:1\n")
    blocks, error = read_until_it_fails(stream(path))
    assert [block.X.shape for block in blocks] == [(1, 1), (1, 2)]
    assert str(error).startswith(f"{path}:3:3: ")
    assert "zero_based=True" in str(error)
    assert [block.X.shape for block in stream(path, zero_based=True)] == [(1, 2), (1, 3), (1, 3)]
    reader = stream(path, on_error="skip")
    assert len(list(reader)) == 2
    assert reader.skipped == 1


def test_a_file_that_counts_from_zero_does_so_in_every_block(write, pieces_of):
    pieces_of(8)
    blocks = list(stream(write("1 0:1\n2 2:1\n3 1:1\n")))
    assert [rows(block.X)[0][0] for block in blocks] == [[0], [2], [1]]
    assert [block.X.shape[1] for block in blocks] == [1, 3, 3]


def test_an_index_of_zero_is_refused_where_the_first_is_one(write):
    path = write("1 1:1 0:2\n")
    with pytest.raises(DataFileError, match=r"a\.svm:1:7: .*zero_based=True"):
        list(stream(path, zero_based=False))


@pytest.mark.parametrize("bits", [1, 4, 16, 22, 31])
@pytest.mark.parametrize("zero_based", [None, True, False])
def test_hashed_indices_may_have_64_bits(write, bits, zero_based):
    indices = [0, 1, 2, 2**31 - 1, 2**31, 2**32 + 5, 99999999999, 2**53 + 1, 10**18, 2**62 + 3, 2**63 - 1]
    indices = indices[1:] if zero_based is False else indices
    content = "1 " + " ".join(f"{index}:{k}" for k, index in enumerate(indices)) + "\n"
    (block,) = stream(write(content), hash_bits=bits, zero_based=zero_based)
    assert block.X.shape == (1, 2**bits)
    assert block.X.indices.tolist() == [index % 2**bits for index in indices]
    assert block.X.data.tolist() == list(range(len(indices)))


@pytest.mark.parametrize(
    "index", ["99999999999", str(2**31), str(2**32), str(2**32 + 1), str(2**63), str(2**64), "9" * 400]
)
def test_an_index_that_is_too_large_is_never_taken_for_a_small_one(write, index):
    path = write(f"1 1:1\n2 1:1 {index}:1\n")
    with pytest.raises(DataFileError, match=r"a\.svm:2:7: .*too large"):
        list(stream(path))


@pytest.mark.parametrize("index", [str(2**64), str(2**64 + 1), "9" * 40, "9" * 400])
def test_an_index_of_more_than_64_bits_is_refused_even_if_hashed(write, index):
    with pytest.raises(DataFileError, match=r"a\.svm:1:3: ") as caught:
        list(stream(write(f"1 {index}:1\n"), hash_bits=10))
    assert "67108864" not in str(caught.value), "hashed indices have another limit"


# ---- lines and habits


@pytest.mark.parametrize(
    "content",
    [
        "1 1:1 2:2\n2\n",
        "1  1:1   2:2 \n2  \n",
        "1\t1:1\t2:2\n2\t\n",
        "1 1:1 2:2\r\n2\r\n",
        "\ufeff1 1:1 2:2\n2",
        "\ufeff1 1:1 2:2\r\n2",
        "1 qid:3 1:1 2:2\n2 qid:4\n",
        "+1 01:1e0 2:+2.\n2\n",
        "1.0 1:1 2:2\n2.0\n",
        "1 1:1 2:2# a comment: 7:7\n2#\n",
        "1 1:1 2:2 # ## nan:nan ü\n2 #\n",
        "  1 1:1 2:2\n\t2\n",
    ],
)
def test_svmlight_of_every_habit_reads_the_same(write, content):
    (block,) = stream(write(content))
    assert plain([block]) == [([([0, 1], [(1.0).hex(), (2.0).hex()]), ([], [])], [1, 2], [1, 2])]
    assert block.X.shape == (2, 2)
    assert block.X.dtype == np.float64
    assert (block.y.dtype, block.lines.dtype, block.weight) == (np.int64, np.int64, None)
    assert str(block.path).endswith("a.svm")


def test_lines_without_an_example_are_counted_and_passed_over(write):
    content = "# heading\n\n1 1:1\n   \n\r\n2 1:1\n#\n3 1:1\n\n\n"
    (block,) = stream(write(content))
    assert block.lines.tolist() == [3, 6, 8]
    assert block.y.tolist() == [1, 2, 3]


def test_a_mark_of_byte_order_within_a_file_is_no_number(write):
    with pytest.raises(DataFileError, match=r"a\.svm:2:3: "):
        list(stream(write("1 1:1\n2 \ufeff2:1\n")))


def test_repeated_features_both_stand_and_add_up(write):
    (block,) = stream(write("1 3:1 1:0.25 3:2 1:.75\n"))
    assert block.X.indices.tolist() == [2, 0, 2, 0]
    assert block.X.toarray().tolist() == [[1.0, 0.0, 3.0]]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "-1"], [1, -1]),
        (["+1", "1"], [1, 1]),
        (["1.0", "2."], [1, 2]),
        (["999999999999999999", "0"], [999999999999999999, 0]),
        (["1.5", "2"], ["1.5", "2"]),
        (["01", "2"], ["01", "2"]),
        (["spam", "häm"], ["spam", "häm"]),
        (["9" * 30, "2"], ["9" * 30, "2"]),
        (["1e3", "2"], ["1e3", "2"]),
        (["a\0", "a"], ["a\0", "a"]),
    ],
)
def test_labels_are_whole_numbers_only_if_all_look_like_it(write, labels, expected):
    path = write("".join(f"{label} 1:1\n" for label in labels))
    try:
        (block,) = stream(path)
    except DataFileError:
        assert "\0" in labels[0], "only a label that an array of strings would change may be refused"
    else:
        assert block.y.tolist() == expected
        (texts,) = stream(path, text_labels=True)
        assert texts.y.tolist() == labels


def test_a_later_label_of_another_kind_is_an_error_that_says_what_to_give(write, pieces_of):
    pieces_of(8)
    path = write("1 1:1\n2 2:1\nspam 1:1\n")
    blocks, error = read_until_it_fails(stream(path))
    assert [block.y.tolist() for block in blocks] == [[1], [2]]
    assert str(error).startswith(f"{path}:3:1: ")
    assert "text_labels=True" in str(error)
    assert [block.y.tolist() for block in stream(path, text_labels=True)] == [["1"], ["2"], ["spam"]]
    assert [block.y.tolist() for block in stream(write("spam 1:1\n2 2:1\n"))] == [["spam"], ["2"]]


def test_comments_at_the_head_decide_nothing(write, pieces_of):
    pieces_of(16)
    content = "# a long heading, longer than a piece\n\n# and more of it, and more\nspam 0:1\nham 1:1\n"
    blocks = [block for block in stream(write(content)) if block.X.shape[0]]
    assert [label for block in blocks for label in block.y.tolist()] == ["spam", "ham"]
    assert together([*blocks])[0].toarray().tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("content", ["", "\n\n", "# nothing\n", "\ufeff", "\r\n", " "])
def test_a_file_without_an_example_has_no_row(write, content):
    assert plain(stream(write(content))) == []


def test_a_file_of_labels_only_has_rows_without_columns(write):
    (block,) = stream(write("1\n2 # x\n3 qid:1\n"))
    assert block.X.shape == (3, 0)
    assert block.y.tolist() == [1, 2, 3]


def test_the_number_of_features_may_be_given_and_is_then_kept(write, pieces_of):
    pieces_of(8)
    path = write("1 1:1\n2 3:1\n")
    assert [block.X.shape for block in stream(path, n_features=5)] == [(1, 5), (1, 5)]
    blocks, error = read_until_it_fails(stream(path, n_features=2))
    assert [block.X.shape for block in blocks] == [(1, 2)]
    assert str(error).startswith(f"{path}:2:3: index 3")


# ---- blocks


@pytest.mark.parametrize("end", [b"\n", b"", b"\r\n", b" "])
def test_a_file_of_just_a_piece_is_cut_alike_wherever_it_comes_from(write, pieces_of, stdin, end):
    content = b"1 1:1\n" * 4 + b"2 1:1" + end
    for size in range(len(content) - 2, len(content) + 3):
        pieces_of(size)
        wanted = expected(reference.read(content, size))
        for ending in ENDINGS[:4]:
            assert plain(stream(write(packed(content)[ending]))) == wanted
        for at_a_time in (1, 4, 99):
            stdin(content, at_a_time)
            assert plain(stream("-", format="svmlight")) == wanted


@given(
    st.lists(st.one_of(
        st.just(b""), st.just(b"#" + b"x" * 9), st.integers(1, 12).map(lambda n: b"1" + b" 3:1" * n),
        st.integers(1, 3).map(lambda n: b"2 1:%d" % n),
    ), max_size=40),
    st.integers(1, 90), st.booleans(),
)  # fmt: skip
@settings(often, max_examples=80)
def test_a_block_is_the_longest_run_of_whole_lines_in_a_piece(tmp_path_factory, lines, size, ended):
    content = b"\n".join(lines) + (b"\n" if ended else b"")
    path = tmp_path_factory.getbasetemp() / "pieces.svm"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "PIECE", size)
        blocks = [block for block in stream(path) if block.X.shape[0]]
    assert plain(blocks) == expected(reference.read(content, size))
    widths = [block.X.shape[1] for block in blocks]
    assert widths == sorted(widths)
    highest = np.maximum.accumulate([max(block.X.indices, default=-1) + 1 for block in blocks] or [0])
    assert widths == highest.tolist()[: len(widths)]


def test_blocks_are_of_about_two_megabytes(write):
    assert source.PIECE == 2**21
    line = b"1 " + b" ".join(b"%d:%d" % (k, k) for k in range(1, 1000)) + b"\n"
    content = line * (2 * 2**21 // len(line) + 9)
    cut = [piece.count(b"\n") for piece in reference.pieces(content, 2**21)]
    assert [block.X.shape[0] for block in stream(write(content))] == cut
    assert len(cut) == 3


def many_lines(rng, n=400):
    """Lines of many lengths, some with comments, some of whole numbers."""
    lines = []
    for k in range(n):
        columns = np.unique(rng.integers(1, 50 + k, rng.integers(0, 12)))
        values = rng.standard_normal(len(columns)) * 10.0 ** rng.integers(-9, 9, len(columns))
        text = " ".join(f"{c}:{v!r}" for c, v in zip(columns.tolist(), values.tolist(), strict=True))
        lines.append(f"{k % 3} {text}{' # c' if k % 7 == 0 else ''}")
        if k % 11 == 0:
            lines.append("")
    return "\n".join(lines).encode() + b"\n"


def packed(content):
    """The same content packed in every way, by the ending of a file."""
    ways = {
        "": content,
        ".gz": gzip.compress(content),
        ".xz": lzma.compress(content),
        ".bz2": bz2.compress(content),
    }
    try:
        import zstandard
    except ImportError:
        return ways
    return ways | {".zst": zstandard.ZstdCompressor().compress(content)}


ENDINGS = ["", ".gz", ".xz", ".bz2", ".zst"]


def packed_as(ending, content):
    if ending == ".zst":
        pytest.importorskip("zstandard")
    return packed(content)[ending]


@pytest.fixture
def stdin(monkeypatch):
    """Let standard input be a pipe into which a thread writes this content, some bytes at a time."""
    started = []

    def fed(content, at_a_time=1000):
        out, into = os.pipe()

        def feed():
            with os.fdopen(into, "wb", buffering=0) as pipe:
                for begin in range(0, len(content), at_a_time):
                    try:
                        pipe.write(content[begin : begin + at_a_time])
                    except BrokenPipeError:
                        return

        thread = threading.Thread(target=feed)
        text = io.TextIOWrapper(os.fdopen(out, "rb"))
        started.append((thread, text))
        monkeypatch.setattr(sys, "stdin", text)
        thread.start()

    yield fed
    for thread, text in started:
        text.close()
        thread.join(10)
        assert not thread.is_alive()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("size", [64, 1000, 2**20])
def test_files_and_pipes_packed_or_not_give_the_same_blocks(write, pieces_of, stdin, monkeypatch, rng, ending, size):
    pieces_of(size)
    content = many_lines(rng)
    if size == 64:
        content = b"\xef\xbb\xbf" + content.removesuffix(b"\n").replace(b"\n", b"\r\n")
    wanted = expected(reference.read(content, size)) if size > 64 else plain(stream(write(content)))
    assert sum(len(labels) for _, labels, _ in wanted) == 400
    data = packed_as(ending, content)
    assert plain(stream(write(data, f"b.svm{ending}"))) == wanted
    assert plain(stream(write(data, "b.svm"))) == wanted, "known by the first bytes"
    assert plain(stream(write(data, "b"), format="svmlight")) == wanted
    assert plain(stream(write(data, "b"), format="libsvm")) == wanted
    stdin(data)
    blocks = list(stream("-", format="svmlight"))
    assert plain(blocks) == wanted
    assert {str(block.path) for block in blocks} <= {"-", "<stdin>"}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert plain(stream("-", format="svmlight")) == wanted


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_packed_in_several_parts_are_read_to_the_end(write, rng, ending):
    content = many_lines(rng)
    parts = content[:3001], content[3001:3002], content[3002:]
    data = b"".join(packed_as(ending, part) for part in parts)
    assert plain(stream(write(data, f"b.svm{ending}"))) == expected(reference.read(content))


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_a_packed_file_cut_short_is_an_error_and_no_shorter_file(write, pieces_of, rng, ending):
    pieces_of(1000)
    data = packed_as(ending, many_lines(rng))
    for length in [
        1,
        2,
        5,
        10,
        20,
        len(data) // 3,
        len(data) // 2,
        *range(len(data) - 40, len(data), 3),
        len(data) - 1,
    ]:
        path = write(data[:length], f"b.svm{ending}")
        _, error = read_until_it_fails(stream(path))
        assert error is not None, length
        assert str(error).startswith(f"{path}:"), length
        assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize("ending", [".gz", ".xz", ".bz2"])
def test_a_packed_file_with_a_changed_bit_is_an_error_or_the_same(write, pieces_of, rng, ending):
    pieces_of(1000)
    content = many_lines(rng)
    wanted = plain(stream(write(content)))
    data = packed_as(ending, content)
    for place in rng.integers(10, len(data), 40):
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        blocks, error = read_until_it_fails(stream(write(bytes(changed), f"b.svm{ending}"), on_error="skip"))
        assert error is not None or plain(blocks) == wanted, place


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_a_file_that_is_not_packed_as_its_ending_says_is_read_or_refused_in_one_line(write, rng, ending):
    content = many_lines(rng)
    blocks, error = read_until_it_fails(stream(write(content, f"b.svm{ending}")))
    assert error is not None or plain(blocks) == expected(reference.read(content))


@slow_uncompiled
def test_lines_of_ten_megabytes_are_read(write, pieces_of):
    n = 1_000_000
    columns = np.arange(1, n + 1)
    line = b"1 " + b" ".join(b"%d:%d.5" % (k, k % 99) for k in range(1, n + 1)) + b"\n"
    assert len(line) > 10_000_000
    content = b"2 1:1\n" + line + b"3 2:1 #" + b"x" * 10_000_000 + b"\n" + b"4 3:1\n" + b" " * 10_000_000 + b"\n5 4:1\n"
    path = write(content)
    blocks = [block for block in stream(path) if block.X.shape[0]]
    assert np.concatenate([block.y for block in blocks]).tolist() == [2, 1, 3, 4, 5]
    assert np.concatenate([block.lines for block in blocks]).tolist() == [1, 2, 3, 4, 6]
    long = blocks[1].X
    assert long.shape == (1, n)
    assert np.array_equal(long.indices, columns - 1)
    assert np.array_equal(long.data, columns % 99 + 0.5)
    assert blocks[-1].X.shape[1] == n


@slow_uncompiled
def test_numbers_of_ten_megabytes_are_read_or_refused(write):
    zeros = b"0" * 10_000_000
    (block,) = stream(write(b"1 1:%s7 2:0.%s7 3:7.%s 4:1.5\n" % (zeros, zeros, zeros)))
    assert block.X.data.tolist() == [7.0, 0.0, 7.0, 1.5]
    for token in (b"1:7" + zeros, zeros + b"1:x", b"1" + zeros + b":1", b"x" + zeros):
        path = write(b"1 1:1\n1 " + token + b"\n")
        with pytest.raises(DataFileError, match=r"a\.svm:2:3: ") as caught:
            list(stream(path))
        assert len(str(caught.value)) < 1000


# ---- several files


def test_several_files_are_read_one_after_the_other(write, tmp_path):
    b = write("1 1:1\n\n2 2:1", "b.svm")  # no newline at the end, and yet the next file begins a line
    a = write("\ufeff3 5:1\n", "a.svm")
    reader = stream(b, a)
    for _ in range(2):
        blocks = list(reader)
        assert plain(blocks) == [
            ([([0], [(1.0).hex()]), ([1], [(1.0).hex()])], [1, 2], [1, 3]),
            ([([4], [(1.0).hex()])], [3], [1]),
        ]
        assert [block.path for block in blocks] == [b, a]
        assert [block.X.shape[1] for block in blocks] == [2, 5]
    assert [block.y.tolist() for block in stream(str(tmp_path / "*.svm"))] == [[3], [1, 2]]
    assert [block.y.tolist() for block in stream(tmp_path / "?.svm", b)] == [[3], [1, 2], [1, 2]]


def test_a_pattern_is_read_in_sorted_order(write, tmp_path):
    for k in (10, 9, 1, 2, 0):
        write(packed_as(".gz", b"%d 1:1\n" % k), f"part-{k:02}.svm.gz")
    assert [block.y.tolist() for block in stream(str(tmp_path / "part-*.svm.gz"))] == [[0], [1], [2], [9], [10]]


def test_a_pattern_that_no_file_matches_is_an_error(write, tmp_path):
    write("1 1:1\n")
    for paths in ([tmp_path / "*.libsvm"], [tmp_path / "a.svm", tmp_path / "b*.svm"]):
        with pytest.raises(DataFileError, match=r"\*\.\w+: no file"):
            list(stream(*paths, format="svmlight"))


def test_a_file_whose_name_looks_like_a_pattern_is_read(write):
    assert plain(stream(write("7 1:1\n", "a[1].svm")))[0][1] == [7]


def test_standard_input_can_be_given_only_once(write, stdin):
    stdin(b"1 1:1\n")
    with pytest.raises(ValueError, match="-"):
        list(stream("-", "-", format="svmlight"))
    assert plain(stream(write("3 1:1\n"), "-", format="svmlight"))[1][1] == [1]


def test_standard_input_is_not_read_twice_in_silence(stdin):
    stdin(b"1 1:1\n2 1:1\n")
    reader = stream("-", format="svmlight")
    assert plain(reader)[0][1] == [1, 2]
    with pytest.raises(ValueError, match=r"standard input|stdin"):
        list(reader)


def test_files_that_cannot_be_opened_are_errors_that_name_them(write, tmp_path):
    with pytest.raises((OSError, DataFileError), match=r"none\.svm"):
        list(stream(tmp_path / "none.svm"))
    (tmp_path / "folder.svm").mkdir()
    with pytest.raises((OSError, DataFileError), match=r"folder\.svm"):
        list(stream(tmp_path / "folder.svm"))
    blocks = iter(stream(write("1 1:1\n"), tmp_path / "folder.svm"))
    with pytest.raises((OSError, DataFileError), match=r"folder\.svm"):
        list(blocks)


def test_the_place_of_an_error_counts_lines_of_its_own_file(write, pieces_of, tmp_path):
    pieces_of(20)
    write("1 1:1\n" * 50, "a.svm")
    bad = write("1 1:1\n" * 37 + "1 1:1 2:x\n" + "1 1:1\n" * 50, "b.svm")
    blocks, error = read_until_it_fails(stream(tmp_path / "*.svm"))
    assert str(error).startswith(f"{bad}:38:7: ")
    assert (error.path, error.line, error.column) == (bad, 38, 7)
    assert sum(block.X.shape[0] for block in blocks) == 50 + 37


# ---- errors that are skipped


def test_bad_records_are_skipped_counted_and_the_first_ten_named(write, pieces_of):
    pieces_of(30)
    lines = [f"{k} 1:{k}" if k % 3 else f"{k} 1:1 2:x{k}" for k in range(1, 61)]
    path = write("\n".join(lines))
    reader = stream(path, on_error="skip")
    for _ in range(2):
        kept = [label for block in reader for label in block.y.tolist()]
        assert kept == [k for k in range(1, 61) if k % 3]
        assert reader.skipped == 20
        places = [complaint.split(" ")[0] for complaint in reader.complaints]
        assert places == [f"{path}:{k}:{7 + (k > 9)}:" for k in range(3, 33, 3)]
        assert all("x" in complaint for complaint in reader.complaints)
    assert plain(reader) == expected(reference.read(path.read_bytes(), 30, skip=True))


def test_a_file_of_bad_records_only_has_no_row(write):
    reader = stream(write("a b\n" * 100), on_error="skip")
    assert plain(reader) == []
    assert reader.skipped == 100
    assert len(reader.complaints) == 10


def test_records_are_skipped_in_every_file(write, tmp_path):
    write("x y\n1 1:1\n", "a.svm")
    write("1 1:1\n2 1:1\nx y\n", "b.svm")
    reader = stream(tmp_path / "*.svm", on_error="skip")
    assert sum(block.X.shape[0] for block in reader) == 3
    assert reader.skipped == 2
    assert [re.sub(r": .*", "", complaint).rsplit("/", 1)[1] for complaint in reader.complaints] == [
        "a.svm:1:3",
        "b.svm:3:3",
    ]


@pytest.mark.parametrize("line", ["7 0:1 x", "7 x 0:1", "nan 0:1", b"\xff 0:1", "0:1 0:1", "qid:3 0:1"])
def test_a_record_that_is_skipped_decides_nothing(write, line):
    line = line if isinstance(line, bytes) else line.encode()
    (block,) = stream(write(line + b"\n1 1:1\n2 2:1\n"), on_error="skip")
    assert block.X.toarray().tolist() == [[1, 0], [0, 1]]
    assert block.y.tolist() == [1, 2]


def test_no_error_of_the_file_as_a_whole_is_skipped(write, rng, tmp_path):
    data = packed_as(".gz", many_lines(rng))
    _, error = read_until_it_fails(stream(write(data[:-9], "b.svm.gz"), on_error="skip"))
    assert error is not None
    with pytest.raises((OSError, DataFileError)):
        list(stream(tmp_path / "none.svm", on_error="skip"))


# ---- fuzzed

values = st.one_of(
    st.integers(-99, 99).map(str), st.floats(-1e100, 1e100).map(repr),
    st.sampled_from(["1", "1", "0", "-.5", "1e-3", "+2.", "5e-324", "1e23", ".1", "12345678901234567890"]),
)  # fmt: skip
features = st.tuples(st.integers(0, 300), values).map(lambda pair: f"{pair[0]}:{pair[1]}")
wrong = st.sampled_from(
    ["x", "1:x", "2:", ":3", "1:nan", "1:-inf", "3:0x1", "4:1_0", "-1:1", "1:2:3", "5:1e", "6:1e200"]
)
spaces = st.sampled_from([" ", " ", " ", "  ", "\t", " \t "])
labels = st.one_of(
    st.sampled_from(["1", "-1", "+1", "0", "2.0", "1."]), st.sampled_from(["spam", "häm", "007", "1.5", "nan", "1,2"])
)


@st.composite
def lines(draw):
    """A line of svmlight, now and then a bad one."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(["", "#", "# 1 1:x", "   ", "\t#"]))
    text = draw(labels if draw(st.integers(0, 4)) == 0 else st.sampled_from(["1", "-1", "2"]))
    if draw(st.integers(0, 5)) == 0:
        text += draw(spaces) + f"qid:{draw(st.integers(0, 99))}"
    for feature in draw(st.lists(features, max_size=6)):
        text += draw(spaces) + feature
    if draw(st.integers(0, 20)) == 0:
        text += draw(spaces) + draw(wrong)
    return text + draw(st.sampled_from(["", "", "", " ", "# 5:5", " # x"]))


contents = st.tuples(
    st.sampled_from(["", "", "", "\ufeff"]),
    st.lists(lines(), max_size=12),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.booleans(),
).map(lambda parts: (parts[0] + parts[2].join(parts[1]) + (parts[2] if parts[3] else "")).encode())
DOUBTFUL = re.compile(rb"qid:(?![0-9]+\s)|\sqid:[^\n]*qid:|:\S*\sqid:|[\x00-\x08\x0e-\x1f\x7f]")


def compared(path, content, size, **wanted):
    """The reader and the slow reference agree, about all blocks and about the first bad line."""
    path.write_bytes(content)
    truth = reference.read(content, size, **wanted)
    reader = stream(path, multilabel=False, **wanted)
    blocks, error = read_until_it_fails(reader)
    has_mark = content.startswith(b"\xef\xbb\xbf")  # whether it counts for the size of a piece is not said
    if not has_mark or size > len(content):
        assert plain(blocks) == expected(truth)
    assert (error is None) == (not truth.bad), (error, truth.bad)
    if error is not None:
        assert error.line == truth.bad[0]
        assert re.match(re.escape(f"{path}:{error.line}:") + r"\d+: ", str(error))
        assert len(str(error).splitlines()) == 1
    wanted = {"zero_based": True} | {name: value for name, value in wanted.items() if value is not None}
    skipping = stream(path, on_error="skip", multilabel=False, **wanted)
    kept = plain(skipping)
    truth = reference.read(content, size, skip=True, **wanted)
    if not has_mark or size > len(content):
        assert kept == expected(truth)
        assert skipping.skipped == len(truth.bad)
        assert [int(complaint[len(str(path)) + 1 :].split(":")[0]) for complaint in skipping.complaints] == truth.bad[
            :10
        ]


@given(contents, st.sampled_from([1, 7, 40, 100, 2**20]), st.sampled_from([None, None, True, False]), st.booleans())
@often
def test_the_reader_agrees_with_the_slow_one(tmp_path_factory, content, size, zero_based, text_labels):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "PIECE", size)
        path = tmp_path_factory.getbasetemp() / "fuzzed.svm"
        compared(path, content, size, zero_based=zero_based, text_labels=text_labels)


@given(contents, st.sampled_from([7, 100, 2**20]), st.integers(1, 12))
@settings(often, max_examples=60)
def test_the_reader_agrees_with_the_slow_one_on_hashed_indices(tmp_path_factory, content, size, bits):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "PIECE", size)
        compared(tmp_path_factory.getbasetemp() / "hashed.svm", content, size, hash_bits=bits)


edits = st.lists(
    st.tuples(
        st.integers(0, 500), st.sampled_from(["insert", "replace", "delete", "repeat"]),
        st.one_of(st.sampled_from(list(b" \t\n\r\x0b\x0c:,.#+-eEx_0123456789naif")), st.integers(0, 255)),
    ),
    min_size=1, max_size=6,
)  # fmt: skip


def edited(content, changes):
    content = bytearray(content)
    for place, how, byte in changes:
        at = place % (len(content) + 1)
        if how == "insert":
            content.insert(at, byte)
        elif at < len(content):
            content[at : at + 1] = {"replace": bytes([byte]), "delete": b"", "repeat": content[at : at + 1] * 2}[how]
    return bytes(content)


@given(contents, edits, st.sampled_from([1, 30, 2**20]))
@settings(often, max_examples=250)
@example(b"1 1:1\n", [(3, "insert", 0x0B)], 2**20)
@example(b"1 1:2.220446049250313e16\nx 1:1\n", [(22, "insert", ord("3"))], 1)  # too large: decides nothing
@example(b"2 1:1\n1 0:2.220446049250313e16\n", [(28, "insert", ord("3"))], 2**20)
def test_the_reader_agrees_with_the_slow_one_on_changed_bytes(tmp_path_factory, content, changes, size):
    content = edited(content, changes)
    assume(not DOUBTFUL.search(content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "PIECE", size)
        compared(tmp_path_factory.getbasetemp() / "changed.svm", content, size)


@given(
    st.one_of(st.binary(max_size=300), st.tuples(contents, edits).map(lambda pair: edited(*pair))),
    st.sampled_from([1, 30, 2**20]),
)
@settings(often, max_examples=120)
def test_no_bytes_make_the_reader_crash(tmp_path_factory, content, size):
    path = tmp_path_factory.getbasetemp() / "bytes.svm"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "PIECE", size)
        blocks, _ = read_until_it_fails(stream(path))
        for block in blocks:
            assert block.X.shape[0] == block.y.shape[0] == len(block.lines)
            assert np.isfinite(block.X.data).all()
            assert (block.X.indices < block.X.shape[1]).all()
            assert (block.X.indices >= 0).all()
        skipping = stream(path, on_error="skip")
        try:
            kept = list(skipping)
        except DataFileError:
            assert content[:2] in (b"\x1f\x8b", b"BZ", b"\x28\xb5", b"\xfd7"), "only what seems packed is no text"
        else:
            assert sum(block.X.shape[0] for block in kept) + skipping.skipped <= content.count(b"\n") + 1


# ---- threads, and files that change


@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_number_of_threads_changes_nothing(write, pieces_of, monkeypatch, rng, n):
    pieces_of(200)
    content = many_lines(rng) + b"7 1:x\n" + many_lines(rng)
    wanted = expected(reference.read(content, 200))
    monkeypatch.setattr(threads, "cores", lambda: n)
    reader = stream(write(content))
    for _ in range(3):
        blocks, error = read_until_it_fails(reader)
        assert plain(blocks) == wanted
        assert error.line == content[: content.index(b"7 1:x")].count(b"\n") + 1
    first, second = iter(reader), iter(reader)
    assert [plain([next(first)]) == plain([next(second)]) for _ in range(5)] == [True] * 5
    first.close()
    second.close()


def open_files():
    folder = "/proc/self/fd"
    return len(os.listdir(folder)) if os.path.isdir(folder) else 0


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_no_thread_and_no_open_file_is_left_by_an_end_an_error_or_somebody_who_goes_away(write, pieces_of, rng, ending):
    pieces_of(200)
    content = many_lines(rng)
    path = write(packed_as(ending, content), f"a.svm{ending}")
    bad = write(packed_as(ending, content + b"1 1:x\n" + content), f"b.svm{ending}")
    list(stream(path))
    before, files = threading.active_count(), open_files()
    list(stream(path))
    assert threads_end(before)
    _, error = read_until_it_fails(stream(bad))
    assert error is not None
    del error  # its traceback holds frames
    assert threads_end(before)
    blocks = iter(stream(path))
    next(blocks)
    blocks.close()
    assert threads_end(before)
    for _ in stream(path):
        break
    assert threads_end(before)
    blocks = iter(stream(path))
    next(blocks)
    del blocks
    assert threads_end(before)
    assert open_files() <= files


def test_a_file_that_vanishes_between_two_readings_is_an_error(write):
    path = write("1 1:1\n")
    reader = stream(path)
    list(reader)
    path.unlink()
    with pytest.raises((OSError, DataFileError), match=r"a\.svm"):
        list(reader)


CHANGING = """
import os, pathlib, sys
from perceptrons.data import DataFileError, source, stream
source.PIECE = 1000
path = pathlib.Path(sys.argv[1])
line = b"1 1:0.25 2:1.5 3:7\\n"
for change in ("shorter", "empty", "longer", "other", "gone"):
    path.write_bytes(line * 20_000)
    blocks = iter(stream(path))
    rows = sum(next(blocks).X.shape[0] for _ in range(3))
    if change == "shorter":
        os.truncate(path, len(line) * 10_000)
    elif change == "empty":
        os.truncate(path, 0)
    elif change == "longer":
        with path.open("ab") as file:
            file.write(line * 50)
    elif change == "other":
        with path.open("r+b") as file:
            file.write(b"2 1:9.99" * (len(line) * 20_000 // 8))
    elif change == "gone":
        path.unlink()
    try:
        for block in blocks:
            assert set(block.y.tolist()) == {1}, "lines of another file"
            rows += block.X.shape[0]
    except (OSError, DataFileError) as error:
        assert str(path) in str(error), error
        assert len(str(error).splitlines()) == 1
        print(change, "refused")
    else:
        print(change, rows)
"""


@slow_uncompiled
def test_a_file_that_changes_under_the_reader_is_an_error_in_one_line(tmp_path):
    # in a process of its own: a file that is mapped and cut short can end the process
    command = [sys.executable, "-c", CHANGING, tmp_path / "a.svm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-500:])
    found = dict(line.split() for line in done.stdout.splitlines())
    assert found.pop("gone") in ("20000", "refused"), "an open file may be read to its end"
    assert found == dict.fromkeys(["shorter", "empty", "longer", "other"], "refused")


def test_a_pipe_can_be_read_line_by_line_as_they_come(monkeypatch):
    out, into = os.pipe()
    with os.fdopen(into, "wb", buffering=0) as pipe, io.TextIOWrapper(os.fdopen(out, "rb")) as text:
        monkeypatch.setattr(sys, "stdin", text)
        got, done = [], threading.Event()
        seen = threading.Semaphore(0)

        def read():
            for block in stream("-", format="svmlight", prompt=True, on_error="skip"):
                for label in block.y.tolist():
                    got.append(label)
                    seen.release()
            done.set()

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        for k in range(5):
            pipe.write(b"%d 1:1\n%s" % (k, b"bad x\n" if k == 2 else b""))
            assert seen.acquire(timeout=10), "the line is there, and its row is not"
            assert got == list(range(k + 1))
        pipe.write(b"7 1:1")
        pipe.close()
        reader.join(10)
        assert done.is_set()
        assert got == [0, 1, 2, 3, 4, 7]


# ---- the recipe


def test_the_recipe_reads_another_file_alike(write):
    first = stream(write("1 0:1\n2 3:1\n"), text_labels=True)
    list(first)
    recipe = json.loads(json.dumps(first.recipe()))
    (block,) = stream(write("7 1:1 2:5\n", "other"), **recipe)
    assert block.y.tolist() == ["7"]
    assert block.X.toarray().tolist()[0][:3] == [0, 1, 5], "counts from 0 as the first file did"
    hashed = stream(write("1 1:1\n"), hash_bits=5)
    list(hashed)
    (block,) = stream(write("7 99:1\n", "other"), **json.loads(json.dumps(hashed.recipe())))
    assert block.X.shape == (1, 32)


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"format": "xml"}, "format='xml'.*svmlight"),
        ({"on_error": "ignore"}, "on_error='ignore'"),
        ({"hash_bits": 32}, "hash_bits=32"),
        ({"hash_bits": -1}, "hash_bits=-1"),
        ({"hash_bits": 1.5}, "hash_bits=1.5"),
        ({"n_features": -1}, "n_features=-1"),
        ({"n_features": 2.5}, "n_features=2.5"),
        ({"zero_based": "no"}, "zero_based='no'"),
        ({"nothing": 1}, "nothing"),
    ],
)
def test_options_that_make_no_sense_are_refused_in_one_line(write, options, about):
    with pytest.raises((ValueError, TypeError), match=about) as caught:
        list(stream(write("1 1:1\n"), **options))
    assert len(str(caught.value).splitlines()) == 1


def test_a_format_that_neither_name_nor_content_tells_must_be_given(write):
    assert stream(write("1 1:1\n", "a.unknown")).format == "svmlight"
    with pytest.raises(ValueError, match=r"format.*svmlight"):
        list(stream(write("a word\n", "a.unknown")))
