"""Products of the features of a table: of two columns, and powers of numbers. They are made row by row while reading.

A product of two numbers is a number, "height*width"; of a number and a category a feature for every value of the
category, "height*color=red"; of two categories a feature for every pair of values, "color=red*shape=round".
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from perceptrons.features.table_rows import Coded, Single
from perceptrons.features.values import did_you_mean, listed, shown

MOST_PAIRS = 20_000
MOST_POWER = 9


class Products(NamedTuple):
    """Which products there are. pairs: of columns."""

    powers: int = 1
    pairs: tuple[tuple[str, str], ...] = ()


def products(asked: Sequence[str], powers: int, numbers: list[str], categories: list[str]) -> Products:
    """The products that are asked for as "a*b", "a*" (a with every other column) or "*" (all pairs).

    Raises ValueError for what names no column, and for more pairs than can be wise.
    """
    if isinstance(powers, bool) or not isinstance(powers, int) or not 1 <= powers <= MOST_POWER:
        raise ValueError(f"powers={powers!r} (--powers): give a whole number from 1 to {MOST_POWER}.")
    names = [*numbers, *categories]
    pairs: dict[tuple[str, str], None] = {}
    for one in asked:
        pairs |= dict.fromkeys(_pairs(one, names))
        if len(pairs) > MOST_PAIRS:
            raise ValueError(
                f"interactions (--interactions) {shown(one)}: this makes more than {MOST_PAIRS:,} pairs of columns: "
                "name fewer columns."
            )
    return Products(powers, tuple(pairs))


def _pairs(asked: str, names: list[str]) -> list[tuple[str, str]]:
    order = {name: place for place, name in enumerate(names)}
    if asked.strip() == "*":
        return list(combinations(names, 2))[: MOST_PAIRS + 1] if len(names) < 1000 else _too_many(names)
    cuts = [place for place, letter in enumerate(asked) if letter == "*"]
    for cut in cuts:
        first, second = asked[:cut].strip(), asked[cut + 1 :].strip()
        if not second or not first:
            one = first or second
            if one in order:
                return [_sorted(one, other, order) for other in names if other != one]
        elif first in order and second in order and first != second:
            return [_sorted(first, second, order)]
    parts = [part.strip() for part in asked.split("*") if part.strip()]
    unknown = next((part for part in parts if part not in order), None)
    if unknown is None:
        raise ValueError(f"interactions (--interactions) {shown(asked)}: write 'a*b', 'a*' or '*'.")
    hint = did_you_mean(unknown, names)
    raise ValueError(
        f"interactions (--interactions): no feature comes from a column {shown(unknown)}{hint}: the columns are "
        f"{listed(names)}."
    )


def _too_many(names: list[str]) -> list[tuple[str, str]]:
    raise ValueError(
        f"interactions (--interactions) '*': {len(names):,} columns have more than {MOST_PAIRS:,} pairs: name fewer."
    )


def _sorted(one: str, other: str, order: dict[str, int]) -> tuple[str, str]:
    return (one, other) if order[one] < order[other] else (other, one)


def number_products(
    values: np.ndarray, names: list[str], to_powers: list[str], made: Products
) -> tuple[list[np.ndarray], list[str]]:
    """Powers of numbers and products of two numbers, and what they are called. values: in the order of the names."""
    place_of = {name: place for place, name in enumerate(names)}
    columns, called = list[np.ndarray](), list[str]()
    with np.errstate(over="ignore"):  # who takes the rows refuses what is too large
        for power in range(2, made.powers + 1):
            columns += [values[:, place_of[name]] ** power for name in to_powers]
            called += [f"{name}^{power}" for name in to_powers]
        for one, other in made.pairs:
            if one in place_of and other in place_of:
                columns.append(values[:, place_of[one]] * values[:, place_of[other]])
                called.append(f"{one}*{other}")
    return columns, called


def category_products(
    values: np.ndarray, names: list[str], categories: dict[str, Coded], made: Products
) -> list[Single]:
    """Products that a category is part of."""
    place_of, found = {name: place for place, name in enumerate(names)}, list[Single]()
    for one, other in made.pairs:
        if one in categories and other in categories:
            found.append(_both(one, categories[one], other, categories[other]))
        elif one in place_of and other in categories:  # numbers come before categories
            codes, distinct = categories[other]
            named = [f"{one}*{other}={value}" for value in distinct]
            found.append(Single(codes, named, np.ascontiguousarray(values[:, place_of[one]], np.float64)))
    return found


def _both(one: str, first: Coded, other: str, second: Coded) -> Single:
    """A feature for every pair of values that occurs."""
    width = len(second.distinct)
    there = (first.codes >= 0) & (second.codes >= 0)
    both = np.where(there, first.codes.astype(np.int64) * width + second.codes, -1)
    occurring, codes = np.unique(both[there], return_inverse=True)
    of_rows = np.full(len(both), -1, np.int32)
    of_rows[there] = codes
    names = [
        f"{one}={first.distinct[pair // width]}*{other}={second.distinct[pair % width]}" for pair in occurring.tolist()
    ]
    return Single(of_rows, names)


def n_products(categories: dict[str, int], n: int, made: Products) -> int:
    """At most how many features products with categories make. categories: how many values each has; n: of rows."""
    return sum(
        min(n, categories.get(one, 1) * categories.get(other, 1))
        for one, other in made.pairs
        if one in categories or other in categories
    )
