"""Plots of models and training, in the style of scikit-learn's displays. Start with `BoundaryDisplay`."""

try:
    import jinja2  # noqa: F401 (only to say what is missing)
    import matplotlib  # noqa: F401
except ImportError as error:  # pragma: no cover (the tests have both)
    raise ImportError('perceptrons.plots needs matplotlib and jinja2: pip install "perceptrons[plots]"') from error
except OSError as error:  # matplotlib could write neither to the user's home nor to a temporary folder
    message = "needs a folder that it can write to; set MPLCONFIGDIR to one"
    raise OSError(error.errno, message, "matplotlib") from error

from perceptrons.plots.animation import BoundaryAnimation
from perceptrons.plots.boundary import BoundaryDisplay
from perceptrons.plots.curves import CurvesDisplay
from perceptrons.plots.feature_weights import WeightsDisplay
from perceptrons.plots.history import HistoryDisplay
from perceptrons.plots.loss_curves import LossesDisplay
from perceptrons.plots.margins import MarginsDisplay
from perceptrons.plots.path import PathDisplay
from perceptrons.plots.sklearn_displays import calibration, calibration_of, confusion, confusion_of
from perceptrons.plots.style import picture

__all__ = [
    "BoundaryAnimation",
    "BoundaryDisplay",
    "CurvesDisplay",
    "HistoryDisplay",
    "LossesDisplay",
    "MarginsDisplay",
    "PathDisplay",
    "WeightsDisplay",
    "calibration",
    "calibration_of",
    "confusion",
    "confusion_of",
    "picture",
]
