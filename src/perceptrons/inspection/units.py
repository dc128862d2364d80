"""Weights and values in the units of the data, for models whose numbers were scaled before they learned.

Such a model learns from (x - centre) / scale. Its weight w says what one `scale` of x adds to the score, so weights can
be compared with each other; w / scale says what one unit of x adds. What centring takes away goes into the bias.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from perceptrons.engine.training.feature_names import factor_beside_words, units_of
from perceptrons.engine.wording import listed

STEPS = {"standard": "standard deviation", "max-abs": "largest absolute value"}  # what a scaled number counts in


def are_scaled(model: Any) -> bool:
    """Were the numbers scaled that a model learned from, so that its weights can be compared?"""
    kept = (getattr(model, "source_", None) or {}).get("preparation") or {}
    return kept.get("scale", "none") != "none"


def step_of(model: Any) -> str | None:
    """What 1 is of a scaled number, in words: "standard deviation", or several; None where none was scaled."""
    if not are_scaled(model):
        return None
    kept = model.source_["preparation"]
    steps = 1 / factor_beside_words(kept)
    return STEPS[kept["scale"]] if steps == 1 else f"{steps:.3g} {STEPS[kept['scale']]}s"


def unit_in_words(step: str) -> str:
    """The step of a scaled number with its article."""
    return step if step[0].isdecimal() else f"the {step}"


def prepared_in_words(source: Mapping[str, Any]) -> list[str]:
    """What is done to tables before a model gets them. source: how a model reads files."""
    kept = source.get("preparation") or {}
    said = [] if kept.get("scale", "none") == "none" else [f"numbers scaled ({kept['scale']})"]
    said += ["words weighted by idf"] if kept.get("term_weights") else []
    said += ["missing numbers filled"] if kept.get("fill") else []
    for name, what in (("dates", "dates"), ("flags", "yes or no")):
        said += [f"{what} {listed(kept[name])}"] if kept.get(name) else []
    said += [f"powers up to {kept['powers']}"] if kept.get("powers", 1) > 1 else []
    return said + ([f"products {listed(['*'.join(pair) for pair in kept['pairs']])}"] if kept.get("pairs") else [])


def categories_of(source: Mapping[str, Any]) -> list[str]:
    """The columns that are categories; dates, and yes and no, are read as strings but are something else."""
    kept = source.get("preparation") or {}
    others = {*kept.get("dates", ()), *kept.get("flags", ())}
    return [name for name in source.get("categories") or () if name not in others]


def centring(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """The columns of the features that were scaled, and centre / scale of each, with the sign by which it counts.

    A bias in the units of the data is that of the model less the sum of weight * centre / scale.
    """
    units = units_of(model)
    if not units:
        return np.empty(0, np.int64), np.empty(0)
    columns = model.columns_
    numbers = np.array([number for number, name in enumerate(columns.names()) if name in units], np.int64)
    shifts = [units[name].centre / units[name].scale for name in columns.names(numbers)]
    return columns.columns[numbers], np.array(shifts) * columns.signs[numbers]
