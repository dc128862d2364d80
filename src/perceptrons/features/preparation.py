"""Preparation of tables: what each column is, and how its cells become features.

Columns are numbers, categories, dates, yes/no, identifiers or free text, as the first rows show. Missing values are
filled, numbers scaled, dates and products of columns derived. Means and scales are measured once, on what is learned
from, and kept with the model, so that a file or a frame that is read for that model is prepared in the same way.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perceptrons.features.cells import NEVER, CodedColumn, Contents, ListColumn, Roles, SingleColumn
from perceptrons.features.term_weights import TermWeights
from perceptrons.features.values import LARGEST, Missing, did_you_mean, listed, require, shown

if TYPE_CHECKING:
    from perceptrons.features.column_options import ColumnOptions

SCALES = ("auto", "standard", "max-abs", "none")
ON_MISSING = ("fill", "raise")
MAX_PAIRS = 20_000
MAX_POWER = 9
MAX_PRODUCT_NAMES = 2**18  # features of products that are remembered by name; more are hashed
HASH_BITS = 20
NEGLIGIBLE = 1e-12  # of the largest value: a spread that is only rounding
CHUNK_ROWS = 4096  # whose sums are made at once
CHUNK_PRODUCTS = 256  # columns that are measured together

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
            missing = self._scale_into(numbers[:, :d], values)
            numbers[:, d:n_plain] = missing[:, [self._place_of[name] for name in self.indicators]]
            with np.errstate(over="ignore"):  # whoever takes the rows refuses what is too large
                for place, factors in enumerate(self.product_factors, n_plain):
                    numbers[:, place] = _product(numbers, factors)
                if len(self.product_scales):
                    numbers[:, n_plain:] -= self.product_centres
                    numbers[:, n_plain:] /= self.product_scales
        if self.pairs:
            singles += self._category_products(numbers, contents.categories)
        with np.errstate(over="ignore"):
            return numbers.astype(values.dtype, copy=False), singles

    def _scale_into(self, into: np.ndarray, values: np.ndarray) -> np.ndarray:
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
        names, indicators, made = lists["names"], lists["indicators"], tuple(preparation.derived_numbers())
        require(len(set(names)) == len(names) and names[len(names) - len(made) :] == made,
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


def _product(values: np.ndarray, factors: tuple[int, ...]) -> np.ndarray:
    """Return a power of one column, or the product of two."""
    first, last = factors[0], factors[-1]
    return values[:, first] ** len(factors) if first == last else values[:, first] * values[:, last]


def _category_pair(first_name: str, first: CodedColumn, second_name: str, second: CodedColumn) -> SingleColumn:
    """Return a feature for every pair of values that occurs."""
    width = len(second.distinct)
    there = (first.codes >= 0) & (second.codes >= 0)
    pair_codes = np.where(there, first.codes.astype(np.int64) * width + second.codes, -1)
    occurring, codes = np.unique(pair_codes[there], return_inverse=True)
    of_rows = np.full(len(pair_codes), -1, np.int32)
    of_rows[there] = codes
    names = [
        f"{first_name}={first.distinct[pair // width]}*{second_name}={second.distinct[pair % width]}"
        for pair in occurring.tolist()
    ]
    return SingleColumn(of_rows, names)


# ---- what the columns are

FEW = 20  # rows; fewer do not tell whether a column is an identifier
NEARLY_ALL = 0.9  # a column counts as unique if this share of its values is distinct
MANY_WORDS = 4.0  # a value, on average: such strings are text
LOOKED_AT = 1000  # distinct values whose words are counted
SOME = 5  # values that are shown
IDS = {"id", "ids", "index", "idx", "key", "uuid", "guid", "no", "nr", "number", "row", "rowid"}
LEFT_OUT = ("identifier", "text", "empty")


class ColumnFacts(NamedTuple):
    """A column: what it is taken for, and what that rests on. Numbers that say nothing of a kind are None."""

    name: str
    kind: str  # number, category, date, yes/no, identifier, text, empty, constant or label
    n: int
    missing: int
    distinct: int
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    deviation: float | None = None
    examples: tuple[str, ...] = ()
    timed: bool = False  # has a date a time of day?

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if name != "timed"}

    def notice(self) -> str | None:
        """Return why the column is left out, in words."""
        if self.kind == "identifier":
            message = f"column {shown(self.name)} looks like an identifier ({self.distinct:,} distinct values) and"
            return f"{message} is left out: to use it, give keep (--keep)"
        if self.kind == "text":
            message = f"column {shown(self.name)} looks like text and is left out"
            return f"{message}: to use its words, give text_column (--text-column)"
        return f"column {shown(self.name)} has no values and is left out" if self.kind == "empty" else None


def infer_facts(contents: Contents, roles: Roles, missing: Missing) -> list[ColumnFacts]:
    """Return what columns look like that were read as numbers or as categories by the first block, or by all rows."""
    numbers = missing.without_numbers(contents.numbers)
    facts = [_of_numbers(name, numbers[:, place]) for place, name in enumerate(roles.numbers)]
    for name, column in contents.categories.items():
        lists = [part for part in contents.lists if part.names and part.names[0].startswith(f"{name}=")]
        facts.append(_with_lists(_of_strings(name, column, missing.texts), column, lists))
    return facts


def _with_lists(facts: ColumnFacts, column: CodedColumn, lists: list[ListColumn]) -> ColumnFacts:
    """Return a category of which a row may have several values, as lists of JSON have them."""
    if not lists:
        return facts
    there = column.codes >= 0
    times: Counter[str] = Counter()
    for part in lists:
        there[part.rows] = True
        times.update(part.names[code] for code in part.codes.tolist())
    common = tuple(name[len(facts.name) + 1 :] for name, _ in times.most_common(SOME))
    lacking = len(there) - int(there.sum())
    return facts._replace(kind="category", missing=lacking, distinct=len(times), examples=common)


def _of_numbers(name: str, values: np.ndarray) -> ColumnFacts:
    present = values[~np.isnan(values)].astype(np.float64)
    distinct = len(np.unique(present))
    if not len(present):
        return ColumnFacts(name, "empty", len(values), len(values), 0)
    low, high, n = float(present.min()), float(present.max()), len(present)
    unique = n >= FEW and distinct == n and bool((present == np.floor(present)).all())
    consecutive = unique and high - low + 1 == n
    kind = "identifier" if consecutive or (unique and _is_named_so(name)) else "number" if distinct > 1 else "constant"
    facts = ColumnFacts(name, kind, len(values), len(values) - n, distinct, low, high)
    return facts._replace(mean=float(present.mean()), deviation=float(present.std()))


def _is_named_so(name: str) -> bool:
    """Return whether a column is called id, customer_id or customerId."""
    parts = name.replace("-", "_").replace(" ", "_").replace(".", "_").split("_")
    return parts[-1].lower() in IDS or name.endswith(("Id", "ID"))


def _of_strings(name: str, column: CodedColumn, missing_texts: frozenset[str]) -> ColumnFacts:
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.distinct))
    there = [
        (text, int(times)) for text, times in zip(column.distinct, counts, strict=True)
        if times and text.strip().lower() not in missing_texts
    ]  # fmt: skip
    n, distinct = sum(times for _, times in there), len(there)
    common = tuple(text for text, _ in sorted(there, key=lambda one: -one[1])[:SOME])
    facts = ColumnFacts(name, "category", len(column.codes), len(column.codes) - n, distinct, examples=common)
    if not n:
        return facts._replace(kind="empty")
    texts = [text for text, _ in there]
    if any({text.lower() for text in texts} == set(pair) for pair in FLAG_PAIRS if distinct == 2):
        return facts._replace(kind="yes/no")
    if all(seconds_of(text) is not None for text in texts):
        return facts._replace(kind="date", timed=any(len(text) > len("2024-05-31") for text in texts))
    if n >= FEW and distinct > NEARLY_ALL * n:
        some = texts[:LOOKED_AT]
        words_each = sum(len(text.split()) for text in some) / len(some)
        return facts._replace(kind="text" if words_each >= MANY_WORDS else "identifier")
    return facts._replace(kind="constant") if distinct == 1 and not facts.missing else facts


class ColumnKinds(NamedTuple):
    """What the columns of a table are, as the first rows decided it.

    read: all columns, also those that are left out; names: of all in their order, if they have one.
    """

    read: Roles
    roles: Roles
    preparation: Preparation  # dates and flags, and what stands for missing values
    facts: list[ColumnFacts]
    names: list[str]


def select_columns(
    roles: Roles, facts: list[ColumnFacts], fixed: Collection[str], missing: Missing
) -> tuple[Roles, Preparation, list[ColumnFacts]]:
    """Return what columns are by what they look like, and those that are left out. fixed: columns that stay as read.

    If nothing would be left, strings that differ in nearly all rows become texts. Without such strings, only empty
    columns are left out, and not if all columns are empty.
    """
    free = [column for column in facts if column.name not in fixed]
    left_out, texts = [column for column in free if column.kind in LEFT_OUT], list[str]()
    if len(left_out) == len(facts) and not roles.texts:
        texts = [column.name for column in left_out if column.kind != "empty" and column.name in roles.categories]
        if texts:
            left_out = [column for column in left_out if column.name not in texts]
        elif not all(column.kind == "empty" for column in left_out):
            left_out = [column for column in left_out if column.kind == "empty"]
        else:
            left_out = []
    removed = {*texts, *(column.name for column in left_out)}
    dates = tuple(column.name for column in free if column.kind == "date")
    timed = tuple(column.name for column in free if column.kind == "date" and column.timed)
    flags = tuple(column.name for column in free if column.kind == "yes/no")
    roles = roles._replace(
        numbers=[name for name in roles.numbers if name not in removed],
        categories=[name for name in roles.categories if name not in removed],
        optional=[name for name in roles.optional if name not in removed],
        texts=roles.texts or texts,
    )
    return roles, Preparation(missing_values=missing, dates=dates, timed=timed, flags=flags), left_out


# ---- which products there are


def parse_pairs(requested: Sequence[str], numbers: list[str], categories: list[str]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of columns asked for as "a*b", "a*" (a with every other column) or "*" (all pairs).

    Raises ValueError for what names no column, and for more pairs than can be wise.
    """
    names = [*numbers, *categories]
    pairs: dict[tuple[str, str], None] = {}
    for term in requested:
        pairs |= dict.fromkeys(_pairs(term, names))
        if len(pairs) > MAX_PAIRS:
            raise ValueError(
                f"interactions (--interactions) {shown(term)}: this makes more than {MAX_PAIRS:,} pairs of columns: "
                "name fewer columns."
            )
    return tuple(pairs)


def check_powers(powers: int) -> int:
    """Return the highest power. Raise ValueError unless it is one."""
    if isinstance(powers, bool) or not isinstance(powers, int) or not 1 <= powers <= MAX_POWER:
        raise ValueError(f"powers={powers!r} (--powers): give a whole number from 1 to {MAX_POWER}.")
    return powers


def _pairs(term: str, names: list[str]) -> list[tuple[str, str]]:
    index = {name: place for place, name in enumerate(names)}
    if term.strip() == "*":
        if len(names) >= 1000:
            raise ValueError(
                f"interactions (--interactions) '*': {len(names):,} columns have more than {MAX_PAIRS:,} pairs: name "
                "fewer."
            )
        return list(combinations(names, 2))[: MAX_PAIRS + 1]
    for cut in [place for place, letter in enumerate(term) if letter == "*"]:  # names of columns may contain one
        first, second = term[:cut].strip(), term[cut + 1 :].strip()
        others = [second] if first and second else [name for name in names if name != (first or second)]
        first = first or second
        if first in index and all(name in index and name != first for name in others):
            return [(first, name) if index[first] < index[name] else (name, first) for name in others]
    parts = [part.strip() for part in term.split("*") if part.strip()]
    unknown = next((part for part in parts if part not in index), None)
    if unknown is None:
        raise ValueError(f"interactions (--interactions) {shown(term)}: write 'a*b', 'a*' or '*'.")
    hint = did_you_mean(unknown, names)
    raise ValueError(
        f"interactions (--interactions): no feature comes from a column {shown(unknown)}{hint}: the columns are "
        f"{listed(names)}."
    )


# ---- measuring


def preparation_without_data(roles: Roles, derived: Preparation, options: "ColumnOptions") -> Preparation | None:
    """Return the preparation, if nothing of the data has to be measured for it. derived: the dates and flags."""
    if options.scale != "none" or options.on_missing == "fill" or options.interactions or derived.dates:
        return None
    names = (*roles.numbers, *derived.flags)
    zeros = np.zeros(len(names))
    return Preparation(
        "none", options.missing_values, flags=derived.flags, names=names, fills=zeros, centres=zeros, scales=zeros + 1,
        powers=check_powers(options.powers), beside_words=bool(roles.texts),
    )  # fmt: skip


def measure_preparation(
    parts: Sequence[Contents], roles: Roles, derived: Preparation, options: "ColumnOptions"
) -> Preparation:
    """Return the preparation, measured on the rows that are learned from. parts: what `Preparation.derive` returns.

    How the rows are divided into parts does not matter. What a model knows of its columns stays as it is. derived: the
    dates and flags.
    """
    learned = options.preparation
    names = [*roles.numbers, *derived.derived_numbers()]
    scale = {"auto": "standard"}.get(options.scale, options.scale)
    statistics = moments(number_chunks(parts), parts[0].numbers.shape[1] if parts else 0)
    first = np.where([name.endswith(".days") and name.removesuffix(".days") in derived.dates for name in names],
                     statistics.low, 0.0)  # days count from the first  # fmt: skip
    centres, scales = statistics.scaling(scale, first)
    indicators = [name for name, lacks in zip(names, statistics.lacks.tolist(), strict=True) if lacks]
    n_values = {name: _count_values(parts, name) for name in (parts[0].categories if parts else ())}
    if learned is None:
        powers, pairs = check_powers(options.powers), parse_pairs(options.interactions, names, list(n_values))
    else:
        powers, pairs = learned.powers, learned.pairs
        place_of = {name: place for place, name in enumerate(learned.names)}
        known = [name in place_of for name in names]
        old = [place_of[name] for name in names if name in place_of]
        statistics.mean[known], centres[known], scales[known] = (
            array[old] for array in (learned.fills, learned.centres, learned.scales)
        )
        old_indicators, new_indicators = {*learned.indicators}, {*indicators}
        indicators = [name for name in names if name in (old_indicators if name in place_of else new_indicators)]
    n_rows = sum(part.n for part in parts)
    n_names = sum(  # at most
        min(n_rows, n_values.get(a, 1) * n_values.get(b, 1)) for a, b in pairs if a in n_values or b in n_values
    )
    preparation = Preparation(
        scale, options.missing_values, derived.dates, derived.timed, derived.flags, tuple(names), statistics.mean,
        centres, scales, tuple(indicators), powers, pairs, beside_words=bool(roles.texts),
        hash_bits=HASH_BITS if n_names > MAX_PRODUCT_NAMES else None,
        term_weights=None if learned is None else learned.term_weights,
        weigh_terms=learned is None and bool(roles.texts) and scale == "standard",
    )  # fmt: skip
    return _with_scaled_products(preparation, parts, learned)


def _with_scaled_products(
    preparation: Preparation, parts: Sequence[Contents], learned: Preparation | None
) -> Preparation:
    """Return the same with scales of powers and products, measured on these rows unless they are known."""
    if preparation.scale == "none" or not preparation.product_factors:
        return preparation
    scalings = []
    for begin in range(0, len(preparation.product_factors), CHUNK_PRODUCTS):
        factors = preparation.product_factors[begin : begin + CHUNK_PRODUCTS]
        statistics = moments(_product_chunks(preparation, parts, factors), len(factors))
        scalings.append(statistics.scaling(preparation.scale, np.zeros(len(factors))))
    centres, scales = (np.concatenate(arrays) for arrays in zip(*scalings, strict=True))
    if learned is not None:
        index, has_scales = {name: k for k, name in enumerate(learned.product_names)}, len(learned.product_scales) > 0
        for place, name in enumerate(preparation.product_names):
            if name in index:
                k = index[name]
                centres[place] = learned.product_centres[k] if has_scales else 0.0
                scales[place] = learned.product_scales[k] if has_scales else 1.0
    return replace(preparation, product_centres=centres, product_scales=scales)


def _product_chunks(
    preparation: Preparation, parts: Sequence[Contents], products: list[tuple[int, ...]]
) -> Iterator[np.ndarray]:
    """Yield powers and products of the rows, CHUNK_ROWS at a time."""
    for chunk in number_chunks(parts):
        scaled = np.empty(chunk.shape)
        preparation._scale_into(scaled, chunk)
        with np.errstate(over="ignore"):
            columns = np.stack([_product(scaled, factors) for factors in products], axis=1)
        yield columns


def _count_values(parts: Sequence[Contents], name: str) -> int:
    """Return how many values of a category occur."""
    values: set[str] = set()
    for part in parts:
        codes, distinct = part.categories[name]
        values.update(distinct[code] for code in np.unique(codes[codes >= 0]).tolist())
    return len(values)


class Moments(NamedTuple):
    """Of every column of numbers, over the values that are not missing; 0 where there are none."""

    mean: np.ndarray
    deviation: np.ndarray
    low: np.ndarray
    high: np.ndarray
    lacks: np.ndarray  # is a value missing?

    def scaling(self, scale: str, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what is subtracted from the columns, and what they are divided by then.

        first: what is subtracted if the scale does not center.
        """
        if scale == "standard":
            largest = np.maximum(np.abs(self.low), np.abs(self.high))
            return self.mean.copy(), np.where(self.deviation > NEGLIGIBLE * largest, self.deviation, 1.0)
        if scale == "max-abs":
            peak = np.maximum(np.abs(self.high - first), np.abs(self.low - first))
            return first, np.where(peak > 0, peak, 1.0)
        return first, np.ones(len(first))


def moments(chunks: Iterator[np.ndarray], d: int) -> Moments:
    """Return means and deviations of d columns in one pass; the same bits however the rows are divided into parts.

    Sums are made of every CHUNK_ROWS rows, then joined by the rule of Chan, Golub and LeVeque (1979).
    """
    n, mean, squares = np.zeros(d), np.zeros(d), np.zeros(d)
    low, high, lacks = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d, bool)
    for chunk in chunks:
        missing = np.isnan(chunk)
        more = len(chunk) - np.count_nonzero(missing, axis=0)
        present = np.where(missing, 0.0, chunk) if missing.any() else chunk
        its_mean = present.sum(axis=0) / np.maximum(more, 1)
        away = present - its_mean
        away[missing] = 0.0
        difference, total = its_mean - mean, np.maximum(n + more, 1)
        mean = np.where(more > 0, mean + difference * (more / total), mean)
        squares = squares + np.square(away).sum(axis=0) + np.where(more > 0, difference**2 * (n * more / total), 0.0)
        n, lacks = n + more, lacks | (more < len(chunk))
        low = np.minimum(low, np.where(missing, np.inf, chunk).min(axis=0))
        high = np.maximum(high, np.where(missing, -np.inf, chunk).max(axis=0))
    some = n > 0
    deviation = np.sqrt(squares / np.maximum(n, 1))
    return Moments(mean, deviation, np.where(some, low, 0.0), np.where(some, high, 0.0), lacks)


def number_chunks(parts: Sequence[Contents]) -> Iterator[np.ndarray]:
    """Yield the numbers in chunks of CHUNK_ROWS rows, across the borders of the parts."""
    remainder: list[np.ndarray] = []
    for part in parts:
        remainder.append(part.numbers)
        while sum(map(len, remainder)) >= CHUNK_ROWS:
            joined = np.concatenate(remainder) if len(remainder) > 1 else remainder[0]
            for begin in range(0, len(joined) - CHUNK_ROWS + 1, CHUNK_ROWS):
                yield joined[begin : begin + CHUNK_ROWS].astype(np.float64)
            remainder = [joined[len(joined) - len(joined) % CHUNK_ROWS :]]
    if sum(map(len, remainder)):
        yield np.concatenate(remainder).astype(np.float64)
