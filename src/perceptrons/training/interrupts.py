"""Ctrl-C between steps of learning, never within one: weights, votes and counters stay together."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

_holding: list["Uninterrupted"] = []  # those that hold Ctrl-C back now, the innermost last


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
                _holding.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if callable(self._handler):
            _holding.remove(self)
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


@contextmanager
def interruptible() -> Iterator[None]:
    """Within this block Ctrl-C is not held back by anybody: for waiting, as for what is read from a pipe."""
    if not _holding or threading.current_thread() is not threading.main_thread():
        yield
        return
    for held in reversed(_holding):
        held.let()
    before = signal.signal(signal.SIGINT, _holding[0]._handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
