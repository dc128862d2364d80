"""Tuning, comparison, calibration and thresholds: split the data, tune on a validation set, test once. See `recipe`."""

from perceptrons.data.splitting import Parts, parts_of
from perceptrons.selection.calibrating import calibrate
from perceptrons.selection.compare import Compared, Contender, compare
from perceptrons.selection.demonstrations import Demonstration, Moved, copied_features, too_correct
from perceptrons.selection.learners import LEARNERS, LeastSquares, size_of, usual_grid
from perceptrons.selection.recipe import Recipe, recipe
from perceptrons.selection.search import Setting
from perceptrons.selection.statistics import Interval, bootstrap, holm, mcnemar, swapping, wilson
from perceptrons.selection.test_set_ledger import OpenedBeforeError
from perceptrons.selection.thresholds import Threshold, choose_threshold

__all__ = [
    "LEARNERS",
    "Compared",
    "Contender",
    "Demonstration",
    "Interval",
    "LeastSquares",
    "Moved",
    "OpenedBeforeError",
    "Parts",
    "Recipe",
    "Setting",
    "Threshold",
    "bootstrap",
    "calibrate",
    "choose_threshold",
    "compare",
    "copied_features",
    "holm",
    "mcnemar",
    "parts_of",
    "recipe",
    "size_of",
    "swapping",
    "too_correct",
    "usual_grid",
    "wilson",
]
