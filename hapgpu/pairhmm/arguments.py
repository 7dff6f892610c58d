"""What callers of the Python API hand over, checked and put into arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.sequences import Sequences, first_row, has_rows, sequence_rows
from hapgpu.errors import InputError, UsageError
from hapgpu.pairhmm.batches import HmmBatch, HmmReads, uniform_column

Qualities = int | Sequence[int | bytes | Sequence[int] | NDArray[Any]] | NDArray[Any] | Ragged
"""Phred numbers: one for all bases, one or a row per read, or a Ragged with the reads' rows."""

PairHmmInput = tuple[Sequences, Qualities, Qualities, Qualities, Qualities, Sequences]
"""Reads, their base, insertion and deletion qualities and gap continuations, and haplotypes."""

_HIGHEST_QUALITY: Final = 254  # GATK's
_QUALITIES: Final = (
    "base qualities",
    "insertion qualities",
    "deletion qualities",
    "gap continuations",
)


def hmm_batch(arguments: PairHmmInput) -> HmmBatch:
    """Turn the arguments of a call into a batch of one region.

    Raises
    ------
    InputError
        A sequence is empty or not ASCII, or a read and its qualities do not fit each other or
        the range of 0 to 254; the message names the read or haplotype, from 0.
    UsageError
        An argument is not of a kind that is taken.
    """
    reads, *qualities, haplotypes = arguments
    bases = _sequences(reads, "read")
    base_calls, insertions, deletions, continuations = (
        _column(q, name, bases) for q, name in zip(qualities, _QUALITIES, strict=True)
    )
    haplotype_rows = _sequences(haplotypes, "haplotype")
    return HmmBatch(
        HmmReads(bases, base_calls, insertions, deletions, uniform_column(continuations)),
        haplotype_rows,
        np.array([0, len(bases)], dtype=np.int64),
        np.array([0, len(haplotype_rows)], dtype=np.int64),
    )


def _sequences(given: Sequences, what: str) -> Ragged:
    rows = sequence_rows(given, what)
    if len(rows) and not rows.lengths.min():
        message = f"{what} {int(rows.lengths.argmin())} has no bases"
        raise InputError(message)
    return rows


def _column(given: Qualities, name: str, bases: Ragged) -> NDArray[np.uint8]:
    """uint8[bases.data.size]: a quality for each base."""
    entries = np.full(len(bases), given) if _is_number(given) else given
    if not has_rows(entries):
        message = f"give the {name} as a whole number, or as a list with an entry per read"
        raise UsageError(message)
    if len(entries) != len(bases):
        message = f"{len(bases)} reads cannot have the {name} of {len(entries)}"
        raise UsageError(message)
    if not isinstance(entries, Ragged) and all(map(_is_number, entries)):
        numbers = Ragged(np.asarray(entries), np.arange(len(bases) + 1))
        return np.repeat(_phred(numbers, name), bases.lengths)
    rows = entries if isinstance(entries, Ragged) else _joined_qualities(entries, name, bases)
    misfits = np.flatnonzero(rows.lengths != bases.lengths)
    if misfits.size:
        read = int(misfits[0])
        message = f"read {read} has {bases.lengths[read]} bases, but {rows.lengths[read]} {name}"
        raise InputError(message)
    return _phred(rows, name)


def _joined_qualities(given: Iterable[object], name: str, bases: Ragged) -> Ragged:
    rows = []
    for read, entry in enumerate(given):
        if _is_number(entry):
            row = np.full(bases.lengths[read], entry)
        elif isinstance(entry, bytes):
            row = np.frombuffer(entry, dtype=np.uint8)
        else:
            row = np.asarray(entry)
        if row.ndim != 1:
            message = f"give the {name} of read {read} as a whole number, a list of them, or bytes"
            raise UsageError(message)
        rows.append(row)
    return Ragged.from_lengths(np.concatenate(rows), [row.size for row in rows])


def _phred(rows: Ragged, name: str) -> NDArray[np.uint8]:
    """Return the elements of rows, one per read, as uint8."""
    data = rows.data
    if not data.size:
        return np.empty(0, dtype=np.uint8)
    if data.dtype.kind not in "iu":
        message = f"the {name} are of type {data.dtype}; give whole numbers"
        raise UsageError(message)
    if data.min() < 0 or data.max() > _HIGHEST_QUALITY:
        outside = (data < 0) | (data > _HIGHEST_QUALITY)
        read, value = first_row(rows, outside), data[np.argmax(outside)]
        message = f"read {read} has {value} among its {name}; give 0 to {_HIGHEST_QUALITY}"
        raise InputError(message)
    return np.ascontiguousarray(data, dtype=np.uint8)


def _is_number(given: object) -> TypeGuard[int | np.integer[Any]]:
    return isinstance(given, int | np.integer)
