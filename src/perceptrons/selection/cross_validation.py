"""Cross-validation: K folds, stratified by class or of whole groups, and the mean score of settings over folds."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from perceptrons.inspection.evaluation import Quality, answered, measure
from perceptrons.selection.search import Setting, Watchable, try_settings
from perceptrons.selection.splitting import Part, Parts, at, codes_of, len_of
from perceptrons.selection.statistics import Metric


def folds_of(y: Any, k: int, groups: Any = None, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """K pairs of rows to learn from and rows to test on, both in order; every row is tested on once.

    Every class has about the same share in all folds; groups stay whole.
    """
    n = len_of(y)
    if isinstance(k, bool) or not isinstance(k, int) or not 2 <= k <= n:
        raise ValueError(f"folds={k!r}: give a whole number from 2 to the number of examples, {n:,}.")
    codes = codes_of(y)
    if groups is None:
        if np.bincount(codes).max() < k:
            raise ValueError(f"folds={k}: no class has that many examples: use fewer folds.")
        cut, of_each = StratifiedKFold(k, shuffle=True, random_state=seed), None
    else:
        of_each = np.unique(np.asarray(groups).astype(str), return_inverse=True)[1]
        if of_each.max() + 1 < k:
            raise ValueError(f"folds={k}: there are only {of_each.max() + 1:,} groups: use at most as many folds.")
        cut = StratifiedGroupKFold(k, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")  # it is in some folds only, which does no harm
        return [(np.sort(learned), np.sort(held)) for learned, held in cut.split(codes, codes, of_each)]


def cross_validate(
    model: Any, X: Any, y: np.ndarray, k: int, *, seed: int = 0, weight: Any = None, threshold: float | None = None
) -> Iterator[Quality]:
    """How good fresh copies of a model are on each of K folds, having learned from the others.

    threshold: the `threshold_` of all of them.
    """
    for learned, held in folds_of(y, k, seed=seed):
        part = clone(model).fit(X[learned], y[learned], sample_weight=None if weight is None else weight[learned])
        if threshold is not None:
            part.threshold_ = threshold
        yield measure(part.classes_, y[held], *answered(part, X[held]))


def try_on_folds(
    watchable: Watchable, part: Part, folds: list[tuple[np.ndarray, np.ndarray]], grid: Any, metric: Metric,
    n_jobs: int | None, tell: Callable[[Setting], None],
) -> list[Setting]:  # fmt: skip
    """All settings of the grid, each judged by its mean over the folds of a part."""
    X, y = part.taken()
    found: list[list[Setting]] = []
    for learned, held in folds:
        parts = Parts(Part(at(X, learned), at(y, learned)), Part(at(X, held), at(y, held)), None, "")
        found.append(try_settings(watchable, parts, grid, metric, n_jobs, lambda setting: None))
    settings = [_mean_of(of_one) for of_one in zip(*found, strict=True)]
    for setting in settings:
        tell(setting)
    return settings


def _mean_of(settings: tuple[Setting, ...]) -> Setting:
    """One setting in all folds. A fold whose run stopped before others has made all the epochs that it ever would."""
    first, seconds = settings[0], sum(one.seconds for one in settings)
    if not first.curve:
        scores = tuple(one.score for one in settings)
        return replace(first, score=float(np.mean(scores)), seconds=seconds, folds=scores)
    longest = max(settings, key=lambda one: len(one.curve))
    n = len(longest.curve)
    curves = np.array([one.curve + one.curve[-1:] * (n - len(one.curve)) for one in settings])
    mean = curves.mean(axis=0)
    asked = all(one.epochs == first.epochs and len(one.curve) <= (one.epochs or 0) for one in settings)  # by the grid
    best = n - 1 if asked else int(mean.argmax())
    return replace(
        first, epochs=first.epochs if asked else best + 1, score=float(mean[best]), curve=tuple(mean.tolist()),
        seconds=seconds, stop_reason=longest.stop_reason, folds=tuple(curves[:, best].tolist()),
    )  # fmt: skip
