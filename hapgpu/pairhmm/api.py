"""Pair-HMM of the Python API: likelihoods of reads and haplotypes given as sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.sequences import Sequences
from hapgpu.errors import HapgpuError, UsageError
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.pairhmm.inputs import PairHmmInput, Qualities
from hapgpu.runtime.devices import Device, first_device
from hapgpu.runtime.progress import showing

# Enough work to hide the overhead of a call, in little memory.
_CELLS_PER_CALL: Final = 2_000_000_000
_BYTES_PER_CALL: Final = 1 << 27

_BYTES_PER_BASE: Final = 5  # of a read: the letter and four qualities
_BYTES_PER_PAIR: Final = 8


def pair_hmm(
    reads: Sequences,
    haplotypes: Sequences,
    *,
    base_qualities: Qualities | None = None,
    insertion_qualities: Qualities = 45,
    deletion_qualities: Qualities = 45,
    gap_continuations: Qualities = 10,
    device: str = "auto",
    threads: int | None = None,
    progress: bool = False,
) -> NDArray[np.float64]:
    """Compute log10 P(read | haplotype) of all reads with all haplotypes, by GATK's pair-HMM.

    The model is GATK's LoglessPairHMM: `N` matches every base, other bytes are compared as they
    are. Qualities are used as given, without the changes that GATK makes to the qualities of a
    BAM file.

    Parameters
    ----------
    reads, haplotypes
        R reads and H haplotypes, of any length from 1: a list of str, bytes or
        pysam.AlignedSegment, or a Ragged of uint8 text. A record gives its bases as aligned (SEQ
        of SAM).
    base_qualities
        Phred numbers from 0 to 254: the quality of each base. A number for all bases of all reads,
        or a list with an entry for each read: a number for all of its bases, or a list, an integer
        array or bytes (the numbers themselves, not FASTQ's letters) with one number per base. A
        Ragged with the rows of the reads is used as it is. None: the qualities of the records,
        which the reads then have to be.
    insertion_qualities, deletion_qualities, gap_continuations
        Likewise, without None: of opening an insertion that starts with a base, of opening a
        deletion after it, and of continuing either.
    device
        `auto`, `cpu`, `cuda` or `cuda:N`. The first of several is used.
    threads
        CPU threads, from 1, if a CPU computes; None: one per usable CPU.
    progress
        Whether to show a bar, in reads.

    Returns
    -------
    float64[R, H], none above 0.

    Raises
    ------
    InputError
        A sequence is empty, missing or not ASCII, a read and its qualities differ in length, a
        record has no qualities, or a quality is out of range; the message gives the number of the
        read or haplotype, from 0.
    UsageError
        An argument is of the wrong kind, such as a single sequence instead of a list, or does
        not have one entry for each read.
    DeviceError
        A named device cannot be used.
    """
    computing = first_device(device, threads)
    batch = PairHmmInput(
        reads,
        haplotypes,
        base_qualities,
        insertion_qualities,
        deletion_qualities,
        gap_continuations,
    ).to_batch()
    likelihoods = np.empty((len(batch.reads), len(batch.haplotypes)))
    with showing("pair-HMM", "reads", len(batch.reads), is_shown=progress) as shown:
        for start, end in _parts(batch):
            part = log10_likelihoods(batch.some_reads(start, end), computing)
            likelihoods[start:end] = part.reshape(end - start, -1)
            shown.advance(end - start)
    return likelihoods


def _parts(batch: HmmBatch) -> Iterator[tuple[int, int]]:
    """Yield the first read and the end of each part of a batch of one group."""
    if not batch.pairs:
        return
    cells = batch.reads.bases.offsets * int(batch.haplotypes.offsets[-1])
    cuts = np.searchsorted(cells, np.arange(_CELLS_PER_CALL, cells[-1], _CELLS_PER_CALL))
    yield from pairwise(np.unique([0, *cuts, len(batch.reads)]).tolist())


def pair_hmm_batches(
    batches: Iterable[PairHmmInput],
    *,
    device: str = "auto",
    threads: int | None = None,
    progress: bool = False,
) -> Iterator[NDArray[np.float64]]:
    """Compute the likelihoods of many batches, each as `pair_hmm` does, with little overhead.

    Batches are computed together, as many as use the device well and fit into memory; no more
    batches than these are taken from the iterable.

    Parameters
    ----------
    batches
        The reads, haplotypes and qualities of each batch.
    device, threads
        As in `pair_hmm`.
    progress
        Whether to show a bar, in batches.

    Yields
    ------
    float64[R, H] for each batch, in order; the likelihoods do not depend on the other batches.

    Raises
    ------
    InputError, UsageError, DeviceError
        As `pair_hmm`; a batch is checked when it is taken from the iterable, and the message
        gives its number, from 0.
    """
    return _computed(batches, first_device(device, threads), is_shown=progress)


def _computed(
    batches: Iterable[PairHmmInput], device: Device, *, is_shown: bool
) -> Iterator[NDArray[np.float64]]:
    with showing("pair-HMM", "batches", None, is_shown=is_shown) as shown:
        for batch in _joined(batches):
            for likelihoods in _likelihoods(batch, device):
                shown.advance(1)
                yield likelihoods


def _joined(batches: Iterable[PairHmmInput]) -> Iterator[HmmBatch]:
    """Join batches until they are large enough for a call, or an error comes after them."""
    gathered: list[HmmBatch] = []
    cells = size = 0
    try:
        for number, given in enumerate(batches):
            batch = _numbered_batch(number, given)
            gathered.append(batch)
            cells += batch.cells
            size += _bytes(batch)
            if cells >= _CELLS_PER_CALL or size >= _BYTES_PER_CALL:
                yield HmmBatch.concatenate(gathered)
                gathered, cells, size = [], 0, 0
    except Exception:
        if gathered:
            yield HmmBatch.concatenate(gathered)
        raise
    if gathered:
        yield HmmBatch.concatenate(gathered)


def _numbered_batch(number: int, given: PairHmmInput) -> HmmBatch:
    if not isinstance(given, PairHmmInput):
        raise UsageError(f"batch {number}: of type {type(given).__name__}; give PairHmmInput")
    try:
        return given.to_batch()
    except HapgpuError as error:
        message = f"batch {number}, {error}"
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
