"""The parameters of `SequencePerceptron`: their domains, and which cannot be combined."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Literal, get_args

import numpy as np

from perceptrons.engine.training.base import learner_of
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
from perceptrons.sequence.allowed import SCHEMES
from perceptrons.sequence.templates import FeatureTemplates

ValidationMetric = Literal["accuracy", "phrase_f1"]

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

LABEL = (str, bool, int, float, np.generic)

# what learning from one sequence and labelling it depends on; compared before each, so that a change is noticed
OF_ONE_EXAMPLE = attrgetter(
    "templates", "transitions", "start_stop", "allowed", "combine", "step", "eta0", "C", "margin", "cost", "order",
    "min_count", "hash_bits",
)  # fmt: skip


def check_choices(estimator: Any) -> None:
    """Raise ValueError for a parameter outside its domain, or for two that do not go together."""
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
        for label, followers in e.allowed.items():
            several = (followers,) if isinstance(followers, str) else followers
            listed = isinstance(several, list | tuple | set | frozenset)
            if not listed or not all(isinstance(follower, LABEL) for follower in several):
                raise ValueError(f"allowed[{label!r}] is {followers!r}: give a list of the labels that may follow it.")


def check_unchanged(estimator: Any) -> None:
    """Raise ValueError if features or arcs are now to be made otherwise than those that were learned."""
    features = learner_of(estimator).features
    then = dict(zip(("transitions", "start_stop"), learner_of(estimator).arcs, strict=True))
    if features.kind != "matrix":
        then |= {"min_count": features.min_count, "hash_bits": features.hash_bits}
    for name, value in then.items():
        if getattr(estimator, name) != value:
            raise ValueError(
                f"The model was created with {name}={value!r}, but it is now {getattr(estimator, name)!r}: fit it "
                "again."
            )
    if features.kind == "matrix":
        return
    source = None if estimator.templates is None else estimator.templates.source()
    if source != (features.source if features.kind == "templates" else None):
        raise ValueError("The model was created with other templates: fit it again.")
