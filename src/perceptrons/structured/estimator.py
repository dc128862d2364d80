"""`StructuredPerceptron`, the estimator for outputs of any kind. The rule is in `learner.py`."""

import copy
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from operator import attrgetter
from typing import Any, Self, get_args

import numpy as np
from sklearn.utils import Tags

from perceptrons.engine.training.base import Estimator, unchanged_on_error
from perceptrons.engine.training.epochs import validation_split
from perceptrons.engine.training.inputs import read_only
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.parameters import DOMAINS as LINEAR
from perceptrons.engine.training.parameters import (
    NONE,
    TRAINING_DOMAINS,
    Domain,
    Number,
    TaggerCombine,
    TaggerStep,
    Words,
    check_parameters,
)
from perceptrons.structured.learner import CheckedModel, OutputFit, OutputLearner, Rule

MODEL_MEMBERS = ("size", "decode", "features", "loss")
DOMAINS: dict[str, tuple[Domain, ...]] = {
    "combine": (Words(get_args(TaggerCombine)),),
    "step": (Words(get_args(TaggerStep)),),
    "margin": (Number(0, 1e12), NONE),
    "C": LINEAR["C"],
    **TRAINING_DOMAINS,
}
MIN_MARGIN = 1e-12  # weights are divided by it

# parameters that learning and predicting one example depend on; compared before each, to notice a change
SINGLE_EXAMPLE_CHOICES = attrgetter("combine", "step", "margin", "eta0", "C")


class StructuredPerceptron(Estimator[OutputLearner]):
    """The averaged structured perceptron for outputs of any kind: trees, alignments, segmentations, rankings.

    You provide a model of the outputs: how to find the best output for given weights, and the features of an input
    together with an output. Training visits the examples one by one. When the best output is not the true one, it adds
    the features of the true output to the weights and subtracts those of the other. On separable data, it makes at most
    (R / gamma) ** 2 mistakes, however many outputs there are.

    Use it when outputs have parts that depend on each other, and the best output can be found. Do not use it for labels
    of single examples (use `Perceptron`), for labels of tokens (use `SequencePerceptron`, which has a compiled
    decoder), or when there is no way to find the best output.

    Parameters
    ----------
    model : object
        An object with these members, for any inputs x and outputs y:

        - `size`: the number of weights. It may grow during training; new weights are 0.
        - `decode(x, w, cost_with=None)`: the output y' with the highest w·f(x, y'). If a true output is given as
        `cost_with`, the output with the highest w·f(x, y') + loss(cost_with, y'), needed only for a margin. w is
          an array of size floats; do not change it, or use it after the call.
        - `features(x, y)`: f(x, y), sparse: a dict {index: value}, a pair (indices, values) or a SciPy sparse row.
        Repeated
          indices are added up. It is called only if decode was wrong.
        - `loss(y, y_hat)`: how wrong y_hat is, a number of at least 0. 0 means right.
    combine : {"average", "last"}, default="average"
        The weights to predict with: the mean of the weights after every example, or the last weights.
    eta0 : float, default=1.0
        The learning rate of the constant step. Without a margin, it only scales the weights.
    margin : float or None, default=None
        The true output must lead every other output by margin times its loss; training then decodes with costs. None is
        0, and 1 for "pa1".
    step : {"constant", "pa1"}, default="constant"
        The length of an update: `eta0`, or passive-aggressive, as long as the margin needs, at most `C`.
    C : float, default=1.0
        The aggressiveness of "pa1". Smaller values make smaller updates.
    max_iter : int, default=10
        The maximum number of epochs.
    tol : float or None, default=None
        Training stops when the averaged weights change by less than `tol` times their norm in an epoch.
    shuffle, random_state, early_stopping, validation_fraction, n_iter_no_change, max_seconds, warm_start, verbose
        As in `Perceptron`. An example is right if its loss is 0.

    Attributes
    ----------
    coef_ : array of shape (size,)
        The weights that predict.
    coef_last_, coef_average_ : arrays of shape (size,)
        The last and the averaged weights, which exist for every `combine`.
    n_updates_ : int
        The number of updates since the start (after early stopping: up to the best epoch).
    n_mistakes_ : int
        The number of examples until then whose best output had a loss, each counted before it was learned from. With a
        margin, only examples that trigger an update are checked: if the decoder is exact, the others are right.
    t_ : int
        The number of examples seen until then, counting every epoch.
    n_iter_, mistakes_, history_, converged_, stop_reason_
        As in `Perceptron`. The loss in the history is the sum of margin * loss + score of y_hat - score of the true
        output, where that is above 0.

    Notes
    -----
    Exceptions of the model are passed on, and change nothing: after an error in `fit` or `partial_fit`, the estimator
    is the same as before the call. After Ctrl-C, it keeps what it has learned. For this, `partial_fit` copies the
    weights once per call; `learn_one` does not.

    The model is code, so it is not part of a model file: `perceptrons.load` returns an estimator with model=None. To
    keep training, set the model: `loaded.set_params(model=...)`.

    Examples
    --------
    Which word translates which? The best pairing of two phrases is an assignment problem.

    >>> import numpy as np
    >>> from scipy.optimize import linear_sum_assignment
    >>> from perceptrons import StructuredPerceptron
    >>> english, french = "the black cat dog".split(), "le chat chien noir".split()
    >>> class Pairing:
    ...     size = 16
    ...     def pairs(self, x):  # the index of every pair of words
    ...         return np.array([[4 * english.index(a) + french.index(b) for b in x[1]] for a in x[0]])
    ...     def decode(self, x, w, cost_with=None):
    ...         return linear_sum_assignment(w[self.pairs(x)], maximize=True)[1].tolist()
    ...     def features(self, x, y):
    ...         return self.pairs(x)[np.arange(len(y)), y], np.ones(len(y))
    ...     def loss(self, y, y_hat):
    ...         return sum(a != b for a, b in zip(y, y_hat))
    >>> phrases = [("the cat", "le chat"), ("the black dog", "le chien noir"), ("black cat", "chat noir")]
    >>> X = [(a.split(), b.split()) for a, b in phrases]
    >>> model = StructuredPerceptron(Pairing()).fit(X, [[0, 1], [0, 2, 1], [1, 0]])
    >>> model.stop_reason_, model.predict_one((["the", "black", "cat"], ["le", "chat", "noir"]))
    ('converged', [0, 2, 1])
    """

    def __init__(
        self, model: Any, *, combine: TaggerCombine = "average", eta0: float = 1.0, margin: float | None = None,
        step: TaggerStep = "constant", C: float = 1.0, max_iter: int = 10, tol: float | None = None,
        shuffle: bool = True,
        random_state: Any = 0, early_stopping: bool = False, validation_fraction: float = 0.1,
        n_iter_no_change: int = 5, max_seconds: float | None = None, warm_start: bool = False, verbose: bool | int = 0,
    ) -> None:  # fmt: skip
        self.model = model
        self.combine = combine
        self.eta0 = eta0
        self.margin = margin
        self.step = step
        self.C = C
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

    # ---- learning

    def fit(self, X: Any, y: Any) -> Self:
        """Train on all examples for several epochs, until a stopping rule applies.

        Parameters
        ----------
        X, y : sequences of the same length
            The inputs and their true outputs, in the form that the model expects.

        Returns
        -------
        self
        """
        with self._unchanged_on_error():
            self._check_choices()
            n, examples = read_examples(X, y)
            model = CheckedModel(self.model)
            self._begin_copy(model, restart=not self.warm_start)
            train, held_out = None, None
            if self.early_stopping:
                codes = np.zeros(n, np.intp)
                train, held_out = validation_split(codes, None, self.validation_fraction, self._learner.seed)
            fit = OutputFit(self._learner, examples, model, self._rule(), self.combine, held_out)
            self._run(fit, n, train, held_out is not None)
        self._warn_unless_finished()
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Train on one block of examples: one pass in the given order, starting from the present weights.

        The weights equal those of `fit` on the same examples in the same order.

        Parameters
        ----------
        X, y : as in `fit`

        Returns
        -------
        self
        """
        with self._unchanged_on_error():
            self._check_choices()
            self._refuse_early_stopping()
            n, examples = read_examples(X, y)
            model = CheckedModel(self.model)
            self._begin_copy(model, restart=False)
            with Uninterrupted() as hold:
                fit = OutputFit(self._learner, examples, model, self._rule(), self.combine)
                for _ in fit.visit(np.arange(n)):
                    hold.let()
        return self

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn from one example.

        Parameters
        ----------
        x, y : an input and its true output, in the form that the model expects

        Returns
        -------
        self
        """
        self._check_again()
        self._refuse_early_stopping()
        with self._unchanged_on_error():
            model = CheckedModel(self.model)
            if not hasattr(self, "_learner"):
                self._begin(model)
            with Uninterrupted():
                self._learner.learn(x, y, model, self._rule())
        return self

    # ---- predicting

    def predict(self, X: Any) -> list[Any]:
        """Return the best output for every input, as a list."""
        learner = self._fitted()
        self._check_choices()
        n, X = read_sequence(X, "X")
        model, outputs = CheckedModel(self.model), []
        w = learner.predicting(self.combine, model.size())
        for i in range(n):
            model.example = f"X[{i}]"
            outputs.append(model.decode(X[i], w))
        return outputs

    def predict_one(self, x: Any) -> Any:
        """Return the best output for one input.

        After each learned example, the averaged weights are computed again, in time proportional to their number. If
        you alternate learning and predicting, combine="last" is faster.
        """
        learner = self._fitted()
        self._check_again()
        model = CheckedModel(self.model)
        return model.decode(x, learner.predicting(self.combine, model.size()))

    def score(self, X: Any, y: Any) -> float:
        """Return the share of examples whose best output has a loss of 0."""
        learner = self._fitted()
        self._check_choices()
        n, examples = read_examples(X, y)
        fit = OutputFit(learner, examples, CheckedModel(self.model), self._rule(), self.combine)
        return fit.accuracy_on(np.arange(n))

    # ---- what was learned

    @property
    def coef_(self) -> np.ndarray:
        return self.coef_last_ if self.combine == "last" else self.coef_average_

    @property
    def coef_last_(self) -> np.ndarray:
        return read_only(self._fitted().w.copy())

    @property
    def coef_average_(self) -> np.ndarray:
        return read_only(self._fitted().average.copy())

    # ---- what scikit-learn asks

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # whatever the model understands
        tags.target_tags.required, tags.target_tags.single_output = True, False
        return tags

    # ---- steps of learning

    def _begin(self, model: CheckedModel) -> None:
        self._learner = OutputLearner(model.size(), self._seed())
        self._tell(None)

    def _begin_copy(self, model: CheckedModel, restart: bool) -> None:
        """Begin with a copy of the learner, which is dropped if learning fails."""
        if restart or not hasattr(self, "_learner"):
            self._begin(model)
        else:
            self._learner = copy.deepcopy(self._learner)

    def _unchanged_on_error(self) -> AbstractContextManager[None]:
        """Return a context in which an error changes nothing, and Ctrl-C keeps what was learned."""

        def keeps_model() -> bool:
            has_examples = hasattr(self, "_learner") and self._learner.t > 0
            return has_examples and isinstance(sys.exception(), KeyboardInterrupt)

        return unchanged_on_error(self, unless=keeps_model)

    def _rule(self) -> Rule:
        margin = float(self.step == "pa1") if self.margin is None else float(self.margin)
        return Rule(self.step, float(self.eta0), float(self.C), margin)

    def _choices_now(self) -> tuple[Any, ...]:
        return (*SINGLE_EXAMPLE_CHOICES(self), id(self.model))

    def _check_choices(self) -> None:
        check_choices(self)
        if self.model is None:
            raise ValueError(
                "There is no model: a model file holds the weights, not the code that decodes. Set the model that "
                "was used for training, set_params(model=...)."
            )
        missing = [name for name in MODEL_MEMBERS if not hasattr(self.model, name)]
        if missing or isinstance(self.model, type):
            lack = f"a {type(self.model).__name__} without {' and '.join(missing)}"
            description = lack if missing else "a class, not an object"
            raise ValueError(f"model must be an object with size, decode, features and loss, but it is {description}.")


def check_choices(estimator: StructuredPerceptron) -> None:
    """Raise ValueError for a parameter outside its domain, or for two that cannot be combined; not for the model."""
    check_parameters(estimator, DOMAINS)
    e = estimator
    if e.step == "pa1" and e.eta0 != 1:
        raise ValueError(
            f"StructuredPerceptron(step='pa1', eta0={e.eta0}) does not work: this step is computed from the loss, "
            "without eta0: leave eta0=1, and set C."
        )
    if e.step == "pa1" and e.margin == 0:
        raise ValueError(
            "StructuredPerceptron(step='pa1', margin=0) does not work: without a margin, the loss and the step are 0 "
            "at the start, so nothing is learned."
        )
    if e.margin is not None and 0 < e.margin < MIN_MARGIN:
        raise ValueError(f"StructuredPerceptron(margin={e.margin}): margin must be 0, or at least {MIN_MARGIN}.")


def read_examples(X: Any, y: Any) -> tuple[int, tuple[Any, Any]]:
    """Return how many examples there are, at least one, and inputs and outputs that can be indexed."""
    (n, X), (n_outputs, y) = read_sequence(X, "X"), read_sequence(y, "y")
    if n != n_outputs:
        raise ValueError(f"X has {n} inputs, but y has {n_outputs} outputs: give one output per input.")
    if n == 0:
        raise ValueError("There are no examples: X and y are empty.")
    return n, (X, y)


def read_sequence(X: Any, name: str) -> tuple[int, Any]:
    """Return the length of a sequence, and the sequence in a form in which X[i] is its element i."""
    shape = getattr(X, "shape", None)  # sparse matrices have no len
    countable = hasattr(X, "__len__") if shape is None else len(shape) > 0
    if isinstance(X, Mapping) or not (countable and hasattr(X, "__getitem__")):
        raise ValueError(f"{name} must be a sequence, such as a list, not {type(X).__name__}.")
    return len(X) if shape is None else int(shape[0]), getattr(X, "iloc", X)
