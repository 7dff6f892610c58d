"""Compiled functions: one version for calls from Python, one for calls from compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from numba.core import types, typing
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

if TYPE_CHECKING:
    import inspect

    from numba.core.compiler import CompileResult

_Types: TypeAlias = tuple[types.Type, ...]
"""Types of the arguments of a version."""

_OPTIONS: Final = {
    "nopython": True,
    "boundscheck": None,
    "no_cfunc_wrapper": True,
    "fastmath": False,  # else that of the function that is compiled at the time of the first call
}
_LINKED: Final = {"no_cpython_wrapper": True}


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """LLVM code of a function to link into its callers; it is not compiled to machine code."""

    def finalize(self) -> None:
        """Link the functions that this one calls; the callers optimise."""
        self._raise_if_finalized()
        linked = set()
        for library in self._linking_libraries:
            if library not in linked:
                linked.add(library)
                self._reload_init.update(library._reload_init)
                module = library._get_module_for_linking()
                self._final_module.link_in(module, preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


class LinkedCompiler(Compiler):  # type: ignore[misc]  # Numba has no types
    """Compiler of a function to link into its callers."""

    def compile_extra(self, func: Callable[..., object]) -> CompileResult:
        """Compile the function for the types of the state."""
        state = self.state
        state.library = LinkedLibrary(state.targetctx.codegen(), func.__qualname__)
        state.flags.no_compile = True
        return super().compile_extra(func)


class CompiledFunction(CPUDispatcher):  # type: ignore[misc]  # Numba has no types
    """A function that Numba compiles for the types of its first call.

    Parameters
    ----------
    function
        The function.
    options
        Options of `numba.njit`.
    """

    def __init__(self, function: Callable[..., object], options: dict[str, object]) -> None:
        own = {**_OPTIONS, **options}
        super().__init__(function, targetoptions=own)
        self._linked = _LinkedFunction(self, {**own, **_LINKED})

    def get_call_template(
        self, args: _Types, kws: dict[str, types.Type]
    ) -> tuple[type, inspect.Signature, _Types, dict[str, types.Type]]:
        """Compile for a call in compiled code, and return its types as Numba needs them."""
        pysig, args = self._compiler.fold_argument_types(args, kws)
        args = tuple(_without_value(kind) for kind in args)
        self._linked.compile(args)
        name = self.py_func.__name__
        template = typing.make_concrete_template(
            f"CallTemplate({name})", key=name, signatures=self._linked.signatures
        )
        return template, pysig, args, {}

    def get_overload(self, sig: _Types) -> object:
        """Return the key of the version for a call in compiled code."""
        return self._linked.versions[tuple(sig)].entry_point


class _LinkedFunction:
    """The versions of a function for calls in compiled code, by the types of the arguments."""

    def __init__(self, dispatcher: CompiledFunction, options: dict[str, object]) -> None:
        self.versions: dict[_Types, CompileResult] = {}
        self._dispatcher = dispatcher
        self._compiler = type(dispatcher._compiler)(
            dispatcher.py_func, dispatcher.targetdescr, options, {}, LinkedCompiler
        )

    @property
    def signatures(self) -> list[typing.Signature]:
        return [version.signature for version in self.versions.values()]

    @global_compiler_lock  # type: ignore[untyped-decorator]
    def compile(self, args: _Types) -> None:
        if args in self.versions:
            return
        with self._dispatcher._compiling_counter:
            result = self._compiler.compile(args, None)
        key = object()
        result = result._replace(entry_point=key)
        self._dispatcher.targetctx.insert_user_function(key, result.fndesc, [result.library])
        self.versions[args] = result


def _without_value(kind: types.Type) -> types.Type:
    """Return int64 for the type of a literal number: no version for each number."""
    return kind.literal_type if isinstance(kind, types.IntegerLiteral) else kind
