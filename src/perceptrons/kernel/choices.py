"""The parameters of `KernelPerceptron`: the domain of each, and which cannot be combined."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Literal, get_args

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.labels import Target
from perceptrons.engine.training.parameters import DOMAINS as LINEAR
from perceptrons.engine.training.parameters import (
    LIMITLESS,
    NONE,
    TRAINING_DOMAINS,
    Domain,
    Kind,
    Number,
    Words,
    check_parameters,
)
from perceptrons.kernel.kernels import NAMES, WITH_GAMMA

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


def check_choices(estimator: Any) -> None:
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


def check_unchanged(estimator: Any) -> None:
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


def learns_by_blocks(estimator: Any) -> bool:
    """Return whether the model can learn block by block; raise AttributeError otherwise, as `hasattr` needs."""
    if estimator.kernel == "precomputed":
        raise AttributeError(
            "partial_fit and learn_one need kernel values between new and old examples, which a precomputed matrix "
            "does not contain: use fit, or a kernel by name."
        )
    return True


def refuse_precomputed(estimator: Any, method: str) -> None:
    """Raise ValueError for a method that needs kernel values of new examples."""
    if estimator.kernel == "precomputed":
        raise ValueError(
            f"{method} needs kernel values between new and old examples, which a precomputed matrix does not "
            "contain: use fit, or a kernel by name."
        )
