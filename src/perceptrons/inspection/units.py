"""Weights and values in the units of the data, for models whose numbers were scaled before they learned.

Such a model learns from (x - centre) / scale. Its weight w says what one `scale` of x adds to the score, so weights can
be compared with each other; w / scale says what one unit of x adds. What centring takes away goes into the bias.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.wording import listed

ROUNDING = 1e-6  # of what was subtracted: about that of float32
STEPS = {"standard": "standard deviation", "max-abs": "largest absolute value"}  # what a scaled number counts in


class Unit(NamedTuple):
    """What was subtracted from a number, and what it was divided by."""

    centre: float
    scale: float

    def value(self, scaled: float) -> float:
        """A scaled value as the data have it."""
        return scaled * self.scale + self.centre

    def shown(self, scaled: float) -> str:
        """The same in digits; what is only rounding is 0."""
        value = self.value(scaled)
        return f"{value if abs(value) > ROUNDING * abs(self.centre) else 0.0:.6g}"


Units = Mapping[str, Unit]
AS_IT_IS = Unit(0.0, 1.0)


def units_of_preparation(kept: Mapping[str, Any] | None) -> dict[str, Unit]:
    """The units of the features that were scaled or centred, by name. kept: a preparation as recipes keep it."""
    if kept is None:
        return {}
    beside_words = kept["beside_words"]
    names = [name if "=" in name or not beside_words else f"{name}=" for name in kept["names"]]
    scales = [scale / _beside(kept) for scale in kept["scales"]]
    found = zip(names, map(Unit, kept["centres"], scales), strict=True)
    return {name: unit for name, unit in found if unit != AS_IT_IS}


def _beside(kept: Mapping[str, Any]) -> float:
    """What numbers beside texts are multiplied by, once they are scaled."""
    return float((kept.get("term_weights") or {}).get("beside", 1.0))


def units_of(model: Any) -> dict[str, Unit]:
    """The units of the features of a model that were scaled or centred; none of a model that learned from arrays."""
    return units_of_preparation((getattr(model, "source_", None) or {}).get("preparation"))


def are_scaled(model: Any) -> bool:
    """Were the numbers scaled that a model learned from, so that its weights can be compared?"""
    kept = (getattr(model, "source_", None) or {}).get("preparation") or {}
    return kept.get("scale", "none") != "none"


def step_of(model: Any) -> str | None:
    """What 1 is of a scaled number, in words: "standard deviation", or several; None where none was scaled."""
    if not are_scaled(model):
        return None
    kept = model.source_["preparation"]
    steps = 1 / _beside(kept)
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


def raw_values(units: Units, features: Iterable[str], values: np.ndarray) -> np.ndarray:
    """The values as the data have them; NaN where a feature was not scaled."""
    pairs = zip(features, values.tolist(), strict=True)
    return np.array([units[name].value(value) if name in units else np.nan for name, value in pairs])


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
