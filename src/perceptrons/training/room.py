"""How much memory weights will take, asked before it is taken: a process that the system kills says nothing."""

import os
from functools import cache
from pathlib import Path

LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container
SHARE = 0.9  # of the memory that weights may take: the data and the program need some too


@cache
def memory() -> int:
    """The bytes of memory that this machine, or container, has."""
    known = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else [2**63]
    for name in LIMITS:
        text = Path(name).read_text().strip() if os.access(name, os.R_OK) else ""
        known += [int(text)] if text.isdecimal() and int(text) > 0 else []
    return min(known)


def check_room(n_rows: int, n_features: int, weight_size: int) -> None:
    """Raise ValueError if weights of that shape do not fit. weight_size: bytes for each, with its average."""
    wanted = n_rows * n_features * weight_size
    if wanted > SHARE * memory():
        raise ValueError(
            f"The weights of {n_rows:,} classes or problems × {n_features:,} features would need about "
            f"{wanted / 1e9:,.1f} GB, and this machine has {memory() / 1e9:,.1f} GB. If the labels are right, "
            "use fewer features (hash_bits, --hash-bits) or fewer classes."
        )
