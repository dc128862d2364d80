"""Column files of tokens: what is read, that all but the labels comes back as it was, and that errors name the line."""

import bz2
import gzip
import io
import lzma
import re
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptrons.data import DataFileError
from perceptrons.data.conll import read_conll

CHUNKS = "He PRP B-NP\nsees VBZ B-VP\n\n# # B-NP\n1 CD I-NP\n. . O\n\n"
NAMES = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

-DOCSTART- -X- -X- O

Peter NNP B-NP B-PER
"""
DEPENDENCIES = (
    "# newdoc\n# text = don't go\n"
    "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tdo\tdo\tAUX\tVB\t_\t3\taux\t_\t_\n"
    "2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_\n"
    "2.1\tnull\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n"
    "\n# text = a b\n1\ta b\ta b\tX\tFW\t_\t0\troot\t_\tSpaceAfter=No|Gloss=a b\n\n"
)


@pytest.fixture
def write(tmp_path):
    """Write content to a file of the given name and return its path."""

    def written(content, name="a.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def refused(path, place, about, **wanted):
    """Reading fails with one line that starts with the place and says what it is about."""
    with pytest.raises(DataFileError) as caught:
        read_conll(path, **wanted)
    message = str(caught.value)
    assert message.startswith(f"{path}:{place}: " if place else f"{path}: "), message
    assert re.search(about, message), message
    assert "\n" not in message


def comes_back(file, content):
    """Each column written over itself gives the same bytes."""
    for place in range(file.n_columns):
        assert file.with_labels(file.column(place), place) == content


# ---- What is read


def test_a_file_is_columns_of_tokens_and_lengths_of_sentences(write):
    file = read_conll(write(CHUNKS))
    assert (file.format, file.separator, file.n_tokens, file.n_columns) == ("columns", None, 5, 3)
    assert file.lengths.tolist() == [2, 3]
    assert file.column(0) == ["He", "sees", "#", "1", "."]
    assert file.column(-1) == ["B-NP", "B-VP", "B-NP", "I-NP", "O"]
    assert file.sentences(1) == [["PRP", "VBZ"], ["#", "CD", "."]]
    assert file.sentences([0, 2])[0] == [("He", "B-NP"), ("sees", "B-VP")]
    assert [file.line(token) for token in range(5)] == [1, 2, 4, 5, 6]
    assert "He" not in repr(file)


@pytest.mark.parametrize(
    "content",
    [
        CHUNKS.rstrip("\n"),
        CHUNKS.replace("\n", "\r\n"),
        CHUNKS.replace("\n", "\r\n").rstrip("\r\n") + "\r",
        "\ufeff" + CHUNKS,
        "\n \n" + CHUNKS.replace("\n\n", "\n\n \t \n\n"),
        CHUNKS.replace(" ", "   ").replace("\n", "  \n"),
        CHUNKS.replace(" ", "\t").replace("\n\n", "\n\t\n"),
        CHUNKS.replace("He ", "  He\t", 1).replace("VBZ ", "VBZ\t", 1).replace("sees", "\tsees"),
    ],
    ids=["no last newline", "CRLF", "CR at the end", "BOM", "blank lines", "runs of spaces", "tabs", "spaces and tabs"],
)
def test_files_of_every_habit_read_the_same_and_come_back_as_they_were(write, content):
    wanted = {"separator": "whitespace"} if "\tsees" in content else {}
    file = read_conll(write(content), **wanted)
    assert [file.column(place) for place in range(3)] == [read_conll(write(CHUNKS)).column(place) for place in range(3)]
    assert file.lengths.tolist() == [2, 3]
    comes_back(file, content.encode())


def test_docstart_lines_are_kept_but_are_no_tokens(write):
    file = read_conll(write(NAMES))
    assert (file.column(0), file.lengths.tolist()) == (["EU", "rejects", "Peter"], [2, 1])
    comes_back(file, NAMES.encode())
    appended = file.with_labels(["X", "Y", "Z"]).decode()
    assert appended == NAMES.replace("ORG\n", "ORG X\n").replace("VP O\n", "VP O Y\n").replace(
        "PER\n", "PER Z\n"
    ).replace("-X- O\n", "-X- O O\n")
    bare = NAMES.replace(" -X- -X- O\n\n", "\n")
    file = read_conll(write(bare))
    assert (file.n_columns, file.lengths.tolist()) == (4, [2, 1])
    assert file.with_labels(["X", "Y", "Z"]).decode().count("-DOCSTART-\n") == 2


def test_words_that_begin_like_docstart_are_words(write):
    assert read_conll(write("- : O\n-- : O\n-LRB- ( O\n-DOC NN O\n")).column(0) == ["-", "--", "-LRB-", "-DOC"]


@pytest.mark.parametrize("name", ["a.conllu", "a.CoNLL-U", "a.txt"])
def test_conllu_is_known_by_name_or_looks(write, name):
    file = read_conll(write(DEPENDENCIES, name))
    assert (file.format, file.separator, file.n_columns) == ("conllu", "\t", 10)
    assert file.lengths.tolist() == [3, 1]
    assert file.column(file.column_number("form")) == ["do", "n't", "go", "a b"]
    assert file.line(3) == 10
    comes_back(file, DEPENDENCIES.encode())


def test_conllu_keeps_comments_ranges_and_empty_nodes_when_a_column_is_replaced(write):
    file = read_conll(write(DEPENDENCIES))
    written = file.with_labels([["A", "B", "C"], ["D"]], file.column_number("UPOS")).decode()
    assert written == (
        DEPENDENCIES.replace("\tAUX\t", "\tA\t").replace("\tPART\t", "\tB\t").replace("\tVERB\t", "\tC\t").replace(
            "\tX\t", "\tD\t"
        )
    )  # fmt: skip
    with pytest.raises(DataFileError, match=r"ten columns.*name the column to replace"):
        file.with_labels(["A"] * 4)


def test_ten_columns_with_other_numbers_are_no_conllu(write):
    line = "\t".join(["7", *"abcdefghi"]) + "\n"
    assert read_conll(write(line)).format == "columns"
    assert read_conll(write("1" + line[1:] * 2)).format == "columns"
    assert read_conll(write("1" + line[1:])).format == "conllu"
    assert read_conll(write("1" + line[1:]), format="columns").format == "columns"
    assert read_conll(write("# a\n1" + line[1:]), format="columns", comments=True).format == "columns"


def test_a_hash_starts_a_comment_only_where_it_is_said(write):
    content = "# id 1\nEU B-ORG\n# x\nis O\n"
    path = write(content)
    file = read_conll(path, comments=True)
    assert (file.column(0), file.lengths.tolist()) == (["EU", "is"], [2])
    comes_back(file, content.encode())
    refused(path, "2:3", "2 columns here, but 3 in line 1")
    refused(write("EU B-ORG\n# id 1\n"), "2:3", "3 columns here, but 2 in line 1.*comment")


@pytest.mark.parametrize("separator", ["\t", " ", ",", "|", " | ", "||", "§"])
def test_any_separator_will_do(write, separator):
    content = "\n".join(separator.join(row) for row in [("a b", "", "x"), ("c", "d\u00a0e", "y")]) + "\n"
    if separator == " ":
        content = "a  x\nc d\u00a0e y\n"
    file = read_conll(write(content), separator)
    assert file.column(0) == ["a" if separator == " " else "a b", "c"]
    assert file.column(1) == ["", "d\u00a0e"]
    assert file.column(2) == ["x", "y"]
    assert file.with_labels(["1", "2"]).decode() == content.replace("\n", "{}\n").format(
        separator + "1", separator + "2"
    )
    assert file.with_labels(["1", "2"], 2).decode() == content.replace("x", "1").replace("y", "2")


def test_other_white_space_is_part_of_a_word(write):
    words = ["a\u00a0b", "c\u2028d", "e\x0bf", "g\x1dh", "i\x85j", "\u3000"]
    file = read_conll(write("".join(f"{word} X\n" for word in words)))
    assert file.column(0) == words


def test_spaces_at_the_end_of_a_line_are_not_part_of_a_label_but_tabs_there_are_an_empty_column(write):
    content = "a\tB-X \nb\tO\n"
    file = read_conll(write(content))
    assert file.column(1) == ["B-X", "O"]
    comes_back(file, content.encode())
    assert read_conll(write("a\tX\t\nb\t\tY\n")).column(2) == ["", "Y"]
    assert read_conll(write("a || \nb || c\n"), " || ").column(1) == ["", "c"]


def test_a_very_long_sentence_is_one_sentence(write):
    file = read_conll(write("word\tNN\n" * 100_000))
    assert file.lengths.tolist() == [100_000]
    assert file.line(99_999) == 100_000


def test_one_column_of_words_is_enough(write):
    file = read_conll(write("a\nb\n\nc"))
    assert file.sentences(0) == [["a", "b"], ["c"]]
    assert file.with_labels(["X", "Y", "Z"]) == b"a X\nb Y\n\nc Z"


# ---- Packed, encoded, standard input and output


@pytest.mark.parametrize(("pack", "ending"), [(gzip, "gz"), (lzma, "xz"), (bz2, "bz2")])
def test_packed_files_are_known_by_name_or_first_bytes(write, tmp_path, pack, ending):
    packed = pack.compress(CHUNKS.encode())
    for name in (f"a.txt.{ending}", "a.txt"):
        comes_back(read_conll(write(packed, name)), CHUNKS.encode())
    assert read_conll(write(pack.compress(DEPENDENCIES.encode()), f"a.conllu.{ending}")).format == "conllu"
    refused(write(packed[:-20], f"a.{ending}"), "", "not a complete")
    refused(write(CHUNKS, f"a.{ending}"), "", f"not a complete.*remove .{ending}")
    file = read_conll(write(CHUNKS))
    file.write(tmp_path / f"out.{ending}", file.column(2), 2)
    assert pack.decompress((tmp_path / f"out.{ending}").read_bytes()) == CHUNKS.encode()


def test_text_may_begin_like_a_packed_file(write):
    assert read_conll(write("BZh NN\n")).column(0) == ["BZh"]


def test_other_encodings_are_read_and_written(write):
    for encoding in ("latin-1", "utf-16", "utf-8-sig", "UTF8"):
        content = "Öl NN\nist VB\n".encode(encoding)
        file = read_conll(write(content), encoding=encoding)
        assert file.column(0) == ["Öl", "ist"]
        comes_back(file, content)
    file = read_conll(write("Öl NN\n".encode("latin-1")), encoding="latin-1")
    with pytest.raises(DataFileError, match=r"'Ż' cannot be written in.*iso8859-1"):
        file.with_labels(["Ż"])
    refused(write("a X\nÖl NN\n".encode("latin-1")), "2:1", "byte 0xd6 is not utf-8.*encoding")
    refused(write("a X\n".encode("utf-16")), "1:1", "utf-16")
    refused(write("a X\nb Y\n".encode("utf-16-le")), "1:2", "NUL")
    refused(write("a X\nb\0 Y\n"), "2:2", "NUL")
    for encoding in ("klingon", "rot13"):
        with pytest.raises(ValueError, match=f"'{encoding}', which Python does not know"):
            read_conll(write("a X\n"), encoding=encoding)


def test_a_hyphen_is_standard_input_and_output(monkeypatch, capfdbinary):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(CHUNKS.encode()))))
    file = read_conll("-")
    assert str(file.path) == "<stdin>"
    file.write("-", file.column(2), 2)
    assert capfdbinary.readouterr().out == CHUNKS.encode()


# ---- Names of columns


def test_columns_are_called_by_number_from_1_or_from_the_end(write):
    file = read_conll(write(CHUNKS))
    assert [file.column_number(name) for name in (1, 3, -1, -3, "2", "-2", " +3 ")] == [0, 2, 2, 0, 1, 1, 2]
    for name in (0, 4, -4, "99"):
        with pytest.raises(DataFileError, match=f"no column {name}: columns are numbered from 1 to 3, and from -1"):
            file.column_number(name)
    for name in ("upos", "", "1.5", "٣", True, None):
        with pytest.raises(DataFileError, match=r"no column is called.*from 1 to 3; only.*CoNLL-U have names"):
            file.column_number(name)


def test_columns_of_conllu_have_names(write):
    file = read_conll(write(DEPENDENCIES))
    assert [file.column_number(name) for name in ("id", "FORM", "upos", "misc", 4, "-1")] == [0, 1, 3, 9, 3, 9]
    with pytest.raises(
        DataFileError, match=r"no column is called 'pos'.*from 1 to 10, or one of id, form, lemma, upos"
    ):
        file.column_number("pos")


# ---- What is refused


@pytest.mark.parametrize(
    ("content", "place", "about"),
    [
        ("", "1:1", "empty"),
        ("\ufeff", "1:1", "empty"),
        ("\n \n\t\n", "1:1", "no tokens in the file"),
        ("-DOCSTART- -X- O\n\n", "1:1", "no tokens in the file"),
        ("a X\nb\n", "2:2", "1 column here, but 2 in line 1: .*spaces or tabs"),
        ("\n\na X\n\nb X Y\n", "5:3", "3 columns here, but 2 in line 3"),
        ("a\tX\nb X\n", "2:2", "1 column here, but 2 in line 1: .*by tabs"),
        ("a X\rb X\rc X\r", "1:1", "carriage return"),
    ],
)
def test_the_first_bad_line_is_named(write, content, place, about):
    refused(write(content), place, about)


@pytest.mark.parametrize(
    ("content", "place", "about"),
    [
        ("# one\n\n# two\n", "1:1", "the file has lines, but no tokens"),
        ("# one\n1.1\t" + "_\t" * 8 + "_\n", "1:1", "no token"),
        ("1\ta\tb\n", "1:4", "3 columns here, but 10 in CoNLL-U: .*by tabs"),
        ("1 a " + "_ " * 7 + "_\n", "1:2", "1 column here, but 10 in CoNLL-U"),
        (DEPENDENCIES.replace("\n3\t", "\n4\t"), "7:1", "the id is '4', but 3 was expected:"),
        (DEPENDENCIES.replace("\n\n# text = a", "\n# text = a"), "9:1", "the id is '1', but 4 .*blank line between"),
        (DEPENDENCIES.replace("\n2.1\t", "\nx\t"), "6:1", "the id is 'x', but 3"),
    ],
)
def test_the_first_bad_line_of_conllu_is_named(write, content, place, about):
    refused(write(content, "a.conllu"), place, about)


def test_choices_that_are_none_are_refused(write):
    path = write(CHUNKS)
    with pytest.raises(ValueError, match="format is 'xml': give one of columns, conllu"):
        read_conll(path, format="xml")
    for separator in ("", "\n", "a\r"):
        with pytest.raises(ValueError, match="separator is"):
            read_conll(path, separator)
    with pytest.raises(FileNotFoundError):
        read_conll(path.with_name("none"))


@pytest.mark.parametrize(
    ("labels", "about"),
    [
        (["X"] * 4, "4 labels were given for 5 tokens"),
        ([["X"] * 2], "labels for 1 sentences were given, but the file has 2 sentences:"),
        ([["X"] * 2, ["X"] * 2], r"2 labels were given for the 3 tokens of sentence 1 \(numbered from 0\)"),
        (["X", "Y", "", "X", "X"], "'' is not a label:"),
        (["X", "Y", None, "X", "X"], "'None' is not a label:"),
        (["X", "Y", float("nan"), "X", "X"], "'nan' is not a label:"),
        (["X", "Y", " Z", "X", "X"], "' Z' is not a label:"),
        (["X", "Y", "a b", "X", "X"], "'a b' contains a column separator:"),
        (["X", "Y", "a\nb", "X", "X"], "contains a column separator:"),
        (["X", "Y", "\ud800", "X", "X"], "cannot be written"),
    ],
)
def test_labels_that_cannot_be_written_are_refused_and_nothing_is_written(write, tmp_path, labels, about):
    file = read_conll(write(CHUNKS))
    for place in (None, 2):
        with pytest.raises(DataFileError, match=about):
            file.write(tmp_path / "out.txt", labels, place)
    assert not (tmp_path / "out.txt").exists()


def test_labels_may_be_numbers_or_arrays(write):
    file = read_conll(write(CHUNKS))
    written = file.with_labels(np.arange(5), 2)
    assert file.with_labels([0, 1, 2, 3, 4], 2) == written
    assert file.with_labels(np.array(["0", "1", "2", "3", "4"]), 2) == written
    assert file.with_labels([np.array([0, 1]), ("2", "3", "4")], 2) == written
    assert written == b"He PRP 0\nsees VBZ 1\n\n# # 2\n1 CD 3\n. . 4\n\n"


# ---- Any file

CELLS = st.text(st.characters(exclude_characters=" \t\r\n\0\ufeff", exclude_categories=["Cs"]), min_size=1, max_size=4)
SENTENCES = st.lists(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=4), min_size=1, max_size=4)


@settings(max_examples=200, deadline=None)
@given(SENTENCES, st.sampled_from([" ", "  ", "\t", " \t"]), st.sampled_from(["\n", "\r\n"]), st.integers(0, 3))
def test_any_words_come_in_and_go_out(tmp_path_factory, sentences, gap, newline, blanks):
    lines = [newline.join(gap.join(token) for token in sentence) for sentence in sentences]
    content = (newline * (2 + blanks)).join(lines) + newline * blanks
    path = tmp_path_factory.mktemp("any") / "a.txt"
    path.write_bytes(content.encode())
    file = read_conll(path, "\t" if gap == "\t" else "whitespace")
    assert file.sentences([0, 1]) == sentences
    comes_back(file, content.encode())
    path.write_bytes(file.with_labels([[f"L{i}" for i in range(len(sentence))] for sentence in sentences]))
    again = read_conll(path, "\t" if gap == "\t" else "whitespace")
    assert again.sentences([0, 1, 2]) == [
        [(*token, f"L{i}") for i, token in enumerate(sentence)] for sentence in sentences
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "utf-8", "latin-1"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_byte_order_and_its_mark_are_kept(tmp_path, encoding, mark):
    text = "dé N\nèz V\n\nça N\n"
    concrete = {"utf-8-sig": ["utf-8"], "utf-32": ["utf-32-le", "utf-32-be"], "utf-16": ["utf-16-le", "utf-16-be"]}
    for written in concrete.get(encoding, [encoding]):
        if (mark and encoding == "latin-1") or (not mark and encoding != written and not written.endswith(("8", "le"))):
            continue  # there it has no mark; without one the order is that of the machine
        (tmp_path / "f").write_bytes((mark + text).encode(written))
        file = read_conll(tmp_path / "f", encoding=encoding)
        assert file.column(0) == ["dé", "èz", "ça"]
        assert file.with_labels(["N", "V", "N"], 1) == (tmp_path / "f").read_bytes()
