"""Called haplotypes as artificial reads, as in GATK's HaplotypeBAMWriter."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import CallSites, TrimmedRegions, VariantCalls
from hapgpu.io.text.columns import number_text, repeated, side_by_side

_REVERSE: Final = 16
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
        flags=np.full(rows.size, _REVERSE, dtype=np.uint16),
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
