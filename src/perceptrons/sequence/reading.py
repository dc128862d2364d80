"""What a fitted tagger shows: its weights, labels and features, read from the learner behind it."""

from typing import Any

import numpy as np

from perceptrons.training.reading import Reading


class ChainReading(Reading):
    """Properties of a chain model. Arrays are copies: writing to them changes nothing."""

    combine: str

    @property
    def classes_(self):
        return self._fitted().classes.copy()

    @property
    def attributes_(self):
        return np.array(self._fitted().features.names(), dtype=object)

    @property
    def coef_(self):
        return self._coef(self.combine)

    @property
    def coef_last_(self):
        return self._coef("last")

    @property
    def coef_average_(self):
        return self._coef("average")

    @property
    def transitions_(self):
        return self._arcs(self.combine)[:-1, :-1]

    @property
    def transitions_last_(self):
        return self._arcs("last")[:-1, :-1]

    @property
    def transitions_average_(self):
        return self._arcs("average")[:-1, :-1]

    @property
    def start_(self):
        return self._arcs(self.combine)[-1, :-1]

    @property
    def start_last_(self):
        return self._arcs("last")[-1, :-1]

    @property
    def start_average_(self):
        return self._arcs("average")[-1, :-1]

    @property
    def stop_(self):
        return self._arcs(self.combine)[:-1, -1]

    @property
    def stop_last_(self):
        return self._arcs("last")[:-1, -1]

    @property
    def stop_average_(self):
        return self._arcs("average")[:-1, -1]

    def _coef(self, combine: str) -> Any:
        return self._fitted().predicting(combine)[0].T.copy()

    def _arcs(self, combine: str) -> Any:
        return self._fitted().predicting(combine)[1].copy()
