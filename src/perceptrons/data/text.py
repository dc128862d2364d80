"""Text files as strings, and the numbers in them: what is not exactly a number is an error, never a 0."""

import re
from pathlib import Path

from perceptrons.data.packed import BOM
from perceptrons.data.source import read_bytes
from perceptrons.data.table import LARGEST, DataFileError, shown

NUMBER = re.compile(r"\s*+[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?\s*+", re.ASCII)  # never looks back
NOT_FINITE = re.compile(r"\s*[+-]?(nan|inf|infinity)\s*", re.IGNORECASE)


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


def number(text: str) -> float:
    """float(), but stricter: no 1_000, and only the digits 0 to 9. nan and inf pass, for their own message later."""
    if NUMBER.fullmatch(text) or NOT_FINITE.fullmatch(text):
        return float(text)
    raise ValueError


def what_is_wrong(text: str) -> str:
    """Why a piece of text cannot be the value of a feature, and what to do."""
    if not text.strip():
        return "there is no number here: fill it in, or remove the record"
    try:
        value = number(text)
    except ValueError:
        hint = "turn text into numbers first, one 0/1 column for each value"
        if "," in text:
            hint = "write decimals with a point"
        elif ";" in text or "\t" in text:
            hint = "separate cells by commas"
        return f"{shown(text.strip())} is not a number: {hint}"
    if abs(value) <= LARGEST:
        return f"{shown(text.strip())} is in the wrong place"
    if NUMBER.fullmatch(text):
        return f"{shown(text.strip())} is too large (at most {LARGEST:.0e}): scale the values"
    return f"{shown(text.strip())} is not a finite number: fill it in, or remove the record"
