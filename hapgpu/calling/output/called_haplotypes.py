"""Called haplotypes as artificial reads, and mates of realigned reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import CallSites, RegionReads, TrimmedRegions, VariantCalls
from hapgpu.io.text.columns import number_text, repeated, side_by_side

NO_MATE: Final = -1
_PAIRED, _PROPER_PAIR, _MATE_UNMAPPED, _REVERSE, _MATE_REVERSE = 0x1, 0x2, 0x8, 0x10, 0x20
_SEGMENT, _NOT_PRIMARY = 0xC0, 0x900

_HAPLOTYPE_FLAGS: Final = 16
_MAPPING_QUALITY: Final = 60
_BASE_QUALITY: Final = 33
"""GATK writes the number of the character `!`; it has no meaning."""
_FACTOR: Final = 31


def are_called(
    calls: VariantCalls, rows: NDArray[np.bool_], sites: CallSites, trimmed: TrimmedRegions
) -> NDArray[np.bool_]:
    """Return bool[h]: haplotypes with an allele of a record, REF included.

    Parameters
    ----------
    calls
        v records.
    rows
        bool[v]: the records that count.
    sites
        The sites of the records.
    trimmed
        The haplotypes of their active regions.
    """
    counts = np.diff(calls.allele_offsets)
    widest = max(sites.haplotype_alleles.data.max(initial=0), calls.site_alleles.max(initial=0))
    # One column more, for haplotypes whose allele (-1) is not among those of the site.
    is_kept = np.zeros((len(calls), int(widest) + 2), dtype=np.bool_)
    is_kept[np.repeat(np.arange(len(calls)), counts), calls.site_alleles] = True
    records = np.flatnonzero(rows)
    alleles = sites.haplotype_alleles.take(calls.sites[records])
    firsts = trimmed.haplotypes.offsets[sites.regions[calls.sites[records]]]
    owners = np.repeat(np.arange(records.size), alleles.lengths)
    haplotypes = np.arange(alleles.data.size) + (firsts - alleles.offsets[:-1])[owners]
    called = np.zeros(len(trimmed.haplotypes), dtype=np.bool_)
    called[haplotypes[is_kept[records[owners], alleles.data]]] = True
    return called


def hash_codes(texts: Ragged) -> NDArray[np.int64]:
    """Return int64[n]: GATK's hash code of haplotypes, that of Java's `Arrays.hashCode(byte[])`.

    Parameters
    ----------
    texts
        uint8 text, n rows.
    """
    # Arithmetic of uint32 overflows as that of Java's int does.
    longest = int(texts.lengths.max(initial=0))
    powers = np.ones(longest + 1, dtype=np.uint32)
    powers[1:] = _FACTOR
    powers = np.multiply.accumulate(powers, dtype=np.uint32)
    ends = np.repeat(texts.offsets[1:], texts.lengths)
    terms = texts.data * powers[ends - np.arange(texts.data.size) - 1]
    sums = np.concatenate(([0], np.cumsum(terms, dtype=np.uint32))).astype(np.uint32)
    codes = sums[texts.offsets[1:]] - sums[texts.offsets[:-1]] + powers[texts.lengths]
    return codes.astype(np.uint32).view(np.int32).astype(np.int64)


def haplotype_records(trimmed: TrimmedRegions, rows: NDArray[np.int64], contig: int) -> ReadBatch:
    """Return haplotypes as reads without optional fields.

    Names are `HC:CONTIG:START:NUMBER`: the number of the contig, the first position of the active
    span, and the number of the haplotype in its active region, all from 1.

    Parameters
    ----------
    trimmed
        The haplotypes.
    rows
        int64[n]: rows of haplotypes.
    contig
        Row of the contig in the header.
    """
    haplotypes = trimmed.haplotypes
    regions = haplotypes.regions[rows]
    names = side_by_side(
        [
            repeated(f"HC:{contig + 1}:", rows.size),
            number_text(trimmed.regions.starts[regions] + 1),
            repeated(":", rows.size),
            number_text(rows - haplotypes.offsets[regions] + 1),
        ]
    )
    bases = haplotypes.bases.take(rows)
    nowhere = np.full(rows.size, -1, dtype=np.int32)
    return ReadBatch(
        names=names,
        flags=np.full(rows.size, _HAPLOTYPE_FLAGS, dtype=np.uint16),
        reference_ids=np.full(rows.size, contig, dtype=np.int32),
        positions=trimmed.regions.padded_starts[regions].astype(np.int32),
        mapping_qualities=np.full(rows.size, _MAPPING_QUALITY, dtype=np.uint8),
        cigars=haplotypes.cigars.take(rows),
        mate_reference_ids=nowhere,
        mate_positions=nowhere,
        template_lengths=np.zeros(rows.size, dtype=np.int32),
        bases=bases,
        qualities=Ragged(np.full(bases.data.size, _BASE_QUALITY, np.uint8), bases.offsets),
        tags=repeated("", rows.size),
    )


def mates_in_regions(
    reads: RegionReads, flags: NDArray[np.uint16], fragments: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return int64[m]: the row of the mate of each read in its active region, or `NO_MATE`.

    Two primary records are mates if no other of the active region has their name and sample, and
    one is the first and one the last segment.

    Parameters
    ----------
    reads
        m reads.
    flags
        uint16[m], SAM flags.
    fragments
        int64[m]: a number for each name and sample.
    """
    segments = flags & _SEGMENT
    is_segment = (segments != 0) & (segments != _SEGMENT)
    can_have = (flags & _PAIRED > 0) & (flags & _NOT_PRIMARY == 0) & is_segment
    rows = np.flatnonzero(can_have)
    regions = reads.regions
    rows = rows[np.lexsort((fragments[rows], regions[rows]))]
    is_same = np.zeros(rows.size + 1, dtype=np.bool_)  # as the row before
    one, other = rows[:-1], rows[1:]
    is_same[1:-1] = (regions[one] == regions[other]) & (fragments[one] == fragments[other])
    firsts = np.flatnonzero(~is_same[:-2] & is_same[1:-1] & ~is_same[2:])
    one, other = rows[firsts], rows[firsts + 1]
    differ = segments[one] != segments[other]
    mates = np.full(len(reads), NO_MATE, dtype=np.int64)
    mates[one[differ]] = other[differ]
    mates[other[differ]] = one[differ]
    return mates


def with_mates(records: ReadBatch, reads: RegionReads, mates: NDArray[np.int64]) -> ReadBatch:
    """Return records with the mate fields and flags of their mates.

    Template lengths are differences of 5' ends, as in `samtools fixmate`. A read without a mate
    claims nothing about it.

    Parameters
    ----------
    records
        m records of one contig.
    reads
        Their alignments.
    mates
        int64[m], as `mates_in_regions` returns them.
    """
    flags = records.flags
    has_mate = mates != NO_MATE
    known = np.where(has_mate, mates, 0)
    own_flags = flags & ~np.uint16(_PROPER_PAIR | _MATE_UNMAPPED | _MATE_REVERSE)
    of_mate = flags & _PROPER_PAIR | np.where(flags[known] & _REVERSE, _MATE_REVERSE, 0)
    five_prime = np.where(flags & _REVERSE, reads.ends, reads.starts)
    lengths = np.where(has_mate, five_prime[known] - five_prime, 0)
    return replace(
        records,
        flags=(own_flags | np.where(has_mate, of_mate, 0)).astype(np.uint16),
        mate_reference_ids=np.where(has_mate, records.reference_ids, -1).astype(np.int32),
        mate_positions=np.where(has_mate, reads.starts[known], -1).astype(np.int32),
        template_lengths=lengths.astype(np.int32),
    )
