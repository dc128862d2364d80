"""What a fitted model shows: weights, classes, counts and names, read from the learner behind it."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from perceptrons.inspection.explanation import Explanation, nonzeros, rows_of, verdict
from perceptrons.inspection.html import Shown
from perceptrons.inspection.names import names_of
from perceptrons.training.inputs import Growth, check_matrix, check_sound, known_part, once_each
from perceptrons.training.structure import sound_csr
from perceptrons.training.untouched import untouched
from perceptrons.training.votes import class_shares


class Reading(Shown):
    """Properties of every estimator that covers a learner. Arrays are copies: writing to them changes nothing."""

    _learner: Any  # what learning changes: training/learner.py, kernel/learner.py, structured/learner.py
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
    combine: str
    decision_function: Any
    _one_row: Any

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

    @property
    def predict_proba(self):
        """Not there: scores are no probabilities, and calibration makes some of them."""
        name = type(self).__name__
        raise AttributeError(
            f"{name} has no predict_proba: its scores say which class wins and how clearly, but are not probabilities. "
            f"Calibrate them: sklearn.calibration.CalibratedClassifierCV({name}()).fit(X, y).predict_proba(X). "
            "Shares of votes, which are no probabilities either: combine='vote' and vote_shares(X)."
        )

    predict_log_proba = predict_proba

    def _example(self, x: Any) -> tuple[Any, list[str]]:
        """One example as rows, and the names in it that the model does not know."""
        if len(getattr(x, "shape", ())) == 2 and x.shape[0] != 1:
            raise ValueError(f"One example is one row, not {x.shape[0]}: explain them one by one.")
        if hasattr(x, "to_dict") and hasattr(x, "index") and np.ndim(x) == 1 and self._knows_names():
            x = x.to_dict()  # a row of a frame
        elif hasattr(x, "columns"):
            x = check_matrix(self, x, reset=False, dtype=self._fitted().dtype)
        elif sp.issparse(x):
            x = sound_csr(x, "The example", row=True)
            check_sound(x.astype(self._fitted().dtype), Growth())
        rows, unknown = self._one_row(x)
        return once_each(known_part(rows, unknown)), unknown

    def _knows_names(self) -> bool:
        return "_columns" in self.__dict__ or getattr(self, "columns_", None) is not None

    def _votes(self, X: Any) -> Any:
        """The scores of a model that votes."""
        self._fitted()
        if self.combine != "vote":
            raise ValueError(
                f"Shares of votes are there where votes are counted: fit the model with combine='vote', not "
                f"{self.combine!r}. For probabilities calibrate it with scikit-learn's CalibratedClassifierCV."
            )
        return self.decision_function(X)


class WeightsReading(LabelledReading):
    """Properties of a linear model."""

    zero_score: str
    _check_again: Any

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

    @property
    def never_updated_(self):
        """For every feature: has no update ever changed one of its weights?"""
        return untouched(self._fitted())

    def explain(self, x) -> Explanation:
        """What each feature of one example adds to the score of each class: weight times value.

        Parameters
        ----------
        x : dict of feature values by name, row of numbers, or matrix or frame of one row
            Features that the model does not know count 0 and are listed.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> from perceptrons import Perceptron
        >>> model = Perceptron().fit([[0.0, 1.0], [2.0, 1.0], [3.0, 0.0]], ["no", "yes", "yes"])
        >>> print(model.explain([2.0, 1.0]))
        Predicted: 'yes', before 'no'.
        <BLANKLINE>
        feature   value   weight  contribution
        x0            2       +3            +6
        x1            1  -0.8333       -0.8333
        (bias)                         +0.1667
        together                        +5.333
        <BLANKLINE>
        Above 0 speaks for 'yes', below 0 for 'no'.
        Scores are not probabilities.
        """
        learner = self._fitted()
        self._check_again()
        learner.check_holds(self.combine)
        rows, unknown = self._example(x)
        columns, values = nonzeros(rows)
        if self.combine == "pocket":
            w, b = learner.predicting("pocket")
            w = w[:, columns]
        else:
            w, b = learner.weights.last(columns) if self.combine == "last" else learner.weights.average(columns)
        names, signs = names_of(self, columns)
        decision = learner.score_one(rows, self.combine, self.zero_score)
        winners = learner.winners(decision, self.zero_score)
        return Explanation(
            **verdict(learner.classes, decision, winners, learner.scheme == "labels"),
            rows=rows_of(learner.classes, learner.scheme),
            columns=columns,
            features=names,
            values=values * signs,
            weights=w.astype(np.float64) * signs,
            bias=b.astype(np.float64),
            combine=self.combine,
            unknown=tuple(unknown),
        )

    def vote_shares(self, X):
        """For every row of X and class the share of the votes that it gets: (n, n_classes), rows sum up to 1.

        All weights that ever were vote, each as often as examples it survived. A model with combine="vote" only. Shares
        say how undivided the answer is, and are not probabilities.
        """
        return class_shares(self._votes(X), len(self._fitted().classes))
