"""Parameters and fitted attributes of scikit-learn's estimators as JSON and arrays, and back. No code, no pickle.

Arrays of numbers become arrays of the file. All else becomes JSON that says its type, such as {"tuple": [0, 1]}, since
JSON itself knows neither tuples nor NaN. Whatever has no place here is refused by the name of its type.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from perceptrons.modelfile.contents import demand
from perceptrons.training.memory import check_claim

NUMBERS = "biuf"  # kinds of NumPy's types: booleans, whole numbers, floats
FAR = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}  # floats that JSON does not know
TYPES = {  # that may be given as dtype=...
    f"{kind.__module__}.{kind.__name__}": kind
    for kind in (bool, int, float, *(np.dtype(code).type for code in ("?", *"bhilBHILefd")))
}
LARGEST_NUMBER = 2**64  # whole numbers beyond it fit no array
ABSENT: Any = object()  # stands for an attribute that an estimator does not have
Node = Callable[[Any], Any]  # what becomes of an estimator, in either direction


class UnwritableError(TypeError):
    """A value that has no place in a file; the text says what it is."""


def written(value: Any, arrays: dict[str, np.ndarray], node: Node | None = None) -> Any:
    """A value as JSON; its arrays of numbers are added to `arrays`. Raises UnwritableError."""
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int and abs(value) < LARGEST_NUMBER:
        return value
    if kind is float:
        return value if np.isfinite(value) else {"float": str(value)}
    if kind in (list, tuple):
        items = [written(item, arrays, node) for item in value]
        return items if kind is list else {"tuple": items}
    if kind is dict:
        return {"pairs": [[written(key, arrays), written(item, arrays, node)] for key, item in value.items()]}
    if kind is slice:
        return {"slice": [written(part, arrays) for part in (value.start, value.stop, value.step)]}
    if isinstance(value, np.generic) and value.dtype.kind in NUMBERS + "U" and value.dtype.isnative:
        return {"numpy": value.dtype.str, "value": written(value.item(), arrays)}
    if kind is np.ndarray:
        return _array_written(value, arrays)
    if isinstance(value, np.dtype) and value.kind in NUMBERS + "O":
        return {"dtype": value.str}
    if isinstance(value, type) and value in TYPES.values():
        return {"type": f"{value.__module__}.{value.__name__}"}
    if hasattr(value, "tolist") and kind.__module__.split(".")[0] == "pandas":
        return written(value.tolist(), arrays)  # an Index of columns
    if node is not None and hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        return node(value)
    raise UnwritableError(described(value))


def described(value: Any) -> str:
    """What a value is, for a refusal."""
    name = getattr(value, "__name__", None)
    if callable(value) and name is not None:
        return f"the {'class' if isinstance(value, type) else 'function'} {name}"
    if type(value) is int:
        return "a whole number beyond 64 bits"
    if isinstance(value, np.ndarray):
        return f"an array of type {value.dtype}"
    return f"a {type(value).__name__}" + (f" of type {value.dtype}" if isinstance(value, np.generic) else "")


def _array_written(array: np.ndarray, arrays: dict[str, np.ndarray]) -> Any:
    if array.dtype.kind in NUMBERS and array.dtype.isnative and array.dtype.itemsize <= 8:
        name = f"array {len(arrays)}"
        arrays[name] = np.ascontiguousarray(array).reshape(array.shape)
        return {"array": name}
    if array.dtype.kind == "U" and array.dtype.isnative:
        return {"strings": array.reshape(-1).tolist(), "shape": list(array.shape), "width": array.dtype.itemsize // 4}
    if array.dtype == object:
        return {"objects": [_scalar_written(item) for item in array.reshape(-1)], "shape": list(array.shape)}
    raise UnwritableError(described(array))


def _scalar_written(item: Any) -> Any:
    """An item of an array of objects: a string, a number, True, False, None or NaN."""
    if not (item is None or isinstance(item, str | bool | int | float | np.generic)):
        raise UnwritableError(f"an array with {described(item)} in it")
    return written(item, {})


def read_value(told: Any, arrays: dict[str, np.ndarray], node: Node | None = None) -> Any:
    """The value again. Raises an error of those that `load` expects of an unsound file."""
    if told is None or isinstance(told, bool | str | float):
        return told
    if isinstance(told, int):
        demand(abs(told) < LARGEST_NUMBER, "whole numbers of 64 bits")
        return told
    if isinstance(told, list):
        return [read_value(item, arrays, node) for item in told]
    demand(isinstance(told, dict) and len(told) > 0, "values of known types")
    if "class" in told:
        demand(node is not None, f"no {told['class']} here")
        assert node is not None
        return node(told)
    kinds = [kind for kind in told if kind in READERS]
    demand(len(kinds) == 1, f"values of known types, not {sorted(told)[:3]}")
    return READERS[kinds[0]](told, arrays, node)


def _read_dict(told: Any, arrays: dict[str, np.ndarray], node: Node | None) -> dict[Any, Any]:
    return {read_value(key, {}): read_value(item, arrays, node) for key, item in told["pairs"]}


def _read_slice(told: Any, arrays: dict[str, np.ndarray], node: Node | None) -> slice:
    start, stop, step = (read_value(part, {}) for part in told["slice"])
    return slice(start, stop, step)


def _read_scalar(told: Any, arrays: dict[str, np.ndarray], node: Node | None) -> Any:
    kind, value = np.dtype(str(told["numpy"])), read_value(told["value"], {})
    demand(kind.kind in NUMBERS + "U" and kind.isnative, "a plain kind of number")
    if kind.kind == "U":
        return np.str_(str(value))
    number = kind.type(value)
    demand(number == value or (number != number and value != value), "a number of its type")
    return number


def _read_strings(told: Any, arrays: dict[str, np.ndarray], node: Node | None) -> np.ndarray:
    strings, width = told["strings"], told["width"]
    demand(isinstance(strings, list) and all(isinstance(item, str) for item in strings), "a list of strings")
    demand(type(width) is int and width >= max(map(len, strings), default=0), "strings no longer than their type says")
    check_claim(4 * width * (1 + len(strings)), 4 * sum(map(len, strings)), f"{len(strings):,} strings")
    return np.array(strings, f"<U{width}" if width else "U").reshape(_shape(told, len(strings)))


def _read_objects(told: Any, arrays: dict[str, np.ndarray], node: Node | None) -> np.ndarray:
    items = told["objects"]
    demand(isinstance(items, list), "a list of objects")
    array = np.empty(len(items), object)
    for k, item in enumerate(items):
        array[k] = read_value(item, {})
        demand(not isinstance(array[k], list | tuple | dict | slice | type | np.dtype), "strings and numbers in a list")
    return array.reshape(_shape(told, len(items)))


def _shape(told: Any, size: int) -> tuple[int, ...]:
    shape = told["shape"]
    demand(isinstance(shape, list) and all(type(side) is int and side >= 0 for side in shape), "the shape of an array")
    demand(len(shape) in (1, 2) and int(np.prod(shape, dtype=object)) == size, "as many items as the shape says")
    return tuple(shape)


def _read_array(told: Any, arrays: dict[str, np.ndarray], node: Node | None) -> np.ndarray:
    array = arrays[told["array"]]
    demand(array.dtype.kind in NUMBERS, "an array of numbers")
    return array.copy()


def _read_dtype(told: Any, arrays: dict[str, np.ndarray], node: Node | None) -> np.dtype:
    kind = np.dtype(str(told["dtype"]))
    demand(kind.kind in NUMBERS + "O" and kind.isnative, "a plain type of numbers")
    return kind


READERS: dict[str, Callable[..., Any]] = {
    "float": lambda told, arrays, node: FAR[told["float"]],
    "tuple": lambda told, arrays, node: tuple(read_value(item, arrays, node) for item in told["tuple"]),
    "pairs": _read_dict,
    "slice": _read_slice,
    "numpy": _read_scalar,
    "strings": _read_strings,
    "objects": _read_objects,
    "array": _read_array,
    "dtype": _read_dtype,
    "type": lambda told, arrays, node: TYPES[told["type"]],
}


def same(one: Any, other: Any) -> bool:
    """Are two values the same, with the same types, and NaN equal to NaN?"""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        alike = one.dtype == other.dtype and one.shape == other.shape
        return alike and all(map(same, one.reshape(-1).tolist(), other.reshape(-1).tolist()))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return bool(one == other or (one != one and other != other))
