"""Where a run stopped, as its checkpoint says it: anybody may have written it, so it is checked before it is used."""

from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, get_args

import numpy as np

COUNTED = 2**62  # larger than any count; adding this much still fits in 64 bits
Mixing = Literal["mistakes", "uniform"]
MIXINGS = get_args(Mixing)  # how shards of a cluster are mixed


class Keeper(Protocol):
    """Where checkpoints go: `perceptrons.Checkpoint`."""

    def alone(self) -> AbstractContextManager[None]:
        """While the block runs, no other run may write checkpoints there."""

    def begin(self, model: Any) -> dict[str, Any] | None:
        """If there is a checkpoint to resume from, restore the model, and return the place."""

    def due(self) -> bool:
        """Is it time for another?"""

    def write(self, model: Any, place: dict[str, Any]) -> None:
        """Write the model and how far it has come; whole or not at all."""


def nowhere(path: str) -> ValueError:
    """The error for a checkpoint whose place makes no sense."""
    return ValueError(f"{path}: the checkpoint does not record its place in the stream: remove it, and start again.")


def check_place(place: dict[str, Any], history: list[dict[str, Any]]) -> None:
    """Raise ValueError for a place that no run can have stopped at: blocks are looked up by its order."""
    epoch, blocks, order, marks = (place.get(name, "") for name in ("epoch", "blocks", "order", "marks"))
    whole = all(type(number) is int and 0 <= number < COUNTED for number in (epoch, blocks))
    ordered = order is None or (
        isinstance(order, list)
        and all(type(number) is int for number in order)
        and sorted(order) == list(range(len(order)))
        and whole
        and blocks <= len(order)
    )
    pairs = isinstance(marks, list) and all(
        isinstance(mark, list) and len(mark) == 2 and all(type(n) is int and 0 <= n < COUNTED for n in mark)
        for mark in marks
    )
    average, flags = place.get("average"), (place.get("done"), place.get("complete", False))
    sound = average is None or (isinstance(average, np.ndarray) and average.dtype == np.float64)
    sound = sound and all(isinstance(flag, bool) for flag in flags)
    if not (whole and ordered and pairs and sound and (history or not blocks)):
        raise nowhere(place["path"])


def difference(then: Any, now: Any) -> str:
    """Why training cannot resume from a checkpoint: other files, changed files, or another way to read them."""
    if then is None or now is None:
        return "this run was started with files, but now blocks come from elsewhere, or the other way round"
    (files, *_, asked), (others, *_, asks) = then, now
    if [name for name, *_ in files] != [name for name, *_ in others]:
        return (
            f"this run was started with other files, {', '.join(name for name, *_ in files)[:200] or 'standard input'}"
        )
    changed = [name for (name, *was), (_, *is_) in zip(files, others, strict=True) if was != is_]
    if changed:
        return f"{changed[0]} has changed since the run was started"
    options = [name for name in sorted({*asked, *asks}) if asked.get(name) != asks.get(name)]
    return f"this run was started with other options for reading ({', '.join(options)})"


def check_mixed_place(place: dict[str, Any]) -> None:
    """Raise ValueError for a place that no run on a cluster can have stopped at."""
    shards, orders = place.get("shards"), place.get("orders")
    counted = type(shards) is int and isinstance(orders, list) and len(orders) == shards > 0
    if not (counted and place.get("mixing") in MIXINGS and isinstance(place.get("done"), bool)):
        raise nowhere(place["path"])
    generator = np.random.default_rng(0).bit_generator
    for state in orders or ():
        try:
            generator.state = state
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
            raise nowhere(place["path"]) from error
