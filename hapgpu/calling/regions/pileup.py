"""Pileups of reads at positions, and the probability that each is active."""

from __future__ import annotations

from functools import cache
from math import lgamma, log
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.arrays.read_columns import ReadColumns
from hapgpu.calling.options import VariantOptions
from hapgpu.cigar.encoding import DELETION, INSERTION, SOFT_CLIP
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.bam.constants import QUERY_OPERATIONS, REFERENCE_OPERATIONS
from hapgpu.runtime.jit import njit, njit_inlined

FRACTION_BITS: Final = 40
"""Sums of log10 likelihoods are integers in units of 2**-40: they do not depend on their order. An
element is rounded by less than 1e-12; a sum of 500,000 elements of any quality fits into int64."""
DELETION_QUALITY: Final = 30
"""Phred quality of a deletion at a locus."""
_TABLE_STEP: Final = 1e-4
_TABLE_END: Final = 8.0

_MAX_CONFIDENCE: Final = 4.0
"""Phred: with several samples, a lower QUAL gives probability 0."""
_MAX_COUNT_CHANGE: Final = 0.1
"""Allele counts are final if none changed by more."""
_UNIT: Final = 10.0 / 2.0**FRACTION_BITS
_MAX_PL: Final = 2147483647.0
_MAX_TEMPLATE: Final = 100
"""Bases inside adaptors are excluded if the signed TLEN is at most this."""
_MIN_CLIP_QUALITY: Final = 28
"""Soft-clipped bases count above this quality."""
_PAIRED, _MATE_UNMAPPED, _REVERSE, _MATE_REVERSE = 0x1, 0x8, 0x10, 0x20
_ALIGNED: Final = QUERY_OPERATIONS & REFERENCE_OPERATIONS
_CLIPS: Final = 1 << SOFT_CLIP
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
    loci = _Loci(start, bases, read_only(element_table(min_quality)), *pileup)
    damaged = _add_reads(ReadColumns.from_batch(reads), read_only(samples), loci)
    if damaged >= 0:
        raise ValueError(f"read {damaged}: CIGAR and bases differ in length")
    return pileup


@njit
def _add_reads(reads: ReadColumns, samples: NDArray[np.int32], loci: _Loci) -> int:
    """Add all reads; return the first row whose CIGAR is not as long as its bases, or -1."""
    for row in range(reads.flags.size):
        reference_length, query_length = _lengths(reads, row)
        if query_length != reads.base_offsets[row + 1] - reads.base_offsets[row]:
            return row
        start, end = _outside_adaptors(reads, row, reference_length)
        first = max(start - loci.start, np.int64(0))
        last = min(end - loci.start, np.int64(loci.reference.size))
        if first < last:
            _add_elements(reads, row, samples[row], loci, first, last)
            if reads.cigar_offsets[row + 1] - reads.cigar_offsets[row] > 1:
                _make_ends_alternate(reads, row, samples[row], loci, first, last)
    return -1


@njit_inlined
def _lengths(reads: ReadColumns, row: Integer) -> tuple[Integer, Integer]:
    """Return the number of reference bases and of read bases of a CIGAR."""
    reference_length, query_length = np.int64(0), np.int64(0)
    for k in range(reads.cigar_offsets[row], reads.cigar_offsets[row + 1]):
        operation, length = reads.cigars[k] & 15, np.int64(reads.cigars[k] >> 4)
        if REFERENCE_OPERATIONS >> operation & 1:
            reference_length += length
        if QUERY_OPERATIONS >> operation & 1:
            query_length += length
    return reference_length, query_length


@njit_inlined
def _outside_adaptors(
    reads: ReadColumns, row: Integer, reference_length: Integer
) -> tuple[Integer, Integer]:
    """Return start and end of a read without its bases inside an adaptor.

    Those are before the start of the mate (reverse reads), or after the end of the fragment.
    """
    start = np.int64(reads.positions[row])
    end = start + reference_length
    flags, template = np.int64(reads.flags[row]), np.int64(reads.template_lengths[row])
    mate = np.int64(reads.mate_positions[row])
    is_reverse = flags & _REVERSE != 0
    if (
        template == 0
        or template > _MAX_TEMPLATE
        or flags & _PAIRED == 0
        or flags & _MATE_UNMAPPED != 0
        or reads.mate_reference_ids[row] < 0
        or mate < 0
        or is_reverse == (flags & _MATE_REVERSE != 0)
    ):
        return start, end
    if is_reverse:
        return (max(start, mate) if end > mate + 1 else start), end
    return start, (min(end, start + abs(template)) if start <= mate + template else end)


@njit
def _add_elements(
    reads: ReadColumns, row: Integer, sample: Integer, loci: _Loci, first: Integer, last: Integer
) -> None:
    """Add the elements of a read at the loci first to last."""
    locus, base = np.int64(reads.positions[row]) - loci.start, reads.base_offsets[row]
    for k in range(reads.cigar_offsets[row], reads.cigar_offsets[row + 1]):
        operation, length = reads.cigars[k] & 15, np.int64(reads.cigars[k] >> 4)
        left, right = max(locus, first), min(locus + length, last)
        if left < right:
            if _ALIGNED >> operation & 1:
                _add_bases(reads, base + left - locus, sample, loci, left, right)
            elif operation == DELETION:
                _add_deletion(sample, loci, left, right)
        if QUERY_OPERATIONS >> operation & 1:
            base += length
        if REFERENCE_OPERATIONS >> operation & 1:
            locus += length


@njit_inlined
def _add_bases(
    reads: ReadColumns, base: Integer, sample: Integer, loci: _Loci, left: Integer, right: Integer
) -> None:
    """Add the bases from `base` on at the loci left to right."""
    # Numba does not test unsigned indices for negative ones: this takes a quarter of the time.
    count, source, target = np.uint64(right - left), np.uint64(base), np.uint64(left)
    of_sample, zero, one = np.uint64(sample), np.uint64(0), np.uint64(1)
    for k in range(count):
        at, offset = target + np.uint64(k), source + np.uint64(k)
        here = np.uint64(reads.qualities[offset])
        if reads.bases[offset] != loci.reference[at]:
            here += np.uint64(256)
        loci.is_covered[of_sample, at] = True
        loci.ratios[of_sample, at, zero] += loci.table[here, zero]
        loci.ratios[of_sample, at, one] += loci.table[here, one]


@njit
def _add_deletion(sample: Integer, loci: _Loci, left: Integer, right: Integer) -> None:
    """Add a deletion at the loci left to right."""
    for at in range(left, right):
        loci.is_covered[sample, at] = True
        loci.ratios[sample, at, 0] += loci.table[256 + DELETION_QUALITY, 0]
        loci.ratios[sample, at, 1] += loci.table[256 + DELETION_QUALITY, 1]


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


def activity_probabilities(pileup: Pileup, options: VariantOptions) -> NDArray[np.float64]:
    """Return float64[p]: the probability that each locus is variant.

    Source: `HaplotypeCallerEngine.isActive` of broadinstitute/gatk. With elements of one sample,
    the posterior of diploid allele counts; with several, 1 - 10**(-QUAL/10), but 0 for a QUAL of at
    most 4 (or the minimum confidence of calls, if that is lower). The alternate allele then has the
    prior of an indel: GATK's allele for it is symbolic, without length.
    """
    probabilities = np.zeros(pileup.is_covered.shape[1], dtype=np.float64)
    _fill(
        read_only(pileup.ratios),
        read_only(pileup.is_covered),
        read_only(single_sample_priors(options)),
        read_only(allele_priors(options)),
        min(options.min_confidence, _MAX_CONFIDENCE),
        probabilities,
    )
    return probabilities


def single_sample_priors(options: VariantOptions) -> NDArray[np.float64]:
    """Return float64[3]: log10 of the weight of 0, 1 and 2 alternate alleles, not normalised."""
    reference = options.heterozygosity / options.heterozygosity_deviation**2
    alternate = options.heterozygosity * reference
    natural = [
        log((1, 2, 1)[n]) + lgamma(n + alternate) + lgamma(2 - n + reference) for n in range(3)
    ]
    return np.array(natural) / log(10.0)


def allele_priors(options: VariantOptions) -> NDArray[np.float64]:
    """Return float64[2]: pseudocounts of the reference and of the alternate allele."""
    reference = options.heterozygosity / options.heterozygosity_deviation**2
    return np.array([reference, options.indel_heterozygosity * reference])


@njit
def _fill(
    ratios: NDArray[np.int64],
    is_covered: NDArray[np.bool_],
    priors: NDArray[np.float64],
    pseudocounts: NDArray[np.float64],
    min_quality: float,
    probabilities: NDArray[np.float64],
) -> None:
    """Write the probability that each locus is active, float64[loci], from its covered samples."""
    samples, loci = is_covered.shape
    phreds = np.empty((samples, 3), dtype=np.float64)
    weights = np.empty((samples, 3), dtype=np.float64)
    for locus in range(loci):
        covered = np.int64(0)
        for sample in range(samples):
            if is_covered[sample, locus]:
                first, second = ratios[sample, locus, 0], ratios[sample, locus, 1]
                best = max(np.int64(0), first, second)
                phreds[covered, 0] = _phred(np.int64(0), best)
                phreds[covered, 1] = _phred(first, best)
                phreds[covered, 2] = _phred(second, best)
                covered += 1
        if covered == 1:
            if phreds[0, 0] > 0.0:
                probabilities[locus] = _of_one_sample(phreds, priors)
        elif covered > 1:
            quality = _quality(phreds, covered, pseudocounts, weights)
            if quality >= min_quality and -quality / 10.0 + 1e-10 < -min_quality / 10.0:
                probabilities[locus] = 1.0 - 10.0 ** (-quality / 10.0)


@njit_inlined
def _phred(ratio: Integer, best: Integer) -> float:
    """Return the PL of a genotype, as a float."""
    phred: float = min(np.floor(np.float64(best - ratio) * _UNIT + 0.5), _MAX_PL)
    return phred


@njit_inlined
def _of_one_sample(phreds: NDArray[np.float64], priors: NDArray[np.float64]) -> float:
    """Return the posterior of 1 or 2 alternate alleles; 0 if none is the most likely number."""
    none = priors[0] - phreds[0, 0] / 10.0
    one = priors[1] - phreds[0, 1] / 10.0
    two = priors[2] - phreds[0, 2] / 10.0
    best = max(none, one, two)
    if none == best:
        return 0.0
    absent = 10.0 ** (none - best)
    present = 10.0 ** (one - best) + 10.0 ** (two - best)
    return float(1.0 - absent / (absent + present))


@njit
def _quality(
    phreds: NDArray[np.float64],
    samples: Integer,
    pseudocounts: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> float:
    """Return QUAL, from frequencies that begin equal and are made likely by expected counts."""
    for sample in range(samples):
        for k in range(3):
            weights[sample, k] = 10.0 ** (phreds[sample, k] / -10.0)
    reference = alternate = 0.5
    references = alternates = 0.0
    change = np.inf
    while change > _MAX_COUNT_CHANGE:
        new_references = new_alternates = 0.0
        for sample in range(samples):
            none = weights[sample, 0] * reference * reference
            one = weights[sample, 1] * 2.0 * reference * alternate
            two = weights[sample, 2] * alternate * alternate
            total = none + one + two
            new_references += (2.0 * none + one) / total
            new_alternates += (one + 2.0 * two) / total
        change = max(abs(new_references - references), abs(new_alternates - alternates))
        references, alternates = new_references, new_alternates
        reference = pseudocounts[0] + references
        alternate = pseudocounts[1] + alternates
        total = reference + alternate
        reference, alternate = reference / total, alternate / total
    quality = 0.0
    for sample in range(samples):
        total = weights[sample, 0] * reference * reference
        total += weights[sample, 1] * 2.0 * reference * alternate
        total += weights[sample, 2] * alternate * alternate
        quality += phreds[sample, 0] - 20.0 * np.log10(reference) + 10.0 * np.log10(total)
    return quality


def log10_sum(first: float, second: float) -> float:
    """Return log10(10**first + 10**second) as GATK's table does, in steps of 1e-4."""
    larger, difference = max(first, second), abs(first - second)
    if difference >= _TABLE_END:
        return larger
    step = np.floor(difference / _TABLE_STEP + 0.5)
    return float(larger + np.log10(1.0 + 10.0 ** (-step * _TABLE_STEP)))


def element_likelihoods(quality: int) -> tuple[float, float, float]:
    """Return the log10 likelihoods of 0/0, 0/1 and 1/1 given one reference base.

    An error makes each of the three other bases with a third of its probability. For an alternate
    element, the order is 1/1, 0/1, 0/0.
    """
    correct = float(np.log10(1.0 - 10.0 ** (-quality / 10.0)))
    error = -quality / 10.0 - float(np.log10(3.0))
    return correct, log10_sum(correct, error) - float(np.log10(2.0)), error


@cache
def element_table(min_quality: int) -> NDArray[np.int64]:
    """Return int64[512, 2]: log10 ratios of 0/1 and 1/1 to 0/0, in units of 2**-`FRACTION_BITS`.

    Row `quality` is of a base equal to the reference, row `256 + quality` of an alternate element;
    both are 0 for qualities at most `min_quality`, which do not count.
    """
    table = np.zeros((512, 2), dtype=np.int64)
    for quality in range(max(min_quality, 0) + 1, 256):
        same, heterozygous, other = element_likelihoods(quality)
        ratios = np.array([heterozygous - same, other - same])
        table[quality] = np.rint(np.ldexp(ratios, FRACTION_BITS))
        ratios = np.array([heterozygous - other, same - other])
        table[256 + quality] = np.rint(np.ldexp(ratios, FRACTION_BITS))
    table.flags.writeable = False
    return table
