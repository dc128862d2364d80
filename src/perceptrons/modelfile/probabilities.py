"""The calibration of a model in its file: what it is in the header, and its curves as arrays."""

from typing import Any

import numpy as np

from perceptrons.engine.streaming.resuming import COUNTED
from perceptrons.engine.training.calibration import METHODS, Calibration
from perceptrons.modelfile.contents import array_in, demand

PREFIX = "calibration_"


def calibration_parts(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What header and arrays say of it; nothing for a model that is not calibrated."""
    found: Calibration | None = model._learner.calibration
    if found is None:
        return {}, {}
    about = {"method": found.method, "examples": found.n, "seen": found.t, "combine": found.combine}
    return {"calibration": about}, {PREFIX + name: array for name, array in found.arrays.items()}


def read_calibration(model: Any, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Give a model the calibration of its file, if there is one and it can be believed."""
    about = header.get("calibration")
    if about is None:
        return
    learner = model._learner
    several = learner.form != "single"
    columns = 1 if len(learner.classes) == 2 and not several else len(learner.classes)
    demand(several or len(learner.classes) > 1, "two classes beside a calibration")
    method, n, seen = about["method"], about["examples"], about["seen"]
    demand(method in METHODS, "a known method of calibration")
    demand(type(n) is int and 0 < n < COUNTED, "a number of examples to calibrate by")
    demand(type(seen) is float and 0 <= seen < COUNTED, "a number of examples seen before the calibration")
    demand(about["combine"] in ("average", "recent", "last", "vote", "pocket"), "weights that were calibrated")
    curves = {name.removeprefix(PREFIX): array for name, array in arrays.items() if name.startswith(PREFIX)}
    if method == "isotonic":
        curves = _corners(curves, columns)
    elif method == "sigmoid":
        curves = {name: array_in(curves, name, (columns,), np.float64) for name in ("slope", "offset")}
    else:
        curves = {"slope": array_in(curves, "slope", (columns if several else 1,), np.float64)}
    learner.calibration = Calibration(method, several, columns, n, seen, about["combine"], curves)


def _corners(curves: dict[str, np.ndarray], columns: int) -> dict[str, np.ndarray]:
    """The corners of curves that rise from left to right, each from 0 to 1 at most."""
    sizes = array_in(curves, "corners", (columns,), np.int64)
    xs, ps = curves["scores"], curves["shares"]
    demand(bool((sizes >= 1).all()) and int(sizes.sum()) == len(xs), "corners of every curve")
    xs, ps = (array_in(curves, name, (len(xs),), np.float64) for name in ("scores", "shares"))
    demand(bool(((ps >= 0) & (ps <= 1)).all()), "shares between 0 and 1")
    first = np.zeros(len(xs), bool)
    first[np.cumsum(sizes)[:-1]] = True
    within = ~first[1:]
    demand(bool((np.diff(xs)[within] > 0).all() and (np.diff(ps)[within] >= 0).all()), "curves that rise")
    return {"scores": xs, "shares": ps, "corners": sizes}
