"""Vectors of bytes, of 16-bit words and of 32-bit integers in compiled functions, one per lane.

LLVM vectorises a loop over several arrays only if it can tell that they do not overlap, which it
gives up for more than a few. So a recurrence over many arrays is written with vectors. They have
operators of numbers: `+`, `-`, and for bytes `|`, `^`, `>`, `>=` and `==`. Sums wrap around.
Comparisons give masks, with the operators `&` and `|`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from llvmlite import ir
from numba.core.errors import TypingError
from numba.extending import lower_builtin, models, register_model, type_callable

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, pointer_to
from hapgpu.runtime.jit import intrinsic, types

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.datamodel import DataModelManager
    from numba.core.typing import Signature

LANES: Final = 32
"""Number of lanes of each vector."""

_INT32: Final = ir.IntType(32)

Vector: TypeAlias = Any
"""A vector or a mask in compiled code, for which Numba finds the operators."""

_Typed: TypeAlias = tuple["Signature", Callable[..., ir.Value]]
"""The signature of an intrinsic, and the function that writes its LLVM code."""

_Emit: TypeAlias = Callable[..., ir.Value]
"""Writes LLVM code by a builder, for as many values as the function has arguments."""


class _VectorType(types.Type):  # type: ignore[misc]  # (Numba has no types)
    """Numba's type of a vector of integers with some bits."""

    def __init__(self, bits: int) -> None:
        super().__init__(f"Vector({bits} bits, {LANES} lanes)")
        self.bits = bits

    def of_llvm(self) -> ir.VectorType:
        return ir.VectorType(ir.IntType(self.bits), LANES)

    def size(self) -> ir.Constant:
        """Return the bytes of a vector."""
        return ir.IntType(64)(LANES * self.bits // 8)


@register_model(_VectorType)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]  # (Numba has no types)
    """A vector is one value."""

    def __init__(self, manager: DataModelManager, kind: _VectorType) -> None:
        super().__init__(manager, kind, kind.of_llvm())


_MASK, _BYTES, _WORDS, _INTS = (_VectorType(bits) for bits in (1, 8, 16, 32))


def _function(
    result: types.Type, arguments: list[types.Type], emit: _Emit
) -> Callable[..., Vector]:
    """Return a function for compiled code, made by `emit(builder, *arguments)`."""

    def generate(
        _context: BaseContext, builder: ir.IRBuilder, _signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        return emit(builder, *values)

    signature = result(*arguments)
    typings = {
        0: lambda _context: (signature, generate),
        1: lambda _context, _one: (signature, generate),
        2: lambda _context, _one, _two: (signature, generate),
        3: lambda _context, _one, _two, _three: (signature, generate),
    }
    function: Callable[..., Vector] = intrinsic(typings[len(arguments)])
    return function


def _of_kind(count: int, emit: _Emit) -> Callable[..., Vector]:
    """Return a function of `count` vectors, 2 or 3, all of bytes or all of words."""

    def checked(*kinds: types.Type) -> _Typed:
        def generate(
            _context: BaseContext,
            builder: ir.IRBuilder,
            _signature: Signature,
            values: list[ir.Value],
        ) -> ir.Value:
            return emit(builder, *values)

        if len(set(kinds)) != 1 or kinds[0] not in {_BYTES, _WORDS}:
            message = f"not vectors of bytes or of words: {kinds}"
            raise TypingError(message)
        return kinds[0](*kinds), generate

    typings = {
        2: lambda _context, one, two: checked(one, two),
        3: lambda _context, one, two, three: checked(one, two, three),
    }
    function: Callable[..., Vector] = intrinsic(typings[count])
    return function


def _define(
    function: Callable[..., object], operand: _VectorType, result: _VectorType, emit: _Emit
) -> None:
    """Define an operator of two vectors."""

    def typer_of(_context: BaseContext) -> Callable[[types.Type, types.Type], types.Type | None]:
        return lambda one, other: result if one == other == operand else None

    def lower(
        _context: BaseContext, builder: ir.IRBuilder, _signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        return emit(builder, *values)

    type_callable(function)(typer_of)
    lower_builtin(function, operand, operand)(lower)


def _comparing(relation: str) -> _Emit:
    return lambda builder, one, other: builder.icmp_signed(relation, one, other)


def _choosing(relation: str, *, signed: bool = True) -> _Emit:
    def emit(builder: ir.IRBuilder, one: ir.Value, other: ir.Value) -> ir.Value:
        compare = builder.icmp_signed if signed else builder.icmp_unsigned
        return builder.select(compare(relation, one, other), one, other)

    return emit


def _load_of(kind: _VectorType) -> Callable[..., _Typed]:
    """Return the typing of a load of a vector; its address need not be aligned."""

    def typed(_context: BaseContext, memory: types.Type, _at: types.Type) -> _Typed:
        def generate(
            context: BaseContext,
            builder: ir.IRBuilder,
            _signature: Signature,
            values: list[ir.Value],
        ) -> ir.Value:
            memory, at = values
            pointer = pointer_to(context, builder, memory, at, kind.size())
            return builder.load(builder.bitcast(pointer, kind.of_llvm().as_pointer()), align=1)

        return kind(memory, types.int64), generate

    return typed


def _store_of(kind: _VectorType) -> Callable[..., _Typed]:
    """Return the typing of a store of a vector; see `_load_of`."""

    def typed(
        _context: BaseContext, memory: types.Type, _at: types.Type, _vector: types.Type
    ) -> _Typed:
        def generate(
            context: BaseContext,
            builder: ir.IRBuilder,
            _signature: Signature,
            values: list[ir.Value],
        ) -> ir.Value:
            memory, at, vector = values
            pointer = pointer_to(context, builder, memory, at, kind.size())
            builder.store(vector, builder.bitcast(pointer, kind.of_llvm().as_pointer()), align=1)
            return context.get_dummy_value()

        return types.none(memory, types.int64, kind), generate

    return typed


def _loading_like(
    context: BaseContext, memory: types.Type, at: types.Type, like: types.Type
) -> _Typed:
    _, generate = _load_of(like)(context, memory, at)

    def generate_like(
        context: BaseContext,
        builder: ir.IRBuilder,
        signature: Signature,
        values: list[ir.Value],
    ) -> ir.Value:
        return generate(context, builder, signature, values[:2])

    return like(memory, types.int64, like), generate_like


def _storing_any(
    context: BaseContext, memory: types.Type, at: types.Type, vector: types.Type
) -> _Typed:
    return _store_of(vector)(context, memory, at, vector)


def _shuffle(builder: ir.IRBuilder, one: ir.Value, other: ir.Value, order: list[int]) -> ir.Value:
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(_INT32, LANES), order))


def _spreading(kind: _VectorType) -> _Emit:
    def emit(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
        undefined = ir.Constant(kind.of_llvm(), ir.Undefined)
        narrow = builder.trunc(number, ir.IntType(kind.bits))
        lane = builder.insert_element(undefined, narrow, _INT32(0))
        return _shuffle(builder, lane, undefined, [0] * LANES)

    return emit


def _saturating(builder: ir.IRBuilder, one: ir.Value, other: ir.Value) -> ir.Value:
    kind = one.type
    name = f"llvm.uadd.sat.v{LANES}i{kind.element.width}"
    function = builder.module.declare_intrinsic(name, (), ir.FunctionType(kind, [kind, kind]))
    return builder.call(function, [one, other])


def _where_different(
    builder: ir.IRBuilder, one: ir.Value, other: ir.Value, vector: ir.Value
) -> ir.Value:
    zero = ir.Constant(vector.type, [0] * LANES)
    return builder.select(builder.icmp_unsigned("==", one, other), zero, vector)


def _where_not_larger(
    builder: ir.IRBuilder, one: ir.Value, other: ir.Value, vector: ir.Value
) -> ir.Value:
    zero = ir.Constant(vector.type, [0] * LANES)
    return builder.select(builder.icmp_unsigned("<=", one, other), vector, zero)


def _highest(builder: ir.IRBuilder, vector: ir.Value) -> ir.Value:
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

load_bytes: Callable[[Memory, Integer], Vector] = intrinsic(_load_of(_BYTES))
"""(memory, offset) -> bytes."""

store_bytes: Callable[[Memory, Integer, Vector], None] = intrinsic(_store_of(_BYTES))
"""(memory, offset, bytes): store the lanes."""

load_ints: Callable[[Memory, Integer], Vector] = intrinsic(_load_of(_INTS))
"""(memory, offset) -> integers."""

store_ints: Callable[[Memory, Integer, Vector], None] = intrinsic(_store_of(_INTS))
"""(memory, offset, integers): store the lanes."""

load_like: Callable[[Memory, Integer, Vector], Vector] = intrinsic(_loading_like)
"""(memory, offset, vector) -> a vector of the same kind."""

store_vector: Callable[[Memory, Integer, Vector], None] = intrinsic(_storing_any)
"""(memory, offset, vector of any kind): store the lanes."""

spread_byte = _function(_BYTES, [types.int64], _spreading(_BYTES))
"""(int64) -> bytes: its low byte in every lane."""

spread_word = _function(_WORDS, [types.int64], _spreading(_WORDS))
"""(int64) -> words: its low 16 bits in every lane."""

spread_int = _function(_INTS, [types.int64], _spreading(_INTS))
"""(int64) -> integers: its low 32 bits in every lane."""

lane_numbers = _function(
    _BYTES, [], lambda _builder: ir.Constant(_BYTES.of_llvm(), list(range(LANES)))
)
"""() -> bytes: 0, 1, 2 and so on."""

widened = _function(_INTS, [_BYTES], lambda builder, vector: builder.sext(vector, _INTS.of_llvm()))
"""(bytes) -> integers: the same numbers."""

shifted = _function(
    _BYTES,
    [_BYTES, _BYTES],
    lambda builder, before, vector: _shuffle(
        builder, before, vector, list(range(LANES - 1, 2 * LANES - 1))
    ),
)
"""(before, vector) -> bytes: the last lane of `before`, then all lanes of `vector` but its last."""

where = _function(_BYTES, [_MASK, _BYTES, _BYTES], ir.IRBuilder.select)
"""(mask, one, other) -> bytes: `one` where the mask is true, `other` elsewhere."""

where_ints = _function(_INTS, [_MASK, _INTS, _INTS], ir.IRBuilder.select)
"""(mask, one, other) -> integers: `one` where the mask is true, `other` elsewhere."""

larger = _function(_BYTES, [_BYTES, _BYTES], _choosing(">"))
"""(one, other) -> bytes: the larger number of each lane."""

smaller = _function(_BYTES, [_BYTES, _BYTES], _choosing("<"))
"""(one, other) -> bytes: the smaller number of each lane."""

larger_unsigned = _function(_BYTES, [_BYTES, _BYTES], _choosing(">", signed=False))
"""(one, other) -> bytes: the larger one of each lane, as unsigned numbers."""

smaller_unsigned = _of_kind(2, _choosing("<", signed=False))
"""(one, other), bytes or words -> the smaller one of each lane, as unsigned numbers."""

saturated_sum = _of_kind(2, _saturating)
"""(one, other), bytes or words -> unsigned sums, the largest number where they do not fit."""

where_different = _of_kind(3, _where_different)
"""(one, other, vector), bytes or words -> 0 where `one` equals `other`, `vector` elsewhere."""

where_not_larger = _of_kind(3, _where_not_larger)
"""(one, other, vector), bytes or words -> `vector` where `one` <= `other`, unsigned, else 0."""

larger_ints = _function(_INTS, [_INTS, _INTS], _choosing(">"))
"""(one, other) -> integers: the larger number of each lane."""

highest_of = _function(types.int64, [_INTS], _highest)
"""(integers) -> int64: the largest number of all lanes."""
