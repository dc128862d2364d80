"""Functions compiled by numba, whose machine code is kept on disk where a folder for it can be written.

With `linking.py`, this is the only place that imports numba.
"""

import gc
import os
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import __version__, config, njit, types
from numba.core import cgutils, event
from numba.core.caching import FunctionCache, NullCache
from numba.core.runtime import rtsys
from numba.extending import intrinsic, overload

__all__ = [
    "BOUNDS",
    "CHECKED",
    "LINKED",
    "cgutils",
    "intrinsic",
    "ir",
    "kept",
    "overload",
    "types",
]

CONFIG: Any = config
# For tests: every index of compiled code is checked, and a wrong one raises IndexError. NUMBA_BOUNDSCHECK does not do:
# it leaves overloads out, and code compiled without checks would still be loaded from the cache.
CHECKED = os.environ.get("PERCEPTRONS_BOUNDSCHECK", "0") not in ("", "0")
BOUNDS: dict[str, bool] = {"boundscheck": True} if CHECKED else {}  # among the options of everything compiled
# numba's inside is not the same in every version: what linking.py changes there was tested with these
LINKS = (0, 61) <= tuple(int(part) for part in __version__.split(".")[:2]) <= (0, 68)
ENTERED: dict[str, Any] = {"no_cfunc_wrapper": True}  # how to compile what Python calls
LINKED: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}  # and what only compiled code calls
if LINKS:
    from perceptrons.engine.linking import InnerCode, InnerCompiler, OuterCompiler

    ENTERED["pipeline_class"], LINKED["pipeline_class"] = OuterCompiler, InnerCompiler
lost = False  # was anything compiled in this process that could not be kept?
folders: set[str] = set()  # where this process found machine code, or kept it


class Kept(FunctionCache):
    """numba's cache of a function. What cannot be read is compiled again; what cannot be written is not kept."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """As numba's, but without loading all that numba can compile: machine code needs none of it, and that is 0.2 s.

        Where nothing is found and something has to be compiled, numba loads it then.
        """
        try:
            rtsys.initialize(target_context)
            found = self._load_overload(sig, target_context)
        except OSError:  # such as files that only another user may read
            return None
        if found is not None:
            folders.add(self.cache_path)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
            folders.add(self.cache_path)
        except OSError:  # such as a full disk: the function is compiled and can be called
            _note_loss()

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        key = super()._index_key(sig, codegen)
        return (*key, "bounds are checked") if CHECKED else key  # neither way of compiling finds the other's code


class KeptInner(Kept):
    """The same for a function that is only linked into others."""

    if LINKS:
        _impl_class = InnerCode  # type: ignore[assignment]

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        key = super()._index_key(sig, codegen)
        return (*key, "linked") if LINKS else key  # what numba keeps is of another kind


class NotKept(NullCache):
    """No cache: every process compiles again."""

    def save_overload(self, sig: Any, cres: Any) -> None:
        _note_loss()


class Compiling(event.Listener):
    """Counts the functions of this package that are compiled, with what they call. No garbage is collected meanwhile:

    numba makes many objects that stay. Each collection would visit them all, for a seventh of the time of compiling.
    """

    def __init__(self) -> None:
        self.functions, self._within, self._resume = 0, 0, False

    def on_start(self, event: Any) -> None:
        if self._within or event.data["dispatcher"].py_func.__module__.startswith(__package__):
            if not self._within:
                self._resume = gc.isenabled()
                gc.disable()
            self._within += 1
            self.functions += 1

    def on_end(self, event: Any) -> None:
        if self._within:
            self._within -= 1
            if not self._within and self._resume:
                gc.enable()


compiling = Compiling()
event.register("numba:compile", compiling)  # within numba's lock: one thread compiles at a time


def kept(inner: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: `njit` with these options and a cache, or without one where no folder for it can be written.

    inner: compiled only as a part of other functions. What Python would call it through is left out, which takes
    longer to compile than a small function itself. Called from Python, it is the plain function.
    """
    compiled = njit(**options | BOUNDS | (LINKED if inner else ENTERED))

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = compiled(function)
        if not CONFIG.DISABLE_JIT:  # else it is the function itself
            dispatcher._cache = _cache_of(function, KeptInner if inner else Kept)  # as its enable_caching does
            if inner:
                _leave_to_python(dispatcher, function)
        return dispatcher

    return decorate


def _leave_to_python(dispatcher: Any, function: Callable[..., Any]) -> None:
    """Calls from Python are of the plain function, as there is no machine code that Python could enter."""

    def add_overload(result: Any) -> None:  # as the dispatcher's, without telling Python
        dispatcher.overloads[tuple(result.signature.args)] = result

    dispatcher.add_overload = add_overload
    dispatcher._compile_for_args = lambda *args, **named: function  # which is then called


def _cache_of(function: Callable[..., Any], kind: type[Kept]) -> Any:
    if not _has_place(function.__code__.co_filename):
        return NotKept()
    try:
        return kind(function)
    except RuntimeError:  # numba found no folder that can be written
        return NotKept()


def _has_place(source: str) -> bool:
    """Is it safe to ask numba for a folder?

    It tries NUMBA_CACHE_DIR, then the folder of the source, then the user's cache folder. A user without a home folder,
    as in some containers, has none. numba would then take ./~/.cache, and load code from wherever the process started.
    """
    if CONFIG.CACHE_DIR or os.path.isabs(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~"))):
        return True
    folder = os.path.dirname(source)
    beside = os.path.join(folder, "__pycache__")
    return os.access(beside if os.path.isdir(beside) else folder, os.W_OK)


def _note_loss() -> None:
    global lost
    lost = True
