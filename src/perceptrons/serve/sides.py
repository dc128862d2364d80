"""Two copies of the model, so that readers never wait: one is read while the other learns, then they change places.

Whatever one side has learned the other learns too, from the same changes, so both are the same to the bit. If a change
is refused, cannot be logged, or runs out of memory, the side that learned it is made again from the other one. If even
that fails, nobody may use that side any more: `RestoreError`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Condition

from perceptrons.serve.state import Change, State


class RestoreError(RuntimeError):
    """The side that learns may be half-changed, and could not be made again: the writer must end."""


class Side:
    """A copy of the model, and how many readers use it now."""

    def __init__(self, state: State):
        self.state, self.readers = state, 0


class Sides:
    """The side that is read (front) and the one that learns (back). Only one thread may call what is not `reading`."""

    def __init__(self, state: State):
        self._front, self._back = Side(state.copied()), Side(state)
        self._changed = Condition()

    @contextmanager
    def reading(self) -> Iterator[State]:
        """The published model, which does not change while the block runs."""
        side: Side | None = None
        try:
            with self._changed:
                side = self._front
                side.readers += 1
            yield side.state
        finally:
            if side is not None:
                with self._changed:
                    side.readers -= 1
                    self._changed.notify_all()

    @property
    def version(self) -> int:
        """The number of examples that the published model has learned."""
        return self._front.state.version

    @property
    def back(self) -> State:
        """The model that learns; nobody reads it."""
        return self._back.state

    def restore(self, changes: Sequence[Change] = ()) -> None:
        """Make the back again: the front, and these changes. RestoreError if that fails."""
        try:
            state = self._front.state.copied()
            state.learn_all(changes)
        except Exception as error:
            raise RestoreError("The model that learns could not be made again.") from error
        self._back.state = state

    def catch_up(self, changes: Sequence[Change]) -> None:
        """Let the back learn what the front has learned; if it cannot, it becomes a copy of the front."""
        try:
            self._back.state.learn_all(changes)
        except Exception:
            self.restore()

    def publish(self) -> None:
        """Let readers have the back; the front becomes the back when its last reader has left."""
        with self._changed:
            self._front, self._back = self._back, self._front
        with self._changed:
            self._changed.wait_for(lambda: not self._back.readers)

    def replace(self, state: State) -> None:
        """Publish another model."""
        self._back.state = state
        self.publish()
        self.restore()
