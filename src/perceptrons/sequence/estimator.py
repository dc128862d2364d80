"""`SequencePerceptron`, the estimator that labels the tokens of sequences. The rule is in `passes/chain.py`."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.training.base import Estimator, unchanged_on_error
from perceptrons.engine.training.epochs import validation_split
from perceptrons.engine.training.inputs import read_only
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.labels import Target, merge, numbered
from perceptrons.engine.training.parameters import TaggerCombine, TaggerStep
from perceptrons.sequence.allowed import OnBadLabel, check_allowed, healed
from perceptrons.sequence.choices import OF_ONE_EXAMPLE, ValidationMetric, check_choices, check_unchanged
from perceptrons.sequence.learner import (
    ChainFit,
    ChainLearner,
    Validation,
    check_metric,
    learned_since,
    limits,
    rule_of,
)
from perceptrons.sequence.tag_explanation import SequenceExplanation, explained
from perceptrons.sequence.token_features import features_for, is_matrix, read_tokens
from perceptrons.sequence.tokens import TokenFeatures, Tokens, cut, read_labels


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
        self, *, templates: Any = None, transitions: bool = True, start_stop: bool = True, allowed: Any = None,
        combine: TaggerCombine = "average", step: TaggerStep = "constant", eta0: float = 1.0, C: float = 1.0,
        margin: float | None = None, cost: Any = None, order: int = 1, min_count: int = 1, hash_bits: int | None = None,
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
            has_validation_set = self._given_validation(X_val, y_val, lengths_val)
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
            held_out = self._validation(X_val, y_val, lengths_val) if has_validation_set else None
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
        return cut(self._learner.classes.astype(object)[y_hat].tolist(), tokens.starts)

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
        return _by_sequence(self._learner.best_through(tokens, self.combine, self._barrier()), tokens, is_flat)

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
        return ~self._fitted().weights.fired()

    def known_words(self) -> Any:
        """The words that training has met, of the first column of tokens; None where words are not remembered."""
        features = self._fitted().features
        return set(features.values[0]) if features.kind == "templates" and features.hash_bits is None else None

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
        scores = learner.best_through(tokens, self.combine, self._barrier())
        w, arcs = learner.predicting(self.combine)
        tall = learner.weights.tall(w, tokens.rows.columns)
        return explained(learner.classes, learner.features.names(), tokens.rows, tall, arcs, y_hat, scores)

    def _coef(self, combine: str) -> Any:
        learner = self._fitted()
        return read_only(learner.weights.tall(learner.predicting(combine)[0]).T.copy())

    def _arcs(self, combine: str) -> Any:
        return read_only(self._fitted().predicting(combine)[1].copy())

    # ---- what scikit-learn asks

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # a list of sequences; a matrix only together with `lengths`
        tags.input_tags.string, tags.input_tags.dict = self.templates is not None, self.templates is None
        tags.target_tags.required, tags.target_tags.single_output = True, False
        return tags

    # ---- the small steps

    def _begin(self, features: Any, classes: np.ndarray, dtype: Any) -> None:
        if features.kind == "matrix":
            features.n_features, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
            features.columns = None if names is None else names.tolist()
        arcs = (bool(self.transitions), bool(self.start_stop))
        if hasattr(self, "label_column_"):
            del self.label_column_
        self._learner = ChainLearner(features, classes, dtype, self._seed(), arcs)
        self._tell(None)

    def _given_validation(self, X_val: Any, y_val: Any, lengths_val: Any) -> bool:
        """Return whether a validation set is given, checked."""
        if X_val is None and y_val is None and lengths_val is None:
            return False
        if X_val is None or y_val is None:
            raise ValueError("X_val and y_val must be given together: give both, or neither.")
        if not self.early_stopping:
            raise ValueError("X_val and y_val are for early_stopping=True: set it, or leave them out.")
        return True

    def _validation(self, X_val: Any, y_val: Any, lengths_val: Any) -> Validation:
        learner = self._learner
        sequences = read_tokens(self, learner.features, X_val, lengths_val, reset=False)
        target = read_labels(y_val, sequences.starts, by_sequence=learner.features.kind != "matrix")
        if not len(target.codes):
            raise ValueError("X_val has no tokens: give sequences to score the epochs on, or leave it out.")
        tokens = learner.features.tokens(sequences, learner.dtype, learn=False)
        labels = target.classes[target.codes]
        return Validation(tokens, learner.codes(target), labels, self.validation_metric == "phrase_f1")

    def _read_labels(self, sequences: Any, y: Any, features: Any, on_bad_label: str) -> tuple[Any, Target]:
        """Return the sequences and labels to learn from, after `on_bad_label` was applied."""
        by_sequence = features.kind != "matrix"
        sequences, healing = healed(sequences, y, by_sequence, self.allowed, on_bad_label)
        self.n_skipped_, self.n_repaired_ = healing.skipped, healing.repaired
        return sequences, healing.target

    def _labels(self, X: Any, lengths: Any) -> tuple[np.ndarray, Tokens, bool]:
        """Return the numbers of the best labels, the tokens, and whether they came as one plain matrix."""
        tokens, is_flat = self._tokens(X, lengths)
        y_hat, stuck = self._learner.label(tokens, self.combine, self._barrier())
        if stuck >= 0:
            n = tokens.starts[stuck + 1] - tokens.starts[stuck]
            raise ValueError(f"Sequence {stuck} has {n} tokens, but `allowed` permits no labelling of that length.")
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
        self._learner.meet_features()  # what a call that failed left to be done
        sequences = read_tokens(self, features, X, lengths, reset=False)
        flat = features.kind == "matrix" and not isinstance(X, TokenFeatures)
        return features.tokens(sequences, self._learner.dtype, learn=False), flat

    def _choices_now(self) -> Any:
        return OF_ONE_EXAMPLE(self)

    _check_choices = check_choices
    _check_can_go_on = check_unchanged


def _by_sequence(values: np.ndarray, tokens: Tokens, is_flat: bool) -> Any:
    """Return the values of all tokens as one array per sequence, or as one array if the tokens came as one matrix."""
    if is_flat:
        return values
    return np.split(values, tokens.starts[1:-1]) if len(tokens.starts) > 1 else []


def tokens_to_label(tagger: SequencePerceptron, X: Any, lengths: Any = None) -> tuple[Tokens, bool]:
    """Return the rows of sequences as `predict` reads them, and whether they came as one plain matrix."""
    return tagger._tokens(X, lengths)
