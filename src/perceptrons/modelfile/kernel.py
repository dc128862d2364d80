"""Files of `KernelPerceptron`: each support vector once, and the log of updates or the state of the budget."""

import numpy as np

from perceptrons.engine.passes.budget import (
    BUDGET_OF_FORGETTING,
    ENTERED,
    FORGOTTEN,
    NUMBERS,
    REMOVED,
    UPDATES,
)
from perceptrons.engine.training.base import learner_of
from perceptrons.kernel import KernelPerceptron
from perceptrons.kernel.arrays import to_host
from perceptrons.kernel.estimator import check_choices, check_unchanged
from perceptrons.kernel.kernels import Kernel, Points
from perceptrons.kernel.learner import GrowableArray, KernelLearner
from perceptrons.modelfile.contents import (
    Content,
    content_of,
    refuse_infinite,
    require,
    restore,
    support_arrays,
)

LARGEST_FORGOTTEN = 1e290  # squared length of a removed example, whose sums must stay finite


def _check_can_resume(model: KernelPerceptron) -> None:
    """Raise an error for a kernel that is code, or parameters that no longer fit, whose file could not be read."""
    learner = learner_of(model)
    for kernel in (model.kernel, learner.kernel.name):
        if callable(kernel):
            raise TypeError(
                f"A model with the kernel {getattr(kernel, '__name__', kernel)!r} cannot be saved, since a model file "
                "holds no code: use a kernel by name, or kernel='precomputed' with the values that your function gives."
            )
    check_choices(model)
    check_unchanged(model)


def contents(model: KernelPerceptron) -> Content:
    """Return the header and the arrays of a fitted model."""
    _check_can_resume(model)
    learner, n = learner_of(model), learner_of(model).n_support
    arrays = {"where": learner.train_rows.values, "coef": learner.coef, "late": learner.lazy_sum}
    if learner.budget is None:
        arrays["log"] = learner.log
    else:
        arrays |= {"numbers": learner.budget_counters, "born": learner.entry_order.values}
        if learner.on_full != "remove_random":
            arrays["inner"] = np.ascontiguousarray(learner.budget_matrix[:n, :n])
    with np.errstate(over="ignore", invalid="ignore"):
        refuse_infinite(arrays | {"the average of coef": learner.average})
    points = learner.support.points()
    if n and learner.kernel.name != "precomputed":
        arrays |= support_arrays(to_host(points.rows))
    header = {
        "gamma": float(learner.kernel.gamma),
        "dtype": learner.dtype,
        "t": float(learner.t),
        "far": bool(points.needs_float64),
    }
    return content_of(model, header, arrays, keeps_seconds=True)


def read(content: Content) -> KernelPerceptron:
    """Return the model, or raise one of the errors that `load` expects for an invalid file."""
    header = content.header
    model = KernelPerceptron(**content.parameters())
    check_choices(model)
    gamma, n_features, t = float(header["gamma"]), int(header["n_features"]), float(header["t"])
    require(0 < gamma < np.inf, "a gamma above 0")
    require(header["dtype"] in ("float32", "float64"), "examples of float32 or float64")
    require(n_features >= 0, "a number of features that is not negative")
    require(0 <= t < np.inf, "a number of examples that is not negative")
    learner = KernelLearner(
        Kernel(model.kernel, gamma, int(model.degree), float(model.coef0)),
        content.classes(),
        model.multiclass,
        n_features,
        header["dtype"],
        int(header["seed"]),
        None if model.budget is None else int(model.budget),
        model.on_full,
    )
    learner.t = t
    _read_coefficients(learner, content)
    _read_support(learner, content)
    if learner.budget is None:
        _read_log(learner, content)
    else:
        _read_budget(learner, content)
    restore(model, learner, content)
    check_unchanged(model)
    return model


def _read_coefficients(learner: KernelLearner, content: Content) -> None:
    rows = content.array("where", None, np.int64)  # -1 for a row that is not known
    known_rows = rows[rows >= 0]
    require((rows >= -1).all() and len(np.unique(known_rows)) == len(known_rows), "support vectors of different rows")
    require(learner.budget is None or len(rows) <= learner.budget, "no more support vectors than the budget")
    require(learner.t > 0 or not len(rows), "examples, because there are support vectors")
    shape = (len(rows), learner.n_rows)
    learner.train_rows = GrowableArray(rows)
    learner.coef_array = GrowableArray(content.array("coef", shape))
    learner.lazy_sum_array = GrowableArray(content.array("late", shape))
    with np.errstate(over="ignore", invalid="ignore"):
        require(np.isfinite(learner.average).all(), "finite averages")


def _read_support(learner: KernelLearner, content: Content) -> None:
    kernel, rows, is_far = learner.kernel, learner.train_rows.values, content.header["far"]
    require(isinstance(is_far, bool), "a flag for examples that are far away")
    require(not is_far or (kernel.name == "rbf" and learner.dtype == "float32"), "distances that need float64")
    if not len(rows):
        return
    if kernel.name == "precomputed":
        require(((rows >= 0) & (rows < learner.n_features)).all(), "rows that the kernel matrix has")
        learner.support.append(Points(None, index=rows.astype(np.intp)))
        return
    points = kernel.points(content.support((len(rows), learner.n_features), np.dtype(learner.dtype)))
    points.needs_float64 |= is_far  # examples that were seen with them may have been far
    learner.support.append(points)


def _read_log(learner: KernelLearner, content: Content) -> None:
    """Read the log. Raise ValueError unless learning can have written it and it gives these coefficients."""
    n_classes = len(learner.classes)
    log = content.log(learner.n_support, n_classes)
    seen, numbers, (y, y_hat) = log[:, 0], log[:, 1:4], log[:, 2:4].T
    require((numbers == np.floor(numbers)).all(), "a log of whole numbers")
    require((np.diff(seen, prepend=0.0, append=learner.t) >= 0).all(), "a log in the order of time")
    require(((y < n_classes) & (y_hat < learner.n_rows)).all(), "a log that names rows that are there")
    require(len(learner.sign) > 0 or (y != y_hat).all(), "a log of mistakes")
    require((log[:, 4] > 0).all(), "a log of steps above 0")
    sums = learner.coefficient_changes(log, log[:, 1].astype(np.intp), learner.n_support)
    for name, array in zip(("coef", "late"), sums, strict=True):
        differs = np.abs(array - content.arrays[name]) > 1e-9 * np.abs(array).max(initial=0.0)
        require(not differs.any(), f"a log that comes to {name}")
    learner.append_log(log)


def _read_budget(learner: KernelLearner, content: Content) -> None:
    n, numbers = learner.n_support, content.array("numbers", (NUMBERS,))
    born = content.array("born", (n,), np.int64)
    entered, removed = numbers[ENTERED], numbers[REMOVED]
    require((np.delete(numbers, FORGOTTEN) >= 0).all(), "numbers that are not negative")
    require(removed == np.floor(removed) and removed < 2**53, "a whole number of removals")
    require(entered == n + removed, "support vectors that entered and were not removed")
    require(len(np.unique(born)) == n and ((born >= 0) & (born < entered)).all(), "an order of entering")
    allowed = BUDGET_OF_FORGETTING * numbers[UPDATES]
    require(numbers[FORGOTTEN] <= allowed + 1e-6 * (1 + allowed), "no more forgotten than was learned")
    learner.budget_counters, learner.entry_order = numbers, GrowableArray(born)
    if learner.on_full == "remove_random":
        return
    learner.budget_matrix = matrix = content.array("inner", (n, n))
    if learner.on_full == "project":
        diagonal, sizes = np.diagonal(matrix), np.abs(matrix).max(axis=1, initial=0.0)
        require((diagonal > 0).all() and not np.triu(matrix, 1).any(), "a Cholesky factor")
        # An example in the span of the others is never let in. A diagonal next to 0 would make steps overflow.
        require((1e10 * diagonal >= sizes).all(), "a Cholesky factor of independent examples")
        require(((sizes >= 1e-100) & (sizes <= 1e100)).all(), "a Cholesky factor of sizes that can be squared")
    else:
        require((matrix == matrix.T).all(), "kernel values that are the same both ways")
        top, value = (float(np.abs(array).max(initial=0.0)) for array in (learner.coef, matrix))
        require(n * top * top * max(1.0, value) < LARGEST_FORGOTTEN, "coefficients whose forgetting can be counted")
