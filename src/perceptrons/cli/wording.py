"""What happened, in plain sentences; most of them are in `training/wording.py`, where the report finds them too."""

from typing import TYPE_CHECKING

from perceptrons.cli.files import is_kernel, several_labels
from perceptrons.training.wording import NOT_PROBABILITIES, best_epoch, settings, why_it_stopped

if TYPE_CHECKING:
    from perceptrons.cli.files import AnyModel

__all__ = ["NOT_PROBABILITIES", "apart", "best_epoch", "settings", "why_it_stopped"]


def apart(model: "AnyModel") -> str:
    """What to add to numbers that are sums over several binary problems."""
    n_rows = len(model.dual_coef_last_ if is_kernel(model) else model.coef_average_)
    joint = model.multiclass == "joint" and not several_labels(model)
    return "" if joint or n_rows == 1 else f" in {n_rows} problems together"
