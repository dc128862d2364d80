"""Ctrl-C between steps of learning, never within one: weights, votes and counters stay together."""

import signal
import threading
from types import TracebackType
from typing import Any


class Uninterrupted:
    """Holds Ctrl-C back within the block; `let` it through where everything is in order, and so does the end.

    Only the main thread gets Ctrl-C, and only there this does anything.
    """

    def __init__(self, active: bool = True) -> None:
        self._active = active and threading.current_thread() is threading.main_thread()
        self._came: Any = None
        self._handler: Any = None

    def __enter__(self) -> "Uninterrupted":
        if self._active:
            self._handler = signal.getsignal(signal.SIGINT)
            if callable(self._handler):
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if callable(self._handler):
            signal.signal(signal.SIGINT, self._handler)
            if error is None:
                self.let()

    def _note(self, *arguments: Any) -> None:
        self._came = arguments

    def let(self) -> None:
        """If Ctrl-C came meanwhile, do now what it would have done then."""
        if self._came is not None:
            came, self._came = self._came, None
            self._handler(*came)
