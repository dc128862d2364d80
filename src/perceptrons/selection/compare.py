"""Compares variants of the perceptron with other linear models: same split, same tuning, one test."""

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from perceptrons.selection.comparison import Compared, Contender
from perceptrons.selection.learners import LEARNERS, Learner, learners_for, mean_square, size_of
from perceptrons.selection.seal import seal
from perceptrons.selection.search import Setting, Watchable, best_of, try_settings
from perceptrons.selection.splitting import Part, Parts, SplitMethod, check_labels_meet, len_of, parts_of
from perceptrons.selection.statistics import Metric, measured
from perceptrons.theory.examples import check_rows
from perceptrons.theory.scales import uneven

FAR_OFF = 1e8  # a mean |x|^2 of which, or 1 over it, asks for standardising
MOST_FOR_KERNEL = 20_000  # examples to learn from: time grows with their square
TAKES = 3  # of predicting, of which the shortest counts
SLOW = 1.0  # seconds: one take is enough
ASKED_AGAIN = 2000  # examples learned from, at most, on which the accuracy is measured too


def compare(
    X: Any,
    y: Any,
    *,
    dev: Any = 0.2,
    test: Any = 0.2,
    split: SplitMethod | None = None,
    groups: Any = None,
    keys: Any = None,
    random_state: Any = 0,
    learners: Iterable[Any] | None = None,
    metric: str | Callable[[Any, Any], float] = "accuracy",
    scale: Any = "auto",
    force: bool = False,
    ledger: "str | os.PathLike[str] | None" = None,
    max_seconds: float | None = None,
    tell: Callable[[str], None] | None = None,
) -> Compared:
    """Compare variants of the perceptron with other linear models: same split, same tuning, one test.

    Each learner tries at most five settings on the same validation set, all relative to the scale of the data. The
    number of epochs is found in the same runs. Then each learner is trained on the training and validation sets
    together, and all are tested in one use of the test set.

    Use it to see which kind of learner suits your data, and at what cost. Do not use it to get a model (`recipe` tunes
    one more finely), for several labels per example, or for sequences.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The examples. Dense data with different scales are standardised.
    y : array of shape (n_samples,)
    dev, test : float, or tuple of X and y, default=0.2
        The shares of the validation and test sets, or separate data for them.
    split : {"stratified", "grouped", "time"}, optional
        See `parts_of`.
    groups : array, optional
        The group of every example; groups are never divided.
    keys : array, optional
        See `parts_of`.
    random_state : int, RandomState or None, default=0
        The seed of the split and, if it is an int, of the learners.
    learners : list, optional
        The learners to compare: names of `LEARNERS`, and your own tuples (name, estimator, grid). Learners that fail
        are left out, with the reason.
    metric : str or function of true and predicted labels, default="accuracy"
        The metric to choose settings by and to rank learners by. Differences in accuracy are tested with McNemar's
        test, others with a permutation test.
    scale : {"auto", True, False}, default="auto"
        Whether to standardise dense data for all learners. "auto": if the largest values of features differ by more
        than a factor of 30, or all are very large or small. Means and deviations are those of the training data. Sparse
        data do not change.
    force : bool, default=False
        Whether to use a test set that was used before; the result says so. Repeating the same call is always allowed.
    ledger : path, optional
        A file that records uses of test sets across processes; otherwise they are recorded for this process only.
    max_seconds : float, optional
        The time limit for tuning each learner. Further settings are not tried, and a perceptron that completes no epoch
        is left out; the result says so. Other learners cannot be stopped: they try one setting in any case, and more
        while time is left.
    tell : function, optional
        A function that gets one line per learner about its result on the validation set, to show progress.

    Returns
    -------
    Compared

    Examples
    --------
    >>> from perceptrons.selection import compare
    >>> from sklearn.datasets import load_iris
    >>> found = compare(*load_iris(return_X_y=True), learners=["average", "kernel", "logistic"])
    >>> sorted(row.name for row in found.rows), found.looks
    (['average', 'kernel', 'logistic'], 1)
    >>> print(found.to_markdown().splitlines()[0])
    | learner | family | accuracy | 95% interval | p | trained in s | 1,000 predictions in s | kB | probabilities |
    """
    figure = Metric(metric)
    if scale not in ("auto", True, False):
        raise ValueError(f"scale={scale!r}: give 'auto', True or False.")
    if max_seconds is not None and not max_seconds > 0:
        raise ValueError(f"max_seconds={max_seconds!r}: give a number above 0, or None.")
    X, y = _examples(X, y, "")
    dev, test = (_given(part, name, X.shape[1]) for part, name in ((dev, "dev"), (test, "test")))
    parts = parts_of(X, y, dev=dev, test=test, split=split, groups=groups, keys=keys, random_state=random_state)
    if parts.test is None:
        raise ValueError("test=0 leaves no test set to compare on: give a share between 0 and 1, or data (X, y).")
    check_labels_meet(parts)
    settings = {"learners": learners, "metric": metric, "scale": scale, "max_seconds": max_seconds}
    sealed, _ = seal(parts, parts.test, ledger, force, what="compare", random_state=random_state, **settings)
    held = Parts(Part(*parts.train.taken()), Part(*parts.dev.taken()), None, parts.how)
    train, y_train = held.train.taken()
    if len(np.unique(y_train)) < 2:
        raise ValueError("The training set has only one class: it needs two or more.")
    scaled = _scaled(train, scale)
    seed = random_state if isinstance(random_state, int) else 0
    asked = learners_for(StandardScaler().fit_transform(train) if scaled else train, learners, seed)
    learnable = parts.learnable().taken()
    tuned: list[Tuned] = []
    left_out: dict[str, str] = {}
    for learner in asked:
        reason, one = _tune_or_say_why(learner, held, learnable, figure, scaled, max_seconds)
        if one is None:
            left_out[learner.name] = reason
        else:
            tuned.append(one)
        if tell is not None:
            tell(f"{learner.what}: left out: {reason}" if one is None else one.line(figure.name))
    if not tuned:
        raise ValueError(f"No learner is left to compare: {'; '.join(f'{n}: {r}' for n, r in left_out.items())}.")
    X_test, y_test = sealed.open()
    rows = [one.tested(X_test, y_test, figure) for one in tuned]
    sizes = {"train": len(parts.train), "dev": len(parts.dev), "test": sealed.n}
    return Compared(
        rows, left_out, np.asarray(y_test), parts, sizes, figure, scaled, sealed.looks, X.shape[1], sealed.rerun
    )


def _tune_or_say_why(learner: Learner, *given: Any) -> tuple[str, "Tuned | None"]:
    """`tune`; a learner of the caller's own that fails is left out."""
    try:
        return tune(learner, *given)
    except Exception as error:
        if learner.name in LEARNERS:
            raise
        return f"it failed with {type(error).__name__}: {error}", None


def _scaled(train: Any, scale: Any) -> bool:
    if sp.issparse(train):
        if scale is True:
            raise ValueError("scale=True: sparse data cannot be standardised, because their zeros would be lost.")
        return False
    if scale != "auto":
        return bool(scale)
    return uneven(train) or not 1 / FAR_OFF < mean_square(train) < FAR_OFF


def _examples(X: Any, y: Any, where: str) -> tuple[Any, np.ndarray]:
    """Numbers and one label each, as all learners take them."""
    if isinstance(X, list | tuple) and len(X) and isinstance(X[0], str):
        raise ValueError(f"{where}X contains texts: convert them to features first, with HashedText or a vectorizer.")
    X = check_rows(X)
    if sp.issparse(X) and X.nnz < 2**31 and X.shape[1] < 2**31:  # liblinear reads no others
        X = sp.csr_matrix((X.data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32)), shape=X.shape)
    if sp.issparse(y) or (isinstance(y, list | tuple) and any(isinstance(one, list | tuple | set) for one in y)):
        raise ValueError(f"{where}y has several labels per example: compare takes one label per example.")
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"{where}y has {y.ndim} dimensions: compare takes one label per example.")
    if y.dtype.kind == "f" and not np.array_equal(y, np.round(y)):
        raise ValueError(f"{where}y contains fractions or missing values: compare takes classes.")
    return X, y


def _given(part: Any, name: str, n_features: int) -> Any:
    if not isinstance(part, tuple) or len(part) != 2:
        return part
    X, y = _examples(*part, f"{name}: ")
    if X.shape[1] != n_features:
        raise ValueError(f"{name} has {X.shape[1]:,} features, but X has {n_features:,}: give the same features.")
    return X, y


class Tuned:
    """A learner with its best setting, trained on the training and validation sets."""

    def __init__(self, learner: Learner, watchable: Watchable, settings: list[Setting], seconds: float, learnable: Any):
        self.learner, self.settings, self.tuning_seconds = learner, settings, seconds
        self.best, self.notes = best_of(settings), list[str]()
        self.model = watchable.final(self.best.params, self.best.epochs)
        began = time.perf_counter()
        with _convergence_noted() as complaints:
            self.model.fit(*learnable)
        self.seconds = time.perf_counter() - began
        if complaints:
            most = getattr(self.model[-1] if isinstance(self.model, Pipeline) else self.model, "max_iter", None)
            self.notes.append("did not converge" if most is None else f"did not converge in {most:,} iterations")
        some = np.unique(np.linspace(0, len_of(learnable[0]) - 1, ASKED_AGAIN).astype(int))
        self.train_accuracy = float(np.mean(self.model.predict(learnable[0][some]) == learnable[1][some]))

    def line(self, metric: str) -> str:
        return f"{self.learner.what}: {metric} {self.best.score:.4f} on the validation set, {self.tuning_seconds:.1f} s"

    def tested(self, X: Any, y: Any, metric: Metric) -> Contender:
        spent: list[float] = []
        while len(spent) < TAKES and not (spent and spent[0] > SLOW):
            began = time.perf_counter()
            predicted = np.asarray(self.model.predict(X))
            spent.append(time.perf_counter() - began)
        compared, answers = metric.asked(self.model, X, y, predicted)
        score, interval = measured(metric, compared, answers)
        return Contender(
            name=self.learner.name, what=self.learner.what, family=self.learner.family, score=score, interval=interval,
            dev_score=self.best.score, setting=self.best, settings_tried=len(self.settings),
            train_accuracy=self.train_accuracy, training_seconds=self.seconds, tuning_seconds=self.tuning_seconds,
            prediction_seconds=1000 * min(spent) / len_of(X), size=size_of(self.model),
            probabilistic=hasattr(self.model, "predict_proba"), notes=tuple(self.notes), model=self.model,
            predicted=predicted, right=predicted == np.asarray(y), compared=compared, answers=metric.swappable(answers),
        )  # fmt: skip


def tune(
    learner: Learner, held: Parts, learnable: Any, metric: Metric, scaled: bool, max_seconds: float | None
) -> tuple[str, Tuned | None]:
    """The learner, tuned; or why it is left out."""
    n = len_of(learnable[0])
    if learner.name == "kernel" and n > MOST_FOR_KERNEL:
        grows = "its time grows with the square of the number of examples"
        return f"{grows}, and {n:,} are more than {MOST_FOR_KERNEL:,}: compare on a subset", None
    estimator, prefix = _in_pipeline(learner.estimator) if scaled else (learner.estimator, "")
    watchable = Watchable(estimator)
    watchable.check()
    settings: list[Setting] = []
    runs = list(ParameterGrid(learner.grid or [{}]))
    began = last = time.perf_counter()
    late, longest = "", 0.0  # seconds of a setting, if the learner cannot be stopped: none starts too late
    for params in runs:
        now = time.perf_counter()
        longest, last = 0.0 if watchable.watched else max(longest, now - last), now
        left = None if max_seconds is None else max_seconds - (now - began)
        if settings and left is not None and left <= longest:
            late = _too_late(max_seconds)
            break
        named = {prefix + name: [value] for name, value in params.items()}
        timed = _limited(watchable, left)
        with _convergence_noted():
            found = try_settings(Watchable(timed), held, named, metric, None, lambda setting: None)
        if found[0].stop_reason == "max_seconds" and watchable.last.max_seconds is None:
            late, found = _too_late(max_seconds), _whole_epochs(found[0])
        settings += found
        if late:
            break
    if not settings:
        return f"{max_seconds:g} seconds are not enough for one epoch", None
    done = Tuned(learner, watchable, settings, time.perf_counter() - began, learnable)
    done.notes += [f"{late}, with setting {len(settings)} of {len(runs)}"] if late else []
    return "", done


def _too_late(max_seconds: float | None) -> str:
    return f"tuning ended at the time limit of {max_seconds:g} seconds"


def _whole_epochs(setting: Setting) -> list[Setting]:
    """The setting as far as its epochs were whole, if any was: time was spent in the last one."""
    curve = setting.curve[:-1]
    return [replace(setting, curve=curve, score=max(curve), epochs=1 + curve.index(max(curve)))] if curve else []


def _in_pipeline(estimator: Any) -> tuple[Pipeline, str]:
    """The estimator after standardising, and how its parameters are called there."""
    first = ("scaled", StandardScaler())
    if isinstance(estimator, Pipeline):
        return Pipeline([first, *estimator.steps]), ""
    return Pipeline([first, ("learner", estimator)]), "learner__"


def _limited(watchable: Watchable, left: float | None) -> BaseEstimator:
    """The estimator, which stops by itself when the time is spent, if it is one of this library."""
    if left is None or not watchable.watched or watchable.last.max_seconds is not None:
        return watchable.estimator
    return clone(watchable.estimator).set_params(**{f"{watchable.prefix}max_seconds": max(left, 1e-9)})


@contextmanager
def _convergence_noted() -> Iterator[list[str]]:
    """What learners say of not converging is no warning, but listed; other warnings stay what they are."""
    complaints: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield complaints
    for one in caught:
        if issubclass(one.category, ConvergenceWarning):
            complaints.append(str(one.message))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
