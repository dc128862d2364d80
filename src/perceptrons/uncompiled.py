"""What stands in for numba where it is not installed: decorators that leave functions as they are.

The loops then run as plain Python, as with NUMBA_DISABLE_JIT=1. What prediction needs of them has a NumPy version in
`vectorised/`, which `compiling.without_numba` puts in their place.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

config = SimpleNamespace(DISABLE_JIT=True, CACHE_DIR="")
event = SimpleNamespace(Listener=object, register=lambda kind, listener: None)  # nothing is ever compiled
cgutils = ir = rtsys = types = None  # named only in code that numba compiles


class FunctionCache:
    """The base of a cache that nobody asks for."""


class NullCache:
    """The base of a cache that nobody asks for."""


__version__ = "0"


def njit(**options: Any) -> Callable[[Any], Any]:
    """A decorator that changes nothing."""
    return _unchanged


def overload(function: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator that changes nothing: the function's own body is what runs."""
    return _unchanged


def intrinsic(function: Any) -> Any:
    return function


def _unchanged(function: Any) -> Any:
    return function
