"""Text files as strings."""

from pathlib import Path

from perceptrons.data.packed import BOM
from perceptrons.data.source import read_bytes
from perceptrons.data.table import DataFileError


def read_text(path: Path) -> str:
    """The whole file, unpacked if it is packed, without a byte order mark."""
    content = read_bytes(path).removeprefix(BOM)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line_begins = content.rfind(b"\n", 0, error.start) + 1
        raise DataFileError(
            path,
            f"byte 0x{content[error.start]:02x} is not UTF-8 text: save the file as UTF-8, or give its real --format",
            content.count(b"\n", 0, error.start) + 1,
            error.start - line_begins + 1,
        ) from error
