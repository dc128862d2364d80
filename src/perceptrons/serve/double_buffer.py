"""Double buffering: two copies of the model, one is read while the other learns, then they change places.

So readers never wait. Whatever one copy has learned the other learns too, from the same changes, so both are the same
to the bit. If a change is refused, cannot be logged, or runs out of memory, the copy that learned it is rebuilt from
the other one. If even that fails, nobody may use that copy any more: `RestoreError`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Condition

from perceptrons.serve.state import Change, State


class RestoreError(RuntimeError):
    """The copy that learns may be half-changed, and could not be rebuilt: the writer must end."""


class _Buffer:
    """A copy of the model, and how many readers use it now."""

    def __init__(self, state: State):
        self.state, self.n_readers = state, 0


class DoubleBuffer:
    """The copy that is read (front) and the one that learns (back). Only `reading` may be called by several threads."""

    def __init__(self, state: State):
        self._front, self._back = _Buffer(state.copied()), _Buffer(state)
        self._readers_changed = Condition()

    @contextmanager
    def reading(self) -> Iterator[State]:
        """Yield the published model, which does not change while the block runs."""
        buffer: _Buffer | None = None
        try:
            with self._readers_changed:
                buffer = self._front
                buffer.n_readers += 1
            yield buffer.state
        finally:
            if buffer is not None:
                with self._readers_changed:
                    buffer.n_readers -= 1
                    self._readers_changed.notify_all()

    @property
    def version(self) -> int:
        """The number of examples that the published model has learned."""
        return self._front.state.version

    @property
    def back(self) -> State:
        """The model that learns; nobody reads it."""
        return self._back.state

    def restore(self, changes: Sequence[Change] = ()) -> None:
        """Rebuild the back from the front and these changes. RestoreError if that fails."""
        try:
            state = self._front.state.copied()
            state.learn_all(changes)
        except Exception as error:
            raise RestoreError("The model that learns could not be rebuilt.") from error
        self._back.state = state

    def catch_up(self, changes: Sequence[Change]) -> None:
        """Let the back learn what the front has learned; if it cannot, it becomes a copy of the front."""
        try:
            self._back.state.learn_all(changes)
        except Exception:
            self.restore()

    def publish(self) -> None:
        """Let readers have the back; the front becomes the back when its last reader has left."""
        with self._readers_changed:
            self._front, self._back = self._back, self._front
        with self._readers_changed:
            self._readers_changed.wait_for(lambda: not self._back.n_readers)

    def replace(self, state: State) -> None:
        """Publish another model."""
        self._back.state = state
        self.publish()
        self.restore()
