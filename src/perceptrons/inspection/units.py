"""Weights and values in the units of the data, for models that were trained on scaled numbers.

Such a model learns from (x - centre) / scale. Its weight w is what one `scale` of x adds to the score, so weights can
be compared with each other. One unit of x adds w / scale. The bias makes up for the centre.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from perceptrons.engine.training.feature_names import factor_beside_words, units_of
from perceptrons.engine.wording import listed

STEPS = {"standard": "standard deviation", "max-abs": "largest absolute value"}  # the unit of a scaled number


def are_scaled(model: Any) -> bool:
    """Return whether a model learned from scaled numbers, so that its weights can be compared."""
    kept = (getattr(model, "source_", None) or {}).get("preparation") or {}
    return kept.get("scale", "none") != "none"


def step_of(model: Any) -> str | None:
    """Return the unit of scaled numbers as text, such as "standard deviation"; None without scaling."""
    if not are_scaled(model):
        return None
    kept = model.source_["preparation"]
    steps = 1 / factor_beside_words(kept)
    return STEPS[kept["scale"]] if steps == 1 else f"{steps:.3g} {STEPS[kept['scale']]}s"


def unit_in_words(step: str) -> str:
    """Return the unit of a scaled number with its article."""
    return step if step[0].isdecimal() else f"the {step}"


def prepared_in_words(source: Mapping[str, Any]) -> list[str]:
    """Return how tables are prepared for a model as texts. source: how the model reads files."""
    kept = source.get("preparation") or {}
    steps = [] if kept.get("scale", "none") == "none" else [f"numbers scaled ({kept['scale']})"]
    steps += ["words weighted by idf"] if kept.get("term_weights") else []
    steps += ["missing numbers filled"] if kept.get("fill") else []
    for name, what in (("dates", "dates"), ("flags", "yes or no")):
        steps += [f"{what} {listed(kept[name])}"] if kept.get(name) else []
    steps += [f"powers up to {kept['powers']}"] if kept.get("powers", 1) > 1 else []
    return steps + ([f"products {listed(['*'.join(pair) for pair in kept['pairs']])}"] if kept.get("pairs") else [])


def categories_of(source: Mapping[str, Any]) -> list[str]:
    """Return the columns with categories, without dates and yes-or-no columns, which are also read as strings."""
    kept = source.get("preparation") or {}
    others = {*kept.get("dates", ()), *kept.get("flags", ())}
    return [name for name in source.get("categories") or () if name not in others]


def centring(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of the scaled features, and centre / scale of each, with the sign by which it counts.

    The bias in the units of the data is the bias of the model minus the sum of weight * centre / scale.
    """
    units = units_of(model)
    if not units:
        return np.empty(0, np.int64), np.empty(0)
    columns = model.columns_
    numbers = np.array([number for number, name in enumerate(columns.names()) if name in units], np.int64)
    shifts = [units[name].centre / units[name].scale for name in columns.names(numbers)]
    return columns.columns[numbers], np.array(shifts) * columns.signs[numbers]
