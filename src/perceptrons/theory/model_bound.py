"""Compares the updates of a fitted model with its mistake bound."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.labels import places_of
from perceptrons.engine.training.learner import LinearLearner
from perceptrons.engine.training.units import Units
from perceptrons.inspection.weights import constant_feature
from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.sequence import SequencePerceptron
from perceptrons.sequence.estimator import tokens_to_label
from perceptrons.structured import StructuredPerceptron
from perceptrons.theory.bounds import EPS, Bound, mistake_bound
from perceptrons.theory.examples import Examples, check_examples, check_features
from perceptrons.theory.other_bounds import SAFE, chain_bound, kernel_bound, refuse_kernel, refuse_tagger
from perceptrons.theory.results import TheoryResult

HUGE = 1e150  # its square is still a float


@dataclass(frozen=True, eq=False)
class Comparison(TheoryResult):
    """The number of updates that a model made, and the largest number that the theory allows.

    Attributes
    ----------
    updates : int
        The updates that the model made.
    at_most : int
        The bound for the model's initial weights, learning rate and margin.
    bound : Bound
        The bound for zero initial weights and no margin, on the same data.
    """

    _shown = ("updates", "at_most", "holds")

    updates: int
    at_most: int
    bound: Bound

    @property
    def holds(self) -> bool:
        return self.updates <= self.at_most

    @property
    def ratio(self) -> float:
        """The updates made, divided by the updates allowed."""
        return self.updates / self.at_most if self.at_most else math.inf if self.updates else 0.0

    def explain(self) -> str:
        """Return the comparison in words."""
        kept = (
            "as the theory says"
            if self.holds
            else "more than the theory allows, so these are not the training examples"
        )
        return f"{self.updates:,} updates made, at most {self.at_most:,} possible ({self.ratio:.2%}), {kept}. " + (
            self.bound.explain()
        )


def check_bound(
    model: Any,
    X: Any,
    y: Any,
    *,
    coef_init: Any = None,
    intercept_init: Any = None,
    lengths: Any = None,
    max_seconds: float | None = None,
) -> Comparison:
    """Compare the number of updates that a fitted model made with the mistake bound.

    Use it to see how far training was from the worst case, for instance in a lecture. Do not use it for a model that
    was trained on other examples than X, or with sample weights: the theorem does not cover them, and they are detected
    only by the counts of the model.

    Parameters
    ----------
    model : Perceptron, KernelPerceptron or SequencePerceptron
        Fitted on X and y, in one or more epochs, with its parameters as they were then. For a kernel, R and the margin
        are those in its feature space: R^2 is the largest K(x, x). For a tagger, they are those of the features of
        whole labellings, with the margin of the model's own last weights.
    X, y : all training examples of the model
    coef_init, intercept_init : arrays, optional
        The initial weights, if `fit` was given some; the model does not store them.
    lengths : array, optional
        For a tagger that was trained on a matrix, as in its `fit`.
    max_seconds : float, optional
        The time limit for finding the best bound; see `mistake_bound`.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        For what the theorem does not cover: steps other than constant, penalties, costs, batches, class weights,
        one-vs-rest and one-vs-one, several labels, an unknown start; budgets and kernels that are not positive
        definite; a `StructuredPerceptron`, whose outputs only its own functions know.

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.theory import check_bound
    >>> X, y = [[0.0, 2.0], [0.0, -2.0], [1.0, 2.0]], ["up", "down", "up"]
    >>> comparison = check_bound(Perceptron(margin=0, intercept_scaling=1).fit(X, y), X, y)
    >>> comparison.holds, comparison.updates, comparison.at_most
    (True, 1, 1)
    """
    if isinstance(model, KernelPerceptron | SequencePerceptron | StructuredPerceptron):
        for name, value in (("coef_init", coef_init), ("intercept_init", intercept_init)):
            if value is not None:
                raise ValueError(f"{name} is for a Perceptron: a {type(model).__name__} starts from zero.")
        return Comparison(int(model.n_updates_), *_other_bound(model, X, y, lengths, max_seconds))
    examples = check_examples(X, y)
    if isinstance(model, Perceptron):
        check_features(model, X)
        examples = _in_order(examples, learner_of(model).classes)
    start, epochs = covered_start(model, examples, coef_init, intercept_init)
    bound = mistake_bound(
        examples.X,
        examples.codes,
        epochs=epochs,
        fit_intercept=bool(model.fit_intercept),
        intercept_scaling=constant_of(model),
        max_seconds=max_seconds,
    )
    at_most = most_updates(bound, start, float(model.eta0), float(model.margin_))
    return Comparison(int(model.n_updates_), at_most, bound)


def _other_bound(model: Any, X: Any, y: Any, lengths: Any, max_seconds: float | None) -> tuple[int, Bound]:
    """Of kernels and taggers: the most updates allowed, and the bound behind it."""
    learner_of(model)
    if isinstance(model, StructuredPerceptron):
        raise ValueError(
            "The mistake bound needs the margin over all outputs, and those of a StructuredPerceptron only its decode "
            "knows: compute R and gamma by hand, then (R / gamma)^2."
        )
    if isinstance(model, KernelPerceptron):
        refuse_kernel(model)
        bound = kernel_bound(model, X, y, _passes(model, np.shape(X)[0]), max_seconds)
        return math.floor(bound.updates * SAFE), bound
    refuse_tagger(model)
    n = len(tokens_to_label(model, X, lengths)[0].starts) - 1
    bound = chain_bound(model, X, y, lengths, _passes(model, n))
    return bound.updates, bound


def _in_order(examples: Examples, classes: np.ndarray) -> Examples:
    """The examples with their classes numbered as the model does, whose user may have put them in another order."""
    if sorted(classes.tolist()) != examples.classes.tolist():
        return examples
    return examples._replace(classes=classes, codes=places_of(examples.classes, classes)[examples.codes])


def covered_start(model: Perceptron, examples: Examples, coef_init: Any, intercept_init: Any) -> tuple[np.ndarray, int]:
    """The start of a fitted model and its passes over the examples, or a ValueError that says why it is not covered."""
    if not isinstance(model, Perceptron):
        raise TypeError(f"The bound applies to a perceptrons.Perceptron, not to a {type(model).__name__}.")
    learner = learner_of(model)
    refuse_parameters(model, learner)
    if learner.classes.tolist() != examples.classes.tolist():
        raise ValueError(
            f"The model knows the classes {learner.classes[:10].tolist()}, but y has "
            f"{examples.classes[:10].tolist()}: give the examples that the model was trained on."
        )
    epochs = _passes(model, len(examples.codes))
    if coef_init is None and intercept_init is None and learner.votes is not None:
        w, b = learner.weights.start()
        return join(w, b, constant_of(model)), epochs
    init = model.init if coef_init is None or intercept_init is None else "zeros"
    once = learner.epochs == model.n_iter_ > 0 and learner.weights.t <= learner.epochs * len(examples.codes)
    if init != "zeros" and not once:
        raise ValueError(
            f"The start, init={init!r}, is known only for a model that was fitted once: this one was trained "
            "further, and may have new classes or features. Use init='zeros' or combine='vote', which keeps the start."
        )
    start = starting_weights(
        model, examples, learner.weights.dtype, learner.seed, constant_of(model), coef_init, intercept_init
    )
    return start, epochs


def constant_of(model: Perceptron) -> float:
    """The constant feature of a fitted model's bias; 1 if it has none."""
    return constant_feature(model) or 1.0


def starting_weights(
    model: Perceptron, examples: Examples, dtype: Any, seed: int, constant: float, coef: Any = None, bias: Any = None
) -> np.ndarray:
    """Where `model.fit` on these examples starts: as `join` makes it."""
    intercept = bool(model.fit_intercept)
    if not intercept and bias is not None and np.any(bias):
        raise ValueError("fit_intercept=False means an intercept of 0, but the one to start from is not 0: drop one.")
    begun = LinearLearner.begin(
        examples.classes,
        examples.X.shape[1],
        dtype,
        combine="last",
        scheme="joint",
        form="single",
        sigma=False,
        init=model.init,
        seed=seed,
        intercept=intercept,
        scaling=constant,
        units=Units(1.0, 1.0),
        sparse=sp.issparse(examples.X),
        coef=coef,
        bias=bias,
    )
    w, b = begun.weights.last()
    return join(w, b, constant)


def join(w: np.ndarray, b: np.ndarray, constant: float) -> np.ndarray:
    """Weights and that of the constant feature as one vector, (d + 1,), or for several classes one row each."""
    whole = np.hstack([w, b[:, None] / constant])
    return np.array(whole[0] if len(whole) == 1 else whole, np.float64)


def falling_distance(bound: Bound, eta0: float) -> tuple[np.ndarray, float]:
    """w* as `join` makes it, and the rho for which |w_k - rho w*|^2 falls at every update: eta0 R^2 / gamma."""
    star = join(np.atleast_2d(bound.coef), np.atleast_1d(bound.intercept), bound.intercept_scaling)
    return star, float(eta0) * bound.radius**2 / bound.margin * (math.sqrt(2) if star.ndim == 2 else 1.0)


def most_updates(bound: Bound, start: np.ndarray, eta: float, margin: float) -> int:
    """The bound for any start w0, step eta and margin m that is demanded; w0 as `join` makes it.

    |w_k|^2 <= |w0|^2 + k (eta^2 R^2 + 2 eta m) and w_k·u >= w0·u + eta (k gamma - sqrt(k epochs) D), so k is at most
    the largest at which both can be. Everything is divided by eta, and for several classes, where R, gamma and D are
    sqrt(2) times as long, by sqrt(2). Then with q = sqrt(k) and any b above it

        gamma q^2 - sqrt(epochs) D q + w0·u <= |(w0, c b)|,    c^2 = R^2 + 2 m / eta

    and the larger root q of the equation is a better b. So every b is safe, and they fall to the largest root of all.
    """
    several = start.ndim == 2
    w = (start - start.mean(axis=0)) / math.sqrt(2) if several else start
    if margin == 0 and not w.any():
        return bound.updates
    w, u = w / eta, join(np.atleast_2d(bound.coef), np.atleast_1d(bound.intercept), bound.intercept_scaling)
    length = float(np.linalg.norm(w)) * (1 + (w.size + 8) * EPS)
    along = float(np.sum(w * u)) - 2 * (w.size + 8) * EPS * length
    c = math.sqrt(bound.radius**2 + (1 if several else 2) * margin / eta)
    gamma, slope = bound.margin, math.sqrt(bound.epochs or 0) * bound.deviation
    b = (slope + c + math.sqrt((slope + c) ** 2 + 8 * gamma * length)) / (2 * gamma)  # with |(w0, c b)| <= |w0| + c b
    for _ in range(1000):
        above = math.hypot(length, c * b) - along
        root = (slope + math.sqrt(slope**2 + 4 * gamma * max(0.0, above))) / (2 * gamma)
        if root >= b * (1 - 1e-13):
            break
        b = root
    if not b < HUGE:
        raise ValueError(
            "The bound is too large for a float: the scales of the start, the step and the data differ too much."
        )
    return math.floor((b * (1 + 1e-12)) ** 2)


def refuse_parameters(model: Perceptron, learner: LinearLearner) -> None:
    several = len(learner.classes) > 2
    for wrong, what, why in (
        (learner.form != "single", "several labels", "every label is a separate problem with its own bound"),
        (
            several and learner.scheme != "joint",
            f"multiclass={learner.scheme!r}",
            "every binary problem has its own bound",
        ),
        (model.step != "constant", f"step={model.step!r}", "its updates have different lengths"),
        (model.penalty is not None, f"penalty={model.penalty!r}", "penalised weights never stop changing"),
        (model.cost is not None, "cost", "every pair of classes requires another margin"),
        (model.batch_size != 1, f"batch_size={model.batch_size!r}", "a batch is one update"),
        (model.class_weight is not None, "class_weight", "it repeats examples, and therefore updates"),
    ):
        if wrong:
            raise ValueError(f"The mistake bound does not cover {what}: {why}.")


def _passes(model: Any, n: int) -> int:
    """How often, at most, the model met each of n examples."""
    learner, t = learner_of(model), model.t_
    fitted_once = learner.epochs == model.n_iter_ > 0 and not model.early_stopping
    if t % 1 or (fitted_once and t < learner.epochs * n and t != sum(row["examples"] for row in model.history_)):
        raise ValueError("The model was trained with sample weights, which the mistake bound does not cover.")
    if t > learner.epochs * n and (learner.epochs or t % n):
        raise ValueError(
            f"The model has seen {t:g} examples, by weight, where {learner.epochs} epochs of these {n} are "
            f"{learner.epochs * n}: it was trained on other examples, by partial_fit after fit, or with sample "
            "weights, so it is not known how often it saw each example."
        )
    return max(1, learner.epochs, math.ceil(t / n))
