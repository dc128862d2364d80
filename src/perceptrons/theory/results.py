"""The base class of results that explain themselves, in text and in notebooks."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from perceptrons.engine.html import block, escaped, note, table

MAX_SHOWN_VALUES = 8  # of a sequence


class TheoryResult(ABC):
    """A result with an explanation; `_shown` names the attributes of its table in notebooks."""

    _shown: tuple[str, ...] = ()

    @abstractmethod
    def explain(self) -> str:
        """Return the result in words."""

    def _shown_values(self) -> dict[str, Any]:
        """Return the values of the table by name; values that are None are left out."""
        return {name: getattr(self, name) for name in self._shown}

    def _repr_html_(self) -> str:
        rows = [
            (name.removeprefix("n_").replace("_", " "), escaped(_format(value)))  # escaped: numbers align to the left
            for name, value in self._shown_values().items()
            if value not in (None, "")
        ]
        return block(table(rows), note(self.explain()))


def _format(value: Any) -> str:
    """Return a number, a truth value, or some labels as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Iterable) and not isinstance(value, str):
        values = list(value)
        return ", ".join(map(_format, values[:MAX_SHOWN_VALUES])) + ", ..." * (len(values) > MAX_SHOWN_VALUES)
    return str(value)
