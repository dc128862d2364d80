"""What no test may do: take all the time or all the memory, or leave another handler of Ctrl-C behind."""

import ctypes
import gc
import os
import signal
import sys

import pytest

from tests.support.compiler import megabytes

SECONDS = 1800  # no test is near it, even on a busy machine
CHECKED = os.environ.get("PERCEPTRONS_BOUNDSCHECK", "0") not in ("", "0")
MEGABYTES = 3000 if CHECKED else 1500  # of one process that runs tests; machine code with bounds checks is larger
GROWN = 10  # MB; from here on a look whether some of it is free is worth its time


def overdue(number, frame):
    raise TimeoutError(f"This test is still running after {SECONDS:,} seconds.")


def give_back():
    """Return free memory to the system: the allocators would keep it for later.

    In a large process, also what only cycles of references hold: a collection takes time there, but happens seldom.
    """
    if megabytes("VmRSS") > MEGABYTES / 2:
        gc.collect()
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
        if trim is not None:
            trim(0)


class Limits:
    """Ends a test that never would; fails one with which the process becomes too large, or that changes Ctrl-C."""

    def __init__(self):
        self._peak, self._size, self._grown = megabytes(), megabytes("VmRSS"), []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self):
        if not hasattr(signal, "setitimer"):  # Windows has none
            return (yield)
        before = signal.signal(signal.SIGALRM, overdue)
        signal.setitimer(signal.ITIMER_REAL, SECONDS, 60)  # and again: what cleans up may hang as well
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item):
        result = yield
        before, self._peak = self._peak, megabytes()
        self._grown.append((self._peak - before, item.nodeid))
        if before <= MEGABYTES < self._peak:
            pytest.fail(self.too_large())
        if megabytes("VmRSS") > self._size + GROWN:
            give_back()
            self._size = megabytes("VmRSS")
        handler = signal.getsignal(signal.SIGINT)
        if handler is not signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            pytest.fail(f"After this test, Ctrl-C is answered by {handler!r}: later tests would not be interrupted.")
        return result

    def too_large(self):
        hungry = sorted(self._grown, reverse=True)[:10]
        lines = [f"{grown:6,.0f} MB  {name}" for grown, name in hungry]
        return "\n".join(
            [f"The tests of this process took {self._peak:,.0f} MB; {MEGABYTES:,} are allowed. Most came with:", *lines]
        )
