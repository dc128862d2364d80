"""The memory of this process. Nothing else is imported here, so that a process can measure a peer that needs little."""

import resource
from pathlib import Path

MB = 2**20


def resident() -> int:
    """Bytes of this process that are in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def highest() -> int:
    """The most it had; not ru_maxrss, which a process inherits from the one that started it."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024
