"""Theory that checks itself: margins, mistake bounds, separability with proof. Start with `separability`."""

from perceptrons.theory.certificate import Certificate, Combination, Margin
from perceptrons.theory.separability import max_margin, separability

__all__ = ["Certificate", "Combination", "Margin", "max_margin", "separability"]
