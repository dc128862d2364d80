"""The learners of a comparison: variants of the perceptron and other linear models, with the settings to try."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted, validate_data

from perceptrons.engine.training.base import Estimator, learner_of
from perceptrons.engine.training.parameters import check_choices
from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.sequence import SequencePerceptron

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
MARGINS = (1.0, 10.0)  # beside 0, times eta0 times the mean |x|^2: what one update adds to the score of its example
CAREFUL = {"pa1": (0.1, 1.0), "arow": (0.1, 1.0, 10.0)}  # C, over the mean |x|^2
LEADS = (0.0, 10.0, 30.0)  # margins of taggers, times eta0: about what one update adds to the score of a sentence
CAREFUL_TAGGERS = (0.01, 0.1)  # C
REACHES = (0.3, 1.0, 3.0)  # gamma, times that of "scale"
POWERS = (2, 3, 4)
SMALLEST, LARGEST = 1e-12, 1e12  # that perceptrons take as C
# Of scikit-learn's: what predict reads. The first entry that fits counts.
NEEDED = (
    ("theta_", "var_", "class_prior_"),  # Gaussian naive Bayes
    ("feature_log_prob_", "class_log_prior_"),  # other naive Bayes
    ("coef_", "intercept_"),
    ("mean_", "scale_"),  # scalers
    ("scale_",),
)


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
        X = validate_data(self, X, accept_sparse=("csr", "csc"))
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("Least squares needs two or more classes, but there is only one.")
        rows = 1 if len(self.classes_) == 2 else len(self.classes_)
        targets = np.where(codes[:, None] == np.arange(len(self.classes_))[-rows:], 1.0, -1.0)
        model = LinearRegression(tol=PRECISION).fit(X, targets)
        self.coef_, self.intercept_ = model.coef_, model.intercept_
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=("csr", "csc"), reset=False)
        scores = np.asarray(X @ self.coef_.T) + self.intercept_
        return scores[:, 0] if len(self.coef_) == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]


def learners_for(X: Any, wanted: Iterable[Any] | None, seed: int) -> list[Learner]:
    """Those asked for, with settings by the scale of X, what they learn from; None: all of LEARNERS."""
    found: list[Learner] = []
    for one in LEARNERS if wanted is None else _listed(wanted):
        learner = _known(one, X, seed) if isinstance(one, str) else _given(one)
        if learner.name in (other.name for other in found):
            raise ValueError(f"learners: {learner.name!r} is given twice: give each learner its own name.")
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
        raise ValueError(f"learners: {entry!r} is not a name or a tuple of name, estimator and grid.")
    name, estimator, grid = entry
    if name in LEARNERS:
        raise ValueError(f"learners: {name!r} is the name of a built-in learner: choose another name.")
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict") or not hasattr(estimator, "get_params"):
        raise ValueError(f"learners: {name!r} is not a scikit-learn estimator: {estimator!r}.")
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    grids = [grid or {}] if not isinstance(grid, list | tuple) else list(grid)
    return Learner(name, name, PERCEPTRON if isinstance(last, Estimator) else RELATIVE, estimator, grids)


def _known(name: str, X: Any, seed: int) -> Learner:
    if name not in LEARNERS:
        raise ValueError(f"learners: {name!r} is not one of {', '.join(map(repr, LEARNERS))}.")
    square = mean_square(X)
    over, times = (within(factor * by for factor in FACTORS) for by in (1 / square, square))
    ours: dict[str, Any] = {"max_iter": EPOCHS, "random_state": seed}
    if name in PLAIN:
        if name == "vote":
            ours["max_iter"] = EPOCHS_OF_VOTES
        return Learner(name, PLAIN[name], PERCEPTRON, Perceptron(**ours | {"combine": name}), [{}])
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


def usual_grid(estimator: Any, X: Any) -> list[dict[str, list[Any]]]:
    """Return a grid for `recipe` with the hyperparameters that usually matter, adapted to the scale of the data.

    Use it for a first search. Refine its values once you know your data.

    Parameters
    ----------
    estimator : Perceptron, KernelPerceptron or SequencePerceptron
        Any other gets no settings: its epochs alone are tuned.
    X : array, sparse matrix or list
        What it learns from.

    Returns
    -------
    list of dict

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.selection import usual_grid
    >>> for settings in usual_grid(Perceptron(), [[2.0, 0.0], [0.0, 2.0]]):
    ...     print(settings)
    {'step': ['constant'], 'margin': ['auto', 0.0, 4.0, 40.0]}
    {'step': ['pa1'], 'C': [0.025, 0.25]}
    {'step': ['arow'], 'C': [0.025, 0.25, 2.5]}
    """
    if isinstance(estimator, KernelPerceptron):
        return [_of_kernel(estimator.kernel, X)]
    if isinstance(estimator, SequencePerceptron):
        eta0 = float(estimator.eta0)
        leads: dict[str, list[Any]] = {"step": ["constant"], "margin": [lead * eta0 for lead in LEADS]}
        return [leads, {"step": ["pa1"], "C": list(CAREFUL_TAGGERS)}] if eta0 == 1 else [leads]  # pa1 has no eta0
    if not isinstance(estimator, Perceptron):
        return [{}]
    square = mean_square(X)
    margins = ["auto", 0.0, *within(factor * float(estimator.eta0) * square for factor in MARGINS)]
    steps: list[dict[str, list[Any]]] = [{"step": ["constant"], "margin": margins}]
    steps += [{"step": [step], "C": within(C / square for C in values)} for step, values in CAREFUL.items()]
    return [settings for settings in steps if _possible(estimator, settings["step"][0])]


def _of_kernel(kernel: Any, X: Any) -> dict[str, list[Any]]:
    if kernel == "poly":
        return {"degree": list(POWERS)}
    if kernel in ("rbf", "laplacian"):
        scale = 1.0 / (np.shape(X)[1] * _spread(X))
        return {"gamma": within(reach * scale for reach in REACHES)}
    return {}


def _possible(estimator: Perceptron, step: str) -> bool:
    """Does the step go with the other parameters?"""
    try:
        check_choices(clone(estimator).set_params(step=step))
    except ValueError:
        return False
    return True


def mean_square(X: Any) -> float:
    """The mean |x|^2; 1 if all are 0."""
    if sp.issparse(X):
        return float(np.square(X.data, dtype=np.float64).sum() / max(1, X.shape[0])) or 1.0
    X = np.asarray(X)
    return float(np.einsum("ij,ij->", X, X, dtype=np.float64) / max(1, len(X))) or 1.0


def _spread(X: Any) -> float:
    """The variance of all values, as gamma="scale" takes it; 1 if there is none."""
    if sp.issparse(X):
        mean = X.mean()
        return float(X.multiply(X).mean() - mean**2) or 1.0
    return float(np.asarray(X).var()) or 1.0


def _rounded(value: float) -> float:
    """Three digits are enough, and easier to read."""
    return float(f"{value:.3g}")


def within(values: Iterable[float]) -> list[float]:
    """Values that all learners take, each once: those of data on odd scales may not be."""
    return list(dict.fromkeys(_rounded(min(max(value, SMALLEST), LARGEST)) for value in values))


def size_of(model: Any) -> int | None:
    """Return the size in bytes of the numbers that prediction needs; None if it is not known.

    Counted: weights and biases, zeros too; of a kernel the support examples and their coefficients; of votes the
    support examples and the log of updates (and the start); of a pipeline all its steps. Not counted: the names of
    classes and features, and what only learning on needs, such as the sums of an average or the variances of AROW.

    When to use it: to compare models that have learned the same. When not: for the size of a file, which also holds
    what learning on needs.

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.selection import size_of
    >>> size_of(Perceptron().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]))  # two weights and a bias
    24
    """
    if hasattr(model, "steps"):
        sizes = [size_of(step) for _, step in model.steps if step not in (None, "passthrough")]
        return None if None in sizes else sum(size for size in sizes if size is not None)
    if isinstance(model, FunctionTransformer):
        return 0
    voting = getattr(model, "combine", None) == "vote"
    if hasattr(model, "support_vectors_"):
        rest = learner_of(model).log if voting else model.dual_coef_
        return _bytes(model.support_vectors_) + _bytes(rest) + _bytes(getattr(model, "intercept_", ()))
    if voting:
        votes, start = learner_of(model).votes, learner_of(model).weights.start()
        return _bytes(votes.log) + sum(map(_bytes, votes.support)) + sum(map(_bytes, start))
    for names in NEEDED:
        if all(hasattr(model, name) for name in names):
            return sum(_bytes(getattr(model, name)) for name in names)
    return None


def _bytes(array: Any) -> int:
    if sp.issparse(array):
        return int(array.data.nbytes + array.indices.nbytes + array.indptr.nbytes)
    return int(np.asarray(array).nbytes)
