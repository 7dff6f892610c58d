"""What the genotyper works on: loci with their sites and candidate haplotypes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.io.vcf.records import VcfRecord


@dataclass(frozen=True, slots=True)
class ReferenceSlice:
    """Bases of one contig, upper case.

    Attributes
    ----------
    start
        0-based position of the first.
    bases
        uint8 text.
    """

    start: int
    bases: NDArray[np.uint8]

    @property
    def end(self) -> int:
        """Position behind the last."""
        return self.start + self.bases.size


@dataclass(frozen=True, slots=True)
class ShiftRanges:
    """How far around each of s sites its alleles could as well be written.

    An indel in a repeat may be moved along it without a change of the haplotype: its shift range is
    the whole stretch. That of a site covers its REF and all of its ALT alleles.

    Attributes
    ----------
    starts, ends
        int64[s], 0-based, half-open.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def slice(self, start: int, stop: int) -> ShiftRanges:
        """Shift ranges of the sites start to stop, sharing memory with these."""
        return ShiftRanges(self.starts[start:stop], self.ends[start:stop])


@dataclass(frozen=True, slots=True)
class Loci:
    """l neighbourhoods, each of sites that follow each other.

    Attributes
    ----------
    site_offsets
        int64[l + 1]: the sites of locus k are `site_offsets[k]` to `site_offsets[k + 1]`.
    starts, ends
        int64[l], 0-based, half-open: the union of the shift ranges of its sites.
    """

    site_offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size

    def slice(self, start: int, stop: int) -> Loci:
        """Loci start to stop, of which the first begins with the first site."""
        offsets = self.site_offsets[start : stop + 1]
        return Loci(offsets - offsets[0], self.starts[start:stop], self.ends[start:stop])


@dataclass(frozen=True, slots=True)
class PhaseGroups:
    """What may stand together on a haplotype, for c carriers: samples, or the locus at large.

    A haplotype takes one option of each group of its carrier: a site without genotypes is a group
    whose options are its alleles, a phased block one whose options are its two sides.

    Attributes
    ----------
    loci
        int64[c], ascending: the locus of each carrier; one locus may have several.
    group_offsets
        int64[c + 1]: the groups of each carrier.
    option_offsets
        int64[g + 1]: the options of each group, at least one; the first is its base.
    options
        int32 rows, one per option: the rows of `Sites.alleles` that it puts in place of REF, in
        ascending order; none where it leaves REF everywhere.
    """

    loci: NDArray[np.int64]
    group_offsets: NDArray[np.int64]
    option_offsets: NDArray[np.int64]
    options: Ragged


@dataclass(frozen=True, slots=True)
class Haplotypes:
    """The candidate haplotypes of l loci, h in all.

    Attributes
    ----------
    starts, ends
        int64[l], 0-based, half-open: what of the reference the haplotypes of a locus stand for,
        flanks included.
    offsets
        int64[l + 1]: the haplotypes of locus k are rows `offsets[k]` to `offsets[k + 1]`; none is
        there twice.
    sequences
        uint8 text, h rows.
    carried
        int32 rows, h of them: the rows of `Sites.alleles` that each haplotype carries in place of
        REF, in ascending order.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sequences: Ragged
    carried: Ragged

    def slice(self, start: int, stop: int, first_allele: int) -> Haplotypes:
        """Haplotypes of the loci start to stop, where alleles are counted from `first_allele`."""
        offsets = self.offsets[start : stop + 1]
        carried = self.carried.slice(offsets[0], offsets[-1])
        return Haplotypes(
            self.starts[start:stop],
            self.ends[start:stop],
            offsets - offsets[0],
            self.sequences.slice(offsets[0], offsets[-1]),
            Ragged(carried.data - np.int32(first_allele), carried.offsets),
        )


@dataclass(frozen=True, slots=True)
class LocusBatch:
    """Neighbouring loci of one contig, which go through the pair-HMM together.

    Attributes
    ----------
    contig
        Its name.
    sites
        s sites, all those of the loci.
    shift_ranges
        Of the sites.
    loci, haplotypes
        l rows each.
    """

    contig: str
    sites: Sites
    shift_ranges: ShiftRanges
    loci: Loci
    haplotypes: Haplotypes

    def slice(self, start: int, stop: int) -> LocusBatch:
        """Loci start to stop with their sites and haplotypes."""
        first, last = self.loci.site_offsets[[start, stop]]
        first_allele = int(self.sites.allele_offsets[first])
        return LocusBatch(
            self.contig,
            self.sites.slice(first, last),
            self.shift_ranges.slice(first, last),
            self.loci.slice(start, stop),
            self.haplotypes.slice(start, stop, first_allele),
        )


class AlleleKind(IntEnum):
    """What is known of an allele."""

    SEQUENCE = 0
    SPANNED = 1
    """`*`: an upstream deletion has taken the site."""
    SYMBOLIC = 2
    """`<DEL>`, a breakend, a missing allele or one with an N: its sequence is not told."""


@dataclass(frozen=True, slots=True)
class Sites:
    """s records of one contig, in the order of their positions.

    Attributes
    ----------
    records
        As they were read.
    starts
        int64[s], 0-based position of the first base of REF.
    alleles
        uint8 text, upper case, a rows: REF and each ALT, site by site; empty where the kind is
        not SEQUENCE.
    kinds
        uint8[a], `AlleleKind`.
    allele_offsets
        int64[s + 1]: the alleles of site i are rows `allele_offsets[i]` (REF) to
        `allele_offsets[i + 1]`.
    """

    records: tuple[VcfRecord, ...]
    starts: NDArray[np.int64]
    alleles: Ragged
    kinds: NDArray[np.uint8]
    allele_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size

    @property
    def ends(self) -> NDArray[np.int64]:
        """int64[s]: where REF ends, half-open."""
        ends: NDArray[np.int64] = self.starts + self.alleles.lengths[self.allele_offsets[:-1]]
        return ends

    @property
    def allele_sites(self) -> NDArray[np.int64]:
        """int64[a]: the site of each allele."""
        return np.repeat(np.arange(len(self)), np.diff(self.allele_offsets))

    def slice(self, start: int, stop: int) -> Sites:
        """Sites start to stop, sharing memory with these."""
        first, last = self.allele_offsets[[start, stop]]
        return Sites(
            self.records[start:stop],
            self.starts[start:stop],
            self.alleles.slice(first, last),
            self.kinds[first:last],
            self.allele_offsets[start : stop + 1] - first,
        )
