"""Compilation of functions that only compiled functions call.

Numba compiles each function for calls from Python and from C as well, down to machine code. For a
function that is called by compiled code only, this is most of the work, and none of it is used: its
callers link its LLVM code and compile that again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """LLVM code of a function to link into its callers; it is not compiled to machine code."""

    def finalize(self) -> None:
        """Link the functions that this one calls; the callers optimise."""
        self._raise_if_finalized()
        linked = set()
        for library in self._linking_libraries:
            if library not in linked:
                linked.add(library)
                self._reload_init.update(library._reload_init)  # noqa: SLF001  (of Numba)
                module = library._get_module_for_linking()  # noqa: SLF001
                self._final_module.link_in(module, preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


class LinkedCompiler(Compiler):  # type: ignore[misc]  # as above
    """Compiler of a function to link into its callers."""

    def compile_extra(self, func: Callable[..., object]) -> Any:
        """Compile the function for the types of the state."""
        state = self.state
        state.library = LinkedLibrary(state.targetctx.codegen(), func.__qualname__)
        state.flags.no_compile = True
        return super().compile_extra(func)
