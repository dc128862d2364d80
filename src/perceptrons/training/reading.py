"""What a fitted model shows: weights, classes, counts and names, read from the learner behind it."""

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError


class Reading:
    """Properties of every estimator that covers a learner. Arrays are copies: writing to them changes nothing."""

    _learner: Any  # what learning changes: training/learner.py, kernel/learner.py, structured/outputs.py
    history_: list[dict[str, Any]]

    @property
    def n_updates_(self):
        return self._fitted().updates

    @property
    def n_mistakes_(self):
        return self._fitted().mistakes

    @property
    def t_(self):
        return self._fitted().t

    @property
    def mistakes_(self):
        self._fitted()
        return np.array([row["mistakes"] for row in self.history_], dtype=np.int64)

    def _fitted(self):
        if "_learner" not in self.__dict__:
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet: call fit, partial_fit or learn_one first."
            )
        return self._learner


class LabelledReading(Reading):
    """Properties of an estimator that learns labels of rows."""

    _columns: dict[str, int]  # of a model that knows the names of its features

    @property
    def classes_(self):
        return self._fitted().classes.copy()

    @property
    def feature_names_in_(self):
        if "_columns" not in self.__dict__:
            raise AttributeError("The model was trained on columns without names.")
        return np.array(list(self._columns), dtype=object)

    @feature_names_in_.setter
    def feature_names_in_(self, names):
        self._columns = {name: place for place, name in enumerate(names)}

    @feature_names_in_.deleter
    def feature_names_in_(self):
        del self._columns


class WeightsReading(Reading):
    """Properties of a linear model."""

    combine: str

    @property
    def coef_(self):
        return self._fitted().predicting(self.combine)[0].copy()

    @property
    def intercept_(self):
        return self._fitted().predicting(self.combine)[1].copy()

    @property
    def coef_last_(self):
        return self._fitted().weights.last()[0].copy()

    @property
    def intercept_last_(self):
        return self._fitted().weights.last()[1].copy()

    @property
    def coef_average_(self):
        return self._fitted().average()[0].copy()

    @property
    def intercept_average_(self):
        return self._fitted().average()[1].copy()
