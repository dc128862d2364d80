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

from perceptrons.features.cells import CodedColumn, Contents, ListColumn, Roles
from perceptrons.features.rows import PreparedCells, SingleColumn, one_hot
from perceptrons.features.term_weights import TermWeights
from perceptrons.features.values import LARGEST, Missing, did_you_mean, listed, require, shown

if TYPE_CHECKING:
    from perceptrons.features.column_options import ColumnOptions

ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)  # 2024-05-31, 2024-05-31 23:59, 2024-05-31T23:59:59.5+02:00
PAIRS = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"))
FLAGS = {word: float(value) for pair in PAIRS for value, word in enumerate(pair)}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DATE_PARTS = {"month": MONTHS, "weekday": WEEKDAYS, "hour": tuple(map(str, range(24)))}  # that are categories
THURSDAY = 3  # the weekday of 1970-01-01, counted from Monday
DAY = 86_400  # seconds


class Derived(NamedTuple):
    """Columns that are read as strings and learned as something else. timed: dates that have a time of day."""

    dates: tuple[str, ...] = ()
    timed: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def plus(self, more: "Derived") -> "Derived":
        """Return these columns and others after them."""
        return Derived(*(own + others for own, others in zip(self, more, strict=True)))

    def numbers(self) -> list[str]:
        """Return the names of the numbers that are made, in their order."""
        return [*self.flags, *(f"{name}.{part}" for name in self.dates for part in ("year", "days"))]

    def categories(self) -> list[str]:
        """Return the names of the categories that are made, in their order."""
        return [f"{name}.{part}" for name in self.dates for part in self.date_parts(name)]

    def date_parts(self, name: str) -> tuple[str, ...]:
        """Return which parts of a date are categories."""
        return tuple(DATE_PARTS)[: 2 + (name in self.timed)]


class InvalidCell(NamedTuple):
    """A cell that does not fit its column."""

    row: int
    column: str
    message: str


def derive(contents: Contents, derived: Derived, missing: frozenset[str]) -> tuple[Contents, list[InvalidCell]]:
    """Replace dates and flags by the numbers and categories made of them, and return the cells that do not fit.

    Missing values become NaN.
    """
    if not derived.dates and not derived.flags:
        return contents, []
    categories, invalid = dict(contents.categories), list[InvalidCell]()
    numbers = [contents.numbers]
    for name in derived.flags:
        column = categories.pop(name)
        words = [text.strip().lower() for text in column.distinct]
        flags = [FLAGS.get(word, np.nan if word in missing else None) for word in words]
        invalid += _invalid_cells(column, name, flags, "is not yes or no (true or false)")
        numbers.append(_by_row(column, flags))
    for name in derived.dates:
        column = categories.pop(name)
        is_missing = [text.strip().lower() in missing for text in column.distinct]
        seconds = [np.nan if no else at for at, no in zip(seconds_of(column.distinct), is_missing, strict=True)]
        invalid += _invalid_cells(column, name, seconds, "is not a date such as 2024-05-31 or 2024-05-31T23:59")
        year, days, *parts = _calendar(np.array(seconds, np.float64))
        numbers += [_by_row(column, year.tolist()), _by_row(column, days.tolist())]
        for part, codes in zip(derived.date_parts(name), parts, strict=False):
            categories[f"{name}.{part}"] = CodedColumn(
                np.append(codes, -1).astype(np.int32)[column.codes], list(DATE_PARTS[part])
            )
    return contents._replace(numbers=np.column_stack(numbers), categories=categories), invalid


def seconds_of(texts: list[str]) -> list[float | None]:
    """Return the seconds since 1970 (in UTC, or in no time zone) of dates and times; None for other texts."""
    return [_second(text) if ISO.fullmatch(text) else None for text in texts]


def _second(text: str) -> float | None:
    try:
        time = datetime.fromisoformat(text.replace(",", "."))
    except ValueError:  # the 31st of June
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _calendar(seconds: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return year, days since 1970 and, as codes, month, weekday and hour; NaN and -1 for a missing date."""
    present = ~np.isnan(seconds)
    seconds = np.where(present, seconds, 0.0)
    days = np.floor(seconds / DAY)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    codes = months % 12, (days.astype(np.int64) + THURSDAY) % 7, (seconds - days * DAY) // 3600
    numbers = months // 12 + 1970, days
    return (*(np.where(present, part, np.nan) for part in numbers), *(np.where(present, part, -1) for part in codes))


def _by_row(column: CodedColumn, values: Sequence[float | None]) -> np.ndarray:
    """Return the value of every row, given those of the codes; NaN if there is none."""
    return np.array([*values, None], np.float64)[column.codes]


def _invalid_cells(column: CodedColumn, name: str, values: list[float | None], message: str) -> list[InvalidCell]:
    invalid_codes = [code for code, value in enumerate(values) if value is None]
    rows = np.flatnonzero(np.isin(column.codes, invalid_codes)).tolist() if invalid_codes else []
    advice = "correct it, or list the column in categories (--categories)"
    return [InvalidCell(row, name, f"{shown(column.distinct[column.codes[row]])} {message}: {advice}") for row in rows]


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
    if any({text.lower() for text in texts} == set(pair) for pair in PAIRS if distinct == 2):
        return facts._replace(kind="yes/no")
    if all(seconds_of([text])[0] is not None for text in texts):
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
    derived: Derived
    facts: list[ColumnFacts]
    names: list[str]
    missing: Missing


def select_columns(
    roles: Roles, facts: list[ColumnFacts], fixed: Collection[str]
) -> tuple[Roles, Derived, list[ColumnFacts]]:
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
    return roles, Derived(dates, timed, flags), left_out


MOST_PAIRS = 20_000
MOST_POWER = 9


class Products(NamedTuple):
    """Which products there are. pairs: of columns."""

    powers: int = 1
    pairs: tuple[tuple[str, str], ...] = ()


def parse_products(requested: Sequence[str], powers: int, numbers: list[str], categories: list[str]) -> Products:
    """Return the products that are asked for as "a*b", "a*" (a with every other column) or "*" (all pairs).

    Raises ValueError for what names no column, and for more pairs than can be wise.
    """
    if isinstance(powers, bool) or not isinstance(powers, int) or not 1 <= powers <= MOST_POWER:
        raise ValueError(f"powers={powers!r} (--powers): give a whole number from 1 to {MOST_POWER}.")
    names = [*numbers, *categories]
    pairs: dict[tuple[str, str], None] = {}
    for term in requested:
        pairs |= dict.fromkeys(_pairs(term, names))
        if len(pairs) > MOST_PAIRS:
            raise ValueError(
                f"interactions (--interactions) {shown(term)}: this makes more than {MOST_PAIRS:,} pairs of columns: "
                "name fewer columns."
            )
    return Products(powers, tuple(pairs))


def _pairs(term: str, names: list[str]) -> list[tuple[str, str]]:
    index = {name: place for place, name in enumerate(names)}
    if term.strip() == "*":
        if len(names) >= 1000:
            raise ValueError(
                f"interactions (--interactions) '*': {len(names):,} columns have more than {MOST_PAIRS:,} pairs: name "
                "fewer."
            )
        return list(combinations(names, 2))[: MOST_PAIRS + 1]
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


def number_products(
    values: np.ndarray, names: list[str], to_powers: list[str], products: Products
) -> tuple[list[np.ndarray], list[str]]:
    """Return powers of numbers and products of two numbers, and their names. values: in the order of `names`."""
    place_of = {name: place for place, name in enumerate(names)}
    columns, called = list[np.ndarray](), list[str]()
    with np.errstate(over="ignore"):  # who takes the rows refuses what is too large
        for power in range(2, products.powers + 1):
            columns += [values[:, place_of[name]] ** power for name in to_powers]
            called += [f"{name}^{power}" for name in to_powers]
        for first, second in products.pairs:
            if first in place_of and second in place_of:
                columns.append(values[:, place_of[first]] * values[:, place_of[second]])
                called.append(f"{first}*{second}")
    return columns, called


def category_products(
    values: np.ndarray, names: list[str], categories: dict[str, CodedColumn], products: Products
) -> list[SingleColumn]:
    """Return products that a category is part of."""
    place_of, features = {name: place for place, name in enumerate(names)}, list[SingleColumn]()
    for first, second in products.pairs:
        if first in categories and second in categories:
            features.append(_category_pair(first, categories[first], second, categories[second]))
        elif first in place_of and second in categories:  # numbers come before categories
            codes, distinct = categories[second]
            feature_names = [f"{first}*{second}={value}" for value in distinct]
            amounts = np.ascontiguousarray(values[:, place_of[first]], np.float64)
            features.append(SingleColumn(codes, feature_names, amounts))
    return features


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


def count_products(categories: dict[str, int], n: int, products: Products) -> int:
    """At most how many features products with categories make. categories: how many values each has; n: of rows."""
    return sum(
        min(n, categories.get(first, 1) * categories.get(second, 1))
        for first, second in products.pairs
        if first in categories or second in categories
    )


SCALES = ("auto", "standard", "max-abs", "none")
ON_MISSING = ("fill", "raise")
NEGLIGIBLE = 1e-12  # of the largest value: a spread that is only rounding
CHUNK = 4096  # rows whose sums are made at once
MOST_NAMES = 2**18  # features of products that are remembered by name; more are hashed
HASH_BITS = 20
NUMBERS = ("fills", "centres", "scales")
OF_PRODUCTS = ("product_centres", "product_scales")
PRODUCTS_AT_ONCE = 256  # columns that are measured together


def _none() -> np.ndarray:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Preparation:
    """How cells become features. Arrays have an entry for every number: those of the table, then those derived.

    Powers and products are made of scaled numbers, and are then scaled themselves. Their arrays have an entry for each
    of them, and are empty if they stay as they are, as in models of earlier versions.

    scale: "standard" (x - mean) / deviation, "max-abs" x / largest value, or "none". words: which stand for missing
    values. indicators: numbers that were missing in training, for which a further feature says so. beside_words: are
    there texts, so that numbers are called "height=", as "height" is a word?
    """

    scale: str = "none"
    words: Missing = field(default_factory=lambda: Missing.of((), False))
    derived: Derived = field(default_factory=Derived)
    names: tuple[str, ...] = ()
    fills: np.ndarray = field(default_factory=_none)
    centres: np.ndarray = field(default_factory=_none)
    scales: np.ndarray = field(default_factory=_none)
    indicators: tuple[str, ...] = ()
    products: Products = field(default_factory=Products)
    product_centres: np.ndarray = field(default_factory=_none)
    product_scales: np.ndarray = field(default_factory=_none)
    beside_words: bool = False
    hash_bits: int | None = None  # where products are too many to be remembered
    term_weights: TermWeights | None = None  # of the words of texts, once their columns are known
    weigh_terms: bool = False  # are they still to be measured?

    # ---- cells to features

    def derive(self, contents: Contents) -> tuple[Contents, list[InvalidCell]]:
        """Dates and flags as numbers, numbers that stand for missing values as NaN; and cells that do not fit."""
        numbers = self.words.without_numbers(contents.numbers)
        return derive(contents._replace(numbers=numbers), self.derived, self.words.texts)

    def apply(self, contents: Contents, into: np.ndarray | None = None) -> PreparedCells:
        """Fill what is missing, scale, and multiply. contents: as `derive` made them. into: room for the numbers."""
        values = contents.numbers
        if not values.shape[1] and self.names:  # records that have few of the numbers have them as further features
            return PreparedCells(values, [], one_hot(contents.categories), contents.lists, contents.texts)
        d, names, width = len(self.names), list(self.names), len(self.number_names)
        numbers, singles = values, one_hot(contents.categories)
        is_changed = d > 0 and (self.scale != "none" or bool(self.centres.any()) or bool(np.isnan(values).any()))
        if into is not None or width > d or is_changed:
            numbers = np.empty((len(values), width)) if into is None else into
            missing = self._scale_into(numbers[:, :d], values)
            if self.indicators:
                place_of = {name: place for place, name in enumerate(names)}
                numbers[:, d : d + len(self.indicators)] = missing[:, [place_of[name] for name in self.indicators]]
            derived = numbers[:, d + len(self.indicators) :]
            for place, column in enumerate(self._number_products(numbers, self.products)[0]):
                derived[:, place] = column
            if len(self.product_scales):
                with np.errstate(over="ignore"):
                    derived -= self.product_centres
                    derived /= self.product_scales
        if self.products.pairs:
            singles += category_products(numbers, names, contents.categories, self.products)
        with np.errstate(over="ignore"):
            numbers = numbers.astype(values.dtype, copy=False)
        return PreparedCells(numbers, self.number_names, singles, contents.lists, contents.texts)

    def _scale_into(self, into: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Put the numbers where they belong, scaled. Returns which of them are missing."""
        missing = np.isnan(values)
        with np.errstate(over="ignore"):  # who takes the rows refuses what is too large
            np.subtract(values, self.centres, out=into)
            into /= self.scales
            if missing.any():
                np.copyto(into, (self.fills - self.centres) / self.scales, where=missing)
        return missing

    def columns_with_powers(self) -> list[str]:
        """Return the names of the numbers of which powers are features: all but those of dates and flags."""
        derived = {*self.derived.numbers()}
        return [name for name in self.names if name not in derived]

    @cached_property
    def product_names(self) -> list[str]:
        """What powers and products of numbers are called."""
        return self._number_products(np.empty((0, len(self.names))), self.products)[1]

    def with_scaled_products(self, parts: Sequence[Contents], learned: "Preparation | None") -> "Preparation":
        """Return the same with scales of powers and products, measured on these rows unless they are known."""
        if self.scale == "none" or not self.product_names:
            return self
        pairs, at_once = self.products.pairs, PRODUCTS_AT_ONCE
        groups = [Products(1, pairs[k : k + at_once]) for k in range(0, len(pairs), at_once)]
        scalings = []
        for group in (Products(self.products.powers), *groups):
            d = len(self._number_products(np.empty((0, len(self.names))), group)[0])
            scalings.append(moments(self._product_chunks(parts, group), d).scaling(self.scale, np.zeros(d)))
        centres, scales = (np.concatenate(arrays) for arrays in zip(*scalings, strict=True))
        if learned is not None:
            index = {name: place for place, name in enumerate(learned.product_names)}
            for place, name in enumerate(self.product_names):
                if name in index:
                    k, has_scales = index[name], len(learned.product_scales)
                    centres[place] = learned.product_centres[k] if has_scales else 0.0
                    scales[place] = learned.product_scales[k] if has_scales else 1.0
        return replace(self, product_centres=centres, product_scales=scales)

    def _product_chunks(self, parts: Sequence[Contents], group: Products) -> Iterator[np.ndarray]:
        """Yield powers and products of the rows, CHUNK rows at a time."""
        for chunk in number_chunks(parts):
            scaled = np.empty(chunk.shape)
            self._scale_into(scaled, chunk)
            columns, _ = self._number_products(scaled, group)
            yield np.stack(columns, axis=1) if columns else np.empty((len(chunk), 0))

    def _number_products(self, values: np.ndarray, products: Products) -> tuple[list[np.ndarray], list[str]]:
        return number_products(values, list(self.names), self.columns_with_powers(), products)

    @cached_property
    def number_names(self) -> list[str]:
        """What the numbers that `apply` gives are called as features."""
        plain = [*self.names, *(f"{name}=missing" for name in self.indicators), *self.product_names]
        return [name if "=" in name or not self.beside_words else f"{name}=" for name in plain]

    def only_numbers(self, roles: Roles) -> bool:
        """Return whether `apply` returns nothing but numbers, and all of them for every row."""
        complete = self.words.texts or not set(roles.numbers).intersection(roles.optional)
        other_categories = {*roles.categories} - {*self.derived.flags}
        return bool(complete and self.names and not other_categories and not roles.texts)

    @property
    def is_trivial(self) -> bool:
        """Does it leave the cells as they are?"""
        keeps_cells = self.scale == "none" and not self.words.texts and self.derived == Derived()
        return keeps_cells and self.products == Products()

    # ---- as a recipe keeps it

    def as_dict(self) -> dict[str, Any]:
        """As plain lists, for JSON."""
        return {
            "scale": self.scale,
            "fill": bool(self.words.texts),
            "missing": list(self.words.named),
            **{name: list(getattr(self.derived, name)) for name in Derived._fields},
            "names": list(self.names),
            **{name: getattr(self, name).tolist() for name in NUMBERS},
            "indicators": list(self.indicators),
            "powers": self.products.powers,
            "pairs": [list(pair) for pair in self.products.pairs],
            "beside_words": self.beside_words,
            **({name: getattr(self, name).tolist() for name in OF_PRODUCTS} if len(self.product_scales) else {}),
            **({} if self.term_weights is None else {"term_weights": self._packed_weights}),
        }

    @cached_property
    def _packed_weights(self) -> dict[str, Any]:
        assert self.term_weights is not None
        return self.term_weights.as_dict()

    def n_beside_texts(self, categories: Sequence[str]) -> int:
        """Return how many features a row has beside words and products. categories: those of the table."""
        strings = {*categories} - {*self.derived.dates, *self.derived.flags}
        return len(self.names) + len(self.indicators) + len(strings) + len(self.derived.categories())

    def weighed(self, weights: TermWeights) -> "Preparation":
        """Return the same, with weights for the words of texts."""
        return replace(self, term_weights=weights, weigh_terms=False)

    @classmethod
    def from_dict(cls, facts: Any) -> "Preparation":
        """Return the preparation that `as_dict` wrote. Raises ValueError for what it cannot have written."""
        require(isinstance(facts, Mapping), "a preparation")
        optional = {"term_weights", *OF_PRODUCTS}  # not in files of earlier versions, and not in all of later ones
        require(facts.keys() - optional == cls().as_dict().keys(), "all that a preparation has")
        for name in (*Derived._fields, "names", "indicators", "missing"):
            value = facts[name]
            require(isinstance(value, list) and all(isinstance(text, str) for text in value), f"names in {name}")
        require(facts["scale"] in SCALES[1:], "a scale")
        require(type(facts["fill"]) is bool and type(facts["beside_words"]) is bool, "flags")
        derived = Derived(*(tuple(facts[name]) for name in Derived._fields))
        names, indicators, made = tuple(facts["names"]), facts["indicators"], tuple(derived.numbers())
        require(len(set(names)) == len(names) and names[len(names) - len(made) :] == made,
                 "numbers that differ, derived ones last")  # fmt: skip
        require({*derived.timed} <= {*derived.dates} and {*indicators} <= {*names}, "columns that there are")
        require(len({*indicators}) == len(indicators), "every indicator once")
        fills, centres, scales = (_numbers(facts[name], len(names), name) for name in NUMBERS)
        require(bool((scales > 0).all()), "scales above 0")
        powers, pairs, weights = facts["powers"], facts["pairs"], facts.get("term_weights")
        require(type(powers) is int and 1 <= powers <= MOST_POWER, "a power")
        are_pairs = isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
        require(are_pairs and all(isinstance(name, str) for pair in pairs for name in pair), "pairs of columns")
        products = Products(powers, tuple((first, second) for first, second in pairs))
        distinct = {frozenset(pair) for pair in products.pairs if pair[0] != pair[1]}
        require(len(distinct) == len(products.pairs) <= MOST_PAIRS, "pairs that differ, of two columns")
        words = Missing.of(tuple(facts["missing"]), facts["fill"])
        preparation = cls(
            facts["scale"], words, derived, names, fills, centres, scales, tuple(indicators), products,
            beside_words=facts["beside_words"],
            term_weights=None if weights is None else TermWeights.from_dict(weights),
        )  # fmt: skip
        if not facts.keys() & {*OF_PRODUCTS}:
            return preparation
        n = len(preparation.product_names)
        centres, scales = (_numbers(facts.get(name), n, name) for name in OF_PRODUCTS)
        require(bool((scales > 0).all()), "scales of products above 0")
        return replace(preparation, product_centres=centres, product_scales=scales)


def preparation_without_data(roles: Roles, derived: Derived, options: "ColumnOptions") -> Preparation | None:
    """Return the preparation, if nothing of the data has to be measured for it."""
    names = (*roles.numbers, *derived.numbers())
    if options.scale != "none" or options.on_missing == "fill" or options.interactions or derived.dates:
        return None
    zeros, products = np.zeros(len(names)), parse_products((), options.powers, list(names), [])
    return Preparation(
        "none", options.missing_values, derived, names, zeros, zeros, zeros + 1, products=products,
        beside_words=bool(roles.texts),
    )  # fmt: skip


def measure_preparation(
    parts: Sequence[Contents], roles: Roles, derived: Derived, options: "ColumnOptions"
) -> Preparation:
    """Return the preparation, measured on the rows that are learned from. parts: what `Preparation.derive` returns.

    How the rows are divided into parts does not matter. What a model knows of its columns stays as it is.
    """
    learned = options.preparation
    names = [*roles.numbers, *derived.numbers()]
    scale = {"auto": "standard"}.get(options.scale, options.scale)
    statistics = moments(number_chunks(parts), parts[0].numbers.shape[1] if parts else 0)
    first = np.where([name.endswith(".days") and name.removesuffix(".days") in derived.dates for name in names],
                     statistics.low, 0.0)  # days count from the first  # fmt: skip
    centres, scales = statistics.scaling(scale, first)
    indicators = [name for name, lacks in zip(names, statistics.lacks.tolist(), strict=True) if lacks]
    categories = {name: len(_values(parts, name)) for name in (parts[0].categories if parts else ())}
    if learned is None:
        products = parse_products(options.interactions, options.powers, names, list(categories))
    else:
        products, place_of = learned.products, {name: place for place, name in enumerate(learned.names)}
        known = [name in place_of for name in names]
        old = [place_of[name] for name in names if name in place_of]
        statistics.mean[known], centres[known], scales[known] = (
            array[old] for array in (learned.fills, learned.centres, learned.scales)
        )
        old_indicators, new_indicators = {*learned.indicators}, {*indicators}
        indicators = [name for name in names if name in (old_indicators if name in place_of else new_indicators)]
    has_many_names = count_products(categories, sum(part.n for part in parts), products) > MOST_NAMES
    return Preparation(
        scale, options.missing_values, derived, tuple(names), statistics.mean, centres, scales, tuple(indicators),
        products, beside_words=bool(roles.texts), hash_bits=HASH_BITS if has_many_names else None,
        term_weights=None if learned is None else learned.term_weights,
        weigh_terms=learned is None and bool(roles.texts) and scale == "standard",
    ).with_scaled_products(parts, learned)  # fmt: skip


def _values(parts: Sequence[Contents], name: str) -> set[str]:
    """Return the values of a category that occur."""
    values: set[str] = set()
    for part in parts:
        codes, distinct = part.categories[name]
        values.update(distinct[code] for code in np.unique(codes[codes >= 0]).tolist())
    return values


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

    Sums are made of every CHUNK rows, then joined by the rule of Chan, Golub and LeVeque (1979).
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
    """Yield the numbers in chunks of CHUNK rows, across the borders of the parts."""
    remainder: list[np.ndarray] = []
    for part in parts:
        remainder.append(part.numbers)
        while sum(map(len, remainder)) >= CHUNK:
            joined = np.concatenate(remainder) if len(remainder) > 1 else remainder[0]
            for begin in range(0, len(joined) - CHUNK + 1, CHUNK):
                yield joined[begin : begin + CHUNK].astype(np.float64)
            remainder = [joined[len(joined) - len(joined) % CHUNK :]]
    if sum(map(len, remainder)):
        yield np.concatenate(remainder).astype(np.float64)


def _numbers(values: Any, n: int, name: str) -> np.ndarray:
    require(isinstance(values, list) and len(values) == n, f"a number in {name} for every column")
    require(all(type(value) in (int, float) for value in values), f"numbers in {name}")
    array = np.array(values, np.float64)
    require(bool((np.abs(array) <= LARGEST).all()), f"finite numbers in {name}")
    return array
