"""What a fitted kernel model shows: support examples, coefficients, survival counts."""

from typing import Any

import numpy as np

from perceptrons.kernel.arrays import place_of, to_host
from perceptrons.training.explanation import Explanation, rows_of, verdict
from perceptrons.training.reading import LabelledReading
from perceptrons.training.votes import class_shares


class SupportReading(LabelledReading):
    """Properties of a kernel model. Arrays are copies, and where the support examples are."""

    _check_again: Any
    _placed_row: Any
    _columns_of: Any
    _labels: Any

    @property
    def gamma_(self):
        return self._fitted().kernel.gamma

    @property
    def n_support_(self):
        return self._fitted().n_support

    @property
    def support_(self):
        return self._placed(self._fitted().where.now.copy())

    @property
    def support_vectors_(self):
        points = self._fitted().support.points()
        if self._learner.kernel.name == "precomputed":
            raise AttributeError(
                "A model of a precomputed kernel knows no examples, only their numbers: read support_."
            )
        return points.take(np.arange(len(points))).rows

    @property
    def dual_coef_(self):
        self._fitted()
        if self.combine == "vote":
            raise AttributeError("Voting predicts with many functions: read dual_coef_average_ or dual_coef_last_.")
        return self.dual_coef_last_ if self.combine == "last" else self.dual_coef_average_

    @property
    def dual_coef_last_(self):
        return self._placed(self._fitted().coef.T.copy())

    @property
    def dual_coef_average_(self):
        return self._placed(np.ascontiguousarray(self._fitted().average.T))

    @property
    def survival_counts_(self):
        return self._placed(self._fitted().survivals())

    @property
    def update_support_(self):
        return self._placed(self._fitted().log[:, 1].astype(np.int64))

    def explain(self, x) -> Explanation:
        """What each support example adds to the score of each class: coefficient times kernel value.

        Parameters
        ----------
        x : dict of feature values by name, row of numbers, or matrix or frame of one row
            With kernel="precomputed": the kernel values of one example with those that were fitted.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> from perceptrons import KernelPerceptron
        >>> model = KernelPerceptron(kernel="poly", gamma=1, degree=2, shuffle=False)
        >>> model = model.fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "other", "other", "same"])
        >>> [(part.feature, round(part.contribution, 2)) for part in model.explain([0, 1]).top(2)]
        [('X[1]', 14.38), ('X[3]', -11.5)]
        """
        learner = self._fitted()
        self._check_again()
        unknown: list[str] = []
        if learner.kernel.name == "precomputed":
            X = self._columns_of(_one(to_host(x)))
        else:
            rows, unknown = self._example(to_host(x))
            X = self._placed_row(rows)
        points = learner.kernel.points(X)
        scores = to_host(learner.scores(points, self.combine))
        decision = scores[:, 0] if learner.n_rows == 1 else scores
        values = np.zeros(0)
        if learner.n_support:
            values = np.ravel(to_host(learner.kernel(points, learner.support.at(points.place)))).astype(np.float64)
        near = np.flatnonzero(values)
        coef = learner.coef if self.combine == "last" else learner.average
        where = learner.where.now[near].copy()
        winner = learner.classes.searchsorted(self._labels(decision))
        return Explanation(
            **verdict(learner.classes, decision, winner, several=False),
            rows=rows_of(learner.classes, learner.scheme),
            columns=near,
            features=tuple(
                f"X[{row}]" if row >= 0 else f"support {number}"
                for row, number in zip(where.tolist(), near.tolist(), strict=True)
            ),
            values=values[near],
            weights=coef[near].T.copy(),
            bias=np.zeros(learner.n_rows),
            combine=self.combine,
            unknown=tuple(unknown),
            support=where,
        )

    def vote_shares(self, X):
        """For every row of X and class the share of the votes that it gets: (n, n_classes), rows sum up to 1.

        All functions that ever were vote, each as often as examples it survived. A model with combine="vote" only.
        Shares say how undivided the answer is, and are not probabilities. One-vs-rest, every class has votes of its
        own, and its share is in proportion to those for it.
        """
        votes, learner = to_host(self._votes(X)), self._fitted()
        apart = learner.n_rows > 1 and learner.scheme == "ovr"
        return place_of(X).put(class_shares(votes, len(learner.classes), apart))

    def _placed(self, array: np.ndarray) -> Any:
        return self._learner.support.place.put(array)


def _one(x: Any) -> Any:
    """One row of kernel values as a matrix."""
    X = np.atleast_2d(np.asarray(x))
    if X.ndim != 2 or X.shape[0] != 1:
        raise ValueError(f"One example has the shape (n_fitted,), not {np.shape(x)}.")
    return X
