"""The recipe: split the data, tune on the validation set, train with the best setting, test once."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.utils import get_tags

from perceptrons.data.splitting import (
    Part,
    Parts,
    SplitMethod,
    as_given,
    at,
    check_labels_meet,
    folds_of,
    part_as_given,
    parts_of,
)
from perceptrons.engine import html
from perceptrons.engine.html import sparkline
from perceptrons.engine.training.calibration import CalibrationMethod
from perceptrons.engine.wording import shown_epochs
from perceptrons.selection.calibrating import calibrate
from perceptrons.selection.search import Candidate, Setting, best_of, last_step, plain, try_on_folds, try_settings
from perceptrons.selection.statistics import Interval, Metric, MetricFunction, score_with_interval
from perceptrons.selection.test_set_ledger import RERUN, SealedTest
from perceptrons.selection.thresholds import Costs, Threshold, set_threshold
from perceptrons.sequence import SequencePerceptron
from perceptrons.structured import StructuredPerceptron


@dataclass(frozen=True, eq=False)
class Recipe:
    """The result of `recipe`.

    Attributes
    ----------
    model : estimator
        The model, trained with the best setting, and with tol=None if the number of epochs was chosen. For models of
        this library `model.recipe_` says how it was found, and so does its file.
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
        Whether the same call was made before, with the same data, settings and seed; it then counts as the same use.
    twice : int
        The number of separate test examples that are also in the training or validation set.
    parts : Parts
    metric : str
    retrained : bool
        Whether the model was trained on the training and validation sets together.
    threshold : Threshold or None
        How the model's `threshold_` was chosen, if it was.
    calibrated : str or None
        The method by which the model was calibrated on the validation set, if it has `probability`.
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
        name = Candidate(self.model).epochs_parameter
        return self.best.params | ({} if self.best.epochs is None else {name: self.best.epochs})

    def explain(self) -> str:
        """Return the result in words."""
        sizes, n = self.sizes, len(self.settings)
        n_folds = len(self.best.folds)
        validation = f"in {n_folds} folds" if n_folds else f"{sizes['dev']:,} for validation"
        by = f"By the mean over {n_folds} folds" if n_folds else "Best on the validation set"
        training = "the training and validation sets" if self.retrained and not n_folds else "the training set"
        lines = [
            f"Split {self.parts.how}: {sizes['train']:,} for training, {validation}, {sizes['test']:,} for testing.",
            f"{n} setting{'s' * (n > 1)} tried. {by}: {self.best.describe()}, {self.metric} {self.dev_score:.4f}.",
            f"The model was trained on {training}.",
        ]
        if self.threshold is not None:
            value, metric, score, before, _ = self.threshold
            lines.append(
                f"Threshold {value:.4g}, chosen by {metric} on the validation set: {score:.4f}, {before:.4f} "
                "without it."
            )
        if self.calibrated is not None:
            lines.append(f"Probabilities by {self.calibrated}, calibrated on the validation set.")
        if self.test_score is None or self.test_interval is None:
            lines.append("There was no test.")
        else:
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

    def _table(self) -> list[tuple[str, str, str]]:
        """Return the settings, the best first, with their scores and training times."""
        ranked = sorted(self.settings, key=lambda setting: -setting.score)
        return [(setting.describe(), f"{setting.score:.4f}", f"{setting.seconds:.3f}") for setting in ranked]

    def __str__(self) -> str:
        rows = self._table()
        width = max(len(name) for name, _, _ in rows)
        lines = [f"{'setting':{width}}  {self.metric}  seconds"]
        lines += [f"{name:{width}}  {score:>{len(self.metric)}}  {seconds:>7}" for name, score, seconds in rows]
        text, curve = self.explain() + "\n\n" + "\n".join(lines), self.best.curve
        if len(curve) < 2:
            return text
        scores = ", ".join(f"{place + 1}: {curve[place]:.4f}" for place in shown_epochs(len(curve)))
        return f"{text}\n\nThe best setting, by number of epochs: {scores}"

    def _repr_html_(self) -> str:
        table, curve = html.table(self._table(), ("setting", self.metric, "seconds")), self.best.curve
        drawing = []
        if len(curve) > 1:
            words = f"{curve[0]:.4f} after the first of {len(curve):,} epochs, {self.dev_score:.4f} at best"
            title = html.note("The best setting on the validation set, by epoch")
            drawing = [title, sparkline(curve, words, min(curve))]
        return html.block(*map(html.note, self.explain().splitlines()), table, *drawing)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: everything except the model."""
        return {
            "split": self.parts.how,
            "sizes": self.sizes,
            "metric": self.metric,
            "settings": [setting.to_dict() for setting in self.settings],
            "best": self.best.to_dict(),
            "params": {name: plain(value) for name, value in self.params.items()},
            "dev_score": self.dev_score,
            "test_score": self.test_score,
            "test_interval": None if self.test_interval is None else self.test_interval._asdict(),
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
    threshold: str | Costs | float | None = None,
    metric: str | MetricFunction = "accuracy",
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
        "f1_macro", "f1_micro", "f1_weighted", "matthews", "youden" (two classes), "roc_auc", "average_precision"
        (one-vs-rest mean for more than two classes), or "neg_log_loss" for estimators with probabilities. Labels of
        sequences are counted one by one; for those of phrases (B-NP, I-NP, O) there is also "phrase_f1".
    force : bool, default=False
        Whether to use a test set that was used before. The result and the model then say so. The same examples are
        recognised in any order, dense or sparse, but not a part of them, or the same in other units.
    ledger : path, optional
        A file that records uses of test sets across processes; otherwise they are recorded for this process only.
    n_jobs : int, optional
        The number of settings to try at the same time, in threads. The result is the same.
    tell : function, optional
        A function that is called with every Setting when it was tried, to show progress.

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
    candidate, probability = _without_probability(Candidate(estimator))
    _check_tunable(candidate)
    scorer = Metric(metric, _outputs_of(candidate.last))
    # a chosen threshold and a calibration belong to exactly these weights, and need the validation set
    needs_dev = isinstance(threshold, str | Mapping) or probability is not None
    retrain = bool(retrain)
    if folds is not None:
        _check_folds_options(split, dev, retrain, needs_dev)
    X, y = as_given(X, y)
    dev, test = part_as_given(dev, X, "dev"), part_as_given(test, X, "test")
    parts = parts_of(X, y, dev=dev, test=test, split=split, groups=groups, keys=keys, random_state=random_state)
    if folds is not None:
        parts = replace(parts, train=parts.learnable(), dev=Part(X, y, np.arange(0)))
    check_labels_meet(parts)
    sealed = None
    if parts.test is not None:
        request = {"estimator": estimator, "grid": grid, "retrain": retrain, "metric": metric}
        request |= {name: value for name, value in (("folds", folds), ("threshold", threshold)) if value is not None}
        sealed = SealedTest(parts, parts.test, ledger, force, what="recipe", random_state=random_state, **request)
    if isinstance(grid, str):
        grid = candidate.usual_grid(grid, parts.train)
    if folds is None:
        settings = try_settings(candidate, parts, grid, scorer, n_jobs, tell)
    else:
        if groups is not None and parts.train.rows is not None:
            groups = at(groups, parts.train.rows)
        seed = int(random_state) if isinstance(random_state, Integral) else 0
        cv = folds_of(parts.train.taken()[1], folds, groups, seed)
        settings = try_on_folds(candidate, parts.train, cv, grid, scorer, n_jobs, tell)
    best = best_of(settings)
    model = candidate.final(best)
    retrain = retrain and not needs_dev
    model.fit(*(parts.learnable() if retrain else parts.train).taken())
    chosen_threshold = set_threshold(model, threshold, *parts.dev.taken())
    if probability is not None:
        calibrate(model, *parts.dev.taken(), method=probability)
        last_step(model)[0].probability = probability
    score, interval = None, None
    if sealed is not None:
        X_test, y_test = sealed.open()
        score, interval = score_with_interval(scorer, *scorer.inputs(model, X_test, y_test))
    n_test, looks, n_shared, rerun = 0, 0, 0, False
    if sealed is not None:
        n_test, looks, n_shared, rerun = sealed.n, sealed.looks, sealed.n_shared, sealed.rerun
    sizes = {"train": len(parts.train), "dev": len(parts.dev), "test": n_test}
    result = Recipe(
        model, settings, best, score, interval, looks, n_shared, parts, scorer.name, retrain, sizes, rerun,
        chosen_threshold, probability,
    )  # fmt: skip
    if candidate.tunes_epochs:
        last, content = last_step(model)[0], result.to_dict()
        more = {"settings_tried": len(result.settings), "examples_seen": last.t_}
        last.recipe_ = {name: content[name] for name in content if name not in ("settings", "best", "rerun")} | more
    return result


def _without_probability(candidate: Candidate) -> tuple[Candidate, CalibrationMethod | None]:
    """Return the estimator without its own calibration, which would hold examples out a second time, and the method."""
    probability = getattr(candidate.last, "probability", None) if candidate.tunes_epochs else None
    if probability is None:
        return candidate, None
    return Candidate(clone(candidate.estimator).set_params(**{candidate.prefix + "probability": None})), probability


def _check_folds_options(split: str | None, dev: Any, retrain: bool, needs_dev: bool) -> None:
    if split == "time":
        raise ValueError("folds and split='time' cannot be combined: folds would train on the future.")
    if isinstance(dev, tuple):
        raise ValueError("folds and dev=(X, y) cannot be combined: choose settings by folds, or by a validation set.")
    if not retrain:
        raise ValueError("folds and retrain=False cannot be combined: there is no single training set.")
    if needs_dev:
        raise ValueError(
            "folds cannot be combined with a threshold to be chosen, or with probability: these need one validation "
            "set."
        )


def _check_tunable(candidate: Candidate) -> None:
    candidate.check()
    if is_regressor(candidate.last):
        raise ValueError(f"{type(candidate.last).__name__} predicts numbers, but the recipe is for classifiers.")
    if get_tags(candidate.last).input_tags.pairwise:
        raise ValueError(
            "A precomputed kernel matrix has one column per training example, so it cannot be split by rows: give "
            "the examples, and the kernel by name or as a function."
        )


def _outputs_of(estimator: Any) -> str:
    """Return the kind of predictions, for `Metric`."""
    if isinstance(estimator, SequencePerceptron):
        return "sequences"
    return "whole" if isinstance(estimator, StructuredPerceptron) else "labels"
