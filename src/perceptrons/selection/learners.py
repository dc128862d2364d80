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

# C, alpha and margin, relative to the mean |x|^2: the same for all learners, the middle first, as time may be limited
FACTORS = (1.0, 10.0, 0.1, 100.0, 0.01)
ALPHAS = (0.001, 0.01, 0.1, 0.5, 1.0)  # counts added by naive Bayes
VAR_SMOOTHINGS = (1e-9, 1e-6, 1e-3, 1e-2, 1e-1)  # relative to the largest variance, for Gaussian naive Bayes
DEGREES = (2, 3)  # with three widths of the Gaussian kernel also five settings
MAX_EPOCHS = 30  # of a run, whose epochs are all scored
MAX_VOTING_EPOCHS = 10  # every stored weight vector predicts, so the time grows with the square
LEAST_SQUARES_TOL = 1e-4  # on sparse data, where least squares is iterative and the next digit costs minutes
MAX_LOGISTIC_ITERATIONS = 200
BY_WEIGHTS = {  # the perceptrons that differ in the weights that predict
    "last": "last perceptron", "average": "averaged perceptron", "vote": "voted perceptron",
    "pocket": "pocket perceptron",
}  # fmt: skip
PERCEPTRON, RELATIVE = "perceptron", "relative"
LEARNERS = (
    *BY_WEIGHTS, "margin", "pa1", "arow", "kernel", "naive_bayes", "logistic", "svm",
    "least_squares", "ridge",
)  # fmt: skip
# The usual grid. One update adds eta0 times the mean |x|^2 to the score of its example; margins are multiples of that.
MARGIN_FACTORS = (1.0, 10.0)
C_FACTORS = {"pa1": (0.1, 1.0), "arow": (0.1, 1.0, 10.0)}  # over the mean |x|^2
TAGGER_MARGIN_FACTORS = (0.0, 10.0, 30.0)  # times eta0, about what one update adds to the score of a sentence
TAGGER_CS = (0.01, 0.1)
GAMMA_FACTORS = (0.3, 1.0, 3.0)  # times gamma="scale"
KERNEL_DEGREES = (2, 3, 4)
MIN_C, MAX_C = 1e-12, 1e12  # that perceptrons accept
# The attributes that scikit-learn's estimators read to predict; the first entry that fits counts.
PREDICTION_ATTRIBUTES = (
    ("theta_", "var_", "class_prior_"),  # Gaussian naive Bayes
    ("feature_log_prob_", "class_log_prior_"),  # other naive Bayes
    ("coef_", "intercept_"),
    ("mean_", "scale_"),  # scalers
    ("scale_",),
)


class Learner(NamedTuple):
    """A learner of a comparison: its name, a description, the estimator, the settings to try."""

    name: str
    what: str
    estimator: BaseEstimator
    grid: list[dict[str, list[Any]]]

    @property
    def family(self) -> str:
        last = self.estimator.steps[-1][1] if hasattr(self.estimator, "steps") else self.estimator
        return PERCEPTRON if isinstance(last, Estimator) else RELATIVE


class LeastSquares(ClassifierMixin, BaseEstimator):
    """Least squares on targets of +1 for the class and -1 for the others, by scikit-learn's `LinearRegression`.

    Use it beside other learners, to see what the squared loss does to examples that are far on their correct side. To
    classify, use `RidgeClassifier`, which costs the same and is more stable.

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
        model = LinearRegression(tol=LEAST_SQUARES_TOL).fit(X, targets)
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


def learners_for(X: Any, requested: Iterable[Any] | None, seed: int) -> list[Learner]:
    """Return the requested learners, with settings by the scale of X, their features; None: all of LEARNERS."""
    if isinstance(requested, str):
        raise ValueError(f"learners={requested!r}: give a list, such as [{requested!r}].")
    learners: dict[str, Learner] = {}
    for entry in LEARNERS if requested is None else requested:
        learner = _built_in(entry, X, seed) if isinstance(entry, str) else _custom(entry)
        if learner.name in learners:
            raise ValueError(f"learners: {learner.name!r} is given twice: give each learner its own name.")
        learners[learner.name] = learner
    if not learners:
        raise ValueError("learners is empty: name at least one.")
    return list(learners.values())


def _custom(entry: Any) -> Learner:
    """Return a learner of the caller's own."""
    if not isinstance(entry, tuple | list) or len(entry) != 3 or not isinstance(entry[0], str):
        raise ValueError(f"learners: {entry!r} is not a name or a tuple of name, estimator and grid.")
    name, estimator, grid = entry
    if name in LEARNERS:
        raise ValueError(f"learners: {name!r} is the name of a built-in learner: choose another name.")
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict") or not hasattr(estimator, "get_params"):
        raise ValueError(f"learners: {name!r} is not a scikit-learn estimator: {estimator!r}.")
    return Learner(name, name, estimator, list(grid) if isinstance(grid, list | tuple) else [grid or {}])


def _built_in(name: str, X: Any, seed: int) -> Learner:
    if name not in LEARNERS:
        raise ValueError(f"learners: {name!r} is not one of {', '.join(map(repr, LEARNERS))}.")
    square = mean_square(X)
    inverse, proportional = (_valid(factor * scale for factor in FACTORS) for scale in (1 / square, square))
    options: dict[str, Any] = {"max_iter": MAX_EPOCHS, "random_state": seed}
    if name in BY_WEIGHTS:
        if name == "vote":
            options["max_iter"] = MAX_VOTING_EPOCHS
        return Learner(name, BY_WEIGHTS[name], Perceptron(**options | {"combine": name}), [{}])
    if name == "kernel":
        kernel = KernelPerceptron(**options)
        widths = {"kernel": ["rbf"], **usual_grid(kernel, X)[0]}
        return Learner(name, "kernel perceptron", kernel, [widths, {"kernel": ["poly"], "degree": list(DEGREES)}])
    if name == "naive_bayes":
        return _naive_bayes(X)
    logistic = LogisticRegression(max_iter=MAX_LOGISTIC_ITERATIONS)
    table: dict[str, tuple[str, BaseEstimator, dict[str, list[Any]]]] = {
        "margin": ("margin perceptron", Perceptron(**options), {"margin": proportional}),
        "pa1": ("passive-aggressive", Perceptron(step="pa1", **options), {"C": inverse}),
        "arow": ("AROW", Perceptron(step="arow", **options), {"C": inverse}),
        "logistic": ("logistic regression", logistic, {"C": inverse}),
        "svm": ("linear SVM", LinearSVC(random_state=seed), {"C": inverse}),
        "least_squares": ("least squares on ±1", LeastSquares(), {}),
        "ridge": ("ridge on ±1", RidgeClassifier(random_state=seed), {"alpha": proportional}),
    }
    description, estimator, settings = table[name]
    return Learner(name, description, estimator, [settings])


def _naive_bayes(X: Any) -> Learner:
    """Return the naive Bayes whose assumption fits the values: truth values, counts, or else Gaussians."""
    values = X.data if sp.issparse(X) else X
    estimator, description, grid = GaussianNB(), "Gaussian naive Bayes", {"var_smoothing": list(VAR_SMOOTHINGS)}
    is_positive = not values.size or values.min() >= 0
    if np.isin(values, (0, 1)).all():
        estimator, description, grid = BernoulliNB(), "Bernoulli naive Bayes", {"alpha": list(ALPHAS)}
    elif is_positive and (sp.issparse(X) or (values == np.floor(values)).all()):
        estimator, description, grid = MultinomialNB(), "multinomial naive Bayes", {"alpha": list(ALPHAS)}
    elif sp.issparse(X):  # Gaussians would need the zeros; hashed features have signs that mean nothing
        estimator = make_pipeline(FunctionTransformer(abs, accept_sparse=True), MultinomialNB())
        description, grid = "naive Bayes of |x|", {"multinomialnb__alpha": list(ALPHAS)}
    return Learner("naive_bayes", description, estimator, [grid])


def usual_grid(estimator: Any, X: Any) -> list[dict[str, list[Any]]]:
    """Return a grid for `recipe` with the hyperparameters that usually matter, adapted to the scale of the data.

    Use it for a first search. Refine its values once you know your data.

    Parameters
    ----------
    estimator : Perceptron, KernelPerceptron or SequencePerceptron
        For any other estimator, only the epochs are tuned.
    X : array, sparse matrix or list
        The features that it learns from.

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
    if isinstance(estimator, KernelPerceptron) and estimator.kernel == "poly":
        return [{"degree": list(KERNEL_DEGREES)}]
    if isinstance(estimator, KernelPerceptron) and estimator.kernel in ("rbf", "laplacian"):
        scale = 1.0 / (np.shape(X)[1] * _variance(X))
        return [{"gamma": _valid(factor * scale for factor in GAMMA_FACTORS)}]
    if isinstance(estimator, SequencePerceptron):
        eta0 = float(estimator.eta0)
        margins = [factor * eta0 for factor in TAGGER_MARGIN_FACTORS]
        tagger_grid: dict[str, list[Any]] = {"step": ["constant"], "margin": margins}
        return [tagger_grid, {"step": ["pa1"], "C": list(TAGGER_CS)}] if eta0 == 1 else [tagger_grid]  # pa1 has no eta0
    if not isinstance(estimator, Perceptron):
        return [{}]
    square = mean_square(X)
    factors = (factor * float(estimator.eta0) * square for factor in MARGIN_FACTORS)
    steps: list[dict[str, list[Any]]] = [{"step": ["constant"], "margin": ["auto", 0.0, *_valid(factors)]}]
    steps += [{"step": [step], "C": _valid(C / square for C in values)} for step, values in C_FACTORS.items()]
    return [settings for settings in steps if _accepts_step(estimator, settings["step"][0])]


def _accepts_step(estimator: Perceptron, step: str) -> bool:
    """Return whether the step can be combined with the other parameters."""
    try:
        check_choices(clone(estimator).set_params(step=step))
    except ValueError:
        return False
    return True


def mean_square(X: Any) -> float:
    """Return the mean |x|^2; 1 if all are 0."""
    if sp.issparse(X):
        return float(np.square(X.data, dtype=np.float64).sum() / max(1, X.shape[0])) or 1.0
    X = np.asarray(X)
    return float(np.einsum("ij,ij->", X, X, dtype=np.float64) / max(1, len(X))) or 1.0


def _variance(X: Any) -> float:
    """Return the variance of all values, as in gamma="scale"; 1 if it is 0."""
    if sp.issparse(X):
        mean = X.mean()
        return float(X.multiply(X).mean() - mean**2) or 1.0
    return float(np.asarray(X).var()) or 1.0


def _valid(values: Iterable[float]) -> list[float]:
    """Return distinct values with three digits, within the limits of all learners."""
    return list(dict.fromkeys(float(f"{min(max(value, MIN_C), MAX_C):.3g}") for value in values))


def size_of(model: Any) -> int | None:
    """Return the size in bytes of the numbers that prediction needs; None if it is not known.

    It counts weights and biases, zeros included; for a kernel the support vectors and their coefficients; for voting
    the support vectors, the log of updates and the start; for a pipeline all steps. It does not count the names of
    classes and features, and what only further training needs, such as the sums of an average.

    Use it to compare models that have learned the same. The size of a file is larger, because it also holds what
    further training needs.

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
        coefficients = learner_of(model).log if voting else model.dual_coef_
        return _bytes(model.support_vectors_) + _bytes(coefficients) + _bytes(getattr(model, "intercept_", ()))
    if voting:
        votes, start = learner_of(model).votes, learner_of(model).weights.start()
        return _bytes(votes.log) + sum(map(_bytes, votes.support)) + sum(map(_bytes, start))
    for names in PREDICTION_ATTRIBUTES:
        if all(hasattr(model, name) for name in names):
            return sum(_bytes(getattr(model, name)) for name in names)
    return None


def _bytes(array: Any) -> int:
    if sp.issparse(array):
        return int(array.data.nbytes + array.indices.nbytes + array.indptr.nbytes)
    return int(np.asarray(array).nbytes)
