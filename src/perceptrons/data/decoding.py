"""Text in other encodings than UTF-8, decoded while it is read: readers see UTF-8 whatever a file holds."""

import codecs
import io
from pathlib import Path
from typing import Any

from perceptrons.data.table import DataFileError

LETTERS = 2**16  # or bytes that are decoded at a time
UTF_8 = ("utf-8", "utf-8-sig")
LEADS = range(0xC2, 0xF5)  # bytes that may begin a character of UTF-8


def known_encoding(name: str) -> str:
    """The name of an encoding as Python writes it. One that it does not know, or that is not for text, is an error."""
    try:
        "".encode(name)  # rot13 and the like are known, but not for text
        return codecs.lookup(name).name
    except (LookupError, ValueError) as error:  # ValueError: a NUL in the name
        raise ValueError(
            f"encoding is {name!r}, which Python does not know: use, for instance, utf-8, utf-16, latin-1 or cp1252"
        ) from error


def decoded_from(name: str | None) -> str | None:
    """The encoding to decode from; None: text is UTF-8 already."""
    known = None if name is None else known_encoding(name)
    return None if known in UTF_8 else known


def _undecodable(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are not text stay bytes that are not UTF-8, so that readers complain of the record they stand in."""
    assert isinstance(error, UnicodeDecodeError)
    wrong = error.object[error.start : error.end]
    # a byte that could begin a character might become one together with those behind it
    return "".join(chr(0xDC00 + (byte if byte >= 0x80 and byte not in LEADS else 0xFF)) for byte in wrong), error.end


codecs.register_error("perceptrons.undecodable", _undecodable)


class TextFile(type(Path())):  # type: ignore[misc]
    """A file of text in another encoding than UTF-8."""

    encoding: str

    @classmethod
    def of(cls, path: Path, encoding: str) -> "TextFile":
        found = cls(path)
        found.encoding = encoding
        return found


class Decoded(io.RawIOBase):
    """A stream of bytes in some encoding as a stream of UTF-8."""

    def __init__(self, raw: Any, encoding: str, path: Path):
        self._raw, self._path = raw, path
        self._decoder = codecs.getincrementaldecoder(encoding)("perceptrons.undecodable")
        self._kept, self._ended = memoryview(b""), False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._kept and not self._ended:
            content = self._raw.read(LETTERS)
            self._ended = not content
            try:
                text = self._decoder.decode(content or b"", final=self._ended)
            except UnicodeError as error:
                what = f"{error}: give the right --encoding"
                if "BOM" in what:
                    what = "there is no byte order mark: give --encoding utf-16-le or utf-16-be, or the right encoding"
                raise DataFileError(self._path, what) from error
            self._kept = memoryview(text.encode("utf-8", "surrogateescape"))
        n = min(len(buffer), len(self._kept))
        buffer[:n], self._kept = self._kept[:n], self._kept[n:]
        return n


class Encoded(io.RawIOBase):
    """A stream of text as UTF-8."""

    def __init__(self, text: Any):
        self._text, self._kept = text, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._kept:
            self._kept = self._text.read(LETTERS).encode("utf-8", "surrogateescape")
        n = min(len(buffer), len(self._kept))
        buffer[:n], self._kept = self._kept[:n], self._kept[n:]
        return n
