"""Checkpoints that say what they go on from."""

from typing import Any

from perceptrons.cli.screen import count
from perceptrons.cli.stream.progress import Watching
from perceptrons.modelfile.checkpoint import Checkpoint
from perceptrons.training.places import check_place


class SpokenCheckpoint(Checkpoint):
    """A checkpoint of the command line. quiet: it says nothing after all."""

    kind = "blocks"  # what the place of such a run says

    def __init__(self, path: Any, every: float, resume: bool, watching: Watching, quiet: bool):
        super().__init__(path, every, resume)
        self._watching, self._quiet = watching, quiet

    @classmethod
    def asked(cls, order: Any, watching: Watching) -> "SpokenCheckpoint":
        """As the user asked for it."""
        asked = order.asked
        every = 60.0 if asked.every is None else asked.every
        return cls(asked.checkpoint, every, asked.resume, watching, order.quiet)

    def begin(self, model: Any) -> dict[str, Any] | None:
        place = super().begin(model)
        if place is not None and self.kind not in place:
            return place  # of another kind of run, which is refused
        if place is not None:
            self._check(model, place)
            self._watching.go_on()
        if self.resume and not self._quiet:
            self._watching.notices = self._found(model, place)
        return place

    def _check(self, model: Any, place: dict[str, Any]) -> None:
        """Raise ValueError for a place that nothing can be said of."""
        check_place(place, model.history_)

    def _found(self, model: Any, place: dict[str, Any] | None) -> list[str]:
        if place is None:
            return [f"{self.path}: there is no checkpoint yet: beginning at the beginning."]
        lines = [f"{complaint} The one before it, {self.before.name}, is used." for complaint in self.complaints]
        if not self.complaints and not self.path.exists():
            lines = [f"{self.path}: is missing: the one before it, {self.before.name}, is used."]
        if place["done"]:
            return [*lines, f"The checkpoint is of the end of {count(place['epoch'], 'epoch')}."]
        done = model.history_[-1]["examples"] if model.history_ and place["blocks"] else 0
        return [*lines, f"Going on in epoch {place['epoch']}, after {count(done, 'example')} of it."]
