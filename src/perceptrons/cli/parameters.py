"""Creates the model from the options: its parameters, costs and class weights, and the grid of settings to try."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import is_kernel
from perceptrons.cli.options import CLUSTERS, LINEAR_ONLY, LONG_RUNS, OF_KERNELS, RULE, given, typed
from perceptrons.cli.screen import plain

if TYPE_CHECKING:
    import numpy as np

    from perceptrons.cli.files import AnyModel
    from perceptrons.data import Table

SHAPES = {
    "--cost": '{"true class": {"predicted class": cost}}', "--class-weight": 'balanced, {"class": weight}',
    "--threshold": 'cost:{"true class": {"predicted class": cost}}',
}  # fmt: skip


def check_kernel(asked: Any) -> None:
    """Refuse options for kernels without a kernel, and with one those that only the linear perceptron has."""
    if asked.kernel is None:
        for name in given(asked, OF_KERNELS):
            raise BadInputError(f"{typed(name)} is for kernels: also give one, for instance --kernel rbf.")
        return
    strange = [typed(name) for name in given(asked, LINEAR_ONLY)]
    strange += ["--no-intercept"] * asked.no_intercept
    unknown = (("multiclass", "ovo"), ("combine", "pocket"), ("combine", "recent"))
    strange += [f"--{name} {word}" for name, word in unknown if getattr(asked, name) == word]
    if strange:
        raise BadInputError(f"{strange[0]} is for the linear perceptron: leave it out, or leave out --kernel.")
    if asked.on_full is not None and asked.budget is None:
        raise BadInputError("--on-full needs --budget: without a budget, there is no limit.")
    for name in given(asked, (*LONG_RUNS, *CLUSTERS)):
        raise BadInputError(f"{typed(name)} cannot be combined with --kernel: kernels need all data in memory.")


def new_model(asked: Any) -> "AnyModel":
    """The model to train; parameters that it cannot have are refused."""
    told = given(asked, (*RULE, *OF_KERNELS, "max_iter", "tol", "max_seconds"))
    if asked.tol == 0:
        told["tol"] = None
    if asked.epochs is not None:
        told |= {"max_iter": asked.epochs, "tol": None}
    if asked.cost is not None:
        told["cost"] = read_by_class("--cost", asked.cost)
    if asked.class_weight not in (None, "balanced"):
        told["class_weight"] = read_by_class("--class-weight", asked.class_weight)
    told |= {"early_stopping": asked.early_stopping, "random_state": asked.seed, "shuffle": not asked.no_shuffle}
    model: AnyModel
    if asked.kernel is not None:
        from perceptrons import KernelPerceptron
        from perceptrons.kernel.choices import check_choices

        model = KernelPerceptron(**told)
    else:
        from perceptrons import Perceptron
        from perceptrons.engine.training.parameters import check_choices

        model = Perceptron(**told, fit_intercept=not asked.no_intercept)
    with refusing(ValueError):
        check_choices(model)
    return model


def model_to_tune(asked: Any) -> "AnyModel":
    """The model whose settings are to be found."""
    from perceptrons import KernelPerceptron, Perceptron

    told = {**given(asked, ("combine", "kernel", "max_iter")), "random_state": asked.seed}
    if asked.kernel is None:
        return Perceptron(**told)
    if told.get("combine") in ("pocket", "recent"):
        raise BadInputError(
            f"--combine {told['combine']} cannot be combined with --kernel: choose average, last or vote."
        )
    return KernelPerceptron(**told)


def grid_of(asked: str | None, model: "AnyModel") -> Any:
    """The settings to try: the usual ones, or those of JSON, checked by name."""
    if asked is None:
        return "usual"
    path = None if asked.lstrip()[:1] in ("{", "[") else file_of(asked)
    try:
        content = json.loads(asked if path is None else path.read_text("utf-8-sig"))
    except OSError as error:
        raise BadInputError(f"--grid {plain(asked, 60)}: {(error.strerror or str(error)).lower()}.") from error
    except (ValueError, RecursionError) as error:
        raise BadInputError(f'--grid {plain(asked, 60)}: not JSON ({error}): give {{"C": [0.1, 1]}}.') from error
    grids = content if isinstance(content, list) else [content]
    known = model.get_params()
    for one in grids or [None]:
        if not isinstance(one, dict) or not all(isinstance(values, list) and values for values in one.values()):
            raise BadInputError(f'--grid {plain(asked, 60)}: give a list of values per parameter, {{"C": [0.1, 1]}}.')
        for name in one:
            if name not in known:
                raise BadInputError(f"--grid: {plain(name)} is not a parameter of {type(model).__name__}.")
    return grids


# ---- values by class, given as JSON: inline, or in a file. Its keys are strings; classes may be numbers


def file_of(told: str | None) -> Path | None:
    """The file that an option names, None if it is JSON itself."""
    return None if told is None or told.lstrip().startswith("{") else Path(told)


def read_by_class(option: str, told: str) -> dict[str, Any]:
    """What an option says of the classes, still by the keys of JSON."""
    path = file_of(told)
    try:
        text = told if path is None else path.read_text("utf-8-sig")
        # whole numbers as floats: one of a thousand digits is infinite then, and refused as such
        content = json.loads(text, parse_int=float, object_pairs_hook=_no_key_twice)
        if isinstance(content, dict):
            return content
        what = "not a JSON object"
    except json.JSONDecodeError as error:
        what = f"line {error.lineno}, column {error.colno}: not JSON ({error.msg})"
    except OSError as error:
        what = (error.strerror or str(error)).lower()
    except (ValueError, RecursionError) as error:
        what = str(error)
    raise BadInputError(f"{option} {plain(told, 60)}: {what}: give {SHAPES[option]}, or a file that contains it.")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise ValueError(f"{key!r} appears twice")
        content[key] = value
    return content


def name_classes(model: "AnyModel", labels: Any) -> None:
    """Let the costs and class weights of a model speak of the classes among the labels, or refuse them."""
    import numpy as np

    from perceptrons.engine.training.example_weights import check_weights
    from perceptrons.engine.training.rule import cost_matrix

    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    known = {str(label): label for label in classes.tolist()}
    if not is_kernel(model):
        with refusing(ValueError, RecursionError, about="--cost"):
            model.cost = by_class(model.cost, known)
            cost_matrix(model.cost, classes, stream=False)
    with refusing(ValueError, RecursionError, about="--class-weight"):
        model.class_weight = by_class(model.class_weight, known)
        check_weights(None, model.class_weight, classes, codes, stream=False)


def name_labels(model: "AnyModel", table: "Table", asked: Any) -> None:
    """Let costs and class weights speak of the labels of a table, and refuse what is for one label per example."""
    if table.classes is None:
        name_classes(model, table.y)
        return
    for name, value in (("--kernel", asked.kernel), ("--folds", asked.folds), ("--threshold", asked.threshold)):
        if value is not None:
            raise BadInputError(f"{name} is for one label per example, but the data have several: leave it out.")
    model.class_weight = by_class(model.class_weight, {str(label): label for label in table.classes.tolist()})


def by_class(content: Any, known: dict[str, Any]) -> Any:
    """The same by classes; keys that are none stay as they are."""
    if not isinstance(content, dict):
        return content
    return {known.get(key, key): by_class(value, known) for key, value in content.items()}


def need_classes(model: Any, asked: Any) -> None:
    """Refuse what is said of classes that are not known yet."""
    for name, value in (("--cost", model.cost), ("--class-weight", model.class_weight)):
        if value is not None and asked.classes is None:
            raise BadInputError(f"{name} needs --classes here, because the classes are found only while reading.")


def named_classes(model: "AnyModel", asked: Any) -> "np.ndarray | None":
    """The classes that were named, as the reader will give them; costs and weights then speak of these."""
    from perceptrons.data.labels import as_labels

    if asked.classes is None:
        return None
    texts = [text.strip() for text in asked.classes.split(",")]
    if len(texts) < 2 or len(set(texts)) < len(texts) or not all(texts):
        raise BadInputError(
            f"--classes {plain(asked.classes, 60)}: give two or more classes, each once, such as ham,spam."
        )
    classes = as_labels(texts, asked.text_labels)
    if (classes[1:] < classes[:-1]).any():  # in their usual order they need not be a setting of the model
        model.classes = classes.tolist()
    name_classes(model, classes)
    return classes
