"""Compares variants of the perceptron with other linear models: same split, same tuning, one test."""

import math
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from perceptrons.data.splitting import Part, Parts, SplitMethod, check_labels_meet, len_of, parts_of
from perceptrons.engine import html
from perceptrons.engine.wording import count, short
from perceptrons.selection.learners import LEARNERS, PERCEPTRON, Learner, learners_for, mean_square, size_of
from perceptrons.selection.search import Candidate, Setting, best_of, last_step, plain, try_settings
from perceptrons.selection.statistics import (
    Interval,
    Metric,
    MetricFunction,
    holm,
    mcnemar,
    score_with_interval,
    swapping,
)
from perceptrons.selection.test_set_ledger import RERUN, SealedTest
from perceptrons.theory.examples import check_rows
from perceptrons.theory.scales import uneven

EXTREME_SQUARE = 1e8  # a mean |x|^2 above this, or below 1 over it, makes standardising necessary
MAX_KERNEL_EXAMPLES = 20_000  # to train on: the time grows with their square
MAX_TIMED_PREDICTIONS = 3  # of which the fastest counts
SLOW_PREDICTION_SECONDS = 1.0  # predictions this slow are timed once
MAX_TRAIN_ACCURACY_EXAMPLES = 2000
SIGNIFICANT = 0.05
MARK = "*"
SEPARATED = 0.995  # training accuracy from which there is nearly nothing left to correct
PENALISED = ("logistic", "svm", "ridge")

Examples = tuple[Any, np.ndarray]  # X and y


@dataclass(frozen=True, eq=False)
class Contender:
    """A learner in a comparison.

    Attributes
    ----------
    name, what : str
        The name in `LEARNERS`, and a description.
    family : {"perceptron", "relative"}
    score, interval : float and Interval
        On the test examples.
    p : float
        The p-value against the best learner, with Holm's correction for several comparisons; 1 for the best itself.
    p_alone : float
        The same without the correction.
    dev_score : float
    setting : Setting
        The best one of `settings_tried`.
    train_accuracy : float
        The accuracy of the final model on its training data, or on 2,000 examples of it.
    training_seconds, tuning_seconds : float
        The time of the final fit, and of trying all settings, including predictions for the validation set.
    prediction_seconds : float
        The prediction time for 1,000 examples, the shortest of three runs.
    size : int or None
        The size in bytes of the numbers that prediction needs, see `size_of`.
    probabilistic : bool
        Whether it has `predict_proba`.
    notes : tuple of str
        Notes, for instance that it did not converge.
    model : the fitted estimator
    predicted, right : arrays, one entry per test example
    compared, answers : arrays, one entry per test example
        The input of the metric: labels and predictions, or class numbers and ranks of scores.
    """

    name: str
    what: str
    family: str
    score: float
    interval: Interval
    dev_score: float
    setting: Setting
    settings_tried: int
    train_accuracy: float
    training_seconds: float
    tuning_seconds: float
    prediction_seconds: float
    size: int | None
    probabilistic: bool
    notes: tuple[str, ...]
    model: Any = field(repr=False)
    predicted: np.ndarray = field(repr=False)
    right: np.ndarray = field(repr=False)
    compared: np.ndarray = field(repr=False)
    answers: np.ndarray = field(repr=False)
    p: float = 1.0
    p_alone: float = 1.0

    @property
    def worse(self) -> bool:
        """Whether it is significantly worse than the best."""
        return self.p < SIGNIFICANT

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        left_out = ("model", "predicted", "right", "compared", "answers", "setting", "interval", "notes")
        params = {name.rpartition("__")[2]: plain(value) for name, value in self.setting.params.items()}
        return {
            **{name: value for name, value in self.__dict__.items() if name not in left_out},
            "interval": self.interval._asdict(),
            "params": params,
            "epochs": self.setting.epochs,
            "significantly_worse": self.worse,
            "notes": list(self.notes),
        }


class Compared:
    """The result of `compare`.

    Attributes
    ----------
    rows : list of Contender
        The learners, the best on the test set first; ties keep the given order.
    left_out : dict
        The learners that were not compared, and why.
    best, best_perceptron, best_relative : Contender, or None if there is none of that family
    y_test : array
    parts : Parts
    sizes : dict
        The sizes of the training set, the validation set (dev) and the test set.
    metric : str
    scaled : bool
        Whether the data were standardised for all learners.
    looks : int
        How often this test set has been used, including this time.
    rerun : bool
        Whether the same call was made before, with the same data, settings and seed; it then counts as the same use.
    n_features : int
    """

    def __init__(
        self, rows: Sequence[Contender], left_out: Mapping[str, str], y_test: np.ndarray, parts: Parts,
        sizes: dict[str, int], metric: Metric, scaled: bool, looks: int, n_features: int,
        rerun: bool = False,
    ):  # fmt: skip
        self._metric, self.y_test = metric, y_test
        best, *others = sorted(rows, key=lambda row: -row.score)
        p_alone = [self.p_of(best, row) for row in others]
        corrected = zip(others, holm(p_alone), p_alone, strict=True)
        self.rows = [best, *(replace(row, p=p, p_alone=alone) for row, p, alone in corrected)]
        self.left_out, self.parts, self.sizes = dict(left_out), parts, sizes
        self.metric, self.scaled, self.looks, self.n_features = metric.name, scaled, looks, n_features
        self.rerun = rerun

    @property
    def best(self) -> Contender:
        return self.rows[0]

    @property
    def best_perceptron(self) -> Contender | None:
        return next((row for row in self.rows if row.family == PERCEPTRON), None)

    @property
    def best_relative(self) -> Contender | None:
        return next((row for row in self.rows if row.family != PERCEPTRON), None)

    @property
    def baseline_leads(self) -> bool:
        """Whether another linear model is better on the test set than every perceptron."""
        ours, theirs = self.best_perceptron, self.best_relative
        return ours is not None and theirs is not None and theirs.score > ours.score

    def row(self, name: str) -> Contender:
        """Return the learner of that name."""
        for row in self.rows:
            if row.name == name:
                return row
        reason = f" ({self.left_out[name]})" if name in self.left_out else ""
        raise KeyError(
            f"{name!r} was not compared{reason}: the learners are {', '.join(row.name for row in self.rows)}."
        )

    # ---- tests of differences

    @property
    def test(self) -> str:
        """The test for a difference between two learners."""
        return "McNemar" if self._is_accuracy else "by swapping predictions,"

    @property
    def _is_accuracy(self) -> bool:
        return self._metric.name == "accuracy" and not self._metric.own

    def p_of(self, one: Contender, other: Contender) -> float:
        """Return the p-value of the difference between two learners in the metric."""
        if self._is_accuracy:
            return mcnemar(one.right, other.right)
        return swapping(self._metric, one.compared, one.answers, other.answers)

    def mcnemar(self, one: str, other: str) -> float:
        """Return the p-value of the difference in right predictions, for a single comparison that was planned."""
        return mcnemar(self.row(one).right, self.row(other).right)

    def p_in_words(self, row: Contender) -> str:
        """Return the corrected p-value, marked if the learner is significantly worse than the best."""
        return "best" if row is self.best else f"{_p_text(row.p)}{MARK if row.worse else ''}"

    # ---- tables

    def notes(self) -> list[str]:
        """Return the notes below the table."""
        notes, n = [], len(self.rows) - 1
        if n:
            permutation = "a permutation test that swaps predictions"
            test = "McNemar's exact test on correct predictions" if self._is_accuracy else permutation
            correction = f" after Holm's correction for {n} comparisons" if n > 1 else ""
            notes = [f"{MARK} significantly worse than the best: {test}, p < {SIGNIFICANT}{correction}."]
        return notes + [f"{row.what}: {note}." for row in self.rows for note in row.notes]

    def table(self, times: bool = True) -> tuple[list[str], list[list[str]]]:
        """Return the header and the lines of the table. times: with the columns that differ from run to run."""
        header = ["learner", "family", self.metric, "95% interval", "p"]
        header += ["trained in s", "1,000 predictions in s"] * times
        lines = []
        for row in self.rows:
            seconds = [f"{row.training_seconds:.3g}", f"{row.prediction_seconds:.2g}"] * times
            kilobytes = 0.0 if row.size is None else row.size / 1000
            size = "-" if row.size is None else f"{kilobytes:.3g}" if kilobytes < 100 else f"{kilobytes:,.0f}"
            lines.append([
                row.what, row.family if row.family == PERCEPTRON else "baseline", f"{row.score:.4f}",
                f"{row.interval.low:.4f} to {row.interval.high:.4f}", self.p_in_words(row), *seconds, size,
                "yes" if row.probabilistic else "no",
            ])  # fmt: skip
        return [*header, "kB", "probabilities"], lines

    def settings(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the lines of a second table: how each learner was tuned."""
        header = ["learner", "tried", f"best {self.metric} on the validation set", "setting", "tuned in s"]
        return header, [
            [row.what, str(row.settings_tried), f"{row.dev_score:.4f}", row.setting.describe(),
             f"{row.tuning_seconds:.3g}"]
            for row in self.rows
        ]  # fmt: skip

    def to_markdown(self, times: bool = True) -> str:
        """Return the table for a page. times: with the columns that differ from run to run."""
        header, lines = self.table(times)
        cells = [header, ["---"] * len(header), *[[cell.replace("|", "\\|") for cell in line] for line in lines]]
        return "\n".join(f"| {' | '.join(line)} |" for line in cells)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: everything except the models and their predictions."""
        return {
            "split": self.parts.how, "sizes": self.sizes, "n_features": self.n_features, "metric": self.metric,
            "scaled": self.scaled, "looks": self.looks, "rerun": self.rerun,
            "rows": [row.to_dict() for row in self.rows],
            "left_out": self.left_out, "test": self.test, "correction": "Holm", "explanation": self.explain(),
        }  # fmt: skip

    def __str__(self) -> str:
        tables = "\n\n".join(align_columns(*table) for table in (self.table(), self.settings()))
        return "\n".join([tables, "", *self.notes(), "", self.explain()])

    def __repr__(self) -> str:
        best = f"best {self.best.name!r} with {self.metric} {self.best.score:.4f}"
        return f"<Compared: {count(len(self.rows), 'learner')} on {self.sizes['test']:,} test examples, {best}>"

    def _repr_html_(self) -> str:
        tables = [html.table(lines, header) for header, lines in (self.table(), self.settings())]
        return html.block(*tables, *map(html.note, [*self.notes(), *self._sentences()]))

    # ---- words

    def explain(self) -> str:
        """Return a summary in words.

        It names the best learner and those that are not worse. It says whether another linear model beats every
        perceptron, and why, and which mistakes they make.
        """
        return "\n".join(self._sentences())

    def _sentences(self) -> list[str]:
        sizes, best, others = self.sizes, self.best, self.rows[1:]
        scaled = ", standardised for all learners" if self.scaled else ""
        lines = [
            f"{sizes['train']:,} training, {sizes['dev']:,} validation and {sizes['test']:,} test examples "
            f"(split {self.parts.how}); {self.n_features:,} features{scaled}.",
            f"Best on the test set: {best.what}, {self.metric} {best.score:.4f} "
            f"({best.interval.low:.4f} to {best.interval.high:.4f}).",
        ]
        if others:
            similar, worse = (
                ", ".join(row.what for row in others if row.worse == is_worse) or "none" for is_worse in (False, True)
            )
            lines.append(
                f"Not significantly worse: {similar}. Significantly worse: {worse}. (The best was chosen by the test "
                "set, so its score is slightly too optimistic.)"
            )
        lines += [*self._explain_families(), *self._explain_kernel(), *self._explain_mistakes()]
        lines += [f"Left out: {name}: {reason}." for name, reason in self.left_out.items()]
        if self.rerun:
            lines.append(RERUN)
        if self.looks > 1:
            lines.append(
                f"FORCED: this test set was used {self.looks} times, so the test scores may be too optimistic."
            )
        return lines

    def _explain_families(self) -> list[str]:
        """Compare the best perceptron with the best other model."""
        ours, theirs = self.best_perceptron, self.best_relative
        if ours is None or theirs is None:
            return []
        p = self.p_of(ours, theirs)
        points, evidence = 100 * abs(theirs.score - ours.score), f"{self.test} {_p_equals(p)}"
        if not self.baseline_leads:
            lead = "as good as" if ours.score == theirs.score else f"{points:.2f} points ahead of"
            return [f"No other model beats every perceptron: {ours.what} is {lead} {theirs.what} ({evidence})."]
        start = f"Another model beats every perceptron: {theirs.what} is {points:.2f} points ahead of {ours.what}"
        if p >= SIGNIFICANT:
            return [f"{start}, which may be chance ({evidence})."]
        return [f"{start} ({evidence}). A likely reason, not tested: {self.guess_reason(theirs, ours)}"]

    def guess_reason(self, theirs: Contender, ours: Contender) -> str:
        """Return a likely reason why another model is ahead: a guess from sizes and accuracies, not tested."""
        n, d = self.sizes["train"] + self.sizes["dev"], self.n_features
        if theirs.name == "naive_bayes":
            if n < d:
                return (
                    f"there are fewer examples ({n:,}) than features ({d:,}): naive Bayes estimates each feature "
                    "separately, for which few examples are enough."
                )
            return "its assumption, that features are independent given the class, does little harm here."
        penalty = ""
        if theirs.name in PENALISED:
            penalty = f", with a penalty on large weights ({theirs.setting.describe()})"
        fits = (
            f"{ours.what} is right on {ours.train_accuracy:.1%} of the training set, {theirs.what} on "
            f"{theirs.train_accuracy:.1%}"
        )
        if ours.train_accuracy >= SEPARATED > theirs.train_accuracy:
            return f"{fits}: the perceptron overfits, while {theirs.what} does not{penalty}."
        if ours.train_accuracy >= SEPARATED:
            return f"{fits}: of the many decision boundaries that fit, {theirs.what} finds a better one{penalty}."
        return (
            f"the classes overlap ({fits}): the perceptron's rule never converges then, and it averages weights that "
            f"still change, while {theirs.what} minimises one loss over all examples{penalty}."
        )

    def _explain_kernel(self) -> list[str]:
        """Say whether a curved boundary is needed: compare the kernel with the best linear model."""
        kernel = next((row for row in self.rows if row.name == "kernel"), None)
        linear = next((row for row in self.rows if row.name not in ("kernel", "naive_bayes")), None)
        if kernel is None or linear is None:
            return []
        p, points = self.p_of(kernel, linear), 100 * (kernel.score - linear.score)
        evidence = f"{self.test} {_p_equals(p)}"
        if points > 0 and p < SIGNIFICANT:
            return [
                f"A curved decision boundary is needed: the kernel ({kernel.setting.describe()}) is {points:.2f} "
                f"points ahead of the best linear model, {linear.what} ({evidence})."
            ]
        if points < 0 and p < SIGNIFICANT:
            return [
                f"A linear decision boundary is enough: the kernel is {-points:.2f} points behind {linear.what} "
                f"({evidence})."
            ]
        return [
            "A curved decision boundary makes no significant difference (kernel against "
            f"{linear.what}: {_p_equals(p)})."
        ]

    def _explain_mistakes(self) -> list[str]:
        """Compare the mistakes of the best of both families."""
        both = [row for row in (self.best_perceptron, self.best_relative) if row is not None]
        lines = [f"{row.what} gets {(~row.right).sum():,} wrong{self._most_frequent_mistake(row)}." for row in both]
        if len(both) == 2:
            ours, theirs = both
            only_ours, only_theirs = int((ours.right & ~theirs.right).sum()), int((theirs.right & ~ours.right).sum())
            if only_ours == only_theirs == 0:
                return [*lines, f"Both get the same {(~ours.right).sum():,} wrong."]
            neither = (~ours.right & ~theirs.right).sum()
            lines.append(
                f"Only {ours.what} gets {only_ours:,} right, only {theirs.what} {only_theirs:,}; both get {neither:,} "
                "wrong."
            )
        return lines

    def _most_frequent_mistake(self, row: Contender) -> str:
        pairs = Counter(zip(self.y_test[~row.right].tolist(), row.predicted[~row.right].tolist(), strict=True))
        first = min(pairs.items(), key=lambda item: (-item[1], str(item[0])), default=None)
        if first is None or first[1] < 2:
            return ""
        (label, predicted), n = first
        return f", most often {short(str(label), 28)} predicted as {short(str(predicted), 28)} ({n:,} times)"


def align_columns(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table as text with aligned columns."""
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    rows = ["  ".join(f"{cell:{w}}" for cell, w in zip(line, widths, strict=True)) for line in [header, *lines]]
    return "\n".join(row.rstrip() for row in rows)


def _p_equals(p: float) -> str:
    return f"p = {_p_text(p)}" if p >= 0.001 else f"p {_p_text(p)}"


def _p_text(p: float) -> str:
    return f"{p:.2g}" if p >= 0.001 else "< 0.001"


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
    metric: str | MetricFunction = "accuracy",
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
        A function that is called with a line per learner about its validation result, to show progress.

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
    scorer = Metric(metric)
    if scale not in ("auto", True, False):
        raise ValueError(f"scale={scale!r}: give 'auto', True or False.")
    if max_seconds is not None and not max_seconds > 0:
        raise ValueError(f"max_seconds={max_seconds!r}: give a number above 0, or None.")
    X, y = _check_examples(X, y, "")
    dev, test = (_check_part(part, name, X.shape[1]) for part, name in ((dev, "dev"), (test, "test")))
    parts = parts_of(X, y, dev=dev, test=test, split=split, groups=groups, keys=keys, random_state=random_state)
    if parts.test is None:
        raise ValueError("test=0 leaves no test set to compare on: give a share between 0 and 1, or data (X, y).")
    check_labels_meet(parts)
    request = {"learners": learners, "metric": metric, "scale": scale, "max_seconds": max_seconds}
    sealed = SealedTest(parts, parts.test, ledger, force, what="compare", random_state=random_state, **request)
    train, y_train = parts.train.taken()
    if len(np.unique(y_train)) < 2:
        raise ValueError("The training set has only one class: it needs two or more.")
    scaled = _needs_scaling(train, scale)
    seed = random_state if isinstance(random_state, int) else 0
    selected = learners_for(StandardScaler().fit_transform(train) if scaled else train, learners, seed)
    tuning_parts = Parts(Part(train, y_train), Part(*parts.dev.taken()), None, parts.how)
    learnable = parts.learnable().taken()
    tuned: list[_Tuned] = []
    left_out: dict[str, str] = {}
    for learner in selected:
        try:
            result = _Tuned(learner, tuning_parts, learnable, scorer, scaled, max_seconds)
        except _LeftOutError as error:
            left_out[learner.name] = str(error)
        except Exception as error:
            if learner.name in LEARNERS:
                raise
            left_out[learner.name] = f"it failed with {type(error).__name__}: {error}"  # a learner of the caller's own
        else:
            tuned.append(result)
        if tell is not None:
            reason = left_out.get(learner.name)
            tell(f"{learner.what}: {result.outcome() if reason is None else f'left out: {reason}'}")
    if not tuned:
        raise ValueError(f"No learner is left to compare: {'; '.join(f'{n}: {r}' for n, r in left_out.items())}.")
    X_test, y_test = sealed.open()
    rows = [result.test(X_test, y_test) for result in tuned]
    sizes = {"train": len(parts.train), "dev": len(parts.dev), "test": sealed.n}
    return Compared(
        rows, left_out, np.asarray(y_test), parts, sizes, scorer, scaled, sealed.looks, X.shape[1], sealed.rerun
    )


def _needs_scaling(train: Any, scale: Literal["auto"] | bool) -> bool:
    if sp.issparse(train):
        if scale is True:
            raise ValueError("scale=True: sparse data cannot be standardised, because their zeros would be lost.")
        return False
    if scale != "auto":
        return bool(scale)
    return uneven(train) or not 1 / EXTREME_SQUARE < mean_square(train) < EXTREME_SQUARE


def _check_examples(X: Any, y: Any, prefix: str) -> Examples:
    """Return numbers and one label each, in a form that all learners accept."""
    if isinstance(X, list | tuple) and len(X) and isinstance(X[0], str):
        raise ValueError(f"{prefix}X contains texts: convert them to features first, with HashedText or a vectorizer.")
    X = check_rows(X)
    if sp.issparse(X) and X.nnz < 2**31 and X.shape[1] < 2**31:  # liblinear accepts no other indices
        X = sp.csr_matrix((X.data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32)), shape=X.shape)
    if sp.issparse(y) or (isinstance(y, list | tuple) and any(isinstance(label, list | tuple | set) for label in y)):
        raise ValueError(f"{prefix}y has several labels per example: compare takes one label per example.")
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"{prefix}y has {y.ndim} dimensions: compare takes one label per example.")
    if y.dtype.kind == "f" and not np.array_equal(y, np.round(y)):
        raise ValueError(f"{prefix}y contains fractions or missing values: compare takes classes.")
    return X, y


def _check_part(part: Any, name: str, n_features: int) -> Any:
    if not isinstance(part, tuple) or len(part) != 2:
        return part
    X, y = _check_examples(*part, f"{name}: ")
    if X.shape[1] != n_features:
        raise ValueError(f"{name} has {X.shape[1]:,} features, but X has {n_features:,}: give the same features.")
    return X, y


class _LeftOutError(Exception):
    """A learner is not compared, for the reason in the message."""


class _Tuned:
    """A learner, tuned on the validation set, and trained with its best setting on the learnable examples.

    parts: without the test set. learnable: the training and validation sets together. Raises _LeftOutError.
    """

    def __init__(
        self, learner: Learner, parts: Parts, learnable: Examples, metric: Metric, scaled: bool,
        max_seconds: float | None,
    ):  # fmt: skip
        X, y = learnable
        if learner.name == "kernel" and len_of(X) > MAX_KERNEL_EXAMPLES:
            raise _LeftOutError(
                f"its time grows with the square of the number of examples, and {len_of(X):,} are more than "
                f"{MAX_KERNEL_EXAMPLES:,}: compare on a subset"
            )
        self.learner, self.metric, self.notes = learner, metric, list[str]()
        estimator, prefix = learner.estimator, ""
        if scaled:
            is_pipeline = isinstance(estimator, Pipeline)
            prefix = "" if is_pipeline else "learner__"
            steps = estimator.steps if is_pipeline else [("learner", estimator)]
            estimator = Pipeline([("scaled", StandardScaler()), *steps])
        candidate = Candidate(estimator)
        candidate.check()
        start = time.perf_counter()
        self.settings = self._tune(candidate, prefix, parts, max_seconds)
        self.tuning_seconds = time.perf_counter() - start
        self.best = best_of(self.settings)
        self.model: Any = candidate.final(self.best)
        start = time.perf_counter()
        with _convergence_warnings() as messages:
            self.model.fit(X, y)
        self.training_seconds = time.perf_counter() - start
        if messages:
            limit = getattr(last_step(self.model)[0], "max_iter", None)
            self.notes.insert(0, "did not converge" if limit is None else f"did not converge in {limit:,} iterations")
        sample = np.unique(np.linspace(0, len_of(X) - 1, MAX_TRAIN_ACCURACY_EXAMPLES).astype(int))
        self.train_accuracy = float(np.mean(self.model.predict(X[sample]) == y[sample]))

    def _tune(self, candidate: Candidate, prefix: str, parts: Parts, max_seconds: float | None) -> list[Setting]:
        """Return the settings that were tried within the time limit."""
        settings: list[Setting] = []
        runs = list(ParameterGrid(self.learner.grid or [{}]))
        start = last = time.perf_counter()
        longest = 0.0
        for params in runs:
            now = time.perf_counter()
            # a learner that cannot be stopped starts no setting that may take longer than the time left
            longest, last = 0.0 if candidate.tunes_epochs else max(longest, now - last), now
            left = math.inf if max_seconds is None else max_seconds - (now - start)
            if settings and left <= longest:
                break
            grid = {prefix + name: [value] for name, value in params.items()}
            has_limit = max_seconds is not None and candidate.tunes_epochs and candidate.last.max_seconds is None
            limit = {f"{candidate.prefix}max_seconds": max(left, 1e-9)} if has_limit else {}
            with _convergence_warnings():
                limited = candidate.with_params(limit)
                (setting,) = try_settings(Candidate(limited), parts, grid, self.metric)
            if has_limit and setting.stop_reason == "max_seconds":
                curve = setting.curve[:-1]  # without the epoch that the time limit cut short
                if curve:
                    settings.append(replace(setting, curve=curve, score=max(curve), epochs=1 + curve.index(max(curve))))
                break
            settings.append(setting)
        else:
            return settings
        if not settings:
            raise _LeftOutError(f"{max_seconds:g} seconds are not enough for one epoch")
        progress = f"with setting {len(settings)} of {len(runs)}"
        self.notes.append(f"tuning ended at the time limit of {max_seconds:g} seconds, {progress}")
        return settings

    def outcome(self) -> str:
        return f"{self.metric.name} {self.best.score:.4f} on the validation set, {self.tuning_seconds:.1f} s"

    def test(self, X: Any, y: Any) -> Contender:
        """Return the learner with its results on the test set."""
        seconds: list[float] = []
        while len(seconds) < MAX_TIMED_PREDICTIONS and not (seconds and seconds[0] > SLOW_PREDICTION_SECONDS):
            start = time.perf_counter()
            predicted = np.asarray(self.model.predict(X))
            seconds.append(time.perf_counter() - start)
        compared, answers = self.metric.inputs(self.model, X, y, predicted)
        score, interval = score_with_interval(self.metric, compared, answers)
        return Contender(
            name=self.learner.name, what=self.learner.what, family=self.learner.family, score=score, interval=interval,
            dev_score=self.best.score, setting=self.best, settings_tried=len(self.settings),
            train_accuracy=self.train_accuracy, training_seconds=self.training_seconds,
            tuning_seconds=self.tuning_seconds, prediction_seconds=1000 * min(seconds) / len_of(X),
            size=size_of(self.model), probabilistic=hasattr(self.model, "predict_proba"), notes=tuple(self.notes),
            model=self.model, predicted=predicted, right=predicted == np.asarray(y), compared=compared,
            answers=self.metric.comparable(answers),
        )  # fmt: skip


@contextmanager
def _convergence_warnings() -> Iterator[list[str]]:
    """Collect the messages of convergence warnings; other warnings are issued again."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield messages
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            messages.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
