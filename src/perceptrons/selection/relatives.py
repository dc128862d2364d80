"""Who is compared: the perceptron's variants and its relatives from scikit-learn, with the settings to try of each."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.selection.grids import mean_square, usual_grid, within
from perceptrons.training.estimating import Training

# Of C, alpha and margin, relative to the mean |x|^2: the same for all, the middle first, as time may be limited
FACTORS = (1.0, 10.0, 0.1, 100.0, 0.01)
SMOOTHING = (0.001, 0.01, 0.1, 0.5, 1.0)  # counts added by naive Bayes
WIDENING = (1e-9, 1e-6, 1e-3, 1e-2, 1e-1)  # of the largest variance, added by Gaussian naive Bayes
DEGREES = (2, 3)  # with three widths of the Gaussian kernel also five settings
EPOCHS = 30  # at most; those before are judged from the same run
EPOCHS_OF_VOTES = 10  # all versions that ever were answer: time grows with the square
PRECISION = 1e-4  # of least squares on sparse data, where it is found step by step; the next digit costs minutes
ITERATIONS = 200  # of logistic regression, at most
PLAIN = {  # by which weights predict
    "last": "last perceptron", "average": "averaged perceptron", "vote": "voted perceptron",
    "pocket": "pocket perceptron",
}  # fmt: skip
PERCEPTRON, RELATIVE = "perceptron", "relative"
LEARNERS = (
    *PLAIN, "margin", "pa1", "arow", "kernel", "naive_bayes", "logistic", "svm",
    "least_squares", "ridge",
)  # fmt: skip


class Learner(NamedTuple):
    """Who learns: its name, what it is in words, which family it is of, the estimator, the settings to try."""

    name: str
    what: str
    family: str
    estimator: BaseEstimator
    grid: list[dict[str, list[Any]]]


class LeastSquares(ClassifierMixin, BaseEstimator):
    """Least squares on targets of +1 for the class and -1 for the others, by scikit-learn's `LinearRegression`.

    When to use it: beside others, to see what the squared loss does to examples that are far on their right side. When
    not: to classify, as `RidgeClassifier` costs the same and is steadier.

    Examples
    --------
    >>> from perceptrons.selection import LeastSquares
    >>> LeastSquares().fit([[0.0], [1.0], [4.0]], ["a", "a", "b"]).predict([[1.5], [3.0]]).tolist()
    ['a', 'b']
    """

    def fit(self, X: Any, y: Any) -> "LeastSquares":
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("Least squares needs two classes or more, and there is one.")
        rows = 1 if len(self.classes_) == 2 else len(self.classes_)
        targets = np.where(codes[:, None] == np.arange(len(self.classes_))[-rows:], 1.0, -1.0)
        model = LinearRegression(tol=PRECISION).fit(X, targets)
        self.n_features_in_ = model.n_features_in_
        self.coef_, self.intercept_ = model.coef_, model.intercept_
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        scores = np.asarray(X @ self.coef_.T) + self.intercept_
        return scores[:, 0] if len(self.coef_) == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        scores = self.decision_function(X if sp.issparse(X) else np.asarray(X))
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]


def learners_for(X: Any, wanted: Iterable[Any] | None, seed: int) -> list[Learner]:
    """Those asked for, with settings by the scale of X, what they learn from; None: all of LEARNERS."""
    found: list[Learner] = []
    for one in LEARNERS if wanted is None else _listed(wanted):
        learner = _known(one, X, seed) if isinstance(one, str) else _given(one)
        if learner.name in (other.name for other in found):
            raise ValueError(f"learners: {learner.name!r} is there twice: give every one another name.")
        found.append(learner)
    if not found:
        raise ValueError("learners is empty: name at least one.")
    return found


def _listed(wanted: Any) -> list[Any]:
    if isinstance(wanted, str):
        raise ValueError(f"learners={wanted!r}: give a list, such as [{wanted!r}].")
    return list(wanted)


def _given(entry: Any) -> Learner:
    """A learner of the caller's own."""
    if not isinstance(entry, tuple | list) or len(entry) != 3 or not isinstance(entry[0], str):
        raise ValueError(f"learners: {entry!r} is neither a name nor a tuple of name, estimator and grid.")
    name, estimator, grid = entry
    if name in LEARNERS:
        raise ValueError(f"learners: {name!r} is the name of a learner that is there already: choose another.")
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict") or not hasattr(estimator, "get_params"):
        raise ValueError(f"learners: {name!r} is no estimator of scikit-learn's kind: {estimator!r}.")
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    grids = [grid or {}] if not isinstance(grid, list | tuple) else list(grid)
    return Learner(name, name, PERCEPTRON if isinstance(last, Training) else RELATIVE, estimator, grids)


def _known(name: str, X: Any, seed: int) -> Learner:
    if name not in LEARNERS:
        raise ValueError(f"learners: {name!r} is none of {', '.join(map(repr, LEARNERS))}.")
    square = mean_square(X)
    over, times = (within(factor * by for factor in FACTORS) for by in (1 / square, square))
    ours: dict[str, Any] = {"max_iter": EPOCHS, "random_state": seed}
    if name in PLAIN:
        if name == "vote":
            ours["max_iter"] = EPOCHS_OF_VOTES
        return Learner(name, PLAIN[name], PERCEPTRON, Perceptron(combine=name, **ours), [{}])
    if name == "kernel":
        kernel = KernelPerceptron(**ours)
        curved: list[dict[str, list[Any]]]
        curved = [{"kernel": ["rbf"], **usual_grid(kernel, X)[0]}, {"kernel": ["poly"], "degree": list(DEGREES)}]
        return Learner(name, "kernel perceptron", PERCEPTRON, kernel, curved)
    if name == "naive_bayes":
        return _naive_bayes(X)
    grids: dict[str, tuple[str, str, Any, dict[str, list[Any]]]] = {
        "margin": (PERCEPTRON, "margin perceptron", Perceptron(**ours), {"margin": times}),
        "pa1": (PERCEPTRON, "passive-aggressive", Perceptron(step="pa1", **ours), {"C": over}),
        "arow": (PERCEPTRON, "AROW", Perceptron(step="arow", **ours), {"C": over}),
        "logistic": (RELATIVE, "logistic regression", LogisticRegression(max_iter=ITERATIONS), {"C": over}),
        "svm": (RELATIVE, "linear SVM", LinearSVC(random_state=seed), {"C": over}),
        "least_squares": (RELATIVE, "least squares on ±1", LeastSquares(), {}),
        "ridge": (RELATIVE, "ridge on ±1", RidgeClassifier(random_state=seed), {"alpha": times}),
    }
    family, what, estimator, grid = grids[name]
    return Learner(name, what, family, estimator, [grid])


def _naive_bayes(X: Any) -> Learner:
    """The kind whose assumption fits the values: of truth values, of counts, or else of a Gaussian each."""
    values = X.data if sp.issparse(X) else X
    alpha = {"alpha": list(SMOOTHING)}
    name = "naive_bayes"
    if np.isin(values, (0, 1)).all():
        return Learner(name, "Bernoulli naive Bayes", RELATIVE, BernoulliNB(), [alpha])
    if not values.size or values.min() >= 0:
        if sp.issparse(X) or (values == np.floor(values)).all():
            return Learner(name, "multinomial naive Bayes", RELATIVE, MultinomialNB(), [alpha])
    elif sp.issparse(X):  # Gaussians would need the zeros; hashed features have signs that mean nothing
        unsigned = make_pipeline(FunctionTransformer(abs, accept_sparse=True), MultinomialNB())
        grid = {"multinomialnb__alpha": list(SMOOTHING)}
        return Learner(name, "naive Bayes of |x|", RELATIVE, unsigned, [grid])
    return Learner(name, "Gaussian naive Bayes", RELATIVE, GaussianNB(), [{"var_smoothing": list(WIDENING)}])
