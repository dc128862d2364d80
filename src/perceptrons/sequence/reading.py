"""What a fitted tagger shows: its weights, labels and features, read from the learner behind it."""

from typing import Any

import numpy as np

from perceptrons.sequence.explanation import SequenceExplanation, explained
from perceptrons.sequence.inputs import is_matrix
from perceptrons.training.reading import Reading


class ChainReading(Reading):
    """Properties of a chain model. Arrays are copies: writing to them changes nothing."""

    combine: str
    _tokens: Any
    _labels: Any
    decision_function: Any

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

    @property
    def never_updated_(self):
        """For every feature: has no update ever changed one of its weights?"""
        return ~self._fitted().weights.fired()

    def explain(self, x) -> SequenceExplanation:
        """What the features of each token, and each transition, add to the score of the labels of one sequence.

        Parameters
        ----------
        x : list of tokens, as in `predict_one`
            Features that the model does not know count 0 and are left out.

        Returns
        -------
        SequenceExplanation
        """
        learner = self._fitted()
        one = (x, [np.shape(x)[0]]) if is_matrix(x) else ([x], None)
        y_hat, _, flat = self._labels(*one)
        scores = self.decision_function(*one)
        w, arcs = learner.predicting(self.combine)
        rows = self._tokens(*one)[0].rows
        tall = learner.weights.tall(w, rows.columns)
        return explained(
            learner.classes, learner.features.names(), rows, tall, arcs, y_hat, scores if flat else scores[0]
        )

    def _coef(self, combine: str) -> Any:
        learner = self._fitted()
        return learner.weights.tall(learner.predicting(combine)[0]).T.copy()

    def _arcs(self, combine: str) -> Any:
        return self._fitted().predicting(combine)[1].copy()
