"""Vectors of signed bytes in compiled functions, one byte per lane.

LLVM vectorises a loop over several arrays only if it can tell that they do not overlap, which it
gives up for more than a few. So a recurrence over six arrays is written with vectors, which have
the operators of numbers: `+`, `-`, `&`, `|`, `^`, `>`, `>=` and `==`. Sums wrap around.
Comparisons give masks, with the operators `&` and `|`.
"""

from __future__ import annotations

import operator
from typing import Any, Final

from llvmlite import ir
from numba.extending import lower_builtin, models, register_model, type_callable

from hapgpu.runtime.jit import intrinsic, types

LANES: Final = 64
_BYTES: Final = ir.VectorType(ir.IntType(8), LANES)
_MASK: Final = ir.VectorType(ir.IntType(1), LANES)
_POINTER: Final = _BYTES.as_pointer()


class _ByteVector(types.Type):  # type: ignore[misc]  # (Numba has no types)
    """Type of `LANES` signed bytes."""

    def __init__(self) -> None:
        super().__init__(f"ByteVector({LANES})")


class _LaneMask(types.Type):  # type: ignore[misc]  # (Numba has no types)
    """Type of `LANES` truth values."""

    def __init__(self) -> None:
        super().__init__(f"LaneMask({LANES})")


_VECTOR: Final = _ByteVector()
_TRUTHS: Final = _LaneMask()


@register_model(_ByteVector)
class _ByteVectorModel(models.PrimitiveModel):  # type: ignore[misc]  # (Numba has no types)
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _BYTES)


@register_model(_LaneMask)
class _LaneMaskModel(models.PrimitiveModel):  # type: ignore[misc]  # (Numba has no types)
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _MASK)


def _define(function: Any, operand: Any, result: Any, emit: Any) -> None:
    """Define an operator of two vectors or masks."""

    def typer_of(_context: Any) -> Any:
        def typer(one: Any, other: Any) -> Any:
            return result if one == other == operand else None

        return typer

    def lower(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return emit(builder, *arguments)

    type_callable(function)(typer_of)
    lower_builtin(function, operand, operand)(lower)


for _operator, _instruction in (
    (operator.add, "add"),
    (operator.sub, "sub"),
    (operator.and_, "and_"),
    (operator.or_, "or_"),
    (operator.xor, "xor"),
):
    _define(_operator, _VECTOR, _VECTOR, getattr(ir.IRBuilder, _instruction))
for _operator, _symbol in ((operator.gt, ">"), (operator.ge, ">="), (operator.eq, "==")):
    _define(
        _operator,
        _VECTOR,
        _TRUTHS,
        lambda builder, one, other, symbol=_symbol: builder.icmp_signed(symbol, one, other),
    )
for _operator, _instruction in ((operator.and_, "and_"), (operator.or_, "or_")):
    _define(_operator, _TRUTHS, _TRUTHS, getattr(ir.IRBuilder, _instruction))


def _pointer(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, _POINTER)


def _emit_load(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.load(_pointer(builder, arguments[0]), align=1)


def _emit_store(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    builder.store(arguments[1], _pointer(builder, arguments[0]), align=1)
    return context.get_dummy_value()


def _emit_spread(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    number = builder.trunc(arguments[0], ir.IntType(8))
    lane = builder.insert_element(ir.Constant(_BYTES, ir.Undefined), number, ir.IntType(32)(0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(lane, ir.Constant(_BYTES, ir.Undefined), order)


def _emit_shift(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), list(range(LANES - 1, 2 * LANES - 1)))
    return builder.shuffle_vector(*arguments, order)


def _emit_numbers(_context: Any, _builder: Any, _signature: Any, _arguments: Any) -> Any:
    return ir.Constant(_BYTES, list(range(LANES)))


def _emit_select(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.select(*arguments)


def _emit_max(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.select(builder.icmp_signed(">", *arguments), *arguments)


def _emit_unsigned_max(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.select(builder.icmp_unsigned(">", *arguments), *arguments)


def _emit_min(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.select(builder.icmp_signed("<", *arguments), *arguments)


def _emit_unsigned_min(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.select(builder.icmp_unsigned("<", *arguments), *arguments)


load_lanes: Any = intrinsic(lambda _context, _address: (_VECTOR(types.int64), _emit_load))
"""(address) -> the bytes from an address on."""

store_lanes: Any = intrinsic(
    lambda _context, _address, _vector: (types.none(types.int64, _VECTOR), _emit_store)
)
"""(address, vector): store the lanes."""

spread: Any = intrinsic(lambda _context, _number: (_VECTOR(types.int64), _emit_spread))
"""(number) -> its low byte in every lane."""

lane_numbers: Any = intrinsic(lambda _context: (_VECTOR(), _emit_numbers))
"""() -> 0, 1, ... in the lanes."""

shifted: Any = intrinsic(lambda _context, _before, _vector: (_VECTOR(_VECTOR, _VECTOR), _emit_shift))
"""(before, vector) -> the last lane of `before`, then all lanes of `vector` but its last."""

where: Any = intrinsic(
    lambda _context, _mask, _one, _other: (_VECTOR(_TRUTHS, _VECTOR, _VECTOR), _emit_select)
)
"""(mask, one, other) -> the lanes of `one` where the mask is true, of `other` elsewhere."""

larger: Any = intrinsic(lambda _context, _one, _other: (_VECTOR(_VECTOR, _VECTOR), _emit_max))
"""(one, other) -> the larger byte of each lane."""

smaller: Any = intrinsic(lambda _context, _one, _other: (_VECTOR(_VECTOR, _VECTOR), _emit_min))
"""(one, other) -> the smaller byte of each lane."""

larger_unsigned: Any = intrinsic(
    lambda _context, _one, _other: (_VECTOR(_VECTOR, _VECTOR), _emit_unsigned_max)
)
"""(one, other) -> the larger byte of each lane, as unsigned bytes."""

smaller_unsigned: Any = intrinsic(
    lambda _context, _one, _other: (_VECTOR(_VECTOR, _VECTOR), _emit_unsigned_min)
)
"""(one, other) -> the smaller byte of each lane, as unsigned bytes."""
