"""A file of records, each some named arrays: written once from front to back, then mapped into memory one by one.

Every record has a checksum. A file without a name vanishes with the process. One with a name is complete or missing.
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
from perceptrons.engine.streaming.threads import DEPTH, prefetched
from perceptrons.engine.training.inputs import Growth, check_sound
from perceptrons.engine.training.labels import FORMS, Target, check_labels
from perceptrons.engine.training.matrices import sound_csr

MAGIC = b"perceptrons cache 1\n"
ALIGNMENT = 64  # bytes
TAIL = 24  # bytes: where the index begins, how long it is, its checksum
KINDS = frozenset("biufU")
MMAP_OPTIONS: dict[str, int] = (
    {"flags": mmap.MAP_SHARED | mmap.MAP_POPULATE, "prot": mmap.PROT_READ}  # the thread that maps also reads
    if hasattr(mmap, "MAP_POPULATE")
    else {"access": mmap.ACCESS_READ}
)


class ArrayFileError(ValueError):
    """The file is not a complete and valid file of records."""


@contextmanager
def refusing_damage(name: str) -> Iterator[None]:
    """Turn errors of reading a kept file into ArrayFileError, because anybody may have written it."""
    try:
        yield
    except ArrayFileError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ArrayFileError(f"{name}: the cache is inconsistent ({error}): remove the file.") from error


class ArrayFile:
    """Records by number. `append` writes one, which can be read at once; `keep` gives a new file its name."""

    def __init__(
        self, file: BinaryIO, path: Path | None, temporary: str | None, index: list[dict[str, Any]], size: int
    ):
        self._file, self._path, self._temporary, self._index, self._size = file, path, temporary, index, size
        self._checked: set[int] = set()  # records

    @classmethod
    def create(cls, path: Path | None = None) -> "ArrayFile":
        """Return a new file, without a path a temporary one."""
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
        """Return a kept file, and the notes that it was kept with."""
        file = path.open("rb")
        try:
            size = file.seek(0, os.SEEK_END)
            if size < len(MAGIC) + TAIL or _read_at(file, 0, len(MAGIC)) != MAGIC:
                raise ArrayFileError(
                    f"{path}: this is not a cache of perceptrons, or it is truncated: remove the file."
                )
            begin, length, checksum = np.frombuffer(_read_at(file, size - TAIL, TAIL), "<i8").tolist()
            if begin < len(MAGIC) or length < 0 or begin + length != size - TAIL:
                raise ArrayFileError(f"{path}: the cache is truncated or was changed: remove the file.")
            text = _read_at(file, begin, length)
            if zlib.crc32(text) != checksum:
                raise ArrayFileError(f"{path}: the index of the cache is damaged: remove the file.")
            with refusing_damage(str(path)):
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
        """Write a record. facts: plain values for JSON, which `facts` returns without reading the record."""
        with self._naming_the_file():
            begin = self._pad()
            positions, checksum = {}, 0
            for name, array in sorted(arrays.items()):  # in the order of the index, for the checksum
                array = np.ascontiguousarray(array)
                offset = self._pad() - begin
                content = array.data.cast("B") if array.size else b""
                self._file.write(content)
                self._size += array.nbytes
                checksum = zlib.crc32(content, checksum)
                positions[name] = [offset, array.dtype.str, list(array.shape)]
            size = self._size - begin
            self._index.append(
                {"begin": begin, "size": size, "arrays": positions, "checksum": checksum, "facts": facts or {}}
            )
            self._file.flush()

    def facts(self, number: int) -> dict[str, Any]:
        return self._index[number]["facts"]

    def read(self, number: int) -> dict[str, np.ndarray]:
        """Return the arrays of a record, mapped into memory as long as they are used; checked the first time."""
        with refusing_damage(self.name):
            record = self._index[number]
            if not record["size"]:
                return {name: np.empty(shape, dtype) for name, (_, dtype, shape) in record["arrays"].items()}
            begin = record["begin"] // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
            end = record["begin"] + record["size"]
            if os.fstat(self._file.fileno()).st_size < end:
                raise ArrayFileError(f"{self.name}: the cache was truncated while it was in use.")
            content = mmap.mmap(self._file.fileno(), end - begin, offset=begin, **MMAP_OPTIONS)
            arrays, checksum = {}, 0
            for name, (offset, dtype, shape) in record["arrays"].items():
                place = record["begin"] - begin + offset
                array = np.frombuffer(content, dtype, int(np.prod(shape)), place).reshape(shape)
                arrays[name] = array
                if number not in self._checked and array.size:
                    checksum = zlib.crc32(array.data.cast("B"), checksum)
            if number not in self._checked and checksum != record["checksum"]:
                raise ArrayFileError(f"{self.name}: record {number} of the cache is damaged: remove the file.")
            self._checked.add(number)
            return arrays

    def keep(self, notes: dict[str, Any]) -> None:
        """Give a complete file its name, with these notes. It can still be read here."""
        assert self._path is not None
        assert self._temporary is not None
        with self._naming_the_file():
            text = json.dumps({"records": self._index, "notes": notes}, sort_keys=True).encode()
            self._file.write(text + np.array([self._size, len(text), zlib.crc32(text)], "<i8").tobytes())
            self._file.flush()
            os.fsync(self._file.fileno())
            os.replace(self._temporary, self._path)
        self._temporary = None

    def close(self) -> None:
        """Close the file. A new one that was not kept is removed."""
        with suppress(OSError):  # the last bytes of a file that is not kept do not matter
            self._file.close()
        if self._temporary is not None:
            Path(self._temporary).unlink(missing_ok=True)
            self._temporary = None

    @property
    def name(self) -> str:
        return "The temporary cache" if self._path is None else str(self._path)

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        """Add the name of the file to errors of the disk."""
        try:
            yield
        except OSError as error:
            place = f"a temporary cache in {tempfile.gettempdir()}" if self._path is None else str(self._path)
            raise OSError(error.errno, error.strerror, place) from error

    def _pad(self) -> int:
        missing = -self._size % ALIGNMENT
        self._file.write(bytes(missing))
        self._size += missing
        return self._size

    def _check(self, record: dict[str, Any]) -> None:
        """Raise ArrayFileError for an index that points outside the file, or to what are no numbers."""
        begin, size = int(record["begin"]), int(record["size"])
        is_valid = len(MAGIC) <= begin and size >= 0 and begin + size <= self._size
        for offset, dtype, shape in record["arrays"].values():
            kind = np.dtype(dtype)
            end = offset + kind.itemsize * int(np.prod([int(n) for n in shape], dtype=object))
            is_valid = is_valid and kind.kind in KINDS and min([0, *shape]) >= 0 and offset >= 0 and end <= size
        if not is_valid:
            raise ArrayFileError(f"{self.name}: the index of the cache does not match its contents: remove the file.")


def _read_at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)


class Cache:
    """Blocks in an ArrayFile: read as text once, and from the file in every later epoch."""

    def __init__(self, file: ArrayFile, n_blocks: int = 0):
        self.file, self.n_blocks = file, n_blocks
        self.widths = range(2**63)  # that blocks may have
        self._has_text_labels: bool | None = None  # unknown before the first block with labels
        self._checked: set[int] = set()  # blocks

    @classmethod
    def reopen(cls, path: Path, about: Any) -> tuple["Cache", dict[str, Any], dict[str, np.ndarray]] | None:
        """Return a kept cache and what its reader had learned, or None if it is of other files or was read otherwise.

        A file that is no cache is an error: it is not ours to replace. A cache without blocks is of no use.
        """
        if not path.exists():
            return None
        file, notes = ArrayFile.open(path)
        if notes.get("about") != about or len(file) < 2:
            file.close()
            return None
        try:
            with refusing_damage(file.name):
                return cls(file, len(file) - 1), dict(notes["learned"]), file.read(len(file) - 1)
        except ArrayFileError:
            file.close()
            raise

    def writing(self, blocks: Generator[TrainingBlock, None, None]) -> Generator[TrainingBlock, None, None]:
        """Yield the same blocks, each after it was written. They are closed at once if the disk is full."""
        with closing(blocks):
            for block in blocks:
                self.append(block)
                yield block

    def append(self, block: TrainingBlock) -> None:
        self.file.append(*_record_of(block))
        self.n_blocks += 1

    def reading(self, order: np.ndarray) -> Generator[TrainingBlock, None, None]:
        """Return the blocks in this order, each mapped and checked while the previous one is learned."""
        return prefetched(self._mapped(order))

    def _mapped(self, order: np.ndarray) -> Generator[TrainingBlock, None, None]:
        blocks = deque[TrainingBlock](maxlen=DEPTH + 3)  # so that this thread frees memory, and not the learner
        for number in order.tolist():
            blocks.append(self._read_block(number))
            yield blocks[-1]

    def _read_block(self, number: int) -> TrainingBlock:
        """Return a block. Its content is checked the first time, because anybody may have written a kept file."""
        with refusing_damage(self.file.name):
            block = _block_of(self.file.read(number), self.file.facts(number))
            if number not in self._checked:
                _check(block)
                self._check_stream(block)
                self._checked.add(number)
            return block

    def _check_stream(self, block: TrainingBlock) -> None:
        """Raise ValueError for a block that cannot be of one stream with the others."""
        has_text, matches = self._has_text_labels, True
        if len(block.target.classes):  # otherwise no example of the block has a label
            has_text = block.target.classes.dtype.kind == "U"
            matches = self._has_text_labels in (None, has_text)
        if block.X.shape[1] not in self.widths or not matches:
            raise ValueError("expected rows as wide as the reader knows, with labels that are all strings or numbers")
        self._has_text_labels = has_text

    def keep(self, about: Any, learned: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Keep a complete cache. about: the files and how they were read; learned, arrays: the state of the reader."""
        self.file.append(arrays)
        self.file.keep({"about": about, "learned": learned})


def _record_of(block: TrainingBlock) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return a block as small arrays: values that are all 1 are left out, float64 that fit are kept as float32."""
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
            as_float32 = values.astype(np.float32)
        values = as_float32 if np.array_equal(as_float32, values) else values
    return arrays | {"values": values}, facts


def _block_of(arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> TrainingBlock:
    target = Target(facts["form"], arrays["classes"], arrays["codes"], arrays.get("indicator"))
    dtype, columns = np.dtype(facts["dtype"]), arrays.get("columns")
    X: Any = arrays["values"].astype(dtype, copy=False) if "values" in arrays or columns is None else None
    if columns is not None:
        values = np.ones(len(columns), dtype) if X is None else X
        X = sp.csr_matrix((values, columns, arrays["starts"]), shape=tuple(facts["shape"]), copy=False)
    return TrainingBlock(X, target, arrays.get("weight"), is_checked=True)


def _check(block: TrainingBlock) -> None:
    """Raise ValueError for a block whose parts do not fit together."""
    X, target, weight = block.X, block.target, block.weight
    n, k = X.shape[0], len(target.classes)
    is_valid = (
        X.ndim == 2 and X.dtype in (np.float32, np.float64)
        and target.codes.shape == (n,) and (k > 0 or target.indicator is not None)
        and target.codes.dtype == np.int32 and target.codes.min(initial=0) >= 0
        and target.codes.max(initial=0) < max(k, 1) and target.form in FORMS
        and (target.indicator is None or (target.indicator.shape, target.indicator.dtype) == ((n, k), bool))
        and (weight is None or (weight.shape == (n,) and weight.dtype == np.float64))
    )  # fmt: skip
    if not is_valid:
        raise ValueError("expected labels that go with its rows")
    classes = check_labels(target.classes)
    if not (classes[:-1] < classes[1:]).all():
        raise ValueError("expected classes in ascending order, each once")
    check_sound(X, Growth())
