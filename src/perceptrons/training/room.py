"""How much memory a model will take, asked before it is taken: a process that the system kills says nothing."""

import os
from functools import cache
from pathlib import Path

LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container
SHARE = 0.9  # of the memory that weights may take: the data and the program need some too
FACTOR = 1000  # bytes of memory that a model file may ask for, for each byte it has
LEAST = 2**31  # bytes of memory that any model file may ask for: hashed features are many, and few of them have weights
VARIABLE = "PERCEPTRONS_MODEL_BYTES"  # of the environment: another limit instead of these two


class TooLargeError(ValueError):
    """A file asks for more memory than a file of its size may have."""


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


def check_claim(wanted: int, stored: int, what: str) -> None:
    """Raise TooLargeError if a file of `stored` bytes asks for more memory than it may. what: that needs so many bytes.

    A file of a few kilobytes can claim columns without number; whoever loads it did not choose them.
    """
    chosen = os.environ.get(VARIABLE, "")
    allowed = min(int(chosen) if chosen.isdecimal() else max(LEAST, FACTOR * stored), int(SHARE * memory()))
    if wanted > allowed:
        raise TooLargeError(
            f"{what} would need about {_in_words(wanted)} of memory, and this file of {_in_words(stored)} may take "
            f"{_in_words(allowed)}. If you trust it, set {VARIABLE} to the number of bytes that it may take."
        )


def _in_words(size: int) -> str:
    unit, name = next(((unit, name) for unit, name in ((1e9, "GB"), (1e6, "MB")) if size >= unit), (1e3, "kB"))
    return f"{size / unit:,.1f} {name}"
