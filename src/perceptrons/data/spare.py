"""Memory used again: fresh memory comes page by page from the system, which takes longer than to fill it."""

import sys
from typing import Any

import numpy as np

MOST = 24  # arrays kept by a thread
ALONE = 3  # references to an array that nobody uses: the list's, the loop's, and that of the call which counts
COUNTED = hasattr(sys, "getrefcount") and getattr(sys, "_is_gil_enabled", lambda: True)()


class Spare:
    """Arrays of one thread, taken again as soon as nobody has them, or a part of them, any more."""

    def __init__(self) -> None:
        self._arrays: list[np.ndarray] = []

    def take(self, size: int, dtype: Any) -> np.ndarray:
        """An array of at least this size; what is in it is undefined."""
        for array in self._arrays:
            if COUNTED and array.dtype == dtype and len(array) >= size and sys.getrefcount(array) == ALONE:
                return array
        array = np.empty(size, dtype)
        if len(self._arrays) < MOST:
            self._arrays.append(array)
        return array
