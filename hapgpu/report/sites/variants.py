"""Counts of the variants and genotypes of a VCF, in compiled code."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, read_u8
from hapgpu.report.line_blocks import name_digest, read_decimal, starts_with
from hapgpu.runtime.jit import njit, njit_inlined

SNV, MNV, INSERTION, DELETION, OTHER = (np.uint8(1 << bit) for bit in range(5))
"""Bits of the kinds of ALT alleles of a record."""

HOM_REF, HET, HOM_ALT, NO_CALL = range(4)
"""Genotypes: `HET` has two different alleles; with a missing allele, it is no call."""

MAX_INDEL: Final = 60
"""Bases of an indel; longer ones count as if they had this length."""

_MAX_QUALITY, _MAX_GQ, _MAX_DEPTH = 100_000, 1_000, 100_000
_FRACTIONS: Final = 100
_NO_NUMBER: Final = -1
_MAX_DIGITS: Final = 9

_TAB, _COLON, _COMMA, _POINT, _STAR, _ZERO, _NINE = b"\t:,.*09"
_LESS, _OPENING, _CLOSING, _SLASH, _BAR = b"<[]/|"
_UPPER: Final = 0xDF
"""Makes a letter of ASCII upper case."""

_UNSEEN_ALLELES: Final = (b"<NON_REF>", b"<*>", b"<X>")
_NON_REF, _ANY, _UNSEEN = (np.frombuffer(name, dtype=np.uint8) for name in _UNSEEN_ALLELES)
_GT, _GQ, _DP, _AD = (int.from_bytes(name, "big") for name in (b"GT", b"GQ", b"DP", b"AD"))
_CODES: Final = np.full(256, -1, dtype=np.int64)
_CODES[list(b"ACGT")] = _CODES[list(b"acgt")] = range(4)


class VariantTallies(NamedTuple):
    """Counts of records, and of the genotypes of m samples at records with a variant.

    Attributes
    ----------
    kinds
        int64[32]: records by the bits of the kinds of their alleles.
    multiallelic
        int64[1]: records with several ALT alleles that are variants.
    substitutions
        int64[2]: transitions and transversions among the SNVs, one per allele.
    indels
        int64[2 MAX_INDEL + 1]: indels by inserted minus deleted bases, one per allele.
    qualities
        int64: records by QUAL, rounded down.
    genotypes
        int64[m, 4]: genotypes of each sample, by `HOM_REF` to `NO_CALL`.
    genotype_qualities, depths
        int64: called genotypes by GQ and DP.
    sums
        int64[m, 4]: of each sample, number and sum of GQ, number and sum of DP.
    fractions
        int64[2, 101]: reads of a called ALT allele, percent of AD; of `HET` and `HOM_ALT`.
    """

    kinds: NDArray[np.int64]
    multiallelic: NDArray[np.int64]
    substitutions: NDArray[np.int64]
    indels: NDArray[np.int64]
    qualities: NDArray[np.int64]
    genotypes: NDArray[np.int64]
    genotype_qualities: NDArray[np.int64]
    depths: NDArray[np.int64]
    sums: NDArray[np.int64]
    fractions: NDArray[np.int64]

    @classmethod
    def empty(cls, samples: int) -> VariantTallies:
        """Return counts of nothing."""
        shapes = (
            *(1 << 5, 1, 2, 2 * MAX_INDEL + 1, _MAX_QUALITY + 1, (samples, 4)),
            *(_MAX_GQ + 1, _MAX_DEPTH + 1, (samples, 4), (2, _FRACTIONS + 1)),
        )
        return cls(*(np.zeros(shape, dtype=np.int64) for shape in shapes))


@njit
def count_variants(
    data: NDArray[np.uint8],
    columns: NDArray[np.int64],
    tallies: VariantTallies,
    kinds: NDArray[np.uint8],
    filters: NDArray[np.int64],
) -> None:
    """Count records, and write the kinds of their alleles and the digests of their FILTER.

    Parameters
    ----------
    data, columns
        uint8 and int64[n, 10], as in `hapgpu.io.vcf.batches.VcfBatch`.
    tallies
        Grow by n records.
    kinds
        uint8[n]: bits of the kinds.
    filters
        int64[n]: see `name_digest`.
    """
    text = memory_of(data)
    for row in range(kinds.size):
        start, end = columns[row, 6], columns[row, 7] - 1
        filters[row] = name_digest(text, start, end - start)
        quality, is_number = read_decimal(text, columns[row, 5], start - 1)
        if is_number and quality >= 0.0:
            tallies.qualities[np.int64(min(quality, float(_MAX_QUALITY)))] += 1
        kinds[row] = _count_alleles(text, columns[row], tallies)
        if kinds[row] and tallies.genotypes.shape[0]:
            _count_genotypes(text, columns[row, 8], columns[row, 9], tallies)


@njit
def _count_alleles(text: Memory, columns: NDArray[np.int64], tallies: VariantTallies) -> np.uint8:
    """Count the ALT alleles of a record, and return the bits of their kinds."""
    found = np.uint8(0)
    variants = 0
    start, end = columns[3], columns[4] - 1
    at, last = columns[4], columns[5] - 1
    while at < last:
        stop = at
        while stop < last and read_u8(text, stop) != _COMMA:
            stop += 1
        kind = _count_allele(text, start, end, at, stop, tallies)
        found |= kind
        variants += kind != 0
        at = stop + 1
    tallies.multiallelic[0] += variants > 1
    tallies.kinds[found] += 1
    return found


@njit
def _count_allele(
    text: Memory,
    start: Integer,
    end: Integer,
    at: Integer,
    stop: Integer,
    tallies: VariantTallies,
) -> np.uint8:
    """Count an ALT allele beside REF, from start to end; return the bit of its kind, 0 for none.

    As in htslib, the kind is that of what differs: common bases of both ends do not count.
    """
    if _is_no_variant(text, at, stop):
        return np.uint8(0)
    for k in range(at, stop):
        if read_u8(text, k) in (_LESS, _OPENING, _CLOSING, _POINT):  # symbolic, or a breakend
            return OTHER
    while start < end and at < stop and read_u8(text, start) & _UPPER == read_u8(text, at) & _UPPER:
        start, at = start + 1, at + 1
    while (
        start < end
        and at < stop
        and read_u8(text, end - 1) & _UPPER == read_u8(text, stop - 1) & _UPPER
    ):
        end, stop = end - 1, stop - 1
    deleted, inserted = end - start, stop - at
    if deleted == 0 or inserted == 0:
        return _count_indel(inserted - deleted, tallies)
    if deleted != inserted:
        return OTHER
    if deleted > 1:
        return MNV
    before, after = _CODES[read_u8(text, start)], _CODES[read_u8(text, at)]
    if before >= 0 and after >= 0:
        # A and G, and C and T, are two apart.
        tallies.substitutions[0 if abs(before - after) == 2 else 1] += 1
    return SNV


@njit
def _count_indel(size: Integer, tallies: VariantTallies) -> np.uint8:
    """Count an allele of inserted minus deleted bases; of 0, it is REF again."""
    if size == 0:
        return np.uint8(0)
    tallies.indels[MAX_INDEL + min(max(size, -MAX_INDEL), MAX_INDEL)] += 1
    return INSERTION if size > 0 else DELETION


@njit
def _is_no_variant(text: Memory, at: Integer, stop: Integer) -> bool:
    """Tell whether an allele is `.`, `*`, or stands for any allele that was not seen."""
    if stop - at == 1:
        return read_u8(text, at) in (_POINT, _STAR)
    return (
        (stop - at == _NON_REF.size and starts_with(text, at, stop, _NON_REF))
        or (stop - at == _ANY.size and starts_with(text, at, stop, _ANY))
        or (stop - at == _UNSEEN.size and starts_with(text, at, stop, _UNSEEN))
    )


@njit
def _count_genotypes(text: Memory, at: Integer, end: Integer, tallies: VariantTallies) -> None:
    """Count the genotypes of a record, whose FORMAT and samples stand from `at` to `end`."""
    keys = np.full(4, -1, dtype=np.int64)  # the numbers of GT, GQ, DP and AD among the fields
    field = np.int64(0)
    while at < end:
        stop = _stop(text, at, end)
        if stop - at == 2:
            name = 256 * np.int64(read_u8(text, at)) + np.int64(read_u8(text, at + 1))
            for k, key in enumerate((_GT, _GQ, _DP, _AD)):
                if name == key:
                    keys[k] = field
        at = stop + 1
        field += 1
        if stop == end or read_u8(text, stop) == _TAB:
            break
    spans = np.empty((4, 2), dtype=np.int64)
    for sample in range(tallies.genotypes.shape[0]):
        at = _find_fields(text, at, end, keys, spans)
        _count_genotype(text, spans, sample, tallies)


@njit_inlined
def _stop(text: Memory, at: Integer, end: Integer) -> Integer:
    """Return the end of a field."""
    while at < end and read_u8(text, at) not in (_COLON, _TAB):
        at += 1
    return at


@njit
def _find_fields(
    text: Memory,
    at: Integer,
    end: Integer,
    keys: NDArray[np.int64],
    spans: NDArray[np.int64],
) -> Integer:
    """Write the spans of the fields `keys` of a sample, empty where absent; return its end."""
    spans[:] = at
    field = np.int64(0)
    while at < end:
        stop = _stop(text, at, end)
        for k in range(keys.size):
            if keys[k] == field:
                spans[k, 0], spans[k, 1] = at, stop
        at = stop + 1
        field += 1
        if stop == end or read_u8(text, stop) == _TAB:
            break
    return at


@njit
def _count_genotype(
    text: Memory, spans: NDArray[np.int64], sample: Integer, tallies: VariantTallies
) -> None:
    genotype, first, last = _genotype(text, spans[0, 0], spans[0, 1])
    tallies.genotypes[sample, genotype] += 1
    if genotype == NO_CALL:
        return
    quality = _number(text, spans[1, 0], spans[1, 1])
    if quality >= 0:
        tallies.genotype_qualities[min(quality, _MAX_GQ)] += 1
        tallies.sums[sample, 0] += 1
        tallies.sums[sample, 1] += quality
    depth = _number(text, spans[2, 0], spans[2, 1])
    if depth >= 0:
        tallies.depths[min(depth, _MAX_DEPTH)] += 1
        tallies.sums[sample, 2] += 1
        tallies.sums[sample, 3] += depth
    if genotype == HOM_REF:
        return
    if first > 0:
        _count_fraction(text, spans[3], first, tallies.fractions[genotype - HET])
    if last > 0 and last != first:
        _count_fraction(text, spans[3], last, tallies.fractions[genotype - HET])


@njit
def _genotype(text: Memory, at: Integer, end: Integer) -> tuple[Integer, Integer, Integer]:
    """Return a genotype, and its first and last allele."""
    first: Integer = np.int64(_NO_NUMBER)
    last: Integer = np.int64(_NO_NUMBER)
    is_het = False
    if at < end and read_u8(text, at) in (_SLASH, _BAR):  # the phase of the first allele, VCF 4.4
        at += 1
    while at <= end:
        stop = at
        while stop < end and read_u8(text, stop) not in (_SLASH, _BAR):
            stop += 1
        last = _number(text, at, stop)
        if last < 0:
            return NO_CALL, last, last
        if first < 0:
            first = last
        is_het |= last != first
        at = stop + 1
    genotype = HET if is_het else HOM_REF if first == 0 else HOM_ALT
    return genotype, first, last


@njit
def _count_fraction(
    text: Memory, span: NDArray[np.int64], allele: Integer, out: NDArray[np.int64]
) -> None:
    """Count the fraction of the depths, at `span`, that an allele has; none if one is missing."""
    at, end = span
    total: Integer = np.int64(0)
    depth: Integer = np.int64(0)
    number = np.int64(0)
    while at < end:
        stop = at
        while stop < end and read_u8(text, stop) != _COMMA:
            stop += 1
        value = _number(text, at, stop)
        if value < 0:
            return
        total += value
        if number == allele:
            depth = value
        number += 1
        at = stop + 1
    if total > 0 and number > allele:
        out[_FRACTIONS * depth // total] += 1


@njit
def _number(text: Memory, at: Integer, end: Integer) -> Integer:
    """Return a whole number of at most nine digits, -1 for other text."""
    value: Integer = np.int64(0)
    if at == end or end - at > _MAX_DIGITS:
        return np.int64(_NO_NUMBER)
    for k in range(at, end):
        if not _ZERO <= read_u8(text, k) <= _NINE:
            return np.int64(_NO_NUMBER)
        value = 10 * value + (read_u8(text, k) - _ZERO)
    return value
