"""Bit operations on 64-bit words that Numba lacks, for compiled functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import intrinsic, njit_inlined, types

_0, _1 = map(np.uint64, (0, 1))
_ALL = np.uint64(2**64 - 1)


def _unary(instruction: str) -> Any:
    """Return an LLVM intrinsic from word to word."""

    def word_instruction(_: Any, __: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            word = ir.IntType(64)
            function = builder.module.declare_intrinsic(
                f"llvm.{instruction}", [word], ir.FunctionType(word, [word])
            )
            return builder.call(function, arguments)

        return types.uint64(types.uint64), generate

    return intrinsic(word_instruction)


def _counting(instruction: str) -> Any:
    """Return an LLVM intrinsic that counts the zeros at one end of a word; 64 for zero."""

    def counting_instruction(_: Any, __: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            word, flag = ir.IntType(64), ir.IntType(1)
            function = builder.module.declare_intrinsic(
                f"llvm.{instruction}", [word], ir.FunctionType(word, [word, flag])
            )
            return builder.call(function, [*arguments, flag(0)])

        return types.uint64(types.uint64), generate

    return intrinsic(counting_instruction)


popcount = _unary("ctpop")
"""uint64 -> uint64: the number of set bits."""

reversed_bits = _unary("bitreverse")
"""uint64 -> uint64: bit i becomes bit 63 - i."""

trailing_zeros = _counting("cttz")
"""uint64 -> uint64: the index of the lowest set bit; 64 for zero."""

leading_zeros = _counting("ctlz")
"""uint64 -> uint64: the number of zeros above the highest set bit; 64 for zero."""


def _loading(_: Any, __: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(types.intp), generate


load_u64 = intrinsic(_loading)
"""intp -> uint64: eight bytes, little-endian; the address need not be aligned."""


@njit_inlined
def span_mask(start: Integer, end: Integer) -> Integer:
    """Return a word with the bits from `start` to `end` set; both may lie outside the word."""
    upper = _ALL if end >= 64 else (_1 << np.uint64(max(end, 0))) - _1
    if start >= 64:
        return _0
    return upper & (_ALL << np.uint64(max(start, 0)))
