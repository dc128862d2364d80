"""Where bytes come from: files, patterns of names, standard input, open streams; compressed or not, in any encoding.

Files are cut into pieces of whole lines. The cut depends on the bytes alone: a file, a pipe and a compressed file of
the same text give the same pieces.
"""

import bz2
import codecs
import glob
import gzip
import io
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from perceptrons.data.table import DataFileError, DataPath, Identity, Source
from perceptrons.engine.scan.bytes import ROOM
from perceptrons.engine.training.memory import memory

BOM = codecs.BOM_UTF8
STDIN = Path("<stdin>")
PIECE = 2**21  # bytes: small enough for the cache, large enough that Python's time for each does not count
LONGEST_LINE = 2**26
WHOLE_FILE_CHUNK = 2**24  # bytes that are read at a time of a file that is read whole
WHOLE_SHARE = 0.2  # of the memory that such a file may take: it is held several times while it is read
BROKEN = (EOFError, zlib.error, lzma.LZMAError)
MAGIC = 16  # bytes by which compression is known
LETTERS = 2**16  # or bytes that are decoded at a time
UTF_8 = ("utf-8", "utf-8-sig")
LEADS = range(0xC2, 0xF5)  # bytes that may begin a character of UTF-8


class Compression(NamedTuple):
    """A kind of compression, the ending of names of such files and how their first bytes look."""

    name: str
    ending: str
    magic: re.Pattern[bytes]
    open: Callable[[Any], Any]  # of a file of compressed bytes
    compress: Callable[[bytes], bytes]


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise ModuleNotFoundError(
            "Files compressed by zstd need the package zstandard: pip install 'perceptrons[files]'."
        ) from error
    return zstandard


class ByteStream(io.RawIOBase):
    """A stream of the bytes that an iterator yields, one portion after the other."""

    def __init__(self, portions: Iterator[bytes]) -> None:
        self._portions, self._portion = portions, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._portion:
            portion = next(self._portions, None)
            if portion is None:
                return 0
            self._portion = memoryview(portion)
        n = min(len(buffer), len(self._portion))
        buffer[:n], self._portion = self._portion[:n], self._portion[n:]
        return n


def _zstd_portions(compressed: IO[bytes]) -> Iterator[bytes]:
    """Yield what a file compressed by zstd holds. The reader of zstandard takes a file that was cut short for whole."""
    zstandard = _zstandard()
    frame = zstandard.ZstdDecompressor().decompressobj()
    has_begun, portion = False, b""
    while portion := (frame.unused_data if frame.eof else b"") or compressed.read(2**17):
        if frame.eof:
            frame = zstandard.ZstdDecompressor().decompressobj()
        has_begun = True
        try:
            yield frame.decompress(portion)
        except zstandard.ZstdError as error:
            raise EOFError(str(error)) from error
    if has_begun and not frame.eof:
        raise EOFError("the last frame is truncated")


def _open_zstd(compressed: IO[bytes]) -> ByteStream:
    return ByteStream(_zstd_portions(compressed))


COMPRESSIONS = (
    Compression("gzip", ".gz", re.compile(rb"\x1f\x8b"), gzip.open, partial(gzip.compress, mtime=0)),
    Compression("xz", ".xz", re.compile(rb"\xfd7zXZ\x00"), lzma.open, lzma.compress),
    # more than its "BZh", with which a text may begin
    Compression("bzip2", ".bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), bz2.open, bz2.compress),
    Compression("zstd", ".zst", re.compile(rb"\x28\xb5\x2f\xfd"), _open_zstd, lambda text: _zstandard().compress(text)),
)


def compression_of(path: DataPath) -> Compression | None:
    """Return the compression that the ending of a name stands for."""
    ending = Path(str(path)).suffix.lower()
    return next((compression for compression in COMPRESSIONS if compression.ending == ending), None)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a whole file, compressed if its name says so. "-" is standard output."""
    if str(path) == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    compression = compression_of(Path(path))
    Path(path).write_bytes(content if compression is None else compression.compress(content))


def resolved(encoding: str, content: bytes) -> str:
    """Return the encoding that writes the text again with its byte order, and with its mark if there is one."""
    name = codecs.lookup(encoding).name
    if name == "utf-8-sig":
        return "utf-8"
    if name in ("utf-16", "utf-32"):
        width = name[-2:]
        for order in ("le", "be"):
            if content.startswith(getattr(codecs, f"BOM_UTF{width}_{order.upper()}")):
                return f"{name}-{order}"
        return f"{name}-{'le' if sys.byteorder == 'little' else 'be'}"
    return name


def as_utf8(path: Path, content: bytes, encoding: str) -> bytes:
    """Return the text in UTF-8, with its byte order mark if it was UTF-8 before. Invalid bytes are an error."""
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        text_before = content[: error.start].decode(encoding, "replace")
        message = f"byte 0x{content[error.start]:02x} is not {encoding} text"
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            message += ", but perhaps utf-16"
        raise DataFileError(
            path, f"{message}: save the file as UTF-8, or give its encoding", *_place(text_before)
        ) from error
    nul = text.find("\0")
    if nul >= 0:
        message = "a NUL byte, so this is not text, or it has another encoding, such as utf-16"
        raise DataFileError(path, f"{message}: give the encoding, or remove the byte", *_place(text[:nul]))
    return content if encoding == "utf-8" else text.encode()


def _place(text_before: str) -> tuple[int, int]:
    """Line and column, counted from 1, of what comes behind this text."""
    return text_before.count("\n") + 1, len(text_before) - (text_before.rfind("\n") + 1) + 1


def known_encoding(name: str) -> str:
    """Return the name of an encoding as Python writes it. Raise ValueError if Python does not know it."""
    try:
        "".encode(name)  # rot13 and the like are known, but not for text
        return codecs.lookup(name).name
    except (LookupError, ValueError) as error:  # ValueError: a NUL in the name
        raise ValueError(
            f"encoding is {name!r}, which Python does not know: use, for instance, utf-8, utf-16, latin-1 or cp1252"
        ) from error


def decoded_from(name: str | None) -> str | None:
    """Return the encoding to decode from; None: text is UTF-8 already."""
    encoding = None if name is None else known_encoding(name)
    return None if encoding in UTF_8 else encoding


def _undecodable(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are not text stay bytes that are not UTF-8, so that readers complain of the record they stand in."""
    assert isinstance(error, UnicodeDecodeError)
    bad_bytes = error.object[error.start : error.end]
    # a byte that could begin a character might become one together with those behind it
    codes = (0xDC00 + (byte if byte >= 0x80 and byte not in LEADS else 0xFF) for byte in bad_bytes)
    return "".join(map(chr, codes)), error.end


codecs.register_error("perceptrons.undecodable", _undecodable)


def decoded(raw: IO[bytes], encoding: str, path: DataPath) -> ByteStream:
    """Return a stream of bytes in some encoding as a stream of UTF-8."""

    def portions() -> Iterator[bytes]:
        decoder, content = codecs.getincrementaldecoder(encoding)("perceptrons.undecodable"), b"?"
        while content:
            content = raw.read(LETTERS) or b""
            try:
                yield decoder.decode(content, final=not content).encode("utf-8", "surrogateescape")
            except UnicodeError as error:
                message = f"{error}: give the right --encoding"
                if "BOM" in message:
                    hint = "give --encoding utf-16-le or utf-16-be, or the right encoding"
                    message = f"there is no byte order mark: {hint}"
                raise DataFileError(path, message) from error

    return ByteStream(portions())


def encoded(text: IO[str]) -> ByteStream:
    """Return a stream of text as UTF-8."""
    return ByteStream(part.encode("utf-8", "surrogateescape") for part in iter(lambda: text.read(LETTERS), ""))


Inputs = tuple[Any, ...]  # paths, patterns, open streams, or one `InMemory`


class InMemory(Source):
    """Examples in memory: a frame, a list of records or a pair of arrays, by the name of their kind."""

    def __init__(self, kind: str, examples: Any):
        super().__init__(f"<{kind}>")
        self.kind, self.examples = kind, examples


class OpenStream(Source):
    """An open stream of bytes or text. If it can seek, every reading begins where the stream stood at first."""

    def __init__(self, stream: Any, number: int):
        name = getattr(stream, "name", None)
        super().__init__(name if isinstance(name, str) and name else f"<stream {number}>")
        self.stream = stream
        self.is_text = isinstance(stream, io.TextIOBase)
        self.start: int | None = stream.tell() if stream.seekable() else None

    def bytes(self) -> Any:
        """Return the stream as one of bytes, from its start; text is encoded as UTF-8."""
        if self.start is not None:
            self.stream.seek(self.start)
        return encoded(self.stream) if self.is_text else self.stream


def is_stream(data: object) -> bool:
    """Return whether it is something to read from, not a name."""
    return hasattr(data, "read") and hasattr(data, "seekable")


def only_once(path: DataPath) -> bool:
    """Return whether it cannot be read again: a stream that cannot seek."""
    return path == STDIN or (isinstance(path, OpenStream) and path.start is None)


class Piece(NamedTuple):
    """Whole lines of one file: content[:size] ends with a newline, and ROOM bytes follow it."""

    path: DataPath
    content: np.ndarray  # uint8
    size: int
    first: bool  # does it begin the file?
    details: object = None  # what a format needs to parse it


def find_files(paths: Inputs) -> list[DataPath]:
    """Return the files that names and patterns stand for; "-" is STDIN. The matches of a pattern are sorted.

    An open stream becomes an `OpenStream`; examples in memory stay what they are.
    """
    if not paths:
        raise ValueError("There is nothing to read: give at least one file, or - for standard input.")
    files: list[DataPath] = []
    for number, path in enumerate(paths, 1):
        if isinstance(path, InMemory):
            files.append(path)
            continue
        if is_stream(path):
            files.append(OpenStream(path, number))
            continue
        name = os.fspath(path)
        if name == "-":
            files.append(STDIN)
        elif glob.has_magic(name) and not os.path.lexists(name):
            matches = sorted(match for match in glob.glob(name, recursive=True) if not os.path.isdir(match))
            if not matches:
                raise DataFileError(Path(name), "no file matches the pattern: correct the pattern")
            files += map(Path, matches)
        else:
            files.append(Path(name))
    if files.count(STDIN) > 1:
        raise ValueError("Standard input can be read only once: give - once.")
    return files


def identity(path: DataPath) -> Identity | None:
    """Return size and time of change; None for what has none, as a pipe."""
    if isinstance(path, Source):
        return path.identity()
    if path == STDIN:
        return None
    status = path.stat()
    return Identity(status.st_size, status.st_mtime_ns)


class FilePart(NamedTuple):
    """One part of a file that is cut into several parts of about equal size, at ends of lines."""

    part: int  # from 0
    parts: int

    def within(self, path: Path) -> tuple[int, int]:
        """Return where the part begins and ends."""
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            begin, end = (_line_from(file, size * part // self.parts) for part in (self.part, self.part + 1))
        return begin, end

    def lines_before(self, path: Path) -> int:
        """Return how many lines of the file come before the part."""
        n_bytes, lines = self.within(path)[0], 0
        with path.open("rb") as file:
            while n_bytes:
                content = file.read(min(n_bytes, PIECE))
                lines, n_bytes = lines + content.count(b"\n"), n_bytes - len(content)
        return lines


def _line_from(file: IO[bytes], offset: int) -> int:
    """Return where the first line begins that begins at this offset or behind it."""
    if not offset:
        return 0
    file.seek(offset - 1)
    line = file.readline()
    return offset - 1 + len(line)


def can_be_shared(path: DataPath) -> bool:
    """Return whether any part of it can be read by itself: a file that is not compressed."""
    if isinstance(path, Source) or path == STDIN or not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(16)
    return compression_of(path) is None and not any(compression.magic.match(start) for compression in COMPRESSIONS)


@contextmanager
def opened(path: DataPath, file_part: FilePart | None = None, encoding: str | None = None) -> Iterator[Any]:
    """Open a file for reading bytes, uncompressed and in UTF-8. A file that is cut short or changes is an error.

    encoding: that of the text in it, if it is not UTF-8 (see `decoded_from`). A stream of text needs none.
    """
    with _bytes_of(path, file_part) as file:
        is_utf8 = encoding is None or (isinstance(path, OpenStream) and path.is_text)
        yield file if is_utf8 else decoded(file, str(encoding), path)


@contextmanager
def _bytes_of(path: DataPath, file_part: FilePart | None) -> Iterator[Any]:
    if path == STDIN or not isinstance(path, Path):
        with _decompressed(path, path.bytes() if isinstance(path, OpenStream) else standard_input()) as file:
            yield file
        return
    with path.open("rb", buffering=0) as raw:
        status_before = os.fstat(raw.fileno())
        source: Any = (
            _decompressed(path, raw) if file_part is None else ByteStream(_bytes_between(raw, *file_part.within(path)))
        )
        with source as file:
            yield file
            if file.read(1):
                return  # the reader stopped early, and what comes behind is not its business
        status_after = os.fstat(raw.fileno())
        if (status_before.st_size, status_before.st_mtime_ns) != (status_after.st_size, status_after.st_mtime_ns):
            raise DataFileError(path, "the file changed while it was read: read it again when it is complete")


def standard_input() -> Any:
    """Unbuffered where it can be: a thread that waits for more would else hold a lock that ending the program needs."""
    if sys.stdin is None:
        raise DataFileError(STDIN, "standard input is closed: give a file, or pipe data into the command")
    try:
        return io.FileIO(sys.stdin.fileno(), closefd=False)
    except io.UnsupportedOperation:
        return sys.stdin.buffer


@contextmanager
def _decompressed(path: DataPath, raw: Any) -> Iterator[Any]:
    begins = Beginning(raw)
    compression = next(
        (candidate for candidate in COMPRESSIONS if candidate.magic.match(begins.peek())), compression_of(path)
    )
    if compression is None:
        yield begins
        return
    try:
        with compression.open(io.BufferedReader(begins, PIECE)) as file:
            yield file
    except (OSError, *BROKEN) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's, not the compression's
            raise
        message = f"not a complete {compression.name} file: compress it again"
        raise DataFileError(path, f"{message}, or remove {compression.ending} from its name") from error


class Beginning(io.RawIOBase):
    """A stream whose first bytes were looked at, as a stream from its beginning; it cannot seek.

    n: how many at most. To see whether it is compressed, a line is enough: who types it may wait for an answer.
    name: by which messages call it.
    """

    def __init__(self, raw: Any, n: int = MAGIC, name: str | None = None):
        self._raw, self._kept, self.name = raw, b"", name
        while len(self._kept) < n and (more := raw.read(n - len(self._kept))):
            self._kept += more
            if n == MAGIC and b"\n" in self._kept:
                break

    def peek(self) -> bytes:
        return self._kept

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._kept:
            if hasattr(self._raw, "readinto1"):  # a pipe gives what is there
                return self._raw.readinto1(buffer)
            return self._raw.readinto(buffer)
        n = min(len(buffer), len(self._kept))
        buffer[:n], self._kept = self._kept[:n], self._kept[n:]
        return n


def _bytes_between(raw: IO[bytes], begin: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a file from one place to another."""
    raw.seek(begin)
    while begin < end and (portion := raw.read(min(PIECE, end - begin))):
        begin += len(portion)
        yield portion


def read_bytes(path: DataPath, begin: bytes = b"") -> bytes:
    """Return the whole file, unpacked. A small compressed file may be a huge one: it must fit in memory several times.

    begin: how the file must begin. Of one that does not, only the first bytes are read.
    """
    parts: list[bytes] = []
    size, limit = 0, int(WHOLE_SHARE * memory())
    with opened(path) as file:
        while part := file.read(WHOLE_FILE_CHUNK):
            parts.append(part)
            size += len(part)
            if not parts[0].startswith(begin[: len(parts[0])]):
                break
            if size > limit:
                message = f"it has more than {limit:,} bytes when uncompressed, too many for the memory of this machine"
                raise DataFileError(path, f"{message}: split it")
    return b"".join(parts)


def pieces(
    path: DataPath, prompt: bool = False, file_part: FilePart | None = None, encoding: str | None = None
) -> Iterator[Piece]:
    """Cut a file into the longest runs of whole lines within PIECE bytes, at least one line each.

    prompt: give whole lines as soon as they are there, for a pipe that somebody types into; the cut then depends on
    when they came. file_part: only that much of the file. encoding: as in `opened`.
    """
    with opened(path, file_part, encoding) as file:
        remainder, first, ended = np.empty(0, np.uint8), True, False
        while len(remainder) or not ended:
            content, size, ended = _read_behind(file, remainder, PIECE, ended, prompt)
            while not (cut := _behind_last_line(content, min(size, PIECE)) or _behind_first_line(content, size)):
                if not size:
                    return
                if size >= LONGEST_LINE:
                    message = f"a line of more than {LONGEST_LINE:,} bytes"
                    raise DataFileError(path, f"{message}: this does not look like a file of lines")
                content, size, ended = _read_behind(file, content[:size], 2 * size, ended, prompt)
            remainder = content[cut:size]
            begin = len(BOM) if first and content[: len(BOM)].tobytes() == BOM else 0
            if cut > begin:
                yield Piece(path, content[begin:], cut - begin, first)
            first = False


def _read_behind(
    file: Any, remainder: np.ndarray, room: int, ended: bool, prompt: bool
) -> tuple[np.ndarray, int, bool]:
    """Read behind the remainder, up to `room` bytes in all. Return them, their number, and whether the file ended."""
    size = len(remainder)
    content = np.empty(max(room, size) + 1 + ROOM, np.uint8)
    content[:size] = remainder
    memory = content.data
    while size < room and not ended:
        n = file.readinto(memory[size:room])
        ended = not n
        size += n or 0
        if prompt and 10 in content[size - (n or 0) : size]:
            break
    if ended and size and content[size - 1] != 10:  # no newline behind the last line
        content[size] = 10
        size += 1
    return content, size, ended


def _behind_last_line(content: np.ndarray, size: int) -> int:
    """Return the place behind the last newline, 0 if there is none."""
    for begin in range((size - 1) // 65536 * 65536, -1, -65536):  # most lines are short: look at the end first
        place = content[begin : min(begin + 65536, size)].tobytes().rfind(b"\n")
        if place >= 0:
            return begin + place + 1
    return 0


def _behind_first_line(content: np.ndarray, size: int) -> int:
    return content[:size].tobytes().find(b"\n") + 1
