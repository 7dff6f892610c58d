"""Comparisons that a number in a file turns into those of mutants, in Python and compiled code.

Each process maps the file to the same address, which compiled functions contain. So all mutants
are compiled at once, and a copy of a process chooses one. Where the two results of a comparison
differ, its byte of the file is set: only tests in which that happens can notice the mutant.
"""

from __future__ import annotations

import ctypes
import operator
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from tests.mutations.mutants import SWITCHES, SWITCHES_BYTES

NO_MUTANT: Final = -1

_ADDRESS: Final = 1 << 44
_NOTES: Final = 8
"""Offset of the bytes of the mutants; before them is the number of the chosen one, as int64."""
_READ_WRITE, _SHARED_FIXED = 0x3, 0x100001
"""PROT_READ | PROT_WRITE, and MAP_SHARED | MAP_FIXED_NOREPLACE, of Linux."""
_MIN, _END = -(2**63), 2**64
"""Of the integers that compiled code knows."""
_INT64, _BYTE = ir.IntType(64), ir.IntType(8)
_OF_VECTORS: Final = {operator.gt, operator.ge}
_SCALARS: Final = (types.Number, types.Boolean, types.EnumMember)


def _map_file(path: str) -> Any:
    """Return uint8[SWITCHES_BYTES]: the file, at the address."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    with Path(path).open("r+b") as file:
        start = ctypes.c_void_p(_ADDRESS)
        rest = (_READ_WRITE, _SHARED_FIXED, file.fileno(), ctypes.c_long(0))
        found = libc.mmap(start, ctypes.c_size_t(SWITCHES_BYTES), *rest)
    if found != _ADDRESS:
        raise OSError(ctypes.get_errno(), "no memory at the address of the mutants")
    return np.ctypeslib.as_array((ctypes.c_uint8 * SWITCHES_BYTES).from_address(_ADDRESS))


_BYTES: Final = _map_file(os.environ[SWITCHES])
_CHOSEN: Final = _BYTES[:_NOTES].view(np.int64)


def noted() -> list[int]:
    """Return the mutants whose comparison had another result since the last call."""
    notes = _BYTES[_NOTES:]
    found: list[int] = np.flatnonzero(notes).tolist()
    notes[:] = 0
    return found


def choose(mutant: int) -> None:
    """Choose a mutant in all processes that map the file; `NO_MUTANT` chooses none."""
    _CHOSEN[0] = mutant


@intrinsic
def _is_chosen(_context: Any, _mutant: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, given: Any) -> Any:
        pointer = builder.inttoptr(ir.Constant(_INT64, _ADDRESS), _INT64.as_pointer())
        return builder.icmp_signed("==", builder.load(pointer), given[0])

    return types.boolean(types.int64), generate


@intrinsic
def _note(_context: Any, _mutant: Any) -> Any:
    def generate(target: Any, builder: Any, _signature: Any, given: Any) -> Any:
        address = builder.add(ir.Constant(_INT64, _ADDRESS + _NOTES), given[0])
        builder.store(ir.Constant(_BYTE, 1), builder.inttoptr(address, _BYTE.as_pointer()))
        return target.get_dummy_value()

    return types.none(types.int64), generate


def _switch(own: Callable[[Any, Any], Any], other: Callable[[Any, Any], Any]) -> Any:
    """Return a function of a mutant's number and two operands, for Python and compiled code."""

    def in_python(mutant: int, left: Any, right: Any) -> Any:
        before = own(left, right)
        try:
            after = other(left, right)
        except TypeError:
            return before
        if after is not before and np.any(after != before):
            _BYTES[_NOTES + mutant] = 1
        return after if _CHOSEN[0] == mutant else before

    @overload(in_python)
    def _(_mutant: Any, left: Any, right: Any) -> Any:
        if not (isinstance(left, _SCALARS) and isinstance(right, _SCALARS)):

            def unchanged(_mutant: Any, left: Any, right: Any) -> Any:
                return own(left, right)

            def of_vectors(_mutant: Any, left: Any, right: Any) -> Any:
                _note(_mutant)
                return other(left, right) if _is_chosen(_mutant) else own(left, right)

            return of_vectors if {own, other} == _OF_VECTORS else unchanged

        def compiled(_mutant: Any, left: Any, right: Any) -> Any:
            before, after = own(left, right), other(left, right)
            if before != after:
                _note(_mutant)
            return after if _is_chosen(_mutant) else before

        return compiled

    return in_python


def attempt(make: Callable[[], Any], own: Any) -> Any:
    """Return the changed value of a constant; None where there is no number of the same type."""
    try:
        value = make()
    except (ArithmeticError, IndexError, TypeError, ValueError):
        return None
    if type(value) is not type(own) or not isinstance(own, int | float | np.number):
        return None
    return value if isinstance(own, float | np.number) or _MIN <= value < _END else None


def constant(mutant: int, own: Any, changed: Any) -> Any:
    """Return a constant, or its changed value unless that is None; note that it is used."""
    if changed is None:
        return own
    _BYTES[_NOTES + mutant] = 1
    return changed if _CHOSEN[0] == mutant else own


@overload(constant)
def _constant(_mutant: Any, own: Any, _changed: Any) -> Any:
    if types.unliteral(own) != types.unliteral(_changed):

        def unchanged(_mutant: Any, own: Any, _changed: Any) -> Any:
            return own

        return unchanged

    def compiled(_mutant: Any, own: Any, _changed: Any) -> Any:
        _note(_mutant)
        return _changed if _is_chosen(_mutant) else own

    return compiled


lt = _switch(operator.lt, operator.le)
le = _switch(operator.le, operator.lt)
gt = _switch(operator.gt, operator.ge)
ge = _switch(operator.ge, operator.gt)
eq = _switch(operator.eq, operator.ne)
ne = _switch(operator.ne, operator.eq)
