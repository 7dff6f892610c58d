"""Sequences as callers of the Python API hand them over, checked and put into arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError, UsageError

Sequences: TypeAlias = Sequence[bytes | str] | Ragged
"""Sequences, as text or as uint8 text."""

_LAST_ASCII: Final = 127


def sequence_rows(given: Sequences, what: str) -> Ragged:
    """Put sequences, each of which is a `what`, end to end; a Ragged is taken as it is.

    Raises
    ------
    InputError
        A sequence is not ASCII; the message tells its number, from 0.
    UsageError
        What was given is not a list of text, nor a Ragged of uint8.
    """
    rows = given if isinstance(given, Ragged) else _joined(given, what)
    if rows.data.dtype != np.uint8:
        message = f"the {what}s are a Ragged of {rows.data.dtype}; give one of uint8"
        raise UsageError(message)
    if rows.data.max(initial=0) > _LAST_ASCII:
        message = f"{what} {first_row(rows, rows.data > _LAST_ASCII)} has a letter beyond ASCII"
        raise InputError(message)
    return rows


def _joined(given: object, what: str) -> Ragged:
    if not has_rows(given):
        message = f"give a list of {what}s, also for one"
        raise UsageError(message)
    for row, sequence in enumerate(given):
        if not isinstance(sequence, str | bytes):
            message = f"{what} {row} is of type {type(sequence).__name__}; give str or bytes"
            raise UsageError(message)
    # Letters beyond ASCII become bytes beyond it, which the caller looks for in all rows at once.
    return Ragged.from_sequences(
        s.encode(errors="surrogatepass") if isinstance(s, str) else bytes(s) for s in given
    )


def first_row(rows: Ragged, elements: NDArray[np.bool_]) -> int:
    """Return the row of the first element of a mask."""
    return int(np.searchsorted(rows.offsets, np.argmax(elements), side="right")) - 1


def has_rows(given: object) -> TypeGuard[Sequence[Any] | NDArray[Any] | Ragged]:
    """Tell whether something has one entry per sequence, as text has not."""
    is_list = isinstance(given, Sequence | np.ndarray | Ragged)
    return is_list and not isinstance(given, str | bytes)
