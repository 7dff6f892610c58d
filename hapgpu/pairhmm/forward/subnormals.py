"""Control of the processor: subnormal numbers computed, or treated as 0.

Away from the diagonal the probabilities of the pair-HMM become subnormal before they are 0. Some
processors need 150 cycles for an operation on a subnormal number instead of half a cycle; if a
tenth of the operations have one, they take most of the time. Only x86 needs this setting.
"""

from __future__ import annotations

import platform
from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

from hapgpu.runtime.jit import njit

_IS_X86 = platform.machine().lower() in {"x86_64", "amd64"}

_FLUSH = 0x8040
"""Bits of the control register MXCSR that treat subnormal results and operands as 0."""

_control_type = cgutils.ir.IntType(32)
_function_type = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [cgutils.voidptr_t])


def _call(builder: Any, name: str, pointer: Any) -> None:
    function = cgutils.get_or_insert_function(builder.module, _function_type, name)
    builder.call(function, [builder.bitcast(pointer, cgutils.voidptr_t)])


def _reading(_typing: Any) -> Any:
    """Return the control register, uint32; 0 where there is none."""

    def generate(_context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        pointer = cgutils.alloca_once_value(builder, _control_type(0))
        if _IS_X86:
            _call(builder, "llvm.x86.sse.stmxcsr", pointer)
        return builder.load(pointer)

    return types.uint32(), generate


def _writing(_typing: Any, _control: Any) -> Any:
    """Set the control register from a uint32."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = cgutils.alloca_once_value(builder, arguments[0])
        if _IS_X86:
            _call(builder, "llvm.x86.sse.ldmxcsr", pointer)
        return cgutils.get_null_value(_control_type)

    return types.uint32(types.uint32), generate


_read_control = intrinsic(_reading)
_write_control = intrinsic(_writing)


@njit
def flush_subnormals() -> int:
    """Treat subnormal numbers as 0 in this thread; return the previous state, for `restore`."""
    control = _read_control()
    _write_control(types.uint32(control | _FLUSH))
    return int(control)


@njit
def restore(control: int) -> None:
    """Restore the state that `flush_subnormals` returned."""
    _write_control(types.uint32(control))
