"""Bit operations on 64-bit words that Numba lacks, for compiled functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from llvmlite import ir

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import intrinsic, njit_inlined, types

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing import Signature

_0, _1 = map(np.uint64, (0, 1))
_ALL = np.uint64(2**64 - 1)
_Typed: TypeAlias = tuple["Signature", Callable[..., ir.Value]]
"""The signature of an intrinsic, and the function that writes its LLVM code."""


def _word_function(instruction: str, *, counts: bool) -> Callable[[Integer], Integer]:
    """Return an LLVM intrinsic from word to word.

    One that counts the zeros at one end of a word has a flag too: 64 for zero, not undefined.
    """

    def word_instruction(_context: BaseContext, _word: types.Type) -> _Typed:
        def generate(
            _context: BaseContext,
            builder: ir.IRBuilder,
            _signature: Signature,
            arguments: list[ir.Value],
        ) -> ir.Value:
            word, flag = ir.IntType(64), ir.IntType(1)
            kinds, flags = ([word, flag], [flag(0)]) if counts else ([word], [])
            function = builder.module.declare_intrinsic(
                f"llvm.{instruction}", [word], ir.FunctionType(word, kinds)
            )
            return builder.call(function, [*arguments, *flags])

        return types.uint64(types.uint64), generate

    function: Callable[[Integer], Integer] = intrinsic(word_instruction)
    return function


popcount = _word_function("ctpop", counts=False)
"""uint64 -> uint64: the number of set bits."""

reversed_bits = _word_function("bitreverse", counts=False)
"""uint64 -> uint64: bit i becomes bit 63 - i."""

trailing_zeros = _word_function("cttz", counts=True)
"""uint64 -> uint64: the index of the lowest set bit; 64 for zero."""

leading_zeros = _word_function("ctlz", counts=True)
"""uint64 -> uint64: the number of zeros above the highest set bit; 64 for zero."""


@njit_inlined
def span_mask(start: Integer, end: Integer) -> Integer:
    """Return a word with the bits from `start` to `end` set; both may lie outside the word."""
    upper = _ALL if end >= 64 else (_1 << np.uint64(max(end, 0))) - _1
    if start >= 64:
        return _0
    return upper & (_ALL << np.uint64(max(start, 0)))
