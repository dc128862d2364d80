"""What can be found out about a table: proof, bounds, scales of features, contradictions, pairs of classes."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from perceptrons.cli.screen import plain
from perceptrons.cli.weights import name_of

if TYPE_CHECKING:
    import numpy as np

    from perceptrons.data import Table
    from perceptrons.theory.bounds import Bound
    from perceptrons.theory.certificate import Certificate
    from perceptrons.theory.scales import Scales

FEW = 5  # epochs to see which classes are confused
RUN = 5.0  # seconds at most that the perceptron may run to see how many updates it makes
Say = Callable[[str], None]


class Effort(NamedTuple):
    """What the perceptron has to do: at most, and what it did, run to the end if separable, else for one epoch."""

    bound: "Bound"
    updates: int
    epochs: int
    converged: bool


class Pair(NamedTuple):
    """Two classes and whether a hyperplane separates them; if not, the rows that prove it."""

    classes: tuple[Any, Any]
    separable: bool | None
    rows: list[int]


class Clock:
    """A time limit that several pieces of work share."""

    def __init__(self, seconds: float):
        self._end = time.monotonic() + seconds

    def left(self, share: float = 1.0) -> float:
        return max(1e-3, share * (self._end - time.monotonic()))

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._end


@dataclass
class Diagnosis:
    """Everything found about a table; None where the time was over before."""

    table: "Table"
    codes: "np.ndarray"
    classes: list[Any]
    fit_intercept: bool
    groups: "list[np.ndarray]"  # rows that are equal and have different labels
    scales: "Scales"
    certificate: "Certificate"
    effort: Effort | None = None
    even: Effort | None = None  # for the examples on an even scale
    pairs: list[Pair] = field(default_factory=list)  # those looked at

    @property
    def separable(self) -> bool | None:
        """As proved; two classes that cannot be separated settle it for all."""
        if self.certificate.separable is None and any(pair.separable is False for pair in self.pairs):
            return False
        return self.certificate.separable

    @property
    def counts(self) -> list[int]:
        """How many examples each class has."""
        import numpy as np

        return np.bincount(self.codes, minlength=len(self.classes)).tolist()

    @property
    def centred(self) -> bool:
        """Is the even scale that of mean 0 and variance 1, or that of a largest value of 1?"""
        import scipy.sparse as sp

        return self.fit_intercept and not sp.issparse(self.table.X)

    @property
    def words(self) -> bool:
        """Do the features look like words of texts, which need no scaling?"""
        from perceptrons.theory.scales import of_one_length

        return of_one_length(self.table.X)

    @property
    def unlearnable(self) -> int:
        """How many examples any function of the features must get wrong: equal rows get one answer."""
        import numpy as np

        return sum(len(group) - int(np.bincount(self.codes[group]).max()) for group in self.groups)

    def most(self, effort: Effort) -> int | None:
        """Updates at most: in all if separable, else in one epoch. None if the time did not suffice to know."""
        if not self.certificate.separable:
            return min(effort.bound.updates, len(self.codes))
        return effort.bound.updates if effort.bound.epochs is None else None

    @property
    def n_pairs(self) -> int:
        k = len(self.classes)
        return k * (k - 1) // 2

    def place(self, row: int) -> int:
        """The line of an example, or its row, from 0, where the file has no lines."""
        return int(row if self.table.lines is None else self.table.lines[row])

    def places(self, rows: Any, at_most: int = 10, with_labels: bool = False) -> str:
        """lines 3, 4 and 7"""
        shown = [str(self.place(row)) for row in rows[:at_most]]
        if with_labels:
            labels = (self.classes[self.codes[row]] for row in rows)
            shown = [f"{place} ({plain(label)})" for place, label in zip(shown, labels, strict=False)]
        if len(rows) > at_most:
            shown.append(f"{len(rows) - at_most:,} more")
        thing = ("row" if self.table.lines is None else "line") + "s" * (len(rows) > 1)
        return f"{thing} {shown[0]}" if len(shown) == 1 else f"{thing} {', '.join(shown[:-1])} and {shown[-1]}"

    def feature(self, column: int) -> str:
        return name_of(self.table.feature_names, column)

    def constant(self) -> list[int]:
        """The columns in which every value is the same."""
        return self.scales.constant.nonzero()[0].tolist()

    def dominant(self, at_most: int) -> list[int]:
        """The columns with the largest shares of R^2, the largest first; none below a hundredth but the first."""
        import numpy as np

        order = np.argsort(-self.scales.shares, kind="stable")[:at_most].tolist()
        return [column for place, column in enumerate(order) if not place or self.scales.shares[column] >= 0.01]

    def unevenness(self) -> float:
        """The largest standard deviation of a feature beside the median one; constant ones are left out."""
        import numpy as np

        deviations = self.scales.deviations[self.scales.deviations > 0]
        return float(deviations.max() / np.median(deviations)) if len(deviations) else 1.0


def examine(table: "Table", fit_intercept: bool, max_seconds: float, say: Say) -> Diagnosis:
    """Find everything out in max_seconds: the search for a proof gets half, what comes after it the rest."""
    from perceptrons.theory.duplicates import contradictions
    from perceptrons.theory.inputs import check_examples
    from perceptrons.theory.scales import even, scales
    from perceptrons.theory.separability import separability

    clock = Clock(max_seconds)
    X, codes, classes = check_examples(table.X, table.y)
    say("Looking for a proof ...")
    found = Diagnosis(
        table, codes, classes.tolist(), fit_intercept, contradictions(X, codes), scales(X, fit_intercept),
        separability(X, table.y, max_seconds=clock.left(0.5), fit_intercept=fit_intercept),
    )  # fmt: skip
    if not clock.over:
        say("Bounding and counting updates ...")
        found.effort = _effort(X, found, clock.left(0.4), known=found.certificate)
    if not clock.over and not found.words:
        say("Trying features of one scale ...")
        found.even = _effort(even(X, centre=found.centred), found, clock.left(0.5))
    if len(classes) > 2 and not found.certificate.separable:
        for pair in _pairs(X, found, clock):
            found.pairs.append(pair)
            say(f"Looking at pairs of classes: {len(found.pairs):,} of {found.n_pairs:,} ...")
    return found


def _effort(X: Any, found: Diagnosis, max_seconds: float, known: "Certificate | None" = None) -> Effort:
    """Bound and count updates. known: weights that separate X, if any, for want of a better bound."""
    from perceptrons import Perceptron
    from perceptrons.theory.bounds import mistake_bound

    limits: dict[str, Any] = {"max_iter": 1}
    if found.certificate.separable:
        limits = {"max_iter": 10**9, "max_seconds": min(RUN, max_seconds / 4)}
    model = Perceptron(combine="last", tol=None, random_state=0, fit_intercept=found.fit_intercept, **limits)
    model.fit(X, found.codes)
    bound = mistake_bound(X, found.table.y, fit_intercept=found.fit_intercept, max_seconds=max_seconds * 3 / 4)
    if bound.epochs is not None and known is not None and known.separable:
        bound = mistake_bound(
            X, found.table.y, coef=known.coef, intercept=known.intercept, fit_intercept=found.fit_intercept
        )
    return Effort(bound, model.n_updates_, model.n_iter_, model.converged_)


def _pairs(X: Any, found: Diagnosis, clock: Clock) -> Iterator[Pair]:
    """The pairs of classes one by one, those confused most often first, as many as the time allows."""
    import numpy as np

    from perceptrons import Perceptron
    from perceptrons.theory.separability import separability

    k = len(found.classes)
    answers = Perceptron(max_iter=FEW, random_state=0, fit_intercept=found.fit_intercept).fit(X, found.codes).predict(X)
    confused = np.bincount(found.codes * k + answers, minlength=k * k).reshape(k, k)
    confused += confused.T
    rows_of = [np.flatnonzero(found.codes == one) for one in range(k)]
    for place, (one, other) in enumerate(sorted(combinations(range(k), 2), key=lambda pair: -confused[pair])):
        if clock.over:
            return
        rows = np.sort(np.concatenate([rows_of[one], rows_of[other]]))
        proof = separability(
            X[rows], found.codes[rows],
            max_seconds=clock.left(max(0.1, 1 / (found.n_pairs - place))), fit_intercept=found.fit_intercept,
        )  # fmt: skip
        witness = [] if proof.witness is None else rows[list(proof.witness.rows)].tolist()
        yield Pair((found.classes[one], found.classes[other]), proof.separable, witness)
