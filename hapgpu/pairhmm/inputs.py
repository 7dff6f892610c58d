"""Reads, qualities and haplotypes as callers in Python give them, checked and stored in batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.large_arrays import largest
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.sequences import (
    Sequences,
    checked_ragged,
    checked_rows,
    first_row,
    has_rows,
    is_record,
    listed,
)
from hapgpu.errors import InputError, UsageError
from hapgpu.pairhmm.batches import HmmBatch, HmmReads, uniform_column

Qualities: TypeAlias = (
    int | Sequence[int | bytes | Sequence[int] | NDArray[Any]] | NDArray[Any] | Ragged
)
"""Phred numbers: one for all bases, one or a row per read, or a Ragged with the reads' rows."""

_MAX_QUALITY: Final = 254  # as in GATK


@dataclass(frozen=True, slots=True, eq=False)
class PairHmmInput:
    """The reads and haplotypes of a batch of `pair_hmm_batches`.

    Attributes
    ----------
    reads, haplotypes
        R reads and H haplotypes, of any length from 1: a list of str, bytes or
        pysam.AlignedSegment, or a Ragged of uint8 text. A record gives its bases as aligned.
    base_qualities
        Phred numbers from 0 to 254: the quality of each base. A number for all bases of all reads,
        or a list with an entry for each read: a number for all of its bases, or a list, an integer
        array or bytes (the numbers themselves, not FASTQ's letters) with one number per base. A
        Ragged with the rows of the reads is used as it is. None: the qualities of the records,
        which the reads then have to be.
    insertion_qualities, deletion_qualities, gap_continuations
        Likewise, without None: of opening an insertion that starts with a base, of opening a
        deletion after it, and of continuing either.
    """

    reads: Sequences
    haplotypes: Sequences
    base_qualities: Qualities | None = None
    insertion_qualities: Qualities = 45
    deletion_qualities: Qualities = 45
    gap_continuations: Qualities = 10

    def to_batch(self) -> HmmBatch:
        """Return the checked input as a batch of one group.

        Raises
        ------
        InputError
            A sequence is empty, missing or not ASCII, a read and its qualities differ in length,
            a record has no qualities, or a quality is not from 0 to 254; the message gives the
            number of the read or haplotype, from 0.
        UsageError
            An argument is of the wrong kind.
        """
        bases = checked_rows(self.reads, "read")
        given = self.base_qualities
        columns = [
            _column(_qualities_of(self.reads) if given is None else given, "base qualities", bases),
            _column(self.insertion_qualities, "insertion qualities", bases),
            _column(self.deletion_qualities, "deletion qualities", bases),
            uniform_column(_column(self.gap_continuations, "gap continuations", bases)),
        ]
        haplotypes = checked_rows(self.haplotypes, "haplotype")
        return HmmBatch(
            HmmReads(bases, *columns),
            haplotypes,
            np.array([0, len(bases)], dtype=np.int64),
            np.array([0, len(haplotypes)], dtype=np.int64),
        )


def _qualities_of(reads: Sequences) -> Ragged:
    """Return the base qualities of reads that are records of pysam."""
    if isinstance(reads, Ragged):
        raise UsageError("base qualities: not given; give them, or records of pysam as reads")
    rows = []
    for read, entry in enumerate(listed(reads, "read")):
        if not is_record(entry):
            message = f"read {read}: no base qualities; give them, or records of pysam as reads"
            raise UsageError(message)
        if entry.query_qualities is None:
            raise InputError(f"read {read}: a record without base qualities; give base_qualities")
        rows.append(np.asarray(entry.query_qualities, dtype=np.uint8))
    none = np.empty(0, dtype=np.uint8)
    return Ragged.from_lengths(np.concatenate([none, *rows]), [row.size for row in rows])


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
        values: Sequence[Any] = entries
        numbers = Ragged(np.array([*map(int, values)]), np.arange(len(bases) + 1))
        return np.repeat(_phred(numbers, name), bases.lengths)
    if isinstance(entries, Ragged):
        rows = checked_ragged(entries, name)
    else:
        rows = _joined_qualities(entries, name, bases)
    mismatches = np.flatnonzero(rows.lengths != bases.lengths)
    if mismatches.size:
        read = int(mismatches[0])
        message = (
            f"read {read}: {bases.lengths[read]} bases, but {rows.lengths[read]} {name}; give one"
            " per base"
        )
        raise InputError(message)
    return _phred(rows, name)


def _joined_qualities(entries: Sequence[Any], name: str, bases: Ragged) -> Ragged:
    rows = []
    for read, entry in enumerate(entries):
        if _is_number(entry):
            row = np.full(bases.lengths[read], entry)
        elif isinstance(entry, bytes):
            row = np.frombuffer(entry, dtype=np.uint8)
        else:
            row = _row_of(entry, f"read {read}: {name}")
        if row.ndim != 1:
            message = (
                f"read {read}: {name} of {row.ndim} dimensions; give a whole number, a list of"
                " whole numbers or bytes"
            )
            raise UsageError(message)
        if row.size and row.dtype.kind not in "iu":
            message = f"read {read}: {name} of type {row.dtype}; give whole numbers"
            raise UsageError(message)
        rows.append(
            row if row.size else np.empty(0, dtype=np.uint8)
        )  # a list of none is of float64
    return Ragged.from_lengths(np.concatenate(rows), [row.size for row in rows])


def _row_of(entry: Any, where: str) -> NDArray[Any]:
    """Return an array of any dtype but uint64, which NumPy joins with int64 to float64."""
    try:
        row = np.asarray(entry)
    except ValueError:
        raise UsageError(f"{where} of unequal rows; give a list of whole numbers") from None
    return row.astype(np.int64) if row.dtype == np.uint64 else row


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
