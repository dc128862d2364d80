"""Machine code is made of functions that Python calls. What only they call is linked into them, and needs none itself.

numba would make machine code of every function by itself too, and optimise even functions that a module only names: an
eighth of what compiling took. What is linked is optimised as it was.
"""

from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult

__all__ = ["InnerCode", "InnerCompiler", "OuterCompiler"]


class Defined:
    """An LLVM module without the functions that are declared in it, and defined in others."""

    def __init__(self, module: Any) -> None:
        self.__dict__["module"] = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.module, name, value)

    @property
    def functions(self) -> Iterator[Any]:
        return (function for function in self.module.functions if not function.is_declaration)


class Library(JITCodeLibrary):
    """A function and all that it calls."""

    def _optimize_functions(self, ll_module: Any) -> None:
        super()._optimize_functions(Defined(ll_module))


class InnerLibrary(Library):
    """A function that is linked into others: optimised, but not made into machine code."""

    @property
    def codegen(self) -> Any:
        return Linked(super().codegen)

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0  # as numba says of a function without machine code

    def serialize_using_object_code(self) -> Any:
        return self.serialize_using_bitcode()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class Linked:
    """Stands for numba's code generator, or for the context that has it, where nothing is made into machine code."""

    def __init__(self, of: Any) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def codegen(self) -> "Linked":
        return Linked(self._of.codegen())

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing to set: `OuterCompiler` does it where the function was linked in."""

    def unserialize_library(self, state: Any) -> InnerLibrary:
        name, _, bitcode = state
        library = InnerLibrary(self._of, name)
        library._final_module = binding.parse_bitcode(bitcode)
        library._finalize_final_module()
        return library


class InnerCode(CompileResultCacheImpl):
    """What is kept on disk of a function that is linked into others."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        result = CompileResult._rebuild(Linked(target_context), *payload)
        return result._replace(target_context=target_context)


class OuterCompiler(Compiler):
    """Compiles a function that Python calls."""

    library: Callable[[Any, str], Any] = Library

    def compile_extra(self, func: Any) -> Any:
        self._choose_library(func)
        result = super().compile_extra(func)
        for environment in result._find_referenced_environments():  # of the functions linked in
            result.codegen.set_env(environment.env_name, environment)
        return result

    def _choose_library(self, func: Any) -> None:
        self.state.library = self.library(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()


class InnerCompiler(OuterCompiler):
    """Compiles a function that only compiled functions call."""

    library = InnerLibrary

    def compile_extra(self, func: Any) -> Any:
        self._choose_library(func)
        return Compiler.compile_extra(self, func)
