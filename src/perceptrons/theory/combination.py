"""What a certificate proves its claims by: weighted pairs of examples and rival classes; and the margin it claims."""

import math
from fractions import Fraction
from typing import Any, NamedTuple

from perceptrons.theory.in_words import plainly


class Margin(NamedTuple):
    """A bracket: this separator keeps `reached` from every example, and no other keeps more than `at_most`."""

    reached: float
    at_most: float


class Combination(NamedTuple):
    """Pairs (row, rival class) with positive weights that sum to 1."""

    rows: tuple[int, ...]
    labels: tuple[Any, ...]
    rivals: tuple[Any, ...]
    weights: tuple[Fraction, ...]

    def __repr__(self) -> str:
        parts = (f"{name}={plainly(value)}" for name, value in self._asdict().items())
        return f"Combination({', '.join(parts)})"

    @property
    def whole(self) -> list[int]:
        """Whole numbers in the proportion of the weights."""
        common = math.lcm(*(weight.denominator for weight in self.weights))
        return [weight.numerator * (common // weight.denominator) for weight in self.weights]
