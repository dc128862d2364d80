"""Creates the model from the options: parameters, costs, the grid of settings to try, threshold, probabilities."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perceptrons.cli.files import AnyModel, refusing
from perceptrons.cli.messages import BadInputError, plain
from perceptrons.cli.options import (
    CLUSTER_PARAMETERS,
    KEPT_LEARNING,
    KERNEL_PARAMETERS,
    LINEAR_ONLY,
    LONG_RUN,
    RULE,
    CalibrationOptions,
    TrainOptions,
    given,
    typed,
)
from perceptrons.data import Table
from perceptrons.data.labels import as_labels
from perceptrons.data.splitting import HELD_OUT_SHARE, parts_of
from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.labels import check_weights
from perceptrons.engine.training.parameters import check_choices, cost_matrix
from perceptrons.inspection.metrics import format_metric
from perceptrons.inspection.summary import describe_threshold as threshold_text
from perceptrons.kernel import KernelPerceptron
from perceptrons.kernel.estimator import check_choices as check_kernel_choices
from perceptrons.linear import Perceptron

if TYPE_CHECKING:  # imported where it is used: it takes longer than the rest of a short training
    from perceptrons.selection import Threshold

COST = "cost:"
JSON_EXAMPLES = {
    "--cost": '{"true class": {"predicted class": cost}}', "--class-weight": 'balanced, {"class": weight}',
    "--threshold": 'cost:{"true class": {"predicted class": cost}}', "--grid": '{"C": [0.1, 1]}',
}  # fmt: skip


def check_kernel(options: TrainOptions) -> None:
    """Refuse options for kernels without a kernel, and with one those that only the linear perceptron has."""
    if options.kernel is None:
        for name in given(options, KERNEL_PARAMETERS):
            raise BadInputError(f"{typed(name)} is for kernels: also give one, for instance --kernel rbf.")
        return
    strange = [typed(name) for name in given(options, (*LINEAR_ONLY, "no_intercept"))]
    unknown = (("multiclass", "ovo"), ("combine", "pocket"), ("combine", "recent"))
    strange += [f"--{name} {word}" for name, word in unknown if getattr(options, name) == word]
    if strange:
        raise BadInputError(f"{strange[0]} is for the linear perceptron: leave it out, or leave out --kernel.")
    if options.on_full is not None and options.budget is None:
        raise BadInputError("--on-full needs --budget: without a budget, there is no limit.")
    for name in given(options, (*LONG_RUN, *CLUSTER_PARAMETERS)):
        raise BadInputError(f"{typed(name)} cannot be combined with --kernel: kernels need all data in memory.")


def new_model(options: TrainOptions) -> AnyModel:
    """Return the model to train; refuse parameters that it cannot have."""
    parameters = given(options, (*RULE, *KERNEL_PARAMETERS, "max_iter", "tol", "max_seconds"))
    if options.tol == 0:
        parameters["tol"] = None
    if options.epochs is not None:
        parameters |= {"max_iter": options.epochs, "tol": None}
    if options.cost is not None:
        parameters["cost"] = read_by_class("--cost", options.cost)
    if options.class_weight not in (None, "balanced"):
        parameters["class_weight"] = read_by_class("--class-weight", options.class_weight)
    parameters |= {"early_stopping": options.early_stopping, "random_state": options.seed}
    parameters["shuffle"] = not options.no_shuffle
    with refusing(ValueError):
        if options.kernel is not None:
            kernel_model = KernelPerceptron(**parameters)
            check_kernel_choices(kernel_model)
            return kernel_model
        model = Perceptron(**parameters, fit_intercept=not options.no_intercept)
        check_choices(model)
        return model


def change_learning(model: Any, options: Any, path: Path | None) -> None:
    """Set --combine and --keep-learning of a trained model that is going to learn more."""
    changes = given(options, KEPT_LEARNING)
    if not changes:
        return
    if not isinstance(model, Perceptron):
        kind = type(model).__name__
        raise BadInputError(f"{path}: {typed(next(iter(changes)))} is for a linear model, and this is a {kind}.")
    with refusing(ValueError):
        model.set_params(**changes)
        if model.__sklearn_is_fitted__():
            learner_of(model).check_holds(model.combine)


# ---- JSON: inline, or in a file. Its keys are strings; classes may be numbers


def json_file(text: str | None) -> Path | None:
    """Return the file that an option names, or None if the option is JSON itself."""
    return None if text is None or text.lstrip()[:1] in ("{", "[") else Path(text)


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise ValueError(f"{key!r} appears twice")
        content[key] = value
    return content


def _read_json(option: str, value: str, **settings: Any) -> Any:
    """Read the JSON of an option, or of the file that it names. settings: of `json.loads`."""
    path = json_file(value)
    try:
        return json.loads(value if path is None else path.read_text("utf-8-sig"), **settings)
    except json.JSONDecodeError as error:
        problem = f"line {error.lineno}, column {error.colno}: not JSON ({error.msg})"
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
    except (ValueError, RecursionError) as error:
        problem = str(error)
    raise _json_error(option, value, problem)


def _json_error(option: str, value: str, problem: str) -> BadInputError:
    hint = f"give {JSON_EXAMPLES[option]}, or a file that contains it"
    return BadInputError(f"{option} {plain(value, 60)}: {problem}: {hint}.")


def read_by_class(option: str, value: str) -> dict[str, Any]:
    """Read the values of an option by class, or by the keys of JSON: classes may be numbers."""
    # whole numbers as floats: one of a thousand digits is infinite then, and refused as such
    content = _read_json(option, value, parse_int=float, object_pairs_hook=_refuse_repeated_keys)
    if not isinstance(content, dict):
        raise _json_error(option, value, "not a JSON object")
    return content


def read_grid(text: str | None, model: Any) -> Any:
    """Return the settings to try: the usual ones, or those of JSON, checked by name."""
    if text is None:
        return "usual"
    content = _read_json("--grid", text)
    grids, parameters = content if isinstance(content, list) else [content], model.get_params()
    for item in grids or [None]:
        if not isinstance(item, dict) or not all(isinstance(values, list) and values for values in item.values()):
            example = JSON_EXAMPLES["--grid"]
            raise BadInputError(f"--grid {plain(text, 60)}: give a list of values per parameter, {example}.")
        for name in item:
            if name not in parameters:
                raise BadInputError(f"--grid: {plain(name)} is not a parameter of {type(model).__name__}.")
    return grids


# ---- costs, weights and names of classes


def by_class(content: Any, labels: np.ndarray) -> Any:
    """Replace keys of JSON by the labels of classes; other keys stay."""
    if not isinstance(content, dict):
        return content
    label_of = {str(label): label for label in labels.tolist()}
    return {label_of.get(key, key): by_class(value, labels) for key, value in content.items()}


def name_classes(model: AnyModel, labels: Any) -> None:
    """Let the costs and class weights of a model speak of the classes among the labels, or refuse them."""
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    if isinstance(model, Perceptron):
        with refusing(ValueError, RecursionError, about="--cost"):
            model.cost = by_class(model.cost, classes)
            cost_matrix(model.cost, classes, stream=False)
    with refusing(ValueError, RecursionError, about="--class-weight"):
        model.class_weight = by_class(model.class_weight, classes)
        check_weights(None, model.class_weight, classes, codes, stream=False)


def name_labels(model: AnyModel, table: Table, options: TrainOptions) -> None:
    """Let costs and class weights speak of the labels of a table, and refuse what is for one label per example."""
    if table.classes is None:
        name_classes(model, table.y)
        return
    for name in given(options, ("kernel", "folds", "threshold")):
        raise BadInputError(f"{typed(name)} is for one label per example, but the data have several: leave it out.")
    model.class_weight = by_class(model.class_weight, table.classes)


def require_classes(model: AnyModel, classes: str | None) -> None:
    """Refuse what is said of classes that are not known yet."""
    for name, value in (("--cost", model.cost), ("--class-weight", model.class_weight)):
        if value is not None and classes is None:
            raise BadInputError(f"{name} needs --classes here, because the classes are found only while reading.")


def parse_classes(model: AnyModel, options: TrainOptions) -> np.ndarray | None:
    """Return the classes of --classes, as the reader will give them, and let costs and weights speak of these."""
    if options.classes is None:
        return None
    texts = [text.strip() for text in options.classes.split(",")]
    if len(texts) < 2 or len(set(texts)) < len(texts) or not all(texts):
        raise BadInputError(
            f"--classes {plain(options.classes, 60)}: give two or more classes, each once, such as ham,spam."
        )
    classes = as_labels(texts, options.text_labels)
    if (classes[1:] < classes[:-1]).any():  # in their usual order they need not be a setting of the model
        model.classes = classes.tolist()
    name_classes(model, classes)
    return classes


# ---- what is fitted on training examples that are held out for it: a threshold and probabilities


def is_threshold_chosen(options: CalibrationOptions) -> bool:
    """Return whether the threshold is to be chosen on examples."""
    return isinstance(options.threshold, str)


def needs_held_out_examples(options: CalibrationOptions) -> bool:
    """Return whether training examples are to be held out, for a threshold or for probabilities."""
    return is_threshold_chosen(options) or options.probabilities is not None


def check_calibration(options: CalibrationOptions, folds: int | None) -> None:
    """Refuse what does not go with a chosen threshold or with probabilities, before any work is done."""
    if folds is not None and options.probabilities is not None:
        raise BadInputError("--probabilities cannot be combined with --folds: leave one of them out.")
    if folds is not None and is_threshold_chosen(options):
        raise BadInputError(f"--threshold {plain(options.threshold)} cannot be combined with --folds: give a number.")
    threshold_criterion(options)


def threshold_cost(options: CalibrationOptions) -> str | None:
    """Return the costs to choose the threshold by, as JSON or the name of a file, if they are wanted."""
    text = str(options.threshold)
    return text.removeprefix(COST) if text.startswith(COST) else None


def threshold_criterion(options: CalibrationOptions) -> str | dict[str, Any]:
    """Return what the threshold is chosen by: the name of a metric, or costs by the keys of JSON."""
    cost = threshold_cost(options)
    return str(options.threshold) if cost is None else read_by_class("--threshold", cost)


def split_for_calibration(
    table: Table, options: CalibrationOptions, seed: int, time_order: bool
) -> tuple[Table, Table | None]:
    """Split a table into examples to train on and examples to calibrate on; these are None if they are not needed."""
    if not needs_held_out_examples(options):
        return table, None
    y: Any = table.label_sets if table.several else table.y
    split: Any = "time" if time_order else None
    try:
        parts = parts_of(table.X, y, dev=HELD_OUT_SHARE, test=0, split=split, keys=table.keys, random_state=seed)
    except ValueError as error:
        advice = "give a number" if is_threshold_chosen(options) else "leave it out"
        raise BadInputError(
            f"{_calibration_option(options)}: there are too few training examples to hold some out: {advice}."
        ) from error
    assert parts.train.rows is not None
    assert parts.dev.rows is not None
    return table.part(parts.train.rows), table.part(parts.dev.rows)


def calibrate_model(model: AnyModel, held_out: Any, options: CalibrationOptions) -> "Threshold | None":
    """Set the threshold and the probabilities that the options want; return how the threshold was chosen.

    held_out: a table, a stream with a method `test` that yields the examples to calibrate on, or None.
    """
    about, threshold = f"--threshold {plain(options.threshold)}", None
    if isinstance(options.threshold, float):
        with refusing(ValueError, TypeError, about=about):
            model.threshold_ = options.threshold
    if not needs_held_out_examples(options):
        return None
    from perceptrons.selection import calibrating, thresholds

    if is_threshold_chosen(options):
        with refusing(ValueError, TypeError, about=about):
            by = by_class(threshold_criterion(options), model.classes_)
            if isinstance(held_out, Table):
                threshold = thresholds.choose_threshold(model, held_out.X, held_out.y, by)
            else:
                threshold = thresholds.choose_on_blocks(model, held_out.test(model.n_features_in_), by)
    if (method := options.probabilities) is not None:
        with refusing(ValueError, TypeError, about=_calibration_option(options)):
            if isinstance(held_out, Table):
                calibrating.calibrate(model, held_out.X, held_out.y, method, held_out.weight)
            else:
                calibrating.calibrate_on_blocks(model, held_out.test(model.n_features_in_), method)
        model.probability = method
    return threshold


def _calibration_option(options: CalibrationOptions) -> str:
    """Return the option that examples are held out for."""
    if is_threshold_chosen(options):
        return f"--threshold {plain(options.threshold)}"
    return f"--probabilities {options.probabilities}"


def describe_threshold(model: AnyModel, threshold: "Threshold | None") -> str:
    """Return "Threshold 0.25: spam at or above it. Chosen by f1 on 200 held-out examples: 71.2% (60.1% without it)"."""
    text = f"Threshold {threshold_text(model)}"
    if threshold is None:
        return text
    score, before = (format_metric(threshold.metric, value) for value in (threshold.score, threshold.before))
    return f"{text}. Chosen by {threshold.metric} on {threshold.n:,} held-out examples: {score} ({before} without it)"
