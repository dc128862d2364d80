"""The mistake bound of kernel models, by the features that their kernel stands for, and of taggers, by their chain."""

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.base import learner_of
from perceptrons.kernel import KernelPerceptron
from perceptrons.kernel.arrays import to_host
from perceptrons.kernel.estimator import read_to_predict
from perceptrons.sequence import SequencePerceptron
from perceptrons.sequence.estimator import tokens_to_label
from perceptrons.sequence.tokens import read_labels
from perceptrons.theory.bounds import EPS, Bound, mistake_bound
from perceptrons.theory.examples import codes_among

MOST = 4000  # examples of a kernel: its matrix is decomposed
ROUNDING = 1e-9  # of the largest eigenvalue, below 0: more is no rounding
SAFE = 1 + 1e-9  # for the rounding of the decomposition


def kernel_bound(model: KernelPerceptron, X: Any, y: Any, epochs: int, max_seconds: float | None) -> Bound:
    """The bound in the space of the kernel: R^2 = max K(x, x), and the largest margin there; without a bias.

    The kernel matrix of n examples is that of their dot products for some n features: those are bounded.
    """
    K, codes = gram(model, X), codes_among(y, _n(X), learner_of(model).classes)
    return mistake_bound(
        features_of(K, model.kernel), codes, epochs=epochs, fit_intercept=False, max_seconds=max_seconds
    )


def gram(model: KernelPerceptron, X: Any) -> np.ndarray:
    """The kernel values of all examples with each other."""
    if _n(X) > MOST:
        raise ValueError(f"X has {_n(X):,} examples: the bound of a kernel is computed for at most {MOST:,}.")
    points = learner_of(model).kernel.points(read_to_predict(model, X))
    if model.kernel == "precomputed":
        return np.asarray(to_host(X), np.float64)
    return np.asarray(to_host(learner_of(model).kernel(points, points)), np.float64)


def features_of(K: np.ndarray, name: Any) -> np.ndarray:
    """Features whose dot products are these kernel values; ValueError if there are none."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    if values.min() < -ROUNDING * max(float(np.abs(values).max()), 1e-300):
        raise ValueError(
            f"The mistake bound does not cover kernel={name!r} here: its matrix is not positive definite (the smallest "
            f"eigenvalue is {values.min():.3g}), so that no features stand behind it."
        )
    there = values > 16 * len(K) * EPS * values.max()  # less is rounding: no features that separate anything
    return vectors[:, there] * np.sqrt(values[there])


def refuse_kernel(model: KernelPerceptron) -> None:
    """Raise ValueError for what the theorem does not cover."""
    several = len(learner_of(model).classes) > 2
    for wrong, what, why in (
        (several and model.multiclass != "joint", f"multiclass={model.multiclass!r}",
         "every binary problem has a bound of its own"),
        (model.budget is not None, f"budget={model.budget}", "what is removed may have to be learned again"),
        (model.class_weight is not None, "class_weight", "it repeats examples, and so their updates"),
    ):  # fmt: skip
        if wrong:
            raise ValueError(f"The mistake bound does not cover {what}: {why}.")


def refuse_tagger(model: SequencePerceptron) -> None:
    """Raise ValueError for what the theorem does not cover."""
    for wrong, what, why in (
        (model.step != "constant", f"step={model.step!r}", "its steps are of many lengths"),
        (model.cost is not None, f"cost={model.cost!r}", "every labelling demands another margin"),
    ):
        if wrong:
            raise ValueError(f"The mistake bound does not cover {what}: {why}.")


def chain_bound(model: SequencePerceptron, X: Any, y: Any, lengths: Any, epochs: int) -> Bound:
    """The bound of a tagger (Collins 2002): R is the largest |f(x, y) - f(x, y')|, and u are the model's last weights.

    Any u gives a bound; the theorem does not ask for the best. The margin of a sequence is the lead of its true
    labelling over every other one, by u of norm 1. R is estimated from above: no labelling is further away.
    """
    learner = learner_of(model)
    tokens, flat = tokens_to_label(model, X, lengths)
    target = read_labels(y, tokens.starts, by_sequence=not flat)
    codes = _known(target, learner.classes)
    margins, coef, arcs = _margins(model, tokens, codes)
    radius = _radius(model, tokens, codes)
    demanded = 2 * float(model.margin or 0.0) / float(model.eta0)
    reach, n = math.sqrt(radius**2 + demanded), len(margins)
    best = (float(epochs * n), 1.0, 0.0)
    for gamma in np.unique(margins[margins > 0]).tolist():
        D = float(np.sqrt((np.maximum(0.0, gamma - margins) ** 2).sum()))
        k = ((reach + math.sqrt(epochs) * D) / gamma) ** 2
        if k < best[0]:
            best = (k, gamma, D)
    separable = True if n and (margins > 0).all() else None
    if separable:  # then the bound does not depend on the epochs
        k = (reach / float(margins.min())) ** 2
        best = (k, float(margins.min()), 0.0) if k <= best[0] else best
    updates, gamma, D = math.floor(best[0] * SAFE), best[1], best[2]
    any_epochs = None if D == 0 and updates < epochs * n else epochs
    return Bound(updates, radius, gamma, D, separable, any_epochs, coef, arcs, n)


def _known(target: Any, classes: np.ndarray) -> np.ndarray:
    known = {label: number for number, label in enumerate(classes.tolist())}
    codes = np.array([known.get(label, -1) for label in target.classes.tolist()], np.intp)
    if (codes < 0).any():
        label = target.classes.tolist()[int(np.argmax(codes < 0))]
        raise ValueError(f"y has the label {label!r}, which the tagger does not know: give what it learned from.")
    return codes[target.codes]


def _margins(model: SequencePerceptron, tokens: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The lead of every true labelling, by the last weights as a vector of norm 1; and those weights."""
    learner = learner_of(model)
    coef, arcs = np.asarray(model.coef_last_, np.float64), np.asarray(learner.predicting("last")[1], np.float64)
    size = math.sqrt(float((coef**2).sum() + (arcs**2).sum())) or 1.0
    s = learner.best_through(tokens, "last", learner.limits(model, stream=True).barrier)
    rows, starts = _matrix(tokens, coef.shape[1]), tokens.starts
    own = np.asarray(rows.multiply(sp.csr_matrix(coef[y])).sum(axis=1)).ravel() if len(y) else np.zeros(0)
    rivals = s.copy()
    rivals[np.arange(len(y)), y] = -np.inf
    eps = float(np.finfo(learner.dtype).eps)
    found = np.empty(len(starts) - 1)
    for i, (begin, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        if begin == end:
            found[i] = np.inf  # nothing to label
            continue
        labels = y[begin:end]
        steps = [arcs[-1, labels[0]], *arcs[labels[:-1], labels[1:]].tolist(), arcs[labels[-1], -1]]
        score = float(own[begin:end].sum() + sum(steps))
        rounding = (
            8 * (end - begin + 2) * eps * (abs(score) + float(np.abs(s[begin:end][np.isfinite(s[begin:end])]).max()))
        )
        found[i] = score - float(rivals[begin:end].max()) - rounding
    found = found[np.isfinite(found)]
    return found / (size * SAFE), coef / size, arcs / size


def _radius(model: SequencePerceptron, tokens: Any, y: np.ndarray) -> float:
    """No two labellings of a sequence differ by more than this in their features."""
    learner, starts = learner_of(model), tokens.starts
    rows = _matrix(tokens, learner.n_features)
    norms, largest = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel()), 0.0
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if begin == end:
            continue
        labels, n_labels = y[begin:end], len(learner.classes)
        square = 2 * float(norms[begin:end].sum()) ** 2
        if model.transitions:
            counts = np.bincount(labels[:-1] * n_labels + labels[1:]).astype(np.float64)
            square += (float(np.sqrt((counts**2).sum())) + (end - begin - 1)) ** 2
        square += 4.0 * bool(model.start_stop)
        largest = max(largest, square)
    return math.sqrt(largest) * SAFE


def _matrix(tokens: Any, n_features: int) -> Any:
    rows = tokens.rows
    shape = (len(rows.starts) - 1, n_features)
    return sp.csr_matrix((np.asarray(rows.values, np.float64), rows.columns, rows.starts), shape=shape)


def _n(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
