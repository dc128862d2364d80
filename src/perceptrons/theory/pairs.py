"""Separability as points of one space: "class y leads rival r at x" is z·theta > 0, z = f(x, y) - f(x, r).

All demands hold for some theta just if the hull of the points z does not hold the origin; its distance from the origin
is the largest margin. The points are never all written down: `Pairs` makes those asked for. Next: `hulls.py`.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.theory.inputs import Examples

CACHED = 1 << 16  # numbers that are converted at a time, to stay in the cache
LARGE = 2.0**500  # weights from here on might overflow
JITTER = 1e-13  # of a Gram matrix's trace, so that points that depend on each other do not end its factoring


class Demands(NamedTuple):
    """Some of the pairs: a row of X, and the class that must not win there."""

    rows: np.ndarray  # intp (m,)
    rivals: np.ndarray  # int32 (m,)

    def take(self, which: np.ndarray) -> "Demands":
        return Demands(self.rows[which], self.rivals[which])


class Pairs:
    """The points of a data set, in units that suit floating point: x becomes (x - centre) / unit.

    Two classes have one weight row and z = y x; more have a row each. With an intercept, the bias belongs to no
    distance: it is an equation on the weights of points instead. Norms are divided by sqrt(2) for several classes, so
    that two classes have the same margin either way.
    """

    def __init__(self, examples: Examples, fit_intercept: bool, even: bool) -> None:
        """even: a unit for every feature, which keeps separability but not distances; else one for all."""
        self.X, self.codes, self.n_classes = examples.X, examples.codes, len(examples.classes)
        self.binary = self.n_classes == 2
        self.fit_intercept = fit_intercept
        self.d = self.X.shape[1]
        self.sparse = sp.issparse(self.X)
        centred = fit_intercept and not self.sparse
        self.centre = self.X.mean(axis=0, dtype=np.float64) if centred else np.zeros(self.d)
        top = _spread(self.X, self.centre)
        if not even:
            top = np.full(self.d, top.max(initial=0.0))
        self.unit = np.exp2(np.ceil(np.log2(np.where(top > 0, top, 1.0))))  # a power of two: dividing is exact
        self.even = even
        self.width = self.d if self.binary else self.d * self.n_classes
        self.signs = np.where(self.codes == 1, 1.0, -1.0)  # of two classes
        self.by_class = [np.flatnonzero(self.codes == k) for k in range(self.n_classes)]

    def raw(self, theta: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights for x from weights for (x - centre) / unit; a factor keeps them finite where units are tiny."""
        factor = min(1.0, float(self.unit.min()) * LARGE)
        theta = theta * (factor / self.unit)
        return theta, b * factor - theta @ self.centre

    def leads(self, theta: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By how much each example's class leads its best rival under raw weights, and that rival."""
        s = products(self.X, theta) + b
        if self.binary:
            return self.signs * s[:, 0], 1 - self.codes
        every = np.arange(len(s))
        own = s[every, self.codes]
        s[every, self.codes] = -np.inf
        rivals = s.argmax(axis=1)
        return own - s[every, rivals], rivals.astype(np.int32)

    def norm(self, theta: np.ndarray) -> float:
        """What a lead is divided by to be a distance."""
        top = float(np.abs(theta).max())
        length = top * float(np.linalg.norm(theta / top)) if top > 0 else 0.0
        return length if self.binary else np.sqrt(2.0) * length

    def points(self, demands: Demands) -> tuple[np.ndarray, np.ndarray]:
        """The points z with the equations on their weights behind: V = (z, E) and e, for sum of a E = e."""
        rows, rivals = demands
        m = len(rows)
        codes = self.codes[rows]
        if self.width <= max(m, 1024):
            x = self._moved(rows)
            if self.binary:
                z = x * self.signs[rows, None]
            else:
                z = np.zeros((m, self.n_classes, self.d))
                z[np.arange(m), codes] = x
                z[np.arange(m), rivals] = -x
                z = z.reshape(m, -1) / np.sqrt(2.0)
        else:
            z = self._by_gram(rows, codes, rivals)
        E = np.ones((m, 1))
        if self.fit_intercept:
            E = np.hstack([E, self._bias_part(codes, rivals)])
        size = np.sqrt((z * z).sum() / m) or 1.0
        e = np.zeros(E.shape[1])
        e[0] = size
        return np.hstack([z, size * E]), e

    def combination(self, demands: Demands, a: np.ndarray) -> np.ndarray:
        """theta = sum of a z, in units; a row for two classes, else a row a class."""
        rows, rivals = demands
        codes = self.codes[rows]
        if self.binary:
            coefficients = (a * self.signs[rows])[None, :]
        else:
            coefficients = np.zeros((self.n_classes, len(rows)))
            np.add.at(coefficients, (codes, np.arange(len(rows))), a)
            np.add.at(coefficients, (rivals, np.arange(len(rows))), -a)
        if self.sparse:
            return np.asarray((self.X[rows].T @ coefficients.T).T) / self.unit
        return coefficients @ self._moved(rows)

    def bias(self, multipliers: np.ndarray, size: float) -> np.ndarray:
        """b from the multipliers of the equations."""
        if not self.fit_intercept:
            return np.zeros(1 if self.binary else self.n_classes)
        return -size * multipliers[1:] * (1.0 if self.binary else 2.0)  # z is divided by sqrt(2), and so is its theta

    def _bias_part(self, codes: np.ndarray, rivals: np.ndarray) -> np.ndarray:
        if self.binary:
            return np.where(codes == 1, 1.0, -1.0)[:, None]
        part = np.zeros((len(codes), self.n_classes))
        part[np.arange(len(codes)), codes] = 1.0
        part[np.arange(len(codes)), rivals] = -1.0
        return part

    def _moved(self, rows: np.ndarray) -> np.ndarray:
        x = self.X[rows]
        x = x.toarray() if self.sparse else x
        return (x.astype(np.float64) - self.centre) / self.unit

    def _by_gram(self, rows: np.ndarray, codes: np.ndarray, rivals: np.ndarray) -> np.ndarray:
        """Points of as many dimensions as there are, with the scalar products of those that would be too wide."""
        x = self.X[rows].multiply(1.0 / self.unit).tocsr() if self.sparse else self._moved(rows)
        G = x @ x.T
        G = G.toarray() if sp.issparse(G) else G
        if self.binary:
            G *= np.outer(self.signs[rows], self.signs[rows])
        else:
            shared = (codes[:, None] == codes).astype(np.float64) + (rivals[:, None] == rivals)
            shared -= (codes[:, None] == rivals).astype(np.float64) + (rivals[:, None] == codes)
            G *= shared / 2
        G[np.diag_indices_from(G)] += max(JITTER * np.trace(G), np.finfo(float).tiny)
        return np.linalg.cholesky(G)


def products(X: Any, theta: np.ndarray) -> np.ndarray:
    """X thetaᵀ in float64, whatever X is, without a copy of it."""
    if sp.issparse(X) or X.dtype == np.float64:
        return np.asarray(X @ theta.T)
    s = np.empty((X.shape[0], len(theta)))
    step = max(1, CACHED // max(1, X.shape[1]))
    for first in range(0, len(s), step):
        s[first : first + step] = X[first : first + step].astype(np.float64) @ theta.T
    return s


def _spread(X: Any, centre: np.ndarray) -> np.ndarray:
    """The largest distance of any value of a feature from its centre."""
    if sp.issparse(X):
        return np.asarray(abs(X).max(axis=0).toarray(), np.float64).ravel()
    return np.maximum(X.max(axis=0) - centre, centre - X.min(axis=0))
