"""Loads scikit-learn without the modules that no command needs, which would take most of the start-up time."""

import gc
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

# Imported by scikit-learn when it is, and used by few of its functions.
SPARED = ("scipy.stats", "scipy.special", "pandas")
alone = False  # is the command all that this process does?


class Spared(ModuleType):
    """Stands for a module that is imported when something in it is first used."""

    def __getattr__(self, name: str) -> Any:
        put_away(self)
        return getattr(import_module(self.__name__), name)


def load_libraries() -> None:
    """What the commands have in common, without what they do not need."""
    if alone:  # numba would spend a thirtieth of compiling on colours for error messages that nobody sees
        os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    load_sklearn()


def load_sklearn() -> None:
    """Import what estimators are made of, unless it is there already. Nothing changes but when modules are loaded.

    scikit-learn holds stand-ins for the spared modules. Whoever imports one of these later gets the module itself.
    """
    if "sklearn" in sys.modules:
        return
    collects = gc.isenabled()
    gc.disable()  # all that is imported stays: each collection would visit it in vain
    spared = [stand_in(name) for name in SPARED if name not in sys.modules and find_spec(name) is not None]
    try:
        import_module("sklearn.base")
    finally:
        for module in spared:
            put_away(module)
        gc.freeze()
        if collects:
            gc.enable()


def stand_in(name: str) -> Spared:
    module = Spared(name)
    sys.modules[name] = module
    package, _, last = name.rpartition(".")
    if package:
        setattr(sys.modules[package], last, module)
    return module


def put_away(module: Spared) -> None:
    """Let the next import find the module itself."""
    name = module.__name__
    if sys.modules.get(name) is module:
        del sys.modules[name]
    package, _, last = name.rpartition(".")
    if package and vars(sys.modules[package]).get(last) is module:
        delattr(sys.modules[package], last)
