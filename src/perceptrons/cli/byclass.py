"""Values by class, such as costs, given as JSON: inline, or in a file. Its keys are strings; classes may be numbers."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import is_kernel
from perceptrons.cli.screen import plain

if TYPE_CHECKING:
    from perceptrons.cli.files import AnyModel

SHAPES = {"--cost": '{"true class": {"answer": cost}}', "--class-weight": 'balanced, {"class": weight}'}


def file_of(given: str | None) -> Path | None:
    """The file that an option names, None if it is JSON itself."""
    return None if given is None or given.lstrip().startswith("{") else Path(given)


def read_by_class(option: str, given: str) -> dict[str, Any]:
    """What an option says of the classes, still by the keys of JSON."""
    path = file_of(given)
    try:
        text = given if path is None else path.read_text("utf-8-sig")
        # whole numbers as floats: one of a thousand digits is infinite then, and refused as such
        content = json.loads(text, parse_int=float, object_pairs_hook=_once_each)
        if isinstance(content, dict):
            return content
        what = "not a JSON object"
    except json.JSONDecodeError as error:
        what = f"line {error.lineno}, column {error.colno}: not JSON ({error.msg})"
    except OSError as error:
        what = (error.strerror or str(error)).lower()
    except (ValueError, RecursionError) as error:
        what = str(error)
    raise BadInputError(f"{option} {plain(given, 60)}: {what}: give {SHAPES[option]}, or a file with it.")


def name_classes(model: "AnyModel", labels: Any) -> None:
    """Let the costs and class weights of a model speak of the classes among the labels, or refuse them."""
    import numpy as np

    from perceptrons.training.inputs import check_weights
    from perceptrons.training.rule import cost_matrix

    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    known = {str(label): label for label in classes.tolist()}
    if not is_kernel(model):
        with refusing(ValueError, RecursionError, about="--cost"):
            model.cost = _named(model.cost, known)
            cost_matrix(model.cost, classes, stream=False)
    with refusing(ValueError, RecursionError, about="--class-weight"):
        model.class_weight = _named(model.class_weight, known)
        check_weights(None, model.class_weight, classes, codes, stream=False)


def _named(content: Any, known: dict[str, Any]) -> Any:
    """The same by classes; keys that are none stay as they are."""
    if not isinstance(content, dict):
        return content
    return {known.get(key, key): _named(value, known) for key, value in content.items()}


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise ValueError(f"{key!r} stands there twice")
        content[key] = value
    return content
