"""Imports scikit-learn without three large modules that no command needs, which halves the start-up time of most.

scikit-learn imports scipy.stats, scipy.special and pandas for a few of its functions. `importlib.util.LazyLoader` does
not help: a second `import` statement of a module loads it.
"""

import atexit
import gc
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

DEFERRED = ("scipy.stats", "scipy.special", "pandas")
GC_THRESHOLD = 100_000  # new objects between two collections: most of what imports and numba's compiler make stays


class DeferredModule(ModuleType):
    """Stands for a module until something in it is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:  # needed while scikit-learn is imported: versions differ in that
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def prepare_process() -> None:
    """Set what makes a command faster that has the process to itself."""
    gc.set_threshold(GC_THRESHOLD, 20, 100)
    atexit.register(gc.freeze)  # else Python would look for garbage among all objects once more when it ends
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")  # colours that take time to set up


def import_sklearn() -> None:
    """Import scikit-learn, unless it is there. A later import of a deferred module gives the module itself."""
    if "sklearn" in sys.modules:
        return
    deferred = {name: DeferredModule(name) for name in DEFERRED if name not in sys.modules and find_spec(name)}
    sys.modules.update(deferred)
    try:
        import_module("sklearn.base")
    finally:
        for name, module in deferred.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
