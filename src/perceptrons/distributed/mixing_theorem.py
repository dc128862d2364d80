"""The bound on the number of epochs of mixing on separable data (McDonald, Hall and Mann 2010), beside those made.

With k_{i,n} updates of shard i in epoch n, from zeros, separable with margin gamma and radius R:

    sum over n and i of mu_{i,n} k_{i,n} <= (R^2 + 2 m / eta) / gamma^2 = B        (m: the margin demanded; 0 for most)

Mixing by mistakes, every epoch with an update adds at least 1 to the sum, so there are at most B of them, as many as on
one machine. Mixing uniformly it adds at least 1 / shards, so there are at most shards * B.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.distributed.clients import connected
from perceptrons.distributed.rows import LinearPart, reopen_shards
from perceptrons.distributed.shards import Shards
from perceptrons.engine.rows import Sparse
from perceptrons.engine.training.base import learner_of
from perceptrons.inspection.weights import constant_feature
from perceptrons.linear import Perceptron
from perceptrons.theory.bounds import join_bias, safe_margins, safe_radius, unit
from perceptrons.theory.examples import Examples, augmented
from perceptrons.theory.model_bound import check_covered

MAX_NUMBERS_AT_ONCE = 2**22  # values of examples whose margins are computed together


@dataclass(frozen=True, eq=False)
class MixingBound:
    """The bound of the theorem, and what a run made.

    Attributes
    ----------
    epochs : int
        The largest possible number of epochs with updates.
    made : int
        The number of epochs with updates that the run had.
    at_most, sum : float
        The sum over the updates of all shards and epochs, each times the weight of its shard in the mix: the largest
        possible one, and that of the run.
    radius, margin : float
        R and gamma, for the direction that the run found. The largest margin may be larger, and the bound lower.
    shards : int
    mixing : str
    """

    epochs: int
    made: int
    at_most: float
    sum: float
    radius: float
    margin: float
    shards: int
    mixing: str

    @property
    def holds(self) -> bool:
        return self.made <= self.epochs and self.sum <= self.at_most * (1 + 1e-12)

    def explain(self) -> str:
        """Return the comparison as a sentence."""
        times = f"{self.shards} times " if self.mixing == "uniform" and self.shards > 1 else ""
        verdict = ", as the theorem says."
        if not self.holds:
            verdict = ": more than the theorem allows, so the model was trained on other data."
        return (
            f"{self.made:,} epoch{'s' * (self.made != 1)} with updates, at most {self.epochs:,} possible: "
            f"{times}(R / gamma)^2 with the radius R = {self.radius:.4g} and the margin gamma = {self.margin:.4g} of "
            f"the final weights{verdict}"
        )


def mixing_bound(model: Perceptron, X: Any, y: Any = None, client: Any = None, **reading: Any) -> MixingBound:
    """Return the bound on the epochs of a run of `fit` that converged, computed where the data are.

    When to use it: to see how far from the worst case a run on a cluster was. `fit` does it itself where it can, and
    leaves `mixing_bound_`. When not: for a run that did not converge; the theorem is about separable data.

    Parameters
    ----------
    model : Perceptron
        Fitted by `perceptrons.distributed.fit` from a zero start.
    X, y, client, **reading : as in `fit`; the data that it was fitted on

    Raises
    ------
    ValueError
        For what the theorem does not cover.

    Examples
    --------
    >>> import distributed, perceptrons
    >>> from perceptrons.distributed import fit, mixing_bound
    >>> X, y = [[0.0, 2.0], [0.0, -2.0], [1.0, 2.0], [1.0, -2.0]], ["up", "down", "up", "down"]
    >>> with distributed.Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0") as client:
    ...     model = fit(perceptrons.Perceptron(margin=0, fit_intercept=False), X, y, client, shards=2)
    ...     bound = mixing_bound(model, X, y, client)
    >>> bound.made, bound.epochs, bound.holds
    (1, 1, True)
    """
    if not isinstance(model, Perceptron):
        raise TypeError(f"The bound applies to a Perceptron, not to a {type(model).__name__}.")
    _check_covered(model)
    with connected(client) as client:
        data = reopen_shards(client, model, X, y, reading)
        try:
            return _compute_bound(model, data)
        finally:
            data.forget()


def bound_of_run(model: Perceptron, data: Shards, has_weights: bool) -> MixingBound | None:
    """Return the bound for the run that `fit` just made, or None if the theorem does not cover it."""
    if has_weights or not model.n_updates_:
        return None
    try:
        _check_covered(model)
        return _compute_bound(model, data)
    except ValueError:  # not covered, or the weights separate the data within rounding only
        return None


def _check_covered(model: Perceptron) -> None:
    learner, history = learner_of(model), model.history_
    check_covered(model, learner)
    if model.stop_reason_ != "converged" or not history or not all("shards" in row for row in history):
        raise ValueError(
            "The bound applies to a run of perceptrons.distributed.fit that converged, but this one did not."
        )
    if learner.init != "zeros" or learner.epochs != len(history):
        raise ValueError("The bound applies to a run that started from zero weights.")
    if learner.t != sum(row["examples"] for row in history) or model.early_stopping:
        raise ValueError("The bound does not cover sample weights or held-out examples.")


def _compute_bound(model: Perceptron, data: Shards) -> MixingBound:
    learner, constant = learner_of(model), constant_feature(model)
    candidates = [join_bias(w, b, constant or 1.0) for w, b in (learner.weights.last(), learner.average())]
    if not constant:
        candidates = [u[:, :-1] for u in candidates]
    units = [unit(u) for u in candidates if np.any(u)]
    extremes = data.ask(radius_and_margins, units, constant)
    R, gamma = max(r for r, _ in extremes), max(np.min([m for _, m in extremes], axis=0), default=0.0)
    if not gamma > 0:
        raise ValueError("The model does not separate these data: give the data that it was fitted on.")
    demanded = (2 if learner.weights.n_rows == 1 else 1) * Fraction(float(model.margin_)) / Fraction(float(model.eta0))
    bound = (Fraction(R) ** 2 + demanded) / Fraction(float(gamma)) ** 2
    shards = [row["shards"] for row in model.history_]
    S = len(shards[0]["updates"])
    is_even = all(row["weights"] == [1 / S] * S for row in shards)  # a model file does not hold mixing_
    mixing = getattr(model, "mixing_", "uniform" if is_even else "mistakes")
    return MixingBound(
        epochs=math.floor(bound * (S if mixing == "uniform" else 1)),
        made=sum(row["updates"] > 0 for row in model.history_),
        at_most=float(bound),
        sum=sum(mu * k for row in shards for mu, k in zip(row["weights"], row["updates"], strict=True)),
        radius=R,
        margin=float(gamma),
        shards=S,
        mixing=mixing,
    )


def radius_and_margins(part: LinearPart, units: list[np.ndarray], constant: float) -> tuple[float, list[float]]:
    """Return the norm of the longest example of a part, and the smallest margin for each of the directions.

    Both are on the safe side of rounding.
    """
    radius, margins = 0.0, [math.inf] * len(units)
    d = units[0].shape[-1] - (constant > 0) if units else 0
    for block in part.blocks():
        rows, y = block.examples.rows, block.examples.y
        X: Any = rows.values
        n, values_per_row = len(y), max(1, X.size // max(1, len(y)))
        if isinstance(rows, Sparse):
            X = sp.csr_matrix((rows.values, rows.columns, rows.starts), shape=(n, d), copy=False)
        size = max(1, MAX_NUMBERS_AT_ONCE // values_per_row)
        for begin in range(0, n, size):
            chunk, codes = X[begin : begin + size], y[begin : begin + size]
            if sp.issparse(chunk):
                chunk.sum_duplicates()
            codes = (codes > 0).astype(np.int32) if units and len(units[0]) == 1 else codes
            Z = augmented(Examples(chunk, codes, np.arange(2)), constant)
            radius = max(radius, safe_radius(Z.X))
            margins = [min(m, float(safe_margins(Z, u).min())) for m, u in zip(margins, units, strict=True)]
    return radius, margins
