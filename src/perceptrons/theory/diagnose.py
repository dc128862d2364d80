"""Diagnoses a data set: separability with a proof, mistake bounds, feature scales, contradicting labels.

`diagnose` returns a `Diagnosis`, which also says everything in words and as plain values for JSON.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from perceptrons.engine.wording import count, percent, short
from perceptrons.linear import Perceptron
from perceptrons.theory.bounds import Bound, mistake_bound
from perceptrons.theory.certificate import Certificate
from perceptrons.theory.duplicates import contradictions
from perceptrons.theory.examples import Clock, Examples, as_whole_numbers, check_examples
from perceptrons.theory.scales import Scales, even, of_one_length, scales
from perceptrons.theory.separability import separability

CONFUSION_EPOCHS = 5  # of the perceptron that shows which classes are confused
MAX_RUN_SECONDS = 5.0  # of the perceptron that shows how many updates are made
TRIAL_FOLDS = 5
MAX_TRIAL_EXAMPLES = 5_000
MAX_TRIAL_NUMBERS = 2_000_000  # in these examples
MIN_TRIAL_EXAMPLES = 30  # below, accuracy says nothing
TRIAL_EPOCHS = 50
MIN_ACCURACY_GAIN = 0.01  # from which scaling is advised
MAX_DOMINANT_FEATURES = 20  # in `to_dict`
MAX_NAMED_CONSTANTS = 5  # features
OUTSTANDING = 10.0  # times the median: from here on a standard deviation, or a norm, is worth a sentence


class Effort(NamedTuple):
    """The updates of a perceptron: the bound, and those of a run to the end if separable, else of one epoch."""

    bound: Bound
    at_most: int | None  # updates in the run; None if the time limit was too short to bound them
    updates: int
    epochs: int
    converged: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        bound, names = self.bound, ("radius", "margin", "deviation")
        values = {"at_most": bound.updates, "in_epochs": bound.epochs, **{name: getattr(bound, name) for name in names}}
        return {**values, "updates": self.updates, "epochs": self.epochs, "converged": self.converged}


class Trial(NamedTuple):
    """The accuracy of a default perceptron by cross-validation, for the features as given and scaled."""

    accuracy: float
    scaled_accuracy: float
    changed: int  # examples that only one of the two predicts correctly
    n_examples: int

    @property
    def difference(self) -> int:
        """1 if scaled features are better by two standard errors and a point, -1 if they are worse, else 0."""
        gain = (self.scaled_accuracy - self.accuracy) * self.n_examples
        if abs(gain) <= 1 + 2 * self.changed**0.5 or abs(gain) < MIN_ACCURACY_GAIN * self.n_examples:
            return 0
        return 1 if gain > 0 else -1


class Pair(NamedTuple):
    """Two classes and whether a hyperplane separates them; if not, the rows that prove it."""

    classes: tuple[Any, Any]
    separable: bool | None
    rows: list[int]


@dataclass
class Diagnosis:
    """The result of `diagnose`; parts are None if the time limit was reached before.

    Attributes
    ----------
    separable : True, False or None
        Whether the data are linearly separable; they are not if two of the classes are not.
    certificate : Certificate
        The proof that the data are separable, or that they are not.
    groups : list of arrays
        Groups of identical rows with different labels.
    scales : Scales
    effort, even : Effort or None
        The mistake bound and the updates made, for the examples as given and with scaled features.
    trial : Trial or None
        The accuracy of a perceptron on some examples, with the features as given and scaled; None if there are too few.
    pairs : list of Pair
        The pairs of classes that were checked.
    """

    examples: Examples
    fit_intercept: bool
    feature_names: Sequence[str] | Mapping[int, str] | None
    lines: Sequence[int | str] | None
    groups: list[np.ndarray]
    scales: Scales
    certificate: Certificate
    effort: Effort | None = None
    even: Effort | None = None
    trial: Trial | None = None
    pairs: list[Pair] = field(default_factory=list)

    # ---- results

    @property
    def codes(self) -> np.ndarray:
        return self.examples.codes

    @property
    def classes(self) -> list[Any]:
        return self.examples.classes.tolist()

    @property
    def separable(self) -> bool | None:
        if self.certificate.separable is None and any(pair.separable is False for pair in self.pairs):
            return False
        return self.certificate.separable

    @property
    def counts(self) -> list[int]:
        """The number of examples of each class."""
        return np.bincount(self.codes, minlength=len(self.classes)).tolist()

    @property
    def is_centred(self) -> bool:
        """Whether scaled features have mean 0 and variance 1; otherwise their largest value is 1."""
        return self.fit_intercept and not sp.issparse(self.examples.X)

    @property
    def looks_like_text(self) -> bool:
        """Whether the features look like words of texts, which need no scaling."""
        return of_one_length(self.examples.X)

    @property
    def unlearnable(self) -> int:
        """The number of examples that every classifier gets wrong, because equal rows get one prediction."""
        return sum(len(group) - int(np.bincount(self.codes[group]).max()) for group in self.groups)

    @property
    def n_pairs(self) -> int:
        k = len(self.classes)
        return k * (k - 1) // 2

    def place(self, row: int) -> int | str:
        """Return the line of an example, or its row, from 0, if there are no lines."""
        line = row if self.lines is None else self.lines[row]
        return str(line) if isinstance(line, str) else int(line)

    def feature(self, column: int) -> str:
        """Return the name of a feature, or its column, from 1."""
        names = self.feature_names
        if names is None or (isinstance(names, Mapping) and column not in names):
            return f"column {column + 1}"
        return str(names[column])

    def constant_columns(self) -> list[int]:
        """Return the columns in which every value is the same, except hashed columns without a feature."""
        columns, names = self.scales.constant.nonzero()[0].tolist(), self.feature_names
        return [column for column in columns if column in names] if isinstance(names, Mapping) else columns

    def dominant_columns(self, limit: int) -> list[int]:
        """Return the columns with the largest shares of R^2, the largest first; all but the first have at least 1%."""
        order = np.argsort(-self.scales.shares, kind="stable")[:limit].tolist()
        return [column for place, column in enumerate(order) if not place or self.scales.shares[column] >= 0.01]

    def deviation_ratio(self) -> float:
        """Return the largest standard deviation of a feature over the median one; constant features do not count."""
        deviations = self.scales.deviations[self.scales.deviations > 0]
        return float(deviations.max() / np.median(deviations)) if len(deviations) else 1.0

    # ---- words

    @property
    def verdict(self) -> str:
        title = {True: "Linearly separable", False: "Not linearly separable", None: "Undecided"}[self.separable]
        return title + " by hyperplanes through the origin" * (not self.fit_intercept)

    def explain_verdict(self) -> str:
        """Return the certificate in words, with examples named by line."""
        certificate = self.certificate
        if certificate.separable is not None:
            proof = certificate.explain_with_names(self.name_rows, self._name_examples)
            if certificate.number_type == "decimal":
                return proof
            return f"{proof} This is about the numbers as they were read, rounded to {certificate.number_type}."
        if self.separable is None:
            reason = certificate.reason
            return f"No proof was found, neither for nor against it: {reason} Give more time with --max-seconds."
        return "Two of the classes overlap; see below."

    @property
    def row_noun(self) -> str:
        """What examples are named by: "line" or "row"."""
        return "row" if self.lines is None else "line"

    def name_rows(self, rows: Sequence[int] | np.ndarray, limit: int = 10, with_labels: bool = False) -> str:
        """Return for example "lines 3, 4 and 7"."""
        names = [str(self.place(row)) for row in rows[:limit]]
        if with_labels:
            labels = (self.classes[self.codes[row]] for row in rows)
            names = [f"{name} ({short(str(label), 28)})" for name, label in zip(names, labels, strict=False)]
        if len(rows) > limit:
            names.append(f"{len(rows) - limit:,} more")
        noun = self.row_noun + "s" * (len(rows) > 1)
        return f"{noun} {names[0]}" if len(names) == 1 else f"{noun} {', '.join(names[:-1])} and {names[-1]}"

    def _name_examples(self, rows: list[int]) -> str:
        return f"The example{'s' * (len(rows) > 1)} in {self.name_rows(rows, with_labels=len(rows) == 2)}"

    def explain_contradictions(self) -> str:
        best = percent(1 - self.unlearnable / len(self.codes))
        return (
            f"No classifier can be right on all of these: at most {best} of all examples. Correct the labels, leave "
            "these examples out, or add a feature that distinguishes them."
        )

    def explain_other_pairs(self) -> list[str]:
        """Return sentences about the pairs of classes that were not found to overlap."""
        overlap = any(pair.separable is False for pair in self.pairs)
        undecided = sum(pair.separable is None for pair in self.pairs)
        lines = []
        if not overlap and not undecided and len(self.pairs) == self.n_pairs:
            lines.append("Every two classes can be separated, but not all at once by one weight vector per class.")
        if undecided:
            lines.append(f"For {undecided:,}, the time limit was too short.")
        if len(self.pairs) < self.n_pairs:
            lines.append(f"The other {self.n_pairs - len(self.pairs):,} were not checked: the time limit was reached.")
        return lines

    def explain_effort(self, effort: Effort) -> list[str]:
        """Return the mistake bound in words, and the updates of the run."""
        updates, epochs = count(effort.updates, "update"), count(effort.epochs, "epoch")
        if not self.certificate.separable:
            never = "It never converges. " if self.separable is False else ""
            vain = ", one per example: the bound from margin and deviation is not smaller" * (
                effort.at_most == len(self.codes)
            )
            bound = f"{never}In one epoch it makes at most {effort.at_most:,} updates{vain}."
            return [bound, f"In a trial run, it made {updates} in its first epoch."]
        bound = "It converges; the time limit was too short to bound the number of updates."
        if effort.at_most is not None:
            bound = f"It converges after at most {round_up(effort.at_most)} updates, in any order of the examples."
        if effort.converged:
            return [bound, f"In a trial run, it converged after {updates} in {epochs}."]
        return [bound, f"In a trial run, it was stopped after {updates} in {epochs}, before it converged."]

    def explain_radius(self) -> str:
        radius, farthest, typical = self.scales.radius, self.name_rows([self.scales.farthest]), self.scales.typical
        return f"Radius R = {radius:.4g}, the norm of the farthest example, {farthest}; the median is {typical:.4g}."

    def explain_scales(self) -> list[str]:
        """Return sentences about examples and features that stand out, and about constant features."""
        scales, lines = self.scales, []
        if scales.radius > OUTSTANDING * scales.typical:
            ratio = format_ratio(scales.radius / scales.typical)
            lines.append(f"One example makes the radius {ratio} the median: check {self.name_rows([scales.farthest])}.")
        if self.deviation_ratio() > OUTSTANDING and not self.looks_like_text:
            ratio = format_ratio(self.deviation_ratio())
            lines.append(f"The largest standard deviation of a feature is {ratio} the median one.")
        constant = self.constant_columns()
        if constant:
            names = ", ".join(short(self.feature(column), 28) for column in constant[:MAX_NAMED_CONSTANTS])
            text = count(len(constant), "feature is constant and adds", "features are constant and add")
            lines.append(f"{text} nothing: {names}{', ...' * (len(constant) > MAX_NAMED_CONSTANTS)}")
        if self.looks_like_text:
            lines.append("All rows have the same norm, as those of texts do: the features need no scaling.")
        elif self.effort is None or self.even is None:
            lines.append("Scaled features were not tried: the time limit was reached.")
        return lines

    def effort_rows(self, effort: Effort, even: Effort) -> list[tuple[str, str, str]]:
        """Return the rows of a table: radius, margin and updates for the features as given and scaled."""
        bias = ", with the 1 of the bias" * self.fit_intercept
        titles = [f"radius R{bias}", f"margin{bias}", "updates at most", "updates in a trial run"]
        if not self.certificate.separable:
            titles[2:3] = ["deviation D from that margin", "updates at most in one epoch"]
        columns = []
        for bound, at_most, updates, _, converged in (effort, even):
            limit = "not known" if at_most is None else round_up(at_most)
            cells = [f"{bound.margin:.4g}", limit, f"{updates:,}" if converged else f"over {updates:,}"]
            if not self.certificate.separable:
                is_vain = at_most == len(self.codes)  # then margin and deviation mean nothing
                margin = ["-", "-"] if is_vain else [f"{bound.margin:.4g}", f"{bound.deviation:.4g}"]
                cells = [*margin, f"{at_most:,}", f"{updates:,}"]
            columns.append([f"{bound.radius:.4g}", *cells])
        rows = list(zip(titles, *columns, strict=True))
        if self.trial is not None:
            accuracies = percent(self.trial.accuracy), percent(self.trial.scaled_accuracy)
            rows.append(("accuracy by cross-validation", *accuracies))
        return rows

    def advise_scaling(self, effort: Effort, even: Effort) -> list[str]:
        """Return what scaled features change: accuracy, as a trial shows, and the bound."""
        trial, tool = (
            self.trial,
            f"for instance with scikit-learn's {'Standard' if self.is_centred else 'MaxAbs'}Scaler",
        )
        lines = []
        if trial is not None:
            change = f"from {percent(trial.accuracy)} to {percent(trial.scaled_accuracy)}"
            source = f"{TRIAL_FOLDS}-fold cross-validation on {count(trial.n_examples, 'example')}"
            lines = {
                1: [f"Scale the features, {tool}: in a trial, accuracy rises {change} ({source})."],
                0: [f"In a trial, scaling the features hardly changes accuracy ({change}, {source})."],
                -1: [f"Scaling the features does not help: in a trial, accuracy falls {change} ({source})."],
            }[trial.difference]
        if effort.at_most is None or even.at_most is None:
            return lines
        if 2 * effort.at_most > 3 * even.at_most:
            ratio = format_ratio(Fraction(effort.at_most, max(1, even.at_most)))
            return [*lines, f"Scaling the features, {tool}, makes the bound {ratio} smaller."]
        if trial is None or trial.difference <= 0:
            lines.append("Scaling the features would not make the bound much smaller.")
        return lines

    # ---- JSON

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON. Rows count from 0, lines from 1; lines are None if there are none."""
        certificate, witness, scales, trial = self.certificate, self.certificate.witness, self.scales, self.trial
        return {
            "examples": len(self.codes),
            "features": self.examples.X.shape[1],
            "classes": self.classes,
            "counts": self.counts,
            "fit_intercept": self.fit_intercept,
            "separable": self.separable,
            "why": certificate.explain(),
            "margin": None if certificate.margin is None else certificate.margin._asdict(),
            "witness": None if witness is None else {
                **self._rows(witness.rows),
                "rivals": list(witness.rivals),
                "weights": [str(weight) for weight in witness.weights],
            },
            "effort": None if self.effort is None else self.effort.to_dict(),
            "scales": {
                "radius": scales.radius,
                "farthest": self._rows([scales.farthest]),
                "median_norm": scales.typical,
                "deviation_ratio": self.deviation_ratio(),
                "dominant": [
                    {
                        "feature": self.feature(column), "column": column, "share": float(scales.shares[column]),
                        "mean": float(scales.means[column]), "standard_deviation": float(scales.deviations[column]),
                    }
                    for column in self.dominant_columns(MAX_DOMINANT_FEATURES)
                ],
                "constant": [{"feature": self.feature(column), "column": column} for column in self.constant_columns()],
            },
            "even_scale": {
                "how": "mean 0, variance 1" if self.is_centred else "largest absolute value 1",
                "effort": None if self.even is None else self.even.to_dict(),
                "trial": None if trial is None else {
                    "accuracy": trial.accuracy, "scaled_accuracy": trial.scaled_accuracy, "folds": TRIAL_FOLDS,
                    "examples": trial.n_examples,
                },
            },
            "contradictions": {
                "groups": [self._rows(group) for group in self.groups],
                "examples": sum(map(len, self.groups)),
                "unlearnable": self.unlearnable,
                "best_accuracy": 1 - self.unlearnable / len(self.codes),
            },
            "pairs": {
                "total": self.n_pairs,
                "examined": len(self.pairs),
                "inseparable": [
                    {"classes": pair.classes, **self._rows(pair.rows)} for pair in self.pairs if pair.separable is False
                ],
                "undecided": [pair.classes for pair in self.pairs if pair.separable is None],
            },
        }  # fmt: skip

    def _rows(self, rows: Iterable[int]) -> dict[str, Any]:
        rows = [int(row) for row in rows]
        return {
            "rows": rows,
            "lines": None if self.lines is None else [self.place(row) for row in rows],
            "labels": [self.classes[self.codes[row]] for row in rows],
        }


def diagnose(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    max_seconds: float | None = 60.0,
    feature_names: Sequence[str] | Mapping[int, str] | None = None,
    lines: Sequence[int | str] | None = None,
    tell: Callable[[str], None] | None = None,
    decimals: bool = False,
) -> Diagnosis:
    """Decide whether the classes are linearly separable, with a proof, and find what makes training hard.

    Use it before training, or when training does not converge: it finds contradicting labels, features with different
    scales, and classes that overlap. It does not say how well a linear model will predict: a linear model can be very
    good on data that are not separable.

    Parameters
    ----------
    X, y : as in `Perceptron.fit`; dense or sparse, one label per example
    fit_intercept : bool, default=True
        If False, only hyperplanes through the origin are considered.
    max_seconds : float or None, default=60.0
        The time limit. The search for a proof gets half of it. None: no limit.
    feature_names : sequence of str, or dict of names by column, from 0, optional
        The names of the features; by default, their columns, numbered from 1.
    lines : sequence of int or str, optional
        The line of each example in its file; for several files with the file name, such as "b.csv:7".
    tell : function, optional
        A function that gets one line about each next step, to show progress.
    decimals : bool, default=False
        True: X was read from decimals, and the proof is about those, as in `separability`, unless they need more than
        15 digits. False: the proof is about the float64 numbers. `certificate.number_type` says which it was.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> from perceptrons.theory import diagnose
    >>> found = diagnose([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> found.separable, found.effort.bound.updates, found.to_dict()["contradictions"]["groups"]
    (False, 4, [])
    """
    tell = tell or (lambda message: None)
    clock = Clock(max_seconds, 1.0)
    examples = check_examples(X, y)
    X = examples.X
    tell("Searching for a proof ...")
    decimals = decimals and as_whole_numbers(X) is not None
    diagnosis = Diagnosis(
        examples, bool(fit_intercept), feature_names, lines, contradictions(X, examples.codes),
        scales(X, fit_intercept),
        separability(X, y, max_seconds=clock.fraction_left(0.5), fit_intercept=fit_intercept, decimals=decimals),
    )  # fmt: skip
    if not clock.is_over:
        tell("Bounding and counting updates ...")
        diagnosis.effort = _measure_effort(diagnosis, X, clock.fraction_left(0.4), proof=diagnosis.certificate)
    if not clock.is_over and not diagnosis.looks_like_text:
        tell("Trying scaled features ...")
        scaled = even(X, centre=diagnosis.is_centred)
        diagnosis.trial = _try_scaling(diagnosis, scaled, clock.fraction_left(0.5))
        diagnosis.even = _measure_effort(diagnosis, scaled, clock.fraction_left(0.5))
    if len(examples.classes) > 2 and not diagnosis.certificate.separable:
        for pair in _check_pairs(diagnosis, clock):
            diagnosis.pairs.append(pair)
            tell(f"Checking pairs of classes: {len(diagnosis.pairs):,} of {diagnosis.n_pairs:,} ...")
    return diagnosis


def _measure_effort(
    diagnosis: Diagnosis, X: Any, max_seconds: float | None, proof: Certificate | None = None
) -> Effort:
    """Bound and count updates. If the best bound takes too long, use the weights of the proof."""
    codes, fit_intercept = diagnosis.codes, diagnosis.fit_intercept
    is_separable = bool(diagnosis.certificate.separable)
    limits: dict[str, Any] = {"max_iter": 1}
    if is_separable:
        seconds = MAX_RUN_SECONDS if max_seconds is None else min(MAX_RUN_SECONDS, max_seconds / 4)
        limits = {"max_iter": 10**9, "max_seconds": seconds}
    model = Perceptron.rosenblatt(tol=None, random_state=0, fit_intercept=fit_intercept, **limits).fit(X, codes)
    seconds_left = None if max_seconds is None else max_seconds * 3 / 4
    bound = mistake_bound(X, codes, fit_intercept=fit_intercept, max_seconds=seconds_left)
    if bound.epochs is not None and proof is not None and is_separable:
        bound = mistake_bound(X, codes, coef=proof.coef, intercept=proof.intercept, fit_intercept=fit_intercept)
    at_most: int | None = min(bound.updates, len(codes))
    if is_separable:
        at_most = bound.updates if bound.epochs is None else None
    return Effort(bound, at_most, model.n_updates_, model.n_iter_, model.converged_)


def _try_scaling(diagnosis: Diagnosis, scaled: Any, max_seconds: float | None) -> Trial | None:
    """Cross-validate the default perceptron on some examples, with the features as given and scaled."""
    X, codes = diagnosis.examples.X, diagnosis.codes
    numbers_per_example = max(1.0, X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1])
    n = min(len(codes), MAX_TRIAL_EXAMPLES, int(MAX_TRIAL_NUMBERS / numbers_per_example))
    rows = np.sort(np.random.default_rng(0).choice(len(codes), n, replace=False))
    sizes = np.bincount(codes[rows])
    if n < MIN_TRIAL_EXAMPLES or sizes.max() < TRIAL_FOLDS or (sizes >= 2).sum() < 2:  # a fold needs two classes
        return None
    model = Perceptron(
        random_state=0, fit_intercept=diagnosis.fit_intercept, max_iter=TRIAL_EPOCHS,
        max_seconds=None if max_seconds is None else max_seconds / (2 * TRIAL_FOLDS),
    )  # fmt: skip
    from sklearn.model_selection import StratifiedKFold, cross_val_predict  # here, as its import takes long

    folds = StratifiedKFold(TRIAL_FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The least populated class")  # some folds lack it, which does no harm
        plain_right, scaled_right = (
            cross_val_predict(model, features[rows], codes[rows], cv=folds) == codes[rows] for features in (X, scaled)
        )
    changed = int((plain_right != scaled_right).sum())
    return Trial(float(plain_right.mean()), float(scaled_right.mean()), changed, n)


def _check_pairs(diagnosis: Diagnosis, clock: Clock) -> Iterator[Pair]:
    """Check the pairs of classes, those confused most often first, as many as the time allows."""
    X, codes, k = diagnosis.examples.X, diagnosis.codes, len(diagnosis.classes)
    fit_intercept = diagnosis.fit_intercept
    model = Perceptron(max_iter=CONFUSION_EPOCHS, tol=None, random_state=0, fit_intercept=fit_intercept)
    predicted = model.fit(X, codes).predict(X)
    confusion = np.bincount(codes * k + predicted, minlength=k * k).reshape(k, k)
    confusion += confusion.T
    pairs = sorted(combinations(range(k), 2), key=lambda pair: -confusion[pair])
    for n_done, pair in enumerate(pairs):
        if clock.is_over:
            return
        rows = np.flatnonzero(np.isin(codes, pair))
        certificate = separability(
            X[rows], codes[rows], max_seconds=clock.fraction_left(max(0.1, 1 / (len(pairs) - n_done))),
            fit_intercept=fit_intercept, decimals=diagnosis.certificate.number_type == "decimal",
        )  # fmt: skip
        witness = [] if certificate.witness is None else rows[list(certificate.witness.rows)].tolist()
        first, second = (diagnosis.classes[code] for code in pair)
        yield Pair((first, second), certificate.separable, witness)


def format_ratio(ratio: float | Fraction) -> str:
    return f"{float(ratio):.2g} times" if ratio < 10 else f"{round_up(round(ratio))} times"


def round_up(number: int) -> str:
    """Return a bound for people: in full if short, else rounded up to three digits."""
    if number < 10**9:
        return f"{number:,}"
    zeros = len(str(number)) - 3
    digits = -(-number // 10**zeros)
    return f"{digits / 100:.2f}e{zeros + 2}" if digits < 1000 else f"1.00e{zeros + 3}"
