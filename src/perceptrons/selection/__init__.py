"""The recipe and the comparison: split, tune on development data, test once. Start with `recipe`."""

from perceptrons.selection.grids import usual_grid
from perceptrons.selection.interval import Interval, bootstrap, mcnemar, wilson
from perceptrons.selection.recipe import Recipe, recipe
from perceptrons.selection.seal import OpenedBeforeError
from perceptrons.selection.search import Setting
from perceptrons.selection.splitting import Parts, parts_of

__all__ = [
    "Interval",
    "OpenedBeforeError",
    "Parts",
    "Recipe",
    "Setting",
    "bootstrap",
    "mcnemar",
    "parts_of",
    "recipe",
    "usual_grid",
    "wilson",
]
