"""The recipe: split the data, tune on the validation set, train with the best setting, test once."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.utils import get_tags

from perceptrons.engine import html
from perceptrons.engine.html import sparkline
from perceptrons.engine.training.calibration import CalibrationMethod
from perceptrons.engine.wording import shown_epochs
from perceptrons.selection.calibrating import calibrate
from perceptrons.selection.cross_validation import folds_of, try_on_folds
from perceptrons.selection.seal import RERUN, seal
from perceptrons.selection.search import Setting, Watchable, best_of, last_step, named, plain, try_settings
from perceptrons.selection.splitting import (
    Part,
    Parts,
    SplitMethod,
    as_given,
    at,
    check_labels_meet,
    part_as_given,
    parts_of,
)
from perceptrons.selection.statistics import Interval, Metric, measured
from perceptrons.selection.thresholds import Threshold, is_chosen, set_threshold
from perceptrons.sequence import SequencePerceptron
from perceptrons.structured import StructuredPerceptron


@dataclass(frozen=True, eq=False)
class Recipe:
    """The result of `recipe`.

    Attributes
    ----------
    model : estimator
        Fitted with the best setting, and with tol=None if the number of epochs was chosen. If it is one of this
        library, `model.recipe_` says how it was found, and so does the file that it is saved to.
    settings : list of Setting
        All that were tried, in the order of the grid: `params`, `epochs`, `score`, `curve`, `seconds`, `stop_reason`.
    best : Setting
    dev_score : float
        The score of the best setting on the validation set. As the highest of several, it is too optimistic.
    test_score, test_interval : float and Interval, or None
        The score on the test set, which was used once, and its confidence interval.
    looks : int
        How often this test set has been used, including this time; 0 without a test.
    rerun : bool
        Was just this asked before, with the same data, settings and seed? Then nothing was chosen in between, and it
        is the same look.
    twice : int
        How many of the test examples, if these are data of their own, are also among those learned from or chosen by.
    parts : Parts
    metric : str
    retrained : bool
        Did the model learn from training and validation examples together?
    threshold : Threshold or None
        How the model's `threshold_` was chosen, if that was asked for.
    calibrated : str or None
        By which method the model was calibrated on the validation set, if its `probability` asked for it.
    """

    model: Any
    settings: list[Setting]
    best: Setting
    test_score: float | None
    test_interval: Interval | None
    looks: int
    twice: int
    parts: Parts
    metric: str
    retrained: bool
    sizes: dict[str, int] = field(repr=False)
    rerun: bool = False
    threshold: Threshold | None = None
    calibrated: str | None = None

    @property
    def dev_score(self) -> float:
        return self.best.score

    @property
    def params(self) -> dict[str, Any]:
        """The best setting as parameters, the number of epochs among them."""
        watchable = Watchable(self.model)
        return self.best.params | ({} if self.best.epochs is None else {watchable.epochs: self.best.epochs})

    def explain(self) -> str:
        """The result in words."""
        sizes, n = self.sizes, len(self.settings)
        folds = len(self.best.folds)
        held = f"in {folds} folds" if folds else f"{sizes['dev']:,} for validation"
        by = f"By the mean over {folds} folds" if folds else "Best on the validation set"
        learned = "the training and validation sets" if self.retrained and not folds else "the training set"
        lines = [
            f"Split {self.parts.how}: {sizes['train']:,} for training, {held}, {sizes['test']:,} for testing.",
            f"{n} setting{'s' * (n > 1)} tried. {by}: {named(self.best)}, {self.metric} {self.dev_score:.4f}.",
            f"The model was trained on {learned}.",
        ]
        if self.threshold is not None:
            value, by_metric, score, before, _ = self.threshold
            lines.append(
                f"Threshold {value:.4g}, chosen by {by_metric} on the validation set: {score:.4f}, {before:.4f} "
                "without it."
            )
        if self.calibrated is not None:
            lines.append(f"Probabilities by {self.calibrated}, calibrated on the validation set.")
        if self.test_score is None:
            lines.append("There was no test.")
        else:
            assert self.test_interval is not None
            low, high, level, method = self.test_interval
            lines.append(
                f"Test {self.metric} {self.test_score:.4f} ({level:.0%} interval {low:.4f} to {high:.4f}, {method})."
            )
        if self.twice:
            lines.append(
                f"{self.twice:,} of the {sizes['test']:,} test examples also occur in the training or validation set."
            )
        if self.rerun:
            lines.append(RERUN)
        if self.looks > 1:
            lines.append(f"FORCED: this test set was used {self.looks} times, so the test score may be too optimistic.")
        return "\n".join(lines)

    def __str__(self) -> str:
        rows = sorted(self.settings, key=lambda setting: -setting.score)
        width = max(len(named(setting)) for setting in rows)
        table = [f"{'setting':{width}}  {self.metric}  seconds"] + [
            f"{named(setting):{width}}  {setting.score:{len(self.metric)}.4f}  {setting.seconds:7.3f}"
            for setting in rows
        ]
        curve = self.best.curve
        after = ", ".join(f"{place + 1}: {curve[place]:.4f}" for place in shown_epochs(len(curve)))
        found = f"\n\nThe best setting, by number of epochs: {after}" if len(curve) > 1 else ""
        return self.explain() + "\n\n" + "\n".join(table) + found

    def _repr_html_(self) -> str:
        rows = sorted(self.settings, key=lambda setting: -setting.score)
        lines = [(named(setting), f"{setting.score:.4f}", f"{setting.seconds:.3f}") for setting in rows]
        table, curve = html.table(lines, ("setting", self.metric, "seconds")), self.best.curve
        drawn = []
        if len(curve) > 1:
            words = f"{curve[0]:.4f} after the first of {len(curve):,} epochs, {self.dev_score:.4f} at best"
            drawn = [html.note("The best setting on the validation set, by epoch"), sparkline(curve, words, min(curve))]
        return html.block(*map(html.note, self.explain().splitlines()), table, *drawn)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON knows it, but the model."""
        interval = None if self.test_interval is None else self.test_interval._asdict()
        return {
            "split": self.parts.how,
            "sizes": self.sizes,
            "metric": self.metric,
            "settings": [setting.to_dict() for setting in self.settings],
            "best": self.best.to_dict(),
            "params": {name: plain(value) for name, value in self.params.items()},
            "dev_score": self.dev_score,
            "test_score": self.test_score,
            "test_interval": interval,
            "folds": list(self.best.folds),
            "threshold": getattr(last_step(self.model)[0], "threshold_", None),
            "threshold_by": None if self.threshold is None else self.threshold._asdict(),
            "calibrated": self.calibrated,
            "looks": self.looks,
            "rerun": self.rerun,
            "twice": self.twice,
            "retrained": self.retrained,
        }


def recipe(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    grid: Any = None,
    dev: Any = 0.2,
    test: Any = 0.2,
    retrain: bool = True,
    random_state: Any = 0,
    *,
    split: SplitMethod | None = None,
    groups: Any = None,
    keys: Any = None,
    folds: int | None = None,
    threshold: Any = None,
    metric: str | Callable[[Any, Any], float] = "accuracy",
    force: bool = False,
    ledger: "str | os.PathLike[str] | None" = None,
    n_jobs: int | None = None,
    tell: Callable[[Setting], None] | None = None,
) -> Recipe:
    """Tune hyperparameters on a validation set, train with the best ones, and test the model once.

    One run per setting finds the number of epochs, from its score after every epoch, which equals that of separate
    runs. The test set is used once, at the end. A second use is refused, unless the call is exactly the same.

    Use it to get a model and an unbiased test score. With fewer than a few hundred examples, the parts are too small:
    use scikit-learn's `GridSearchCV`, which accepts these estimators (`parts_of(...).cv()` gives the same split). For
    several learners, use `compare`.

    Parameters
    ----------
    estimator : estimator
        A classifier with scikit-learn's interface, a pipeline, or a search such as `GridSearchCV`. The number of epochs
        is tuned for estimators of this library and pipelines that end in one; earlier steps are fitted once for all
        settings that share them.
    X, y : the examples
        Whatever the estimator takes: an array, a sparse matrix, a frame, a list of texts, of sentences.
    grid : dict, list of dicts or "usual", optional
        The values to try per parameter, as for `GridSearchCV`. With `max_iter`, these numbers of epochs are evaluated,
        otherwise all epochs of the run. "usual" is the `usual_grid` of the data of the last step.
    dev, test : float, or tuple of X and y, default=0.2
        The shares of the validation and test sets, or separate data for them; test=0 means no test.
    retrain : bool, default=True
        Whether to train with the best setting on the training and validation sets together, or on the training set
        only.
    random_state : int, RandomState or None, default=0
        Seed of the split.
    split : {"stratified", "grouped", "time"}, optional
        See `parts_of`.
    groups : array, optional
        The group of every example; groups are never divided.
    keys : array, optional
        See `parts_of`.
    folds : int, optional
        Choose settings by cross-validation: by their mean score over this many folds of all examples but the test set,
        instead of one validation set. For small data; it takes `folds` times as long. The model is then trained on all
        folds.
    threshold : str, dict or float, optional
        For two classes: choose the model's `threshold_` on the validation set by a metric or a cost, as
        `choose_threshold` does, or set it to a number. A model whose threshold is chosen is trained on the training set
        only, because the threshold belongs to exactly these weights. So is a model with `probability`: settings are
        tried without it, and the best model is calibrated on the validation set.
    metric : str or function of true and predicted labels, default="accuracy"
        The metric to choose and test by: "accuracy", "balanced_accuracy", "f1" (of the second of two classes),
        "f1_macro",
        "f1_micro", "f1_weighted", "matthews", "youden" (two classes), "roc_auc", "average_precision" (one-vs-rest mean
        for more than two classes), or "neg_log_loss" for estimators with probabilities. Labels of sequences are counted
        one by one; for those of phrases (B-NP, I-NP, O) there is also "phrase_f1".
    force : bool, default=False
        Whether to use a test set that was used before. The result and the model then say so. The same examples are
        recognised in any order, dense or sparse, but not a part of them, or the same in other units.
    ledger : path, optional
        A file that records uses of test sets across processes; otherwise they are recorded for this process only.
    n_jobs : int, optional
        The number of settings to try at the same time, in threads. The result is the same.
    tell : function, optional
        A function that gets every Setting when it was tried, to show progress.

    Returns
    -------
    Recipe

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.selection import recipe
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = recipe(make_pipeline(StandardScaler(), Perceptron()), X, y, {"perceptron__step": ["constant", "pa1"]})
    >>> print(found.explain())
    Split stratified by class, seed 0: 341 for training, 114 for validation, 114 for testing.
    2 settings tried. Best on the validation set: step=constant, 4 epochs, accuracy 1.0000.
    The model was trained on the training and validation sets.
    Test accuracy 0.9912 (95% interval 0.9520 to 0.9984, Wilson).
    """
    watchable, probability = _without_probability(Watchable(estimator))
    check(watchable)
    figure = Metric(metric, outputs_of(watchable.last))
    chosen = is_chosen(threshold) or probability is not None
    _check_together(split, dev, folds, retrain, chosen)
    X, y = as_given(X, y)
    dev, test = part_as_given(dev, X, "dev"), part_as_given(test, X, "test")
    parts = parts_of(X, y, dev=dev, test=test, split=split, groups=groups, keys=keys, random_state=random_state)
    if folds is not None:
        parts = replace(parts, train=parts.learnable(), dev=Part(X, y, np.arange(0)))
    check_labels_meet(parts)
    sealed, twice = None, 0
    if parts.test is not None:
        asked = {"estimator": estimator, "grid": grid, "retrain": bool(retrain), "metric": metric}
        asked |= {name: value for name, value in (("folds", folds), ("threshold", threshold)) if value is not None}
        sealed, twice = seal(parts, parts.test, ledger, force, what="recipe", random_state=random_state, **asked)
    if isinstance(grid, str):
        grid = watchable.usual_grid(grid, parts.train)
    how = grid, figure, n_jobs, tell or (lambda setting: None)
    if folds is None:
        settings = try_settings(watchable, parts, *how)
    else:
        settings = try_on_folds(watchable, parts.train, _cut(parts.train, folds, groups, random_state), *how)
    best = best_of(settings)
    model = watchable.final(best.params, best.epochs)
    retrain = bool(retrain) and not chosen
    model.fit(*(parts.learnable() if retrain else parts.train).taken())
    by = _by_dev(model, threshold, probability, parts.dev)
    score, interval = None, None
    if sealed is not None:
        X_test, y_test = sealed.open()
        score, interval = measured(figure, *figure.asked(model, X_test, y_test))
    sizes = {"train": len(parts.train), "dev": len(parts.dev), "test": 0 if sealed is None else sealed.n}
    looks, rerun = (0, False) if sealed is None else (sealed.looks, sealed.rerun)
    result = Recipe(
        model, settings, best, score, interval, looks, twice, parts, figure.name, retrain, sizes, rerun, by, probability
    )
    if watchable.watched:
        mark(model, result)
    return result


def _without_probability(watchable: Watchable) -> tuple[Watchable, CalibrationMethod | None]:
    """The estimator without its calibration, which would hold examples out a second time; and how it is to be done."""
    probability = getattr(watchable.last, "probability", None) if watchable.watched else None
    if probability is None:
        return watchable, None
    return Watchable(clone(watchable.estimator).set_params(**{watchable.prefix + "probability": None})), probability


def _by_dev(model: Any, threshold: Any, probability: CalibrationMethod | None, dev: Part) -> Threshold | None:
    """Choose the threshold of the model and calibrate it on the validation set, if that is asked for."""
    chosen = set_threshold(model, threshold, *dev.taken())
    if probability is not None:
        calibrate(model, *dev.taken(), method=probability)
        last_step(model)[0].probability = probability
    return chosen


def _check_together(split: str | None, dev: Any, folds: int | None, retrain: bool, chosen: bool) -> None:
    """Refuse what does not go with folds."""
    if folds is None:
        return
    if split == "time":
        raise ValueError("folds and split='time' cannot be combined: folds would train on the future.")
    if isinstance(dev, tuple):
        raise ValueError("folds and dev=(X, y) cannot be combined: choose settings by folds, or by a validation set.")
    if not retrain:
        raise ValueError("folds and retrain=False cannot be combined: there is no single training set.")
    if chosen:
        raise ValueError(
            "folds cannot be combined with a threshold to be chosen, or with probability: these need one validation "
            "set."
        )


def _cut(part: Part, k: int, groups: Any, random_state: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """The folds of a part, by its own rows."""
    seed = int(random_state) if isinstance(random_state, Integral) else 0
    of_part = None if groups is None else at(groups, np.arange(len(part)) if part.rows is None else part.rows)
    return folds_of(part.taken()[1], k, of_part, seed)


def check(watchable: Watchable) -> None:
    """Refuse what cannot be tuned so."""
    watchable.check()
    if is_regressor(watchable.last):
        raise ValueError(f"{type(watchable.last).__name__} predicts numbers, but the recipe is for classifiers.")
    if get_tags(watchable.last).input_tags.pairwise:
        raise ValueError(
            "A precomputed kernel matrix has one column per training example, so it cannot be split by rows: give "
            "the examples, and the kernel by name or as a function."
        )


def outputs_of(estimator: Any) -> str:
    """What an example is answered with."""
    if isinstance(estimator, SequencePerceptron):
        return "sequences"
    return "whole" if isinstance(estimator, StructuredPerceptron) else "labels"


def mark(model: Any, result: Recipe) -> None:
    """Let the model say how it was found and tested, here and in its file."""
    last, told = last_step(model)[0], result.to_dict()
    more = {"settings_tried": len(result.settings), "examples_seen": last.t_}
    last.recipe_ = {name: told[name] for name in told if name not in ("settings", "best", "rerun")} | more
