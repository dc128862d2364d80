"""What no test may take: all the time, or all the memory."""

import signal

import pytest

from tests.compiler import peak

SECONDS = 1800  # no test is near it, even on a busy machine
MEGABYTES = 1500  # of one process that runs tests


def overdue(number, frame):
    raise TimeoutError(f"This test is still running after {SECONDS:,} seconds.")


class Limits:
    """Ends a test that never would, and fails the one with which the process becomes too large."""

    def __init__(self):
        self._peak, self._grown = peak(), []

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
        before, self._peak = self._peak, peak()
        self._grown.append((self._peak - before, item.nodeid))
        if before <= MEGABYTES < self._peak:
            pytest.fail(self.too_large())
        return result

    def too_large(self):
        hungry = sorted(self._grown, reverse=True)[:10]
        lines = [f"{grown:6,.0f} MB  {name}" for grown, name in hungry]
        return "\n".join(
            [f"The tests of this process took {self._peak:,.0f} MB; {MEGABYTES:,} are allowed. Most came with:", *lines]
        )
