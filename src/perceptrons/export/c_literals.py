"""Values as C: strings that cannot end early, and arrays of numbers with all their digits."""

from collections.abc import Sequence
from typing import Any

import numpy as np

PLAIN = frozenset(range(32, 127)) - set(b'"\\?')  # ? could begin a trigraph
INTEGERS = {"int": np.int64, "uint32_t": np.uint32, "size_t": np.uint64, "uint64_t": np.uint64, "long": np.int64}


def c_string(text: str | bytes) -> str:
    """A string literal: whatever is not plain ASCII as three octal digits, which nothing behind can lengthen."""
    content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return '"' + "".join(chr(byte) if byte in PLAIN else f"\\{byte:03o}" for byte in content) + '"'


def c_number(value: float, single: bool = False) -> str:
    """The shortest digits that give just this number again."""
    if not np.isfinite(value):
        return "NAN" if np.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
    number: Any = np.float32(value) if single else np.float64(value)
    plain = 1e-4 <= abs(value) < 1e9 or value == 0
    text = np.format_float_positional(number, trim="0") if plain else str(number)
    text = text if "." in text or "e" in text else text + ".0"
    return f"{text}f" if single else text


def c_array(kind: str, name: str, values: Any, *, width: int = 0, public: bool = False) -> str:
    """A constant array; an empty one has one element, as C wants. width: of the rows of a matrix."""
    start = "const" if public else "static const"
    array = np.asarray(values)
    if width:
        rows = [_items(kind, row) for row in array.reshape(-1, width)] or [["0"] * width]
        body = ",\n".join("    {" + ", ".join(row) + "}" for row in rows)
        return f"{start} {kind} {name}[{len(rows)}][{width}] = {{\n{body}\n}};\n"
    items = _items(kind, array.ravel()) or ["0"]
    return f"{start} {kind} {name}[{len(items)}] = {{\n{_lines(items)}\n}};\n"


def _items(kind: str, values: np.ndarray) -> list[str]:
    if kind in INTEGERS:
        return [str(int(value)) for value in values.tolist()]
    return [c_number(value, kind == "float") for value in values.tolist()]


def _lines(items: Sequence[str], width: int = 8) -> str:
    return ",\n".join("    " + ", ".join(items[at : at + width]) for at in range(0, len(items), width))


def c_strings(name: str, texts: list[str], *, public: bool = False) -> str:
    """An array of strings."""
    start = "const char *const" if public else "static const char *const"
    body = ",\n".join(f"    {c_string(text)}" for text in texts or [""])
    return f"{start} {name}[{max(1, len(texts))}] = {{\n{body}\n}};\n"


def c_arena(name: str, content: bytes) -> str:
    """Bytes as an array of characters: a string literal may be too long for a compiler."""
    items = [str(byte if byte < 128 else byte - 256) for byte in content] or ["0"]
    return f"static const signed char {name}[{len(items)}] = {{\n{_lines(items, 24)}\n}};\n"


def defined(name: str, value: Any) -> str:
    return f"#define PERCEPTRONS_{name} {value}\n"
