"""One learner of a comparison: tuned on development examples, taught with the best setting, and then tested."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from perceptrons.selection.compared import Contender
from perceptrons.selection.metrics import Metric
from perceptrons.selection.recipe import measured
from perceptrons.selection.relatives import Learner
from perceptrons.selection.search import Setting, Watchable, best_of, try_settings
from perceptrons.selection.sizes import size_of
from perceptrons.selection.splitting import Parts, len_of

MOST_FOR_KERNEL = 20_000  # examples to learn from: time grows with their square
TAKES = 3  # of predicting, of which the shortest counts
SLOW = 1.0  # seconds: one take is enough
ASKED_AGAIN = 2000  # examples learned from, at most, on which the accuracy is measured too


class Tuned:
    """A learner with its best setting, which has learned from train and development examples."""

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
        return f"{self.learner.what}: {metric} {self.best.score:.4f} on development data, {self.tuning_seconds:.1f} s"

    def tested(self, X: Any, y: Any, metric: Metric) -> Contender:
        spent: list[float] = []
        while len(spent) < TAKES and not (spent and spent[0] > SLOW):
            began = time.perf_counter()
            predicted = np.asarray(self.model.predict(X))
            spent.append(time.perf_counter() - began)
        score, interval = measured(metric, y, predicted)
        return Contender(
            name=self.learner.name, what=self.learner.what, family=self.learner.family, score=score, interval=interval,
            dev_score=self.best.score, setting=self.best, settings_tried=len(self.settings),
            train_accuracy=self.train_accuracy, training_seconds=self.seconds, tuning_seconds=self.tuning_seconds,
            prediction_seconds=1000 * min(spent) / len_of(X), size=size_of(self.model),
            probabilistic=hasattr(self.model, "predict_proba"), notes=tuple(self.notes), model=self.model,
            predicted=predicted, right=predicted == np.asarray(y),
        )  # fmt: skip


def tune(
    learner: Learner, held: Parts, learnable: Any, metric: Metric, scaled: bool, max_seconds: float | None
) -> tuple[str, Tuned | None]:
    """The learner, tuned; or why it is left out."""
    n = len_of(learnable[0])
    if learner.name == "kernel" and n > MOST_FOR_KERNEL:
        grows = "its time grows with the square of the examples"
        return f"{grows}, and {n:,} are more than {MOST_FOR_KERNEL:,}: compare on a part of them", None
    estimator, prefix = _in_pipeline(learner.estimator) if scaled else (learner.estimator, "")
    watchable = Watchable(estimator)
    watchable.check()
    settings: list[Setting] = []
    runs = list(ParameterGrid(learner.grid or [{}]))
    began = last = time.perf_counter()
    late, longest = "", 0.0  # of a setting of a learner that cannot be stopped, and so is not begun too late
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
        return f"{max_seconds:g} seconds do not suffice for one epoch", None
    done = Tuned(learner, watchable, settings, time.perf_counter() - began, learnable)
    done.notes += [f"{late}, with setting {len(settings)} of {len(runs)}"] if late else []
    return "", done


def _too_late(max_seconds: float | None) -> str:
    return f"tuning ended when {max_seconds:g} seconds were spent"


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
