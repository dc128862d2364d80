"""Parameter domains as data, and one check that reads them."""

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Words:
    """One of a few words."""

    words: tuple[str, ...]

    def fits(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(word) for word in self.words)


@dataclass(frozen=True)
class Number:
    """A finite number (whole: an integer) between low and high; `open` leaves out both ends, `below` the upper one."""

    low: float
    high: float
    whole: bool = False
    open: bool = False
    below: bool = False

    def fits(self, value: Any) -> bool:
        kind = numbers.Integral if self.whole else numbers.Real
        if not isinstance(value, kind) or isinstance(value, bool | np.bool_):
            return False
        try:
            number = int(value) if isinstance(value, numbers.Integral) and self.whole else float(value)
        except OverflowError:  # a whole number beyond all floats
            return False
        if self.open:
            return self.low < number < self.high
        return self.low <= number <= self.high and number != np.inf and not (self.below and number == self.high)

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        if self.high == np.inf:
            return f"{kind} {'above' if self.open else 'of at least'} {self.low:g}"
        if self.below:
            return f"{kind} of at least {self.low:g} and below {self.high:g}"
        return f"{kind} {'strictly ' if self.open else ''}between {self.low:g} and {self.high:g}"


@dataclass(frozen=True)
class Flag:
    """True or False (0 and 1 too)."""

    def fits(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_) or (isinstance(value, numbers.Integral) and value in (0, 1))

    def __str__(self) -> str:
        return "True or False"


@dataclass(frozen=True)
class Kind:
    """An instance of some types."""

    types: tuple[type, ...]
    name: str

    def fits(self, value: Any) -> bool:
        return isinstance(value, self.types)

    def __str__(self) -> str:
        return self.name


Domain = Words | Number | Flag | Kind
MAPPING = Kind((Mapping,), "a dict")
ANYTHING = Kind((object,), "anything")
NONE = Kind((type(None),), "None")


def check_parameters(estimator: Any, domains: Mapping[str, tuple[Domain, ...]]) -> None:
    """Raise ValueError for the first parameter outside all of its domains."""
    for name, choices in domains.items():
        value = getattr(estimator, name)
        if not any(domain.fits(value) for domain in choices):
            allowed = " or ".join(str(domain) for domain in choices)
            raise ValueError(f"{type(estimator).__name__}({name}={value!r}): {name} must be {allowed}.")
