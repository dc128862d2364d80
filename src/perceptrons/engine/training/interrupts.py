"""Signals between steps of learning, never within one: weights, votes and counters stay together.

A handler that raises, as that of Ctrl-C does, would otherwise run where a compiled function returns. numba then reports
a SystemError, or crashes.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

# Programs raise exceptions from handlers of these. Windows has only some of them.
NAMES = ("INT", "ALRM", "VTALRM", "PROF", "TERM", "HUP", "QUIT", "USR1", "USR2", "XCPU")
SIGNALS = tuple(getattr(signal, f"SIG{name}") for name in NAMES if hasattr(signal, f"SIG{name}"))

_holding: list["Uninterrupted"] = []  # blocks that hold signals back now, the innermost last


class Uninterrupted:
    """Holds signals back within the block. `let` answers them where the state is consistent, and so does the end.

    Only the main thread gets signals, and only there this does anything. Signals that no Python function handles are
    left as they are.
    """

    def __init__(self, active: bool = True) -> None:
        self._active = active and threading.current_thread() is threading.main_thread()
        self._received: dict[int, Any] = {}  # by signal, the arguments of its handler
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> "Uninterrupted":
        if self._active:
            handlers = {number: signal.getsignal(number) for number in SIGNALS}
            self._handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
            try:
                for number in self._handlers:
                    signal.signal(number, self._note)
                _holding.append(self)
            except MemoryError:  # the block is not entered
                self._restore_handlers()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._active:
            try:
                self._restore_handlers()
            except MemoryError:  # it may be repeated, and needs hardly any memory
                self._restore_handlers()
                raise
            if error is None:
                self.let()

    def _restore_handlers(self) -> None:
        if self in _holding:
            _holding.remove(self)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: Any) -> None:
        self._received[number] = number, frame

    def let(self) -> None:
        """Call the handlers of the signals that were received meanwhile."""
        while self._received:
            number, arguments = self._received.popitem()
            try:
                self._handlers[number](*arguments)
            finally:  # if it raises, the others are called all the same
                self.let()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let signals through within this block, for instance while waiting for data from a pipe."""
    if not _holding or threading.current_thread() is not threading.main_thread():
        yield
        return
    for block in reversed(_holding):
        block.let()
    handlers = {number: signal.signal(number, handler) for number, handler in _holding[0]._handlers.items()}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
