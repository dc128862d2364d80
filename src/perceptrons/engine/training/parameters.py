"""The parameters of `Perceptron`: their domains, which cannot be combined and why, and the rule that passes get."""

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Literal, Protocol, get_args

import numpy as np

from perceptrons.engine.passes.average import smallest_scale
from perceptrons.engine.passes.steps import AROW, CONSTANT, PASSIVE, Rule
from perceptrons.engine.training.calibration import METHODS
from perceptrons.engine.training.inputs import as_numbers
from perceptrons.engine.training.labels import Target
from perceptrons.engine.training.units import FIRST_MARGIN, MARGIN

NO_COST = np.empty((0, 0))
LARGEST_DEMAND = 1e100  # of margin and cost: sums of losses must stay finite
FAST = 1e-3  # from such a decay on, the average counts by the scales to come: see passes/average.py

# the label that is wrong at score 0 (2: both, 0: none): while learning, and for the answer that `predict` gives
ZERO_WHEN_LEARNING = {"mistake": 2, "correct": 0, "positive": -1, "negative": 1}
ZERO_WHEN_PREDICTING = {"mistake": 1, "correct": 1, "positive": -1, "negative": 1}


@dataclass(frozen=True)
class Words:
    """One of a few words."""

    words: tuple[str, ...]

    def fits(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return "one of " * (len(self.words) > 1) + ", ".join(repr(word) for word in self.words)


@dataclass(frozen=True)
class Number:
    """A finite number (whole: an integer) between low and high; `open` leaves out both ends, `below` the upper one."""

    low: float
    high: float
    whole: bool = False
    open: bool = False
    below: bool = False

    def fits(self, value: Any) -> bool:
        kind = numbers.Integral if self.whole else numbers.Real
        if not isinstance(value, kind) or isinstance(value, bool | np.bool_):
            return False
        try:
            number = int(value) if isinstance(value, numbers.Integral) and self.whole else float(value)
        except OverflowError:  # a whole number beyond all floats
            return False
        if self.open:
            return self.low < number < self.high
        return self.low <= number <= self.high and number != np.inf and not (self.below and number == self.high)

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        if self.high == np.inf:
            return f"{kind} {'above' if self.open else 'of at least'} {self.low:g}"
        if self.below:
            return f"{kind} of at least {self.low:g} and below {self.high:g}"
        return f"{kind} {'strictly ' if self.open else ''}between {self.low:g} and {self.high:g}"


@dataclass(frozen=True)
class Flag:
    """True or False (0 and 1 too)."""

    def fits(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_) or (isinstance(value, numbers.Integral) and value in (0, 1))

    def __str__(self) -> str:
        return "True or False"


@dataclass(frozen=True)
class Kind:
    """An instance of some types."""

    types: tuple[Any, ...]  # classes, abstract ones too
    name: str

    def fits(self, value: Any) -> bool:
        return isinstance(value, self.types)

    def __str__(self) -> str:
        return self.name


Domain = Words | Number | Flag | Kind
MAPPING = Kind((Mapping,), "a dict")
ANYTHING = Kind((object,), "anything")
NONE = Kind((type(None),), "None")


def check_parameters(estimator: Any, domains: Mapping[str, tuple[Domain, ...]]) -> None:
    """Raise ValueError for the first parameter outside all of its domains."""
    for name, choices in domains.items():
        value = getattr(estimator, name)
        if not any(domain.fits(value) for domain in choices):
            allowed = " or ".join(str(domain) for domain in choices)
            raise ValueError(f"{type(estimator).__name__}({name}={value!r}): {name} must be {allowed}.")


Combine = Literal["average", "recent", "last", "vote", "pocket"]
Step = Literal["constant", "pa", "pa1", "pa2", "arow"]
Multiclass = Literal["joint", "ovr", "ovo"]
Penalty = Literal["l2", "l1", "elasticnet"]
Init = Literal["zeros", "ones", "random"]
KeepLearning = Literal["follow", "average"]
ZeroScore = Literal["mistake", "correct", "positive", "negative"]
ClassWeight = Mapping[Any, float] | Literal["balanced"]
TaggerCombine = Literal["average", "last"]  # also of structured models
TaggerStep = Literal["constant", "pa1"]


class LinearParameters(Protocol):
    """The parameters of a linear model that learning depends on; `Perceptron` documents them."""

    combine: Combine
    window: float
    step: Step
    eta0: float
    C: float
    margin: float | Literal["auto"] | None
    cost: Any
    penalty: Penalty | None
    alpha: float
    l1_ratio: float | None
    batch_size: int | Literal["all"]
    multiclass: Multiclass
    fit_intercept: bool
    intercept_scaling: float | Literal["auto"]
    init: Init
    zero_score: ZeroScore
    class_weight: ClassWeight | None
    keep_learning: KeepLearning


LIMITLESS = float("inf")
ALPHA, L1_RATIO = 0.0001, 0.15  # scikit-learn's defaults
WINDOW = 500  # examples: a compromise over made-up streams of several speeds and widths, see docs/streams.md
RANDOM_STATE = Kind((np.random.RandomState,), "a RandomState")
DOMAINS: dict[str, tuple[Domain, ...]] = {
    "combine": (Words(get_args(Combine)),),
    "window": (Number(2, 1e12),),
    "step": (Words(get_args(Step)),),
    "eta0": (Number(1e-12, 1e9),),
    "C": (Number(1e-12, 1e12),),
    "margin": (Number(0, LARGEST_DEMAND), Words(("auto",)), NONE),
    "cost": (ANYTHING,),  # checked where the classes are known
    "batch_size": (Number(1, LIMITLESS, whole=True), Words(("all",))),
    "multiclass": (Words(get_args(Multiclass)),),
    "max_iter": (Number(0, LIMITLESS, whole=True),),
    "tol": (Number(0, LIMITLESS), NONE),
    "shuffle": (Flag(),),
    "random_state": (Number(0, LIMITLESS, whole=True), RANDOM_STATE, NONE),
    "fit_intercept": (Flag(),),
    "intercept_scaling": (Number(1e-12, 1e12), Words(("auto",))),
    "init": (Words(get_args(Init)),),
    "zero_score": (Words(get_args(ZeroScore)),),
    "early_stopping": (Flag(),),
    "validation_fraction": (Number(0, 1, open=True),),
    "n_iter_no_change": (Number(1, LIMITLESS, whole=True),),
    "probability": (Words(METHODS), NONE),
    "max_seconds": (Number(0, LIMITLESS, open=True), NONE),
    "class_weight": (Words(("balanced",)), MAPPING, NONE),
    "warm_start": (Flag(),),
    "verbose": (Flag(), Number(0, LIMITLESS, whole=True)),
    "n_jobs": (ANYTHING,),
    "penalty": (Words(get_args(Penalty)), NONE),
    "alpha": (Number(0, 1e12),),
    "l1_ratio": (Number(0, 1), NONE),
    "keep_learning": (Words(get_args(KeepLearning)),),
    "classes": (ANYTHING,),  # checked where labels are read
}
TRAINING_DOMAINS = {
    name: DOMAINS[name]
    for name in (
        "eta0", "max_iter", "tol", "shuffle", "random_state", "early_stopping", "validation_fraction",
        "n_iter_no_change", "max_seconds", "warm_start", "verbose",
    )
}  # fmt: skip  # of the parameters that all estimators have

# what learning and predicting one example depends on; compared before each, so that a change is noticed
OF_ONE_EXAMPLE = attrgetter(
    "combine", "window", "zero_score", "fit_intercept", "intercept_scaling", "step", "eta0", "C", "margin", "penalty",
    "alpha", "l1_ratio", "batch_size", "multiclass", "keep_learning",
)  # fmt: skip


def check_choices(estimator: LinearParameters) -> None:
    """Raise ValueError for a parameter outside its domain, or for two that do not go together."""
    check_parameters(estimator, DOMAINS)
    e, wrapped = estimator, estimator.multiclass != "joint"
    for clash, names, reason in (
        (
            e.combine != "recent" and e.window != WINDOW,
            ("combine", "window"),
            "only the recent average has a window: use combine='recent'",
        ),
        (
            e.step != "constant" and e.eta0 != 1,
            ("step", "eta0"),
            "this step is computed from the loss, without eta0: leave eta0=1, and set C",
        ),
        (
            e.step != "constant" and e.margin == 0,
            ("step", "margin"),
            "without a margin, the loss and the step are 0 at the start, so nothing is learned",
        ),
        (
            e.step != "constant" and e.batch_size != 1,
            ("step", "batch_size"),
            "this step is computed for one example alone, and a sum of such steps overshoots: use step='constant'",
        ),
        (
            e.penalty is None and e.alpha != ALPHA,
            ("penalty", "alpha"),
            f"without a penalty, alpha has no effect: leave it at {ALPHA}, or use penalty='l2'",
        ),
        (
            e.penalty != "elasticnet" and e.l1_ratio not in (L1_RATIO, None),
            ("penalty", "l1_ratio"),
            f"only penalty='elasticnet' has an l1_ratio: leave it at {L1_RATIO}",
        ),
        (
            e.penalty == "elasticnet" and e.l1_ratio is None,
            ("penalty", "l1_ratio"),
            "the elastic net needs an l1_ratio, from 0 (all L2) to 1 (all L1)",
        ),
        (
            penalty_of(e)[0] >= 1,
            ("penalty", "alpha", "eta0"),
            "every example would set all weights to 0, since alpha * eta0 * (1 - l1_ratio) is not below 1",
        ),
        (
            e.step == "arow" and e.penalty is not None,
            ("step", "penalty"),
            "AROW changes known features less and less, so it could not restore weights that a penalty reduces",
        ),
        (
            e.combine == "vote" and e.penalty is not None,
            ("combine", "penalty"),
            "every weight vector votes for as long as it stays unchanged, but a penalty changes the weights at every "
            "example: use combine='average'",
        ),
        (
            e.step == "arow" and e.combine == "vote",
            ("step", "combine"),
            "votes are stored as multiples of examples, but AROW's updates are not multiples: use combine='average'",
        ),
        (
            wrapped and e.cost is not None,
            ("multiclass", "cost"),
            "a cost belongs to two classes, but separate binary problems know only one: use multiclass='joint'",
        ),
        (
            wrapped and e.combine in ("vote", "pocket"),
            ("multiclass", "combine"),
            "votes and the pocket are kept for one problem, not for many: use multiclass='joint' or "
            "combine='average', or wrap a Perceptron in scikit-learn's OneVsRestClassifier",
        ),
    ):
        if clash:
            values = ", ".join(f"{name}={getattr(estimator, name)!r}" for name in names)
            raise ValueError(f"{type(estimator).__name__}({values}) does not work: {reason}.")


def check_several(estimator: LinearParameters) -> None:
    """Raise ValueError for parameters that do not go with several labels per example."""
    if estimator.cost is not None:
        raise ValueError(
            "cost does not work with several labels per example: each label is a separate problem. Use class_weight."
        )
    if estimator.class_weight is not None and estimator.batch_size != 1:
        raise ValueError(
            "class_weight and batch_size cannot be combined for several labels per example: every label would have "
            "different batches. Use sample_weight."
        )
    if estimator.combine in ("vote", "pocket"):
        raise ValueError(
            f"combine={estimator.combine!r} does not work with several labels per example: use combine='average', or "
            "wrap a Perceptron in scikit-learn's OneVsRestClassifier."
        )


def check_unchanged(estimator: Any, target: Target) -> None:
    """Raise ValueError if parameters or labels do not allow this model to keep training."""
    learner = estimator._learner
    learner.check_holds(estimator.combine)
    learner.check_form(target.form, len(target.classes))
    if bool(estimator.fit_intercept) != (learner.weights.one > 0):
        raise ValueError("fit_intercept was changed after the model was created: fit it again, with warm_start=False.")
    scaling = scaling_of(estimator)
    if scaling is not None and learner.weights.one not in (0, scaling**2):
        raise ValueError("intercept_scaling was changed after the model was created: fit it again.")
    check_same_order(estimator, target)
    if learner.scheme == "labels":
        check_several(estimator)
    elif learner.scheme != estimator.multiclass:
        raise ValueError(
            f"The model was created with multiclass={learner.scheme!r}, but it is now {estimator.multiclass!r}: fit "
            "it again."
        )
    recent = learner.weights.recent
    if recent is not None and recent != (estimator.combine == "recent"):
        raise ValueError(
            "combine was changed to or from 'recent' after the model was created: it has kept another average. Fit it "
            "again."
        )
    if learner.votes is not None and estimator.penalty is not None:
        raise ValueError(
            f"penalty was set to {estimator.penalty!r} after the model was created with combine='vote', which does not "
            "work with a penalty: fit it again."
        )
    if (estimator.step == "arow") != learner.weights.has_sigma:
        raise ValueError("step was changed to or from 'arow' after the model was created: fit it again.")


def check_same_order(estimator: Any, target: Target) -> None:
    """Raise ValueError if the model was created with other classes than those that the user has put in order."""
    classes = estimator._learner.classes
    if estimator.classes is not None and classes is not target.classes and classes.tolist() != target.classes.tolist():
        raise ValueError("classes was changed after the model was created: fit it again.")


def check_start(estimator: LinearParameters, target: Target, intercept_init: Any) -> None:
    """Raise ValueError if no model can be created with these labels."""
    e, classes = estimator, target.classes
    if not len(classes):
        raise ValueError("y has no label at all: every label set is empty.")
    if target.several:
        check_several(e)
    elif len(classes) == 1 and (e.init != "zeros" or e.zero_score in ("positive", "negative")):
        raise ValueError(
            f"With init={e.init!r} and zero_score={e.zero_score!r} the positive class must be known from the first "
            f"example on, but so far there is only {classes.tolist()[0]!r}: call partial_fit with classes=[...] first."
        )
    if not e.fit_intercept and intercept_init is not None and np.any(intercept_init):
        raise ValueError(
            "fit_intercept=False means an intercept of 0, but intercept_init is not 0: leave one of them out."
        )


# ---- the rule


@dataclass(frozen=True, eq=False)
class Method:
    """How to learn from an example: rule, step and batches."""

    zero_score: str = "mistake"
    eta: float = 1.0
    step: str = "constant"
    C: float = 1.0
    margin: float = 0.0
    cost: np.ndarray = field(default_factory=lambda: NO_COST)  # (classes, classes); (0, 0): none
    decay: float = 0.0  # the part of the weights that the L2 penalty takes at every example: eta alpha (1 - l1_ratio)
    l1: float = 0.0  # what the L1 penalty takes of every weight at every example: eta alpha l1_ratio
    window: float = 0.0  # examples that count in the recent average; 0: all do, alike
    batch: int = 1  # visits; 0: all
    follows: bool = False  # does the average follow new examples after a fit? See passes/following.py
    at_first: float = 1.0  # the part of margin and cost that the first epoch demands: see `grown`
    _rules: dict[Any, Any] = field(default_factory=dict)

    def rule(self, dtype: np.dtype) -> Rule:
        """Return the same for the passes, which learn weights of this dtype; made once."""
        if dtype not in self._rules:
            self._rules[dtype] = self._rule(dtype)
        return self._rules[dtype]

    def _rule(self, dtype: np.dtype) -> Rule:
        kind = {"constant": CONSTANT, "arow": AROW}.get(self.step, PASSIVE)
        cap = self.C if self.step == "pa1" else np.inf
        slack = {"pa2": 0.5 / self.C, "arow": 1.0 / self.C}.get(self.step, 0.0)
        zero = ZERO_WHEN_LEARNING[self.zero_score]
        keep, floor, bound = 1.0 - self.decay, smallest_scale(dtype), float(np.sqrt(np.finfo(dtype).max))
        bound = bound / float(np.sqrt(floor)) if self.decay else bound  # as `largest` values are smaller then
        anchor = keep / self.decay if self.decay >= FAST and not self.window and not self.l1 else 0.0
        growth = self.window / (self.window - 1.0) if self.window else 1.0
        return Rule(kind, self.eta, cap, slack, zero, self.margin, keep, anchor, floor, growth, bound, self.l1, 1)

    def in_epoch(self, epoch: int) -> "Method":
        """How to learn in this epoch, counted from 1."""
        part = grown(self.at_first, epoch)
        if part == 1:
            return self
        if epoch not in self._rules:
            self._rules[epoch] = replace(
                self, margin=part * self.margin, cost=part * self.cost, at_first=1.0, _rules={}
            )
        return self._rules[epoch]

    @property
    def penalised(self) -> bool:
        """Does every example change the weights, even if it triggers no update?"""
        return self.decay > 0 or self.l1 > 0

    @property
    def is_plain(self) -> bool:
        """Are updates of constant length all that changes the weights, or that and an L1 penalty?"""
        return self.step == "constant" and self.decay == 0


def grown(at_first: float, epoch: int) -> float:
    """The part of the margin that an epoch demands, counted from 1: twice as much as the one before, up to all."""
    return min(1.0, at_first * 2.0 ** min(epoch - 1, 64))


def cost_matrix(cost: Any, classes: np.ndarray, stream: bool, unnamed: float = 0.0) -> np.ndarray:
    """Return the cost of every answer (second index) for every true class, in the order of the classes; (0, 0) if none.

    In a stream, a dict may name classes that come later. unnamed: the cost of pairs that a dict does not name.
    """
    if cost is None:
        return NO_COST
    labels = classes.tolist()
    if hasattr(cost, "columns"):
        cost = _of_frame(cost)
    if not isinstance(cost, Mapping):
        matrix = _numbers(cost, len(labels))
    else:
        matrix = unnamed * (1.0 - np.eye(len(labels)))
        number = {label: place for place, label in enumerate(labels)}
        for true, row in cost.items():
            if not isinstance(row, Mapping):
                raise ValueError(
                    f"cost[{true!r}] = {row!r}: a dict of costs needs a dict of predicted classes for every true class."
                )
            for predicted, value in row.items():
                for label in (true, predicted):
                    if label not in number and (not stream or isinstance(label, str) != isinstance(labels[0], str)):
                        raise ValueError(f"cost names the class {label!r}, which is not among {labels[:10]}.")
                _check_cost(value, f"cost[{true!r}][{predicted!r}]", true == predicted)
                if true in number and predicted in number:
                    matrix[number[true], number[predicted]] = value
    return matrix if len(labels) > 1 else np.zeros((2, 2))


def _of_frame(frame: Any) -> dict[Any, Any]:
    """Return a pandas frame, whose index and columns are the labels, as a dict of dicts."""
    if not hasattr(frame, "index") or not hasattr(frame, "to_dict"):
        raise ValueError("cost is a frame without row labels: give a pandas frame, a matrix or a dict of dicts.")
    if not (frame.index.is_unique and frame.columns.is_unique):
        raise ValueError("cost names a class twice: its index and its columns must be the classes, each once.")
    return dict(frame.to_dict("index"))


def _numbers(cost: Any, n_classes: int) -> np.ndarray:
    """Return a matrix of costs in the order of the classes, checked."""
    original = np.asarray(cost) if not isinstance(cost, np.ma.MaskedArray) else np.asarray(cost, dtype=object)
    if original.dtype.kind in "bUSOc" and original.shape != ():
        raise ValueError("cost must be an array of numbers, without strings, booleans or masked values.")
    matrix = as_numbers(cost, "cost")
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"cost has the shape {matrix.shape}, but there are {n_classes} classes: it must be "
            f"{(n_classes, n_classes)}, with one row per true class and one column per predicted class."
        )
    is_valid = (matrix >= 0) & (matrix <= LARGEST_DEMAND)
    np.fill_diagonal(is_valid, np.diagonal(matrix) == 0)
    for true, predicted in np.argwhere(~is_valid).tolist():
        _check_cost(float(matrix[true, predicted]), f"cost[{true}, {predicted}]", true == predicted)
    return np.ascontiguousarray(matrix)


def _check_cost(value: Any, entry: str, same: bool) -> None:
    number = not isinstance(value, bool) and isinstance(value, int | float | np.number)
    if not number or isinstance(value, np.complexfloating) or not 0 <= value <= LARGEST_DEMAND:
        raise ValueError(f"{entry} = {value!r}: costs must be numbers, not negative and at most {LARGEST_DEMAND:g}.")
    if same and value != 0:
        raise ValueError(f"{entry} = {value!r}: the right prediction must cost 0 (the diagonal of the matrix).")


def scaling_of(estimator: LinearParameters) -> float | None:
    """Return the constant feature of the bias, None where the data decide."""
    return None if estimator.intercept_scaling == "auto" else float(estimator.intercept_scaling)


def penalty_of(estimator: LinearParameters) -> tuple[float, float]:
    """Return what the penalty takes at every example: a part of all weights (L2), an amount of each (L1)."""
    if estimator.penalty is None:
        return 0.0, 0.0
    l1_ratio = {"l2": 0.0, "l1": 1.0}.get(estimator.penalty, estimator.l1_ratio) or 0.0
    strength = float(estimator.eta0) * float(estimator.alpha)
    return (1.0 - l1_ratio) * strength, l1_ratio * strength


def by_units(estimator: LinearParameters) -> bool:
    """Return whether the margin is in the units of the data."""
    return bool(estimator.margin == "auto" and estimator.step == "constant")


def at_first(estimator: LinearParameters) -> float:
    """Return the part of the margin that the first epoch demands."""
    return FIRST_MARGIN / MARGIN if by_units(estimator) else 1.0


def margin_of(estimator: LinearParameters, spread: float) -> float:
    """Return the margin in units of scores, for examples of this spread, when it is fully grown.

    Steps other than the constant one follow from the loss, and a margin of 1 is their unit.
    """
    if estimator.margin not in ("auto", None):
        return float(estimator.margin)
    if estimator.step != "constant":
        return 1.0
    return MARGIN * float(estimator.eta0) * spread if by_units(estimator) else 0.0


def method_of(estimator: LinearParameters, spread: float, classes: np.ndarray, stream: bool) -> Method:
    """Return how to learn these classes, by the parameters and the units of the data.

    With margin="auto" and constant steps, costs are multiples of the margin and take its place.
    """
    e, margin, relative = estimator, margin_of(estimator, spread), by_units(estimator)
    decay, l1 = penalty_of(e)
    cost = cost_matrix(e.cost, classes, stream, unnamed=float(relative))
    if e.cost is not None and relative:
        cost, margin = margin * cost, 0.0
    return Method(
        zero_score=e.zero_score,
        eta=float(e.eta0),
        step=e.step,
        C=float(e.C),
        margin=margin,
        cost=cost,
        decay=decay,
        l1=l1,
        window=float(e.window) if e.combine == "recent" else 0.0,
        follows=e.combine == "average" and e.keep_learning == "follow",
        at_first=at_first(e),
        batch=0 if isinstance(e.batch_size, str) else min(int(e.batch_size), 2**62),
    )
