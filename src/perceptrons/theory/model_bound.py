"""Compares the updates of a fitted model with its mistake bound: perceptrons, kernel perceptrons and taggers.

A Perceptron has the bound of `bounds.py` for its start, learning rate and margin. A kernel K stands for features whose
dot products are K(x, x'); those are bounded. A tagger makes an update per sentence, and its bound is that of the
features of whole labellings (Collins 2002).
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.labels import places_of
from perceptrons.engine.training.learner import LinearLearner
from perceptrons.inspection.weights import constant_feature
from perceptrons.kernel import KernelPerceptron
from perceptrons.kernel.arrays import to_host
from perceptrons.kernel.estimator import read_to_predict
from perceptrons.linear import Perceptron
from perceptrons.sequence import SequencePerceptron
from perceptrons.sequence.estimator import tokens_to_label
from perceptrons.sequence.tokens import read_labels
from perceptrons.structured import StructuredPerceptron
from perceptrons.theory.bounds import EPS, Bound, join_bias, mistake_bound, most_updates, starting_weights
from perceptrons.theory.examples import Examples, check_examples, check_features, codes_among, known_codes
from perceptrons.theory.results import TheoryResult

MAX_KERNEL_EXAMPLES = 4000  # their kernel matrix is decomposed
MAX_NEGATIVE_EIGENVALUE = 1e-9  # relative to the largest; more is not rounding
SAFETY_FACTOR = 1 + 1e-9  # for the rounding of sums and decompositions


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
        verdict = "as the theory says"
        if not self.holds:
            verdict = "more than the theory allows, so these are not the training examples"
        updates = f"{self.updates:,} updates made, at most {self.at_most:,} possible ({self.ratio:.2%})"
        return f"{updates}, {verdict}. {self.bound.explain()}"


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
        n_updates = int(model.n_updates_)  # raises NotFittedError
        if isinstance(model, StructuredPerceptron):
            raise ValueError(
                "The mistake bound needs the margin over all outputs, and those of a StructuredPerceptron only its "
                "decode knows: compute R and gamma by hand, then (R / gamma)^2."
            )
        if isinstance(model, KernelPerceptron):
            bound = _kernel_bound(model, X, y, max_seconds)
            return Comparison(n_updates, math.floor(bound.updates * SAFETY_FACTOR), bound)
        bound = _tagger_bound(model, X, y, lengths)
        return Comparison(n_updates, bound.updates, bound)
    examples = check_examples(X, y)
    if isinstance(model, Perceptron):
        check_features(model, X)
        classes = learner_of(model).classes
        if sorted(classes.tolist()) == examples.classes.tolist():  # the user may have given them in another order
            codes = places_of(examples.classes, classes)[examples.codes]
            examples = examples._replace(classes=classes, codes=codes)
    start, epochs = _covered_start(model, examples, coef_init, intercept_init)
    bound = mistake_bound(
        examples.X, examples.codes, epochs=epochs, fit_intercept=bool(model.fit_intercept),
        intercept_scaling=constant_of(model), max_seconds=max_seconds,
    )  # fmt: skip
    at_most = most_updates(bound, start, float(model.eta0), float(model.margin_))
    return Comparison(int(model.n_updates_), at_most, bound)


# ---- linear models


def _covered_start(model: Any, examples: Examples, coef_init: Any, intercept_init: Any) -> tuple[np.ndarray, int]:
    """Return the initial weights of a fitted model and its passes, or raise an error if the bound does not cover it."""
    if not isinstance(model, Perceptron):
        raise TypeError(f"The bound applies to a perceptrons.Perceptron, not to a {type(model).__name__}.")
    learner = learner_of(model)
    check_covered(model, learner)
    if learner.classes.tolist() != examples.classes.tolist():
        raise ValueError(
            f"The model knows the classes {learner.classes[:10].tolist()}, but y has "
            f"{examples.classes[:10].tolist()}: give the examples that the model was trained on."
        )
    epochs = _passes(model, len(examples.codes))
    if coef_init is None and intercept_init is None and learner.votes is not None:
        w, b = learner.weights.start()
        return join_bias(w, b, constant_of(model)), epochs
    init = model.init if coef_init is None or intercept_init is None else "zeros"
    fitted_once = learner.epochs == model.n_iter_ > 0 and learner.weights.t <= learner.epochs * len(examples.codes)
    if init != "zeros" and not fitted_once:
        raise ValueError(
            f"The start, init={init!r}, is known only for a model that was fitted once: this one was trained "
            "further, and may have new classes or features. Use init='zeros' or combine='vote', which keeps the start."
        )
    start = starting_weights(
        model, examples, learner.weights.dtype, learner.seed, constant_of(model), coef_init, intercept_init
    )
    return start, epochs


def constant_of(model: Perceptron) -> float:
    """Return the constant feature of a fitted model's bias; 1 if it has none."""
    return constant_feature(model) or 1.0


def check_covered(model: Perceptron, learner: LinearLearner) -> None:
    """Raise ValueError for parameters that the mistake bound does not cover."""
    several = len(learner.classes) > 2
    _refuse(
        (learner.form != "single", "several labels", "every label is a separate problem with its own bound"),
        (several and learner.scheme != "joint", f"multiclass={learner.scheme!r}",
         "every binary problem has its own bound"),
        (model.step != "constant", f"step={model.step!r}", "its updates have different lengths"),
        (model.penalty is not None, f"penalty={model.penalty!r}", "penalised weights never stop changing"),
        (model.cost is not None, "cost", "every pair of classes requires another margin"),
        (model.batch_size != 1, f"batch_size={model.batch_size!r}", "a batch is one update"),
        (model.class_weight is not None, "class_weight", "it repeats examples, and therefore updates"),
    )  # fmt: skip


def _refuse(*requirements: tuple[bool, str, str]) -> None:
    """Raise ValueError for the first requirement that is violated; each has the parameter and the reason."""
    for is_violated, parameter, reason in requirements:
        if is_violated:
            raise ValueError(f"The mistake bound does not cover {parameter}: {reason}.")


def _passes(model: Any, n: int) -> int:
    """Return how often, at most, the model visited each of n examples."""
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


# ---- kernel models


def _kernel_bound(model: KernelPerceptron, X: Any, y: Any, max_seconds: float | None) -> Bound:
    """Return the bound in the feature space of the kernel, without a bias: R^2 is the largest K(x, x)."""
    learner, n = learner_of(model), int(X.shape[0]) if hasattr(X, "shape") else len(X)
    _refuse(
        (len(learner.classes) > 2 and model.multiclass != "joint", f"multiclass={model.multiclass!r}",
         "every binary problem has a bound of its own"),
        (model.budget is not None, f"budget={model.budget}", "what is removed may have to be learned again"),
        (model.class_weight is not None, "class_weight", "it repeats examples, and so their updates"),
    )  # fmt: skip
    epochs = _passes(model, n)
    if n > MAX_KERNEL_EXAMPLES:
        raise ValueError(
            f"X has {n:,} examples: the bound of a kernel is computed for at most {MAX_KERNEL_EXAMPLES:,}."
        )
    points = learner.kernel.points(read_to_predict(model, X))
    K = np.asarray(to_host(X if model.kernel == "precomputed" else learner.kernel(points, points)), np.float64)
    features, codes = _features_of_kernel(K, model.kernel), codes_among(y, n, learner.classes)
    return mistake_bound(features, codes, epochs=epochs, fit_intercept=False, max_seconds=max_seconds)


def _features_of_kernel(K: np.ndarray, name: Any) -> np.ndarray:
    """Return features whose dot products are these kernel values; ValueError if there are none."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    if values.min() < -MAX_NEGATIVE_EIGENVALUE * max(float(np.abs(values).max()), 1e-300):
        raise ValueError(
            f"The mistake bound does not cover kernel={name!r} here: its matrix is not positive definite (the smallest "
            f"eigenvalue is {values.min():.3g}), so that no features stand behind it."
        )
    is_significant = values > 16 * len(K) * EPS * values.max()  # rounding makes no features that separate anything
    return vectors[:, is_significant] * np.sqrt(values[is_significant])


# ---- taggers


def _tagger_bound(model: SequencePerceptron, X: Any, y: Any, lengths: Any) -> Bound:
    """Return the bound for u, the model's last weights with norm 1; any u gives a valid bound.

    The margin of a sequence is the lead of its true labelling over every other one. R is an upper bound of all
    |f(x, y) - f(x, y')|.
    """
    _refuse(
        (model.step != "constant", f"step={model.step!r}", "its steps are of many lengths"),
        (model.cost is not None, f"cost={model.cost!r}", "every labelling demands another margin"),
    )
    learner = learner_of(model)
    tokens, is_flat = tokens_to_label(model, X, lengths)
    epochs = _passes(model, len(tokens.starts) - 1)
    target = read_labels(y, tokens.starts, by_sequence=not is_flat)
    codes = known_codes(target, learner.classes)
    if (codes < 0).any():
        label = target.classes.tolist()[target.codes[int(np.argmax(codes < 0))]]
        raise ValueError(f"y has the label {label!r}, which the tagger does not know: give what it learned from.")
    margins, R, coef, arcs = _sequence_margins(model, tokens, codes)
    n = len(margins)
    required_margin = 2 * float(model.margin or 0.0) / float(model.eta0)
    reach = math.sqrt(R**2 + required_margin)
    separable = True if n and (margins > 0).all() else None
    bounds = [(float(epochs * n), 1.0, 0.0)]  # updates, gamma, D
    for gamma in np.unique(margins[margins > 0]).tolist():
        D = float(np.linalg.norm(np.maximum(0.0, gamma - margins)))
        bounds.append((((reach + math.sqrt(epochs) * D) / gamma) ** 2, gamma, D))
    limit, gamma, D = min(bounds, key=lambda bound: bound[0])
    updates = math.floor(limit * SAFETY_FACTOR)
    any_epochs = None if D == 0 and updates < epochs * n else epochs
    return Bound(updates, R, gamma, D, separable, any_epochs, coef, arcs, n)


def _sequence_margins(
    model: SequencePerceptron, tokens: Any, y: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """Return the lead of every true labelling, rounded down, R, rounded up, and the last weights with norm 1."""
    learner, starts = learner_of(model), tokens.starts
    coef, arcs = np.asarray(model.coef_last_, np.float64), np.asarray(learner.predicting("last")[1], np.float64)
    norm = math.sqrt(float((coef**2).sum() + (arcs**2).sum())) or 1.0
    s = learner.scores_through(tokens, "last", learner.limits(model, stream=True).barrier)
    values = np.asarray(tokens.rows.values, np.float64)
    shape = (len(tokens.rows.starts) - 1, coef.shape[1])
    rows = sp.csr_matrix((values, tokens.rows.columns, tokens.rows.starts), shape=shape)
    true_scores = np.asarray(rows.multiply(sp.csr_matrix(coef[y])).sum(axis=1)).ravel() if len(y) else np.zeros(0)
    token_norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rivals = s.copy()
    rivals[np.arange(len(y)), y] = -np.inf
    eps = float(np.finfo(learner.dtype).eps)
    margins, largest = [], 0.0
    for begin, end in pairwise(starts.tolist()):
        if begin == end:
            continue  # there is nothing to label
        labels, scores = y[begin:end], s[begin:end]
        steps = [arcs[-1, labels[0]], *arcs[labels[:-1], labels[1:]].tolist(), arcs[labels[-1], -1]]
        score = float(true_scores[begin:end].sum() + sum(steps))
        rounding = 8 * (end - begin + 2) * eps * (abs(score) + float(np.abs(scores[np.isfinite(scores)]).max()))
        margins.append(score - float(rivals[begin:end].max()) - rounding)
        square = 2 * float(token_norms[begin:end].sum()) ** 2  # of the distance to the features of another labelling
        if model.transitions:
            counts = np.bincount(labels[:-1] * len(learner.classes) + labels[1:]).astype(np.float64)
            square += (float(np.sqrt((counts**2).sum())) + (end - begin - 1)) ** 2
        largest = max(largest, square + 4.0 * bool(model.start_stop))
    finite = np.array(margins)[np.isfinite(margins)]
    return finite / (norm * SAFETY_FACTOR), math.sqrt(largest) * SAFETY_FACTOR, coef / norm, arcs / norm
