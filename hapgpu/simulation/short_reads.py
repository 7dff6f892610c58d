"""Short reads from random positions: as FASTQ from an indexed reference, or aligned already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bgzf.pieces import Allocate
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.runtime.jit import njit
from hapgpu.shortread.index.fm_index import BLOCK, FMIndexArrays
from hapgpu.shortread.sam.fields import COMPLEMENTS
from hapgpu.simulation.sequences import (
    NAME_DIGITS,
    numbered_names,
    put_fastq_end,
    random_bases,
    replace_bases,
)

READ_LENGTH: Final = 100
ERROR_RATE: Final = 0.005
REFERENCE_LENGTH: Final = 10_000_000
"""Bases of the reference of `simulated_reads`."""

_LETTERS: Final = np.frombuffer(b"ACGTN", dtype=np.uint8)
_N: Final = ord("N")
_NAME: Final = b"@read"
_NEWLINE: Final = ord("\n")
_QUALITY: Final = ord("I")
_RECORD_LENGTH: Final = len(_NAME) + NAME_DIGITS + 2 * READ_LENGTH + len(b"\n\n+\n\n")
_ALIGNED_LENGTH: Final = 150
_ALIGNED_SEED: Final = 20
_REPLACED: Final = 0.003
_PAIRED_AND_PROPER: Final = (99, 147, 83, 163)


def simulated_blocks(
    index: FMIndexArrays, count: int, block_bytes: int, allocate: Allocate, seed: int = 1
) -> Iterator[ReadBlock]:
    """Draw reads of 100 bases from an indexed reference, as FASTQ.

    They start at any position, on either strand, and 0.5 % of their bases are wrong. Positions
    from which a read would leave its contig or hold a letter other than A, C, G and T yield none.

    Parameters
    ----------
    index
        Index of the reference.
    count
        Positions drawn.
    block_bytes
        A block has at most this many bytes, or one record.
    allocate
        Allocates the memory of each block.
    seed
        Seed of the random numbers.
    """
    letters, offsets = _letters_of(index), index.contigs.offsets
    rng = np.random.default_rng(seed)
    per_block = max(block_bytes // _RECORD_LENGTH, 1)
    made = 0
    for done in range(0, count, per_block):
        bases = _drawn_reads(letters, offsets, min(per_block, count - done), rng)
        if not len(bases):
            continue
        size = len(bases) * _RECORD_LENGTH
        text = allocate(size)[:size]
        names = numbered_names(_NAME, np.arange(made, made + len(bases)))
        _put_records(read_only(names), read_only(bases), text)
        yield ReadBlock(text, is_fasta=False, first=made + 1, name="simulated reads")
        made += len(bases)


def _drawn_reads(
    letters: NDArray[np.uint8], offsets: NDArray[np.int64], count: int, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """Draw the bases of reads, uint8[r, READ_LENGTH], r at most `count`."""
    starts = rng.integers(0, max(letters.size - READ_LENGTH, 0) + 1, count)
    contigs, last_contigs = (
        np.searchsorted(offsets, positions, side="right")
        for positions in (starts, starts + (READ_LENGTH - 1))
    )
    starts = starts[contigs == last_contigs]
    bases: NDArray[np.uint8] = letters[starts[:, None] + np.arange(READ_LENGTH)]
    bases = bases[(bases != _N).all(axis=1)]
    replace_bases(bases, ERROR_RATE * 4 / 3, rng, np.float32, np.uint8)
    is_reverse = rng.random(len(bases)) < 0.5
    bases[is_reverse] = COMPLEMENTS[bases[is_reverse, ::-1]]
    return bases


def _letters_of(index: FMIndexArrays) -> NDArray[np.uint8]:
    """Return a letter for each position, N where there is no base."""
    planes = index.bases.planes.reshape(-1, 2)
    codes = _bits(planes[:, 0]) | _bits(planes[:, 1]) << np.uint8(1)
    codes[_bits(index.bases.others) > 0] = 4
    return _LETTERS[codes[BLOCK : BLOCK + int(index.contigs.offsets[-1])]]


def _bits(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the bits of words, uint8, the lowest of each first."""
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")


@njit
def _put_records(
    names: NDArray[np.uint8], bases: NDArray[np.uint8], out: NDArray[np.uint8]
) -> None:
    """Write reads as FASTQ; the names have their `@`."""
    at: Integer = np.int64(0)
    for row in range(bases.shape[0]):
        for letter in names[row]:
            out[at] = letter
            at += 1
        out[at] = _NEWLINE
        at += 1
        for letter in bases[row]:
            out[at] = letter
            at += 1
        at = put_fastq_end(out, at, bases.shape[1], _QUALITY)


def simulated_reads(count: int) -> ReadBatch:
    """Make aligned pairs of 150 bases like those of an Illumina instrument, sorted by position.

    They are always the same: alignments without gaps to a random reference of one contig.
    """
    rng = np.random.default_rng(_ALIGNED_SEED)
    reference = random_bases(REFERENCE_LENGTH, rng)
    positions = np.sort(rng.integers(0, REFERENCE_LENGTH - 500, count)).astype(np.int32)
    bases = reference[positions[:, None] + np.arange(_ALIGNED_LENGTH)]
    replace_bases(bases, _REPLACED, rng)
    lengths = np.full(count, _ALIGNED_LENGTH)
    template_lengths = rng.integers(200, 450, count).astype(np.int32)
    return ReadBatch(
        names=Ragged.from_sequences(
            f"A00741:43:HNCCWDSXX:{k % 4 + 1}:{1101 + k % 577}:{k % 32749}:{k * 7 % 36991}"
            for k in range(count)
        ),
        flags=rng.choice(np.array(_PAIRED_AND_PROPER, dtype=np.uint16), count),
        reference_ids=np.zeros(count, dtype=np.int32),
        positions=positions,
        mapping_qualities=rng.choice(np.array([60, 60, 60, 27], dtype=np.uint8), count),
        cigars=Ragged.from_lengths(
            np.full(count, _ALIGNED_LENGTH << 4, dtype=np.uint32), [1] * count
        ),
        mate_reference_ids=np.zeros(count, dtype=np.int32),
        mate_positions=positions + template_lengths - _ALIGNED_LENGTH,
        template_lengths=template_lengths,
        bases=Ragged.from_lengths(bases.ravel(), lengths),
        qualities=Ragged.from_lengths(_novaseq_qualities(rng, count).ravel(), lengths),
        tags=Ragged.from_sequences(
            b"NMC%cMDZ%d\0ASC%cXSC%cMCZ150M\0RGZHG002.L%d\0"
            % (k % 3, _ALIGNED_LENGTH, 150 - k % 9, k % 40, k % 4)
            for k in range(count)
        ),
    )


def _novaseq_qualities(rng: np.random.Generator, count: int) -> NDArray[np.uint8]:
    """Draw qualities, uint8[count, 150]: four values, mostly the best, worse towards the end."""
    shape = (count, _ALIGNED_LENGTH)
    is_lower = rng.random(shape) < np.linspace(0.02, 0.15, _ALIGNED_LENGTH)
    qualities = np.full(shape, 37, dtype=np.uint8)
    qualities[is_lower] = rng.choice(np.array([25, 25, 11, 2], dtype=np.uint8), int(is_lower.sum()))
    return qualities
