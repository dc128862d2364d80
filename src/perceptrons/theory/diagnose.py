"""Diagnoses a data set: separability with a proof, mistake bounds, feature scales, contradicting labels."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from perceptrons.linear import Perceptron
from perceptrons.theory.bounds import Bound, mistake_bound
from perceptrons.theory.certificate import Certificate
from perceptrons.theory.duplicates import contradictions
from perceptrons.theory.examples import Clock, Examples, as_whole_numbers, check_examples
from perceptrons.theory.scales import Scales, even, of_one_length, scales
from perceptrons.theory.separability import separability

FEW = 5  # epochs to see which classes are confused
RUN = 5.0  # seconds at most that the perceptron may run to see how many updates it makes
FOLDS = 5  # of the trial
TRIAL_EXAMPLES = 5_000  # at most,
TRIAL_NUMBERS = 2_000_000  # and at most as many of these examples as have this many numbers
MIN_TRIAL_EXAMPLES = 30  # below, accuracy says nothing
MIN_CLASS_EXAMPLES = 2  # of two classes, so that every fold is trained on both
TRIAL_EPOCHS = 50
WORTHWHILE = 0.01  # of accuracy, from which scaling is advised
DOMINANT = 20  # features at most that `to_dict` names


class Effort(NamedTuple):
    """What the perceptron has to do: at most, and what it did, run to the end if separable, else for one epoch."""

    bound: Bound
    updates: int
    epochs: int
    converged: bool

    def to_dict(self) -> dict[str, Any]:
        """As JSON knows it."""
        bound = self.bound
        return {
            "at_most": bound.updates, "in_epochs": bound.epochs,
            "radius": bound.radius, "margin": bound.margin, "deviation": bound.deviation,
            "updates": self.updates, "epochs": self.epochs, "converged": self.converged,
        }  # fmt: skip


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
        if abs(gain) <= 1 + 2 * self.changed**0.5 or abs(gain) < WORTHWHILE * self.n_examples:
            return 0
        return 1 if gain > 0 else -1

    def to_dict(self) -> dict[str, Any]:
        """As JSON knows it."""
        return {
            "accuracy": self.accuracy, "scaled_accuracy": self.scaled_accuracy, "folds": FOLDS,
            "examples": self.n_examples,
        }  # fmt: skip


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
    lines: Any
    groups: list[np.ndarray]
    scales: Scales
    certificate: Certificate
    effort: Effort | None = None
    even: Effort | None = None
    trial: Trial | None = None
    pairs: list[Pair] = field(default_factory=list)

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
        """How many examples each class has."""
        return np.bincount(self.codes, minlength=len(self.classes)).tolist()

    @property
    def centred(self) -> bool:
        """Is the even scale that of mean 0 and variance 1, or that of a largest value of 1?"""
        return self.fit_intercept and not sp.issparse(self.examples.X)

    @property
    def words(self) -> bool:
        """Do the features look like words of texts, which need no scaling?"""
        return of_one_length(self.examples.X)

    @property
    def unlearnable(self) -> int:
        """How many examples any function of the features must get wrong: equal rows get one answer."""
        return sum(len(group) - int(np.bincount(self.codes[group]).max()) for group in self.groups)

    @property
    def n_pairs(self) -> int:
        k = len(self.classes)
        return k * (k - 1) // 2

    def most(self, effort: Effort) -> int | None:
        """Updates at most: in all if separable, else in one epoch. None if the time did not suffice to know."""
        if not self.certificate.separable:
            return min(effort.bound.updates, len(self.codes))
        return effort.bound.updates if effort.bound.epochs is None else None

    def place(self, row: int) -> int | str:
        """The line of an example, or its row, from 0, where there are no lines."""
        line = row if self.lines is None else self.lines[row]
        return str(line) if isinstance(line, str) else int(line)

    def feature(self, column: int) -> str:
        """The name of a feature, or its column, from 1."""
        names = self.feature_names
        if names is None or (isinstance(names, Mapping) and column not in names):
            return f"column {column + 1}"
        return str(names[column])

    def constant(self) -> list[int]:
        """The columns in which every value is the same. Hashed ones that no feature is in are none."""
        columns, names = self.scales.constant.nonzero()[0].tolist(), self.feature_names
        return [column for column in columns if column in names] if isinstance(names, Mapping) else columns

    def dominant(self, at_most: int) -> list[int]:
        """The columns with the largest shares of R^2, the largest first; none below a hundredth but the first."""
        order = np.argsort(-self.scales.shares, kind="stable")[:at_most].tolist()
        return [column for place, column in enumerate(order) if not place or self.scales.shares[column] >= 0.01]

    def unevenness(self) -> float:
        """The largest standard deviation of a feature beside the median one; constant ones are left out."""
        deviations = self.scales.deviations[self.scales.deviations > 0]
        return float(deviations.max() / np.median(deviations)) if len(deviations) else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Everything under names that stay. Rows count from 0; lines, from 1, are None where there are none."""
        certificate, witness = self.certificate, self.certificate.witness
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
            "scales": self._scales(),
            "even_scale": {
                "how": "mean 0, variance 1" if self.centred else "largest absolute value 1",
                "effort": None if self.even is None else self.even.to_dict(),
                "trial": None if self.trial is None else self.trial.to_dict(),
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

    def _rows(self, rows: Any) -> dict[str, Any]:
        rows = [int(row) for row in rows]
        return {
            "rows": rows,
            "lines": None if self.lines is None else [self.place(row) for row in rows],
            "labels": [self.classes[self.codes[row]] for row in rows],
        }

    def _scales(self) -> dict[str, Any]:
        found = self.scales
        return {
            "radius": found.radius,
            "farthest": self._rows([found.farthest]),
            "median_norm": found.typical,
            "deviation_ratio": self.unevenness(),
            "dominant": [
                {
                    "feature": self.feature(column), "column": column, "share": float(found.shares[column]),
                    "mean": float(found.means[column]), "standard_deviation": float(found.deviations[column]),
                }
                for column in self.dominant(DOMINANT)
            ],
            "constant": [{"feature": self.feature(column), "column": column} for column in self.constant()],
        }  # fmt: skip


def diagnose(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    max_seconds: float | None = 60.0,
    feature_names: Sequence[str] | Mapping[int, str] | None = None,
    lines: Any = None,
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
    found = Diagnosis(
        examples, bool(fit_intercept), feature_names, lines, contradictions(X, examples.codes),
        scales(X, fit_intercept),
        separability(X, y, max_seconds=clock.share(0.5), fit_intercept=fit_intercept, decimals=decimals),
    )  # fmt: skip
    if not clock.is_over:
        tell("Bounding and counting updates ...")
        found.effort = _effort(X, found, clock.share(0.4), known=found.certificate)
    if not clock.is_over and not found.words:
        tell("Trying scaled features ...")
        found.trial = _trial(found, clock.share(0.5))
        found.even = _effort(even(X, centre=found.centred), found, clock.share(0.5))
    if len(examples.classes) > 2 and not found.certificate.separable:
        for pair in _pairs(found, clock):
            found.pairs.append(pair)
            tell(f"Checking pairs of classes: {len(found.pairs):,} of {found.n_pairs:,} ...")
    return found


def _effort(X: Any, found: Diagnosis, max_seconds: float | None, known: Certificate | None = None) -> Effort:
    """Bound and count updates. known: weights that separate X, if any, for want of a better bound."""
    limits: dict[str, Any] = {"max_iter": 1}
    if found.certificate.separable:
        limits = {"max_iter": 10**9, "max_seconds": RUN if max_seconds is None else min(RUN, max_seconds / 4)}
    rule: dict[str, Any] = {"margin": 0, "intercept_scaling": 1, "combine": "last", "tol": None}  # the bound's
    model = Perceptron(**rule, random_state=0, fit_intercept=found.fit_intercept, **limits).fit(X, found.codes)
    left = None if max_seconds is None else max_seconds * 3 / 4
    bound = mistake_bound(X, found.codes, fit_intercept=found.fit_intercept, max_seconds=left)
    if bound.epochs is not None and known is not None and known.separable:
        bound = mistake_bound(
            X, found.codes, coef=known.coef, intercept=known.intercept, fit_intercept=found.fit_intercept
        )
    return Effort(bound, model.n_updates_, model.n_iter_, model.converged_)


def _trial(found: Diagnosis, max_seconds: float | None) -> Trial | None:
    """Cross-validate the default perceptron on some examples, with the features as given and scaled."""
    X, codes, rng = found.examples.X, found.codes, np.random.default_rng(0)
    numbers_per_example = max(1.0, X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1])
    n = min(len(codes), TRIAL_EXAMPLES, int(TRIAL_NUMBERS / numbers_per_example))
    rows = np.sort(rng.choice(len(codes), n, replace=False))
    X, codes = X[rows], codes[rows]
    if n < MIN_TRIAL_EXAMPLES or (np.bincount(codes) >= MIN_CLASS_EXAMPLES).sum() < 2:
        return None
    order = rng.permutation(n)
    folds = np.empty(n, np.intp)
    folds[order[np.argsort(codes[order], kind="stable")]] = np.arange(n) % FOLDS  # every class in all folds alike
    right = []
    for features in (X, even(X, centre=found.centred)):
        answers = np.empty(n, codes.dtype)
        for fold in range(FOLDS):
            train = folds != fold
            model = Perceptron(
                random_state=0, fit_intercept=found.fit_intercept, max_iter=TRIAL_EPOCHS,
                max_seconds=None if max_seconds is None else max_seconds / (2 * FOLDS),
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(features[train], codes[train])
            answers[~train] = model.predict(features[~train])
        right.append(answers == codes)
    plain, scaled = right
    return Trial(float(plain.mean()), float(scaled.mean()), int((plain != scaled).sum()), n)


def _pairs(found: Diagnosis, clock: Clock) -> Iterator[Pair]:
    """The pairs of classes one by one, those confused most often first, as many as the time allows."""
    X, codes, k = found.examples.X, found.codes, len(found.classes)
    few = Perceptron(max_iter=FEW, tol=None, random_state=0, fit_intercept=found.fit_intercept)
    answers = few.fit(X, codes).predict(X)
    confused = np.bincount(codes * k + answers, minlength=k * k).reshape(k, k)
    confused += confused.T
    rows_of = [np.flatnonzero(codes == one) for one in range(k)]
    for place, (one, other) in enumerate(sorted(combinations(range(k), 2), key=lambda pair: -confused[pair])):
        if clock.is_over:
            return
        rows = np.sort(np.concatenate([rows_of[one], rows_of[other]]))
        share = clock.share(max(0.1, 1 / (found.n_pairs - place)))
        proof = separability(
            X[rows], codes[rows], max_seconds=share, fit_intercept=found.fit_intercept,
            decimals=found.certificate.number_type == "decimal",
        )  # fmt: skip
        witness = [] if proof.witness is None else rows[list(proof.witness.rows)].tolist()
        yield Pair((found.classes[one], found.classes[other]), proof.separable, witness)
