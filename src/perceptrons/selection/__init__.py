"""The recipe and the comparison: split, tune on development data, test once. Start with `recipe`."""

from perceptrons.selection.compare import compare
from perceptrons.selection.compared import Compared, Contender
from perceptrons.selection.demonstrations import Demonstration, Moved, copied_features, too_correct
from perceptrons.selection.grids import usual_grid
from perceptrons.selection.holm import holm
from perceptrons.selection.interval import Interval, bootstrap, mcnemar, swapping, wilson
from perceptrons.selection.recipe import Recipe, recipe
from perceptrons.selection.relatives import LEARNERS, LeastSquares
from perceptrons.selection.seal import OpenedBeforeError
from perceptrons.selection.search import Setting
from perceptrons.selection.sizes import size_of
from perceptrons.selection.splitting import Parts, parts_of

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
    "bootstrap",
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
