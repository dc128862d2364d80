"""A file of records, each some named arrays: written once from front to back, then mapped into memory one by one.

Every record has a checksum. A file without a name vanishes with the process; one with a name is whole or not there.
"""

import json
import mmap
import os
import tempfile
import zlib
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.streaming.blocks import TrainingBlock
from perceptrons.engine.streaming.locks import create
from perceptrons.engine.streaming.threads import DEPTH, ahead
from perceptrons.engine.training.inputs import Growth, check_sound
from perceptrons.engine.training.labels import FORMS, Target, check_labels
from perceptrons.engine.training.matrices import sound_csr

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
        raise ArrayFileError(f"{name}: the cache is inconsistent ({error}): remove the file.") from error


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
                missing = "no temporary folder is writable; set TMPDIR to a folder, or name a file for the cache"
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
                raise ArrayFileError(
                    f"{path}: this is not a cache of perceptrons, or it is truncated: remove the file."
                )
            begin, length, checksum = (int(number) for number in np.frombuffer(_at(file, size - TAIL, TAIL), "<i8"))
            if begin < len(MAGIC) or length < 0 or begin + length != size - TAIL:
                raise ArrayFileError(f"{path}: the cache is truncated or was changed: remove the file.")
            text = _at(file, begin, length)
            if zlib.crc32(text) != checksum:
                raise ArrayFileError(f"{path}: the index of the cache is damaged: remove the file.")
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
            raise ArrayFileError(f"{self.name}: the cache was truncated while it was in use.")
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
            raise ArrayFileError(f"{self.name}: the index of the cache does not match its contents: remove the file.")


def _at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)


class Cache:
    """Blocks in an ArrayFile: read once as text, then as often as there are epochs."""

    def __init__(self, file: ArrayFile, n_blocks: int = 0):
        self.file, self.n_blocks = file, n_blocks
        self.widths = range(2**63)  # that blocks may have
        self._textual: bool | None = None  # are labels strings?
        self._sound: set[int] = set()

    @classmethod
    def reopen(cls, path: Path, about: Any) -> tuple["Cache", dict[str, Any], dict[str, np.ndarray]] | None:
        """A kept cache of just these files read in just this way, with what its reader had learned; None if it is not.

        A file that is no cache at all is an error: it is not ours to replace. One without blocks is of no use.
        """
        if not path.exists():
            return None
        file, notes = ArrayFile.open(path)
        if notes.get("about") != about or len(file) < 2:
            file.close()
            return None
        try:
            with sound(file.name):
                return cls(file, len(file) - 1), dict(notes["learned"]), file.read(len(file) - 1)
        except ArrayFileError:
            file.close()
            raise

    def writing(self, blocks: Generator[TrainingBlock, None, None]) -> Generator[TrainingBlock, None, None]:
        """The same blocks, each written down before it is passed on. They are closed at once if the disk is full."""
        with closing(blocks):
            for block in blocks:
                self.append(block)
                yield block

    def append(self, block: TrainingBlock) -> None:
        """Write a block down."""
        self.file.append(*_record(block))
        self.n_blocks += 1

    def reading(self, order: np.ndarray) -> Generator[TrainingBlock, None, None]:
        """The blocks in this order, each mapped and checked while the last one is learned."""
        return ahead(self._mapped(order))

    def _mapped(self, order: np.ndarray) -> Generator[TrainingBlock, None, None]:
        used: deque[TrainingBlock] = deque(
            maxlen=DEPTH + 3
        )  # so that memory is given back by this thread, not by the learner
        for number in order.tolist():
            used.append(self._read(number))
            yield used[-1]

    def _read(self, number: int) -> TrainingBlock:
        """A block. A kept file may be anybody's: the first time, what it says is checked."""
        with sound(self.file.name):
            block = _block(self.file.read(number), self.file.facts(number))
            if number not in self._sound:
                _check(block)
                self._check_alike(block)
                self._sound.add(number)
            return block

    def _check_alike(self, block: TrainingBlock) -> None:
        """Raise ValueError for a block that is not of one stream with the others."""
        textual = block.target.classes.dtype.kind == "U"
        if not len(block.target.classes):  # no example of the block has a label
            textual = bool(self._textual)
        if block.X.shape[1] not in self.widths or textual is not (textual if self._textual is None else self._textual):
            raise ValueError("expected rows as wide as the reader knows, with labels that are all strings or numbers")
        self._textual = textual if len(block.target.classes) else self._textual

    def keep(self, about: Any, learned: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """All blocks are written. about: what they were read from, and how."""
        self.file.append(arrays)
        self.file.keep({"about": about, "learned": learned})


def _record(block: TrainingBlock) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """A block as small arrays: numbers that are all 1 are left out, float64 that are float32 take half the room."""
    X, target = block.X, block.target
    classes = target.classes if target.classes.dtype.kind != "O" else np.array(target.classes.tolist(), dtype=str)
    arrays = {"classes": classes, "codes": target.codes}
    facts: dict[str, Any] = {"form": target.form, "shape": list(X.shape), "dtype": X.dtype.str}
    if target.indicator is not None:
        arrays["indicator"] = target.indicator
    if block.weight is not None:
        arrays["weight"] = np.asarray(block.weight, np.float64)
    if sp.issparse(X):
        X = sound_csr(X)
        arrays |= {"columns": X.indices, "starts": X.indptr}
        values = X.data
        if values.size and values.dtype.kind == "f" and (values == 1).all():
            return arrays, facts
    else:
        values = np.asarray(X)
    if values.dtype == np.float64:
        with np.errstate(over="ignore"):
            small = values.astype(np.float32)
        if np.array_equal(small, values):
            values = small
    return arrays | {"values": values}, facts


def _block(arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> TrainingBlock:
    target = Target(facts["form"], arrays["classes"], arrays["codes"], arrays.get("indicator"))
    dtype, weight = np.dtype(facts["dtype"]), arrays.get("weight")
    if "columns" not in arrays:
        return TrainingBlock(arrays["values"].astype(dtype, copy=False), target, weight, checked=True)
    columns = arrays["columns"]
    values = arrays["values"].astype(dtype, copy=False) if "values" in arrays else np.ones(len(columns), dtype)
    X = sp.csr_matrix((values, columns, arrays["starts"]), shape=tuple(facts["shape"]), copy=False)
    return TrainingBlock(X, target, weight, checked=True)


def _check(block: TrainingBlock) -> None:
    """Raise ValueError for a block that would lead the learner astray."""
    X, target, weight = block.X, block.target, block.weight
    n, k = X.shape[0], len(target.classes)
    fit = X.ndim == 2 and X.dtype in (np.float32, np.float64) and target.codes.shape == (n,)
    fit = fit and (k > 0 or target.indicator is not None)
    fit = fit and target.codes.dtype == np.int32 and target.codes.min(initial=0) >= 0
    fit = fit and target.codes.max(initial=0) < max(k, 1) and target.form in FORMS
    fit = fit and (target.indicator is None or (target.indicator.shape, target.indicator.dtype) == ((n, k), bool))
    fit = fit and (weight is None or (weight.shape == (n,) and weight.dtype == np.float64))
    if not fit:
        raise ValueError("expected labels that go with its rows")
    classes = check_labels(target.classes)
    if not (classes[:-1] < classes[1:]).all():
        raise ValueError("expected classes in ascending order, each once")
    check_sound(X, Growth())
