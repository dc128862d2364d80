"""The result of `compare`: one row per learner, as tables for terminals, pages and notebooks, and as a summary."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from perceptrons.engine import html
from perceptrons.engine.wording import short
from perceptrons.selection.learners import PERCEPTRON
from perceptrons.selection.seal import RERUN
from perceptrons.selection.search import Setting, named, plain
from perceptrons.selection.splitting import Parts
from perceptrons.selection.statistics import Interval, Metric, holm, mcnemar, swapping

SIGNIFICANT = 0.05
MARK = "*"
SEPARATED = 0.995  # accuracy on what was learned from: nearly nothing is left to correct
PENALISED = ("logistic", "svm", "ridge")


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
        """Is it significantly worse than the best?"""
        return self.p < SIGNIFICANT

    def to_dict(self) -> dict[str, Any]:
        """As JSON knows it."""
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
        self._figure, self.y_test = metric, y_test
        ranked = sorted(rows, key=lambda row: -row.score)
        alone = [self.p_of(ranked[0], row) for row in ranked[1:]]
        self.rows = ranked[:1] + [
            replace(row, p=p, p_alone=one) for row, p, one in zip(ranked[1:], holm(alone), alone, strict=True)
        ]
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

    def row(self, name: str) -> Contender:
        """The learner of that name."""
        for row in self.rows:
            if row.name == name:
                return row
        reason = f" ({self.left_out[name]})" if name in self.left_out else ""
        raise KeyError(
            f"{name!r} was not compared{reason}: the learners are {', '.join(row.name for row in self.rows)}."
        )

    @property
    def test(self) -> str:
        """The test for a difference between two learners: exact for accuracy, by swapping answers for other scores."""
        return "McNemar" if self._counts_answers else "by swapping predictions,"

    @property
    def _counts_answers(self) -> bool:
        return self._figure.name == "accuracy" and not self._figure.own

    def p_of(self, one: Contender, other: Contender) -> float:
        """The p-value of the difference between two learners in the figure that they are ranked by."""
        if self._counts_answers:
            return mcnemar(one.right, other.right)
        return swapping(self._figure, one.compared, one.answers, other.answers)

    def mcnemar(self, one: str, other: str) -> float:
        """The p-value of the difference in right answers, for a single comparison that was planned."""
        return mcnemar(self.row(one).right, self.row(other).right)

    def explain(self) -> str:
        """Return a summary in words.

        It names the best learner and those that are not worse. It says whether another linear model beats every
        perceptron, and why, and which mistakes they make.
        """
        return "\n".join(in_words(self))

    def notes(self) -> list[str]:
        """What the table needs to be understood."""
        notes, n = [], len(self.rows) - 1
        if n:
            how = (
                "McNemar's exact test on correct predictions"
                if self._counts_answers
                else "a permutation test that swaps predictions"
            )
            several = f" after Holm's correction for {n} comparisons" if n > 1 else ""
            notes = [f"{MARK} significantly worse than the best: {how}, p < {SIGNIFICANT}{several}."]
        return notes + [f"{row.what}: {note}." for row in self.rows for note in row.notes]

    def table(self, times: bool = True) -> tuple[list[str], list[list[str]]]:
        """Head and lines of the table. times: with the columns that differ from run to run."""
        head = ["learner", "family", self.metric, "95% interval", "p"]
        head += ["trained in s", "1,000 predictions in s"] * times
        return [*head, "kB", "probabilities"], [self._line(row, times) for row in self.rows]

    def _line(self, row: Contender, times: bool) -> list[str]:
        spent = [f"{row.training_seconds:.3g}", f"{row.prediction_seconds:.2g}"] * times
        size = "-" if row.size is None else _kilobytes(row.size)
        interval = f"{row.interval.low:.4f} to {row.interval.high:.4f}"
        kind = "yes" if row.probabilistic else "no"
        family = row.family if row.family == PERCEPTRON else "baseline"
        return [row.what, family, f"{row.score:.4f}", interval, self.p_in_words(row), *spent, size, kind]

    def p_in_words(self, row: Contender) -> str:
        """The corrected p-value, marked if the learner is significantly worse than the best."""
        return "best" if row is self.best else f"{p_text(row.p)}{MARK if row.worse else ''}"

    def settings(self) -> tuple[list[str], list[list[str]]]:
        """Head and lines of a second table: how each was tuned."""
        head = ["learner", "tried", f"best {self.metric} on the validation set", "setting", "tuned in s"]
        return head, [
            [row.what, str(row.settings_tried), f"{row.dev_score:.4f}", named(row.setting), f"{row.tuning_seconds:.3g}"]
            for row in self.rows
        ]

    def to_markdown(self, times: bool = True) -> str:
        """The table for a page. times: with the columns that differ from run to run."""
        head, lines = self.table(times)
        cells = [head, ["---"] * len(head), *[[cell.replace("|", "\\|") for cell in line] for line in lines]]
        return "\n".join(f"| {' | '.join(line)} |" for line in cells)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON knows it, but the models and what they answered."""
        return {
            "split": self.parts.how, "sizes": self.sizes, "n_features": self.n_features, "metric": self.metric,
            "scaled": self.scaled, "looks": self.looks, "rerun": self.rerun,
            "rows": [row.to_dict() for row in self.rows],
            "left_out": self.left_out, "test": self.test, "correction": "Holm", "explanation": self.explain(),
        }  # fmt: skip

    def __str__(self) -> str:
        tables = "\n\n".join(aligned(*table) for table in (self.table(), self.settings()))
        return "\n".join([tables, "", *self.notes(), "", self.explain()])

    def __repr__(self) -> str:
        best = f"best {self.best.name!r} with {self.metric} {self.best.score:.4f}"
        learners = f"{len(self.rows)} learner{'s' * (len(self.rows) != 1)}"
        return f"<Compared: {learners} on {self.sizes['test']:,} test examples, {best}>"

    def _repr_html_(self) -> str:
        tables = [html.table(lines, head) for head, lines in (self.table(), self.settings())]
        words = [html.note(line) for line in [*self.notes(), *in_words(self)]]
        return html.block(tables[0], tables[1], *words)


def aligned(head: Sequence[str], lines: list[list[str]]) -> str:
    """A table as text, its columns below each other."""
    widths = [max(len(line[k]) for line in [head, *lines]) for k in range(len(head))]
    return "\n".join("  ".join(f"{cell:{w}}" for cell, w in zip(line, widths, strict=True)).rstrip()
                     for line in [head, *lines])  # fmt: skip


def _kilobytes(size: int) -> str:
    return f"{size / 1000:.3g}" if size < 100_000 else f"{size / 1000:,.0f}"


def in_words(found: Compared) -> list[str]:
    sizes, best = found.sizes, found.best
    scaled = ", standardised for all learners" if found.scaled else ""
    lines = [
        f"{sizes['train']:,} training, {sizes['dev']:,} validation and {sizes['test']:,} test examples "
        f"(split {found.parts.how}); {found.n_features:,} features{scaled}.",
        f"Best on the test set: {best.what}, {found.metric} {best.score:.4f} "
        f"({best.interval.low:.4f} to {best.interval.high:.4f}).",
    ]
    others = found.rows[1:]
    if others:
        lines.append(
            f"Not significantly worse: {_names(row for row in others if not row.worse)}. Significantly worse: "
            f"{_names(row for row in others if row.worse)}. (The best was chosen by the test set, so its score is "
            "slightly too optimistic.)"
        )
    lines += [*_families(found), *_curved(found), *_wrong(found)]
    lines += [f"Left out: {name}: {reason}." for name, reason in found.left_out.items()]
    if found.rerun:
        lines.append(RERUN)
    if found.looks > 1:
        lines.append(f"FORCED: this test set was used {found.looks} times, so the test scores may be too optimistic.")
    return lines


def relative_ahead(found: Compared) -> bool:
    """Is another linear model better on the test set than every perceptron?"""
    ours, theirs = found.best_perceptron, found.best_relative
    return ours is not None and theirs is not None and theirs.score > ours.score


def _families(found: Compared) -> list[str]:
    ours, theirs = found.best_perceptron, found.best_relative
    if ours is None or theirs is None:
        return []
    p = found.p_of(ours, theirs)
    points = 100 * abs(theirs.score - ours.score)
    if not relative_ahead(found):
        equal = "as good as" if ours.score == theirs.score else f"{points:.2f} points ahead of"
        return [
            f"No other model beats every perceptron: {ours.what} is {equal} {theirs.what} ({found.test} {_p_is(p)})."
        ]
    start = f"Another model beats every perceptron: {theirs.what} is {points:.2f} points ahead of {ours.what}"
    if p >= SIGNIFICANT:
        return [f"{start}, which may be chance ({found.test} {_p_is(p)})."]
    return [f"{start} ({found.test} {_p_is(p)}). A likely reason, not tested: {why(found, theirs, ours)}"]


def why(found: Compared, theirs: Contender, ours: Contender) -> str:
    """A likely reason why another linear model is ahead: a guess from sizes and accuracies, not tested."""
    n, d = found.sizes["train"] + found.sizes["dev"], found.n_features
    fitted = f"{ours.what} is right on {ours.train_accuracy:.1%} of the training set"
    if theirs.name == "naive_bayes":
        if n < d:
            return (
                f"there are fewer examples ({n:,}) than features ({d:,}): naive Bayes estimates each feature "
                "separately, for which few examples are enough."
            )
        return "its assumption, that features are independent given the class, does little harm here."
    penalty = f", with a penalty on large weights ({named(theirs.setting)})" if theirs.name in PENALISED else ""
    both = f"{fitted}, {theirs.what} on {theirs.train_accuracy:.1%}"
    if ours.train_accuracy >= SEPARATED > theirs.train_accuracy:
        return f"{both}: the perceptron overfits, while {theirs.what} does not{penalty}."
    if ours.train_accuracy >= SEPARATED:
        return f"{both}: of the many decision boundaries that fit, {theirs.what} finds a better one{penalty}."
    return (
        f"the classes overlap ({both}): the perceptron's rule never converges then, and it averages weights that "
        f"still change, while {theirs.what} minimises one loss over all examples{penalty}."
    )


def _curved(found: Compared) -> list[str]:
    """Whether a curved boundary is needed: the kernel against the best of the others."""
    kernel = next((row for row in found.rows if row.name == "kernel"), None)
    straight = next((row for row in found.rows if row.name not in ("kernel", "naive_bayes")), None)
    if kernel is None or straight is None:
        return []
    p, points = found.p_of(kernel, straight), 100 * (kernel.score - straight.score)
    if points > 0 and p < SIGNIFICANT:
        return [
            f"A curved decision boundary is needed: the kernel ({named(kernel.setting)}) is {points:.2f} points "
            "ahead of the "
            f"best linear model, {straight.what} ({found.test} {_p_is(p)})."
        ]
    if points < 0 and p < SIGNIFICANT:
        return [
            f"A linear decision boundary is enough: the kernel is {-points:.2f} points behind {straight.what} "
            f"({found.test} {_p_is(p)})."
        ]
    return [f"A curved decision boundary makes no significant difference (kernel against {straight.what}: {_p_is(p)})."]


def _wrong(found: Compared) -> list[str]:
    """What the best of both families get wrong."""
    both = [row for row in (found.best_perceptron, found.best_relative) if row is not None]
    lines = [f"{row.what} gets {(~row.right).sum():,} wrong{_confusion(found.y_test, row)}." for row in both]
    if len(both) == 2:
        ours, theirs = both
        alone = int((ours.right & ~theirs.right).sum()), int((theirs.right & ~ours.right).sum())
        if not any(alone):
            return [*lines, f"Both get the same {(~ours.right).sum():,} wrong."]
        neither = (~ours.right & ~theirs.right).sum()
        lines.append(
            f"Only {ours.what} gets {alone[0]:,} right, only {theirs.what} {alone[1]:,}; both get {neither:,} wrong."
        )
    return lines


def _confusion(y: np.ndarray, row: Contender) -> str:
    pairs = Counter(zip(y[~row.right].tolist(), row.predicted[~row.right].tolist(), strict=True))
    (true, answered), times = min(pairs.items(), key=lambda item: (-item[1], str(item[0])), default=((0, 0), 0))
    if times < 2:
        return ""
    return f", most often {short(str(true), 28)} predicted as {short(str(answered), 28)} ({times:,} times)"


def _names(rows: Iterable[Contender]) -> str:
    return ", ".join(row.what for row in rows) or "none"


def _p_is(p: float) -> str:
    return f"p = {p_text(p)}" if p >= 0.001 else f"p {p_text(p)}"


def p_text(p: float) -> str:
    """A p-value; how small it is below 0.001 does not matter."""
    return f"{p:.2g}" if p >= 0.001 else "< 0.001"
