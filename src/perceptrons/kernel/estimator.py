"""`KernelPerceptron`, the estimator for curved decision boundaries. The rule is in `passes/dual.py`."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Literal, Self, get_args

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.rows import Rows
from perceptrons.engine.training.base import Classifier, learner_of, unchanged_on_error
from perceptrons.engine.training.calibration import CalibrationMethod, calibrate_held_out
from perceptrons.engine.training.epochs import validation_split
from perceptrons.engine.training.inputs import known_part
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.labels import Target, check_order, warn_if_sorted
from perceptrons.engine.training.parameters import DOMAINS as LINEAR
from perceptrons.engine.training.parameters import (
    LIMITLESS,
    NONE,
    TRAINING_DOMAINS,
    ClassWeight,
    Domain,
    Kind,
    Number,
    Words,
    check_parameters,
    check_same_order,
)
from perceptrons.engine.training.votes import class_shares
from perceptrons.explanation import Explanation
from perceptrons.kernel.arrays import (
    Array,
    check_namespace,
    check_precomputed,
    dtype_name,
    one_row,
    place_of,
    read_matrix,
    row_matrix,
    to_host,
)
from perceptrons.kernel.kernels import NAMES, WITH_GAMMA, Kernel, KernelName, scale_gamma
from perceptrons.kernel.learner import KernelLearner
from perceptrons.kernel.training import prepare_fit

MEGABYTE = 2**20
KernelCombine = Literal["average", "last", "vote"]
KernelMulticlass = Literal["joint", "ovr"]
OnFull = Literal["remove_random", "forget_oldest", "project"]

DOMAINS: dict[str, tuple[Domain, ...]] = {
    "kernel": (Words(NAMES), Kind((Callable,), "a function of two blocks of examples")),
    "gamma": (Number(0, LIMITLESS, open=True), Words(("scale", "auto"))),
    "degree": (Number(1, 1000, whole=True),),
    "coef0": (Number(-1e100, 1e100),),
    "combine": (Words(get_args(KernelCombine)),),
    "multiclass": (Words(get_args(KernelMulticlass)),),
    "budget": (Number(1, 2**31, whole=True), NONE),
    "on_full": (Words(get_args(OnFull)),),
    "cache_size": (Number(0, LIMITLESS),),
    **TRAINING_DOMAINS,
    **{name: LINEAR[name] for name in ("class_weight", "probability", "classes")},
}
# parameters that learning and predicting one example depend on; compared before each, to notice a change
SINGLE_EXAMPLE_CHOICES = attrgetter(
    "kernel", "gamma", "degree", "coef0", "combine", "multiclass", "eta0", "budget", "on_full",
)  # fmt: skip


def _learns_by_blocks(estimator: "KernelPerceptron") -> bool:
    """Return whether the model can learn block by block; raise AttributeError otherwise, as `hasattr` needs."""
    if estimator.kernel == "precomputed":
        raise AttributeError(
            "partial_fit and learn_one need kernel values between new and old examples, which a precomputed matrix "
            "does not contain: use fit, or a kernel by name."
        )
    return True


class KernelPerceptron(Classifier[KernelLearner]):
    """The kernel perceptron: a classifier with a curved decision boundary, by the kernel trick. Averaged by default.

    It visits the examples one by one and stores those that it predicts wrongly, the support vectors. A score is a sum
    of kernel values between the example and the support vectors. Training uses matrix products, but makes exactly the
    mistakes of the online rule.

    Use it when the classes are not linearly separable and there are thousands to hundreds of thousands of examples, for
    streams with a budget, and on a GPU (give X as a PyTorch or CuPy array). Do not use it for millions of examples with
    many mistakes, because every support vector costs time in every prediction. Use scikit-learn's `Nystroem` or
    `RBFSampler` before a `Perceptron` instead (docs/kernels.md).

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "cosine", "precomputed"} or callable, default="rbf"
        The kernel, as in scikit-learn. With "precomputed", X contains kernel values: in `fit` those of all pairs of
        training examples, in `predict` those of the examples (rows) with the training examples (columns). A callable
        takes two blocks of rows and returns the matrix of kernel values.
    gamma : float, "scale" or "auto", default="scale"
        The coefficient of rbf, poly, sigmoid and laplacian. "scale" is 1 / (n_features * X.var()) for the first data;
        "auto" is 1 / n_features.
    degree : int, default=3
        The degree of poly, (gamma x·z + coef0) ** degree.
    coef0 : float, default=1.0
        The constant term of poly and sigmoid.
    combine : {"average", "last", "vote"}, default="average"
        The function to predict with: the mean of the functions after every example, the last function, or all of them,
        each with as many votes as the examples that it survived.
    multiclass : {"joint", "ovr"}, default="joint"
        The method for more than two classes: one joint model in which classes compete, or one-vs-rest. One pass trains
        all problems.
    eta0 : float, default=1.0
        The learning rate. It scales the coefficients and changes no prediction.
    budget : int or None, default=None
        The maximum number of support vectors, for endless streams: memory and time per example stay bounded.
    on_full : {"project", "forget_oldest", "remove_random"}, default="project"
        What to do when the budget is full. "project": express the new example by the stored ones (Projectron: the most
        accurate, but memory and time per mistake grow with budget ** 2). "forget_oldest": remove the oldest, after all
        have been shrunk so that little is lost (the self-tuned Forgetron). "remove_random": remove a random one.
        Removed support vectors also leave the average, so combine="last" predicts better with the last two.
    cache_size : float, default=200
        The size of the cache for kernel values in megabytes. It affects speed only.
    max_iter, tol, shuffle, random_state, early_stopping, validation_fraction, n_iter_no_change, max_seconds, \
class_weight, warm_start, verbose, probability, classes
        As in `Perceptron`. random_state also chooses which support vector is removed.

    Attributes
    ----------
    support_ : array of shape (n_support_,)
        The row of each support vector in the X of `fit`; -1 if it came from `partial_fit` or another X.
    support_vectors_ : array or CSR matrix of shape (n_support_, n_features)
    dual_coef_ : array of shape (n_rows, n_support_)
        The coefficients that predict: one row for two classes, else one row per class. Voting has none.
    dual_coef_last_, dual_coef_average_ : arrays of shape (n_rows, n_support_)
        The last and the averaged coefficients, which exist for every `combine`.
    survival_counts_, update_support_ : arrays of shape (n_updates,)
        For every update in turn: how many examples the version that it made survived, and the support vector of the
        update. With "ovr", the version of its class. They do not exist with a budget.
    n_support_ : int
    gamma_ : float
        The value of gamma.
    threshold_, classes_, n_features_in_, feature_names_in_, n_iter_, n_updates_, n_mistakes_, t_, mistakes_, history_,
    converged_, stop_reason_
        As in `Perceptron`. The norm in the history is that of the kernel's feature space.

    Examples
    --------
    >>> from perceptrons import KernelPerceptron
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(300, noise=0.1, factor=0.3, random_state=0)
    >>> model = KernelPerceptron().fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:])
    1.0
    """

    def __init__(
        self, *, kernel: KernelName | Callable[[Any, Any], Any] = "rbf",
        gamma: float | Literal["scale", "auto"] = "scale", degree: int = 3,
        coef0: float = 1.0,
        combine: KernelCombine = "average", multiclass: KernelMulticlass = "joint", eta0: float = 1.0,
        budget: int | None = None,
        on_full: OnFull = "project", cache_size: float = 200, max_iter: int = 1000, tol: float | None = 5e-3,
        shuffle: bool = True, random_state: Any = 0, early_stopping: bool = False, validation_fraction: float = 0.1,
        n_iter_no_change: int = 5, max_seconds: float | None = None, class_weight: ClassWeight | None = None,
        warm_start: bool = False, verbose: bool | int = 0, probability: CalibrationMethod | None = None,
        classes: Any = None,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.combine = combine
        self.multiclass = multiclass
        self.eta0 = eta0
        self.budget = budget
        self.on_full = on_full
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.max_seconds = max_seconds
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose
        self.probability = probability
        self.classes = classes

    # ---- learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on all examples for several epochs, until a stopping rule applies.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_examples, n_features)
            The examples. Training on PyTorch and CuPy arrays runs on their device. With kernel="precomputed": kernel
            values, (n_examples, n_examples).
        y : array of shape (n_examples,)
            The labels.
        sample_weight : array of shape (n_examples,), optional
            How often each example is repeated when it is visited. Fractions are allowed; 0 leaves the example out.

        Returns
        -------
        self
        """
        attributes = dict(vars(self))
        with unchanged_on_error(self):
            check_choices(self)
            warm = self.warm_start and hasattr(self, "_learner")
            X = read_matrix(self, X, reset=not warm, dtype=self._learner.dtype if warm else None)
            if self.kernel == "precomputed":
                check_precomputed(X, None)
            target = self._read_labels(to_host(y), int(X.shape[0]), warm)
            weight, _ = target.weights(to_host(sample_weight), self.class_weight, stream=False)
            if not warm:
                self._forget_files()
                self._begin(target.classes, X)
            learner, train, held_out = self._learner, None, None
            if self.early_stopping or self.probability is not None:
                train, held_out = validation_split(target.codes, weight, self.validation_fraction, learner.seed)
        with unchanged_on_error(self, unless=lambda: warm or learner.t > 0, attributes=attributes):
            fit = prepare_fit(
                learner, X, target, weight, float(self.eta0), cache_bytes=self.cache_size * MEGABYTE,
                keeps_averages=self.tol is not None or self.early_stopping,
            )  # fmt: skip
            fit.combine, fit.held_out = self.combine, held_out if self.early_stopping else None
            self._run(fit, len(target.codes), train, bool(self.early_stopping))
        if self.probability is not None and held_out is not None:
            weight, _ = target.weights(to_host(sample_weight), None, stream=False)
            scores = to_host(learner.decision(learner.kernel.points(X).take(held_out), self.combine))
            calibrate_held_out(self, scores, target.codes[held_out], None if weight is None else weight[held_out])
        self._warn_unless_finished()
        return self

    @available_if(_learns_by_blocks)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train on one block of examples: one pass in the given order, starting from the present coefficients.

        The coefficients equal those of `fit` on the same examples in the same order. New classes are learned. To get
        exactly the coefficients of a `fit` on three or more classes, give all classes in the first call.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : array, optional
            All classes that may appear, if they are known.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            check_choices(self)
            self._refuse_balanced()
            self._refuse_early_stopping()
            first = not hasattr(self, "_learner")
            X = read_matrix(self, X, reset=first, dtype=None if first else self._learner.dtype)
            target = self._read_block_labels(to_host(y), int(X.shape[0]), classes)
            weight, _ = target.weights(to_host(sample_weight), self.class_weight, stream=True)
            if first:
                self._begin(target.classes, X)
        warn_if_sorted(target.codes)
        self._learn_block(X, target, weight, first)
        return self

    @available_if(_learns_by_blocks)
    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn from one example.

        Parameters
        ----------
        x : dict of feature values by name, or a row of numbers
            Names never seen before become new features; a string value counts as the feature "name=value".
        y : label
            A label never seen before becomes a new class.

        Returns
        -------
        self

        Examples
        --------
        >>> from perceptrons import KernelPerceptron
        >>> model = KernelPerceptron(kernel="poly", gamma=1, degree=2)
        >>> for a, b in 3 * [(0, 0), (0, 1), (1, 0), (1, 1)]:
        ...     model = model.learn_one({"a": a, "b": b}, a != b)  # XOR
        >>> [model.predict_one({"a": a, "b": b}) for a, b in [(0, 0), (0, 1), (1, 0), (1, 1)]]
        [False, True, True, False]
        """
        self._check_again()
        self._refuse_balanced()
        self._refuse_early_stopping()
        first = not hasattr(self, "_learner")
        y = to_host(y)
        target = self._one_target(y.item() if isinstance(y, np.ndarray) and y.ndim == 0 else y)
        check_single(target)
        weight, _ = target.weights(None, self.class_weight, stream=True)
        x = self._as_dict(x)
        rows, new = self._one_row(to_host(x), learning=True)
        n_features = len(new) if first and isinstance(x, Mapping) else None
        if first:
            self._begin(target.classes, row_matrix(rows, n_features))
            self.n_features_in_ = self._learner.n_features
        with Uninterrupted():
            self._name_features(x, new)
            self._learn_block(self._row_at_place(rows), target, weight, first)
        return self

    # ---- predicting

    def decision_function(self, X: Any) -> Array:
        """Return the scores: for two classes one per row, positive for `classes_[1]`; for more classes one per class.

        Scores are not probabilities. With combine="vote", they are shares of the votes.
        """
        return self._scores_and_rows(X, "decision_function")[0]

    def predict(self, X: Any) -> Array:
        """Return the class with the highest score for every row of X; for two classes, according to `threshold_`."""
        scores, X = self._scores_and_rows(X, "predict")
        labels = self._labels(to_host(scores))
        return place_of(X).put(labels) if labels.dtype.kind in "biuf" else labels

    def predict_one(self, x: Any) -> Any:
        """Return the class of one example, a dict of features or a row of numbers. Unknown features count as 0.

        Before the first example all scores are 0. It then predicts the first of the parameter `classes`, if given.
        """
        if not hasattr(self, "_learner") and self.classes is not None:
            return check_order(self.classes).tolist()[0]
        check_is_fitted(self)
        self._check_again()
        if self.kernel == "precomputed":
            raise ValueError(
                "predict_one needs kernel values between new and old examples, which a precomputed matrix does not "
                "contain: use fit, or a kernel by name."
            )
        rows, new = self._one_row(to_host(x))
        learner = self._learner
        scores = learner.decision(learner.kernel.points(self._row_at_place(known_part(rows, new))), self.combine)
        return self._labels(to_host(scores)).tolist()[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, the share of examples predicted correctly."""
        labels = self._labels(to_host(self._scores_and_rows(X, "score")[0]))
        from sklearn.metrics import accuracy_score  # slow to import, and no command needs it

        return float(accuracy_score(to_host(y), labels, sample_weight=to_host(sample_weight)))

    def _scores_and_rows(self, X: Any, method: str) -> tuple[Array, Array]:
        """Return the scores on the device of X, and X as it was read."""
        check_is_fitted(self)
        check_choices(self)
        check_namespace(self, X, method)
        X = self._read(X)
        return self._learner.decision(self._learner.kernel.points(X), self.combine), X

    def _by_scores(self, X: Any, method: str, function: Callable[[np.ndarray], np.ndarray]) -> Array:
        scores, X = self._scores_and_rows(X, method)
        return place_of(X).put(function(to_host(scores)))

    def _labels(self, scores: np.ndarray) -> np.ndarray:
        return self._learner.classes[self._winners(scores)]

    def _read(self, X: Any) -> Array:
        """Check X for prediction: examples, or kernel values with the training examples."""
        if self.kernel == "precomputed" and len(getattr(X, "shape", ())) == 2:
            check_precomputed(X, self.n_features_in_)
        return read_matrix(self, X, reset=False, dtype=self._learner.dtype)

    # ---- what was learned

    gamma_ = property(lambda self: self._fitted().kernel.gamma)
    n_support_ = property(lambda self: self._fitted().n_support)
    support_ = property(lambda self: self._to_place(self._fitted().train_rows.values.copy()))
    dual_coef_last_ = property(lambda self: self._to_place(self._fitted().coef.T.copy()))
    dual_coef_average_ = property(lambda self: self._to_place(np.ascontiguousarray(self._fitted().average.T)))
    survival_counts_ = property(lambda self: self._to_place(self._fitted().survival_counts()))
    update_support_ = property(lambda self: self._to_place(self._fitted().log[:, 1].astype(np.int64)))

    @property
    def support_vectors_(self) -> Array:
        points = self._fitted().support.points()
        if self._learner.kernel.name == "precomputed":
            raise AttributeError(
                "A model with a precomputed kernel stores no examples, only their indices: use support_."
            )
        return points.take(np.arange(len(points))).rows

    @property
    def dual_coef_(self) -> Array:
        self._fitted()
        if self.combine == "vote":
            raise AttributeError("Voting predicts with many functions: use dual_coef_average_ or dual_coef_last_.")
        return self.dual_coef_last_ if self.combine == "last" else self.dual_coef_average_

    def explain(self, x: Any) -> Explanation:
        """Return what each support vector adds to the score of each class: coefficient times kernel value.

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
            X = self._read(one_row(to_host(x)))
        else:
            rows, unknown = self._example(to_host(x))
            X = self._row_at_place(rows)
        return learner.explanation(learner.kernel.points(X), self.combine, unknown)

    def vote_shares(self, X: Any) -> np.ndarray:
        """Return the share of the votes that each class gets for every row of X: shape (n, n_classes), rows sum to 1.

        Every function of the training history votes, once for each example that it survived. Only for combine="vote".
        Shares say how clear a decision is; they are not probabilities. With one-vs-rest, every class has its own votes,
        and its share is in proportion to the votes for it.
        """
        votes, learner = to_host(self._votes(X)), self._fitted()
        is_one_vs_rest = learner.n_rows > 1 and learner.scheme == "ovr"
        return place_of(X).put(class_shares(votes, len(learner.classes), is_one_vs_rest))

    def to_sklearn(self) -> Any:
        """Raise ValueError, because scikit-learn has no model that predicts with these support vectors."""
        raise ValueError(
            "KernelPerceptron has no counterpart in scikit-learn: its linear models have no kernel, and its SVC "
            "cannot take given coefficients. Save the model with perceptrons.save or skops, or approximate the "
            "kernel with sklearn's Nystroem before a perceptrons.Perceptron, whose to_sklearn() works."
        )

    def _to_place(self, array: np.ndarray) -> Array:
        return self._learner.support.place.put(array)

    # ---- what scikit-learn asks

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.array_api_support = True
        return tags

    # ---- parts of learning

    def _begin(self, classes: np.ndarray, X: Array) -> None:
        gamma = scale_gamma(self.gamma, X) if self.kernel in WITH_GAMMA else 1.0
        kernel = Kernel(self.kernel, gamma, int(self.degree), float(self.coef0))
        budget, n_features = None if self.budget is None else int(self.budget), int(X.shape[1])
        self._learner = KernelLearner(
            kernel, classes, self.multiclass, n_features, dtype_name(X), self._seed(), budget, self.on_full
        )
        self._learner.home = place_of(X)
        self._tell(None)

    def _learn_block(self, X: Array, target: Target, weight: np.ndarray | None, first: bool) -> None:
        """Learn from the examples in their order. A new model that fails before its first visit is dropped."""
        learner = self._learner
        with Uninterrupted() as hold:
            try:
                fit = prepare_fit(learner, X, target, weight, float(self.eta0), is_single_pass=True)
                for _ in fit.visit(np.arange(len(target.codes))):
                    hold.let()
            except BaseException:
                if first and learner.t == 0:
                    del self._learner
                raise

    def _row_at_place(self, rows: Rows) -> Array:
        """Return one example as a matrix on the device of the model."""
        X, place = row_matrix(rows, self._learner.n_features), self._learner.support.place
        return X if place.is_host or sp.issparse(X) else place.put(X)

    def _choices_now(self) -> tuple[Any, ...]:
        return SINGLE_EXAMPLE_CHOICES(self)

    def _check_choices(self) -> None:
        check_choices(self)

    def _check_form(self, target: Target) -> None:
        check_single(target)

    def _check_can_go_on(self, target: Target) -> None:
        check_single(target)
        check_same_order(self, target)
        check_unchanged(self)


def check_choices(estimator: KernelPerceptron) -> None:
    """Raise ValueError for a parameter outside its domain, or for two that cannot be combined."""
    check_parameters(estimator, DOMAINS)
    if estimator.budget is not None and estimator.combine == "vote":
        raise ValueError(
            f"KernelPerceptron(budget={estimator.budget}, combine='vote') does not work: every version votes, but a "
            "budget removes their support vectors. Use combine='average'."
        )
    if estimator.budget is not None and estimator.on_full == "project" and estimator.kernel == "sigmoid":
        raise ValueError(
            "KernelPerceptron(kernel='sigmoid', on_full='project') does not work: this kernel is not positive "
            "definite, so projection is not possible. Use on_full='remove_random'."
        )


def check_single(target: Target) -> None:
    """Raise ValueError for examples with several labels."""
    if target.several:
        raise ValueError(
            "KernelPerceptron learns one label per example, but y has several: wrap it in scikit-learn's "
            "OneVsRestClassifier."
        )


def check_unchanged(estimator: KernelPerceptron) -> None:
    """Raise ValueError if parameters are no longer those that the model was first trained with."""
    e, learner, kernel = estimator, learner_of(estimator), learner_of(estimator).kernel
    has_gamma = kernel.name in WITH_GAMMA and not isinstance(e.gamma, str)
    for value, fitted_value, name in (
        (e.kernel, kernel.name, "kernel"),
        (e.multiclass, learner.scheme, "multiclass"),
        (e.budget, learner.budget, "budget"),
        (e.on_full if e.budget is not None else learner.on_full, learner.on_full, "on_full"),
        (e.degree if kernel.name == "poly" else kernel.degree, kernel.degree, "degree"),
        (e.coef0 if kernel.name in ("poly", "sigmoid") else kernel.coef0, kernel.coef0, "coef0"),
        (e.gamma if has_gamma else kernel.gamma, kernel.gamma, "gamma"),
    ):
        if value != fitted_value:
            raise ValueError(
                f"The model was created with {name}={fitted_value!r}, but it is now {value!r}: fit it again."
            )


def read_to_predict(model: KernelPerceptron, X: Any) -> Array:
    """Return X as `predict` of a fitted model reads and checks it."""
    return model._read(X)
