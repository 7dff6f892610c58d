"""Sequences given to the Python API, checked and stored in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import AnyArray
from hapgpu.arrays.large_arrays import largest
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError, UsageError

Sequences: TypeAlias = Sequence[bytes | str] | Ragged
"""Sequences, as a list of text or as a Ragged of uint8 text."""

_LAST_ASCII: Final = 127


def sequence_rows(given: Sequences, what: str) -> Ragged:
    """Store sequences end to end; a Ragged is returned as it is.

    Parameters
    ----------
    given
        The sequences.
    what
        The kind of sequence, singular, for messages.

    Raises
    ------
    InputError
        A sequence is not ASCII; the message has its number, from 0.
    UsageError
        `given` is neither a list of text nor a Ragged of uint8.
    """
    rows = given if isinstance(given, Ragged) else _joined(given, what)
    if rows.data.dtype != np.uint8:
        message = f"{what}s: a Ragged of {rows.data.dtype}; give a Ragged of uint8"
        raise UsageError(message)
    if rows.data.size and largest(rows.data) > _LAST_ASCII:
        row = first_row(rows, rows.data > _LAST_ASCII)
        message = f"{what} {row}: contains a non-ASCII character; give ASCII text"
        raise InputError(message)
    return rows


def _joined(given: object, what: str) -> Ragged:
    if not has_rows(given):
        message = f"{what}s: not a list; give a list, even for one {what}"
        raise UsageError(message)
    for row, sequence in enumerate(given):
        if not isinstance(sequence, str | bytes):
            message = f"{what} {row}: of type {type(sequence).__name__}; give str or bytes"
            raise UsageError(message)
    # Non-ASCII characters become bytes above 127, which the caller searches in all rows at once.
    return Ragged.from_sequences(
        s.encode(errors="surrogatepass") if isinstance(s, str) else bytes(s) for s in given
    )


def first_row(rows: Ragged, elements: NDArray[np.bool_]) -> int:
    """Return the row of the first true element of a mask over `rows.data`."""
    return int(np.searchsorted(rows.offsets, np.argmax(elements), side="right")) - 1


def has_rows(given: object) -> TypeGuard[Sequence[Any] | AnyArray | Ragged]:
    """Tell whether something is a list of entries; text is not."""
    is_list = isinstance(given, Sequence | np.ndarray | Ragged)
    return is_list and not isinstance(given, str | bytes)
