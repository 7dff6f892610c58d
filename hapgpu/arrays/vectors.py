"""Vectors of bytes and of 32-bit integers in compiled functions, one number per lane.

LLVM vectorises a loop over several arrays only if it can tell that they do not overlap, which it
gives up for more than a few. So a recurrence over many arrays is written with vectors. They have
operators of numbers: `+`, `-`, and for bytes `|`, `^`, `>`, `>=` and `==`. Sums wrap around.
Comparisons give masks, with the operators `&` and `|`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir
from numba.extending import lower_builtin, models, register_model, type_callable

from hapgpu.runtime.jit import intrinsic, types

LANES: Final = 32
"""Number of lanes of each vector."""

_INT32: Final = ir.IntType(32)


class _VectorType(types.Type):  # type: ignore[misc]  # (Numba has no types)
    """Numba's type of a vector of integers with some bits."""

    def __init__(self, bits: int) -> None:
        super().__init__(f"Vector({bits} bits, {LANES} lanes)")
        self.bits = bits

    def of_llvm(self) -> Any:
        return ir.VectorType(ir.IntType(self.bits), LANES)


@register_model(_VectorType)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]  # (Numba has no types)
    """A vector is one value."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, kind.of_llvm())


_MASK, _BYTES, _INTS = (_VectorType(bits) for bits in (1, 8, 32))


def _function(result: Any, arguments: list[Any], emit: Callable[..., Any]) -> Any:
    """Return a function for compiled code, made by `emit(builder, *arguments)`."""

    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        value = emit(builder, *values)
        return context.get_dummy_value() if result is types.none else value

    signature = result(*arguments)
    typings: dict[int, Callable[..., Any]] = {
        0: lambda _context: (signature, generate),
        1: lambda _context, _one: (signature, generate),
        2: lambda _context, _one, _two: (signature, generate),
        3: lambda _context, _one, _two, _three: (signature, generate),
    }
    return intrinsic(typings[len(arguments)])


def _define(function: Any, operand: Any, result: Any, emit: Callable[..., Any]) -> None:
    """Define an operator of two vectors."""

    def typer_of(_context: Any) -> Callable[[Any, Any], Any]:
        return lambda one, other: result if one == other == operand else None

    def lower(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return emit(builder, *values)

    type_callable(function)(typer_of)
    lower_builtin(function, operand, operand)(lower)


def _comparing(relation: str) -> Callable[..., Any]:
    return lambda builder, one, other: builder.icmp_signed(relation, one, other)


def _choosing(relation: str, *, signed: bool = True) -> Callable[..., Any]:
    def emit(builder: Any, one: Any, other: Any) -> Any:
        compare = builder.icmp_signed if signed else builder.icmp_unsigned
        return builder.select(compare(relation, one, other), one, other)

    return emit


def _loading(kind: Any) -> Callable[..., Any]:
    def emit(builder: Any, address: Any) -> Any:
        return builder.load(builder.inttoptr(address, kind.of_llvm().as_pointer()), align=1)

    return emit


def _storing(kind: Any) -> Callable[..., Any]:
    def emit(builder: Any, address: Any, vector: Any) -> None:
        builder.store(vector, builder.inttoptr(address, kind.of_llvm().as_pointer()), align=1)

    return emit


def _shuffle(builder: Any, one: Any, other: Any, order: list[int]) -> Any:
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(_INT32, LANES), order))


def _spreading(kind: Any) -> Callable[..., Any]:
    def emit(builder: Any, number: Any) -> Any:
        undefined = ir.Constant(kind.of_llvm(), ir.Undefined)
        narrow = builder.trunc(number, ir.IntType(kind.bits))
        lane = builder.insert_element(undefined, narrow, _INT32(0))
        return _shuffle(builder, lane, undefined, [0] * LANES)

    return emit


def _highest(builder: Any, vector: Any) -> Any:
    function = builder.module.declare_intrinsic(
        f"llvm.vector.reduce.smax.v{LANES}i32", (), ir.FunctionType(_INT32, [_INTS.of_llvm()])
    )
    return builder.sext(builder.call(function, [vector]), ir.IntType(64))


_define(operator.add, _BYTES, _BYTES, ir.IRBuilder.add)
_define(operator.sub, _BYTES, _BYTES, ir.IRBuilder.sub)
_define(operator.or_, _BYTES, _BYTES, ir.IRBuilder.or_)
_define(operator.xor, _BYTES, _BYTES, ir.IRBuilder.xor)
_define(operator.gt, _BYTES, _MASK, _comparing(">"))
_define(operator.ge, _BYTES, _MASK, _comparing(">="))
_define(operator.eq, _BYTES, _MASK, _comparing("=="))
_define(operator.and_, _MASK, _MASK, ir.IRBuilder.and_)
_define(operator.iand, _MASK, _MASK, ir.IRBuilder.and_)
_define(operator.or_, _MASK, _MASK, ir.IRBuilder.or_)
_define(operator.add, _INTS, _INTS, ir.IRBuilder.add)
_define(operator.sub, _INTS, _INTS, ir.IRBuilder.sub)

load_bytes: Any = _function(_BYTES, [types.int64], _loading(_BYTES))
"""(address) -> bytes; the address need not be aligned."""

store_bytes: Any = _function(types.none, [types.int64, _BYTES], _storing(_BYTES))
"""(address, bytes): store the lanes."""

load_ints: Any = _function(_INTS, [types.int64], _loading(_INTS))
"""(address) -> integers; the address need not be aligned."""

store_ints: Any = _function(types.none, [types.int64, _INTS], _storing(_INTS))
"""(address, integers): store the lanes."""

spread_byte: Any = _function(_BYTES, [types.int64], _spreading(_BYTES))
"""(int64) -> bytes: its low byte in every lane."""

spread_int: Any = _function(_INTS, [types.int64], _spreading(_INTS))
"""(int64) -> integers: its low 32 bits in every lane."""

lane_numbers: Any = _function(
    _BYTES, [], lambda _builder: ir.Constant(_BYTES.of_llvm(), list(range(LANES)))
)
"""() -> bytes: 0, 1, 2 and so on."""

widened: Any = _function(
    _INTS, [_BYTES], lambda builder, vector: builder.sext(vector, _INTS.of_llvm())
)
"""(bytes) -> integers: the same numbers."""

shifted: Any = _function(
    _BYTES,
    [_BYTES, _BYTES],
    lambda builder, before, vector: _shuffle(
        builder, before, vector, list(range(LANES - 1, 2 * LANES - 1))
    ),
)
"""(before, vector) -> bytes: the last lane of `before`, then all lanes of `vector` but its last."""

where: Any = _function(_BYTES, [_MASK, _BYTES, _BYTES], ir.IRBuilder.select)
"""(mask, one, other) -> bytes: `one` where the mask is true, `other` elsewhere."""

where_ints: Any = _function(_INTS, [_MASK, _INTS, _INTS], ir.IRBuilder.select)
"""(mask, one, other) -> integers: `one` where the mask is true, `other` elsewhere."""

larger: Any = _function(_BYTES, [_BYTES, _BYTES], _choosing(">"))
"""(one, other) -> bytes: the larger number of each lane."""

smaller: Any = _function(_BYTES, [_BYTES, _BYTES], _choosing("<"))
"""(one, other) -> bytes: the smaller number of each lane."""

larger_unsigned: Any = _function(_BYTES, [_BYTES, _BYTES], _choosing(">", signed=False))
"""(one, other) -> bytes: the larger one of each lane, as unsigned numbers."""

smaller_unsigned: Any = _function(_BYTES, [_BYTES, _BYTES], _choosing("<", signed=False))
"""(one, other) -> bytes: the smaller one of each lane, as unsigned numbers."""

larger_ints: Any = _function(_INTS, [_INTS, _INTS], _choosing(">"))
"""(one, other) -> integers: the larger number of each lane."""

highest_of: Any = _function(types.int64, [_INTS], _highest)
"""(integers) -> int64: the largest number of all lanes."""
