"""Whether the processor computes with subnormal numbers or takes them for 0.

Away from the diagonal the probabilities of the pair-HMM pass through the subnormal range before
they are 0. Some processors take 150 cycles for an operation on such a number instead of half a
one; in a tenth of the operations that is most of the time. Only x86 needs to be told.
"""

from __future__ import annotations

import platform
from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

from hapgpu.runtime.jit import njit

_IS_X86 = platform.machine().lower() in {"x86_64", "amd64"}

_FLUSH = 0x8040
"""Bits of the control register MXCSR: results are flushed to 0, operands are taken for 0."""

_control_type = cgutils.ir.IntType(32)
_function_type = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [cgutils.voidptr_t])


def _call(builder: Any, name: str, slot: Any) -> None:
    function = cgutils.get_or_insert_function(builder.module, _function_type, name)
    builder.call(function, [builder.bitcast(slot, cgutils.voidptr_t)])


def _reading(_typing: Any) -> Any:
    """uint32: the control register; 0 where there is none."""

    def generate(_context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        slot = cgutils.alloca_once_value(builder, _control_type(0))
        if _IS_X86:
            _call(builder, "llvm.x86.sse.stmxcsr", slot)
        return builder.load(slot)

    return types.uint32(), generate


def _writing(_typing: Any, _control: Any) -> Any:
    """Set the control register from a uint32."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        slot = cgutils.alloca_once_value(builder, arguments[0])
        if _IS_X86:
            _call(builder, "llvm.x86.sse.ldmxcsr", slot)
        return cgutils.get_null_value(_control_type)

    return types.uint32(types.uint32), generate


_read_control = intrinsic(_reading)
_write_control = intrinsic(_writing)


@njit
def flush_subnormals() -> int:
    """Take subnormal numbers for 0 in this thread; return how it was, for `restore`."""
    control = _read_control()
    _write_control(types.uint32(control | _FLUSH))
    return int(control)


@njit
def restore(control: int) -> None:
    """Go back to what `flush_subnormals` found."""
    _write_control(types.uint32(control))
