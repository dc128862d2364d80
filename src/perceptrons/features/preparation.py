"""Preparation of tables: what each column is, and how its cells become features.

Columns are numbers, categories, dates, yes/no, identifiers or free text, as the first rows show. Missing values are
filled, numbers scaled, dates and products of columns derived. Means and scales are measured once, on what is learned
from, and kept with the model, so that a file or a frame that is read for that model is prepared in the same way.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from perceptrons.features.cells import NEVER, CodedColumn, Contents, Roles, SingleColumn
from perceptrons.features.columns import TermWeights
from perceptrons.features.values import LARGEST, Missing, require, shown

SCALES = ("auto", "standard", "max-abs", "none")
ON_MISSING = ("fill", "raise")
MAX_PAIRS = 20_000
MAX_POWER = 9

# ---- dates and flags

ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)  # 2024-05-31, 2024-05-31 23:59, 2024-05-31T23:59:59.5+02:00
FLAG_PAIRS = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"))
FLAGS = {word: float(value) for pair in FLAG_PAIRS for value, word in enumerate(pair)}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DATE_PARTS = {"month": MONTHS, "weekday": WEEKDAYS, "hour": tuple(map(str, range(24)))}  # that are categories
THURSDAY = 3  # the weekday of 1970-01-01, counted from Monday
DAY_SECONDS = 86_400


class InvalidCell(NamedTuple):
    """A cell that does not fit its column."""

    row: int
    column: str
    message: str


def seconds_of(text: str) -> float | None:
    """Return the seconds since 1970 (in UTC, or in no time zone) of a date or time; None for another text."""
    try:
        time = datetime.fromisoformat(text.replace(",", ".")) if ISO.fullmatch(text) else None
    except ValueError:  # the 31st of June
        return None
    return None if time is None else (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _calendar(seconds: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return year, days since 1970 and, as codes, month, weekday and hour; NaN and -1 for a missing date."""
    present = ~np.isnan(seconds)
    seconds = np.where(present, seconds, 0.0)
    days = np.floor(seconds / DAY_SECONDS)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    codes = months % 12, (days.astype(np.int64) + THURSDAY) % 7, (seconds - days * DAY_SECONDS) // 3600
    numbers = months // 12 + 1970, days
    return (*(np.where(present, part, np.nan) for part in numbers), *(np.where(present, part, -1) for part in codes))


def _by_row(column: CodedColumn, values: Sequence[float | None]) -> np.ndarray:
    """Return the value of every row, given those of the codes; NaN if there is none."""
    return np.array([*values, None], np.float64)[column.codes]


def _invalid_cells(column: CodedColumn, name: str, values: Sequence[float | None], expected: str) -> list[InvalidCell]:
    """Return the cells whose value is None."""
    invalid_codes = [code for code, value in enumerate(values) if value is None]
    rows = np.flatnonzero(np.isin(column.codes, invalid_codes)).tolist() if invalid_codes else []
    advice = "correct it, or list the column in categories (--categories)"
    return [
        InvalidCell(row, name, f"{shown(column.distinct[column.codes[row]])} is not {expected}: {advice}")
        for row in rows
    ]


# ---- the preparation


def _empty() -> np.ndarray:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Preparation:
    """How cells become features. Arrays have an entry for every number: those of the table, then those derived.

    Powers and products are made of scaled numbers, and are then scaled themselves. Their arrays have an entry for each
    of them, and are empty if they stay as they are, as in models of earlier versions.
    """

    scale: str = "none"  # "standard" (x - mean) / deviation, "max-abs" x / largest value, or "none"
    missing_values: Missing = NEVER
    dates: tuple[str, ...] = ()  # columns that are read as strings and become numbers and categories
    timed: tuple[str, ...] = ()  # dates that have a time of day
    flags: tuple[str, ...] = ()  # columns of yes and no, which are read as strings and become 1 and 0
    names: tuple[str, ...] = ()
    fills: np.ndarray = field(default_factory=_empty)
    centres: np.ndarray = field(default_factory=_empty)
    scales: np.ndarray = field(default_factory=_empty)
    indicators: tuple[str, ...] = ()  # numbers that were missing in training, for which a further feature says so
    powers: int = 1
    pairs: tuple[tuple[str, str], ...] = ()  # of columns that are multiplied
    beside_words: bool = False  # are numbers called "height=", because "height" is a word of a text?
    product_centres: np.ndarray = field(default_factory=_empty)
    product_scales: np.ndarray = field(default_factory=_empty)
    term_weights: TermWeights | None = None  # of the words of texts, once their columns are known
    weigh_terms: bool = False  # are they still to be measured?
    hash_bits: int | None = None  # where products are too many to be remembered

    @classmethod
    def without_scaling(
        cls, numbers: Sequence[str], beside_words: bool, missing_values: Missing = NEVER, flags: Sequence[str] = (),
        powers: int = 1,
    ) -> "Preparation":  # fmt: skip
        """Return the preparation that leaves numbers as they are."""
        names = (*numbers, *flags)
        zeros = np.zeros(len(names))
        return cls(
            "none", missing_values, flags=tuple(flags), names=names, fills=zeros, centres=zeros, scales=zeros + 1,
            powers=powers, beside_words=beside_words,
        )  # fmt: skip

    # ---- what there is

    def plus_derived(self, more: "Preparation") -> "Preparation":
        """Return the same with the dates and flags of another one, too."""
        dates, timed, flags = (*self.dates, *more.dates), (*self.timed, *more.timed), (*self.flags, *more.flags)
        return replace(self, dates=dates, timed=timed, flags=flags)

    def derived_numbers(self) -> list[str]:
        """Return the names of the numbers made of flags and dates, in their order."""
        return [*self.flags, *(f"{name}.{part}" for name in self.dates for part in ("year", "days"))]

    def date_parts(self, name: str) -> tuple[str, ...]:
        """Return which parts of a date are categories."""
        return tuple(DATE_PARTS)[: 2 + (name in self.timed)]

    def derived_categories(self) -> list[str]:
        """Return the names of the categories made of dates, in their order."""
        return [f"{name}.{part}" for name in self.dates for part in self.date_parts(name)]

    def plain_categories(self, names: Collection[str]) -> list[str]:
        """Return those of the categories of a table that stay what they are."""
        return [name for name in names if name not in self.dates and name not in self.flags]

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def product_factors(self) -> list[tuple[int, ...]]:
        """The places of the factors of every power and product of numbers. Dates and flags have no powers."""
        place_of, derived = self._place_of, {*self.derived_numbers()}
        bases = [place for name, place in place_of.items() if name not in derived]
        factors: list[tuple[int, ...]] = [(place,) * power for power in range(2, self.powers + 1) for place in bases]
        return factors + [(place_of[a], place_of[b]) for a, b in self.pairs if a in place_of and b in place_of]

    @cached_property
    def product_names(self) -> list[str]:
        """What powers and products of numbers are called."""
        return [
            f"{self.names[a]}^{len(factors)}" if a == b else f"{self.names[a]}*{self.names[b]}"
            for factors in self.product_factors
            for a, b in [(factors[0], factors[-1])]
        ]

    @cached_property
    def number_names(self) -> list[str]:
        """What the numbers that `apply` gives are called as features."""
        plain = [*self.names, *(f"{name}=missing" for name in self.indicators), *self.product_names]
        return [name if "=" in name or not self.beside_words else f"{name}=" for name in plain]

    def only_numbers(self, roles: Roles) -> bool:
        """Return whether `apply` returns nothing but numbers, and all of them for every row."""
        complete = self.missing_values.texts or not set(roles.numbers).intersection(roles.optional)
        return bool(complete and self.names and {*roles.categories} <= {*self.flags} and not roles.texts)

    def n_beside_texts(self, categories: Sequence[str]) -> int:
        """Return how many features a row has beside words and products. categories: those of the table."""
        n_categories = len({*self.plain_categories(categories)}) + len(self.derived_categories())
        return len(self.names) + len(self.indicators) + n_categories

    @property
    def is_trivial(self) -> bool:
        """Does it leave the cells as they are?"""
        has_effect = self.scale != "none" or self.missing_values.texts or self.dates or self.flags
        return not (has_effect or self.timed or self.powers != 1 or self.pairs)

    # ---- cells to features

    def derive(self, contents: Contents) -> tuple[Contents, list[InvalidCell]]:
        """Return dates and flags as numbers and categories, and the cells that do not fit. Missing numbers are NaN."""
        missing = self.missing_values.texts
        numbers, invalid = [self.missing_values.without_numbers(contents.numbers)], list[InvalidCell]()
        categories = dict(contents.categories)
        for name in self.flags:
            column = categories.pop(name)
            words = [text.strip().lower() for text in column.distinct]
            flags = [FLAGS.get(word, np.nan if word in missing else None) for word in words]
            invalid += _invalid_cells(column, name, flags, "yes or no (true or false)")
            numbers.append(_by_row(column, flags))
        for name in self.dates:
            column = categories.pop(name)
            seconds = [np.nan if text.strip().lower() in missing else seconds_of(text) for text in column.distinct]
            invalid += _invalid_cells(column, name, seconds, "a date such as 2024-05-31 or 2024-05-31T23:59")
            year, days, *parts = _calendar(np.array(seconds, np.float64))
            numbers += [_by_row(column, year.tolist()), _by_row(column, days.tolist())]
            for part, codes in zip(self.date_parts(name), parts, strict=False):
                codes = np.append(codes, -1).astype(np.int32)[column.codes]
                categories[f"{name}.{part}"] = CodedColumn(codes, list(DATE_PARTS[part]))
        joined = np.column_stack(numbers) if len(numbers) > 1 else numbers[0]
        return contents._replace(numbers=joined, categories=categories), invalid

    def apply(self, contents: Contents, into: np.ndarray | None = None) -> tuple[np.ndarray, list[SingleColumn]]:
        """Return the numbers, called `number_names`, and the features of categories.

        Fills what is missing, scales, and multiplies. contents: as `derive` made them. into: room for the numbers.
        """
        values, singles = contents.numbers, one_hot(contents.categories)
        if not values.shape[1] and self.names:  # records that have few of the numbers have them as further features
            return np.empty((len(values), 0)), singles
        d, n_plain, width = len(self.names), len(self.names) + len(self.indicators), len(self.number_names)
        numbers = values
        is_changed = d > 0 and (self.scale != "none" or bool(self.centres.any()) or bool(np.isnan(values).any()))
        if into is not None or width > d or is_changed:
            numbers = np.empty((len(values), width)) if into is None else into
            missing = self.scale_into(numbers[:, :d], values)
            numbers[:, d:n_plain] = missing[:, [self._place_of[name] for name in self.indicators]]
            with np.errstate(over="ignore"):  # whoever takes the rows refuses what is too large
                for place, factors in enumerate(self.product_factors, n_plain):
                    numbers[:, place] = product(numbers, factors)
                if len(self.product_scales):
                    numbers[:, n_plain:] -= self.product_centres
                    numbers[:, n_plain:] /= self.product_scales
        if self.pairs:
            singles += self._category_products(numbers, contents.categories)
        with np.errstate(over="ignore"):
            return numbers.astype(values.dtype, copy=False), singles

    def scale_into(self, into: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Put the numbers where they belong, scaled. Returns which of them are missing."""
        missing = np.isnan(values)
        with np.errstate(over="ignore"):
            np.subtract(values, self.centres, out=into)
            into /= self.scales
            if missing.any():
                np.copyto(into, (self.fills - self.centres) / self.scales, where=missing)
        return missing

    def _category_products(self, values: np.ndarray, categories: dict[str, CodedColumn]) -> list[SingleColumn]:
        """Return products that a category is part of. values: scaled numbers."""
        features = list[SingleColumn]()
        for first, second in self.pairs:
            if first in categories and second in categories:
                features.append(_category_pair(first, categories[first], second, categories[second]))
            elif first in self._place_of and second in categories:  # numbers come before categories
                codes, distinct = categories[second]
                amounts = np.ascontiguousarray(values[:, self._place_of[first]], np.float64)
                features.append(SingleColumn(codes, [f"{first}*{second}={value}" for value in distinct], amounts))
        return features

    # ---- as a recipe keeps it

    def as_dict(self) -> dict[str, Any]:
        """As plain lists, for JSON."""
        has_product_scales = len(self.product_scales) > 0
        return {
            "scale": self.scale,
            "fill": bool(self.missing_values.texts),
            "missing": list(self.missing_values.named),
            **{name: list(getattr(self, name)) for name in NAME_LISTS},
            **{name: getattr(self, name).tolist() for name in ARRAYS},
            "powers": self.powers,
            "pairs": [list(pair) for pair in self.pairs],
            "beside_words": self.beside_words,
            **({name: getattr(self, name).tolist() for name in PRODUCT_ARRAYS} if has_product_scales else {}),
            **({} if self.term_weights is None else {"term_weights": self._packed_weights}),
        }

    @cached_property
    def _packed_weights(self) -> dict[str, Any]:
        assert self.term_weights is not None
        return self.term_weights.as_dict()

    @classmethod
    def from_dict(cls, facts: Any) -> "Preparation":
        """Return the preparation that `as_dict` wrote. Raises ValueError for what it cannot have written."""
        require(isinstance(facts, Mapping), "a preparation")
        optional = {"term_weights", *PRODUCT_ARRAYS}  # not in files of earlier versions, and not in all of later ones
        require(facts.keys() - optional == cls().as_dict().keys(), "all that a preparation has")
        lists: dict[str, Any] = {}
        for name in (*NAME_LISTS, "missing"):
            require(_are_names(facts[name]), f"names in {name}")
            lists[name] = tuple(facts[name])
        require(facts["scale"] in SCALES[1:], "a scale")
        require(type(facts["fill"]) is bool and type(facts["beside_words"]) is bool, "flags")
        powers, pairs, weights = facts["powers"], facts["pairs"], facts.get("term_weights")
        require(type(powers) is int and 1 <= powers <= MAX_POWER, "a power")
        require(isinstance(pairs, list) and all(_are_names(pair) and len(pair) == 2 for pair in pairs), "column pairs")
        distinct = {frozenset(pair) for pair in pairs if pair[0] != pair[1]}
        require(len(distinct) == len(pairs) <= MAX_PAIRS, "pairs that differ, of two columns")
        missing_values = Missing.of(lists.pop("missing"), facts["fill"])
        arrays: dict[str, Any] = {name: _numbers(facts[name], len(lists["names"]), name) for name in ARRAYS}
        preparation = cls(
            facts["scale"], missing_values, **lists, **arrays, powers=powers, pairs=tuple(map(tuple, pairs)),
            beside_words=facts["beside_words"],
            term_weights=None if weights is None else TermWeights.from_dict(weights),
        )  # fmt: skip
        names, indicators, derived = lists["names"], lists["indicators"], tuple(preparation.derived_numbers())
        require(len(set(names)) == len(names) and names[len(names) - len(derived) :] == derived,
                "numbers that differ, derived ones last")  # fmt: skip
        require({*preparation.timed} <= {*preparation.dates} and {*indicators} <= {*names}, "columns that there are")
        require(len({*indicators}) == len(indicators), "every indicator once")
        require(bool((preparation.scales > 0).all()), "scales above 0")
        if not facts.keys() & {*PRODUCT_ARRAYS}:
            return preparation
        n = len(preparation.product_names)
        centres, scales = (_numbers(facts.get(name), n, name) for name in PRODUCT_ARRAYS)
        require(bool((scales > 0).all()), "scales of products above 0")
        return replace(preparation, product_centres=centres, product_scales=scales)


NAME_LISTS = ("dates", "timed", "flags", "names", "indicators")
ARRAYS = ("fills", "centres", "scales")
PRODUCT_ARRAYS = ("product_centres", "product_scales")


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _numbers(values: Any, n: int, name: str) -> np.ndarray:
    require(isinstance(values, list) and len(values) == n, f"a number in {name} for every column")
    require(all(type(value) in (int, float) for value in values), f"numbers in {name}")
    array = np.array(values, np.float64)
    require(bool((np.abs(array) <= LARGEST).all()), f"finite numbers in {name}")
    return array


def one_hot(categories: dict[str, CodedColumn]) -> list[SingleColumn]:
    """Return categories as features "column=value" of value 1."""
    return [
        SingleColumn(codes, [f"{column}={value}" for value in distinct])
        for column, (codes, distinct) in categories.items()
    ]


def product(values: np.ndarray, factors: tuple[int, ...]) -> np.ndarray:
    """Return a power of one column, or the product of two."""
    first, last = factors[0], factors[-1]
    return values[:, first] ** len(factors) if first == last else values[:, first] * values[:, last]


def _category_pair(first_name: str, first: CodedColumn, second_name: str, second: CodedColumn) -> SingleColumn:
    """Return a feature for every pair of values that occurs."""
    width = len(second.distinct)
    is_present = (first.codes >= 0) & (second.codes >= 0)
    pair_codes = np.where(is_present, first.codes.astype(np.int64) * width + second.codes, -1)
    occurring, codes = np.unique(pair_codes[is_present], return_inverse=True)
    of_rows = np.full(len(pair_codes), -1, np.int32)
    of_rows[is_present] = codes
    names = [
        f"{first_name}={first.distinct[pair // width]}*{second_name}={second.distinct[pair % width]}"
        for pair in occurring.tolist()
    ]
    return SingleColumn(of_rows, names)
