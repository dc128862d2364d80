"""The statement "these pairs cancel" in whole numbers, and weights in exchange for them and for rounded ones."""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.theory.exact import exponents_of, integers
from perceptrons.theory.inputs import Examples
from perceptrons.theory.pairs import Demands

WHOLE = 60  # bits of the whole numbers that stand for rounded weights


class Equations(NamedTuple):
    """Pairs cancel under weights a if a @ points is 0."""

    points: np.ndarray  # (pairs, columns) of whole numbers; columns that are all 0 are left out
    places: np.ndarray  # the weight that each column is for: class * (features + 1) + feature, the bias as last feature
    exponents: np.ndarray  # of the powers of two that columns were divided by
    shape: tuple[int, int]  # of the weights with the bias

    def weights(self, v: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """theta and b for raw data, as Fractions, from a vector that has products with the points."""
        flat = np.full(self.shape[0] * self.shape[1], Fraction(0), object)
        for value, place, exponent in zip(v, self.places.tolist(), self.exponents.tolist(), strict=True):
            flat[place] = Fraction(value) / Fraction(2) ** exponent
        matrix = flat.reshape(self.shape)
        return matrix[:, :-1], matrix[:, -1]


class Frame(NamedTuple):
    """The columns of X that are not all 0, and the powers of two that all of them are divided by."""

    used: np.ndarray
    exponents: np.ndarray


def frame_of(X: Any) -> Frame:
    """For equations that others will be added to, from any rows of X."""
    used = used_columns(X)
    return Frame(used, exponents_of(X)[used])


def used_columns(X: Any) -> np.ndarray:
    """The columns of X that are not all 0."""
    if not sp.issparse(X):
        return np.flatnonzero(X.any(axis=0))
    return np.unique(X.indices[X.data != 0])


def equations(examples: Examples, fit_intercept: bool, demands: Demands, frame: Frame | None = None) -> Equations:
    """What it takes that these pairs cancel; a row of weights for two classes, else a row a class.

    frame: of all that will be compared; unless given, columns are left out and divided as suits these pairs.
    """
    X, codes, classes = examples
    width, K = X.shape[1] + 1, len(classes)
    x = X[demands.rows]
    used, given = frame if frame is not None else (used_columns(x), None)
    x = x[:, used].toarray() if sp.issparse(x) else x[:, used]
    if fit_intercept:
        x = np.hstack([x, np.ones((len(x), 1), x.dtype)])
        used, given = np.append(used, width - 1), None if given is None else np.append(given, 0)
    whole, exponents = integers(x, given)
    own, every = codes[demands.rows], np.arange(len(x))
    if K == 2:
        return Equations(whole * np.where(own == 1, 1, -1).astype(object)[:, None], used, exponents, (1, width))
    cube = np.zeros((len(x), K, len(used)), object)
    cube[every, own], cube[every, demands.rivals] = whole, -whole
    points, places = cube.reshape(len(x), -1), (np.arange(K)[:, None] * width + used).ravel()
    kept = np.flatnonzero(points.any(axis=0)) if frame is None else np.arange(points.shape[1])
    return Equations(points[:, kept], places[kept], np.tile(exponents, K)[kept], (K, width))


def rounded(theta: np.ndarray, b: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Exact weights to so many bits, relative to the largest; 53 as floats."""
    top = max(abs(value) for value in (*theta.ravel(), *b))
    if bits == 53:
        return (theta / top).astype(np.float64), (b / top).astype(np.float64)
    to_bits = np.vectorize(lambda value: Fraction(round(value / top * (1 << bits)), 1 << bits), otypes=[object])
    return to_bits(theta), to_bits(b)


def balanced(own: list[int], rivals: list[int], a: np.ndarray, fit_intercept: bool) -> list[int] | None:
    """Whole numbers in the proportion of a, up to rounding, whose bias part is exactly 0; None if that needs negatives.

    What each class is off by is passed along a forest of the heaviest pairs, from the leaves to the roots.
    """
    whole = [round(float(weight) * (1 << WHOLE)) for weight in a]
    if not fit_intercept:
        return whole
    off: dict[int, int] = {}
    for y, r, weight in zip(own, rivals, whole, strict=True):
        off[y] = off.get(y, 0) + weight
        off[r] = off.get(r, 0) - weight
    tree_of = {k: k for k in off}
    forest = []
    for place in sorted(range(len(whole)), key=lambda place: -whole[place]):
        y, r = tree_of[own[place]], tree_of[rivals[place]]
        if y != r:
            forest.append(place)
            tree_of = {k: y if tree == r else tree for k, tree in tree_of.items()}
    while forest:
        ends = [k for place in forest for k in (own[place], rivals[place])]
        leaf = next(k for k in ends if ends.count(k) == 1)
        place = next(place for place in forest if leaf in (own[place], rivals[place]))
        change = -off[leaf] if own[place] == leaf else off[leaf]
        whole[place] += change
        off[own[place]] += change
        off[rivals[place]] -= change
        forest.remove(place)
    return whole if min(whole) >= 0 else None
