"""Trying settings on development data: every setting is fitted once, and its epochs are judged from that one run."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from perceptrons.selection.grids import usual_grid
from perceptrons.selection.metrics import Metric
from perceptrons.selection.splitting import Part, Parts
from perceptrons.training.estimating import Training

EPOCHS = "max_iter"


@dataclass(frozen=True)
class Setting:
    """A setting that was tried.

    Attributes
    ----------
    params : dict
        As in the grid, without the number of epochs.
    epochs : int or None
        The best number of them on the development examples, the fewest if several are best; None if the estimator
        cannot be watched.
    score : float
        The development figure after so many.
    curve : tuple of float
        After every epoch.
    seconds : float
        That fitting took.
    stop_reason : str or None
        Why that run ended.
    """

    params: dict[str, Any]
    epochs: int | None
    score: float
    curve: tuple[float, ...]
    seconds: float
    stop_reason: str | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON knows it."""
        return {**self.__dict__, "params": {name: plain(value) for name, value in self.params.items()}}


class Watchable:
    """An estimator, or a pipeline that ends in one: how its epochs are found, and how its last step is fitted."""

    def __init__(self, estimator: BaseEstimator):
        self.estimator = estimator
        pipeline = isinstance(estimator, Pipeline)
        self.last = estimator.steps[-1][1] if pipeline else estimator
        self.prefix = f"{estimator.steps[-1][0]}__" if pipeline else ""
        self.in_pipeline = pipeline and len(estimator.steps) > 1
        self.watched = isinstance(self.last, Training)
        self.epochs = self.prefix + EPOCHS

    def check(self) -> None:
        if self.watched and self.last.early_stopping:
            raise ValueError(
                "early_stopping=True would hold out examples a second time: the recipe finds the number of epochs on "
                "the development examples. Give early_stopping=False."
            )

    def usual_grid(self, grid: str, train: Part) -> list[dict[str, Any]]:
        """Settings for the last step, by what it learns from."""
        if grid != "usual":
            raise ValueError(f"grid={grid!r}: give a dict of values by parameter, a list of such dicts, or 'usual'.")
        X, y = train.taken()
        if self.in_pipeline:
            X = clone(self.estimator)[:-1].fit_transform(X, y)
        return [
            {self.prefix + name: values for name, values in settings.items()} for settings in usual_grid(self.last, X)
        ]

    def of_earlier_steps(self, params: dict[str, Any]) -> str:
        """What these settings mean to the steps before the last: equal texts, equal steps."""
        ours = {name: value for name, value in params.items() if not name.startswith(self.prefix)}
        return repr(sorted(ours.items()))

    def final(self, params: dict[str, Any], epochs: int | None) -> BaseEstimator:
        """The estimator with its settings, which makes just so many epochs."""
        model = clone(self.estimator).set_params(**params)
        if epochs is not None:
            model.set_params(**{self.epochs: epochs, self.prefix + "tol": None})
        return model


def try_settings(
    watchable: Watchable, parts: Parts, grid: Any, metric: Metric, n_jobs: int | None,
    tell: Callable[[Setting], None],
) -> list[Setting]:  # fmt: skip
    """All settings of the grid, in its order. tell: is told each when it is done."""
    runs = _runs(watchable, grid)
    train, dev = parts.train.taken(), parts.dev.taken()
    by_steps: dict[str, list[int]] = {}
    for place, (params, _) in enumerate(runs):
        by_steps.setdefault(watchable.of_earlier_steps(params) if watchable.in_pipeline else "", []).append(place)
    found: dict[int, list[Setting]] = {}

    def one(place: int, examples: Any) -> None:
        (params, asked), (train, dev) = runs[place], examples
        found[place] = _try(watchable, params, asked, train, dev, metric)
        for setting in found[place]:
            tell(setting)

    for places in by_steps.values():
        examples = train, dev
        if watchable.in_pipeline and watchable.watched:  # these settings share the steps before the last
            steps = clone(watchable.estimator).set_params(**runs[places[0]][0])[:-1]
            examples = (steps.fit_transform(*train), train[1]), (steps.transform(dev[0]), dev[1])
        Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(one)(place, examples) for place in places)
    return [setting for place in range(len(runs)) for setting in found[place]]


def best_of(settings: Iterable[Setting]) -> Setting:
    """The highest figure; of equal ones the first."""
    return max(settings, key=lambda setting: setting.score)


def _runs(watchable: Watchable, grid: Any) -> list[tuple[dict[str, Any], list[int]]]:
    """What has to be fitted: settings without epochs, each with the numbers of epochs asked for (none: all)."""
    runs: list[tuple[dict[str, Any], list[int]]] = []
    for params in ParameterGrid(grid or {}):
        epochs = params.pop(watchable.epochs, None) if watchable.watched else None
        for known, asked in runs:
            if epochs is not None and asked and repr(known) == repr(params):
                asked.append(epochs)
                break
        else:
            runs.append((params, [] if epochs is None else [epochs]))
    return runs


def _try(
    watchable: Watchable, params: dict[str, Any], asked: list[int], train: Any, dev: Any, metric: Metric
) -> list[Setting]:
    model = clone(watchable.estimator).set_params(**params)
    began = time.perf_counter()
    if not watchable.watched:
        model.fit(*train)
        seconds = time.perf_counter() - began
        return [Setting(params, None, metric(dev[1], model.predict(dev[0])), (), seconds, None)]
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if asked:
        last.set_params(**{EPOCHS: max(asked)})
    curve: list[float] = []
    spent = 0.0

    def watch(row: dict[str, Any]) -> None:
        nonlocal spent
        before = time.perf_counter()
        curve.append(metric(dev[1], last.predict(dev[0])))
        spent += time.perf_counter() - before

    with last._watched(watch):
        last.fit(*train)
    seconds, reason = time.perf_counter() - began - spent, last.stop_reason_
    if asked:  # a run that stopped before has made all the epochs that it ever would
        ends = [(epochs, min(epochs, len(curve))) for epochs in asked]
        return [
            Setting(
                params, epochs, curve[end - 1], tuple(curve[:end]), seconds, reason if end == len(curve) else EPOCHS
            )
            for epochs, end in ends
        ]
    score = max(curve)
    return [Setting(params, 1 + curve.index(score), score, tuple(curve), seconds, reason)]


def plain(value: Any) -> Any:
    """A parameter as JSON knows it; objects as they are written."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return {str(key): plain(item) for key, item in value.items()} if isinstance(value, dict) else repr(value)
