"""Tries settings on the validation set: every setting is fitted once, and one run finds its number of epochs."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from perceptrons.engine.training.base import Estimator, watched
from perceptrons.selection.learners import usual_grid
from perceptrons.selection.splitting import Part, Parts
from perceptrons.selection.statistics import Metric

EPOCHS = "max_iter"


@dataclass(frozen=True)
class Setting:
    """A setting that was tried.

    Attributes
    ----------
    params : dict
        As in the grid, without the number of epochs.
    epochs : int or None
        The best number of them on the validation set, the fewest if several are best; None if the estimator
        cannot be watched.
    score : float
        The validation score after this many epochs.
    curve : tuple of float
        After every epoch.
    seconds : float
        That fitting took.
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
        """As JSON knows it."""
        return {**self.__dict__, "params": {name: plain(value) for name, value in self.params.items()}}


class Watchable:
    """An estimator, or a pipeline that ends in one: how its epochs are found, and how its last step is fitted."""

    def __init__(self, estimator: BaseEstimator):
        self.estimator = estimator
        self.last, self.prefix = last_step(estimator)
        self.watched = isinstance(self.last, Estimator)
        self.epochs = self.prefix + EPOCHS

    def check(self) -> None:
        if self.watched and self.last.early_stopping:
            raise ValueError(
                "early_stopping=True would hold out examples a second time: the recipe finds the number of epochs on "
                "the validation set. Use early_stopping=False."
            )

    def usual_grid(self, grid: str, train: Part) -> list[dict[str, Any]]:
        """Settings for the last step, by what it learns from."""
        if grid != "usual":
            raise ValueError(
                f"grid={grid!r}: give a dict with a list of values per parameter, a list of such dicts, or 'usual'."
            )
        X, y = train.taken()
        X = Earlier(clone(self.estimator)).fit_transform(X, y)
        return [
            {self.prefix + name: values for name, values in settings.items()} for settings in usual_grid(self.last, X)
        ]

    def with_settings(self, params: dict[str, Any]) -> BaseEstimator:
        """A fresh estimator; estimators among the values stay the caller's own."""
        values = {name: clone(value, safe=False) for name, value in params.items()}
        return clone(self.estimator).set_params(**values)

    def final(self, params: dict[str, Any], epochs: int | None) -> BaseEstimator:
        """The estimator with these settings, which makes exactly this number of epochs."""
        model = self.with_settings(params)
        if epochs is not None:
            model.set_params(**{self.epochs: epochs, self.prefix + "tol": None})
        return model


class Earlier:
    """The steps before the last, of pipelines within pipelines too; none of an estimator that is no pipeline."""

    def __init__(self, estimator: BaseEstimator):
        self.heads = []
        while isinstance(estimator, Pipeline):
            if len(estimator.steps) > 1:
                self.heads.append(estimator[:-1])
            estimator = estimator.steps[-1][1]

    def fit_transform(self, X: Any, y: Any) -> Any:
        for head in self.heads:
            X = head.fit_transform(X, y)
        return X

    def transform(self, X: Any) -> Any:
        """Step by step: a pipeline would ask whether they are fitted, and some have nothing to show for it."""
        for head in self.heads:
            for _, step in head.steps:
                X = X if step is None or step == "passthrough" else step.transform(X)
        return X


class Run(NamedTuple):
    """What has to be fitted: settings without epochs, and the numbers of epochs asked for (none: all)."""

    params: dict[str, Any]
    asked: list[int]


def last_step(estimator: Any) -> tuple[Any, str]:
    """What a pipeline ends in, however deep, and how its parameters are called."""
    prefix = ""
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    return estimator, prefix


def try_settings(
    watchable: Watchable, parts: Parts, grid: Any, metric: Metric, n_jobs: int | None,
    tell: Callable[[Setting], None],
) -> list[Setting]:  # fmt: skip
    """All settings of the grid, in its order. tell: is told each when it is done."""
    runs = _runs(watchable, grid)
    train, dev = parts.train.taken(), parts.dev.taken()
    by_steps: dict[Any, list[int]] = {}
    for place, (params, _) in enumerate(runs):
        by_steps.setdefault(_of_earlier_steps(watchable, params), []).append(place)
    found: dict[int, list[Setting]] = {}

    def one(place: int, examples: Any) -> None:
        (params, asked), (train, dev) = runs[place], examples
        found[place] = _try(watchable, params, asked, train, dev, metric)
        for setting in found[place]:
            tell(setting)

    for places in by_steps.values():
        examples = train, dev
        earlier = Earlier(watchable.with_settings(runs[places[0]].params))  # these settings share them
        if watchable.watched and earlier.heads:
            examples = (earlier.fit_transform(*train), train[1]), (earlier.transform(dev[0]), dev[1])
        Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(one)(place, examples) for place in places)
    return [setting for place in range(len(runs)) for setting in found[place]]


def best_of(settings: Iterable[Setting]) -> Setting:
    """The highest figure; of equal ones the first."""
    return max(settings, key=lambda setting: setting.score)


def _of_earlier_steps(watchable: Watchable, params: dict[str, Any]) -> Any:
    """What these settings mean to the steps before the last: the same key, the same steps.

    Values are distinguished by their entry in the grid: arrays and estimators may look alike and be different.
    """
    return frozenset((name, id(value)) for name, value in params.items() if not name.startswith(watchable.prefix))


def _runs(watchable: Watchable, grid: Any) -> list[Run]:
    """All that has to be fitted, checked before anything is."""
    runs: list[Run] = []
    for one in [grid] if isinstance(grid, Mapping) else list(grid or [{}]):
        if not isinstance(one, Mapping):
            raise ValueError(f"grid: {one!r} is not a dict with a list of values per parameter.")
        values = dict(one)
        asked = values.pop(watchable.epochs, None) if watchable.watched else None
        if asked is not None:
            asked = _epochs(asked)
        for params in ParameterGrid(values):
            step = Watchable(watchable.with_settings(params))
            step.check()
            if watchable.watched and not step.watched:
                raise ValueError(
                    f"grid: {type(step.last).__name__} is not an estimator of this library, so its number of epochs "
                    "cannot be found from one run: tune it separately."
                )
            runs.append(Run(params, asked or []))
    return runs


def _epochs(asked: Any) -> list[int]:
    """Numbers of epochs as the grid names them, the fewest first."""
    numbers = list(asked)
    if not numbers or not all(isinstance(n, Integral) and not isinstance(n, bool) and int(n) > 0 for n in numbers):
        raise ValueError(f"grid: {EPOCHS}={asked!r}: give whole numbers of at least 1.")
    return sorted({int(n) for n in numbers})


def _try(
    watchable: Watchable, params: dict[str, Any], asked: list[int], train: Any, dev: Any, metric: Metric
) -> list[Setting]:
    model = watchable.with_settings(params)
    began = time.perf_counter()
    if not watchable.watched:
        model.fit(*train)
        seconds = time.perf_counter() - began
        return [Setting(params, None, metric.of(model, *dev), (), seconds, None)]
    last = last_step(model)[0]
    if asked:
        last.set_params(**{EPOCHS: max(asked)})
    curve: list[float] = []
    spent = 0.0

    def watch(row: dict[str, Any]) -> None:
        nonlocal spent
        before = time.perf_counter()
        curve.append(metric.of(last, *dev))
        spent += time.perf_counter() - before

    with watched(last, watch):
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


def named(setting: Setting) -> str:
    """A setting in words: its parameters, the steps of pipelines left out, and its epochs."""
    words = [f"{name.rpartition('__')[2]}={_short(value)}" for name, value in setting.params.items()]
    if setting.epochs is not None:
        words.append(f"{setting.epochs} epoch{'s' * (setting.epochs > 1)}")
    return ", ".join(words) or "as given"


def _short(value: Any, at_most: int = 40) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= at_most else text[: at_most - 3] + "..."
