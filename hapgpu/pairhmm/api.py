"""Pair-HMM of the Python API: likelihoods of reads and haplotypes given as sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.large_arrays import largest
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.sequences import Sequences, first_row, has_rows, sequence_rows
from hapgpu.errors import HapgpuError, InputError, UsageError
from hapgpu.pairhmm.batches import HmmBatch, HmmReads, uniform_column
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.runtime.devices import Device, resolve_devices

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

# Enough work to hide the overhead of a call, in little memory.
_CELLS_PER_CALL: Final = 2_000_000_000
_BYTES_PER_CALL: Final = 1 << 27

_ARGUMENTS: Final = 6  # of a batch
_BYTES_PER_BASE: Final = 5  # of a read: the letter and four qualities
_BYTES_PER_PAIR: Final = 8


def pair_hmm(
    reads: Sequences,
    base_qualities: Qualities,
    insertion_qualities: Qualities,
    deletion_qualities: Qualities,
    gap_continuation: Qualities,
    haplotypes: Sequences,
    *,
    device: str = "auto",
) -> NDArray[np.float64]:
    """Compute log10 P(read | haplotype) of all reads with all haplotypes, by GATK's pair-HMM.

    The model is GATK's LoglessPairHMM: `N` matches every base, other bytes are compared as they
    are. Qualities are used as given, without the changes that GATK makes to the qualities of a
    BAM file.

    Parameters
    ----------
    reads
        R sequences, of any length from 1.
    base_qualities, insertion_qualities, deletion_qualities, gap_continuation
        Phred numbers from 0 to 254: of each base, of opening an insertion that starts with it, of
        opening a deletion after it, and of continuing either. Each is a number for all bases of
        all reads, or a list with an entry for each read: a number for all of its bases, or a list,
        an integer array or bytes (the numbers themselves, not FASTQ's letters) with one number per
        base. A Ragged with the rows of the reads is used as it is.
    haplotypes
        H sequences, of any length from 1.
    device
        `auto`, `cpu`, `cuda` or `cuda:N`. The first of several is used.

    Returns
    -------
    float64[R, H], none above 0.

    Raises
    ------
    InputError
        A sequence is empty or not ASCII, a read and its qualities differ in length, or a quality
        is out of range; the message gives the number of the read or haplotype, from 0.
    UsageError
        An argument is of the wrong kind, such as a single sequence instead of a list, or does
        not have one entry for each read.
    DeviceError
        A named device cannot be used.
    """
    devices, _ = resolve_devices(device)
    batch = hmm_batch(
        (
            reads,
            base_qualities,
            insertion_qualities,
            deletion_qualities,
            gap_continuation,
            haplotypes,
        )
    )
    return next(_likelihoods(batch, devices[0]))


def pair_hmm_batches(
    batches: Iterable[PairHmmInput], *, device: str = "auto"
) -> Iterator[NDArray[np.float64]]:
    """Compute the likelihoods of many batches, each as `pair_hmm` does, with little overhead.

    Batches are computed together, as many as use the device well and fit into memory; no more
    batches than these are taken from the iterable.

    Parameters
    ----------
    batches
        Tuples of the six arguments of `pair_hmm`: reads, base qualities, insertion qualities,
        deletion qualities, gap continuations, haplotypes.
    device
        As in `pair_hmm`.

    Yields
    ------
    float64[R, H] for each batch, in order; the likelihoods do not depend on the other batches.

    Raises
    ------
    InputError, UsageError, DeviceError
        As `pair_hmm`; a batch is checked when it is taken from the iterable, and the message
        gives its number, from 0.
    """
    devices, _ = resolve_devices(device)
    return (
        likelihoods for batch in _joined(batches) for likelihoods in _likelihoods(batch, devices[0])
    )


def _joined(batches: Iterable[PairHmmInput]) -> Iterator[HmmBatch]:
    """Join batches until they are large enough for a call."""
    gathered: list[HmmBatch] = []
    cells = size = 0
    for number, arguments in enumerate(batches):
        batch = _numbered_batch(number, arguments)
        gathered.append(batch)
        cells += batch.cells
        size += _bytes(batch)
        if cells >= _CELLS_PER_CALL or size >= _BYTES_PER_CALL:
            yield HmmBatch.concatenate(gathered)
            gathered, cells, size = [], 0, 0
    if gathered:
        yield HmmBatch.concatenate(gathered)


def _numbered_batch(number: int, arguments: PairHmmInput) -> HmmBatch:
    if len(arguments) != _ARGUMENTS:
        message = (
            f"batch {number}: {len(arguments)} arguments; give {_ARGUMENTS}: reads, base, insertion"
            " and deletion qualities, gap continuations and haplotypes"
        )
        raise UsageError(message)
    try:
        return hmm_batch(arguments)
    except HapgpuError as error:
        message = f"batch {number}: {error}"
        raise type(error)(message) from error


def _bytes(batch: HmmBatch) -> int:
    """Return about how many bytes a batch and its likelihoods need."""
    read_bytes = _BYTES_PER_BASE * batch.reads.bases.data.size
    return read_bytes + batch.haplotypes.data.size + _BYTES_PER_PAIR * batch.pairs


def _likelihoods(batch: HmmBatch, device: Device) -> Iterator[NDArray[np.float64]]:
    """Yield float64[reads, haplotypes] for each group."""
    likelihoods = log10_likelihoods(batch, device)
    shapes = zip(np.diff(batch.read_offsets), np.diff(batch.haplotype_offsets), strict=True)
    for start, (reads, haplotypes) in zip(batch.pair_offsets[:-1], shapes, strict=True):
        yield likelihoods[start : start + reads * haplotypes].reshape(reads, haplotypes)


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
