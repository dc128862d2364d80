"""`Perceptron`, the estimator for two or more classes, or several labels. The rule: `passes/perceptron.py` first."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from perceptrons.inspection.explanation import Explanation, explain_weights
from perceptrons.rows import Sparse
from perceptrons.streaming.fit_stream import fit_stream
from perceptrons.training.base import Classifier, unchanged_on_error
from perceptrons.training.calibration import calibrate_held_out
from perceptrons.training.epochs import validation_split
from perceptrons.training.inputs import Growth, as_rows, check_block, check_matrix, known_part, once_each
from perceptrons.training.labels import Target, answer, merge, read_target, warn_if_sorted
from perceptrons.training.learner import Learner
from perceptrons.training.linear_fit import LinearFit
from perceptrons.training.one_example import ReadyToPredict, learn_any
from perceptrons.training.parameters import (
    ALPHA,
    L1_RATIO,
    OF_ONE_EXAMPLE,
    WINDOW,
    at_first,
    check_choices,
    check_start,
    check_unchanged,
    margin_of,
    method_of,
    scaling_of,
)
from perceptrons.training.rule import grown
from perceptrons.training.settable import settable
from perceptrons.training.units import Units, moments
from perceptrons.training.votes import class_shares
from perceptrons.training.weights import untouched


def _has_one_weight_vector(model: "Perceptron") -> bool:
    """Is there a `coef_` to show? Raises AttributeError if not: voting has many weight vectors."""
    if model.combine == "vote":
        raise AttributeError("Voting predicts with many weight vectors: there is no coef_ to make sparse.")
    return True


class Perceptron(Classifier):
    """The perceptron for two or more classes, or several labels an example: online, averaged by default.

    Goes through the examples one by one and, when it predicts one wrongly, adds it to the weights of its class and
    subtracts it from those of the class it was taken for. With two classes that is Rosenblatt's rule.

    When to use it: many examples or features, sparse data such as text, streams; as a fast and exact linear baseline;
    to teach. When not: the classes are far from linearly separable (use features that make them so).

    Parameters
    ----------
    combine : {"average", "recent", "last", "vote", "pocket"}, default="average"
        Which weights predict: the mean of the weights after every example; the same mean, in which recent examples
        count more, for streams that drift; the final ones; all of them, each with as
        many votes as examples it survived; the ones with the fewest training mistakes (Gallant's pocket with ratchet:
        weights are judged on the training examples once they answer more in a row than the pocketed ones did).
    window : float, default=500
        Memory of combine="recent": every example counts 1 - 1 / window times as much as the one after it, so that all
        together count as much as this many. At least 2. The shorter, the sooner the model follows a drift; the longer,
        the less it trembles.
    step : {"constant", "pa", "pa1", "pa2", "arow"}, default="constant"
        How far an example moves the weights: the perceptron's step, `eta0`; passive-aggressive, as far as its margin
        needs ("pa"), at most `C` ("pa1"), or softened by `C` ("pa2"); AROW, which steps less along features that it
        has often seen: the strongest in a single pass.
    eta0 : float, default=1.0
        Learning rate of the constant step. From a zero start it only scales the weights, unless the margin is a
        number above 0.
    C : float, default=1.0
        Aggressiveness of "pa1", "pa2" and "arow": the smaller, the more careful.
    margin : float, "auto" or None, default="auto"
        Learn also from right answers that are too close: with two classes if y * score <= margin, with more if the
        true class leads by less. 0 is Rosenblatt's rule. "auto": `eta0` times half the spread of the examples in the
        first epoch, twice as much in every further one, and at most 6 spreads; 1 for the steps other than constant. The
        spread is the mean of the squared distances of the examples from their mean, so that the scale of the data does
        not matter: those of the first `fit`, the first block of a stream, or the first example of `learn_one`, if it is
        not all zeros.
        `partial_fit` and `learn_one` count as the epoch that the last `fit` ended with, at least the first. None: 0,
        for the steps other than constant 1.
    cost : matrix, dict of dicts or None, default=None
        What it costs to answer one class (column, inner key) where another is true (row, outer key); added to the
        margin that the true class must keep from it, while learning only. A matrix is in the order of `classes_`. With
        margin="auto" and constant steps it is a multiple of that margin, and takes its place: a cost of 1 for all is
        that margin, and 1 is also the cost of pairs that a dict does not name.
    shrink : float, default=0.0
        Multiply the weights by 1 - shrink at every example, in [0, 1): the past fades. Costs next to nothing.
    batch_size : int or "all", default=1
        Update once for so many examples, with the sum of what they ask for. 1 is the online perceptron, "all" the
        batch perceptron: the whole epoch, or the block of a `partial_fit`.
    multiclass : {"joint", "ovr", "ovo"}, default="joint"
        For more than two classes: one model in which classes compete; a binary problem for every class against the
        rest; one for every pair of classes. All problems are trained in one pass.
    max_iter : int, default=1000
        Epochs at most.
    tol : float or None, default=5e-3
        Stop when the averaged weights change over an epoch by less than `tol` times their norm. Unlike scikit-learn's
        it does not depend on the scale of the data. It counts where averages predict ("average", "recent" and "vote"):
        the last weights of separable data always get to converge. None: never stop for this reason.
    shuffle : bool, default=True
        Visit the examples in a fresh random order in every epoch of `fit`.
    random_state : int, RandomState or None, default=0
        Seed of the orders, of the random start and of the examples held out. Same seed, same data: same weights.
    fit_intercept : bool, default=True
        Learn a bias: the weight of a constant feature.
    intercept_scaling : float or "auto", default="auto"
        The value of that constant feature. "auto": the root mean square of the values of X that are not 0, so that
        the bias learns as fast as the other weights whatever the scale of the data. 1 is the lecture's.
    init : {"zeros", "ones", "random"}, default="zeros"
        Start of all weights; "random" is standard normal.
    zero_score : {"mistake", "correct", "positive", "negative"}, default="mistake"
        With two classes, what a score of exactly 0 is while learning: a mistake for both, right for both, or the
        prediction of the positive (`classes_[1]`) or negative class. `predict` answers the negative class at 0, but
        the positive one under "positive". With more classes a tie goes to the first class. "correct" is made for a
        start other than zeros: from zeros all scores are 0, no example is a mistake, and nothing is learned.
    early_stopping : bool, default=False
        Hold examples out, stop when accuracy on them has not improved for `n_iter_no_change` epochs, and return to
        the best epoch.
    validation_fraction : float, default=0.1
        Share of every class held out if `early_stopping` or `probability`.
    n_iter_no_change : int, default=5
        Epochs without improvement to wait if `early_stopping`.
    probability : {"sigmoid", "temperature", "isotonic"} or None, default=None
        Hold examples out (`validation_fraction`; those of `early_stopping` if that is on) and calibrate the scores on
        them, so that there is `predict_proba`. "sigmoid" (Platt) for two classes; "temperature" for more: it has one
        parameter and keeps the order of the classes; "isotonic" is any rising curve, for thousands of held-out
        examples. None: learn from all examples. `partial_fit` and `learn_one` do not calibrate: they keep what there
        is, and a class that is new drops it.
    max_seconds : float or None, default=None
        Stop when this time is spent, also within an epoch.
    class_weight : dict, "balanced" or None, default=None
        Weight of the examples of a class; times `sample_weight`. "balanced": all classes have the same total weight,
        and the examples of the rarest class the weight 1. Repetitions end when the example is right, so a weight
        below 1 for the other classes favours a class more strongly than a weight above 1 for itself. With several
        labels: the weight of the examples that have the label, in the problem of that label.
    warm_start : bool, default=False
        `fit` goes on from where the model is: two fits of 5 epochs are one of 10.
    verbose : bool or int, default=0
        Show a live bar.
    n_jobs : ignored
        Accepted so that code written for scikit-learn's Perceptron runs. Learning is one example after another.
    penalty, alpha, l1_ratio : None, 0.0001 and 0.15
        Accepted at scikit-learn's defaults, for the same reason. For weight decay use `shrink`: penalty="l2" with
        some alpha is shrink=alpha * eta0.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (n_rows, n_features) and (n_rows,)
        The weights that predict: one row for two classes, else a row a class or label; with multiclass="ovo" a row for
        every pair of classes, (0, 1), (0, 2), ..., positive for the second. Voting has no such weights: read below.
        All arrays of weights are read-only. With combine="last" both can be set, `model.coef_ = weights`.
    coef_last_, intercept_last_, coef_average_, intercept_average_ : arrays
        The final and the averaged weights, both there whatever `combine` is. With combine="recent", read
        `coef_recent_` and `intercept_recent_` in place of the averaged ones.
    never_updated_ : array of bool of shape (n_features,)
        Features none of whose weights an update has ever changed.
    margin_ : float
        The margin that learning demands now, in units of scores: `margin`, or what "auto" makes of the data by the
        number of epochs so far.
    threshold_ : float or None
        Of two classes: the score at or above which the answer is `classes_[1]`, set by hand or by
        `perceptrons.selection.choose_threshold`. None: the learned boundary, a score of 0. `fit` sets it to None,
        `partial_fit` and `learn_one` keep it; a third class drops it.
    classes_ : array of shape (n_classes,)
    n_features_in_, feature_names_in_ : int, array of str (if X had names)
    n_iter_ : int
        Epochs of the last `fit`.
    n_updates_ : int
        Updates made since the start (after early stopping: up to the epoch returned to); more than mistakes if there
        is a margin or a cost. In a batch every example that asks for an update counts.
    n_mistakes_ : int
        Mistakes made by then, each before it was learned from; one-vs-rest, one-vs-one and with several labels those
        of all the binary problems.
    t_ : float
        Examples seen by then, by weight, every epoch counted. `n_mistakes_ / t_` is the progressive error.
    mistakes_ : array of shape (n_iter_,)
        Mistakes in each epoch.
    history_ : list of dict
        A row per epoch: epoch, examples, mistakes, updates, loss, validation_accuracy, norm, seconds.
    converged_ : bool
        Did the last epoch ask for no update, and do the last weights predict every training example right? Then no
        epoch will ever change them. The average need not predict every one right.
    stop_reason_ : {"converged", "stuck", "tol", "early_stopping", "max_iter", "max_seconds", "interrupted", "failed"}
        "stuck": no example asks for an update, but zero_score="correct" let scores of exactly 0 pass that `predict`
        answers wrongly.
    progress_, source_, columns_ : list, dict, Columns
        After `fit_stream`: (examples, mistakes) at 1, 2, 4, ... examples; how the files were read; what the columns
        stand for, if features have names.

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron().fit(X[:100], y[:100])
    >>> model.stop_reason_, model.score(X[:100], y[:100])
    ('converged', 1.0)
    """

    _method = None  # the method of learning made last, of which classes and parameters

    def __init__(
        self, *, combine: str = "average", window: float = WINDOW, step: str = "constant", eta0: float = 1.0,
        C: float = 1.0, margin: float | str | None = "auto", cost: Any = None, shrink: float = 0.0,
        batch_size: int | str = 1, multiclass: str = "joint", max_iter: int = 1000, tol: float | None = 5e-3,
        shuffle: bool = True, random_state: Any = 0, fit_intercept: bool = True,
        intercept_scaling: float | str = "auto", init: str = "zeros", zero_score: str = "mistake",
        early_stopping: bool = False, validation_fraction: float = 0.1, n_iter_no_change: int = 5,
        max_seconds: float | None = None, class_weight: Any = None, warm_start: bool = False, verbose: bool | int = 0,
        n_jobs: int | None = None, penalty: Any = None, alpha: Any = ALPHA, l1_ratio: Any = L1_RATIO,
        probability: Any = None,
    ) -> None:  # fmt: skip
        self.combine = combine
        self.window = window
        self.step = step
        self.eta0 = eta0
        self.C = C
        self.margin = margin
        self.cost = cost
        self.shrink = shrink
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
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.probability = probability

    # ---- learning

    def fit(self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all examples, epoch after epoch, until a stopping rule says so.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_examples, n_features)
            Where it is in shape already it is used as it is, not copied. If another thread changes it meanwhile, the
            weights are undefined; if it changes the indices of a sparse matrix, the process may crash.
        y : array of shape (n_examples,), or several labels an example
            Labels of two or more classes: numbers, strings or booleans. Several labels: an indicator matrix of 0 and 1,
            dense or sparse, with a column a label, or a list of label sets; `predict` answers in the same form.
        coef_init, intercept_init : arrays, optional
            Weights to start from, in the shape of `coef_` and `intercept_`, instead of `init`.
        sample_weight : array of shape (n_examples,), optional
            How often each example is repeated on the spot; fractions are allowed, 0 leaves it out.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            check_choices(self)
            warm = self.warm_start and hasattr(self, "_learner") and coef_init is None and intercept_init is None
            dtype = self._learner.weights.dtype if warm else None
            X = check_matrix(self, X, reset=not warm, dtype=dtype, growth=self._growth())
            target = read_target(y, X.shape[0], self._learner.form if warm else "")
            if len(target.classes) < 2 and not target.several:
                only = target.classes.tolist()[0]
                raise ValueError(f"y has only one class, {only!r}: a classifier needs at least two.")
            if warm:
                self._check_can_go_on(target)
                target = target.among(merge(self._learner.classes, target.classes))
            weight, by_label = target.weights(sample_weight, self.class_weight, stream=False)
            if not warm:
                self._forget_files()
                start = {"coef": coef_init, "bias": intercept_init}
                self._begin(target, as_rows(X), X.shape[1], self._units(as_rows(X), sample_weight), **start)
            self._measure(as_rows(X), sample_weight)
            learner, train, held_out = self._learner, None, None
            method = method_of(self, learner, target.classes, stream=False)
            if self.early_stopping or self.probability is not None:
                train, held_out = validation_split(target.codes, weight, self.validation_fraction, learner.seed)
        learner.meet_classes(target.classes)
        learner.weights.forget_judgement()
        examples = learner.examples(self._once(as_rows(X)), target, weight, by_label)
        fit = LinearFit(learner, examples, method, self.combine, train, held_out)
        self._run(fit, X.shape[0], train, bool(self.early_stopping))
        if self.probability is not None:
            weight, _ = target.weights(sample_weight, None, stream=False)
            scores = learner.scores(X[held_out], self.combine, self.zero_score)
            calibrate_held_out(self, scores, target.truth[held_out], None if weight is None else weight[held_out])
        self._warn_unless_finished()
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a block of examples: one pass in the given order, from where the model is.

        The weights are those that `fit` reaches on the same examples in the same order, if `margin` and
        `intercept_scaling` are numbers: "auto" takes the units of the first block. Classes never seen before are
        learned; to get exactly the weights of a `fit` on three or more classes, name them all at the first call.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : array, optional
            All classes that may come, if known.

        Returns
        -------
        self
        """
        examples, method = self._meet_block(X, y, classes, sample_weight)
        warn_if_sorted(examples.y)
        self._learner.learn_block(examples, method.in_epoch(self._learner.epoch))
        return self

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn from one example, at the cost of its non-zero features.

        Parameters
        ----------
        x : dict of feature values by name, or a row of numbers
            Names never seen before become new features; a string value counts as the feature "name=value". A model that
            learned from files takes a record or a text like theirs.
        y : label
            A label never seen before becomes a new class.

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
        learner = getattr(self, "_learner", None)
        ready = None if learner is None else learner.ready_to_learn
        if ready is None or not ready.fits(self, learner) or not ready.learn(self, learner, x, y):
            learn_any(self, x, y)
        return self

    def fit_stream(
        self, reader: Any, epochs: int = 1, *, classes: Any = None, cache: Any = None, checkpoint: Any = None,
        watch: Any = None,
    ) -> Self:  # fmt: skip
        """Learn from blocks of examples, as many as there are: from files larger than memory, from pipes.

        In the first epoch blocks are learned in the order they come, while the next ones are read; later epochs read
        a compact cache, blocks in random order. With `shuffle` the rows of a block are visited in random order. With
        shuffle=False the weights are those of `fit` on all rows at once, for as many epochs with tol=None, if the
        first block has all classes or they are named, and `margin` and `intercept_scaling` are numbers.
        `early_stopping` holds examples out by a hash of each.

        Parameters
        ----------
        reader : perceptrons.data.stream(...), or an iterable of (X, y) or (X, y, weight)
            Later blocks may have more columns.
        epochs : int or None, default=1
            Number of passes over the data; a pass that triggers no update is the last. None: `max_iter` and `tol` say
            when to stop, as in `fit`.
        classes : array, optional
            All classes that may come. Otherwise a class that a later block brings is learned from there on.
        cache : path, False or None, default=None
            For several epochs, what was read is kept in a binary file: a temporary one (None), one that later fits
            from the same files use again (a path), or none (False: the files are read anew for every epoch).
        checkpoint : perceptrons.Checkpoint, optional
            Where the state is saved now and then, so that a run that was killed can go on.
        watch : function, optional
            Is called with a dict after every block, and at 1, 2, 4, 8, ... examples with mark=True: epoch, blocks,
            examples, mistakes, updates of the epoch so far, seconds; decisions is the number of binary problems that
            an example is in, else 1.

        Returns
        -------
        self
            `progress_` has (examples, mistakes) at 1, 2, 4, 8, ... examples of the first epoch and at its end: every
            example was predicted before it was learned from, so that this is an honest test (spec 10). With batches
            the marks are at the ends of batches; one-vs-rest, one-vs-one and with several labels the mistakes are
            those of all the binary problems.

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
        """Scores: for two classes one a row, positive for `classes_[1]`; for more, one a class.

        They are not probabilities. Under combine="vote" they are shares of the votes.
        """
        check_is_fitted(self)
        check_choices(self)
        return self._learner.scores(check_matrix(self, X, reset=False), self.combine, self.zero_score)

    def predict(self, X: Any) -> np.ndarray:
        """The class of the highest score for every row of X; of two classes, by `threshold_` if it is set."""
        check_is_fitted(self)
        learner = self._fitted()
        return answer(self._winners(self.decision_function(X)), learner.classes, learner.form)

    def predict_one(self, x: Any) -> Any:
        """The class of one example, given as a dict of features or a row of numbers; unknown features count 0.

        A model that learned from files takes a record or a text like theirs.
        """
        learner = getattr(self, "_learner", None)
        ready = None if learner is None else learner.ready_to_predict
        if ready is not None and ready.fits(self, learner):
            found = ready.predict(self, learner, x)
            if found is not None:
                return found
        learner = self._fitted()
        self._check_again()
        scores = learner.score_one(known_part(*self._one_row(x)), self.combine, self.zero_score)
        one = answer(self._winners(scores), learner.classes, learner.form)
        if ready is None or not ready.fits(self, learner):
            learner.ready_to_predict = ReadyToPredict(self)
        return one.tolist()[0] if learner.form == "single" else one[0]

    def _winners(self, scores: Any) -> Any:
        return self._learner.winners(scores, self.zero_score)

    def _by_scores(self, X: Any, method: str, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return function(self.decision_function(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of examples answered right; with several labels, all of them right."""
        target = read_target(y, np.shape(X)[0] if hasattr(X, "shape") else len(X), self._fitted().form)
        self._learner.check_form(target.form, len(target.classes))
        if not target.several:
            return super().score(X, y, sample_weight)
        known = merge(self.classes_, target.classes)
        truth = target.among(known).indicator
        predicted = np.zeros_like(truth)
        predicted[:, np.searchsorted(known, self.classes_)] = self._winners(self.decision_function(X))
        from sklearn.metrics import accuracy_score  # slow to import, and no command needs it

        return accuracy_score(truth, predicted, sample_weight=sample_weight)

    # ---- what was learned

    @property
    def coef_(self) -> Any:
        """The weights that predict, read-only; assign to it to set them (combine="last")."""
        return self._fitted().shown(self.combine).coef

    @coef_.setter
    def coef_(self, coef: Any) -> None:
        settable(self, "coef_").set_last(coef=coef)

    @property
    def intercept_(self) -> Any:
        """The biases that predict, read-only; assign to it to set them (combine="last")."""
        return self._fitted().shown(self.combine).intercept

    @intercept_.setter
    def intercept_(self, intercept: Any) -> None:
        learner = settable(self, "intercept_")
        if not self.fit_intercept and np.any(intercept):
            raise ValueError(
                "fit_intercept=False means an intercept of 0: set intercept_ to 0, or use fit_intercept=True."
            )
        learner.set_last(intercept=intercept)

    coef_last_ = property(lambda self: self._fitted().shown("last").weights)
    intercept_last_ = property(lambda self: self._fitted().shown("last").intercept)
    coef_average_ = property(lambda self: self._fitted().shown("average").weights)
    intercept_average_ = property(lambda self: self._fitted().shown("average").intercept)
    coef_recent_ = property(lambda self: self._fitted().shown("recent").weights)
    intercept_recent_ = property(lambda self: self._fitted().shown("recent").intercept)

    @available_if(_has_one_weight_vector)
    def sparsify(self) -> Any:
        """Show `coef_` as a sparse matrix, until `densify` or the next `fit`.

        As in scikit-learn, but predictions and further training do not change. The model keeps its dense
        weights to learn with: to save memory on disk use `perceptrons.save`, to predict with sparse weights
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

    @property
    def margin_(self) -> float:
        """The margin that learning demands, in units of scores."""
        learner = self._fitted()
        return grown(at_first(self), learner.epoch) * margin_of(self, learner.spread)

    @property
    def never_updated_(self) -> np.ndarray:
        """For every feature: has no update ever changed one of its weights?"""
        return untouched(self._fitted())

    def explain(self, x: Any) -> Explanation:
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
        feature   value  weight  contribution
        x0            2  +7.444        +14.89
        x1            1  -2.407        -2.407
        (bias)                         -3.556
        together                       +8.926
        <BLANKLINE>
        Above 0 speaks for 'yes', below 0 for 'no'.
        Scores are not probabilities.
        """
        learner = self._fitted()
        self._check_again()
        learner.check_holds(self.combine)
        return explain_weights(self, *self._example(x))

    def vote_shares(self, X: Any) -> np.ndarray:
        """For every row of X and class the share of the votes that it gets: (n, n_classes), rows sum up to 1.

        All weights that ever were vote, each as often as examples it survived. A model with combine="vote" only. Shares
        say how undivided the answer is, and are not probabilities.
        """
        return class_shares(self._votes(X), len(self._fitted().classes))

    # ---- what scikit-learn asks

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = self.combine in ("average", "recent", "last") and self.cost is None
        return tags

    # ---- the small steps of learning

    def _meet_block(self, X: Any, y: Any, classes: Any, sample_weight: Any, block: str = "given") -> Any:
        """Examples and method for a block, checked; the model is begun, or has room for what is new in it.

        block: "given" has the columns of the model; "new" of a stream may have more; "checked" was met before.
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
            target = y if isinstance(y, Target) else read_target(y, X.shape[0], "" if first else self._learner.form)
            check_consistent_length(X, target.codes)  # a source may have said another number of rows
            if not first:
                self._check_can_go_on(target)
            target = self._among(target, classes)
            weight, by_label = target.weights(sample_weight, self.class_weight, stream=True)
            if first:
                self._begin(target, as_rows(X), X.shape[1], self._units(as_rows(X), sample_weight))
            self._measure(as_rows(X), sample_weight)
            method = self._method_for(target.classes)
        self._learner.meet_classes(target.classes)
        self._learner.meet_features(X.shape[1])
        self.n_features_in_ = self._learner.n_features
        return self._learner.examples(self._once(as_rows(X)), target, weight, by_label), method

    def _growth(self) -> Any:
        return Growth(float(self.eta0), self.shrink > 0)

    def _once(self, rows: Any) -> Any:
        return rows if self.step == "constant" else once_each(rows)

    def _method_for(self, classes: Any) -> Any:
        """How to learn; made again only if parameters or classes changed."""
        made, now = self._method, (classes, self._checked, self._learner, self._learner.spread)
        if made is None or any(was is not one for was, one in zip(made, now, strict=False)):
            made = self._method = *now, method_of(self, self._learner, classes, stream=True)
        return made[-1]

    def _choices_now(self) -> Any:
        return OF_ONE_EXAMPLE(self), id(self.cost)

    _check_choices = check_choices
    _check_can_go_on = check_unchanged

    def _units(self, rows: Any, weight: Any = None) -> Any:
        """Of the data that the model begins with, where parameters depend on them."""
        if self.margin != "auto" and self.intercept_scaling != "auto":
            return Units(1.0, 1.0)
        return moments(rows, weight).units()

    def _measure(self, rows: Any, weight: Any = None) -> Any:
        """The spread, of the first examples that are not all 0."""
        if not self._learner.spread:
            self._learner.spread = self._units(rows, weight).spread

    def _begin(self, target: Any, rows: Any, n_features: Any, units: Any, coef: Any = None, bias: Any = None) -> Any:
        check_start(self, target, bias)
        self._learner = Learner.begin(
            target.classes,
            n_features,
            rows.values.dtype,
            combine=self.combine,
            scheme="labels" if target.several else self.multiclass,
            form=target.form,
            sigma=self.step == "arow",
            init=self.init,
            seed=self._seed(),
            intercept=bool(self.fit_intercept),
            scaling=scaling_of(self),
            units=units,
            sparse=isinstance(rows, Sparse),
            coef=coef,
            bias=bias,
        )
        self._tell(None)
