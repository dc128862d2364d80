"""Margins, mistake bounds and proofs of linear separability that can be verified. Start with `separability`."""

from perceptrons.theory.bounds import Bound, Convergence, convergence, mistake_bound
from perceptrons.theory.certificate import Certificate, Combination, Margin
from perceptrons.theory.diagnose import diagnose
from perceptrons.theory.geometry import Margins, margins, project, radius, signed_distance, vector_projection
from perceptrons.theory.model_bound import Comparison, check_bound
from perceptrons.theory.separability import max_margin, separability
from perceptrons.theory.trace import Trace, Visit, trace

__all__ = [
    "Bound",
    "Certificate",
    "Combination",
    "Comparison",
    "Convergence",
    "Margin",
    "Margins",
    "Trace",
    "Visit",
    "check_bound",
    "convergence",
    "diagnose",
    "margins",
    "max_margin",
    "mistake_bound",
    "project",
    "radius",
    "separability",
    "signed_distance",
    "trace",
    "vector_projection",
]
