"""Single values of a table: what is a number, how a category is written, and the words for what is wrong with one."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.scan.bytes import Words
from perceptrons.engine.training.labels import MAX_LABEL_CHARACTERS, too_long

LARGEST = 1e100  # above it, scores could overflow while learning
NO_LABEL = {"nan", "inf", "infinity"}
NUMBER = re.compile(r"\s*+[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?\s*+", re.ASCII)  # never looks back
NOT_FINITE = re.compile(r"\s*[+-]?(nan|inf|infinity)\s*", re.IGNORECASE)


def number(text: str) -> float:
    """float(), but stricter: no 1_000, and only the digits 0 to 9. nan and inf pass, for their own message later."""
    if NUMBER.fullmatch(text) or NOT_FINITE.fullmatch(text):
        return float(text)
    raise ValueError


Recipe = dict[str, Any]  # keyword arguments of `perceptrons.data.stream`, fit for JSON
LearnedState = tuple[Recipe, dict[str, np.ndarray]]  # what a reader learned of its files: plain values and arrays

USUAL_MISSING = ("", "?", "na", "n/a", "#n/a", "nan", "null", "none", "-")


class Missing(NamedTuple):
    """What stands for a missing value, where values may be missing: texts in lower case, and numbers such as -999."""

    named: tuple[str, ...]  # by the user, beside the usual ones
    texts: frozenset[str]
    numbers: tuple[float, ...]

    @classmethod
    def of(cls, words_given: Iterable[str], fill: bool) -> "Missing":
        words_given = tuple(words_given)
        if not fill:
            return cls(words_given, frozenset(), ())
        numbers = tuple(float(word) for word in words_given if NUMBER.fullmatch(word))
        return cls(words_given, frozenset((*USUAL_MISSING, *(word.strip().lower() for word in words_given))), numbers)

    def scanned(self) -> Words:
        """Return the texts, as compiled loops take them."""
        encoded = sorted(word.encode() for word in self.texts)
        ends = np.cumsum([0, *map(len, encoded)])
        return Words(np.frombuffer(b"".join(encoded) or b"\0", np.uint8), ends)

    def without_numbers(self, values: np.ndarray) -> np.ndarray:
        """Return the values, NaN for the numbers that stand for missing ones."""
        result = values
        for number in self.numbers:
            if (same := values == number).any():
                result = np.where(same, np.nan, result).astype(values.dtype)
        return result


def what_is_wrong(text: str) -> str:
    """Return why a piece of text cannot be the value of a feature, and what to do."""
    if not text.strip():
        return "there is no number here: add it, or remove the record"
    try:
        value = number(text)
    except ValueError:
        hint = "convert text to numbers first, one 0/1 column per value"
        if "," in text:
            hint = "write decimals with a point"
        elif ";" in text or "\t" in text:
            hint = "separate cells by commas"
        return f"{shown(text.strip())} is not a number: {hint}"
    if abs(value) <= LARGEST:
        return f"{shown(text.strip())} is in the wrong place"
    if NUMBER.fullmatch(text):
        return f"{shown(text.strip())} is too large (at most {LARGEST:.0e}): scale the values"
    return f"{shown(text.strip())} is not a finite number: replace it, or remove the record"


def is_label(text: str) -> bool:
    """Not empty, not a word for a missing number, and not too long."""
    return bool(text) and len(text) <= MAX_LABEL_CHARACTERS and text.lower().lstrip("+-") not in NO_LABEL


def no_label(text: str) -> str:
    """Return why a text is not a label."""
    if not text:
        return "there is no label here"
    return f"this is {too_long(text)}" if len(text) > MAX_LABEL_CHARACTERS else f"{shown(text)} is not a label"


def shown(text: str) -> str:
    """Return a piece of a file for an error message: quoted, on one line, not too long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def listed(names: list[str], at_most: int = 5) -> str:
    """'a', 'b' and 3 more."""
    text = ", ".join(shown(name) for name in names[:at_most])
    return text if len(names) <= at_most else f"{text} and {len(names) - at_most} more"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return a hint at a name that is nearly the same, as the end of a sentence."""
    near = get_close_matches(name, list(candidates), 1, 0.75)
    return f" (did you mean {shown(near[0])}?)" if near else ""


class Twice(dict):
    """An object in which some keys stand twice."""

    keys_twice: frozenset[str]


def leaves(record: Mapping[str, object]) -> Iterator[tuple[tuple[str, ...], object, bool]]:
    """Yield the values that are no objects: the keys that lead there, the value, and whether a key stands twice."""
    waiting: list[tuple[tuple[str, ...], object, bool]] = [((), record, False)]
    while waiting:
        path, value, twice = waiting.pop()
        if not isinstance(value, Mapping):
            yield path, value, twice
            continue
        doubled: frozenset[str] = value.keys_twice if isinstance(value, Twice) else frozenset()
        waiting += [((*path, key), value[key], twice or key in doubled) for key in reversed(list(value))]


def kind_of(value: object) -> str:
    """Return what a value is, for deciding what its key is."""
    if isinstance(value, list):
        return "list" if all(isinstance(item, str) for item in value) else "mixture"
    return {bool: "bool", int: "int", float: "float", str: "string"}.get(type(value), "null")


def kind_in_table(value: object, missing: Missing) -> str:
    """Return the kind of a value in a table, where a string may be a number, or stand for a missing value."""
    kind = kind_of(value)
    if isinstance(value, str) and missing.texts:
        return "no value" if value.strip().lower() in missing.texts else "written" if NUMBER.fullmatch(value) else kind
    return kind


def are_mostly_numbers(kinds: Counter[str]) -> bool:
    """Return whether more than half of the values that are not missing are numbers."""
    return 2 * (kinds["int"] + kinds["float"] + kinds["written"]) > kinds.total() - kinds["null"] - kinds["no value"]


def as_iso(values: np.ndarray) -> np.ndarray:
    """Return dates and times as strings, without times if all are midnight; other arrays as they are."""
    if values.dtype.kind != "M":
        return values
    none = np.isnat(values)
    days = values.astype("datetime64[D]")
    dates = bool((none | (days.astype(values.dtype) == values)).all())
    texts = np.datetime_as_string(days if dates else values, unit="D" if dates else "s").astype(object)
    texts[none] = None
    return texts


def require(condition: bool, expected: str) -> None:
    """Raise ValueError for something that a file holds, unless it is as expected."""
    if not condition:
        raise ValueError(f"expected {expected}")


def is_missing(value: object) -> bool:
    """None, NaN, and what pandas has for them."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and math.isnan(value))
    )


def plain_value(value: object) -> object:
    """Return a value of NumPy, pandas or Python as JSON would have it; None for a missing one."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.item() if isinstance(value, np.generic) else value.tolist()
    if is_missing(value):
        return None
    return value.isoformat() if isinstance(value, date) else value


def text_of_value(value: object) -> str | None:
    """Return a value as a category or label; None for what can be neither."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else None
