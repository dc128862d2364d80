"""`check`: calls a student's function on worked and random examples, and says which answer differs and by how much."""

import copy
import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from perceptrons.engine.html import block, escaped
from perceptrons.engine.wording import count
from perceptrons.teaching.exercises import EXERCISES, Cases, Exercise

TOLERANCE = 1e-9  # answers that differ by less are equal: sums may be rounded differently


@dataclass(frozen=True)
class Checked:
    """The result of `check`: whether the function passed, on how many examples, and a message that says it in words.

    Attributes
    ----------
    exercise : str
        The name of the exercise.
    passed : bool
        True if the function agrees with the library on all examples.
    examples : int
        The number of examples up to the first one that differs, or of all.
    message : str
        What to tell the student.
    """

    exercise: str
    passed: bool
    examples: int
    message: str

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.message

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return block(f"<pre>{escaped(self.message)}</pre>")


def check(function: Callable[..., Any], exercise: str | None = None) -> Checked:
    """Compare a function that you wrote with the library, on worked and random examples.

    The function is called with copies of the arguments, so it may change them. Nothing else is executed. The message
    is about the first example whose answer differs. It shows the arguments, both answers and the largest difference. If
    a common mistake, such as `<` instead of `<=`, gives the same answers to all examples, a hint names it.

    Use it for the exercises of the tutorial, in a script, a notebook or a classroom. Do not use it to test an
    implementation for production, because the examples are small.

    Parameters
    ----------
    function : callable
        The student's function. It takes the arguments of the exercise by position.
    exercise : str, optional
        The name of the exercise, one of `EXERCISES`. By default it is the name of the function.

    Returns
    -------
    Checked
        It prints as its message, and is true if the function passed.

    Examples
    --------
    >>> from perceptrons.teaching import check
    >>> def predict(w, b, x):
    ...     return 1 if sum(w * x) + b > 0 else -1
    >>> check(predict)
    predict: correct. All 32 examples agree with the library.
    >>> def predict(w, b, x):
    ...     return 1 if sum(w * x) > 0 else -1
    >>> check(predict)
    predict: example 1 of 32 differs from the library.
      w = [1, 1], b = -1.5, x = [0, 1]
      expected: label = -1
      yours:    label = 1
    Hint: this is the answer without the bias. The score is w·x + b.
    """
    task = _find(function, exercise)
    cases = task.cases()
    for number, arguments in enumerate(cases, 1):
        problem = _compare(task, function, arguments, cases)
        if problem:
            example = _format_parts(dict(zip(task.arguments, arguments, strict=True)))
            verdict = "differs from the library" if "yours:" in problem else "has no answer to compare"
            title = f"{task.name}: example {number} of {len(cases)} {verdict}."
            return Checked(task.name, False, number, f"{title}\n  {example}\n{problem}")
    message = f"{task.name}: correct. All {len(cases)} examples agree with the library."
    return Checked(task.name, True, len(cases), message)


def _find(function: Callable[..., Any], name: str | None) -> Exercise:
    """Return the exercise that a function is meant for."""
    if not callable(function):
        raise TypeError(f"check takes the function itself, not {type(function).__name__}: write check(update).")
    name = name or str(getattr(function, "__name__", type(function).__name__))
    if name not in EXERCISES:
        similar = difflib.get_close_matches(name, EXERCISES, 1)
        suggestion = f" Did you mean {similar[0]!r}?" if similar else ""
        raise ValueError(
            f"There is no exercise {name!r}.{suggestion} The exercises are {', '.join(EXERCISES)}. "
            "Name your function after one of them, or write check(function, 'update')."
        )
    task = EXERCISES[name]
    try:
        inspect.signature(function).bind(*task.arguments)
    except TypeError as error:
        signature = f"{task.name}({', '.join(task.arguments)})"
        raise TypeError(f"The function must take {count(len(task.arguments), 'argument')}: {signature}.") from error
    return task


def _compare(task: Exercise, function: Callable[..., Any], arguments: tuple[Any, ...], cases: Cases) -> str:
    """Return what is wrong with the function's answer to one example; "" if it is right. cases: all examples."""
    expected = _parts(task, task.library(*copy.deepcopy(arguments)))
    try:
        answer = function(*copy.deepcopy(arguments))
    except NotImplementedError:
        return "  The function is not written yet: replace `raise NotImplementedError` with your code."
    except Exception as error:  # the student's own, whatever it is: the message names it
        return f"  Your function raised {type(error).__name__}: {error}"
    if answer is None:
        return "  Your function returned None. Is there a `return` at its end?"
    try:
        parts = _parts(task, answer)
    except (TypeError, ValueError):
        return f"  Your function returned {_format(answer)}, which cannot be read as {', '.join(task.parts)}."
    if all(_same(parts[name], right) for name, right in expected.items()):
        return ""
    lines = [f"  expected: {_format_parts(expected)}", f"  yours:    {_format_parts(parts)}"]
    shapes = [
        f"  {name} has the shape {parts[name].shape}; expected {right.shape}."
        for name, right in expected.items()
        if parts[name].shape != right.shape
    ]
    lines += shapes[:1] or _describe_largest_difference(expected, parts)
    return "\n".join([*lines, *_hints(task, function, cases)])


def _parts(task: Exercise, answer: Any) -> dict[str, np.ndarray]:
    """Return an answer as arrays, by the names of its parts."""
    values = (answer,) if len(task.parts) == 1 else tuple(answer)
    if len(values) != len(task.parts):
        raise ValueError(f"{len(values)} parts, not {len(task.parts)}")
    return {name: np.asarray(value, dtype=float) for name, value in zip(task.parts, values, strict=True)}


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and bool(np.all(abs(a - b) <= TOLERANCE * np.maximum(1, abs(b))))


def _describe_largest_difference(expected: dict[str, np.ndarray], parts: dict[str, np.ndarray]) -> list[str]:
    """Return a line that names the number with the largest error, if there is more than one number."""
    if sum(right.size for right in expected.values()) == 1:
        return []
    errors = {name: abs(parts[name] - right) for name, right in expected.items() if right.size}
    name = max(errors, key=lambda part: errors[part].max())
    place = np.unravel_index(errors[name].argmax(), errors[name].shape)
    indices = "".join(f"[{index}]" for index in place)
    return [f"  The largest difference is {errors[name].max():.6g}, in {name}{indices}."]


def _hints(task: Exercise, function: Callable[..., Any], cases: Cases) -> list[str]:
    """Return a hint if a common mistake gives the same answers as the student's function to all examples."""
    answers = []
    for arguments in cases:
        try:
            answers.append(_parts(task, function(*copy.deepcopy(arguments))))
        except Exception:  # the student's own: another example explains it
            return []
    for mistake, hint in task.common_mistakes:
        wrong = (_parts(task, mistake(*copy.deepcopy(arguments))) for arguments in cases)
        if all(_same(a[name], b[name]) for a, b in zip(wrong, answers, strict=True) for name in task.parts):
            return [f"Hint: {hint}"]
    return []


def _format_parts(parts: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {_format(value)}" for name, value in parts.items())


def _format(value: Any) -> str:
    """Return a value as the lecture writes it: 1 instead of 1.0 or np.float64(1.0)."""
    if callable(value):
        return str(getattr(value, "__name__", value))
    if isinstance(value, np.ndarray | list | tuple):
        return f"[{', '.join(map(_format, value))}]" if np.ndim(value) else _format(value[()])  # type: ignore[call-overload]
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
