"""JSON Lines by Python's own parser, record by record: objects, the values in them, and what is no JSON."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from perceptrons.data.reader import Bad
from perceptrons.data.source import Piece
from perceptrons.features.values import Twice, shown


class Record(NamedTuple):
    """A line, and what is wrong with it, or its object."""

    line: int
    text: str
    value: Any
    bad: Bad | None = None


def records_of(piece: Piece) -> Iterator[Record]:
    """The lines of a piece that are not blank."""
    for number, line in enumerate(piece.content[: piece.size].tobytes().split(b"\n")):
        if line.strip():
            yield _record(number, line)


def _record(number: int, line: bytes) -> Record:
    try:
        text = line.decode()
        value = DECODER.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        what = f"byte 0x{line[error.start]:02x} is not UTF-8 text: save the file as UTF-8"
        return Record(number, "", None, Bad(number, what, error.start + 1))
    except UnicodeEncodeError:
        what = "half of a surrogate pair, as \\ud800, is no text: mend it, or remove the record"
        return Record(number, text, None, Bad(number, what, max(text.lower().find("\\ud"), 0) + 1))
    except json.JSONDecodeError as error:
        what = f"this is no JSON ({error.msg}): mend or remove the line"
        return Record(number, text, None, Bad(number, what, error.colno))
    except (RecursionError, ValueError):  # ValueError: a whole number of more than 4,300 digits
        return Record(number, text, None, Bad(number, "too deep, or with too long a number: mend or remove the line"))
    if not isinstance(value, dict):
        what = f'{shown(text.strip())} is no object: give one for each example, as {{"label": 1, "height": 1.5}}'
        return Record(number, text, None, Bad(number, what))
    return Record(number, text, value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    twice = Twice(found)
    twice.keys_twice = frozenset(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
    return twice


DECODER = json.JSONDecoder(object_pairs_hook=_object)
