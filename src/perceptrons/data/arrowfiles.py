"""Files and streams of Parquet and Arrow in batches of bounded size, checked so that broken ones do no harm.

The first batch of each has no rows. When it has been given, `used` is asked which columns to read.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from perceptrons.data.openstream import OpenStream
from perceptrons.data.packed import STDIN
from perceptrons.data.source import PIECE, identity, opened
from perceptrons.data.table import DataFileError

ROWS, BYTES = 2**16, 2 * PIECE  # of a batch, at most and about
FILE, OLD_FILE = b"ARROW1\0\0", b"FEA1"  # how files begin
END = b"\xff\xff\xff\xff\0\0\0\0"  # how streams end

Used = Callable[[], list[str]]


def parquet_batches(path: Path, used: Used) -> Iterator[Any]:
    """The batches of a Parquet file."""
    options: dict[str, Any] = {"pre_buffer": False, "buffer_size": PIECE, "page_checksum_verification": True}
    with _clear_errors(path, "Parquet"), _unchanged(path), pyarrow.parquet.ParquetFile(path, **options) as file:
        yield _no_rows(file.schema_arrow)
        columns = used()
        yield from _checked(file.iter_batches(_rows_of(file, columns), columns=columns), columns)


def arrow_batches(path: Path, used: Used) -> Iterator[Any]:
    """The batches of a file of Arrow (Feather) or of a stream, which may be packed and come from a pipe."""
    if path != STDIN and not isinstance(path, OpenStream) and _begins(path) == FILE:
        with _clear_errors(path, "Arrow"), _unchanged(path), pa.OSFile(str(path)) as raw:
            file = pyarrow.ipc.open_file(raw)
            yield _no_rows(file.schema)
            yield from _checked((file.get_batch(k) for k in range(file.num_record_batches)), used())
        return
    with opened(path) as packed, _clear_errors(path, "Arrow"):
        source = _Watched(packed)
        if source.begin == OLD_FILE:
            raise DataFileError(path, "this is Feather of version 1: write it again as version 2")
        stream = pyarrow.ipc.open_stream(pa.PythonFile(source, "r"))
        yield _no_rows(stream.schema)
        yield from _checked(stream, used())
        if source.last != END:
            raise DataFileError(path, "the stream breaks off: write it again, to its end")


class _Watched:
    """A stream as pyarrow reads it, which remembers how it began and ended. A file is one behind its first bytes."""

    closed = False

    def __init__(self, raw: Any):
        self._file = io.BufferedReader(raw, PIECE)
        kept = self._file.read(len(FILE))
        self.begin, self.last, self._kept = kept[:4], b"", b"" if kept == FILE else kept

    def read(self, n: int) -> bytes:
        parts, self._kept = [self._kept[:n]], self._kept[n:]
        missing = n - len(parts[0])
        while missing > 0 and (more := self._file.read(min(missing, PIECE))):  # n is said, and need not be there
            parts.append(more)
            missing -= len(more)
        content = b"".join(parts)
        self.last = (self.last + content[-len(END) :])[-len(END) :]
        return content

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


def _begins(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(FILE))


def _no_rows(schema: Any) -> Any:
    arrays = [pa.array([], schema.field(place).type) for place in range(len(schema.names))]  # names must be text
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _rows_of(file: Any, columns: list[str]) -> int:
    """Rows for a batch, by the size of the row groups, as if all columns took the same.

    What single columns take is not asked: `RowGroupMetaData.column` ends the process where what is said of a column
    does not fit it.
    """
    metadata = file.metadata
    size = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    used = sum(file.schema.column(k).path.split(".")[0] in columns for k in range(len(file.schema)))
    return max(1, min(ROWS, BYTES * metadata.num_rows // max(1, size * used // max(1, len(file.schema)))))


def _checked(batches: Iterable[Any], columns: list[str]) -> Iterator[Any]:
    """Only these columns, in smaller batches, and sound: pyarrow would believe any offsets that stand in a file."""
    for batch in batches:
        batch = batch.select(columns)
        batch.validate(full=True)
        rows = max(1, min(ROWS, BYTES * batch.num_rows // max(batch.nbytes, 1)))
        for begin in range(0, batch.num_rows, rows):
            yield batch.slice(begin, rows)


@contextmanager
def _clear_errors(path: Path, name: str) -> Iterator[None]:
    """pyarrow's errors as ours."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = str(error).partition("\n")[0][:100]
        raise DataFileError(
            path, f"this is no whole {name} file ({reason}): write it again, or give its real --format"
        ) from error


@contextmanager
def _unchanged(path: Path) -> Iterator[None]:
    before = identity(path)
    yield
    if identity(path) != before:
        raise DataFileError(path, "the file changed while it was read: read it again when it is complete")
