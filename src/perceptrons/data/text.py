"""Texts with labels: one per line, or one per file of a folder. Compiled code finds labels and cuts texts into words.

A line is "__label__x __label__y some text", as in fastText, or a label, a tab and a text. In a folder each file is one
example, and the folder that it lies in is its label: `mails/spam/1.txt` below `mails` has the label spam, and so has
`mails/spam/2024/2.txt`. A folder without folders holds texts without labels.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from perceptrons.data import source
from perceptrons.data.labels import COMMA, Label, split_all
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
from perceptrons.engine.scan.bytes import ROOM
from perceptrons.engine.scan.labelled import PREFIX, Found, scan_labelled
from perceptrons.engine.wording import count
from perceptrons.features import Columns, HashedText
from perceptrons.features.cells import CodedColumn, TextColumn
from perceptrons.features.named_rows import assemble
from perceptrons.features.values import LearnedState, Recipe

SPACES = b" \t\n\v\f\r\0"
LABEL = re.compile(rb"(?<![^ \t-\r\0])__label__([^ \t-\r\0]*)")
MARK = "__label__"
BETWEEN = re.compile(r"[ \t-\r\0]+__label__")
IN_WORDS, BEFORE_TAB, IN_FILES = FORMS = ("fasttext", "tab", "files")


class LabelledTextReader(Reader):
    """Reads lines of text in UTF-8 that have a label each.

    text: how words become features, or its parameters. hash_bits: instead of the bits of `text`, 0 for a column for
    every word. columns: those of a model that is to predict. form: "fasttext" if labels are words that begin with
    __label__, anywhere in the line, one or several; "tab" if they stand before a tab; None: by the first line.
    ("files", where each file is a text, is for `TextFilesReader`.)
    Without need_labels a line may be a text and no more; a block has labels if all its lines have.
    """

    format = "text"
    more_on_labels = True

    def __init__(
        self,
        paths: Inputs,
        *,
        text: HashedText | dict[str, Any] | None = None,
        hash_bits: int | None = None,
        columns: Columns | None = None,
        form: str | None = None,
        **shared: Any,
    ):
        super().__init__(paths, **shared)
        if form not in (None, *FORMS):
            raise ValueError(
                f"form={form!r}: choose 'fasttext', 'tab' or 'files', or None to detect it from the first line."
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
        self._given_columns, self._requested_form = columns, form
        self._begin()

    def _begin(self) -> None:
        self.form = self._requested_form
        self.columns = self.text.new_columns() if self._given_columns is None else self._given_columns
        self.n_features = self.columns.n_columns

    def recipe(self) -> Recipe:
        text = {name: _plain(value) for name, value in self.text.get_params().items()}
        recipe = {"format": self.format, "form": self.form, "text": text, "text_labels": self.text_labels}
        return recipe | self._shared()

    def learned_state(self) -> LearnedState:
        facts, arrays = super().learned_state()
        return facts | {"form": self.form}, arrays

    def _restore(self, facts: Recipe, arrays: dict[str, np.ndarray]) -> None:
        super()._restore(facts, arrays)
        self.form = facts["form"]

    def _pieces(self) -> Iterator[Piece]:
        for piece in super()._pieces():
            if self.form is None:
                begins = piece.content[: piece.size].tobytes().lstrip(SPACES)
                if begins:
                    self.form = IN_WORDS if _has_label(begins) else BEFORE_TAB
            yield piece

    def _parse(self, piece: Piece) -> ParsedPiece:
        n_lines = int(np.count_nonzero(piece.content[: piece.size] == 10))
        buffers = Found(*(np.empty((n_lines, k) if k > 1 else n_lines, np.int64) for k in (2, 2, 1, 3, 4)))
        is_fasttext = self.form == IN_WORDS
        with np.errstate(over="ignore"):  # NumPy would warn where nothing is compiled
            _, n_rows, n_bad, n_inside = scan_labelled(
                piece.content, piece.size, is_fasttext, self.need_labels, buffers
            )
        content, label_content = piece.content, piece.content
        if n_inside:
            content, label_content = _remove_labels(content, buffers.inside[:n_inside], buffers.labels)
        codes, label_texts = read_labels(label_content, buffers.labels[:n_rows])
        labels = CodedColumn(codes, self._split(label_texts, is_fasttext))
        rows = self.text.cut(TextColumn(content, *buffers.texts[:n_rows].T), self._rule)
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
    """Reads folders of texts, and single files as texts without a label. Parameters: those of LabelledTextReader."""

    def __init__(self, paths: Inputs, *, form: str | None = None, **more: Any):
        super().__init__(paths, form=IN_FILES, **more)
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
        rows = self.text.cut(TextColumn(piece.content, ends[lines], ends[lines + 1]), self._rule)
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
