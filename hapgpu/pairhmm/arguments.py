"""Arguments of the pair-HMM's Python API, checked and converted to arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.large_arrays import largest
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.sequences import Sequences, first_row, has_rows, sequence_rows
from hapgpu.errors import InputError, UsageError
from hapgpu.pairhmm.batches import HmmBatch, HmmReads, uniform_column

Qualities = int | Sequence[int | bytes | Sequence[int] | NDArray[Any]] | NDArray[Any] | Ragged
"""Phred numbers: one for all bases, one or a row per read, or a Ragged with the reads' rows."""

PairHmmInput = tuple[Sequences, Qualities, Qualities, Qualities, Qualities, Sequences]
"""Reads, their base, insertion and deletion qualities and gap continuations, and haplotypes."""

_MAX_QUALITY: Final = 254  # as in GATK
_QUALITIES: Final = (
    "base qualities",
    "insertion qualities",
    "deletion qualities",
    "gap continuations",
)


def hmm_batch(arguments: PairHmmInput) -> HmmBatch:
    """Convert the arguments of a call to a batch of one group.

    Raises
    ------
    InputError
        A sequence is empty or not ASCII, a read and its qualities differ in length, or a quality
        is not 0 to 254; the message gives the number of the read or haplotype, from 0.
    UsageError
        An argument is of the wrong kind.
    """
    reads, *qualities, haplotypes = arguments
    bases = _sequences(reads, "read")
    base_qualities, insertions, deletions, continuations = (
        _column(q, name, bases) for q, name in zip(qualities, _QUALITIES, strict=True)
    )
    haplotype_rows = _sequences(haplotypes, "haplotype")
    return HmmBatch(
        HmmReads(bases, base_qualities, insertions, deletions, uniform_column(continuations)),
        haplotype_rows,
        np.array([0, len(bases)], dtype=np.int64),
        np.array([0, len(haplotype_rows)], dtype=np.int64),
    )


def _sequences(argument: Sequences, kind: str) -> Ragged:
    rows = sequence_rows(argument, kind)
    if len(rows) and not rows.lengths.min():
        message = f"{kind} {int(rows.lengths.argmin())}: no bases; give at least one"
        raise InputError(message)
    return rows


def _column(argument: Qualities, name: str, bases: Ragged) -> NDArray[np.uint8]:
    """Return uint8[bases.data.size]: a quality for each base; a number is broadcast."""
    if _is_number(argument):
        one = Ragged(np.full(min(len(bases), 1), argument), np.arange(2))
        return np.broadcast_to(_phred(one, name), bases.data.shape)
    entries = argument
    if not has_rows(entries):
        message = f"{name}: neither a number nor a list; give a whole number, or one entry per read"
        raise UsageError(message)
    if len(entries) != len(bases):
        message = f"{name}: {len(entries)} entries for {len(bases)} reads; give one per read"
        raise UsageError(message)
    if not isinstance(entries, Ragged) and all(map(_is_number, entries)):
        numbers = Ragged(np.asarray(entries), np.arange(len(bases) + 1))
        return np.repeat(_phred(numbers, name), bases.lengths)
    rows = entries if isinstance(entries, Ragged) else _joined_qualities(entries, name, bases)
    if rows.offsets is bases.offsets:
        return _phred(rows, name)
    mismatches = np.flatnonzero(rows.lengths != bases.lengths)
    if mismatches.size:
        read = int(mismatches[0])
        message = (
            f"read {read}: {bases.lengths[read]} bases, but {rows.lengths[read]} {name}; give one"
            " per base"
        )
        raise InputError(message)
    return _phred(rows, name)


def _joined_qualities(argument: Iterable[object], name: str, bases: Ragged) -> Ragged:
    rows = []
    for read, entry in enumerate(argument):
        if _is_number(entry):
            row = np.full(bases.lengths[read], entry)
        elif isinstance(entry, bytes):
            row = np.frombuffer(entry, dtype=np.uint8)
        else:
            row = np.asarray(entry)
        if row.ndim != 1:
            message = (
                f"read {read}: {name} of {row.ndim} dimensions; give a whole number, a list of"
                " whole numbers or bytes"
            )
            raise UsageError(message)
        rows.append(row)
    return Ragged.from_lengths(np.concatenate(rows), [row.size for row in rows])


def _phred(rows: Ragged, name: str) -> NDArray[np.uint8]:
    """Return the elements of rows, one per read, as uint8."""
    data = rows.data
    if not data.size:
        return np.empty(0, dtype=np.uint8)
    if data.dtype.kind not in "iu":
        message = f"{name}: of type {data.dtype}; give whole numbers"
        raise UsageError(message)
    if (data.dtype.kind == "i" and data.min() < 0) or largest(data) > _MAX_QUALITY:
        outside = (data < 0) | (data > _MAX_QUALITY)
        read, value = first_row(rows, outside), data[np.argmax(outside)]
        message = f"read {read}: {value} among its {name}; give 0 to {_MAX_QUALITY}"
        raise InputError(message)
    return np.ascontiguousarray(data, dtype=np.uint8)


def _is_number(argument: object) -> TypeGuard[int | np.integer[Any]]:
    return isinstance(argument, int | np.integer)
