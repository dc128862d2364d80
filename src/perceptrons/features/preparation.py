"""`Preparation`: how the cells of a table are made ready to be learned from. Missing values are filled, numbers scaled.

What it needs to know of the data, means and scales, is measured once, on what is learned from, and is kept with the
model: whoever reads a table for that model, a file or a frame, prepares it alike.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from perceptrons.features.collector import Roles
from perceptrons.features.derived import Derived, Strange, derive
from perceptrons.features.interactions import (
    MOST_PAIRS,
    MOST_POWER,
    Products,
    category_products,
    n_products,
    number_products,
    products,
)
from perceptrons.features.table_rows import Contents, Ready, one_hot
from perceptrons.features.term_weights import TermWeights
from perceptrons.features.values import LARGEST, Missing

SCALES = ("auto", "standard", "max-abs", "none")
ON_MISSING = ("fill", "raise")
NEGLIGIBLE = 1e-12  # of the largest value: a spread that is only rounding
CHUNK = 4096  # rows whose sums are made at once
MOST_NAMES = 2**18  # features of products that are remembered by name; more are hashed
HASH_BITS = 20
NUMBERS = ("fills", "centres", "scales")
OF_PRODUCTS = ("product_centres", "product_scales")
PRODUCTS_AT_ONCE = 256  # columns that are measured together


class Wish(NamedTuple):
    """What is asked of the preparation of a table."""

    scale: str = "none"
    on_missing: str = "raise"
    missing: tuple[str, ...] = ()
    interactions: tuple[str, ...] = ()
    powers: int = 1

    def check(self) -> "Wish":
        """Raises ValueError for a choice that there is not."""
        for name, choices in (("scale", SCALES), ("on_missing", ON_MISSING)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: choose one of {', '.join(choices)}.")
        return self

    @property
    def words(self) -> Missing:
        """What means that a number is missing, where it may be."""
        return Missing.of(self.missing, self.on_missing == "fill")


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

    def derive(self, contents: Contents) -> tuple[Contents, list[Strange]]:
        """Dates and flags as numbers, numbers that stand for missing values as NaN; and cells that do not fit."""
        numbers = self.words.without_numbers(contents.numbers)
        return derive(contents._replace(numbers=numbers), self.derived, self.words.texts)

    def apply(self, contents: Contents, into: np.ndarray | None = None) -> Ready:
        """Fill what is missing, scale, and multiply. contents: as `derive` made them. into: room for the numbers."""
        values = contents.numbers
        if not values.shape[1] and self.names:  # records that have few of the numbers have them as further features
            return Ready(values, [], one_hot(contents.categories), contents.further, contents.texts)
        d, names, width = len(self.names), list(self.names), len(self.number_names)
        numbers, singles = values, one_hot(contents.categories)
        if into is not None or width > d or self._changes(values):
            numbers = np.empty((len(values), width)) if into is None else into
            missing = self._scale_into(numbers[:, :d], values)
            if self.indicators:
                place_of = {name: place for place, name in enumerate(names)}
                numbers[:, d : d + len(self.indicators)] = missing[:, [place_of[name] for name in self.indicators]]
            columns, _ = number_products(numbers, names, self._to_powers(), self.products)
            made = numbers[:, d + len(self.indicators) :]
            for place, column in enumerate(columns):
                made[:, place] = column
            if len(self.product_scales):
                with np.errstate(over="ignore"):
                    made -= self.product_centres
                    made /= self.product_scales
        if self.products.pairs:
            singles += category_products(numbers, names, contents.categories, self.products)
        with np.errstate(over="ignore"):
            numbers = numbers.astype(values.dtype, copy=False)
        return Ready(numbers, self.number_names, singles, contents.further, contents.texts)

    def _changes(self, values: np.ndarray) -> bool:
        """Would scaling and filling change these numbers?"""
        return len(self.names) > 0 and (
            self.scale != "none" or bool(self.centres.any()) or bool(np.isnan(values).any())
        )

    def _scale_into(self, found: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Put the numbers where they belong, scaled. Returns which of them are missing."""
        missing = np.isnan(values)
        with np.errstate(over="ignore"):  # who takes the rows refuses what is too large
            np.subtract(values, self.centres, out=found)
            found /= self.scales
            if missing.any():
                np.copyto(found, (self.fills - self.centres) / self.scales, where=missing)
        return missing

    def _to_powers(self) -> list[str]:
        derived = {*self.derived.numbers()}
        return [name for name in self.names if name not in derived]

    @cached_property
    def product_names(self) -> list[str]:
        """What powers and products of numbers are called."""
        empty = np.empty((0, len(self.names)))
        return number_products(empty, list(self.names), self._to_powers(), self.products)[1]

    def with_scaled_products(self, parts: Sequence[Contents], known: "Preparation | None") -> "Preparation":
        """Return the same with scales of powers and products, measured on these rows unless they are known."""
        if self.scale == "none" or not self.product_names:
            return self
        names, pairs = list(self.names), self.products.pairs
        groups = [Products(1, pairs[k : k + PRODUCTS_AT_ONCE]) for k in range(0, len(pairs), PRODUCTS_AT_ONCE)]
        centres, scales = list[float](), list[float]()
        for group in (Products(self.products.powers), *groups):
            d = len(number_products(np.empty((0, len(names))), names, self._to_powers(), group)[0])
            measured_group = moments(self._product_chunks(parts, names, group), d).scaling(self.scale, np.zeros(d))
            centres += measured_group[0].tolist()
            scales += measured_group[1].tolist()
        found = dict(zip(self.product_names, zip(centres, scales, strict=True), strict=True))
        if known is not None:
            as_they_are = (np.zeros(len(known.product_names)), np.ones(len(known.product_names)))
            kept = (known.product_centres, known.product_scales) if len(known.product_scales) else as_they_are
            found |= dict(zip(known.product_names, zip(*(one.tolist() for one in kept), strict=True), strict=True))
        both = np.array([found[name] for name in self.product_names])
        return replace(self, product_centres=both[:, 0].copy(), product_scales=both[:, 1].copy())

    def _product_chunks(self, parts: Sequence[Contents], names: list[str], group: Products) -> Iterator[np.ndarray]:
        """Yield powers and products of the rows, CHUNK rows at a time."""
        for chunk in number_chunks(parts):
            scaled = np.empty(chunk.shape)
            self._scale_into(scaled, chunk)
            columns, _ = number_products(scaled, names, self._to_powers(), group)
            yield np.stack(columns, axis=1) if columns else np.empty((len(chunk), 0))

    @cached_property
    def number_names(self) -> list[str]:
        """What the numbers that `apply` gives are called as features."""
        plain = [*self.names, *(f"{name}=missing" for name in self.indicators), *self.product_names]
        return [name if "=" in name or not self.beside_words else f"{name}=" for name in plain]

    def only_numbers(self, roles: Roles) -> bool:
        """Does `apply` give nothing but numbers, and every row all of them?"""
        complete = self.words.texts or not set(roles.numbers).intersection(roles.optional)
        others = {*roles.categories} - {*self.derived.flags}
        return bool(complete and self.names and not others and not roles.texts)

    def wish(self) -> Wish:
        """What asks for the same of other columns."""
        return Wish(self.scale, "fill" if self.words.texts else "raise", self.words.named)

    @property
    def is_trivial(self) -> bool:
        """Does it leave the cells as they are?"""
        left = self.scale == "none" and not self.words.texts and self.derived == Derived()
        return left and self.products == Products()

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
        """How many features a row has beside the words of its texts, but for products. categories: of the table."""
        strings = {*categories} - {*self.derived.dates, *self.derived.flags}
        return len(self.names) + len(self.indicators) + len(strings) + len(self.derived.categories())

    def weighed(self, weights: TermWeights) -> "Preparation":
        """The same, with weights for the words of texts."""
        return replace(self, term_weights=weights, weigh_terms=False)

    @classmethod
    def from_dict(cls, kept: Any) -> "Preparation":
        """The preparation that `as_dict` wrote. Raises ValueError for what it cannot have written."""
        _demand(isinstance(kept, Mapping), "a preparation")
        weights = kept.get("term_weights")  # not in files of earlier versions, and only beside texts
        later = {"term_weights", *OF_PRODUCTS}
        _demand(kept.keys() - later == cls().as_dict().keys(), "all that a preparation has")
        lists = {name: kept[name] for name in (*Derived._fields, "names", "indicators", "missing")}
        for name, value in lists.items():
            _demand(isinstance(value, list) and all(isinstance(one, str) for one in value), f"names in {name}")
        _demand(kept["scale"] in SCALES[1:], "a scale")
        _demand(type(kept["fill"]) is bool and type(kept["beside_words"]) is bool, "flags")
        derived = Derived(*(tuple(kept[name]) for name in Derived._fields))
        names = tuple(kept["names"])
        _demand(len(set(names)) == len(names) and names[len(names) - len(derived.numbers()) :] ==
                tuple(derived.numbers()), "numbers that differ, derived ones last")  # fmt: skip
        _demand({*derived.timed} <= {*derived.dates} and {*kept["indicators"]} <= {*names}, "columns that there are")
        _demand(len({*kept["indicators"]}) == len(kept["indicators"]), "every indicator once")
        fills, centres, scales = (_numbers(kept[name], len(names), name) for name in NUMBERS)
        _demand(bool((scales > 0).all()), "scales above 0")
        powers, pairs = kept["powers"], kept["pairs"]
        _demand(type(powers) is int and 1 <= powers <= MOST_POWER, "a power")
        sound = isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
        _demand(sound and all(isinstance(name, str) for pair in pairs for name in pair), "pairs of columns")
        made = Products(powers, tuple((one, other) for one, other in pairs))
        distinct = {frozenset(pair) for pair in made.pairs if pair[0] != pair[1]}
        _demand(len(distinct) == len(made.pairs) <= MOST_PAIRS, "pairs that differ, of two columns")
        words = Missing.of(tuple(kept["missing"]), kept["fill"])
        found = cls(
            kept["scale"], words, derived, names, fills, centres, scales, tuple(kept["indicators"]), made,
            beside_words=kept["beside_words"],
            term_weights=None if weights is None else TermWeights.from_dict(weights),
        )  # fmt: skip
        if not kept.keys() & {*OF_PRODUCTS}:
            return found
        n = len(found.product_names)
        centres, scales = (_numbers(kept.get(name), n, name) for name in OF_PRODUCTS)
        _demand(bool((scales > 0).all()), "scales of products above 0")
        return replace(found, product_centres=centres, product_scales=scales)


def planned(roles: Roles, derived: Derived, wish: Wish) -> Preparation | None:
    """The preparation, if nothing of the data has to be measured for it."""
    names = (*roles.numbers, *derived.numbers())
    if wish.scale != "none" or wish.on_missing == "fill" or wish.interactions or derived.dates:
        return None
    ones = np.ones(len(names))
    made = products((), wish.powers, list(names), [])
    return Preparation(
        "none", wish.words, derived, names, 0 * ones, 0 * ones, ones, products=made, beside_words=bool(roles.texts)
    )


def measured(
    parts: Sequence[Contents], roles: Roles, derived: Derived, wish: Wish, known: Preparation | None = None
) -> Preparation:
    """The preparation by the rows that are learned from. parts: as `Preparation.derive` made them, in their order.

    How the rows are divided into parts does not matter. known: of columns that a model has learned already.
    """
    names = [*roles.numbers, *derived.numbers()]
    scale = {"auto": "standard"}.get(wish.scale, wish.scale)
    found = moments(number_chunks(parts), parts[0].numbers.shape[1] if parts else 0)
    first = np.where([name.endswith(".days") and name.removesuffix(".days") in derived.dates for name in names],
                     found.low, 0.0)  # days count from the first  # fmt: skip
    centres, scales = found.scaling(scale, first)
    indicators = [name for name, lacks in zip(names, found.lacks.tolist(), strict=True) if lacks]
    categories = {name: len(_values(parts, name)) for name in (parts[0].categories if parts else ())}
    made = products(wish.interactions, wish.powers, names, list(categories)) if known is None else known.products
    if known is not None:
        place_of = {name: place for place, name in enumerate(known.names)}
        old = [place_of.get(name, -1) for name in names]
        kept = np.array(old) >= 0
        for its, mine in zip((known.fills, known.centres, known.scales), (found.mean, centres, scales), strict=True):
            mine[kept] = its[[place for place in old if place >= 0]]
        known_indicators, new_indicators = {*known.indicators}, {*indicators}
        indicators = [name for name in names if name in (known_indicators if name in place_of else new_indicators)]
    many = n_products(categories, sum(part.n for part in parts), made) > MOST_NAMES
    return Preparation(
        scale, wish.words, derived, tuple(names), found.mean, centres, scales, tuple(indicators), made,
        beside_words=bool(roles.texts), hash_bits=HASH_BITS if many else None,
        term_weights=None if known is None else known.term_weights,
        weigh_terms=known is None and bool(roles.texts) and scale == "standard",
    ).with_scaled_products(parts, known)  # fmt: skip


def _values(parts: Sequence[Contents], name: str) -> set[str]:
    """The values of a category that occur."""
    found: set[str] = set()
    for part in parts:
        codes, distinct = part.categories[name]
        found.update(distinct[code] for code in np.unique(codes[codes >= 0]).tolist())
    return found


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
            most = np.maximum(np.abs(self.high - first), np.abs(self.low - first))
            return first, np.where(most > 0, most, 1.0)
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
        known = np.where(missing, 0.0, chunk) if missing.any() else chunk
        its_mean = known.sum(axis=0) / np.maximum(more, 1)
        away = known - its_mean
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
    """The numbers in chunks of CHUNK rows, across the borders of the parts."""
    rest: list[np.ndarray] = []
    for part in parts:
        rest.append(part.numbers)
        while sum(map(len, rest)) >= CHUNK:
            whole = np.concatenate(rest) if len(rest) > 1 else rest[0]
            for begin in range(0, len(whole) - CHUNK + 1, CHUNK):
                yield whole[begin : begin + CHUNK].astype(np.float64)
            rest = [whole[len(whole) - len(whole) % CHUNK :]]
    if sum(map(len, rest)):
        yield np.concatenate(rest).astype(np.float64)


def _numbers(values: Any, n: int, name: str) -> np.ndarray:
    _demand(isinstance(values, list) and len(values) == n, f"a number in {name} for every column")
    _demand(all(type(value) in (int, float) for value in values), f"numbers in {name}")
    found = np.array(values, np.float64)
    _demand(bool((np.abs(found) <= LARGEST).all()), f"finite numbers in {name}")
    return found


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"expected {what}")
