"""Checkpoints of the mixed weights that say what they go on from."""

from typing import Any

from perceptrons.cli.stream.keeping import SpokenCheckpoint
from perceptrons.training.places import check_mixed_place


class MixedCheckpoint(SpokenCheckpoint):
    """A checkpoint between two epochs."""

    kind = "orders"

    def _check(self, model: Any, place: dict[str, Any]) -> None:
        check_mixed_place(place)

    def _found(self, model: Any, place: dict[str, Any] | None) -> list[str]:
        if place is None:
            return super()._found(model, place)
        n = len(model.history_)
        *complaints, end = super()._found(model, place | {"epoch": n, "done": True})
        return [*complaints, end if place["done"] else f"Going on with epoch {n + 1}."]
