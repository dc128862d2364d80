"""What happened, in plain sentences; most of them are in `training/wording.py`, where the report finds them too."""

from typing import TYPE_CHECKING

from perceptrons.cli.files import is_kernel, several_labels
from perceptrons.training.wording import NOT_PROBABILITIES, best_epoch, settings, why_it_stopped

if TYPE_CHECKING:
    from perceptrons.cli.files import AnyModel

__all__ = ["NOT_PROBABILITIES", "apart", "best_epoch", "settings", "tested", "why_it_stopped"]


def apart(model: "AnyModel") -> str:
    """What to add to numbers that are sums over several binary problems."""
    n_rows = len(model.dual_coef_last_ if is_kernel(model) else model.coef_average_)
    joint = model.multiclass == "joint" and not several_labels(model)
    return "" if joint or n_rows == 1 else f" in {n_rows} problems together"


def tested(model: "AnyModel") -> str:
    """How good a model that was tuned was on its test examples, and whether it still is that model."""
    told = model.recipe_
    found = f"{told['settings_tried']:,} settings tried, {told['dev_score']:.4f} on development examples"
    since = "" if model.t_ == told["examples_seen"] else "; it has learned on since, so that this is of a model before"
    if told["test_score"] is None:
        return f"{told['metric']}: {found}; no test{since}"
    low, high = told["test_interval"]["low"], told["test_interval"]["high"]
    again = ""
    if told["looks"] > 1:
        again = f"; FORCED: these were looked at {told['looks']:,} times, so that the figure may flatter"
    on = f"{told['sizes']['test']:,} example{'s' * (told['sizes']['test'] != 1)} held out"
    return f"{told['metric']} {told['test_score']:.4f} ({low:.4f} to {high:.4f}) on {on}{again}{since} ({found})"
