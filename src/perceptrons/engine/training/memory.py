"""Estimates the memory of a model before it is allocated, to raise an error instead of being killed."""

import os
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

from perceptrons.engine.training.schemes import n_rows, table_size
from perceptrons.engine.wording import count

LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container
MAX_MEMORY_SHARE = 0.9  # of the memory that weights may take: the data and the program need some too
MOST_SCORES = 10_000_000  # kept while blocks are read: 80 MB of float64
LARGE_MODEL_BYTES = 2**30  # bytes of memory that a model takes without a warning
WARNING_STACKLEVEL = 5  # calls from `check_room` to whoever called `fit`
ALLOWED_BYTES_PER_FILE_BYTE = 1000  # bytes of memory that a model file may ask for, for each byte it has
MIN_ALLOWED_BYTES = (
    2**31
)  # bytes of memory that any model file may ask for: hashed features are many, and few of them have weights
LIMIT_VARIABLE = "PERCEPTRONS_MODEL_BYTES"  # of the environment: another limit instead of these two


class TooLargeError(ValueError):
    """A file asks for more memory than a file of its size may have."""


@cache
def memory() -> int:
    """Return the bytes of memory that this machine, or container, has."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else [2**63]
    for name in LIMITS:
        text = Path(name).read_text().strip() if os.access(name, os.R_OK) else ""
        limits += [int(text)] if text.isdecimal() and int(text) > 0 else []
    return min(limits)


class Size(NamedTuple):
    """What decides how much memory a linear model takes. weight_size: bytes of a weight, its average included."""

    scheme: str  # see schemes.py
    n_classes: int
    n_features: int
    weight_size: int

    @property
    def bytes(self) -> int:
        weights = n_rows(self.scheme, self.n_classes) * self.n_features * self.weight_size
        return weights + table_size(self.scheme, self.n_classes)

    def describe(self) -> str:
        rows = count(self.n_classes, "label") if self.scheme == "labels" else count(self.n_classes, "class", "classes")
        if self._by_pairs:
            rows = f"{n_rows('ovo', self.n_classes):,} pairs of {rows}"
        return f"{rows} × {count(self.n_features, 'feature')}"

    def advice(self) -> str:
        """What to do for a smaller model."""
        if self._by_pairs:
            return (
                'use multiclass="joint" or "ovr" (--multiclass), which have one row of weights per class, not per pair'
            )
        return "use fewer features (hash_bits, --hash-bits) or fewer classes"

    @property
    def _by_pairs(self) -> bool:
        return self.scheme == "ovo" and self.n_classes > 2


def check_room(size: Size, previous: Size | None = None) -> None:
    """Raise ValueError if a model of that size does not fit into memory, and warn if it is large.

    previous: its size before it grows. A model that was large before does not warn again.
    """
    if size.bytes > MAX_MEMORY_SHARE * memory():
        raise ValueError(
            f"A model of {size.describe()} would need about {format_bytes(size.bytes)} of memory, but this machine has "
            f"{format_bytes(memory())}. If the labels are right, {size.advice()}."
        )
    if size.bytes > LARGE_MODEL_BYTES and (previous is None or previous.bytes <= LARGE_MODEL_BYTES):
        warnings.warn(
            f"A model of {size.describe()} needs about {format_bytes(size.bytes)} of memory. "
            f"If that is too much, {size.advice()}.",
            stacklevel=WARNING_STACKLEVEL,
        )


def check_claim(n_bytes: int, file_bytes: int, name: str) -> None:
    """Raise TooLargeError if a file asks for more memory than a file of its size may. name: what needs it.

    A file of a few kilobytes can claim columns without number; whoever loads it did not choose them.
    """
    setting = os.environ.get(LIMIT_VARIABLE, "")
    allowed = min(
        int(setting) if setting.isdecimal() else max(MIN_ALLOWED_BYTES, ALLOWED_BYTES_PER_FILE_BYTE * file_bytes),
        int(MAX_MEMORY_SHARE * memory()),
    )
    if n_bytes > allowed:
        raise TooLargeError(
            f"{name} would need about {format_bytes(n_bytes)} of memory, but this file of {format_bytes(file_bytes)} "
            f"may take only {format_bytes(allowed)}. If you trust it, set {LIMIT_VARIABLE} to the number of bytes that "
            "it may take."
        )


def format_bytes(size: int) -> str:
    unit, name = next(((unit, name) for unit, name in ((1e9, "GB"), (1e6, "MB")) if size >= unit), (1e3, "kB"))
    return f"{size / unit:,.1f} {name}"
