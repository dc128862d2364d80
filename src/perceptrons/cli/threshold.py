"""Fits a threshold and probabilities on held-out training data."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.inputs import SHARE
from perceptrons.cli.parameters import by_class, file_of, read_by_class
from perceptrons.cli.screen import metric_text, plain

if TYPE_CHECKING:
    from perceptrons.data import Table
    from perceptrons.selection import Threshold
    from perceptrons.selection.splitting import SplitMethod

COST = "cost:"


def is_chosen(asked: Any) -> bool:
    """Is the threshold to be chosen on examples?"""
    return isinstance(asked.threshold, str)


def wants_held(asked: Any) -> bool:
    """Are training examples held out, for a threshold or for probabilities?"""
    return is_chosen(asked) or asked.probabilities is not None


def held_for(asked: Any) -> str:
    """The option that examples are held out for."""
    return f"--threshold {plain(asked.threshold)}" if is_chosen(asked) else f"--probabilities {asked.probabilities}"


def check_threshold(asked: Any) -> None:
    """Refuse what does not go with a threshold that is chosen or with probabilities, before any work is done."""
    if asked.probabilities is not None and asked.folds is not None:
        raise BadInputError("--probabilities cannot be combined with --folds: leave one of them out.")
    if not is_chosen(asked):
        return
    if asked.folds is not None:
        raise BadInputError(f"--threshold {plain(asked.threshold)} cannot be combined with --folds: give a number.")
    wanted_by(asked)


def wanted_by(asked: Any) -> Any:
    """The name of a metric, or costs, still by the keys of JSON."""
    if not asked.threshold.startswith(COST):
        return asked.threshold
    return read_by_class("--threshold", asked.threshold.removeprefix(COST))


def cost_file(asked: Any) -> Any:
    """The file that the costs are in, if they are in one."""
    return file_of(asked.threshold.removeprefix(COST)) if is_chosen(asked) and COST in asked.threshold else None


def held_for_threshold(table: "Table", asked: Any) -> tuple["Table", "Table | None"]:
    """What to learn from, and what to choose the threshold on and to calibrate on; None: neither is asked for."""
    from perceptrons.selection import parts_of

    if not wants_held(asked):
        return table, None
    y = table.label_sets if table.several else table.y
    split: SplitMethod | None = "time" if asked.time_order else None
    try:
        parts = parts_of(table.X, y, dev=SHARE, test=0, split=split, keys=table.keys, random_state=asked.seed)
    except ValueError as error:
        raise BadInputError(
            f"{held_for(asked)}: there are too few training examples to hold some out: "
            f"{'give a number' if is_chosen(asked) else 'leave it out'}."
        ) from error
    assert parts.train.rows is not None
    assert parts.dev.rows is not None
    return table.part(parts.train.rows), table.part(parts.dev.rows)


@contextmanager
def stream_for_threshold(source: Any, asked: Any) -> Iterator[Any]:
    """The same of a stream."""
    from perceptrons.data.held_out import without_test

    seed = asked.seed + 1  # with the seed of the test set, only examples that it left would be considered
    with without_test(source, SHARE if wants_held(asked) else 0.0, seed, measured=True) as rest:
        yield rest


def set_threshold(model: Any, held: "Table | None", asked: Any) -> "Threshold | None":
    """Give the model the threshold that was asked for; how it was chosen, if it was."""
    if asked.threshold is None:
        return None
    with refusing(ValueError, TypeError, about=f"--threshold {plain(asked.threshold)}"):
        if held is None or not is_chosen(asked):
            model.threshold_ = asked.threshold
            return None
        from perceptrons.selection import choose_threshold

        return choose_threshold(model, held.X, held.y, by_labels(model, asked))


def set_threshold_on_stream(model: Any, rest: Any, asked: Any) -> "Threshold | None":
    """The same after a stream."""
    if not is_chosen(asked):
        return set_threshold(model, None, asked)
    from perceptrons.selection.thresholds import choose_on_blocks

    with refusing(ValueError, TypeError, about=f"--threshold {plain(asked.threshold)}"):
        return choose_on_blocks(model, rest.test(model.n_features_in_), by_labels(model, asked))


def set_probabilities(model: Any, held: "Table | None", asked: Any) -> None:
    """Calibrate the model on the examples held out, if that was asked for; it says so in its parameters, too."""
    if asked.probabilities is None:
        return
    from perceptrons.selection import calibrate

    assert held is not None
    with refusing(ValueError, TypeError, about=held_for(asked)):
        calibrate(model, held.X, held.y, str(asked.probabilities), held.weight)
    model.probability = str(asked.probabilities)


def set_probabilities_on_stream(model: Any, rest: Any, asked: Any) -> None:
    """The same after a stream."""
    if asked.probabilities is None:
        return
    from perceptrons.selection.calibrating import calibrate_on_blocks

    with refusing(ValueError, TypeError, about=held_for(asked)):
        calibrate_on_blocks(model, rest.test(model.n_features_in_), str(asked.probabilities))
    model.probability = str(asked.probabilities)


def by_labels(model: Any, asked: Any) -> Any:
    """A metric, or costs by the classes of a model."""
    return by_class(wanted_by(asked), {str(label): label for label in model.classes_.tolist()})


def in_words(model: Any, chosen: "Threshold | None") -> str:
    """Threshold 0.25: spam at or above it. Chosen by f1 on 200 held-out training examples: 71.2% (60.1% without it)."""
    from perceptrons.modelfile.summary import threshold_in_words

    said = f"Threshold {threshold_in_words(model)}"
    if chosen is None:
        return said
    with_it, without = (metric_text(chosen.metric, value) for value in (chosen.score, chosen.before))
    return f"{said}. Chosen by {chosen.metric} on {chosen.n:,} held-out examples: {with_it} ({without} without it)"
