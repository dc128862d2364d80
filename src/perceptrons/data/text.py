"""Texts with labels: one per line, or one per file of a folder. Compiled code finds labels and cuts texts into words.

A line is "__label__x __label__y some text", as in fastText, or a label, a tab and a text. In a folder each file is one
example, and the folder that it lies in is its label: `mails/spam/1.txt` below `mails` has the label spam, and so has
`mails/spam/2024/2.txt`. A folder without folders holds texts without labels.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from perceptrons.data import source
from perceptrons.data.labels import COMMA, Label, split_all
from perceptrons.data.options import ReadOptions
from perceptrons.data.reader import Reader, bad_records, check_bits, read_labels
from perceptrons.data.source import Inputs, Piece, opened
from perceptrons.data.table import (
    BadRecord,
    DataFileError,
    DataPath,
    Identity,
    ParsedPiece,
    Source,
    describe_decoding_error,
)
from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.scan.bytes import ROOM, load, not_utf8, trailing_zeros
from perceptrons.engine.wording import count
from perceptrons.features import HashedText
from perceptrons.features.cells import CodedColumn, TextColumn
from perceptrons.features.columns import assemble
from perceptrons.features.hashed import cut_texts
from perceptrons.features.values import Recipe

# ---- the compiled scan

U0, U1, U3, U8 = (np.uint64(n) for n in (0, 1, 3, 8))
ONES, HIGH_BITS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
NEWLINE, TAB, SPACE, UNDERSCORE = 10, 9, 32, 95
PREFIX = np.frombuffer(b"__label__", np.uint8)
WIDTH = np.uint64(len(PREFIX))


class TextBuffers(NamedTuple):
    """Arrays for the lines of a piece of text."""

    labels: np.ndarray  # int64 (rows, 2): where each label begins and ends
    texts: np.ndarray  # int64 (rows, 2)
    lines: np.ndarray  # int64 (rows,): from 0
    bad: np.ndarray  # int64 (lines, 3): number, begin and end of malformed lines
    inside: np.ndarray  # int64 (rows, 4): begin and end of labels among words, their row, and is there a word between?


@inlined
def is_space(byte: int) -> bool:
    """What separates words in fastText, the end of a line among it."""
    return byte == SPACE or 9 <= byte <= 13 or byte == 0


@inlined
def next_of(content: np.ndarray, p: np.uint64, end: np.uint64, byte: int) -> np.uint64:
    """The first place from p on that has the byte; the end if there is none before it."""
    pattern = np.uint64(byte) * ONES
    while p < end:
        x = load(content, p) ^ pattern
        equal = (x - ONES) & ~x & HIGH_BITS
        if equal != U0:
            p += trailing_zeros(equal) >> U3
            break
        p += U8
    return min(p, end)


@inlined
def is_label(content: np.ndarray, p: np.uint64, begin: np.uint64) -> bool:
    """Does a word begin here, and as a label does?"""
    same = p == begin or is_space(content[p - U1])
    for i in range(len(PREFIX)):
        same = same and content[p + np.uint64(i)] == PREFIX[i]  # ends at a newline, behind which nothing is looked at
    return same


@inner
def find_labels(content: np.ndarray, begin: np.uint64, end: np.uint64) -> tuple[int, Any, Any, bool, bool]:
    """Words that begin as a label does: how many, where the first has its name, where the last ends.

    Also whether each has a name, and whether nothing but spaces is between them.
    """
    count, first, last, have_names, together = 0, begin, begin, True, True
    p = next_of(content, begin, end, UNDERSCORE)
    while p < end:
        if is_label(content, p, begin):
            p += WIDTH
            name = p
            while not is_space(content[p]):
                p += U1
            have_names = have_names and p > name
            if count == 0:
                first = name
            elif together:
                while is_space(content[last]) and last < name - WIDTH:
                    last += U1
                together = last == name - WIDTH
            last = p
            count += 1
        p = next_of(content, p + U1, end, UNDERSCORE)
    return count, first, last, have_names, together


@inner
def trimmed(content: np.ndarray, begin: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
    while begin < end and is_space(content[begin]):
        begin += U1
    while begin < end and is_space(content[end - U1]):
        end -= U1
    return begin, end


@compiled
def scan_lines(
    content: np.ndarray, n_bytes: int, in_words: bool, need_tab: bool, buffers: TextBuffers
) -> tuple[int, np.int64, int, int]:
    """Find labels and text of all lines. The text is content[:n_bytes], ends with a newline, and has ROOM bytes behind.

    in_words: labels are words that begin with __label__, else what stands before the first tab, which need_tab
    demands. Changes buffers, where labels are all that is from the first to the last, and empty if there is none.
    Returns the numbers of lines, rows, bad lines, and labels inside.
    """
    limit, p = np.uint64(n_bytes), U0
    n_lines, rows, n_bad, n_inside = 0, U0, 0, 0
    labels, texts, lines, bad, inside = buffers
    while p < limit:
        line, newline = p, next_of(content, p, limit, NEWLINE)
        begin, end = trimmed(content, line, newline)
        p = newline + U1
        n_lines += 1
        if begin == end:
            continue
        is_valid = not_utf8(content, begin, end) == end
        label, label_end = begin, begin
        if in_words:
            count, label, label_end, have_names, together = find_labels(content, begin, end)
            is_valid = is_valid and have_names
            if count > 0:
                if together and label - WIDTH == begin:
                    begin = label_end
                elif together and label_end == end:
                    end = label - WIDTH
                elif is_valid:
                    inside[n_inside, 0], inside[n_inside, 1] = label - WIDTH, label_end
                    inside[n_inside, 2], inside[n_inside, 3] = rows, not together
                    n_inside += 1
        else:
            tab = next_of(content, line, newline, TAB)
            if tab < newline:
                label, label_end = trimmed(content, line, tab)
                begin, end = tab + U1, max(end, tab + U1)
            is_valid = is_valid and (tab < newline or not need_tab)
        if is_valid:
            labels[rows, 0], labels[rows, 1] = label, label_end
            texts[rows, 0], texts[rows, 1] = begin, end
            lines[rows] = n_lines - 1
            rows += U1
        else:
            bad[n_bad, 0], bad[n_bad, 1], bad[n_bad, 2] = n_lines - 1, line, newline
            n_bad += 1
    return n_lines, np.int64(rows), n_bad, n_inside


# ---- lines of text

SPACES = b" \t\n\v\f\r\0"
LABEL = re.compile(rb"(?<![^ \t-\r\0])__label__([^ \t-\r\0]*)")
MARK = "__label__"
BETWEEN = re.compile(r"[ \t-\r\0]+__label__")
IN_WORDS, BEFORE_TAB, IN_FILES = FORMS = ("fasttext", "tab", "files")


class LabelledTextReader(Reader):
    """Reads lines of text in UTF-8 that have a label each.

    Options: text, how words become features, where hash_bits replaces its bits (0: a column for every word); form,
    "fasttext" if labels are words that begin with __label__, anywhere in the line, one or several; "tab" if they stand
    before a tab; None: by the first line. ("files", where each file is a text, is for `TextFilesReader`.)
    Without need_labels a line may be a text and no more; a block has labels if all its lines have.
    """

    more_on_labels = True

    def __init__(self, paths: Inputs, options: ReadOptions) -> None:
        super().__init__(paths, options)
        text, columns, hash_bits = options.text, options.columns, options.hash_bits
        if options.form not in (None, *FORMS):
            raise ValueError(
                f"form={options.form!r}: choose 'fasttext', 'tab' or 'files', or None to detect it from the first line."
            )
        self.text = clone(text) if isinstance(text, HashedText) else HashedText(**(text or {}))
        if hash_bits is not None:
            self.text.set_params(bits=hash_bits or None)
        if columns is not None:
            check_bits(hash_bits, columns)
            self.text.set_params(bits=columns.bits, signed=columns.signed, seed=columns.seed)
        elif self.text.bits is None and self.text.min_count > 1:
            raise ValueError(
                "min_count needs to count the words of all texts first, but a stream is read once: leave it out."
            )
        self._rule = self.text.rule()
        self._requested_form = options.form
        self._begin()

    def _begin(self) -> None:
        self.form = self._requested_form
        self.columns = self.options.columns or self.text.new_columns()
        self.n_features = self.columns.n_columns

    def _recipe(self) -> Recipe:
        return {"form": self.form, "text": {name: _plain(value) for name, value in self.text.get_params().items()}}

    def _pieces(self) -> Iterator[Piece]:
        for piece in super()._pieces():
            if self.form is None:
                begins = piece.content[: piece.size].tobytes().lstrip(SPACES)
                if begins:
                    self.form = IN_WORDS if _has_label(begins) else BEFORE_TAB
            yield piece

    def _parse(self, piece: Piece) -> ParsedPiece:
        n_lines = int(np.count_nonzero(piece.content[: piece.size] == 10))
        buffers = TextBuffers(*(np.empty((n_lines, k) if k > 1 else n_lines, np.int64) for k in (2, 2, 1, 3, 4)))
        is_fasttext = self.form == IN_WORDS
        with np.errstate(over="ignore"):  # NumPy would warn where nothing is compiled
            _, n_rows, n_bad, n_inside = scan_lines(piece.content, piece.size, is_fasttext, self.need_labels, buffers)
        content, label_content = piece.content, piece.content
        if n_inside:
            content, label_content = _remove_labels(content, buffers.inside[:n_inside], buffers.labels)
        codes, label_texts = read_labels(label_content, buffers.labels[:n_rows])
        labels = CodedColumn(codes, self._split(label_texts, is_fasttext))
        rows = cut_texts(self.text, TextColumn(content, *buffers.texts[:n_rows].T), self._rule)
        bad = bad_records(piece, buffers.bad[:n_bad], lambda line: _describe_line(line, is_fasttext))
        return ParsedPiece(n_lines, buffers.lines[:n_rows], labels, rows, None, bad)

    def _split(self, texts: list[str], is_fasttext: bool) -> list[Label]:
        """Return texts that hold several labels as sets."""
        if is_fasttext:
            return [tuple(BETWEEN.split(text)) if MARK in text and BETWEEN.search(text) else text for text in texts]
        return split_all(texts, self._labels.separator or COMMA) if self._labels.multilabel else list(texts)

    def _describe_unlabelled(self, line: bytes) -> tuple[str, int]:
        return _describe_line(line, self.form == IN_WORDS)

    def _matrix(self, parsed: ParsedPiece) -> Any:
        assert self.columns is not None
        name_columns = self.columns.find(parsed.rows.names)
        self.n_features = self.columns.n_columns
        return assemble(parsed.rows, name_columns, self.n_features, self.text.norm)


def _has_label(text: bytes) -> bool:
    """Return whether a text begins with a label, or its first line is a text without one and others have labels."""
    return text.startswith(PREFIX.tobytes()) or (b"\t" not in text.partition(b"\n")[0] and bool(LABEL.search(text)))


def _remove_labels(content: np.ndarray, inside: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return texts without the labels among their words, and the bytes of the labels, scattered ones joined.

    labels: where those of each row are, which is changed.
    """
    texts, more, size = content.copy(), list[bytes](), len(content)
    for first, last, row, scattered in inside.tolist():
        if not scattered:
            texts[first:last] = SPACES[0]
            continue
        matches = list(LABEL.finditer(content[first:last].tobytes()))
        for match in matches:
            texts[first + match.start() : first + match.end()] = SPACES[0]
        more.append(b" ".join(match[0] for match in matches)[len(PREFIX) :])
        labels[row] = size, size + len(more[-1])
        size += len(more[-1])
    return texts, np.concatenate([content, np.frombuffer(b"".join(more), np.uint8)]) if more else content


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it."""
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _describe_line(line: bytes, is_fasttext: bool) -> tuple[str, int]:
    """Return what is wrong with a line, and the column, counted from 1."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        place = len(line[: error.start].decode("utf-8")) + 1
        return f"{describe_decoding_error(error)}, or remove the line", place
    labels = list(LABEL.finditer(line))
    if is_fasttext:
        for label in labels:
            if not label[1]:
                message = "__label__ without a name: write the label after it, or remove the line"
                return message, _column(line, label.start())
        message = "there is no label (a word that begins with __label__): add one, or remove the line"
        return f"{message}, or give --multilabel if examples may have several labels or none", 1
    if b"\t" in line:
        return "there is no label before the tab: add one, or remove the line", 1
    hint = "fasttext form, give form='fasttext'" if labels else "write the label, a tab and the text"
    return f"there is no tab between a label and a text: {hint}", 1


def _column(line: bytes, place: int) -> int:
    return len(line[:place].decode("utf-8")) + 1


LONGEST_TEXT = 2**26  # bytes of one file
READ_BYTES = 2**20  # bytes of it that are read at a time
NO_CLASS_FOLDER = (
    "it is not in a folder that names its class: create one folder per class, or, if each file holds many examples, "
    "give the files by a pattern such as 'folder/*.csv'"
)


class Member(NamedTuple):
    """A file in a folder, and the label that the folder gives it."""

    name: str  # relative to the folder
    label: str | None


class Folder(Source):
    """A folder of texts. Its examples are counted from 1 in the order of `members`, as lines of a file are.

    Files of one class do not follow each other, as online learning would see one class for long and forget the others.
    The k-th of n files of a class comes where k/n of all files have come, so that every part of the stream has the
    classes in their proportions, and the first block has all of them. Within a class, and without classes, names are in
    alphabetical order.
    """

    members: list[Member]
    beside: list[str]  # files that lie beside the folders of the classes

    def __init__(self, path: Path, encoding: str | None = None):
        super().__init__(str(path))
        self.path, self.encoding = path, encoding
        self.members, self.beside = _listed(path)

    def member(self, number: int) -> Path:
        """Return the file of an example."""
        return self.path / self.members[number - 1].name

    def text(self, number: int) -> str | None:
        """Return the text of an example, as far as it is one."""
        content, problem = _content(self.member(number), self.encoding)
        return None if problem is not None else content.decode("utf-8", "replace").strip()

    def place(self, line: int | None, column: int) -> str:
        """Return how messages call an example."""
        return str(self) if line is None else str(self.member(line))

    def identity(self) -> Identity:
        """Return what tells that the files are still those that they were."""
        members, digest, size = _listed(self.path)[0], hashlib.blake2b(digest_size=7), 0
        for member in members:
            status = os.stat(self.path / member.name)
            digest.update(repr((member.name, status.st_size, status.st_mtime_ns)).encode("utf-8", "surrogateescape"))
            size += status.st_size
        return Identity(size, int.from_bytes(digest.digest(), "little"))


def _listed(folder: Path) -> tuple[list[Member], list[str]]:
    """Return the files of a folder in the order in which they are read, and those that belong to no class."""
    with os.scandir(folder) as entries:
        visible = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    files = [entry.name for entry in visible if entry.is_file()]
    classes = [entry.name for entry in visible if entry.is_dir()]
    if not classes:
        return [Member(name, None) for name in files], []
    places = []
    for label in classes:
        names = _below(folder, label)
        places += [(place / len(names), label, name) for place, name in enumerate(names)]
    return [Member(name, label) for _, label, name in sorted(places)], files


def _below(folder: Path, label: str) -> list[str]:
    """Return the files of a class, at any depth. Links to folders are not followed: they may lead back."""
    paths_found = []
    for folder_path, folders, files in os.walk(folder / label):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [os.path.join(folder_path, name) for name in files if not name.startswith(".")]
        paths_found += [os.path.relpath(path, folder) for path in paths if os.path.isfile(path)]
    return sorted(paths_found)


class FileText(NamedTuple):
    """What is in one of the files of a piece."""

    content: bytes
    label: str | None
    problem: str | None  # why the file could not be read whole


class TextFilesReader(LabelledTextReader):
    """Reads folders of texts, and single files as texts without a label. Options: those of LabelledTextReader."""

    def __init__(self, paths: Inputs, options: ReadOptions) -> None:
        super().__init__(paths, replace(options, form=IN_FILES))
        self.files = [
            Folder(path, self.encoding) if isinstance(path, Path) and path.is_dir() else path for path in self.files
        ]

    @property
    def notices(self) -> list[str]:
        return [
            f"{count(len(path.beside), 'file')} outside the class folders left out, such as {path.beside[0]}"
            for path in self.files
            if isinstance(path, Folder) and path.beside
        ]

    def _nothing(self) -> DataFileError:
        return DataFileError(self.files[0], "there are no files in it: create one folder per class, with files in them")

    def _pieces(self) -> Iterator[Piece]:
        for path in self.files:
            self._begin_file(path)
            members = path.members if isinstance(path, Folder) else [Member("", None)]
            texts, size, first = list[FileText](), 0, True
            for number, member in enumerate(members, 1):
                content, problem = _content(path.member(number) if isinstance(path, Folder) else path, self.encoding)
                if texts and size + len(content) > source.PIECE:
                    yield _join_texts(path, texts, first)
                    texts, size, first = [], 0, False
                texts.append(FileText(content, member.label, problem))
                size += len(content)
            if texts:
                yield _join_texts(path, texts, first)

    def _parse(self, piece: Piece) -> ParsedPiece:
        texts = piece.details
        assert isinstance(texts, list)
        bad = []
        for k, (content, label, problem) in enumerate(texts):
            message = problem or _describe_bytes(content)
            if message is None and label is None and self.need_labels:
                message = NO_CLASS_FOLDER
            if message is not None:
                bad.append(BadRecord(k, message))
        lines = np.setdiff1d(np.arange(len(texts)), [record.line for record in bad])
        ends, label_names = (
            np.cumsum([0, *(len(text.content) for text in texts)]),
            [texts[k].label for k in lines.tolist()],
        )
        labels, distinct = None, dict[str, int]()
        if all(label is not None for label in label_names):
            codes = np.array([distinct.setdefault(str(label), len(distinct)) for label in label_names], np.int32)
            labels = CodedColumn(codes, list(distinct))
        rows = cut_texts(self.text, TextColumn(piece.content, ends[lines], ends[lines + 1]), self._rule)
        return ParsedPiece(len(texts), lines, labels, rows, None, bad)


def _content(path: DataPath, encoding: str | None) -> tuple[bytes, str | None]:
    """Return what is in a file, and why it is not a text, if that is known."""
    parts, size = list[bytes](), 0
    try:
        with opened(path, encoding=encoding) as file:
            while size <= LONGEST_TEXT and (part := file.read(READ_BYTES)):
                parts.append(part)
                size += len(part)
    except DataFileError as error:
        return b"", str(error).removeprefix(f"{path}: ")
    if size > LONGEST_TEXT:
        return b"", f"more than {LONGEST_TEXT:,} bytes, too many for one text: split it"
    return b"".join(parts).removeprefix(b"\xef\xbb\xbf"), None


def _join_texts(path: DataPath, texts: list[FileText], first: bool) -> Piece:
    content = np.frombuffer(b"".join([*(text.content for text in texts), bytes(ROOM)]), np.uint8)
    return Piece(path, content, len(content) - ROOM, first, texts)


def _describe_bytes(content: bytes) -> str | None:
    """Return what is wrong with the bytes of a text, if anything is."""
    place, message = content.find(b"\0"), "a NUL byte, so this is not a text"
    try:
        content.decode()
    except UnicodeDecodeError as error:
        place, message = error.start, describe_decoding_error(error)
    else:
        message += ": remove the file, leave it out with on_error='skip' (--on-error skip), or give its --encoding"
    if place < 0:
        return None
    line, column = content.count(b"\n", 0, place) + 1, place - content.rfind(b"\n", 0, place)
    return f"line {line}, byte {column}: {message}"
