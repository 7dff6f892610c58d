"""Loads, stores and copies at addresses, for the innermost loops of compiled functions.

Numba counts the references to an array around each call that gets it, with atomic additions, even
if the call is inlined: in a loop over short fields they take most of the time. Functions that get
addresses (`array.ctypes.data`) avoid that. Nothing checks an address: the caller must have checked
all offsets and lengths, and must hold the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from llvmlite import ir

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import intrinsic, types

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing import Signature

_Typed: TypeAlias = tuple["Signature", Callable[..., ir.Value]]
"""The signature of an intrinsic, and the function that writes its LLVM code."""


def _loading(bits: int, *, signed: bool = False) -> _Typed:
    """Return the signature and the code of a load of an integer, little-endian, as int64."""

    def emit(
        _context: BaseContext,
        builder: ir.IRBuilder,
        _signature: Signature,
        arguments: list[ir.Value],
    ) -> ir.Value:
        pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
        value = builder.load(pointer, align=1)
        extend = builder.sext if signed else builder.zext
        return extend(value, ir.IntType(64))

    return types.int64(types.int64), emit


def _storing(bits: int) -> _Typed:
    """Return the signature and the code of a store of the low bits of an int64, little-endian."""

    def emit(
        context: BaseContext,
        builder: ir.IRBuilder,
        _signature: Signature,
        arguments: list[ir.Value],
    ) -> ir.Value:
        number = ir.IntType(bits)
        pointer = builder.inttoptr(arguments[0], number.as_pointer())
        builder.store(builder.trunc(arguments[1], number), pointer, align=1)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), emit


def _copying() -> _Typed:
    def emit(
        context: BaseContext,
        builder: ir.IRBuilder,
        _signature: Signature,
        arguments: list[ir.Value],
    ) -> ir.Value:
        pointer = ir.IntType(8).as_pointer()
        copy = builder.module.declare_intrinsic("llvm.memcpy", [pointer, pointer, ir.IntType(64)])
        target, source = (builder.inttoptr(word, pointer) for word in arguments[:2])
        builder.call(copy, [target, source, arguments[2], ir.IntType(1)(0)])
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), emit


load_u8_at: Callable[[Integer], Integer] = intrinsic(lambda _context, _address: _loading(8))
"""(address) -> int64 of an unsigned byte."""

load_u16_at: Callable[[Integer], Integer] = intrinsic(lambda _context, _address: _loading(16))
"""(address) -> int64 of a uint16, little-endian; the address need not be aligned."""

load_u32_at: Callable[[Integer], Integer] = intrinsic(lambda _context, _address: _loading(32))
"""(address) -> int64 of a uint32."""

load_64_at: Callable[[Integer], Integer] = intrinsic(lambda _context, _address: _loading(64))
"""(address) -> int64 of eight bytes."""

load_i32_at: Callable[[Integer], Integer] = intrinsic(
    lambda _context, _address: _loading(32, signed=True)
)
"""(address) -> int64 of an int32."""

store_8_at: Callable[[Integer, Integer], None] = intrinsic(
    lambda _context, _address, _value: _storing(8)
)
"""(address, int64): store the low byte."""

store_16_at: Callable[[Integer, Integer], None] = intrinsic(
    lambda _context, _address, _value: _storing(16)
)
"""(address, int64): store the low two bytes, little-endian; the address need not be aligned."""

store_32_at: Callable[[Integer, Integer], None] = intrinsic(
    lambda _context, _address, _value: _storing(32)
)
"""(address, int64): store the low four bytes."""

store_64_at: Callable[[Integer, Integer], None] = intrinsic(
    lambda _context, _address, _value: _storing(64)
)
"""(address, int64): store eight bytes."""

copy_at: Callable[[Integer, Integer, Integer], None] = intrinsic(
    lambda _context, _target, _source, _size: _copying()
)
"""(target, source, bytes): copy between addresses; the ranges must not overlap."""
