"""Results of the theory in words, for notebooks, commands and reports."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from perceptrons.engine.html import block, escaped, note, table

DECIMALS = 4000  # digits that Python still writes in decimal


class InWords(ABC):
    """What explains itself; `_shown` names the attributes that a table has."""

    _shown: tuple[str, ...] = ()

    @abstractmethod
    def explain(self) -> str:
        """Return the result in words."""

    def _value(self, name: str) -> Any:
        """What a table shows of an attribute; nothing for None."""
        return getattr(self, name)

    def _repr_html_(self) -> str:
        rows = [
            (said.removeprefix("n_").replace("_", " "), _written(value))
            for name in self._shown
            for said, value in _named(name, self._value(name))
        ]
        # escaped here, so that numbers, too, begin on the left
        return block(table([(name, escaped(value)) for name, value in rows if value]), note(self.explain()))


def _named(name: str, value: Any) -> list[tuple[str, Any]]:
    """The value and its name; two of them for a margin of which only a lower and an upper bound are known."""
    if name == "margin" and isinstance(value, tuple):
        return list(zip(("margin reached", "margin at most"), value, strict=True))
    return [(name, value)]


def _written(value: Any) -> str:
    """A number, a few labels or a margin; "" for what is not there."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Iterable) and not isinstance(value, str):
        some = list(value)
        return ", ".join(_written(one) for one in some[:8]) + ", ..." * (len(some) > 8)
    return str(value)


def fraction(weight: Any) -> str:
    """1/4 as it is; longer ones, which may have thousands of digits, rounded."""
    weight = Fraction(weight)
    if max(weight.numerator.bit_length(), weight.denominator.bit_length()) <= 20:
        return str(weight)
    size = weight.numerator.bit_length() - weight.denominator.bit_length()
    return f"about {float(weight):.3g}" if abs(size) < 1000 else f"about 2^{size:,}"


def plainly(value: Any) -> str:
    """The repr of a value; Fractions in it that Python refuses to write in decimal, for their length, are rounded."""
    if isinstance(value, Fraction):
        digits = max(value.numerator.bit_length(), value.denominator.bit_length()) / math.log2(10)
        return repr(value) if digits < DECIMALS else fraction(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return f"array({plainly(value.tolist())}, dtype=object)"
    if type(value) in (list, tuple):
        inside = ", ".join(map(plainly, value)) + "," * (type(value) is tuple and len(value) == 1)
        return f"[{inside}]" if type(value) is list else f"({inside})"
    return repr(value)


def separates(certificate: Any) -> str:
    """What separates data that can be separated."""
    if len(certificate.classes) == 2:
        return f"A {_hyperplane(certificate)} puts every example on its side"
    return f"{len(certificate.classes)} linear scores give every example its class"


def why_separable(
    certificate: Any, places: Callable[[list[int]], str], examples: Callable[[list[int]], str],
    same: str = "are the same point",
) -> str:  # fmt: skip
    """Why a decided certificate says that classes are separable, or that they are not.

    places: where rows are, as "lines 3 and 7"; examples: the examples there, as the subject of a sentence; same: said
    of two examples that are one point.
    """
    if certificate.separable:
        low, high = certificate.margin
        how = "at a distance" if len(certificate.classes) == 2 else "with a margin"
        return (
            f"{separates(certificate)}, {how} of {low:.4g} or more. More than {high:.4g} is not possible, because "
            f"the classes come this close near {places(sorted(set(certificate.support.rows)))}."
        )
    rows, plane = sorted(set(certificate.witness.rows)), _hyperplane(certificate)
    if len(rows) == 1:
        return f"{examples(rows)} has only zeros, so every {plane} goes through it."
    if len(rows) == 2:
        apart = "lie in one direction, or opposite ones, from the origin"
        return f"{examples(rows)} {same if certificate.fit_intercept else apart}."
    right = f"a {plane} has each on its side" if len(certificate.classes) == 2 else "linear scores give each its class"
    return (
        f"The classes overlap: weighted as follows, these {len(rows):,} examples cancel out exactly, which they cannot "
        f"if {right}."
    )


def _hyperplane(certificate: Any) -> str:
    return "hyperplane" + " through the origin" * (not certificate.fit_intercept)
