"""Functions of the C libraries libdeflate and ISA-L, called from compiled code by address.

The wheels `deflate` and `isal` contain these libraries, and their extension modules export the
functions. The wheels do not promise that: where a function is missing, callers do without.
Neither a call nor the C function checks an address or a size: callers check all of them before.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.runtime.jit import intrinsic, types

if TYPE_CHECKING:
    from ctypes import _NamedFuncPointer

    from numba.core.base import BaseContext
    from numba.core.typing import Signature

_WORD = ir.IntType(64)

CFunction: TypeAlias = "_NamedFuncPointer"
"""A function of a C library, by ctypes."""

_ALIGNMENT: Final = 64


def _emitting(
    arguments: int, result: types.Integer = types.int32
) -> tuple[Signature, Callable[..., ir.Value]]:
    """Return the signature and the code of a call with words, which returns an integer."""

    def emit(
        _context: BaseContext, builder: ir.IRBuilder, _signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        function = ir.FunctionType(ir.IntType(result.bitwidth), [_WORD] * arguments)
        address = builder.inttoptr(values[0], function.as_pointer())
        return builder.call(address, values[1:])

    return result(*[types.uint64] * (arguments + 1)), emit


# Numba takes the number of arguments from the parameters, of which none may stand for several.
call_1 = intrinsic(lambda _context, _address, _1: _emitting(1))
"""(address, word) -> int32; of a function without result, any number."""

call_3 = intrinsic(lambda _context, _address, _1, _2, _3: _emitting(3))
"""(address, three words) -> int32."""

call_4 = intrinsic(lambda _context, _address, _1, _2, _3, _4: _emitting(4, types.int64))
"""(address, four words) -> int64."""

call_6 = intrinsic(lambda _context, _address, _1, _2, _3, _4, _5, _6: _emitting(6))
"""(address, six words) -> int32."""


def find_functions(modules: Sequence[str], names: Sequence[str]) -> dict[str, CFunction] | None:
    """Return functions of the first of some extension modules that can be imported.

    They are functions of ctypes, by name; None if one is missing. An address stays valid: a module
    is never unloaded.
    """
    for module in modules:
        try:
            path = import_module(module).__file__
            library = ctypes.CDLL(path)
            return {name: getattr(library, name) for name in names}
        except (ImportError, OSError, AttributeError):
            continue
    return None


def addresses_of(*functions: CFunction) -> NDArray[np.uint64]:
    """Return uint64[f]: the addresses of f functions of ctypes, read-only, for the calls above."""
    addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in functions]
    return read_only(np.array(addresses, dtype=np.uint64))


def room_for(size: int) -> NDArray[np.uint64]:
    """Return uint64: zeros for a struct of at most `size` bytes, aligned for any of its fields."""
    words = np.zeros((size + _ALIGNMENT) // 8, dtype=np.uint64)
    first = -words.ctypes.data % _ALIGNMENT // 8
    return words[first : first + size // 8]
