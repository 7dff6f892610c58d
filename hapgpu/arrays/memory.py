"""Bytes of arrays in the innermost loops of compiled functions.

Numba counts the references to an array around each call that gets it, with atomic additions, even
if the call is inlined: in a loop over short fields they take most of the time. A `Memory` is the
address and the size of an array, which nothing counts: the caller must hold the array.

Each access names an offset. It is checked where Numba checks indexes (NUMBA_BOUNDSCHECK=1, as tests
and the fuzzer set it), with an IndexError; elsewhere the caller must have checked all offsets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core.errors import TypingError

from hapgpu.arrays.bytes import AnyArray, Integer
from hapgpu.runtime.jit import intrinsic, njit_inlined, types

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing import Signature

_Typed: TypeAlias = tuple["Signature", Callable[..., ir.Value]]
"""The signature of an intrinsic, and the function that writes its LLVM code."""


class Memory(NamedTuple):
    """Bytes of an array, for compiled functions.

    Attributes
    ----------
    address
        Address of the first byte.
    size
        Number of bytes.
    """

    address: Integer
    size: Integer


_BYTE: Final = ir.IntType(8)
_INT64: Final = ir.IntType(64)


def pointer_to(
    context: BaseContext, builder: ir.IRBuilder, memory: ir.Value, at: ir.Value, size: ir.Value
) -> ir.Value:
    """Write the code of a pointer to some bytes, and of their check if indexes are checked."""
    address, room = cgutils.unpack_tuple(builder, memory)
    if context.enable_boundscheck:
        zero = _INT64(0)
        is_before = builder.icmp_signed("<", at, zero)
        is_negative = builder.icmp_signed("<", size, zero)
        is_after = builder.icmp_signed(">", at, builder.sub(room, size))
        is_outside = builder.or_(is_after, builder.or_(is_before, is_negative))
        with cgutils.if_unlikely(builder, is_outside):
            context.call_conv.return_user_exc(builder, IndexError, ("bytes outside of memory",))
    return builder.gep(builder.inttoptr(address, _BYTE.as_pointer()), [at])


def _viewing(_context: BaseContext, array: types.Type) -> _Typed:
    if not isinstance(array, types.Array) or array.layout != "C":
        message = f"memory_of: not a C-contiguous array but {array}"
        raise TypingError(message)

    def emit(
        context: BaseContext,
        builder: ir.IRBuilder,
        signature: Signature,
        arguments: list[ir.Value],
    ) -> ir.Value:
        given = context.make_array(array)(context, builder, arguments[0])
        address = builder.ptrtoint(given.data, _INT64)
        size = builder.mul(given.nitems, given.itemsize)
        return context.make_tuple(builder, signature.return_type, (address, size))

    return types.NamedUniTuple(types.int64, 2, Memory)(array), emit


_memory: Callable[[AnyArray], Memory] = intrinsic(_viewing)


@njit_inlined
def memory_of(array: AnyArray) -> Memory:
    """Return the bytes of a C-contiguous array of any dtype; the caller holds the array."""
    return _memory(array)


def _reading(bits: int, *, signed: bool = False) -> Callable[[Memory, Integer], Integer]:
    """Return a load of an integer, little-endian, as int64; its address need not be aligned."""

    def typed(_context: BaseContext, memory: types.Type, _at: types.Type) -> _Typed:
        def emit(
            context: BaseContext,
            builder: ir.IRBuilder,
            _signature: Signature,
            arguments: list[ir.Value],
        ) -> ir.Value:
            number = ir.IntType(bits)
            memory, at = arguments
            pointer = pointer_to(context, builder, memory, at, _INT64(bits // 8))
            value = builder.load(builder.bitcast(pointer, number.as_pointer()), align=1)
            extend = builder.sext if signed else builder.zext
            return extend(value, _INT64)

        return types.int64(memory, types.int64), emit

    function: Callable[[Memory, Integer], Integer] = intrinsic(typed)
    return function


def _writing(bits: int) -> Callable[[Memory, Integer, Integer], None]:
    """Return a store of the low bits of an int64, little-endian; see `_reading`."""

    def typed(
        _context: BaseContext, memory: types.Type, _at: types.Type, _value: types.Type
    ) -> _Typed:
        def emit(
            context: BaseContext,
            builder: ir.IRBuilder,
            _signature: Signature,
            arguments: list[ir.Value],
        ) -> ir.Value:
            number = ir.IntType(bits)
            memory, at, value = arguments
            pointer = pointer_to(context, builder, memory, at, _INT64(bits // 8))
            value = builder.trunc(value, number) if bits < 64 else value
            builder.store(value, builder.bitcast(pointer, number.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.none(memory, types.int64, types.int64), emit

    function: Callable[[Memory, Integer, Integer], None] = intrinsic(typed)
    return function


def _copying(
    _context: BaseContext,
    memory: types.Type,
    _to: types.Type,
    other: types.Type,
    _start: types.Type,
    _size: types.Type,
) -> _Typed:
    def emit(
        context: BaseContext,
        builder: ir.IRBuilder,
        _signature: Signature,
        arguments: list[ir.Value],
    ) -> ir.Value:
        target, to, source, start, size = arguments
        out = pointer_to(context, builder, target, to, size)
        data = pointer_to(context, builder, source, start, size)
        pointer = _BYTE.as_pointer()
        copy = builder.module.declare_intrinsic("llvm.memcpy", [pointer, pointer, _INT64])
        builder.call(copy, [out, data, size, ir.IntType(1)(0)])
        return context.get_dummy_value()

    return types.none(memory, types.int64, other, types.int64, types.int64), emit


def _checking(
    _context: BaseContext, memory: types.Type, _start: types.Type, _size: types.Type
) -> _Typed:
    def emit(
        context: BaseContext,
        builder: ir.IRBuilder,
        _signature: Signature,
        arguments: list[ir.Value],
    ) -> ir.Value:
        memory, start, size = arguments
        pointer_to(context, builder, memory, start, size)
        return context.get_dummy_value()

    return types.none(memory, types.int64, types.int64), emit


_check: Callable[[Memory, Integer, Integer], None] = intrinsic(_checking)

read_u8 = _reading(8)
"""(memory, offset) -> int64 of an unsigned byte."""
read_u16 = _reading(16)
"""(memory, offset) -> int64 of a uint16."""
read_u32 = _reading(32)
"""(memory, offset) -> int64 of a uint32."""
read_i32 = _reading(32, signed=True)
"""(memory, offset) -> int64 of an int32."""
read_64 = _reading(64)
"""(memory, offset) -> int64 of eight bytes."""
write_8 = _writing(8)
"""(memory, offset, int64): store the low byte."""
write_16 = _writing(16)
"""(memory, offset, int64): store the low two bytes."""
write_32 = _writing(32)
"""(memory, offset, int64): store the low four bytes."""
write_64 = _writing(64)
"""(memory, offset, int64): store eight bytes."""
copy_memory: Callable[[Memory, Integer, Memory, Integer, Integer], None] = intrinsic(_copying)
"""(target, offset, source, offset, bytes): copy bytes; the ranges must not overlap."""


@njit_inlined
def part_of(memory: Memory, start: Integer, size: Integer) -> Memory:
    """Return some bytes of a memory as a memory of their own."""
    _check(memory, start, size)
    return Memory(memory.address + np.int64(start), np.int64(size))
