"""A file of records, each some named arrays: written once from front to back, then mapped into memory one by one.

Every record has a checksum. A file without a name vanishes with the process; one with a name is whole or not there.
"""

import json
import mmap
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from perceptrons.training.exclusive import create

MAGIC = b"perceptrons cache 1\n"
ALIGNED = 64
TAIL = 24  # bytes: where the index begins, how long it is, its checksum
KINDS = frozenset("biufU")
MAPPED: dict[str, int] = (
    {"flags": mmap.MAP_SHARED | mmap.MAP_POPULATE, "prot": mmap.PROT_READ}  # all of it now, by the thread that maps
    if hasattr(mmap, "MAP_POPULATE")
    else {"access": mmap.ACCESS_READ}
)


class ArrayFileError(ValueError):
    """The file is not a whole and sound file of records."""


@contextmanager
def sound(name: str) -> Iterator[None]:
    """What a kept file says is read in this block: it may be anybody's, and say anything."""
    try:
        yield
    except ArrayFileError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ArrayFileError(f"{name}: the cache does not fit together ({error}): remove the file.") from error


class ArrayFile:
    """Records by number. `append` while it is written, `read` as soon as they are; `close` keeps a named file."""

    def __init__(
        self, file: BinaryIO, path: Path | None, temporary: str | None, index: list[dict[str, Any]], size: int
    ):
        self._file, self._path, self._temporary, self._index, self._size = file, path, temporary, index, size
        self._sound: set[int] = set()

    @classmethod
    def create(cls, path: Path | None = None) -> "ArrayFile":
        """A new file; without a path one that nobody sees."""
        if path is None:
            temporary = None
            try:
                file: Any = tempfile.TemporaryFile(prefix="perceptrons-")  # noqa: SIM115 (closed by close)
            except FileNotFoundError as error:
                missing = "no temporary folder can be written to; set TMPDIR to one, or name a file for the cache"
                raise OSError(error.errno, missing, "The cache") from error
        else:
            file, temporary = create(path)
        file.write(MAGIC)
        return cls(file, path, temporary, [], len(MAGIC))

    @classmethod
    def open(cls, path: Path) -> tuple["ArrayFile", dict[str, Any]]:
        """A kept file, and what was noted when it was closed."""
        file = path.open("rb")
        try:
            size = file.seek(0, os.SEEK_END)
            if size < len(MAGIC) + TAIL or _at(file, 0, len(MAGIC)) != MAGIC:
                raise ArrayFileError(f"{path}: not a cache of perceptrons, or one that was cut short.")
            begin, length, checksum = (int(number) for number in np.frombuffer(_at(file, size - TAIL, TAIL), "<i8"))
            if begin < len(MAGIC) or length < 0 or begin + length != size - TAIL:
                raise ArrayFileError(f"{path}: the cache was cut short or altered.")
            text = _at(file, begin, length)
            if zlib.crc32(text) != checksum:
                raise ArrayFileError(f"{path}: the index of the cache is damaged.")
            with sound(str(path)):
                content = json.loads(text)
                self = cls(file, path, None, content["records"], begin)
                for record in self._index:
                    self._check(record)
                return self, dict(content["notes"])
        except BaseException:
            file.close()
            raise

    def __len__(self) -> int:
        return len(self._index)

    def append(self, arrays: dict[str, np.ndarray], facts: dict[str, Any] | None = None) -> None:
        """Write a record. facts: small things to be had from `facts` without reading it."""
        with self._named():
            self._append(arrays, facts or {})
            self._file.flush()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors of the disk name the file."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._where) from error

    def _append(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        begin = self._pad()
        places, checksum = {}, 0
        for name, array in sorted(arrays.items()):  # as JSON will have them, for the checksum
            array = np.ascontiguousarray(array)
            offset = self._pad() - begin
            content = array.data.cast("B") if array.size else b""
            self._file.write(content)
            self._size += array.nbytes
            checksum = zlib.crc32(content, checksum)
            places[name] = [offset, array.dtype.str, list(array.shape)]
        self._index.append(
            {"begin": begin, "size": self._size - begin, "arrays": places, "checksum": checksum, "facts": facts}
        )

    def facts(self, number: int) -> dict[str, Any]:
        return self._index[number]["facts"]

    def read(self, number: int) -> dict[str, np.ndarray]:
        """The arrays of a record, mapped into memory as long as they are used; checked the first time."""
        with sound(self.name):
            return self._mapped(number, self._index[number])

    def _mapped(self, number: int, record: dict[str, Any]) -> dict[str, np.ndarray]:
        if not record["size"]:
            return {name: np.empty(shape, dtype) for name, (_, dtype, shape) in record["arrays"].items()}
        begin = record["begin"] // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        end = record["begin"] + record["size"]
        if os.fstat(self._file.fileno()).st_size < end:
            raise ArrayFileError(f"{self.name}: the cache was cut short while it was used.")
        content = mmap.mmap(self._file.fileno(), end - begin, offset=begin, **MAPPED)
        arrays, checksum = {}, 0
        for name, (offset, dtype, shape) in record["arrays"].items():
            place = record["begin"] - begin + offset
            array = np.frombuffer(content, dtype, int(np.prod(shape)), place).reshape(shape)
            arrays[name] = array
            if number not in self._sound and array.size:
                checksum = zlib.crc32(array.data.cast("B"), checksum)
        if number not in self._sound and checksum != record["checksum"]:
            raise ArrayFileError(f"{self.name}: record {number} of the cache is damaged: remove the file.")
        self._sound.add(number)
        return arrays

    def keep(self, notes: dict[str, Any]) -> None:
        """All is written: a file with a name gets it now, with these notes, and can still be read here."""
        assert self._path is not None
        assert self._temporary is not None
        with self._named():
            text = json.dumps({"records": self._index, "notes": notes}, sort_keys=True).encode()
            self._file.write(text + np.array([self._size, len(text), zlib.crc32(text)], "<i8").tobytes())
            self._file.flush()
            os.fsync(self._file.fileno())
            os.replace(self._temporary, self._path)
        self._temporary = None

    def close(self) -> None:
        """The end. A new file that was not kept is removed."""
        with suppress(OSError):  # what could not be written is not wanted any more
            self._file.close()
        if self._temporary is not None:
            Path(self._temporary).unlink(missing_ok=True)
            self._temporary = None

    @property
    def name(self) -> str:
        return "The temporary cache" if self._path is None else str(self._path)

    @property
    def _where(self) -> str:
        return f"a temporary cache in {tempfile.gettempdir()}" if self._path is None else str(self._path)

    def _pad(self) -> int:
        missing = -self._size % ALIGNED
        self._file.write(bytes(missing))
        self._size += missing
        return self._size

    def _check(self, record: dict[str, Any]) -> None:
        """Raise ArrayFileError for an index that points outside the file, or to what are no numbers."""
        begin, size = int(record["begin"]), int(record["size"])
        sound = len(MAGIC) <= begin and size >= 0 and begin + size <= self._size
        for offset, dtype, shape in record["arrays"].values():
            kind = np.dtype(dtype)
            length = kind.itemsize * int(np.prod([int(n) for n in shape], dtype=object))
            sound = sound and kind.kind in KINDS and min([0, *shape]) >= 0 and offset >= 0 and offset + length <= size
        if not sound:
            raise ArrayFileError(f"{self.name}: the index of the cache does not fit its contents.")


def _at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)
