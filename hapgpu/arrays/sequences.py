"""Sequences given to the Python API, checked and stored in arrays."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.large_arrays import largest
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError, UsageError

if TYPE_CHECKING:  # who gives records has imported pysam
    from pysam import AlignedSegment

Sequences: TypeAlias = "Sequence[bytes | str | AlignedSegment] | Ragged"
"""Sequences, as a list of text or of records of pysam, or as a Ragged of uint8 text."""

_LAST_ASCII: Final = 127
_LARGEST: Final = 2**31 - 1
"""Largest position and offset, of either sign; contigs of BAM end there."""


def sequence_rows(
    given: Sequences, what: str, *, as_sequenced: bool = False, first: int = 0
) -> Ragged:
    """Store sequences end to end as uint8; a Ragged is checked, and copied only if it must be.

    Parameters
    ----------
    given
        The sequences.
    what
        The kind of sequence, singular, for messages.
    as_sequenced
        Whether a record on the reverse strand gives the bases as the machine read them, not their
        reverse complement as aligned.
    first
        Number of the first sequence, for messages.

    Raises
    ------
    InputError
        A sequence is not ASCII, or a record has none; the message has its number.
    UsageError
        `given` is neither a list of text or records nor a Ragged of uint8 with ascending offsets.
    """
    if isinstance(given, Ragged):
        rows = checked_ragged(given, f"{what}s")
        if rows.data.dtype != np.uint8:
            message = f"{what}s: a Ragged of {rows.data.dtype}; give a Ragged of uint8"
            raise UsageError(message)
    else:
        rows = _joined(listed(given, what), what, first, as_sequenced=as_sequenced)
    if rows.data.size and largest(rows.data) > _LAST_ASCII:
        row = first + first_row(rows, rows.data > _LAST_ASCII)
        message = f"{what} {row}: contains a non-ASCII character; give ASCII text"
        raise InputError(message)
    return rows


def checked_rows(given: Sequences, what: str) -> Ragged:
    """Store sequences as uint8, as `sequence_rows` does; raise InputError if one is empty."""
    rows = sequence_rows(given, what)
    if len(rows) and not rows.lengths.min():
        message = f"{what} {int(rows.lengths.argmin())}: no bases; give at least one"
        raise InputError(message)
    return rows


def check_counts(expected: int, what: str, **counts: int) -> None:
    """Refuse arguments that do not have one entry for each of `expected` sequences.

    Parameters
    ----------
    expected
        Number of sequences.
    what
        The kind of sequence, singular, for messages.
    **counts
        Number of entries of each argument, by its name.

    Raises
    ------
    UsageError
        An argument has more or fewer entries.
    """
    for name, count in counts.items():
        if count != expected:
            raise UsageError(f"{name}: {count} for {expected} {what}s; give one per {what}")


def checked_ragged(given: Ragged, names: str) -> Ragged:
    """Return a Ragged, of any dtype, that compiled functions may read; copy it only if it must be.

    Parameters
    ----------
    given
        Any dtype, as a caller made it: with any offsets, or without arrays.
    names
        The kind of its rows, plural, for messages.

    Raises
    ------
    UsageError
        The data are no array of one dimension, or the offsets do not divide it into rows.
    """
    data, offsets = given.data, given.offsets
    if not (isinstance(data, np.ndarray) and data.ndim == 1):
        raise UsageError(f"{names}: a Ragged without data of one dimension; give such an array")
    if not (isinstance(offsets, np.ndarray) and offsets.ndim == 1 and offsets.dtype.kind in "iu"):
        raise UsageError(f"{names}: a Ragged without offsets of whole numbers; give int64[n + 1]")
    if not offsets.size or offsets[0] != 0 or offsets[-1] != data.size:
        raise UsageError(f"{names}: offsets do not go from 0 to {data.size:,}; correct them")
    is_before = offsets[1:] < offsets[:-1]
    if is_before.any():
        row = int(is_before.argmax())
        raise UsageError(f"{names}: row {row} ends before it starts; give ascending offsets")
    if data.flags.c_contiguous and offsets.flags.c_contiguous and offsets.dtype == np.int64:
        return given
    return Ragged(np.ascontiguousarray(data), np.ascontiguousarray(offsets, dtype=np.int64))


def _joined(given: Sequence[Any], what: str, first: int, *, as_sequenced: bool) -> Ragged:
    if (rows := _joined_texts(given)) is not None:
        return rows
    # Non-ASCII characters become bytes above 127, which the caller searches in all rows at once.
    return Ragged.from_sequences(
        _bytes_of(entry, row, what, as_sequenced=as_sequenced)
        for row, entry in enumerate(given, first)
    )


def _joined_texts(given: Sequence[Any]) -> Ragged | None:
    """Join a list of ASCII str, or of bytes, without a step of Python per entry.

    Return None for other entries.
    """
    if type(given) is not list or not given:
        return None
    if isinstance(given[0], str):
        try:
            text = "".join(given)
        except TypeError:
            return None
        if not text.isascii():
            return None
        data = text.encode()
    elif set(map(type, given)) == {bytes}:
        data = b"".join(given)
    else:
        return None
    lengths = np.fromiter(map(len, given), dtype=np.int64, count=len(given))
    if lengths.sum() != len(data):  # of a class with a length of its own
        return None
    return Ragged.from_lengths(np.frombuffer(data, dtype=np.uint8), lengths)


def _bytes_of(entry: object, row: int, what: str, *, as_sequenced: bool) -> bytes:
    if is_record(entry):
        text: str | None = entry.get_forward_sequence() if as_sequenced else entry.query_sequence
        if text is None:
            raise InputError(f"{what} {row}: a record without a sequence; leave it out")
        return text.encode()
    if isinstance(entry, str):
        return entry.encode(errors="surrogatepass")
    if isinstance(entry, bytes):
        return entry
    kind = type(entry).__name__
    raise UsageError(f"{what} {row}: of type {kind}; give str, bytes or pysam.AlignedSegment")


def is_record(entry: object) -> TypeGuard[AlignedSegment]:
    """Tell whether something is a record of pysam, which need not be imported."""
    pysam = sys.modules.get("pysam")
    return pysam is not None and isinstance(entry, pysam.AlignedSegment)


def record_names(given: Sequences) -> list[str] | None:
    """Return the names of a list of records of pysam; None if any entry is something else."""
    if isinstance(given, Ragged) or len(given) == 0:
        return None
    names = [entry.query_name or "" for entry in given if is_record(entry)]
    return names if len(names) == len(given) else None


def first_row(rows: Ragged, elements: NDArray[np.bool_]) -> int:
    """Return the row of the first true one of `elements`, bool[c].

    They are a mask over the data of `rows`, of any dtype.
    """
    return int(np.searchsorted(rows.offsets, np.argmax(elements), side="right")) - 1


def listed(given: object, what: str) -> Sequence[Any]:
    """Return a list of entries as it is.

    Raises
    ------
    UsageError
        It is something else, such as the text of a single sequence; the message has `what`.
    """
    if not has_rows(given):
        message = f"{what}s: not a list; give a list, even for one {what}"
        raise UsageError(message)
    return given


def has_rows(given: object) -> TypeGuard[Sequence[Any]]:
    """Tell whether something is a list of entries, such as an array or a Ragged; text is not."""
    if isinstance(given, np.ndarray):
        return given.ndim > 0
    return isinstance(given, Sequence | Ragged) and not isinstance(given, str | bytes)


def whole_numbers(
    given: Sequence[int] | NDArray[np.integer[Any]],
    what: str,
    lowest: int = -_LARGEST,
    highest: int = _LARGEST,
) -> NDArray[np.int64]:
    """Return int64[n]: a list of whole numbers, or an array of any integer dtype.

    Parameters
    ----------
    given
        n numbers, any integer dtype.
    what
        The kind of number, singular, for messages.
    lowest, highest
        The range of the numbers.

    Raises
    ------
    UsageError
        They are something else, or outside the range.
    """
    numbers = np.asarray(listed(given, what))
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise UsageError(f"{what}s: of type {numbers.dtype}; give whole numbers")
    is_outside = (numbers > highest) | (numbers < lowest)
    if is_outside.any():
        row = int(is_outside.argmax())
        raise UsageError(f"{what} {row}: {numbers[row]}; give numbers up to {highest:,}")
    return numbers.astype(np.int64)
