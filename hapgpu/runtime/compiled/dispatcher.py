"""Compiled functions: one version for calls from Python, one for calls from compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from numba.core import types, typing
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from hapgpu.runtime.compiled.library import LinkedCompiler

_OPTIONS: Final = {
    "nopython": True,
    "boundscheck": None,
    "no_cfunc_wrapper": True,
    "fastmath": False,  # else that of the function that is compiled at the time of the first call
}
_LINKED: Final = {"no_cpython_wrapper": True}


class CompiledFunction(CPUDispatcher):  # type: ignore[misc]  # Numba has no types
    """A function that Numba compiles for the types of its first call.

    Parameters
    ----------
    function
        The function.
    options
        Options of `numba.njit`.
    """

    def __init__(self, function: Callable[..., object], options: dict[str, Any]) -> None:
        own = {**_OPTIONS, **options}
        super().__init__(function, targetoptions=own)
        self._linked = _LinkedFunction(self, {**own, **_LINKED})

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile for a call in compiled code, and return its types as Numba needs them."""
        pysig, args = self._compiler.fold_argument_types(args, kws)
        args = tuple(_without_value(kind) for kind in args)
        self._linked.compile(args)
        name = self.py_func.__name__
        template = typing.make_concrete_template(
            f"CallTemplate({name})", key=name, signatures=self._linked.signatures
        )
        return template, pysig, args, {}

    def get_overload(self, sig: Any) -> Any:
        """Return the key of the version for a call in compiled code."""
        return self._linked.versions[tuple(sig)].entry_point


class _LinkedFunction:
    """The versions of a function for calls in compiled code, by the types of the arguments."""

    def __init__(self, dispatcher: CompiledFunction, options: dict[str, Any]) -> None:
        self.versions: dict[Any, Any] = {}
        self._dispatcher = dispatcher
        self._compiler = type(dispatcher._compiler)(  # noqa: SLF001  (Numba's)
            dispatcher.py_func, dispatcher.targetdescr, options, {}, LinkedCompiler
        )

    @property
    def signatures(self) -> list[Any]:
        return [version.signature for version in self.versions.values()]

    @global_compiler_lock  # type: ignore[untyped-decorator]
    def compile(self, args: Any) -> None:
        if args in self.versions:
            return
        with self._dispatcher._compiling_counter:  # noqa: SLF001  (Numba's)
            result = self._compiler.compile(args, None)
        key = object()
        result = result._replace(entry_point=key)
        self._dispatcher.targetctx.insert_user_function(key, result.fndesc, [result.library])
        self.versions[args] = result


def _without_value(kind: Any) -> Any:
    """Return int64 for the type of a literal number: no version for each number."""
    return kind.literal_type if isinstance(kind, types.IntegerLiteral) else kind
