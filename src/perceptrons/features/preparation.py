"""`Preparation`: how the cells of a table are made ready to be learned from. Missing values are filled, numbers scaled.

What it needs to know of the data, means and scales, is measured once, on what is learned from, and is kept with the
model: whoever reads a table for that model, a file or a frame, prepares it alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from perceptrons.features.values import LARGEST, Missing

SCALES = ("auto", "standard", "max-abs", "none")
ON_MISSING = ("fill", "raise")
NEGLIGIBLE = 1e-12  # of the largest value: a spread that is only rounding
MOST_NAMES = 2**18  # features of products that are remembered by name; more are hashed
HASH_BITS = 20
NUMBERS = ("fills", "centres", "scales")


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
    beside_words: bool = False
    hash_bits: int | None = None  # where products are too many to be remembered

    # ---- cells to features

    def derive(self, contents: Contents) -> tuple[Contents, list[Strange]]:
        """Dates and flags as numbers, numbers that stand for missing values as NaN; and cells that do not fit."""
        numbers = self.words.without_numbers(contents.numbers)
        return derive(contents._replace(numbers=numbers), self.derived, self.words.texts)

    def apply(self, contents: Contents) -> Ready:
        """Fill what is missing, scale, and multiply. contents: as `derive` made them."""
        if (
            not contents.numbers.shape[1] and self.names
        ):  # records that have few of the numbers have them as further features
            return Ready(contents.numbers, [], one_hot(contents.categories), contents.further, contents.texts)
        numbers = self._scaled(contents.numbers)
        columns, _ = number_products(numbers, list(self.names), self._to_powers(), self.products)
        missing = [np.isnan(contents.numbers[:, self.names.index(name)]) for name in self.indicators]
        singles = one_hot(contents.categories)
        if self.products.pairs:
            singles += category_products(numbers, list(self.names), contents.categories, self.products)
        if missing or columns:
            numbers = np.column_stack([numbers, *missing, *columns]).astype(numbers.dtype, copy=False)
        return Ready(numbers, self.number_names, singles, contents.further, contents.texts)

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        if not len(self.names) or (self.scale == "none" and not self.centres.any() and not np.isnan(values).any()):
            return values
        missing = np.isnan(values)
        found = values.astype(np.float64)
        if missing.any():
            found = np.where(missing, self.fills, found)
        with np.errstate(over="ignore"):  # who takes the rows refuses what is too large
            found -= self.centres
            found /= self.scales
            return found.astype(values.dtype, copy=False)

    def _to_powers(self) -> list[str]:
        derived = {*self.derived.numbers()}
        return [name for name in self.names if name not in derived]

    @cached_property
    def number_names(self) -> list[str]:
        """What the numbers that `apply` gives are called as features."""
        _, called = number_products(np.empty((0, len(self.names))), list(self.names), self._to_powers(), self.products)
        plain = [*self.names, *(f"{name}=missing" for name in self.indicators), *called]
        return [name if "=" in name or not self.beside_words else f"{name}=" for name in plain]

    def only_numbers(self, roles: Roles) -> bool:
        """Does `apply` give nothing but numbers, and every row all of them?"""
        complete = self.words.texts or not set(roles.numbers).intersection(roles.optional)
        others = {*roles.categories} - {*self.derived.flags}
        return bool(complete and self.names and not others and not roles.texts)

    @property
    def is_trivial(self) -> bool:
        """Does it leave the cells as they are?"""
        left = self.scale == "none" and not self.words.texts and self.derived == Derived()
        return left and self.products == Products()

    # ---- in the user's units

    def units(self) -> dict[str, tuple[float, float]]:
        """By the name of a feature the centre and the scale that it was given, where it has others than 0 and 1."""
        if self.scale == "none" and not self.centres.any():
            return {}
        pairs = zip(self.centres.tolist(), self.scales.tolist(), strict=True)
        return dict(zip(self.number_names, pairs, strict=False))

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
        }

    @classmethod
    def from_dict(cls, kept: Any) -> "Preparation":
        """The preparation that `as_dict` wrote. Raises ValueError for what it cannot have written."""
        _demand(isinstance(kept, Mapping) and kept.keys() == cls().as_dict().keys(), "all that a preparation has")
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
        return cls(
            kept["scale"], words, derived, names, fills, centres, scales, tuple(kept["indicators"]), made,
            kept["beside_words"],
        )  # fmt: skip


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


def measured(parts: Sequence[Contents], roles: Roles, derived: Derived, wish: Wish) -> Preparation:
    """The preparation by the rows that are learned from. parts: as `Preparation.derive` made them, in their order.

    How the rows are divided into parts does not matter.
    """
    names = [*roles.numbers, *derived.numbers()]
    scale = {"auto": "standard"}.get(wish.scale, wish.scale)
    days = {f"{name}.days" for name in derived.dates}
    fills, centres, scales, indicators = [], [], [], []
    for place, name in enumerate(names):
        column = np.concatenate([part.numbers[:, place] for part in parts]).astype(np.float64)
        known = column[~np.isnan(column)]
        if len(known) < len(column):
            indicators.append(name)
        fill, centre, unit = _measure(known, scale, name in days)
        fills.append(fill)
        centres.append(centre)
        scales.append(unit)
    categories = {name: len(_values(parts, name)) for name in (parts[0].categories if parts else ())}
    made = products(wish.interactions, wish.powers, names, list(categories))
    many = n_products(categories, sum(part.n for part in parts), made) > MOST_NAMES
    return Preparation(
        scale, wish.words, derived, tuple(names), np.array(fills), np.array(centres), np.array(scales),
        tuple(indicators), made, bool(roles.texts), HASH_BITS if many else None,
    )  # fmt: skip


def _values(parts: Sequence[Contents], name: str) -> set[str]:
    """The values of a category that occur."""
    found: set[str] = set()
    for part in parts:
        codes, distinct = part.categories[name]
        found.update(distinct[code] for code in np.unique(codes[codes >= 0]).tolist())
    return found


def _measure(known: np.ndarray, scale: str, is_day: bool) -> tuple[float, float, float]:
    """What stands for a missing value, what is subtracted, and what is divided by."""
    if not len(known):
        return 0.0, 0.0, 1.0
    mean, largest = float(known.mean()), float(np.abs(known).max())
    first = float(known.min()) if is_day else 0.0  # days count from the first
    if scale == "standard":
        deviation = float(np.sqrt(np.mean(np.square(known - mean))))
        return mean, mean, deviation if deviation > NEGLIGIBLE * largest else 1.0
    if scale == "max-abs":
        unit = float(np.abs(known - first).max())
        return mean, first, unit if unit > 0 else 1.0
    return mean, first, 1.0


def _numbers(values: Any, n: int, name: str) -> np.ndarray:
    _demand(isinstance(values, list) and len(values) == n, f"a number in {name} for every column")
    _demand(all(type(value) in (int, float) for value in values), f"numbers in {name}")
    found = np.array(values, np.float64)
    _demand(bool((np.abs(found) <= LARGEST).all()), f"finite numbers in {name}")
    return found


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"expected {what}")
