"""Pileups of reads at positions."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    Memory,
    memory_of,
    part_of,
    read_64,
    read_i32,
    read_u8,
    read_u16,
    read_u32,
    write_8,
    write_64,
)
from hapgpu.arrays.ragged_memory import RaggedMemory, row_memory
from hapgpu.arrays.ragged_view import read_only
from hapgpu.arrays.read_columns import ReadColumns
from hapgpu.cigar.encoding import DELETION, INSERTION, SOFT_CLIP
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.bam.constants import QUERY_OPERATIONS, REFERENCE_OPERATIONS
from hapgpu.runtime.jit import njit, njit_inlined

FRACTION_BITS: Final = 40
"""Sums of log10 likelihoods are integers in units of 2**-40: they do not depend on their order. An
element is rounded by less than 1e-12; a sum of 300,000 elements of any quality fits into int64."""
DELETION_QUALITY: Final = 30
"""Phred quality of a deletion at a locus."""
_DELETION_ROW: Final = 512
"""Row of a deletion in the table of elements."""
_TABLE_STEP: Final = 1e-4
_TABLE_END: Final = 8.0

_MAX_TEMPLATE: Final = 100
"""Bases inside adaptors are excluded if the signed TLEN is at most this."""
_MIN_CLIP_QUALITY: Final = 28
"""Soft-clipped bases count above this quality."""
_PAIRED, _MATE_UNMAPPED, _REVERSE, _MATE_REVERSE = 0x1, 0x8, 0x10, 0x20
_ALIGNED: Final = QUERY_OPERATIONS & REFERENCE_OPERATIONS
_CLIPS: Final = 1 << SOFT_CLIP
_CIGAR_BYTES: Final = 4
_ROW_BYTES: Final = 16
"""Bytes of a row of the table, and of the sums of a locus."""
_BOUNDARIES: Final = 1 << INSERTION | 1 << DELETION | _CLIPS
"""Mask of the operations next to which a base is an alternate element."""


class Pileup(NamedTuple):
    """Sums over the elements at p consecutive loci of n samples.

    Attributes
    ----------
    ratios
        int64[n, p, 2]: log10 likelihood ratios of 0/1 and 1/1 to 0/0, in units of
        2**-`FRACTION_BITS`.
    is_covered
        bool[n, p]: the sample has an element, of any quality.
    clip_reads
        int32[p]: alternate elements next to soft clips, of all samples.
    clip_bases
        int64[p]: the soft-clipped bases of high quality of their reads.
    """

    ratios: NDArray[np.int64]
    is_covered: NDArray[np.bool_]
    clip_reads: NDArray[np.int32]
    clip_bases: NDArray[np.int64]


class _Loci(NamedTuple):
    """The loci, the table of elements, and the columns of the `Pileup` that is filled."""

    start: int
    reference: NDArray[np.uint8]
    table: NDArray[np.int64]
    ratios: NDArray[np.int64]
    is_covered: NDArray[np.bool_]
    clip_reads: NDArray[np.int32]
    clip_bases: NDArray[np.int64]


def pileup_of(
    reads: ReadBatch,
    samples: NDArray[np.int32],
    count: int,
    reference: ReferenceSlice,
    start: int,
    end: int,
    *,
    min_quality: int,
    table: NDArray[np.int64] | None = None,
) -> Pileup:
    """Sum up the elements at loci.

    Parameters
    ----------
    reads
        n mapped reads of one contig, in any order.
    samples
        int32[n], below `count`.
    count
        Number of samples.
    reference
        Reference that holds the loci.
    start, end
        The loci, 0-based, half-open.
    min_quality
        Bases count above this quality.
    table
        int64[512, 2]: ratios of two other genotypes, in the form of `element_table`.

    Raises
    ------
    ValueError
        The reference does not hold the loci, a sample does not exist, or a CIGAR is not as long as
        the bases.
    """
    if not reference.start <= start <= end <= reference.end:
        raise ValueError("the reference does not hold the loci")
    if samples.size != len(reads) or np.any((samples < 0) | (samples >= count)):
        raise ValueError("reads and samples differ")
    size = end - start
    pileup = Pileup(
        np.zeros((count, size, 2), dtype=np.int64),
        np.zeros((count, size), dtype=np.bool_),
        np.zeros(size, dtype=np.int32),
        np.zeros(size, dtype=np.int64),
    )
    bases = read_only(reference.bases[start - reference.start : end - reference.start])
    ratios = element_table(min_quality) if table is None else table
    loci = _Loci(start, bases, read_only(ratios), *pileup)
    offsets = np.empty(size, dtype=np.int64)
    damaged = _add_reads(ReadColumns.from_batch(reads), read_only(samples), loci, offsets)
    if damaged >= 0:
        raise ValueError(f"read {damaged}: CIGAR and bases differ in length")
    return pileup


class _Memory(NamedTuple):
    """Bytes of the columns of reads and loci that each base needs, and `offsets`, scratch memory.

    `offsets` are int64, one per locus: those of the elements of a read in the table.
    """

    positions: Memory
    cigars: RaggedMemory
    base_offsets: Memory
    bases: Memory
    qualities: Memory
    reference: Memory
    table: Memory
    ratios: Memory
    is_covered: Memory
    offsets: Memory


@njit
def _add_reads(
    reads: ReadColumns, samples: NDArray[np.int32], loci: _Loci, offsets: NDArray[np.int64]
) -> int:
    """Add all reads; return the first row whose CIGAR is not as long as its bases, or -1.

    `offsets`, int64 per locus, is scratch memory. It is of the caller, because Numba frees an array
    after its last use by name.
    """
    size = loci.reference.size
    memory = _Memory(
        memory_of(reads.positions),
        RaggedMemory(memory_of(reads.cigars), memory_of(reads.cigar_offsets)),
        memory_of(reads.base_offsets),
        memory_of(reads.bases),
        memory_of(reads.qualities),
        memory_of(loci.reference),
        memory_of(loci.table),
        memory_of(loci.ratios),
        memory_of(loci.is_covered),
        memory_of(offsets),
    )
    mates = _Mates(
        memory_of(reads.flags),
        memory_of(reads.mate_reference_ids),
        memory_of(reads.mate_positions),
        memory_of(reads.template_lengths),
    )
    for row in range(reads.flags.size):
        cigar = row_memory(memory.cigars, row, _CIGAR_BYTES)
        reference_length, query_length = _lengths(cigar)
        if query_length != reads.base_offsets[row + 1] - reads.base_offsets[row]:
            return row
        position = np.int64(reads.positions[row])
        start, end = _outside_adaptors(mates, row, position, reference_length)
        first = max(start - loci.start, np.int64(0))
        last = min(end - loci.start, np.int64(size))
        if first < last:
            of_sample = np.int64(samples[row]) * size
            _add_elements(memory, row, position - loci.start, of_sample, first, last)
            if cigar.size > _CIGAR_BYTES:
                _make_ends_alternate(reads, row, samples[row], loci, first, last)
    return -1


@njit_inlined
def _lengths(cigar: Memory) -> tuple[Integer, Integer]:
    """Return the number of reference bases and of read bases of a CIGAR."""
    reference_length, query_length = np.int64(0), np.int64(0)
    for at in range(0, cigar.size, _CIGAR_BYTES):
        element = read_u32(cigar, at)
        operation, length = element & 15, element >> 4
        reference_length += length * (REFERENCE_OPERATIONS >> operation & 1)
        query_length += length * (QUERY_OPERATIONS >> operation & 1)
    return reference_length, query_length


class _Mates(NamedTuple):
    """Bytes of the columns of reads that are about their mates."""

    flags: Memory
    reference_ids: Memory
    positions: Memory
    template_lengths: Memory


@njit_inlined
def _outside_adaptors(
    mates: _Mates, row: Integer, start: Integer, reference_length: Integer
) -> tuple[Integer, Integer]:
    """Return start and end of a read without its bases inside an adaptor.

    Those are before the start of the mate (reverse reads), or after the end of the fragment.
    """
    end = start + reference_length
    flags = read_u16(mates.flags, 2 * row)
    template = np.int64(read_i32(mates.template_lengths, 4 * row))
    mate = read_i32(mates.positions, 4 * row)
    is_reverse = flags & _REVERSE != 0
    if (
        template == 0
        or template > _MAX_TEMPLATE
        or flags & _PAIRED == 0
        or flags & _MATE_UNMAPPED != 0
        or read_i32(mates.reference_ids, 4 * row) < 0
        or mate < 0
        or is_reverse == (flags & _MATE_REVERSE != 0)
    ):
        return start, end
    if is_reverse:
        return (max(start, mate) if end > mate + 1 else start), end
    return start, (min(end, start + abs(template)) if start <= mate + template else end)


@njit
def _add_elements(
    memory: _Memory,
    row: Integer,
    locus: Integer,
    of_sample: Integer,
    first: Integer,
    last: Integer,
) -> None:
    """Add the elements of a read at the loci first to last.

    `locus` is the first locus of the read, and `of_sample` that of the sample in the sums.
    """
    at = np.int64(locus)
    base = read_64(memory.base_offsets, 8 * row)
    cigar = row_memory(memory.cigars, row, _CIGAR_BYTES)
    for k in range(0, cigar.size, _CIGAR_BYTES):
        element = read_u32(cigar, k)
        operation, length = element & 15, element >> 4
        left, right = max(at, first), min(at + length, last)
        if left < right:
            if _ALIGNED >> operation & 1:
                _add_bases(memory, base + left - at, left, right - left, of_sample)
            elif operation == DELETION:
                _add_deletion(memory, left, right - left, of_sample)
        base += length * (QUERY_OPERATIONS >> operation & 1)
        at += length * (REFERENCE_OPERATIONS >> operation & 1)


@njit_inlined
def _add_bases(
    memory: _Memory, base: Integer, locus: Integer, count: Integer, of_sample: Integer
) -> None:
    """Add so many bases from `base` on at the loci from `locus` on.

    The offsets in the table come first, then the sums: so the compiler makes vectors of both.
    """
    bases, qualities = part_of(memory.bases, base, count), part_of(memory.qualities, base, count)
    reference = part_of(memory.reference, locus, count)
    for k in range(count):
        is_other = np.int64(read_u8(bases, k) != read_u8(reference, k))
        offset = _ROW_BYTES * (read_u8(qualities, k) + 256 * is_other)
        write_64(memory.offsets, 8 * k, offset)
    is_covered = part_of(memory.is_covered, of_sample + locus, count)
    for k in range(count):
        write_8(is_covered, k, 1)
    ratios = part_of(memory.ratios, _ROW_BYTES * (of_sample + locus), _ROW_BYTES * count)
    for k in range(count):
        _add_element(memory.table, read_64(memory.offsets, 8 * k), ratios, _ROW_BYTES * k)


@njit_inlined
def _add_element(table: Memory, offset: Integer, ratios: Memory, to: Integer) -> None:
    """Add a row of the table to the sums of a locus."""
    first = read_64(ratios, to) + read_64(table, offset)
    second = read_64(ratios, to + 8) + read_64(table, offset + 8)
    write_64(ratios, to, first)
    write_64(ratios, to + 8, second)


@njit
def _add_deletion(memory: _Memory, locus: Integer, count: Integer, of_sample: Integer) -> None:
    """Add a deletion at so many loci from `locus` on."""
    offset = _ROW_BYTES * _DELETION_ROW
    for at in range(of_sample + locus, of_sample + locus + count):
        write_8(memory.is_covered, at, 1)
        _add_element(memory.table, offset, memory.ratios, _ROW_BYTES * at)


@njit
def _make_ends_alternate(
    reads: ReadColumns, row: Integer, sample: Integer, loci: _Loci, first: Integer, last: Integer
) -> None:
    """Make the bases of a read next to an indel or a soft clip alternate elements."""
    locus, base = np.int64(reads.positions[row]) - loci.start, reads.base_offsets[row]
    elements_end = reads.cigar_offsets[row + 1]
    before = np.int64(0)  # mask of the operation of the previous CIGAR element
    for k in range(reads.cigar_offsets[row], elements_end):
        operation, length = np.int64(reads.cigars[k] & 15), np.int64(reads.cigars[k] >> 4)
        after = np.int64(0)
        if k + 1 < elements_end:
            after = np.int64(1) << np.int64(reads.cigars[k + 1] & 15)
        if _ALIGNED >> operation & 1:
            for side in range(min(length, np.int64(2))):
                at = locus + side * (length - 1)
                touching = before if side == 0 else after
                if length == 1:
                    touching |= after
                if touching & _BOUNDARIES and first <= at < last:
                    counts = _make_alternate(reads, base + at - locus, sample, loci, at)
                    if counts and touching & _CLIPS:
                        loci.clip_reads[at] += 1
                        loci.clip_bases[at] += _clipped_bases(reads, row)
        before = np.int64(1) << operation
        if QUERY_OPERATIONS >> operation & 1:
            base += length
        if REFERENCE_OPERATIONS >> operation & 1:
            locus += length


@njit_inlined
def _make_alternate(
    reads: ReadColumns, base: Integer, sample: Integer, loci: _Loci, at: Integer
) -> bool:
    """Replace a base that equals the reference; return whether its quality counts."""
    quality = np.int64(reads.qualities[base])
    if reads.bases[base] == loci.reference[at]:
        for k in range(2):
            loci.ratios[sample, at, k] += loci.table[256 + quality, k] - loci.table[quality, k]
    return bool(loci.table[quality, 1] != 0)


@njit
def _clipped_bases(reads: ReadColumns, row: Integer) -> Integer:
    """Return the number of soft-clipped bases of high quality of a read."""
    count = np.int64(0)
    base = reads.base_offsets[row]
    for k in range(reads.cigar_offsets[row], reads.cigar_offsets[row + 1]):
        operation, length = reads.cigars[k] & 15, np.int64(reads.cigars[k] >> 4)
        if operation == SOFT_CLIP:
            for at in range(base, base + length):
                count += reads.qualities[at] > _MIN_CLIP_QUALITY
        if QUERY_OPERATIONS >> operation & 1:
            base += length
    return count


def log10_sum(first: float, second: float) -> float:
    """Return log10(10**first + 10**second) as GATK's table does, in steps of 1e-4."""
    larger, difference = max(first, second), abs(first - second)
    if difference >= _TABLE_END:
        return larger
    step = np.floor(difference / _TABLE_STEP + 0.5)
    return float(larger + np.log10(1.0 + 10.0 ** (-step * _TABLE_STEP)))


def element_pair(quality: int) -> tuple[float, float]:
    """Return the log10 likelihoods of an element given its own allele, and given another one."""
    correct = float(np.log10(1.0 - 10.0 ** (-quality / 10.0)))
    return correct, -quality / 10.0 - float(np.log10(3.0))


def element_likelihoods(quality: int) -> tuple[float, float, float]:
    """Return the log10 likelihoods of 0/0, 0/1 and 1/1 given one reference base.

    An error makes each of the three other bases with a third of its probability. For an alternate
    element, the order is 1/1, 0/1, 0/0.
    """
    correct, error = element_pair(quality)
    return correct, log10_sum(correct, error) - float(np.log10(2.0)), error


@cache
def element_table(min_quality: int) -> NDArray[np.int64]:
    """Return int64[513, 2]: log10 ratios of 0/1 and 1/1 to 0/0, in units of 2**-`FRACTION_BITS`.

    Row `quality` is of a base equal to the reference, row `256 + quality` of an alternate element;
    both are 0 for qualities at most `min_quality`, which do not count. The last row is of a
    deletion, which always counts.
    """
    table = np.zeros((_DELETION_ROW + 1, 2), dtype=np.int64)
    for quality in range(1, 256):
        same, heterozygous, other = element_likelihoods(quality)
        ratios = np.array([heterozygous - same, other - same])
        table[quality] = np.rint(np.ldexp(ratios, FRACTION_BITS))
        ratios = np.array([heterozygous - other, same - other])
        table[256 + quality] = np.rint(np.ldexp(ratios, FRACTION_BITS))
    table[_DELETION_ROW] = table[256 + DELETION_QUALITY]
    table[: min_quality + 1] = table[256 : 257 + min_quality] = 0
    table.flags.writeable = False
    return table
