"""`SequencePerceptron`, the estimator that labels the tokens of sequences. The rule is in `passes/chain.py`."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Literal, Self, get_args

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.training.base import Estimator, learner_of, unchanged_on_error
from perceptrons.engine.training.epochs import validation_split
from perceptrons.engine.training.inputs import read_only
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.labels import Target, merge, numbered
from perceptrons.engine.training.parameters import DOMAINS as LINEAR
from perceptrons.engine.training.parameters import (
    LARGEST_DEMAND,
    NONE,
    TRAINING_DOMAINS,
    Domain,
    Flag,
    Kind,
    Number,
    TaggerCombine,
    TaggerStep,
    Words,
    check_parameters,
)
from perceptrons.sequence.allowed import SCHEMES, OnBadLabel, check_allowed, check_way, followers_of, heal
from perceptrons.sequence.explanation import SequenceExplanation, explain_labelling
from perceptrons.sequence.learner import (
    ChainFit,
    ChainLearner,
    Validation,
    check_metric,
    features_for,
    learned_since,
    limits,
    read_tokens,
    rule_of,
)
from perceptrons.sequence.templates import FeatureTemplates, TemplateFeatures
from perceptrons.sequence.tokens import (
    Features,
    MatrixFeatures,
    NamedFeatures,
    ReadSequences,
    TokenFeatures,
    Tokens,
    is_matrix,
    read_labels,
    split,
)

ValidationMetric = Literal["accuracy", "phrase_f1"]
LABEL_TYPES = (str, bool, int, float, np.generic)

DOMAINS: dict[str, tuple[Domain, ...]] = {
    "templates": (Kind((FeatureTemplates,), "a FeatureTemplates"), NONE),
    "transitions": (Flag(),),
    "start_stop": (Flag(),),
    "allowed": (Words(SCHEMES), Kind((Mapping,), "a dict of labels and those that may follow each"), NONE),
    "combine": (Words(get_args(TaggerCombine)),),
    "step": (Words(get_args(TaggerStep)),),
    "margin": (Number(0, LARGEST_DEMAND), NONE),
    "cost": (Words(("hamming",)), NONE),
    "order": (Number(1, 1, whole=True),),
    "min_count": (Number(1, 2**30, whole=True),),
    "hash_bits": (Number(1, 30, whole=True), NONE),
    "validation_metric": (Words(get_args(ValidationMetric)),),
    "C": LINEAR["C"],
    **TRAINING_DOMAINS,
}
# parameters that learning from one sequence and labelling it depend on; compared before each, to notice a change
SINGLE_EXAMPLE_CHOICES = attrgetter(
    "templates", "transitions", "start_stop", "allowed", "combine", "step", "eta0", "C", "margin", "cost", "order",
    "min_count", "hash_bits",
)  # fmt: skip


class SequencePerceptron(Estimator[ChainLearner]):
    """A tagger: the averaged structured perceptron, which labels every token of a sentence in its context.

    It is a first-order chain model: scores depend on the features of each token and on pairs of neighbouring labels. It
    visits the sequences one by one and finds the best labelling with the Viterbi algorithm. Where that is wrong, it
    adds the features of the true labelling to the weights and subtracts those of the predicted labelling (Collins
    2002). Weights are averaged by default.

    Use it for part-of-speech tags, chunks, named entities, and anything else with one label per token, on many or few
    sequences or on streams; when training must be fast, reproducible, resumable or incremental. Do not use it when you
    need probabilities (use a CRF), or when labels depend on each other over longer distances.

    Parameters
    ----------
    templates : FeatureTemplates or None, default=None
        The templates that make features of raw tokens. None: X already contains features.
    transitions : bool, default=True
        Whether to learn a weight for every pair of neighbouring labels. If False, tokens are labelled independently,
        but as `allowed` permits.
    start_stop : bool, default=True
        Whether to learn weights for the first and the last label of a sequence.
    allowed : {"bio", "bioes"}, dict or None, default=None
        Which labels may follow each other. "bio": I-X only after B-X or I-X. "bioes": the same, and phrases end with
        E-X or S-X. A dict {label: labels that may follow it}; its key None gives the labels that may come first. Labels
        that are not a key may be followed by any label.
    combine : {"average", "last"}, default="average"
        The weights to predict with: the mean of the weights after every sequence, or the last weights.
    step : {"constant", "pa1"}, default="constant"
        The length of an update: the learning rate `eta0`, or passive-aggressive, as long as the loss needs, at most
        `C`.
    eta0, C : float, default=1.0
        As in `Perceptron`.
    margin : float or None, default=None
        The required margin: the true labelling must lead every other labelling by this much. None is 0, and 1 for
        "pa1".
    cost : {"hamming"} or None, default=None
        "hamming" increases the margin by 1 for every wrong token (cost-augmented decoding, during training only).
    order : int, default=1
        The number of previous labels that a label depends on. Only 1 is supported.
    min_count : int, default=1
        Use only features that occur at least this often: in the data of `fit`, or, with `partial_fit`, up to and
        including the present call.
    hash_bits : int or None, default=None
        Hash features to 2 ** hash_bits columns instead of storing their names: memory is bounded, names are lost.
    max_iter : int, default=10
        The maximum number of epochs.
    tol : float or None, default=None
        Training stops when the averaged weights change by less than `tol` times their norm in an epoch.
    shuffle, random_state, early_stopping, validation_fraction, n_iter_no_change, max_seconds, warm_start, verbose
        As in `Perceptron`, with sequences as examples; accuracy is that of tokens. The validation set of
        `early_stopping` is held out, or given to `fit`.
    validation_metric : {"accuracy", "phrase_f1"}, default="accuracy"
        The metric for `early_stopping`: the accuracy of tokens, or, for labels such as B-NP, I-NP and O, the F1 of
        phrases, counted as conlleval does.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
    coef_ : array of shape (n_labels, n_features)
        The feature weights that predict.
    transitions_ : array of shape (n_labels, n_labels)
        The weights of label pairs: previous labels in rows, next labels in columns.
    start_, stop_ : arrays of shape (n_labels,)
        The weights of the first and last labels.
    coef_last_, coef_average_, transitions_last_, transitions_average_, start_last_, start_average_, stop_last_,
    stop_average_ : arrays
        The last and the averaged weights, which exist for every `combine`.
    attributes_ : array of shape (n_features,)
        The names of the features.
    n_skipped_, n_repaired_ : int
        The number of sequences left out and of labels changed by the last `fit` or `partial_fit`; see `on_bad_label`
        there.
    label_column_ : str
        The column of the labels in the training file: its name in CoNLL-U, else its number, -1 for the last. Only for
        taggers that were trained on files; `perceptrons tag` writes predictions to it.
    n_features_in_, n_iter_, n_updates_, n_mistakes_, t_, mistakes_, history_, converged_, stop_reason_
        As in `Perceptron`. Examples are sequences, and a mistake is a sequence with a wrong label.

    Examples
    --------
    >>> from perceptrons import SequencePerceptron
    >>> X = [[["w=the"], ["w=dog", "s=g"], ["w=runs", "s=s"]], [["w=a"], ["w=cat", "s=t"], ["w=sits", "s=s"]]]
    >>> y = [["DET", "NOUN", "VERB"]] * 2
    >>> tagger = SequencePerceptron().fit(X, y)
    >>> tagger.predict([[["w=the"], ["w=cow", "s=w"], ["w=eats", "s=s"]]])
    [['DET', 'NOUN', 'VERB']]
    """

    def __init__(
        self, *, templates: Any = None, transitions: bool = True, start_stop: bool = True,
        allowed: Any = None, combine: TaggerCombine = "average",
        step: TaggerStep = "constant", eta0: float = 1.0, C: float = 1.0, margin: float | None = None,
        cost: Any = None, order: int = 1, min_count: int = 1, hash_bits: int | None = None,
        max_iter: int = 10, tol: float | None = None, shuffle: bool = True, random_state: Any = 0,
        early_stopping: bool = False, validation_fraction: float = 0.1, n_iter_no_change: int = 5,
        max_seconds: float | None = None, warm_start: bool = False, verbose: bool | int = 0,
        validation_metric: ValidationMetric = "accuracy",
    ) -> None:  # fmt: skip
        self.templates = templates
        self.transitions = transitions
        self.start_stop = start_stop
        self.allowed = allowed
        self.combine = combine
        self.step = step
        self.eta0 = eta0
        self.C = C
        self.margin = margin
        self.cost = cost
        self.order = order
        self.min_count = min_count
        self.hash_bits = hash_bits
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.verbose = verbose
        self.validation_metric = validation_metric

    # ---- learning

    def fit(
        self, X: Any, y: Any, lengths: Any = None, on_bad_label: OnBadLabel = "raise", X_val: Any = None,
        y_val: Any = None, lengths_val: Any = None,
    ) -> Self:  # fmt: skip
        """Train on all sequences for several epochs, until a stopping rule applies.

        Parameters
        ----------
        X : list of sequences, or matrix of shape (n_tokens, n_features)
            A sequence is a list of tokens. A token is a dict of features (a number counts with its value, a string as
            "name=value") or a list of attribute strings; with `templates`, a string or a tuple of strings, one per
            column. A matrix, sparse or dense, has one row per token.
        y : list of lists of labels; for a matrix also one label per row
        lengths : list of int, for a matrix only
            The number of tokens of each sequence.
        on_bad_label : {"raise", "skip", "repair"}, default="raise"
            How to handle a label that `allowed` forbids, such as I-X after O: raise an error, leave its sequence out,
            or repair the labels of the sequence (for "bio" and "bioes": a stray I-X becomes B-X, as conlleval reads
            it). `n_skipped_` and `n_repaired_` count the sequences and labels.
        X_val, y_val, lengths_val : as X, y and lengths, optional
            The validation set for `early_stopping`. Without it, `validation_fraction` of X is held out. Its labels may
            have any order, and labels that X does not contain count as wrong.

        Returns
        -------
        self
        """
        warm = self.warm_start and hasattr(self, "_learner")
        with unchanged_on_error(self, unless=learned_since(self)):
            check_choices(self)
            has_validation_set = self._has_validation_set(X_val, y_val, lengths_val)
            features = self._learner.features if warm else features_for(self, X)
            sequences = read_tokens(self, features, X, lengths, reset=not warm)
            sequences, target = self._read_labels(sequences, y, features, on_bad_label)
            if warm:
                self._check_can_go_on()
                target = target.among(merge(self._learner.classes, target.classes))
            if len(target.classes) < 2:
                only = f"only one label, {target.classes.tolist()[0]!r}" if len(target.classes) else "no labels"
                raise ValueError(f"y has {only}: a tagger needs at least two.")
            bounds = limits(self, target.classes, np.float64, stream=False)
            check_allowed(bounds.barrier, target.codes, sequences.starts, target.classes, self.allowed)
            if self.early_stopping:
                check_metric(self.validation_metric, target.classes)
            n, train, validation = len(sequences.starts) - 1, None, None
            if self.early_stopping and not has_validation_set and n < 2:
                raise ValueError(
                    "early_stopping holds out sequences, but there is only one: give more, or use early_stopping=False."
                )
            if not warm:
                self._begin(features, target.classes, sequences.dtype)
            learner = self._learner
            if self.early_stopping and not has_validation_set:
                codes = np.zeros(n, np.intp)
                train, validation = validation_split(codes, None, self.validation_fraction, learner.seed)
            tokens = learner.meet(sequences, target.classes, restart_counts=True)
            self.n_features_in_ = learner.n_features
            bounds = learner.limits(self, stream=False)
            held_out = self._read_validation_set(X_val, y_val, lengths_val) if has_validation_set else None
            if validation is not None:
                held_out = Validation.of(tokens, target.codes, validation, target.classes, self.validation_metric)
            fit = ChainFit(learner, tokens, target.codes, bounds, rule_of(self), self.combine, held_out)
            self._run(fit, n, train, held_out is not None)
        self._warn_unless_finished()
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, lengths: Any = None, on_bad_label: OnBadLabel = "raise",
    ) -> Self:  # fmt: skip
        """Train on one block of sequences: one pass in the given order, starting from the present weights.

        The weights equal those of `fit` on the same sequences in the same order. New labels and features are learned.

        Parameters
        ----------
        X, y, lengths, on_bad_label : as in `fit`
        classes : array, optional
            All labels that may appear, if they are known.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_learner")
        with unchanged_on_error(self, unless=learned_since(self)):
            check_choices(self)
            self._refuse_early_stopping()
            features = features_for(self, X) if first else self._learner.features
            sequences = read_tokens(self, features, X, lengths, reset=first)
            sequences, target = self._read_labels(sequences, y, features, on_bad_label)
            if not first:
                self._check_can_go_on()
            target = numbered(target, classes, None if first else self._learner.classes)
            bounds = limits(self, target.classes, np.float64, stream=True)
            check_allowed(bounds.barrier, target.codes, sequences.starts, target.classes, self.allowed)
            if first:
                self._begin(features, target.classes, sequences.dtype)
            learner = self._learner
            tokens = learner.meet(sequences, target.classes, restart_counts=False)
            self.n_features_in_ = learner.n_features
            bounds = learner.limits(self, stream=True)
            fit = ChainFit(learner, tokens, target.codes, bounds, rule_of(self), self.combine, None)
            with Uninterrupted() as hold:
                for counts in fit.visit(np.arange(len(sequences.starts) - 1)):
                    learner.mistakes += counts.mistakes
                    learner.updates += counts.updates
                    hold.let()
        return self

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn from one sequence: its tokens as in `fit`, and their labels.

        Examples
        --------
        >>> from perceptrons import SequencePerceptron
        >>> tagger = SequencePerceptron()
        >>> for _ in range(3):
        ...     tagger = tagger.learn_one([{"word": "a"}, {"word": "cat"}], ["DET", "NOUN"])
        >>> tagger.predict_one([{"word": "a"}, {"word": "hat"}])
        ['DET', 'NOUN']
        """
        return self.partial_fit(x, y, lengths=[np.shape(x)[0]]) if is_matrix(x) else self.partial_fit([x], [y])

    # ---- predicting

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """Return the best labelling of every sequence: lists of labels; for a matrix, one array of labels."""
        y_hat, tokens, is_flat = self._labels(X, lengths)
        if is_flat:
            return self._learner.classes[y_hat]
        return split(self._learner.classes.astype(object)[y_hat].tolist(), tokens.starts)

    def predict_one(self, x: Any) -> Any:
        """Return the labels of one sequence as a list."""
        return self.predict(x, lengths=[np.shape(x)[0]]).tolist() if is_matrix(x) else self.predict([x])[0]

    def decision_function(self, X: Any, lengths: Any = None) -> Any:
        """Return, for every token and label, the score of the best labelling in which the token has this label.

        The highest score is that of the prediction, and its lead says how clear the decision is. Scores are not
        probabilities. There is an array of shape (n_tokens, n_labels) per sequence, or one for a whole matrix. Minus
        infinity means that no allowed labelling has this label.
        """
        tokens, is_flat = self._tokens(X, lengths)
        return _by_sequence(self._learner.scores_through(tokens, self.combine, self._barrier()), tokens, is_flat)

    def token_confidence(self, X: Any, lengths: Any = None) -> Any:
        """Return the lead of every predicted label over the second best label, by the scores of `decision_function`.

        This is by how much the score of the sequence drops if the token must have another label. The leads are not
        probabilities. There is one array per sequence, or one for a whole matrix. Infinity means that no other label is
        allowed there.
        """
        y_hat, tokens, is_flat = self._labels(X, lengths)
        return _by_sequence(self._learner.leads(tokens, y_hat, self.combine, self._barrier()), tokens, is_flat)

    def confidence(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Return the lead of every sequence's best labelling over the second best: an array of shape (n_sequences,).

        This is the smallest lead of its tokens, because the second best labelling differs in at least one token. Use it
        to rank sentences, for instance to check the least certain ones first. The leads are not probabilities. Infinity
        means that only one labelling is allowed.
        """
        y_hat, tokens, _ = self._labels(X, lengths)
        leads = self._learner.leads(tokens, y_hat, self.combine, self._barrier())
        lead, has_tokens = np.full(len(tokens.starts) - 1, np.inf), np.diff(tokens.starts) > 0
        if has_tokens.any():
            lead[has_tokens] = np.minimum.reduceat(leads, tokens.starts[:-1][has_tokens])
        return lead

    def score(self, X: Any, y: Any, lengths: Any = None) -> float:
        """Return the accuracy: the share of tokens that are labelled correctly."""
        y_hat, tokens, is_flat = self._labels(X, lengths)
        target = read_labels(y, tokens.starts, by_sequence=not is_flat)
        if not len(y_hat):
            raise ValueError("There are no tokens to score on.")
        return float((self._learner.codes(target) == y_hat).mean())

    # ---- what was learned

    classes_ = property(lambda self: self._fitted().classes.copy())
    attributes_ = property(lambda self: np.array(self._fitted().features.names(), dtype=object))
    coef_ = property(lambda self: self._coef(self.combine))
    coef_last_ = property(lambda self: self._coef("last"))
    coef_average_ = property(lambda self: self._coef("average"))
    transitions_ = property(lambda self: self._arcs(self.combine)[:-1, :-1])
    transitions_last_ = property(lambda self: self._arcs("last")[:-1, :-1])
    transitions_average_ = property(lambda self: self._arcs("average")[:-1, :-1])
    start_ = property(lambda self: self._arcs(self.combine)[-1, :-1])
    start_last_ = property(lambda self: self._arcs("last")[-1, :-1])
    start_average_ = property(lambda self: self._arcs("average")[-1, :-1])
    stop_ = property(lambda self: self._arcs(self.combine)[:-1, -1])
    stop_last_ = property(lambda self: self._arcs("last")[:-1, -1])
    stop_average_ = property(lambda self: self._arcs("average")[:-1, -1])

    @property
    def never_updated_(self) -> np.ndarray:
        """For every feature: has no update ever changed one of its weights?"""
        return ~self._fitted().weights.updated_features()

    def known_words(self) -> Any:
        """Return the words of training, of the first column of tokens; None for models that do not store words."""
        features = self._fitted().features
        if isinstance(features, TemplateFeatures) and features.hash_bits is None:
            return set(features.values[0])
        return None

    def explain(self, x: Any) -> SequenceExplanation:
        """Explain one labelling: return what the features of each token, and each transition, add to the score.

        Parameters
        ----------
        x : list of tokens, as in `predict_one`
            Features that the model does not know count as 0 and are left out.

        Returns
        -------
        SequenceExplanation
        """
        learner = self._fitted()
        y_hat, tokens, _ = self._labels(*((x, [np.shape(x)[0]]) if is_matrix(x) else ([x], None)))
        scores = learner.scores_through(tokens, self.combine, self._barrier())
        w, arcs = learner.predicting(self.combine)
        weights = learner.weights.matrix(w, tokens.rows.columns)
        return explain_labelling(learner.classes, learner.features.names(), tokens.rows, weights, arcs, y_hat, scores)

    def _coef(self, combine: str) -> np.ndarray:
        learner = self._fitted()
        return read_only(learner.weights.matrix(learner.predicting(combine)[0]).T.copy())

    def _arcs(self, combine: str) -> np.ndarray:
        return read_only(self._fitted().predicting(combine)[1].copy())

    # ---- what scikit-learn asks

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # a list of sequences; a matrix only together with `lengths`
        tags.input_tags.string, tags.input_tags.dict = self.templates is not None, self.templates is None
        tags.target_tags.required, tags.target_tags.single_output = True, False
        return tags

    # ---- steps of fit and predict

    def _begin(self, features: Features, classes: np.ndarray, dtype: Any) -> None:
        if isinstance(features, MatrixFeatures):
            features.n_features, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
            features.columns = None if names is None else names.tolist()
        self._drop("label_column_")
        arcs = (bool(self.transitions), bool(self.start_stop))
        self._learner = ChainLearner(features, classes, dtype, self._seed(), arcs)
        self._tell(None)

    def _has_validation_set(self, X_val: Any, y_val: Any, lengths_val: Any) -> bool:
        """Return whether a validation set is given, checked."""
        if X_val is None and y_val is None and lengths_val is None:
            return False
        if X_val is None or y_val is None:
            raise ValueError("X_val and y_val must be given together: give both, or neither.")
        if not self.early_stopping:
            raise ValueError("X_val and y_val are for early_stopping=True: set it, or leave them out.")
        return True

    def _read_validation_set(self, X_val: Any, y_val: Any, lengths_val: Any) -> Validation:
        learner = self._learner
        sequences = read_tokens(self, learner.features, X_val, lengths_val, reset=False)
        target = read_labels(y_val, sequences.starts, by_sequence=learner.features.kind != "matrix")
        if not len(target.codes):
            raise ValueError("X_val has no tokens: give sequences to score the epochs on, or leave it out.")
        tokens = learner.features.tokens(sequences, learner.dtype, learn=False)
        labels = target.classes[target.codes]
        return Validation(tokens, learner.codes(target), labels, self.validation_metric == "phrase_f1")

    def _read_labels(
        self, sequences: ReadSequences, y: Any, features: Features, on_bad_label: OnBadLabel
    ) -> tuple[ReadSequences, Target]:
        """Return the sequences and labels to learn from, after `on_bad_label` was applied."""
        check_way(on_bad_label, self.allowed)
        target = read_labels(y, sequences.starts, by_sequence=features.kind != "matrix")
        healed = heal(target, sequences.starts, self.allowed, on_bad_label)
        self.n_skipped_, self.n_repaired_ = healed.skipped, healed.repaired
        return sequences if healed.kept is None else sequences.sequences(healed.kept), healed.target

    def _labels(self, X: Any, lengths: Any) -> tuple[np.ndarray, Tokens, bool]:
        """Return the numbers of the best labels, the tokens, and whether they came as one plain matrix."""
        tokens, is_flat = self._tokens(X, lengths)
        y_hat, i = self._learner.label(tokens, self.combine, self._barrier())
        if i >= 0:
            n = tokens.starts[i + 1] - tokens.starts[i]
            raise ValueError(f"Sequence {i} has {n} tokens, but `allowed` permits no labelling of that length.")
        return y_hat, tokens, is_flat

    def _barrier(self) -> np.ndarray:
        return self._learner.limits(self, stream=True).barrier

    def _tokens(self, X: Any, lengths: Any) -> tuple[Tokens, bool]:
        """Return the rows to label, and whether they came as one plain matrix."""
        check_is_fitted(self)
        self._check_again()
        self._check_can_go_on()
        features = self._learner.features
        if not len(self._learner.classes):
            raise ValueError("The model knows no labels yet: train it first.")
        self._learner.meet_features()  # an earlier call may have failed before this
        sequences = read_tokens(self, features, X, lengths, reset=False)
        is_flat = features.kind == "matrix" and not isinstance(X, TokenFeatures)
        return features.tokens(sequences, self._learner.dtype, learn=False), is_flat

    def _choices_now(self) -> tuple[Any, ...]:
        return SINGLE_EXAMPLE_CHOICES(self)

    def _check_choices(self) -> None:
        check_choices(self)

    def _check_can_go_on(self) -> None:
        check_unchanged(self)


def check_choices(estimator: SequencePerceptron) -> None:
    """Raise ValueError for a parameter outside its domain, or for two that cannot be combined."""
    check_parameters(estimator, DOMAINS)
    e = estimator
    if e.hash_bits is not None and e.min_count > 1:
        raise ValueError(
            f"SequencePerceptron(hash_bits={e.hash_bits}, min_count={e.min_count}) does not work: hashed features "
            "are not counted. Use one of the two."
        )
    if e.step != "constant" and e.eta0 != 1:
        raise ValueError(
            f"SequencePerceptron(step={e.step!r}, eta0={e.eta0!r}) does not work: this step is computed from the "
            "loss, without eta0: leave eta0=1, and set C."
        )
    if e.step != "constant" and e.margin == 0 and e.cost is None:
        raise ValueError(
            f"SequencePerceptron(step={e.step!r}, margin=0) does not work: without a margin or a cost, the loss and "
            "the step are 0 at the start, so nothing is learned."
        )
    if isinstance(e.allowed, Mapping):
        for label, value in e.allowed.items():
            followers = followers_of(value)
            is_collection = isinstance(followers, list | tuple | set | frozenset)
            if not is_collection or not all(isinstance(follower, LABEL_TYPES) for follower in followers):
                raise ValueError(f"allowed[{label!r}] is {value!r}: give a list of the labels that may follow it.")


def check_unchanged(estimator: SequencePerceptron) -> None:
    """Raise ValueError if features or arcs are no longer those that the model was first trained with."""
    learner = learner_of(estimator)
    features, fitted = learner.features, dict[str, Any](zip(("transitions", "start_stop"), learner.arcs, strict=True))
    if isinstance(features, NamedFeatures | TemplateFeatures):
        fitted |= {"min_count": features.min_count, "hash_bits": features.hash_bits}
    for name, value in fitted.items():
        if getattr(estimator, name) != value:
            raise ValueError(
                f"The model was created with {name}={value!r}, but it is now {getattr(estimator, name)!r}: fit it "
                "again."
            )
    source = None if estimator.templates is None else estimator.templates.source()
    fitted_source = features.source if isinstance(features, TemplateFeatures) else None
    if source != fitted_source and not isinstance(features, MatrixFeatures):
        raise ValueError("The model was created with other templates: fit it again.")


def _by_sequence(values: np.ndarray, tokens: Tokens, is_flat: bool) -> Any:
    """Return the values of all tokens as one array per sequence, or as one array if the tokens came as one matrix."""
    if is_flat:
        return values
    return np.split(values, tokens.starts[1:-1]) if len(tokens.starts) > 1 else []


def tokens_to_label(tagger: SequencePerceptron, X: Any, lengths: Any = None) -> tuple[Tokens, bool]:
    """Return the rows of sequences as `predict` reads them, and whether they came as one plain matrix."""
    return tagger._tokens(X, lengths)
