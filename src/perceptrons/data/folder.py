"""Folders of texts: each file is one example, and the folder that it lies in is its label.

`mails/spam/1.txt` below the given `mails` has the label spam, and so has `mails/spam/2024/2.txt`. A folder without
folders holds texts without labels. What becomes of the texts is up to `labelled.py`.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from perceptrons.data import source
from perceptrons.data.decoding import TextFile
from perceptrons.data.labelled import IN_FILES, LabelledTextReader
from perceptrons.data.source import Identity, NotAFile, Piece, opened
from perceptrons.data.table import Bad, DataFileError, Parsed, Texts, no_text
from perceptrons.engine.scan.bytes import ROOM
from perceptrons.engine.wording import count
from perceptrons.features.named_rows import cut_text

LONGEST_TEXT = 2**26  # bytes of one file
AT_ONCE = 2**20  # bytes of it that are read at a time
NO_LABEL = (
    "it is not in a folder that names its class: create one folder per class, or, if each file holds many examples, "
    "give the files by a pattern such as 'folder/*.csv'"
)


class Member(NamedTuple):
    """A file in a folder, and the label that the folder gives it."""

    name: str  # relative to the folder
    label: str | None


class Folder(type(Path())):  # type: ignore[misc]
    """A folder of texts. Its examples are counted from 1 in the order of `members`, as lines of a file are.

    Files of one class do not follow each other, as online learning would see one class for long and forget the others.
    The k-th of n files of a class comes where k/n of all files have come, so that every part of the stream has the
    classes in their proportions, and the first block has all of them. Within a class, and without classes, names are in
    alphabetical order.
    """

    members: list[Member]
    beside: list[str]  # files that lie beside the folders of the classes
    encoding: str | None

    @classmethod
    def of(cls, path: Path) -> "Folder":
        folder = cls(path)
        folder.encoding = getattr(path, "encoding", None)
        folder.members, folder.beside = _listed(path)
        return folder

    def member(self, number: int) -> Path:
        """The file of an example."""
        path = Path(self / self.members[number - 1].name)
        return path if self.encoding is None else TextFile.of(path, self.encoding)

    def text(self, number: int) -> str | None:
        """The text of an example, as far as it is one."""
        content, why = _content(self.member(number))
        return None if why is not None else content.decode("utf-8", "replace").strip()

    def place(self, line: int | None, column: int) -> str:
        """How messages call an example."""
        return str(self) if line is None else str(self.member(line))

    def identity(self) -> Identity:
        """What tells that the files are still those that they were."""
        members, digest, size = _listed(self)[0], hashlib.blake2b(digest_size=7), 0
        for member in members:
            status = os.stat(self / member.name)
            digest.update(repr((member.name, status.st_size, status.st_mtime_ns)).encode("utf-8", "surrogateescape"))
            size += status.st_size
        return Identity(size, int.from_bytes(digest.digest(), "little"))


def _listed(folder: Path) -> tuple[list[Member], list[str]]:
    """The files of a folder in the order in which they are read, and those that belong to no class."""
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
    """The files of a class, at any depth. Links to folders are not followed: they may lead back."""
    found = []
    for where, folders, files in os.walk(folder / label):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [os.path.join(where, name) for name in files if not name.startswith(".")]
        found += [os.path.relpath(path, folder) for path in paths if os.path.isfile(path)]
    return sorted(found)


class _Files(Piece):
    """The texts of some files, one behind the other: text k is content[ends[k]:ends[k + 1]]."""

    ends: list[int]
    labels: list[str | None]
    unread: dict[int, str]  # files that could not be read whole, and why


class TextFilesReader(LabelledTextReader):
    """Reads folders of texts, and single files as texts without a label. Parameters: those of LabelledTextReader."""

    def __init__(self, paths: tuple[Any, ...], *, form: str | None = None, **more: Any):
        super().__init__(paths, form=IN_FILES, **more)
        self.files = [
            Folder.of(path) if not isinstance(path, NotAFile) and path.is_dir() else path for path in self.files
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

    def _state(self, path: Path) -> Identity | None:
        return path.identity() if isinstance(path, Folder) else super()._state(path)

    def _pieces(self) -> Iterator[Piece]:
        for path in self.files:
            self._begin_file(path)
            members = path.members if isinstance(path, Folder) else [Member("", None)]
            parts: list[tuple[bytes, str | None, str | None]] = []
            size, first = 0, True
            for number, member in enumerate(members, 1):
                content, why = _content(path.member(number) if isinstance(path, Folder) else path)
                if parts and size + len(content) > source.PIECE:
                    yield _joined(path, parts, first)
                    parts, size, first = [], 0, False
                parts.append((content, member.label, why))
                size += len(content)
            if parts:
                yield _joined(path, parts, first)

    def _parse(self, piece: Piece) -> Parsed:
        assert isinstance(piece, _Files)
        bad = []
        for k, label in enumerate(piece.labels):
            what = piece.unread.get(k) or _wrong(piece.content[piece.ends[k] : piece.ends[k + 1]].tobytes())
            if what is None and label is None and self.need_labels:
                what = NO_LABEL
            if what is not None:
                bad.append(Bad(k, what))
        lines = np.setdiff1d(np.arange(len(piece.labels)), [one.line for one in bad])
        ends, named = np.array(piece.ends), [piece.labels[k] for k in lines.tolist()]
        labels, distinct = None, dict[str, int]()
        if all(label is not None for label in named):
            codes = np.array([distinct.setdefault(str(label), len(distinct)) for label in named], np.int32)
            labels = Texts(codes, list(distinct))
        local = cut_text(piece.content, ends[lines], ends[lines + 1], self._rule, self._rooms.words)
        return Parsed(len(piece.labels), lines, labels, local, None, bad)


def _content(path: Path) -> tuple[bytes, str | None]:
    """What is in a file, and why it is not a text, if that is known."""
    parts, size = list[bytes](), 0
    try:
        with opened(path) as file:
            while size <= LONGEST_TEXT and (part := file.read(AT_ONCE)):
                parts.append(part)
                size += len(part)
    except DataFileError as error:
        return b"", str(error).removeprefix(f"{path}: ")
    if size > LONGEST_TEXT:
        return b"", f"more than {LONGEST_TEXT:,} bytes, too many for one text: split it"
    return b"".join(parts).removeprefix(b"\xef\xbb\xbf"), None


def _joined(path: Path, parts: list[tuple[bytes, str | None, str | None]], first: bool) -> _Files:
    content = np.frombuffer(b"".join([*(part for part, _, _ in parts), bytes(ROOM)]), np.uint8)
    piece = _Files(path, content, len(content) - ROOM, first)
    piece.ends = np.cumsum([0, *(len(part) for part, _, _ in parts)]).tolist()
    piece.labels = [label for _, label, _ in parts]
    piece.unread = {k: why for k, (_, _, why) in enumerate(parts) if why is not None}
    return piece


def _wrong(content: bytes) -> str | None:
    """What is wrong with the bytes of a text, if anything is."""
    place, what = content.find(b"\0"), "a NUL byte, so this is not a text"
    try:
        content.decode()
    except UnicodeDecodeError as error:
        place, what = error.start, no_text(error)
    else:
        what += ": remove the file, leave it out with on_error='skip' (--on-error skip), or give its --encoding"
    if place < 0:
        return None
    line, column = content.count(b"\n", 0, place) + 1, place - content.rfind(b"\n", 0, place)
    return f"line {line}, byte {column}: {what}"
