"""Programs that tests start and talk to: none outlives its test, or runs for ever. Conditions that tests wait for."""

import subprocess
import threading
import time
from contextlib import contextmanager

SECONDS = 300  # no program that a test starts takes as long, even on a busy machine


@contextmanager
def started(command, **options):
    """A running program. It is killed if the block fails, or if it is still running after a long time."""
    process = subprocess.Popen(command, **options)
    watch = threading.Timer(SECONDS, process.kill)
    watch.daemon = True
    watch.start()
    try:
        with process:
            try:
                yield process
            except BaseException:
                process.kill()
                raise
    finally:
        watch.cancel()


def wait_until(is_true, seconds=30):
    """Wait for a condition, as long as a busy machine may need for it; AssertionError if it does not come true."""
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, f"the condition was still false after {seconds} seconds"
        time.sleep(0.01)
