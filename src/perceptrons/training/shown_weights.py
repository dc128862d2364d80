"""The weights that a linear model shows: computed once until something is learned, and not to be written in place."""

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError


class ShownWeights:
    """`coef_` and its like, `sparsify`, `densify` and `to_sklearn` of an estimator with a linear learner."""

    combine: str
    fit_intercept: bool
    _fitted: Any

    @property
    def coef_(self) -> Any:
        """The weights that predict, read-only; assign to it to set them (combine="last")."""
        return self._fitted().shown(self.combine).coef

    @coef_.setter
    def coef_(self, coef: Any) -> None:
        self._settable("coef_").set_last(coef=coef)

    @property
    def intercept_(self) -> np.ndarray:
        """The biases that predict, read-only; assign to it to set them (combine="last")."""
        return self._fitted().shown(self.combine).intercept

    @intercept_.setter
    def intercept_(self, intercept: Any) -> None:
        learner = self._settable("intercept_")
        if not self.fit_intercept and np.any(intercept):
            raise ValueError("fit_intercept=False means an intercept of 0: set intercept_ to 0, or fit with one.")
        learner.set_last(intercept=intercept)

    coef_last_ = property(lambda self: self._fitted().shown("last").weights)
    intercept_last_ = property(lambda self: self._fitted().shown("last").intercept)
    coef_average_ = property(lambda self: self._fitted().shown("average").weights)
    intercept_average_ = property(lambda self: self._fitted().shown("average").intercept)
    coef_recent_ = property(lambda self: self._fitted().shown("recent").weights)
    intercept_recent_ = property(lambda self: self._fitted().shown("recent").intercept)

    def sparsify(self) -> Any:
        """Show `coef_` as a sparse matrix, until `densify` or the next `fit`.

        As in scikit-learn, but predictions do not change and training goes on as before. The model keeps its dense
        weights to learn with: to save memory on disk use `perceptrons.save`, to predict with sparse weights
        `model.to_sklearn().sparsify()`.

        Returns
        -------
        self
        """
        self._fitted().show_sparse(True)
        return self

    def densify(self) -> Any:
        """Show `coef_` as an array again.

        Returns
        -------
        self
        """
        self._fitted().show_sparse(False)
        return self

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn model with these weights, for code that knows only scikit-learn.

        It gives the same scores and labels. It can keep training with scikit-learn's rule, but not with this one's.

        Returns
        -------
        sklearn.linear_model.Perceptron
            For two or more classes. With several labels per example a `OneVsRestClassifier` of them, which answers
            an indicator matrix; with multiclass="ovo" and more than two classes a `OneVsOneClassifier`.
            With a `threshold_`, or zero_score="positive", a `FixedThresholdClassifier` around it.

        Raises
        ------
        ValueError
            With combine="vote": votes are counted, which no linear model does.

        Notes
        -----
        Ties: equal scores go to the first class in both, and a score of exactly 0 to the negative class. Scores agree
        up to rounding: scikit-learn may add up the products in another order.
        With zero_score="positive" and several labels, intercepts are larger by the smallest possible step, so that
        scikit-learn answers the positive class at 0 too.

        Examples
        --------
        >>> from perceptrons import Perceptron
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = Perceptron().fit(X, y)
        >>> bool((model.to_sklearn().predict(X) == model.predict(X)).all())
        True
        """
        from perceptrons.training.as_sklearn import as_sklearn  # imports much of scikit-learn

        return as_sklearn(self)

    def _settable(self, name: str) -> Any:
        """The learner, if its last weights predict and can be set."""
        start = f"fit(X, y, {'coef' if name == 'coef_' else 'intercept'}_init=...)"
        try:
            learner = self._fitted()
        except NotFittedError as error:
            raise NotFittedError(
                f"{name} cannot be set before the model knows its classes and features: start from given weights with "
                f"{start}, or call partial_fit(X, y, classes=...) once first."
            ) from error
        if self.combine != "last":
            raise AttributeError(
                f"{name} cannot be set with combine={self.combine!r}: these weights are computed from all that was "
                f"learned. Use combine='last', whose weights can be set, or start from given weights with {start}."
            )
        if learner.votes is not None or learner.weights.has_pocket:
            kept = "votes" if learner.votes is not None else "a pocket"
            raise AttributeError(
                f"{name} cannot be set: the model was created with {kept}, which would no longer fit. Create it with "
                "combine='last'."
            )
        return learner
