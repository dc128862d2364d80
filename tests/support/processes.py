"""Programs that tests start and talk to: none outlives its test, or runs for ever."""

import subprocess
import threading
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
