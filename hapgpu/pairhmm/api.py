"""Likelihoods of reads given as text: the part of the Python API that is the pair-HMM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.sequences import Sequences
from hapgpu.errors import HapgpuError, UsageError
from hapgpu.pairhmm.arguments import PairHmmInput, Qualities, hmm_batch
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.runtime.devices import Device, resolve_devices

# Together these keep a GPU busy for longer than a call takes, and little in memory.
_CELLS_AT_ONCE: Final = 2_000_000_000
_BYTES_AT_ONCE: Final = 1 << 27

_PARTS: Final = 6  # of a batch
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

    The model is that of GATK's LoglessPairHMM: `N` matches every base, other bytes are compared
    as they are. Qualities are used as given; what GATK does to those of a BAM file beforehand is
    not done here.

    Parameters
    ----------
    reads
        R sequences, of any length from 1.
    base_qualities, insertion_qualities, deletion_qualities, gap_continuation
        Phred numbers from 0 to 254: of each base, of opening an insertion and a deletion there,
        and of continuing either. Each is a number for all bases of all reads, or a list with an
        entry for each read: a number for all of its bases, or a list, an integer array or bytes
        (the numbers themselves, not FASTQ's letters) with one number per base. A Ragged with the
        rows of the reads is taken as it is.
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
        A sequence is empty or not ASCII, or a read and its qualities do not fit each other or
        the range; the message tells the number of the read or haplotype, from 0.
    UsageError
        An argument is of the wrong kind, such as a single sequence instead of a list, or has
        not one entry for each read.
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

    Batches are gathered, as many as make good use of the device and fit into memory, and
    computed together; no more of them are taken from the iterable than that.

    Parameters
    ----------
    batches
        Tuples of the six arguments of `pair_hmm`: reads, base qualities, insertion qualities,
        deletion qualities, gap continuations, haplotypes.
    device
        As of `pair_hmm`.

    Yields
    ------
    float64[R, H] for each batch, in their order; the values do not depend on the other batches.

    Raises
    ------
    InputError, UsageError, DeviceError
        As `pair_hmm`; what is wrong with a batch is said when its turn comes, with the number of
        the batch, from 0.
    """
    devices, _ = resolve_devices(device)
    return (
        likelihoods for batch in _fused(batches) for likelihoods in _likelihoods(batch, devices[0])
    )


def _fused(batches: Iterable[PairHmmInput]) -> Iterator[HmmBatch]:
    """Join batches until they are worth a call."""
    gathered: list[HmmBatch] = []
    cells = size = 0
    for number, arguments in enumerate(batches):
        batch = _numbered_batch(number, arguments)
        gathered.append(batch)
        cells += batch.cells
        size += _bytes(batch)
        if cells >= _CELLS_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield HmmBatch.concatenate(gathered)
            gathered, cells, size = [], 0, 0
    if gathered:
        yield HmmBatch.concatenate(gathered)


def _numbered_batch(number: int, arguments: PairHmmInput) -> HmmBatch:
    if len(arguments) != _PARTS:
        message = (
            f"batch {number} has {len(arguments)} parts; give reads, base, insertion and deletion "
            "qualities, gap continuations and haplotypes"
        )
        raise UsageError(message)
    try:
        return hmm_batch(arguments)
    except HapgpuError as error:
        message = f"batch {number}: {error}"
        raise type(error)(message) from error


def _bytes(batch: HmmBatch) -> int:
    """Return about what a batch and its likelihoods take in memory."""
    of_reads = _BYTES_PER_BASE * batch.reads.bases.data.size
    return of_reads + batch.haplotypes.data.size + _BYTES_PER_PAIR * batch.pairs


def _likelihoods(batch: HmmBatch, device: Device) -> Iterator[NDArray[np.float64]]:
    """Yield float64[reads, haplotypes] for each region."""
    likelihoods = log10_likelihoods(batch, device)
    shapes = zip(np.diff(batch.read_offsets), np.diff(batch.haplotype_offsets), strict=True)
    for begin, (reads, haplotypes) in zip(batch.pair_offsets[:-1], shapes, strict=True):
        yield likelihoods[begin : begin + reads * haplotypes].reshape(reads, haplotypes)
