"""The cross-validation of `perceptrons train --folds K`, before it trains on all data."""

from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.screen import Waiting, metric_text

if TYPE_CHECKING:
    from perceptrons.data import Table
    from perceptrons.inspection.evaluation import Quality


def check_folds(asked: Any) -> None:
    """Refuse what does not go with folds."""
    if asked.folds is None:
        if asked.metric.value != "accuracy":
            raise BadInputError(f"--metric {asked.metric.value} is for folds: also give --folds K.")
        return
    if asked.dask is not None or asked.workers is not None:
        chosen = "--dask" if asked.dask is not None else "--workers"
        raise BadInputError(
            f"--folds cannot be combined with {chosen}: it needs all data in the memory of one process."
        )
    if asked.in_memory == 0:
        raise BadInputError("--folds needs all data in memory, which --in-memory 0 forbids: leave one of them out.")
    if asked.test_share:
        raise BadInputError("--folds and --test-share cannot be combined: every fold is a test set.")


def over_folds(model: Any, table: "Table", asked: Any, n_folds: int | None) -> list["Quality"]:
    """How good models like this one are on each fold; [] if there are none."""
    if n_folds is None:
        return []
    from perceptrons.selection.search import cross_validate

    assert table.y is not None
    found = []
    number = asked.threshold if isinstance(asked.threshold, float) else None
    shown_here = not (asked.quiet or asked.json)
    with Waiting("Training ...", shown=shown_here) as waiting, refusing(ValueError, TypeError, about="--folds"):
        told = cross_validate(model, table.X, table.y, n_folds, seed=asked.seed, weight=table.weight, threshold=number)
        for quality in told:
            found.append(quality)
            waiting.say(f"Fold {len(found)} of {n_folds}: accuracy {metric_text('accuracy', quality.accuracy)} ...")
    return found


def folds_for_machines(folds: list["Quality"]) -> list[dict[str, Any]]:
    """Every metric on every fold."""
    return [{"examples": quality.total, **quality.metrics()} for quality in folds]


def folds_in_words(folds: list["Quality"], metric: str, ascii_only: bool = False) -> str:
    """5 folds, mean ± standard deviation: accuracy 93.1% ± 1.2%, ROC AUC 0.981 ± 0.004."""
    from perceptrons.inspection.metrics import METRICS

    parts, give_or_take = [], "+-" if ascii_only else "±"
    for name in dict.fromkeys(["accuracy", metric]):
        values = [value for quality in folds if (value := quality.metrics()[name]) is not None]
        if len(values) < 2:
            parts.append(f"{METRICS[name].title} not defined on these folds")
            continue
        spread = metric_text(name, stdev(values))
        parts.append(f"{METRICS[name].title} {metric_text(name, mean(values))} {give_or_take} {spread}")
    return f"{len(folds)} folds, mean {give_or_take} standard deviation: {', '.join(parts)}"
