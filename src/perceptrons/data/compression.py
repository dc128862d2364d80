"""Compressed files, by gzip, xz, bzip2 or zstd, and their text as UTF-8 whatever its encoding."""

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from perceptrons.data.table import DataFileError

BOM = codecs.BOM_UTF8
STDIN = Path("<stdin>")


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


class ZstdFile(io.RawIOBase):
    """What zstd compressed, frame after frame. The package's own reader takes a file that was cut short for whole."""

    def __init__(self, compressed: IO[bytes]):
        self._compressed, self._zstandard = compressed, _zstandard()
        self._frame = self._zstandard.ZstdDecompressor().decompressobj()
        self._kept, self._begun = memoryview(b""), False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._kept:
            more = self._frame.unused_data if self._frame.eof else b""
            more = more or self._compressed.read(2**17)
            if not more:
                if self._begun and not self._frame.eof:
                    raise EOFError("the last frame is truncated")
                return 0
            if self._frame.eof:
                self._frame = self._zstandard.ZstdDecompressor().decompressobj()
            self._begun = True
            try:
                self._kept = memoryview(self._frame.decompress(more))
            except self._zstandard.ZstdError as error:
                raise EOFError(str(error)) from error
        n = min(len(buffer), len(self._kept))
        buffer[:n], self._kept = self._kept[:n], self._kept[n:]
        return n


COMPRESSIONS = (
    Compression("gzip", ".gz", re.compile(rb"\x1f\x8b"), gzip.open, partial(gzip.compress, mtime=0)),
    Compression("xz", ".xz", re.compile(rb"\xfd7zXZ\x00"), lzma.open, lzma.compress),
    # more than its "BZh", with which a text may begin
    Compression("bzip2", ".bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), bz2.open, bz2.compress),
    Compression("zstd", ".zst", re.compile(rb"\x28\xb5\x2f\xfd"), ZstdFile, lambda text: _zstandard().compress(text)),
)


def compression_of(path: Path) -> Compression | None:
    """The compression that the ending of a name stands for."""
    return next((known for known in COMPRESSIONS if known.ending == path.suffix.lower()), None)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a whole file, compressed if its name says so. "-" is standard output."""
    if str(path) == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    compression = compression_of(Path(path))
    Path(path).write_bytes(content if compression is None else compression.compress(content))


def resolved(encoding: str, content: bytes) -> str:
    """The encoding that keeps the byte order, and a byte order mark if there is one, when the text is written again."""
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
    """The same text in UTF-8, with its byte order mark if it was UTF-8 before. Bytes that are no text are an error."""
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode(encoding, "replace")
        what = f"byte 0x{content[error.start]:02x} is not {encoding} text"
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            what += ", but perhaps utf-16"
        raise DataFileError(path, f"{what}: save the file as UTF-8, or give its encoding", *_place(before)) from error
    nul = text.find("\0")
    if nul >= 0:
        what = (
            "a NUL byte, so this is not text, or it has another encoding, such as utf-16: give the encoding, or "
            "remove the byte"
        )
        raise DataFileError(path, what, *_place(text[:nul]))
    return content if encoding == "utf-8" else text.encode()


def _place(before: str) -> tuple[int, int]:
    """Line and column, counted from 1, of what comes behind this text."""
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
