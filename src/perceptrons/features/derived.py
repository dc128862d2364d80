"""Columns of strings that mean numbers: dates and times, yes and no. They become numbers and small categories.

A date becomes the numbers "column.year" and "column.days" and the categories "column.month", "column.weekday" and,
where there is a time of day, "column.hour". Yes and no, or true and false, become 1 and 0.
"""

import re
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from perceptrons.features.table_rows import Coded, Contents
from perceptrons.features.values import shown

ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)  # 2024-05-31, 2024-05-31 23:59, 2024-05-31T23:59:59.5+02:00
PAIRS = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"))
FLAGS = {word: float(value) for pair in PAIRS for value, word in enumerate(pair)}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
THURSDAY = 3  # the weekday of 1970-01-01, counted from Monday
DAY = 86_400  # seconds


class Derived(NamedTuple):
    """Columns that are read as strings and learned as something else. timed: dates that have a time of day."""

    dates: tuple[str, ...] = ()
    timed: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def plus(self, other: "Derived") -> "Derived":
        """These columns, and others behind them."""
        return Derived(*(mine + its for mine, its in zip(self, other, strict=True)))

    def numbers(self) -> list[str]:
        """The names of the numbers that are made, in their order."""
        return [*self.flags, *(f"{name}.{part}" for name in self.dates for part in ("year", "days"))]

    def categories(self) -> list[str]:
        """The names of the categories that are made, in their order."""
        parts = [(name, ("month", "weekday", *["hour"] * (name in self.timed))) for name in self.dates]
        return [f"{name}.{part}" for name, all_of in parts for part in all_of]


class Strange(NamedTuple):
    """A cell that does not fit its column."""

    row: int
    column: str
    what: str


def is_date(text: str) -> bool:
    return ISO.fullmatch(text) is not None and seconds_of([text])[0] is not None


def are_flags(texts: set[str]) -> bool:
    """Are these, in lower case, the two words of a pair such as yes and no?"""
    return any(texts == set(pair) for pair in PAIRS)


def derive(contents: Contents, derived: Derived, missing: frozenset[str]) -> tuple[Contents, list[Strange]]:
    """Replace the columns of dates and flags by what they mean; missing values become NaN. Also what does not fit."""
    if not derived.dates and not derived.flags:
        return contents, []
    categories, strange = dict(contents.categories), list[Strange]()
    numbers: list[np.ndarray] = []
    for name in derived.flags:
        column = categories.pop(name)
        known = [_flag(text, missing) for text in column.distinct]
        numbers.append(_of_rows(column, known, np.nan))
        strange += _strange(column, name, known, "is not yes or no (true or false)")
    for name in derived.dates:
        column = categories.pop(name)
        seconds = _seconds(column.distinct, missing)
        strange += _strange(column, name, seconds, "is not a date such as 2024-05-31 or 2024-05-31T23:59")
        year, days, *parts = _parts(np.array([np.nan if at is None else at for at in seconds], np.float64))
        numbers += [_of_rows(column, year, np.nan), _of_rows(column, days, np.nan)]
        for part, codes in zip(("month", "weekday", "hour")[: 2 + (name in derived.timed)], parts, strict=False):
            of_rows = np.append(codes, -1).astype(np.int32)[column.codes]
            categories[f"{name}.{part}"] = Coded(of_rows, list(_words(part)))
    values = np.column_stack([contents.numbers, *numbers]) if numbers else contents.numbers
    return contents._replace(numbers=values, categories=categories), strange


def seconds_of(texts: list[str]) -> list[float | None]:
    """The seconds since 1970 of dates and times (in UTC, or as they are written where no zone is), None for others."""
    return [_second(text) if ISO.fullmatch(text) else None for text in texts]


def _second(text: str) -> float | None:
    try:
        time = datetime.fromisoformat(text.replace(",", "."))
    except ValueError:  # the 31st of June
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _seconds(texts: list[str], missing: frozenset[str]) -> list[float | None]:
    """The same, NaN for what is missing."""
    return [
        np.nan if text.strip().lower() in missing else second
        for text, second in zip(texts, seconds_of(texts), strict=True)
    ]


def _parts(seconds: np.ndarray) -> tuple[np.ndarray, ...]:
    """Year, days since 1970 and, as codes, month, weekday and hour; NaN and -1 where there is none."""
    known = ~np.isnan(seconds)
    whole = np.where(known, seconds, 0.0)
    days = np.floor(whole / DAY)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    codes = months % 12, (days.astype(np.int64) + THURSDAY) % 7, (whole - days * DAY) // 3600
    numbers = months // 12 + 1970, days
    return (*(np.where(known, part, np.nan) for part in numbers), *(np.where(known, part, -1) for part in codes))


def _words(part: str) -> tuple[str, ...]:
    return {"month": MONTHS, "weekday": WEEKDAYS}.get(part) or tuple(map(str, range(24)))


def _flag(text: str, missing: frozenset[str]) -> float | None:
    word = text.strip().lower()
    return FLAGS.get(word, np.nan if word in missing else None)


def _of_rows(column: Coded, values: list[float | None] | np.ndarray, none: float) -> np.ndarray:
    """The value of every row, by its code."""
    return np.array([*(none if value is None else value for value in values), none], np.float64)[column.codes]


def _strange(column: Coded, name: str, values: list[float | None], what: str) -> list[Strange]:
    wrong = [code for code, value in enumerate(values) if value is None]
    rows = np.flatnonzero(np.isin(column.codes, wrong)).tolist() if wrong else []
    advice = "correct it, or list the column in categories (--categories)"
    return [Strange(row, name, f"{shown(column.distinct[column.codes[row]])} {what}: {advice}") for row in rows]
