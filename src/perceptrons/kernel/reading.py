"""What a fitted kernel model shows: support examples, coefficients, survival counts."""

from typing import Any

import numpy as np

from perceptrons.training.reading import Reading


class SupportReading(Reading):
    """Properties of a kernel model. Arrays are copies, and where the support examples are."""

    combine: str

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

    def _placed(self, array: np.ndarray) -> Any:
        return self._learner.support.place.put(array)
