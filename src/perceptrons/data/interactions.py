"""Interactions of namespaces, Vowpal Wabbit's -q and --cubic: which there are, and the features they make of a piece.

Compiled: `scan/interactions.py`. A feature that an interaction makes is called "a^x*b^y", as VW's --audit has it. A "*"
within the name of a feature is then written "|*", so that no two features have the same name.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from perceptrons.data.source import Piece
from perceptrons.engine.hashing import SECRET
from perceptrons.engine.scan.bytes import ROOM
from perceptrons.engine.scan.interactions import (
    LAST_PRINTED,
    NONE,
    STAR,
    WILDCARD,
    Groups,
    Plain,
    Products,
    Terms,
    count_products,
    cut_lines,
    join_names,
    multiply,
    spaces_of,
)  # fmt: skip
from perceptrons.engine.scan.name_table import key_names, power_of_two
from perceptrons.engine.scan.numbers import SPACE
from perceptrons.engine.scan.vw import BAR, LARGEST
from perceptrons.features.named_rows import Names, joined, order_of_coming, renumbered
from perceptrons.features.values import shown

MOST = 2**20  # features that interactions may make of one line
AT_ONCE = 2**18  # in one block, unless one line has more: memory is bounded by it
ORDERS = {"quadratic": 2, "cubic": 3}
HEX = re.compile(rb"\\x([0-9a-fA-F]{2})")
Term = tuple[int, ...]  # first bytes of namespaces


class Made(NamedTuple):
    """Rows with their interactions."""

    starts: np.ndarray
    numbers: np.ndarray
    values: np.ndarray
    names: Names
    hashes: np.ndarray
    wrong: dict[int, str]  # rows that cannot be used, and why


class Interactions:
    """Products of features of two (`quadratic`) or three (`cubic`) namespaces, each given by their first letters."""

    def __init__(self, quadratic: Any, cubic: Any):
        self.given = {"quadratic": _listed(quadratic, "quadratic"), "cubic": _listed(cubic, "cubic")}
        terms = [_term(text, name) for name, texts in self.given.items() for text in texts]
        self.terms = tuple(filtered(terms))

    def __bool__(self) -> bool:
        return bool(self.terms)

    def recipe(self) -> dict[str, list[str]]:
        return {name: texts for name, texts in self.given.items() if texts}

    def cut(self, piece: Piece) -> Iterator[Piece]:
        """The piece in parts of whole lines that make no more features than fit into a block."""
        cuts = np.empty(np.count_nonzero(piece.content[: piece.size] == 10) + 1, np.int64)
        begin, first = 0, piece.first
        for end in cuts[: cut_lines(piece.content, piece.size, _as_array(self.terms), AT_ONCE, cuts)].tolist():
            yield Piece(piece.path, piece.content[begin:], end - begin, first)
            begin, first = end, False

    def make(
        self, starts: np.ndarray, numbers: np.ndarray, values: np.ndarray, names: Names, hashes: np.ndarray, named: bool
    ) -> Made:
        """Rows of numbered features, and behind them their interactions. named: are the names of all needed?"""
        plain = Plain(starts, numbers, values, np.empty(len(hashes), np.uint8), hashes)
        spaces_of(names.arena, names.ends, plain.spaces)
        terms, groups = _in_order(self.terms, bytes(np.unique(plain.spaces))), _room(starts)
        counts = np.empty(len(starts) - 1)
        count_products(plain, terms, groups, counts)
        skip = counts > MOST
        products = _products(plain, int(counts[~skip].sum()))
        n, used = multiply(plain, terms, groups, skip, products, SECRET)
        made, parts, names = products.numbers[:n], products.parts[:used], _escaped(names)
        wrong = {row: _too_many(counts[row]) for row in np.flatnonzero(skip).tolist()}
        for row in np.flatnonzero(products.large).tolist():
            at = int(products.large[row]) - 1
            wrong[row] = _too_large(names, parts[made[at] - len(hashes)], float(products.values[at]))
        behind = made[made >= len(hashes)] - len(hashes)
        hashes = np.concatenate([hashes, products.hashes[:used]])
        if not named:
            return Made(products.starts, made, products.values[:n], _unnamed(len(hashes)), hashes, wrong)
        names = _with_products(names, parts, behind)
        if len(starts) > 2:
            order = order_of_coming(made, len(hashes))
            names, hashes, made = renumbered(names, order), hashes[order], np.argsort(order).astype(np.int32)[made]
        return Made(products.starts, made, products.values[:n], names, hashes, wrong)


# ---- which there are


def _listed(given: Any, name: str) -> list[str]:
    texts = [] if given is None else [given] if isinstance(given, str) else list(given)
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"{name} must be a list of texts such as {'abc'[: ORDERS[name]]!r}, not {text!r}.")
    return texts


def _term(text: str, name: str) -> Term:
    term = tuple(HEX.sub(lambda match: bytes([int(match[1], 16)]), text.encode("utf-8", "surrogateescape")))
    order = ORDERS[name]
    if len(term) != order:
        raise ValueError(
            f"{name} {shown(text)}: give the first letters of {order} namespaces, such as {'abc'[:order]}; : means"
            " all of them, a space the one without a name, and \\xC3 a byte."
        )
    return term


def filtered(terms: Iterable[Term]) -> list[Term]:
    """Each once, whatever the order of its letters: the first by the alphabet, as VW has it.

    One that has a letter twice, and another, is sorted, so that those of one namespace stand side by side.
    """
    found: dict[Term, Term] = {}
    for term in sorted(terms):
        in_order = tuple(sorted(term))
        found.setdefault(in_order, in_order if 1 < len(set(term)) < len(term) else term)
    return list(found.values())


def expanded(terms: Iterable[Term], spaces: bytes) -> list[Term]:
    """Without wildcards, which stand for all namespaces that begin with a printed character of ASCII."""
    printed, found = [space for space in sorted(spaces) if SPACE <= space <= LAST_PRINTED], list[Term]()
    for term in terms:
        for chosen in combinations_with_replacement(printed, term.count(WILDCARD)):
            rest = iter(chosen if len(chosen) < 3 else chosen[::-1])  # as VW has two, and three
            found.append(tuple(next(rest) if space == WILDCARD else space for space in term))
    return filtered(found)


@lru_cache(maxsize=64)
def _in_order(terms: tuple[Term, ...], spaces: bytes) -> Terms:
    found = _as_array(sorted(expanded(terms, spaces), key=lambda term: term[0]))
    return Terms(found, np.searchsorted(found[:, 0], np.arange(257)))


def _as_array(terms: Iterable[Term]) -> np.ndarray:
    return np.array([(*term, NONE)[:3] for term in terms], np.int64).reshape(-1, 3)


# ---- what they make


def _room(starts: np.ndarray) -> Groups:
    longest = int(np.diff(starts).max(initial=0))
    counts, begins, met = (np.zeros(256, kind) for kind in (np.int64, np.int64, np.uint8))
    return Groups(counts, begins, met, np.empty(longest, np.int32), np.empty(longest, np.float32))


def _products(plain: Plain, most: int) -> Products:
    n = len(plain.numbers) + most
    return Products(
        starts=np.empty(len(plain.starts), np.int64),
        numbers=np.empty(n, np.int32),
        values=np.empty(n),
        parts=np.empty((most, 3), np.int32),
        hashes=np.empty(most, np.uint32),
        slots=np.zeros((power_of_two(2 * most + 1), 2), np.uint64),
        large=np.zeros(len(plain.starts) - 1, np.int64),
    )


def _escaped(names: Names) -> Names:
    """The names with "|*" for "*"; few have one."""
    stars = np.flatnonzero(names.arena == STAR)
    if not len(stars):
        return names
    ends = names.ends + np.searchsorted(stars, names.ends)
    return _keyed(np.insert(names.arena, stars, np.uint8(BAR)), ends, names.counts)


def _with_products(names: Names, parts: np.ndarray, made: np.ndarray) -> Names:
    """The names of plain features, and behind them those of interactions. made: the number of each that was made."""
    lengths = np.append(np.diff(names.ends), -1)[parts].sum(axis=1) + 2  # a part that is none is the last
    arena, ends = np.empty(int(lengths.sum()), np.uint8), np.empty(len(parts) + 1, np.int64)
    join_names(names.arena, names.ends, parts, arena, ends)
    return joined(names, _keyed(arena, ends, np.bincount(made, minlength=len(parts))))


def _unnamed(n: int) -> Names:
    """As many names, for columns that follow from the hashes."""
    return Names(np.empty(0, np.uint8), np.zeros(1, np.int64), np.zeros(n, np.int64), np.empty(0, np.uint64))


def _keyed(arena: np.ndarray, ends: np.ndarray, counts: np.ndarray) -> Names:
    keys, padded = np.empty(len(counts), np.uint64), np.concatenate([arena, np.zeros(ROOM, np.uint8)])
    key_names(padded, ends, SECRET, keys)
    return Names(padded[: len(arena)], ends, counts, keys)


def _too_many(n: float) -> str:
    return f"its interactions make {n:,.0f} features, more than {MOST:,}: name fewer namespaces, or shorten the line"


def _too_large(names: Names, parts: np.ndarray, value: float) -> str:
    texts = [names.arena[names.ends[part] : names.ends[part + 1]].tobytes() for part in parts.tolist() if part >= 0]
    name = b"*".join(texts).decode("utf-8", "replace")
    return f"{shown(name)} is {value:g}, too large (at most {LARGEST:.0e}): scale the values"
