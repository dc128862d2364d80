"""The place in a stream where a run stopped. It is checked before use, because anybody may have written the file."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

import numpy as np

MAX_COUNT = 2**62  # larger than any count; adding this much still fits in 64 bits
Mixing = Literal["mistakes", "uniform"]
MIXINGS = get_args(Mixing)  # how shards of a cluster are mixed


@dataclass
class StreamPosition:
    """Where a run is in its stream."""

    epoch: int = 0
    n_blocks: int = 0  # learned in this epoch
    order: list[int] | None = None  # the order of the blocks in this epoch
    marks: list[tuple[int, int]] = field(default_factory=list)  # examples and mistakes after 1, 2, 4, ... examples
    is_done: bool = False
    has_mistakes: bool = False  # did weights that were never updated in this epoch predict an example wrongly?
    average: np.ndarray | None = None  # at the end of the last epoch

    def to_dict(self) -> dict[str, Any]:
        """Return the position as a checkpoint stores it."""
        return {
            "epoch": self.epoch, "blocks": self.n_blocks, "order": self.order, "marks": self.marks,
            "done": self.is_done, "wrong": self.has_mistakes, "average": self.average,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, place: dict[str, Any]) -> "StreamPosition":
        """Return the position that a checkpoint stores; see `check_place`."""
        marks = [(int(examples), int(mistakes)) for examples, mistakes in place["marks"]]
        has_mistakes = bool(place.get("wrong"))  # not in every old checkpoint
        average = place.get("average")
        return cls(place["epoch"], place["blocks"], place["order"], marks, place["done"], has_mistakes, average)


class CheckpointWriter(Protocol):
    """The interface of `perceptrons.Checkpoint`."""

    def alone(self) -> AbstractContextManager[None]:
        """Let no other run write checkpoints there within the block."""

    def begin(self, model: Any) -> dict[str, Any] | None:
        """If there is a checkpoint to resume from, restore the model, and return the place."""

    def due(self) -> bool:
        """Return whether it is time for another checkpoint."""

    def write(self, model: Any, place: dict[str, Any]) -> None:
        """Write the model and the place, completely or not at all."""


def invalid_place(path: str) -> ValueError:
    return ValueError(f"{path}: the checkpoint does not record its place in the stream: remove it, and start again.")


def check_place(place: dict[str, Any], history: list[dict[str, Any]]) -> None:
    """Raise ValueError for a place that no run can have stopped at: its order is an index of blocks."""
    epoch, blocks, order, marks = (place.get(name, "") for name in ("epoch", "blocks", "order", "marks"))
    average = place.get("average")
    is_valid = (
        _are_counts([epoch, blocks], 2)
        and (order is None or (_are_counts(order, None) and sorted(order) == list(range(len(order))) and
                               blocks <= len(order)))
        and isinstance(marks, list) and all(_are_counts(mark, 2) for mark in marks)
        and (average is None or (isinstance(average, np.ndarray) and average.dtype == np.float64))
        and isinstance(place.get("done"), bool) and isinstance(place.get("complete", False), bool)
        and (history or not blocks)
    )  # fmt: skip
    if not is_valid:
        raise invalid_place(place["path"])


def _are_counts(numbers: Any, length: int | None) -> bool:
    """Return whether this is a list of counts: whole numbers that are not negative. length: None for any."""
    if not isinstance(numbers, list) or length not in (None, len(numbers)):
        return False
    return all(type(number) is int and 0 <= number < MAX_COUNT for number in numbers)


def difference(old: Any, new: Any) -> str:
    """Return why training cannot resume: other files, changed files, or another way to read them."""
    if old is None or new is None:
        return "this run was started with files, but now blocks come from elsewhere, or the other way round"
    (old_files, *_, old_options), (new_files, *_, new_options) = old, new
    if [name for name, *_ in old_files] != [name for name, *_ in new_files]:
        names = ", ".join(name for name, *_ in old_files)[:200] or "standard input"
        return f"this run was started with other files, {names}"
    changed = [file[0] for file, now in zip(old_files, new_files, strict=True) if [*file[1:]] != [*now[1:]]]
    if changed:
        return f"{changed[0]} has changed since the run was started"
    options = [name for name in sorted({*old_options, *new_options}) if old_options.get(name) != new_options.get(name)]
    return f"this run was started with other options for reading ({', '.join(options)})"


def check_mixed_place(place: dict[str, Any]) -> None:
    """Raise ValueError for a place that no run on a cluster can have stopped at."""
    shards, orders = place.get("shards"), place.get("orders")
    has_orders = type(shards) is int and isinstance(orders, list) and len(orders) == shards > 0
    if not (has_orders and place.get("mixing") in MIXINGS and isinstance(place.get("done"), bool)):
        raise invalid_place(place["path"])
    generator = np.random.default_rng(0).bit_generator
    for state in orders or ():
        try:
            generator.state = state
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
            raise invalid_place(place["path"]) from error
