"""`Perceptron`, the estimator for two or more classes, or several labels. Its rule is in `passes/perceptron.py`."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.rows import Dense, Rows
from perceptrons.engine.streaming.fit_stream import fit_stream
from perceptrons.engine.training.base import Classifier, learner_of, unchanged_on_error
from perceptrons.engine.training.calibration import CalibrationMethod, calibrate_held_out
from perceptrons.engine.training.epochs import validation_split
from perceptrons.engine.training.inputs import (
    Growth,
    as_numbers,
    as_rows,
    check_block,
    check_matrix,
    entries,
    known_part,
    once_each,
)
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.labels import Target, answer, check_order, merge, read_target, warn_if_sorted
from perceptrons.engine.training.learner import LABEL_TYPES, FastPath, LinearFit, LinearLearner, shaped
from perceptrons.engine.training.parameters import (
    ALPHA,
    L1_RATIO,
    OF_ONE_EXAMPLE,
    WINDOW,
    ClassWeight,
    Combine,
    Init,
    KeepLearning,
    Method,
    Multiclass,
    Penalty,
    Step,
    ZeroScore,
    at_first,
    check_choices,
    check_start,
    check_unchanged,
    grown,
    margin_of,
    method_of,
)
from perceptrons.engine.training.schemes import n_rows
from perceptrons.engine.training.units import Units, moments
from perceptrons.engine.training.votes import class_shares
from perceptrons.explanation import Explanation, explain_weights

NO_CODES = np.zeros(0, np.int32)  # class numbers of no examples


def _has_one_weight_vector(model: "Perceptron") -> bool:
    """Return True if there is a `coef_` to show. Raise AttributeError for voting, which has many weight vectors."""
    if model.combine == "vote":
        raise AttributeError("Voting predicts with many weight vectors: there is no coef_ to make sparse.")
    return True


class Perceptron(Classifier[LinearLearner]):
    """The averaged perceptron, an online linear classifier for two or more classes or several labels per example.

    It visits the examples one by one. When it predicts an example wrongly, it adds the example to the weights of its
    true class and subtracts it from the weights of the predicted class. With two classes, this is Rosenblatt's rule.

    Use it for many examples or features, for sparse data such as text, for streams, as a fast and exact linear
    baseline, and for teaching. Do not use it when the classes are far from linearly separable, unless you add features.

    Parameters
    ----------
    combine : {"average", "recent", "last", "vote", "pocket"}, default="average"
        The weights to predict with. "average": the mean of the weights after every example. "recent": the same mean
        with more weight on recent examples, for streams that drift. "last": the weights after the last example. "vote":
        all weight vectors, each with as many votes as the examples that it survived. "pocket": the weights with the
        fewest training mistakes (Gallant's pocket algorithm with ratchet: weights are tested on the training set once
        they predict more examples in a row correctly than the weights in the pocket did).
    window : float, default=500
        The memory of combine="recent": every example counts 1 - 1 / window times as much as the next one, so that all
        examples together count as much as this many. At least 2. A shorter window follows a drift faster; a longer one
        is more stable.
    step : {"constant", "pa", "pa1", "pa2", "arow"}, default="constant"
        The length of an update. "constant": the learning rate `eta0`. "pa": passive-aggressive, as long as the margin
        needs. "pa1": the same, but at most `C`. "pa2": the same, softened by `C`. "arow": AROW, with shorter steps
        along features that it has seen often; the most accurate in a single pass.
    eta0 : float, default=1.0
        The learning rate of the constant step. With zero initial weights, it only scales the weights, unless the margin
        is a number above 0.
    C : float, default=1.0
        The aggressiveness of "pa1", "pa2" and "arow". Smaller values make smaller updates.
    margin : float, "auto" or None, default="auto"
        The required margin. An example triggers an update if y * score <= margin (two classes), or if the true class
        leads by at most this much (more classes). 0 is Rosenblatt's rule. "auto" is `eta0` times half the spread of the
        examples in the first epoch, doubles with every epoch up to 6 spreads, and is 1 for steps other than constant.
        The spread is the mean squared distance of the examples from their mean, times the mean sample weight, so the
        scale of the data and of the weights does not matter. It is computed from the data of the first `fit`, from the
        first block of a stream, or from the first example of `learn_one` that is not all zeros. `partial_fit` and
        `learn_one` use the margin of the last epoch of `fit`, or else that of the first epoch. None is 0, and 1 for
        steps other than constant.
    cost : matrix, dict of dicts or None, default=None
        The cost of predicting one class (column, inner key) when another is true (row, outer key). During training, it
        is added to the margin between these two classes. The rows and columns of a matrix follow `classes_`. With
        margin="auto" and constant steps, costs replace the margin, as multiples of it: a cost of 1 is the margin
        itself, and pairs that a dict does not contain have the cost 1.
    penalty : {"l2", "l1", "elasticnet"} or None, default=None
        The regularization, as in scikit-learn. It keeps the weights small and leaves the bias alone. "l2": weight
        decay, which multiplies all weights by 1 - eta0 * alpha at every example, right or wrong. "l1": moves every
        weight towards 0 by eta0 * alpha at every example, and makes most weights exactly 0. "elasticnet": both. All
        are computed lazily, so that sparse examples stay fast. Not for combine="vote" or step="arow".
    alpha : float, default=0.0001
        The strength of the penalty. The SVM rule with (1 - λ) of some lectures is penalty="l2" with alpha = λ / eta0.
    l1_ratio : float, default=0.15
        For penalty="elasticnet", the share of the L1 penalty, from 0 (all L2) to 1 (all L1).
    batch_size : int or "all", default=1
        The number of examples per update, which uses the sum of their updates. 1 is the online perceptron; larger
        numbers are mini-batches; "all" is the batch perceptron, with one update per epoch or per call of `partial_fit`.
    multiclass : {"joint", "ovr", "ovo"}, default="joint"
        The method for more than two classes: one joint model in which classes compete, one-vs-rest, or one-vs-one. All
        binary problems are trained in one pass.
    max_iter : int, default=1000
        The maximum number of epochs. With 0, `fit` learns nothing and the model predicts with its initial weights.
    tol : float or None, default=5e-3
        Training stops when the averaged weights change by less than `tol` times their norm in an epoch. Unlike `tol` in
        scikit-learn, it does not depend on the scale of the data. It applies to "average", "recent" and "vote"; with
        "last", training on separable data continues until convergence. None disables this rule.
    shuffle : bool, default=True
        Whether to visit the examples in a new random order in every epoch of `fit`.
    random_state : int, RandomState or None, default=0
        The seed of the shuffling, of random initial weights and of the held-out examples. The same seed and the same
        data give the same weights.
    fit_intercept : bool, default=True
        Whether to learn a bias, which is the weight of a constant feature.
    intercept_scaling : float or "auto", default="auto"
        The value of that constant feature. "auto" is the root mean square of the non-zero values of X, so the bias
        learns as fast as the other weights on any scale. Rosenblatt's rule uses 1.
    init : {"zeros", "ones", "random"}, default="zeros"
        The initial weights; "random" draws them from a standard normal distribution.
    zero_score : {"mistake", "correct", "positive", "negative"}, default="mistake"
        With two classes, how training treats a score of exactly 0: as a mistake for both classes, as correct for both,
        or as a prediction of the positive class (`classes_[1]`) or of the negative class. `predict` returns the
        negative class for a score of 0, except with "positive". With more classes, a tie goes to the first class. Use
        "correct" only with initial weights other than zeros: from zeros, no example is a mistake, and nothing is
        learned.
    early_stopping : bool, default=False
        Whether to hold out examples, to stop when the accuracy on them has not improved for `n_iter_no_change` epochs,
        and to return to the best epoch.
    validation_fraction : float, default=0.1
        The share of every class that is held out for `early_stopping` or `probability`.
    n_iter_no_change : int, default=5
        The number of epochs without improvement before `early_stopping` stops.
    probability : {"sigmoid", "temperature", "isotonic"} or None, default=None
        Whether and how to calibrate the scores on held-out examples (`validation_fraction`; the same examples as for
        `early_stopping`), which provides `predict_proba`. "sigmoid" (Platt scaling) is for two classes; "temperature",
        for more classes, has one parameter and keeps their order; "isotonic" fits any rising curve and needs thousands
        of held-out examples. None: train on all examples. `partial_fit` and `learn_one` keep an existing calibration,
        and a new class removes it.
    max_seconds : float or None, default=None
        The time limit for training in seconds; it also applies within an epoch.
    class_weight : dict, "balanced" or None, default=None
        The weights of the classes, which are multiplied by `sample_weight`. "balanced" gives all classes the same total
        weight, with the weight 1 for the rarest class. A weight repeats an example until it is right. Therefore a
        weight below 1 for the other classes favours a class more than a weight above 1 for the class itself. With
        several labels per example, it is the weight of the examples that have the label, in the problem of that label.
    warm_start : bool, default=False
        Whether `fit` continues from the present weights: two fits of 5 epochs equal one fit of 10 epochs.
    verbose : bool or int, default=0
        Whether to show a live progress bar.
    n_jobs : ignored
        Accepted so that code for scikit-learn's Perceptron runs. Training is sequential.
    classes : list of labels or None, default=None
        All classes, in the order that `classes_` is to have. Ties go to the first class; of two classes, the first is
        the negative one. A label that is not in the list is refused. With None, the classes are the labels that appear,
        sorted. Only for one label per example.
    keep_learning : {"follow", "average"}, default="follow"
        How the averaged weights of a model that was fitted learn from new examples (`learn_one`, `partial_fit`, and
        `fit_stream` with warm_start=True). "follow": every new example is first predicted by the averaged and by the
        last weights. While the last weights make fewer mistakes, they predict. If the difference is clear, the average
        forgets all but the equivalent of 250 to 500 examples. "average": a new example counts as much as one visit of
        `fit`. Only for combine="average". A model that was never fitted has nothing to forget and counts all examples
        alike.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (n_rows, n_features) and (n_rows,)
        The weights and biases that predict. There is one row for two classes, else one row per class or label. With
        multiclass="ovo", there is one row per pair of classes, (0, 1), (0, 2), ..., positive for the second class.
        Voting has no such weights. All weight arrays are read-only. With combine="last", you can set both: `model.coef_
        = w`.
    coef_last_, intercept_last_, coef_average_, intercept_average_ : arrays
        The last and the averaged weights, which exist for every `combine`. With combine="recent", use `coef_recent_`
        and `intercept_recent_` instead of the averaged weights.
    never_updated_ : array of bool of shape (n_features,)
        Whether no update has ever changed a weight of the feature.
    n_nonzero_ : int
        The number of weights in `coef_` that are not 0. An L1 penalty with combine="last" makes it small.
    margin_ : float
        The present required margin, in units of scores: `margin`, or the value of "auto" after the epochs so far.
    combine_ : str
        The weights that predict now: `combine`, or "last" while a fitted model that keeps learning follows new examples
        better with its last weights than with the averaged ones (`keep_learning`).
    threshold_ : float or None
        For two classes, the score at or above which `predict` returns `classes_[1]`. You can set it, for instance with
        `perceptrons.selection.choose_threshold`. None is the learned decision boundary, a score of 0. `fit` resets it
        to None; `partial_fit` and `learn_one` keep it; a third class removes it.
    classes_ : array of shape (n_classes,)
    n_features_in_, feature_names_in_ : int, array of str (if X had names)
    n_iter_ : int
        The number of epochs of the last `fit`.
    n_updates_ : int
        The number of updates since the start (after early stopping: up to the best epoch). With a margin or a cost,
        there are more updates than mistakes. In a batch, every example that triggers an update counts.
    n_mistakes_ : int
        The number of mistakes until then, each counted before the example was learned from. For one-vs-rest, one-vs-one
        and several labels, it is the sum over all binary problems.
    t_ : float
        The number of examples seen until then, by weight, counting every epoch. `n_mistakes_ / t_` is the progressive
        error.
    mistakes_ : array of shape (n_iter_,)
        The number of mistakes in each epoch.
    history_ : list of dict
        One row per epoch: epoch, examples, mistakes, updates, loss, validation_accuracy, norm, seconds.
    converged_ : bool
        Whether the last epoch made no update and the last weights predict every training example correctly. No further
        epoch would change them. The averaged weights may still make training mistakes.
    stop_reason_ : {"converged", "stuck", "tol", "early_stopping", "max_iter", "max_seconds", "interrupted", "failed"}
        Why training stopped. "stuck": no example triggers an update, but zero_score="correct" accepted scores of
        exactly 0 that `predict` gets wrong.
    progress_, source_, columns_ : list, dict, Columns
        After `fit_stream`: (examples, mistakes) at 1, 2, 4, ... examples; how the files were read; and the names of the
        columns, if features have names.

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron().fit(X[:100], y[:100])
    >>> model.stop_reason_, model.score(X[:100], y[:100])
    ('converged', 1.0)
    """

    _method: tuple[Any, ...] | None = None  # the method of learning made last, of which classes and parameters
    _fast: FastPath | None = None  # of `learn_one` and `predict_one`

    def __init__(
        self, *, combine: Combine = "average", window: float = WINDOW, step: Step = "constant", eta0: float = 1.0,
        C: float = 1.0, margin: float | Literal["auto"] | None = "auto", cost: Any = None,
        penalty: Penalty | None = None, alpha: float = ALPHA, l1_ratio: float | None = L1_RATIO,
        batch_size: int | Literal["all"] = 1, multiclass: Multiclass = "joint", max_iter: int = 1000,
        tol: float | None = 5e-3,
        shuffle: bool = True, random_state: Any = 0, fit_intercept: bool = True,
        intercept_scaling: float | Literal["auto"] = "auto", init: Init = "zeros", zero_score: ZeroScore = "mistake",
        early_stopping: bool = False, validation_fraction: float = 0.1, n_iter_no_change: int = 5,
        max_seconds: float | None = None, class_weight: ClassWeight | None = None, warm_start: bool = False,
        verbose: bool | int = 0, n_jobs: int | None = None, probability: CalibrationMethod | None = None,
        classes: Any = None, keep_learning: KeepLearning = "follow",
    ) -> None:  # fmt: skip
        self.combine = combine
        self.window = window
        self.step = step
        self.eta0 = eta0
        self.C = C
        self.margin = margin
        self.cost = cost
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.batch_size = batch_size
        self.multiclass = multiclass
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.init = init
        self.zero_score = zero_score
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.max_seconds = max_seconds
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.probability = probability
        self.classes = classes
        self.keep_learning = keep_learning

    @classmethod
    def rosenblatt(cls, **changes: Any) -> Self:
        """Make a perceptron with the conventions of most lectures, which are Rosenblatt's.

        It learns from mistakes only (margin=0), its bias is the weight of a feature that is always 1
        (intercept_scaling=1), and the last weights predict (combine="last").

        When to use it: to follow a lecture or a proof, or to compare with one. When not: for the best accuracy, where
        the defaults demand a margin and average the weights.

        Parameters
        ----------
        **changes
            Other parameters of the `Perceptron`; these three too, such as combine="average".

        Returns
        -------
        Perceptron

        Examples
        --------
        >>> from perceptrons import Perceptron
        >>> model = Perceptron.rosenblatt(eta0=0.1).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])  # AND
        >>> model.predict([[0, 0], [0, 1], [1, 0], [1, 1]]).tolist()
        [0, 0, 0, 1]
        """
        conventions: dict[str, Any] = {"margin": 0, "intercept_scaling": 1, "combine": "last"}
        return cls(**conventions | changes)

    @classmethod
    def from_weights(
        cls, coef: Any, intercept: Any = 0.0, classes: Any = None, *, feature_names: Any = None, **params: Any
    ) -> Self:
        """Make a fitted model from given weights. No data are needed.

        It predicts, explains, is drawn and saved like any other model. `partial_fit`, `learn_one` and `fit` with
        warm_start=True keep training from these weights; `fit` without it starts again.

        When to use it: to try out a neuron by hand, to wire several into a network, or to use weights from elsewhere.
        When not: to start training from given weights, where `fit(X, y, coef_init=...)` does it in one call.

        Parameters
        ----------
        coef : array of shape (n_features,), (1, n_features) or (n_classes, n_features)
            The weights: one row for two classes, else one row per class (with multiclass="ovo" one row per pair).
        intercept : float or array, default=0.0
            The bias, or one for every row.
        classes : list of labels, optional
            The classes in their order, which becomes the parameter `classes`; default: 0, 1, 2, ... For two classes
            the first is the answer below 0, and the second the answer above 0.
        feature_names : list of str, optional
            Names of the features, in the order of `coef`.
        **params
            Parameters of the `Perceptron`. With intercept_scaling="auto" the constant feature of the bias is 1, since
            there are no data to measure.

        Returns
        -------
        Perceptron

        Examples
        --------
        >>> from perceptrons import Perceptron
        >>> neuron = Perceptron.from_weights([1.0, 1.0], -1.5, classes=[False, True])  # AND
        >>> neuron.predict([[0, 0], [0, 1], [1, 0], [1, 1]]).tolist()
        [False, False, False, True]
        """
        model = cls(classes=classes, **params)
        check_choices(model)
        dtype = np.float32 if getattr(coef, "dtype", None) == np.float32 else np.float64
        matrix = np.atleast_2d(as_numbers(coef, "coef"))
        if matrix.ndim != 2 or not matrix.size:
            raise ValueError(f"coef has shape {np.shape(coef)}: give one weight per feature, or one row per class.")
        if classes is None and model.multiclass == "ovo" and len(matrix) > 1:
            raise ValueError(
                "multiclass='ovo' has a row of weights for every pair of classes: name them, classes=[...]."
            )
        labels = np.arange(max(2, len(matrix))) if classes is None else check_order(classes)
        n, d = n_rows(model.multiclass, len(labels)), matrix.shape[1]
        w = shaped(matrix, (n, d), dtype, "coef")
        b = shaped(np.repeat(intercept, n) if np.ndim(intercept) == 0 else intercept, (n,), dtype, "intercept")
        model._begin(Target("single", labels, NO_CODES), Dense(w[:0].astype(dtype)), d, Units(0.0, 1.0), w, b)
        model.n_features_in_ = d
        if feature_names is not None:
            names = [str(name) for name in feature_names]
            if len(set(names)) != d or len(names) != d:
                raise ValueError(f"feature_names must be {d} different names, one for each weight.")
            model.feature_names_in_ = names
        return model

    # ---- learning

    def fit(self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None) -> Self:
        """Train on all examples for several epochs, until a stopping rule applies.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_examples, n_features)
            The examples. Arrays in a suitable form are used without a copy. If another thread changes X during
            training, the weights are undefined; if it changes the indices of a sparse matrix, the process may crash.
        y : array of shape (n_examples,), or several labels per example
            The labels of two or more classes: numbers, strings or booleans. For several labels per example: an
            indicator matrix of 0 and 1, dense or sparse, with one column per label, or a list of label sets. `predict`
            returns the same form.
        coef_init, intercept_init : arrays, optional
            The initial weights, in the shape of `coef_` and `intercept_`. They replace `init`.
        sample_weight : array of shape (n_examples,), optional
            How often each example is repeated when it is visited. Fractions are allowed; 0 leaves the example out.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            check_choices(self)
            warm = self.warm_start and hasattr(self, "_learner") and coef_init is None and intercept_init is None
            dtype = self._learner.weights.dtype if warm else None
            X = check_matrix(self, X, reset=not warm, dtype=dtype, growth=self._growth())
            target = self._read_labels(y, X.shape[0], warm)
            weight, by_label = target.weights(sample_weight, self.class_weight, stream=False)
            if not warm:
                self._forget_files()
                start = {"coef": coef_init, "bias": intercept_init}
                self._begin(target, as_rows(X), X.shape[1], self._units(as_rows(X), sample_weight), **start)
            self._set_spread(as_rows(X), sample_weight)
            learner, train, held_out = self._learner, None, None
            method = method_of(self, learner.spread, target.classes, stream=False)
            if self.early_stopping or self.probability is not None:
                train, held_out = validation_split(target.codes, weight, self.validation_fraction, learner.seed)
        learner.meet_classes(target.classes)
        learner.weights.forget_judgement()
        learner.weights.drop_record()
        examples = learner.examples(self._merge_repeated_columns(as_rows(X)), target, weight, by_label)
        fit = LinearFit(learner, examples, method, self.combine, train, held_out)
        self._run(fit, X.shape[0], train, bool(self.early_stopping))
        if self.probability is not None:
            weight, _ = target.weights(sample_weight, None, stream=False)
            scores = learner.scores(X[held_out], self.combine, self.zero_score)
            calibrate_held_out(self, scores, target.truth[held_out], None if weight is None else weight[held_out])
        self._warn_unless_finished()
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, coef_init: Any = None,
        intercept_init: Any = None,
    ) -> Self:  # fmt: skip
        """Train on one block of examples: one pass in the given order, starting from the present weights.

        The weights equal those of `fit` on the same examples in the same order, if `margin` and `intercept_scaling` are
        numbers: "auto" uses the units of the first block. New classes are learned. To get exactly the weights of a
        `fit` on three or more classes, give all classes in the first call.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : array, optional
            All classes that may appear, if they are known. Their order does not matter; the parameter `classes` of the
            model sets one.
        coef_init, intercept_init : arrays, optional
            Initial weights, in the shape of `coef_` and `intercept_`, instead of `init`. For the first block only: a
            model that has learned keeps its weights.

        Returns
        -------
        self
        """
        start = {"coef": coef_init, "bias": intercept_init}
        if hasattr(self, "_learner") and (coef_init is not None or intercept_init is not None):
            raise ValueError(
                "coef_init and intercept_init are for the first block, and this model has weights already: leave them "
                "out, or make a new model with Perceptron.from_weights."
            )
        examples, method = self._meet_block(X, y, classes, sample_weight, start=start)
        warn_if_sorted(examples.y)
        self._learner.learn_block(examples, method.in_epoch(self._learner.epoch))
        return self

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn from one example, in time proportional to its non-zero features.

        Parameters
        ----------
        x : dict of feature values by name, or a row of numbers
            The example. New names become new features; a string value counts as the feature "name=value". A model that
            was trained on files takes a record or a text in their format.
        y : label
            The label. A new label becomes a new class.

        Returns
        -------
        self

        Examples
        --------
        >>> from perceptrons import Perceptron
        >>> model = Perceptron()
        >>> for text, label in [("free cash now", "spam"), ("see you now", "ham"), ("free prize", "spam")]:
        ...     model = model.learn_one({word: 1 for word in text.split()}, label)
        >>> model.predict_one({"free": 1, "tickets": 1})
        'spam'
        """
        fast, columns = self._fast, getattr(self, "_columns", None)
        if fast is not None and fast.labels and self.class_weight is None and fast.fits(self, self._learner, columns):
            label = fast.labels.get(y) if type(y) in LABEL_TYPES else None
            row = None if label is None else fast.read(x, learning=True)
            if row is None and label is not None and isinstance(x, Mapping) and columns is not None:
                rows, new = self._one_row(x)
                row = None if new else entries(self._merge_repeated_columns(rows))
            if label is not None and row is not None and fast.learn(*row, label):
                return self
        self._learn_one_general(x, y)
        return self

    def fit_stream(
        self, reader: Any, epochs: int | None = 1, *, classes: Any = None, cache: Any = None, checkpoint: Any = None,
        watch: Any = None,
    ) -> Self:  # fmt: skip
        """Train on a stream of blocks, for instance from files that are larger than memory, or from pipes.

        In the first epoch, blocks are used in the order of the stream, while the next ones are read. Later epochs read
        a compact cache, with blocks in random order. With `shuffle`, the rows of each block are visited in random
        order. With shuffle=False, the weights equal those of `fit` on all rows for as many epochs with tol=None, if the
        first block has all classes or they are given, and `margin` and `intercept_scaling` are numbers.
        `early_stopping` holds out examples by a hash of each.

        Parameters
        ----------
        reader : perceptrons.data.stream(...), or an iterable of (X, y) or (X, y, weight)
            The blocks. Later blocks may have more columns.
        epochs : int or None, default=1
            The number of passes over the data; a pass without an update is the last one. None: `max_iter` and `tol`
            decide, as in `fit`.
        classes : array, optional
            All classes that may appear. Otherwise, classes are added when a block contains them.
        cache : path, False or None, default=None
            For several epochs, parsed data are kept in a binary file: a temporary file (None), a file that later fits
            on the same files use again (a path), or no file (False: the files are read again in every epoch).
        checkpoint : perceptrons.Checkpoint, optional
            The checkpoint that saves the state from time to time, so that a killed run can be resumed.
        watch : function, optional
            A function that is called with a dict after every block, and at 1, 2, 4, 8, ... examples with mark=True. The
            dict has epoch, blocks, examples, mistakes, updates of the epoch so far, and seconds; decisions is the
            number of binary problems per example, else 1.

        Returns
        -------
        self
            `progress_` has (examples, mistakes) at 1, 2, 4, 8, ... examples of the first epoch and at its end. Every
            example was predicted before it was learned from, so these are errors on unseen examples. With batches, the
            marks are at the ends of batches. For one-vs-rest, one-vs-one and several labels, mistakes are summed over
            all binary problems.

        Examples
        --------
        >>> from perceptrons import Perceptron
        >>> blocks = [([[0.0], [1.0]], ["no", "yes"]), ([[0.2], [0.9]], ["no", "yes"])]
        >>> model = Perceptron(shuffle=False).fit_stream(blocks, epochs=3)
        >>> model.predict([[0.95]]).tolist(), model.progress_
        (['yes'], [(1, 1), (2, 2), (4, 4)])
        """
        fit_stream(self, reader, epochs, classes, cache, checkpoint, watch)
        if epochs is None:
            self._warn_unless_finished()
        return self

    # ---- predicting

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores: for two classes one per row, positive for `classes_[1]`; for more classes one per class.

        Scores are not probabilities. With combine="vote", they are shares of the votes.
        """
        check_is_fitted(self)
        check_choices(self)
        return self._learner.scores(check_matrix(self, X, reset=False), self.combine, self.zero_score)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the highest score for every row of X; for two classes, according to `threshold_`."""
        check_is_fitted(self)
        learner = self._fitted()
        return answer(self._winners(self.decision_function(X)), learner.classes, learner.form)

    def predict_one(self, x: Any) -> Any:
        """Return the class of one example, a dict of features or a row of numbers. Unknown features count as 0.

        A model that was trained on files takes a record or a text in their format. Before the first example, a model
        whose parameter `classes` is given predicts with its initial weights. From zeros all scores are 0, and the first
        class wins the tie (of two classes, the one that `zero_score` names).
        """
        if not hasattr(self, "_learner") and self.classes is not None:
            model = clone(self)
            model._check_again()
            model._prepare_example(x, Target("single", check_order(self.classes), NO_CODES))
            return model.predict_one(x)
        fast, columns = self._fast, getattr(self, "_columns", None)
        if fast is not None and (fits := fast.fits(self, self._learner, columns)) and fast.predicts:
            label = fast.predict(*(fast.read(x) or entries(known_part(*self._one_row(x)))))
            if label is not None:
                return label
        learner = self._fitted()
        self._check_again()
        scores = learner.score_one(known_part(*self._one_row(x)), self.combine, self.zero_score)
        predictions = answer(self._winners(scores), learner.classes, learner.form)
        if fast is None or not fits:
            self._fast = FastPath(self, learner, columns, self._growth())
        return predictions.tolist()[0] if learner.form == "single" else predictions[0]

    def _by_scores(self, X: Any, method: str, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return function(self.decision_function(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of examples predicted correctly. Of several labels, all must be correct."""
        target = read_target(y, np.shape(X)[0] if hasattr(X, "shape") else len(X), self._fitted().form)
        self._learner.check_form(target.form, len(target.classes))
        if not target.several:
            return super().score(X, y, sample_weight)
        classes = merge(self.classes_, target.classes)
        truth = target.among(classes).indicator
        predicted = np.zeros_like(truth)
        predicted[:, np.searchsorted(classes, self.classes_)] = self._winners(self.decision_function(X))
        from sklearn.metrics import accuracy_score  # slow to import, and no command needs it

        return accuracy_score(truth, predicted, sample_weight=sample_weight)

    # ---- what was learned

    @property
    def combine_(self) -> str:
        """The weights that predict now: `combine`, or "last" while these follow new examples better."""
        return self._fitted().combine_now(self.combine)

    @property
    def coef_(self) -> Any:
        """The weights that predict, read-only; assign to it to set them (combine="last")."""
        return self._fitted().shown(self.combine_).coef

    @coef_.setter
    def coef_(self, coef: Any) -> None:
        self._learner_to_set("coef_").set_last(coef=coef)

    @property
    def intercept_(self) -> Any:
        """The biases that predict, read-only; assign to it to set them (combine="last")."""
        return self._fitted().shown(self.combine_).intercept

    @intercept_.setter
    def intercept_(self, intercept: Any) -> None:
        learner = self._learner_to_set("intercept_")
        if not self.fit_intercept and np.any(intercept):
            raise ValueError(
                "fit_intercept=False means an intercept of 0: set intercept_ to 0, or use fit_intercept=True."
            )
        learner.set_last(intercept=intercept)

    def _learner_to_set(self, name: str) -> LinearLearner:
        """Return the learner if its last weights predict and can be set. Raise an error that says what to do if not."""
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
                f"{name} cannot be set with combine={self.combine!r}: these weights are computed from the whole "
                f"training history. Use combine='last', whose weights can be set, or start from given weights with "
                f"{start}."
            )
        if learner.votes is not None or learner.weights.has_pocket:
            extra = "votes" if learner.votes is not None else "a pocket"
            raise AttributeError(
                f"{name} cannot be set: the model was created with {extra}, which would become invalid. Create it "
                "with combine='last'."
            )
        return learner

    coef_last_ = property(lambda self: self._fitted().shown("last").weights)
    intercept_last_ = property(lambda self: self._fitted().shown("last").intercept)
    coef_average_ = property(lambda self: self._fitted().shown("average").weights)
    intercept_average_ = property(lambda self: self._fitted().shown("average").intercept)
    coef_recent_ = property(lambda self: self._fitted().shown("recent").weights)
    intercept_recent_ = property(lambda self: self._fitted().shown("recent").intercept)

    @available_if(_has_one_weight_vector)
    def sparsify(self) -> Any:
        """Show `coef_` as a sparse matrix, until `densify` or the next `fit`.

        As in scikit-learn, but predictions and further training do not change. The model keeps its dense weights for
        training. To save disk space use `perceptrons.save`; to predict with sparse weights use
        `model.to_sklearn().sparsify()`.

        Returns
        -------
        self
        """
        self._fitted().show_sparse(True)
        return self

    @available_if(_has_one_weight_vector)
    def densify(self) -> Any:
        """Show `coef_` as an array again.

        Returns
        -------
        self
        """
        self._fitted().show_sparse(False)
        return self

    def to_sklearn(self) -> Any:
        """Return a fitted scikit-learn model with these weights, for code that expects scikit-learn.

        It gives the same scores and labels. It can keep training with scikit-learn's rule, but not with this one.

        Returns
        -------
        sklearn.linear_model.Perceptron
            A model for two or more classes. With several labels per example, it is a `OneVsRestClassifier`, which
            predicts an indicator matrix; with multiclass="ovo" and more than two classes, a `OneVsOneClassifier`. With
            a `threshold_`, or zero_score="positive", a `FixedThresholdClassifier` is wrapped around it.

        Raises
        ------
        ValueError
            With combine="vote", because counting votes is not linear.

        Notes
        -----
        Ties are broken in the same way: equal scores go to the first class, and a score of exactly 0 to the negative
        class. Scores agree up to rounding, because scikit-learn may add up the products in another order. With
        zero_score="positive" and several labels, intercepts are larger by the smallest possible step, so that
        scikit-learn also predicts the positive class for a score of 0.

        Examples
        --------
        >>> from perceptrons import Perceptron
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = Perceptron().fit(X, y)
        >>> bool((model.to_sklearn().predict(X) == model.predict(X)).all())
        True
        """
        from perceptrons.engine.training.as_sklearn import as_sklearn  # imports much of scikit-learn

        return as_sklearn(self)

    @property
    def margin_(self) -> float:
        """The margin that learning demands, in units of scores."""
        learner = self._fitted()
        return grown(at_first(self), learner.epoch) * margin_of(self, learner.spread)

    @property
    def n_nonzero_(self) -> int:
        """The number of weights that are not 0."""
        return int(np.count_nonzero(self.coef_))

    @property
    def never_updated_(self) -> np.ndarray:
        """For every feature: has no update ever changed one of its weights?"""
        return self._fitted().never_updated()

    def explain(self, x: Any) -> Explanation:
        """Explain one prediction: return what each feature adds to the score of each class, its weight times its value.

        Parameters
        ----------
        x : dict of feature values by name, row of numbers, or matrix or frame of one row
            The example. Features that the model does not know count as 0 and are listed.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> from perceptrons import Perceptron
        >>> model = Perceptron().fit([[0.0, 1.0], [2.0, 1.0], [3.0, 0.0]], ["no", "yes", "yes"])
        >>> print(model.explain([2.0, 1.0]))
        Predicted: 'yes'; second best: 'no'.
        <BLANKLINE>
        feature   value  weight  contribution
        x0            2  +7.444        +14.89
        x1            1  -2.407        -2.407
        (bias)                         -3.556
        together                       +8.926
        <BLANKLINE>
        Above 0 is evidence for 'yes', below 0 for 'no'.
        Scores are not probabilities.
        """
        learner = self._fitted()
        self._check_again()
        learner.check_holds(self.combine)
        return explain_weights(self, *self._example(x))

    def vote_shares(self, X: Any) -> np.ndarray:
        """Return the share of the votes that each class gets for every row of X: shape (n, n_classes), rows sum to 1.

        Every weight vector of the training history votes, once for each example that it survived. Only for
        combine="vote". Shares say how clear a decision is; they are not probabilities.
        """
        return class_shares(self._votes(X), len(self._fitted().classes))

    # ---- what scikit-learn asks

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = self.combine in ("average", "recent", "last") and self.cost is None
        return tags

    # ---- the small steps of learning

    def _learn_one_general(self, x: Any, y: Any) -> None:
        """Learn from one example of any kind, and prepare the fast path for the next."""
        self._check_again()
        self._refuse_balanced()
        self._refuse_early_stopping()
        if self.batch_size != 1:
            raise ValueError(
                f"learn_one learns from one example, not from batch_size={self.batch_size!r}: use partial_fit."
            )
        target = self._one_target(y)
        weight, by_label = target.weights(None, self.class_weight, stream=True)
        rows = self._prepare_example(x, target)
        learner = self._learner
        self._set_spread(rows)
        method = self._method_for(target.classes).in_epoch(learner.epoch)
        learner.meet_classes(target.classes)
        learner.learn_block(learner.examples(self._merge_repeated_columns(rows), target, weight, by_label), method)
        fast, columns = self._fast, getattr(self, "_columns", None)
        if fast is None or fast.method is None or not fast.fits(self, learner, columns):
            method = self._method_for(learner.classes).in_epoch(learner.epoch)
            self._fast = FastPath(self, learner, columns, self._growth(), method)

    def _prepare_example(self, x: Any, target: Target) -> Rows:
        """Return the rows of one example, after creating the model or making room for what is new in the example."""
        x = self._as_dict(x)
        first = not hasattr(self, "_learner")
        rows, new = self._one_row(x, learning=True)
        with Uninterrupted(first or bool(new)):
            if first:
                n_features = len(new) if isinstance(x, Mapping) else np.shape(x)[-1]
                self._begin(target, rows, n_features, self._units(rows))
                self.n_features_in_ = self._learner.n_features
            self._name_features(x, new)
        return rows

    def _meet_block(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, block: str = "given", start: Any = None
    ) -> Any:
        """Check a block, and return its examples and method; create the model, or make room for what is new in it.

        block: "given" has the columns of the model; "new" of a stream may have more; "checked" was met before. start:
        weights that a new model begins with.
        """
        with unchanged_on_error(self):
            self._check_again()
            self._refuse_balanced()
            first = not hasattr(self, "_learner")
            dtype = None if first else self._learner.weights.dtype
            if block == "given":
                self._refuse_early_stopping()
                X = check_matrix(self, X, reset=first, dtype=dtype, growth=self._growth(), learning=True)
            elif first or X.shape[1] >= self._learner.n_features:
                X = X if block == "checked" and X.dtype == dtype else check_block(self, X, dtype, self._growth())
            else:
                raise ValueError(
                    f"A block has {X.shape[1]} features, but earlier blocks had {self._learner.n_features}."
                )
            target = self._read_block_labels(y, X.shape[0], classes)
            weight, by_label = target.weights(sample_weight, self.class_weight, stream=True)
            if first:
                units = self._units(as_rows(X), sample_weight)
                self._begin(target, as_rows(X), X.shape[1], units, **(start or {}))
            self._set_spread(as_rows(X), sample_weight)
            method = self._method_for(target.classes)
        self._learner.meet_classes(target.classes)
        self._learner.meet_features(X.shape[1])
        self.n_features_in_ = self._learner.n_features
        return self._learner.examples(self._merge_repeated_columns(as_rows(X)), target, weight, by_label), method

    def _growth(self) -> Growth:
        return Growth(float(self.eta0), self.penalty in ("l2", "elasticnet"))

    def _merge_repeated_columns(self, rows: Rows) -> Rows:
        return rows if self.step == "constant" else once_each(rows)

    def _method_for(self, classes: np.ndarray) -> Method:
        """Return how to learn; computed again only if parameters or classes changed."""
        cached, key = self._method, (classes, self._checked, self._learner, self._learner.spread)
        if cached is None or any(previous is not current for previous, current in zip(cached, key, strict=False)):
            cached = self._method = *key, method_of(self, self._learner.spread, classes, stream=True)
        return cached[-1]

    def _choices_now(self) -> Any:
        return OF_ONE_EXAMPLE(self), id(self.cost)

    _check_choices = check_choices
    _check_can_go_on = check_unchanged

    def _units(self, rows: Rows, weight: Any = None) -> Units:
        """Return the units of the first data, or 1 if no parameter depends on them."""
        if self.margin != "auto" and self.intercept_scaling != "auto":
            return Units(1.0, 1.0)
        return moments(rows, weight).units()

    def _set_spread(self, rows: Rows, weight: Any = None) -> None:
        """Set the spread by the first examples that are not all 0."""
        if not self._learner.spread:
            self._learner.spread = self._units(rows, weight).spread

    def _begin(
        self, target: Target, rows: Rows, n_features: int, units: Units, coef: Any = None, bias: Any = None,
    ) -> None:  # fmt: skip
        check_start(self, target, bias)
        self._learner = LinearLearner.begin(self, target, rows, n_features, units, self._seed(), coef, bias)
        self._tell(None)


def learn_block_with_new_columns(model: Perceptron, X: Any, y: Any) -> None:
    """Train on one block as `partial_fit` does, except that X may have more columns than the model has features."""
    examples, method = model._meet_block(X, y, None, None, "new")
    learner = learner_of(model)
    learner.learn_block(examples, method.in_epoch(learner.epoch))
