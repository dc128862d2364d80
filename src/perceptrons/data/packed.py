"""Files as bytes: unpacked if they were packed by gzip, xz or bzip2, and as UTF-8 whatever their encoding."""

import bz2
import codecs
import gzip
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from perceptrons.data.table import DataFileError

BOM = codecs.BOM_UTF8
STDIN = Path("<stdin>")


class Packing(NamedTuple):
    """A program that packs files, the ending of their names and how their first bytes look."""

    name: str
    ending: str
    magic: re.Pattern[bytes]
    unpack: Callable[[bytes], bytes]
    pack: Callable[[bytes], bytes]


PACKINGS = (
    Packing("gzip", ".gz", re.compile(rb"\x1f\x8b"), gzip.decompress, partial(gzip.compress, mtime=0)),
    Packing("xz", ".xz", re.compile(rb"\xfd7zXZ\x00"), lzma.decompress, lzma.compress),
    # more than its "BZh", with which a text may begin
    Packing("bzip2", ".bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), bz2.decompress, bz2.compress),
)


def packing_of(path: Path) -> Packing | None:
    """The packing that the ending of a name stands for."""
    return next((packing for packing in PACKINGS if packing.ending == path.suffix.lower()), None)


def read_bytes(path: Path) -> bytes:
    """The whole file, or all of STDIN, unpacked if the name or the first bytes say that it is packed."""
    if path == STDIN and sys.stdin is None:
        raise DataFileError(path, "standard input is closed: give a file, or something to read")
    content = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    packing = next((known for known in PACKINGS if known.magic.match(content)), packing_of(path))
    if packing is None:
        return content
    try:
        return packing.unpack(content)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        what = f"not a whole {packing.name} file: pack it again, or drop the {packing.ending} of its name"
        raise DataFileError(path, what) from error


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a whole file, packed if its name says so. "-" is standard output."""
    if str(path) == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    packing = packing_of(Path(path))
    Path(path).write_bytes(content if packing is None else packing.pack(content))


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
            "a NUL byte, so this is no text, or in another encoding, utf-16 for instance: give it, or remove the byte"
        )
        raise DataFileError(path, what, *_place(text[:nul]))
    return content if encoding == "utf-8" else text.encode()


def _place(before: str) -> tuple[int, int]:
    """Line and column, counted from 1, of what comes behind this text."""
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
