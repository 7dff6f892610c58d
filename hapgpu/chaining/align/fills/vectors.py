"""Vectors of signed bytes for compiled functions, one byte per lane.

A loop over lanes is left to the compiler elsewhere. Here a cell has so many states that the
compiler would keep them in memory between two cells: a vector is a value, and stays in registers.
The processor's widest vectors are used, several of them for a value if they are narrower.
Arithmetic wraps around at eight bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir
from numba.core.datamodel import PrimitiveModel
from numba.extending import lower_builtin, register_model, type_callable

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import intrinsic, types

LANES: Final = 64
"""Number of bytes of a vector."""

Vector = Any

_BYTE = ir.IntType(8)
_VECTOR = ir.VectorType(_BYTE, LANES)


class BytesType(types.Type):  # type: ignore[misc]  # Numba has no types
    """Numba's type of a vector."""

    def __init__(self) -> None:
        super().__init__(name=f"bytes{LANES}")


BYTES: Final = BytesType()


@register_model(BytesType)
class _BytesModel(PrimitiveModel):  # type: ignore[misc]  # as above
    """A vector is an LLVM value."""

    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, _VECTOR)


def _define_operator(function: Callable[..., Any], emit: Callable[..., Any]) -> None:
    def typing(_context: Any) -> Callable[[Any, Any], Any]:
        return lambda left, right: BYTES if BYTES == left == right else None

    def lowering(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return emit(builder, *arguments)

    type_callable(function)(typing)
    lower_builtin(function, BytesType, BytesType)(lowering)


def _select_smaller(builder: Any, left: Any, right: Any) -> Any:
    return builder.select(builder.icmp_signed("<", left, right), left, right)


def _select_larger(builder: Any, left: Any, right: Any) -> Any:
    return builder.select(builder.icmp_signed(">", left, right), left, right)


_define_operator(operator.add, lambda builder, left, right: builder.add(left, right))
_define_operator(operator.sub, lambda builder, left, right: builder.sub(left, right))
_define_operator(operator.or_, lambda builder, left, right: builder.or_(left, right))
_define_operator(operator.xor, lambda builder, left, right: builder.xor(left, right))


def _loading() -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _VECTOR.as_pointer())
        return builder.load(pointer, align=1)

    return BYTES(types.int64), emit


def _storing() -> Any:
    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _VECTOR.as_pointer())
        builder.store(arguments[1], pointer, align=1)
        return context.get_dummy_value()

    return types.none(types.int64, BYTES), emit


def _repeating() -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        one = builder.insert_element(
            ir.Constant(_VECTOR, ir.Undefined),
            builder.trunc(arguments[0], _BYTE),
            ir.IntType(32)(0),
        )
        places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), places)

    return BYTES(types.int64), emit


def _of_two(emit_of: Callable[..., Any]) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return emit_of(builder, *arguments)

    return BYTES(BYTES, BYTES), emit


def _choosing(relation: str) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        left, right, chosen, other = arguments
        return builder.select(builder.icmp_signed(relation, left, right), chosen, other)

    return BYTES(BYTES, BYTES, BYTES, BYTES), emit


load: Callable[[Integer], Vector] = intrinsic(lambda _context, _address: _loading())
"""(address) -> vector."""

store: Callable[[Integer, Vector], None] = intrinsic(lambda _context, _address, _value: _storing())
"""(address, vector): store it."""

repeat: Callable[[Integer], Vector] = intrinsic(lambda _context, _value: _repeating())
"""(int64) -> vector with its low byte in each lane."""

smaller: Callable[[Vector, Vector], Vector] = intrinsic(
    lambda _context, _left, _right: _of_two(_select_smaller)
)
"""(vector, vector) -> the smaller value of each lane."""

larger: Callable[[Vector, Vector], Vector] = intrinsic(
    lambda _context, _left, _right: _of_two(_select_larger)
)
"""(vector, vector) -> the larger value of each lane."""

if_equal: Callable[[Vector, Vector, Vector, Vector], Vector] = intrinsic(
    lambda _context, _left, _right, _chosen, _other: _choosing("==")
)
"""(left, right, chosen, other) -> in each lane, chosen if left == right, else other."""

if_larger: Callable[[Vector, Vector, Vector, Vector], Vector] = intrinsic(
    lambda _context, _left, _right, _chosen, _other: _choosing(">")
)
"""(left, right, chosen, other) -> in each lane, chosen if left > right, else other."""
