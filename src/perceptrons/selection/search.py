"""Tries settings on a validation set or on folds: every setting is trained once, and one run finds its epochs."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from perceptrons.data.splitting import Folds, Part, Parts, at, folds_of
from perceptrons.engine.training.base import Estimator, watched
from perceptrons.engine.wording import count
from perceptrons.inspection.evaluation import Quality, measure, predicted_with_scores
from perceptrons.selection.learners import usual_grid
from perceptrons.selection.statistics import Metric

EPOCHS = "max_iter"
MAX_VALUE_CHARACTERS = 40  # of a parameter in words


@dataclass(frozen=True)
class Setting:
    """A setting that was tried.

    Attributes
    ----------
    params : dict
        As in the grid, without the number of epochs.
    epochs : int or None
        The best number of epochs on the validation set, the smallest if several are best; None if the estimator cannot
        be scored after every epoch.
    score : float
        The validation score after this many epochs.
    curve : tuple of float
        The validation score after every epoch.
    seconds : float
        The training time.
    stop_reason : str or None
        Why that run ended.
    folds : tuple of float
        The score on each fold, of which `score` is the mean, if settings were chosen by cross-validation.
    """

    params: dict[str, Any]
    epochs: int | None
    score: float
    curve: tuple[float, ...]
    seconds: float
    stop_reason: str | None
    folds: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**self.__dict__, "params": {name: plain(value) for name, value in self.params.items()}}

    def describe(self) -> str:
        """Return the parameters, without the steps of pipelines, and the epochs: "step=pa1, C=0.1, 4 epochs"."""
        parts = [f"{name.rpartition('__')[2]}={_describe_value(value)}" for name, value in self.params.items()]
        if self.epochs is not None:
            parts.append(count(self.epochs, "epoch"))
        return ", ".join(parts) or "as given"


class Candidate:
    """The estimator to tune, perhaps at the end of a pipeline, and whether its epochs can be tuned in one run."""

    def __init__(self, estimator: BaseEstimator):
        self.estimator = estimator
        self.last, self.prefix = last_step(estimator)
        self.tunes_epochs = isinstance(self.last, Estimator)
        self.epochs_parameter = self.prefix + EPOCHS

    def check(self) -> None:
        if self.tunes_epochs and self.last.early_stopping:
            raise ValueError(
                "early_stopping=True would hold out examples a second time: the recipe finds the number of epochs on "
                "the validation set. Use early_stopping=False."
            )

    def usual_grid(self, grid: str, train: Part) -> list[dict[str, Any]]:
        """Return the usual grid of the last step, for the features that it learns from."""
        if grid != "usual":
            raise ValueError(
                f"grid={grid!r}: give a dict with a list of values per parameter, a list of such dicts, or 'usual'."
            )
        (X,) = transform_by_earlier_steps(clone(self.estimator), *train.taken())
        return [{self.prefix + name: values for name, values in part.items()} for part in usual_grid(self.last, X)]

    def with_params(self, params: dict[str, Any]) -> BaseEstimator:
        """Return an untrained estimator; estimators among the values are copied."""
        values = {name: clone(value, safe=False) for name, value in params.items()}
        return clone(self.estimator).set_params(**values)

    def final(self, setting: Setting) -> BaseEstimator:
        """Return an untrained estimator with this setting, which makes exactly its number of epochs."""
        model = self.with_params(setting.params)
        if setting.epochs is not None:
            model.set_params(**{self.epochs_parameter: setting.epochs, self.prefix + "tol": None})
        return model


def transform_by_earlier_steps(estimator: BaseEstimator, X: Any, y: Any, *others: Any) -> list[Any]:
    """Fit the steps before the last to X and y, also those of nested pipelines. Return X and others, transformed."""
    transformed = list(others)
    while isinstance(estimator, Pipeline):
        if len(estimator.steps) > 1:
            X = estimator[:-1].fit_transform(X, y)
        # one by one: a pipeline refuses steps that do not show that they are fitted
        for _, step in estimator.steps[:-1]:
            if step is not None and step != "passthrough":
                transformed = [step.transform(other) for other in transformed]
        estimator = estimator.steps[-1][1]
    return [X, *transformed]


def last_step(estimator: Any) -> tuple[Any, str]:
    """Return the last step of a pipeline, also of nested ones, and the prefix of its parameters."""
    prefix = ""
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    return estimator, prefix


def try_settings(
    candidate: Candidate, parts: Parts, grid: Any, metric: Metric, n_jobs: int | None = None,
    on_setting: Callable[[Setting], None] | None = None,
) -> list[Setting]:  # fmt: skip
    """Return all settings of the grid, in its order. on_setting is called with each one when it was tried."""
    runs = _runs(candidate, grid)
    (X, y), (X_dev, y_dev) = parts.train.taken(), parts.dev.taken()
    # Runs with the same values for the earlier steps share these steps. Values are compared by identity, because arrays
    # and estimators may look alike and be different.
    groups: dict[Any, list[int]] = {}
    for place, run in enumerate(runs):
        earlier = (item for item in run[0].items() if not item[0].startswith(candidate.prefix))
        groups.setdefault(frozenset((name, id(value)) for name, value in earlier), []).append(place)
    results: dict[int, list[Setting]] = {}

    def try_run(place: int, train: Any, dev: Any) -> None:
        results[place] = _try_run(candidate, *runs[place], train, dev, metric)
        for setting in results[place]:
            if on_setting is not None:
                on_setting(setting)

    for places in groups.values():
        inputs = [X, X_dev]
        if candidate.tunes_epochs:
            inputs = transform_by_earlier_steps(candidate.with_params(runs[places[0]][0]), X, y, X_dev)
        train, dev = zip(inputs, (y, y_dev), strict=True)
        Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(try_run)(place, train, dev) for place in places)
    return [setting for place in range(len(runs)) for setting in results[place]]


def best_of(settings: Iterable[Setting]) -> Setting:
    """Return the setting with the highest score, the first one of equals."""
    return max(settings, key=lambda setting: setting.score)


def _runs(candidate: Candidate, grid: Any) -> list[tuple[dict[str, Any], list[int]]]:
    """Return the parameters of all training runs of a grid, checked before the first one starts.

    With them are the numbers of epochs that the grid names; without any, all epochs are evaluated.
    """
    runs = []
    for part in [grid] if isinstance(grid, Mapping) else list(grid or [{}]):
        if not isinstance(part, Mapping):
            raise ValueError(f"grid: {part!r} is not a dict with a list of values per parameter.")
        values = dict(part)
        epochs = values.pop(candidate.epochs_parameter, None) if candidate.tunes_epochs else None
        epochs = [] if epochs is None else _check_epochs(epochs)
        for params in ParameterGrid(values):
            with_params = Candidate(candidate.with_params(params))
            with_params.check()
            if candidate.tunes_epochs and not with_params.tunes_epochs:
                raise ValueError(
                    f"grid: {type(with_params.last).__name__} is not an estimator of this library, so its number of "
                    "epochs cannot be found from one run: tune it separately."
                )
            runs.append((params, epochs))
    return runs


def _check_epochs(values: Any) -> list[int]:
    """Return the numbers of epochs of a grid, the smallest first."""
    numbers = list(values)
    if not numbers or not all(isinstance(n, Integral) and not isinstance(n, bool) and int(n) > 0 for n in numbers):
        raise ValueError(f"grid: {EPOCHS}={values!r}: give whole numbers of at least 1.")
    return sorted({int(n) for n in numbers})


def _try_run(
    candidate: Candidate, params: dict[str, Any], epochs: list[int], train: Any, dev: Any, metric: Metric
) -> list[Setting]:
    """Train once, and score every epoch on the validation set if possible."""
    model = candidate.with_params(params)
    start = time.perf_counter()
    if not candidate.tunes_epochs:
        model.fit(*train)
        seconds = time.perf_counter() - start
        return [Setting(params, None, metric.of(model, *dev), (), seconds, None)]
    last = last_step(model)[0]
    if epochs:
        last.set_params(**{EPOCHS: max(epochs)})
    curve: list[float] = []
    scoring_seconds = 0.0

    def score_epoch(row: dict[str, Any]) -> None:
        nonlocal scoring_seconds
        before = time.perf_counter()
        curve.append(metric.of(last, *dev))
        scoring_seconds += time.perf_counter() - before

    with watched(last, score_epoch):
        last.fit(*train)
    seconds, reason = time.perf_counter() - start - scoring_seconds, last.stop_reason_
    if not epochs:
        score = max(curve)
        return [Setting(params, 1 + curve.index(score), score, tuple(curve), seconds, reason)]
    settings = []
    for n in epochs:
        end = min(n, len(curve))  # more epochs would change nothing if the run stopped before
        stop_reason = reason if end == len(curve) else EPOCHS
        settings.append(Setting(params, n, curve[end - 1], tuple(curve[:end]), seconds, stop_reason))
    return settings


# ---- cross-validation


def cross_validate(
    model: Any, X: Any, y: np.ndarray, k: int, *, seed: int = 0, weight: Any = None, threshold: float | None = None
) -> Iterator[Quality]:
    """Yield the quality of untrained copies of a model on each of k folds, trained on the others.

    threshold: the `threshold_` of all of them.
    """
    for train, test in folds_of(y, k, seed=seed):
        part = clone(model).fit(X[train], y[train], sample_weight=None if weight is None else weight[train])
        if threshold is not None:
            part.threshold_ = threshold
        yield measure(part.classes_, y[test], *predicted_with_scores(part, X[test]))


def try_on_folds(
    candidate: Candidate, part: Part, folds: Folds, grid: Any, metric: Metric, n_jobs: int | None,
    on_setting: Callable[[Setting], None] | None = None,
) -> list[Setting]:  # fmt: skip
    """Return all settings of the grid, each with its mean score over the folds of a part."""
    X, y = part.taken()
    by_fold: list[list[Setting]] = []
    for train, test in folds:
        parts = Parts(Part(at(X, train), at(y, train)), Part(at(X, test), at(y, test)), None, "")
        by_fold.append(try_settings(candidate, parts, grid, metric, n_jobs))
    settings = [_mean_setting(results) for results in zip(*by_fold, strict=True)]
    for setting in settings:
        if on_setting is not None:
            on_setting(setting)
    return settings


def _mean_setting(results: tuple[Setting, ...]) -> Setting:
    """Return the mean of one setting over folds. A curve that ended early keeps its last score."""
    first, seconds = results[0], sum(result.seconds for result in results)
    if not first.curve:
        scores = tuple(result.score for result in results)
        return replace(first, score=float(np.mean(scores)), seconds=seconds, folds=scores)
    longest = max(results, key=lambda result: len(result.curve))
    n = len(longest.curve)
    curves = np.array([result.curve + result.curve[-1:] * (n - len(result.curve)) for result in results])
    mean = curves.mean(axis=0)
    epochs_from_grid = all(
        result.epochs == first.epochs and len(result.curve) <= (result.epochs or 0) for result in results
    )
    best = n - 1 if epochs_from_grid else int(mean.argmax())
    return replace(
        first, epochs=first.epochs if epochs_from_grid else best + 1, score=float(mean[best]),
        curve=tuple(mean.tolist()), seconds=seconds, stop_reason=longest.stop_reason,
        folds=tuple(curves[:, best].tolist()),
    )  # fmt: skip


# ---- parameters in JSON and in words


def plain(value: Any) -> Any:
    """Return a parameter for JSON; objects become their repr."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return {str(key): plain(item) for key, item in value.items()} if isinstance(value, dict) else repr(value)


def _describe_value(value: Any) -> str:
    text = " ".join((f"{value:g}" if isinstance(value, float) else str(value)).split())
    return text if len(text) <= MAX_VALUE_CHARACTERS else text[: MAX_VALUE_CHARACTERS - 3] + "..."
