"""How the loops are compiled: one set of numba's options for all of them, and whether machine code is cached.

Python calls functions that are `compiled` or `exact`; numba caches their machine code. Functions that are `inner` or
`inlined` are called by compiled functions, and become parts of their machine code. Called from Python, they are plain
Python functions. `overload_inlined` compiles a verb of `rows.py` according to the type of its arguments.
"""

import os
from typing import Any

from numba import config, njit
from numba.extending import overload, register_jitable

__all__ = ["IS_CACHED", "compiled", "exact", "inlined", "inner", "overload_inlined"]

# For tests: every index of compiled code is checked, and a wrong one raises IndexError. NUMBA_BOUNDSCHECK would leave
# overloads out. numba's cache does not know this option, so checked code has a folder of its own.
IS_CHECKED = os.environ.get("PERCEPTRONS_BOUNDSCHECK", "0") not in ("", "0")
if IS_CHECKED and config.CACHE_DIR:
    config.CACHE_DIR = os.path.join(config.CACHE_DIR, "bounds-checked")


def _has_cache_folder() -> bool:
    """Return whether numba finds a folder for its cache.

    It tries NUMBA_CACHE_DIR, the folder of the source, and the user's cache folder. A user without a home folder, as in
    some containers, has none: numba would take ./~/.cache, and load code from wherever the process started.
    """
    if IS_CHECKED and not config.CACHE_DIR:
        return False
    source = os.path.dirname(__file__)
    beside = os.path.join(source, "__pycache__")
    has_home = os.path.isabs(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~")))
    if not (config.CACHE_DIR or has_home or os.access(beside if os.path.isdir(beside) else source, os.W_OK)):
        return False
    try:
        njit(cache=True)(_has_cache_folder)
    except RuntimeError:  # none of the folders can be written
        return False
    return True


IS_CACHED = _has_cache_folder()

# No function is passed to another one as an argument, which numba would compile a second entry point for.
_options: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
if IS_CHECKED:
    _options["boundscheck"] = True
_sums = {"reassoc", "contract", "nsz", "arcp"}  # lets LLVM vectorise a sum; still honours NaN and infinity
_fast: dict[str, Any] = _options | {"fastmath": _sums}

compiled: Any = njit(nogil=True, cache=IS_CACHED, **_fast)
exact: Any = njit(nogil=True, cache=IS_CACHED, **_options)  # no sum in another order, no product for a quotient
inner: Any = register_jitable(**_fast)
# Small steps of a pass: a call would count references to its arrays. LLVM inlines them; numba's own inlining is slow.
inlined: Any = register_jitable(forceinline=True, **_fast)


def overload_inlined(function: Any) -> Any:
    """Register how numba compiles this function for the types of its arguments."""
    return overload(function, jit_options=_fast | {"forceinline": True})
