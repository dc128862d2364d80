"""Streams that are open already, given in place of names: io.StringIO, an open file, a socket's file."""

import io
from pathlib import Path
from typing import Any

LETTERS = 2**16  # that are read of a text at a time


class NotAFile(type(Path())):  # type: ignore[misc]
    """The name by which messages call something that is read and is not a file."""


class InMemory(NotAFile):
    """Examples in memory: a frame, a list of records or a pair of arrays."""

    examples: Any

    @classmethod
    def of(cls, examples: Any, name: str) -> "InMemory":
        path = cls(f"<{name}>")
        path.examples = examples
        return path


class OpenStream(NotAFile):
    """A stream with the name by which messages call it. One that can seek is read from where it stood, every time."""

    stream: Any
    begins: int | None

    @classmethod
    def of(cls, stream: Any, number: int) -> "OpenStream":
        name = getattr(stream, "name", None)
        path = cls(name if isinstance(name, str) and name else f"<stream {number}>")
        path.stream = stream
        path.begins = stream.tell() if stream.seekable() else None
        return path

    def bytes(self) -> Any:
        """The stream as one of bytes, from where it stood."""
        if self.begins is not None:
            self.stream.seek(self.begins)
        return _Encoded(self.stream) if isinstance(self.stream, io.TextIOBase) else self.stream


class _Encoded(io.RawIOBase):
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


def is_stream(given: Any) -> bool:
    """Is it something to read from, not a name?"""
    return hasattr(given, "read") and hasattr(given, "seekable")


def only_once(path: Path) -> bool:
    """Is it an open stream that cannot be read again?"""
    return isinstance(path, OpenStream) and path.begins is None
