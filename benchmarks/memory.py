"""The memory of a process. Nothing else is imported here, so that a process can measure a peer that needs little."""

import resource
from pathlib import Path

MB = 2**20


def resident(process: int | str = "self") -> int:
    """Bytes of a process, by default this one, that are in memory now."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()


def highest(process: int | str = "self") -> int:
    """The most it had; not ru_maxrss, which a process inherits from the one that started it. 0 if it has ended."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return int(status.get("VmHWM", "0 kB").split()[0]) * 1024
