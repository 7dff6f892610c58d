"""Arrays between stages: sites, loci and their candidate haplotypes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.io.vcf.batches import VcfBatch


class AlleleKind(IntEnum):
    """Kind of an allele."""

    SEQUENCE = 0
    SPANNED = 1
    """`*`: an upstream deletion removes the site."""
    SYMBOLIC = 2
    """`<DEL>`, a breakend, a missing allele or one with an N: its sequence is unknown."""


@dataclass(frozen=True, slots=True)
class Sites:
    """s records of one contig, in the order of their positions.

    Attributes
    ----------
    records
        The VCF records of the sites.
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

    records: VcfBatch
    starts: NDArray[np.int64]
    alleles: Ragged
    kinds: NDArray[np.uint8]
    allele_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size

    @property
    def ends(self) -> NDArray[np.int64]:
        """int64[s], 0-based end of REF, half-open."""
        ends: NDArray[np.int64] = self.starts + self.alleles.lengths[self.allele_offsets[:-1]]
        return ends

    @property
    def allele_sites(self) -> NDArray[np.int64]:
        """int64[a]: the site of each allele."""
        return np.repeat(np.arange(len(self)), np.diff(self.allele_offsets))

    def slice(self, start: int, end: int) -> Sites:
        """Return the sites start to end, sharing memory with these."""
        first, last = self.allele_offsets[[start, end]]
        return Sites(
            self.records[start:end],
            self.starts[start:end],
            self.alleles[first:last],
            self.kinds[first:last],
            self.allele_offsets[start : end + 1] - first,
        )


@dataclass(frozen=True, slots=True)
class ReferenceSlice:
    """Bases of one contig, upper case.

    Attributes
    ----------
    start
        0-based position of the first base.
    bases
        uint8 text.
    """

    start: int
    bases: NDArray[np.uint8]

    @property
    def end(self) -> int:
        """Position after the last base."""
        return self.start + self.bases.size


@dataclass(frozen=True, slots=True)
class ShiftRanges:
    """Shift ranges of s sites: the positions at which their indels have equivalent forms.

    An indel in a repeat can be shifted along the repeat without changing the haplotype: its shift
    range is the whole repeat. The shift range of a site covers its REF and all ALT alleles.

    Attributes
    ----------
    starts, ends
        int64[s], 0-based, half-open.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def slice(self, start: int, end: int) -> ShiftRanges:
        """Return the shift ranges of the sites start to end, sharing memory with these."""
        return ShiftRanges(self.starts[start:end], self.ends[start:end])


@dataclass(frozen=True, slots=True)
class Loci:
    """l loci, each of consecutive sites.

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

    def slice(self, start: int, end: int) -> Loci:
        """Return the loci start to end; the first starts with site 0."""
        offsets = self.site_offsets[start : end + 1]
        return Loci(offsets - offsets[0], self.starts[start:end], self.ends[start:end])


@dataclass(frozen=True, slots=True)
class PhaseGroups:
    """Alleles that may combine on a haplotype, as c sets of groups.

    A set belongs to the samples of a locus that have the same genotypes or, without genotypes, to
    all. A haplotype takes one option of each group of its set: a site without phase is a group
    whose options are its alleles, a phase set is a group whose options are its copies.

    Attributes
    ----------
    loci
        int64[c], ascending: the locus of each set; a locus may have several sets.
    group_offsets
        int64[c + 1]: the groups of each set.
    option_offsets
        int64[g + 1]: the options of each group, at least one; the first is its base option.
    options
        int32 rows, one per option: the rows of `Sites.alleles` that replace REF, ascending; empty
        for REF everywhere.
    """

    loci: NDArray[np.int64]
    group_offsets: NDArray[np.int64]
    option_offsets: NDArray[np.int64]
    options: Ragged


@dataclass(frozen=True, slots=True)
class Haplotypes:
    """The h candidate haplotypes of l loci.

    Attributes
    ----------
    starts, ends
        int64[l], 0-based, half-open: the reference interval that the haplotypes of a locus replace,
        flanks included.
    offsets
        int64[l + 1]: the haplotypes of locus k are rows `offsets[k]` to `offsets[k + 1]`, all
        different.
    sequences
        uint8 text, h rows.
    carried
        int32 rows, h of them: the rows of `Sites.alleles` that each haplotype carries instead of
        REF, ascending.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sequences: Ragged
    carried: Ragged

    def slice(self, start: int, end: int, first_allele: int) -> Haplotypes:
        """Return the haplotypes of the loci start to end; `first_allele` becomes allele row 0."""
        offsets = self.offsets[start : end + 1]
        carried = self.carried[offsets[0] : offsets[-1]]
        return Haplotypes(
            self.starts[start:end],
            self.ends[start:end],
            offsets - offsets[0],
            self.sequences[offsets[0] : offsets[-1]],
            Ragged(carried.data - np.int32(first_allele), carried.offsets),
        )


@dataclass(frozen=True, slots=True)
class LocusBatch:
    """Consecutive loci of one contig.

    Attributes
    ----------
    contig
        Name of the contig.
    sites
        The s sites of the loci.
    shift_ranges
        The shift ranges of the sites.
    loci, haplotypes
        l rows each.
    """

    contig: str
    sites: Sites
    shift_ranges: ShiftRanges
    loci: Loci
    haplotypes: Haplotypes

    def slice(self, start: int, end: int) -> LocusBatch:
        """Return the loci start to end with their sites and haplotypes."""
        first, last = self.loci.site_offsets[[start, end]]
        first_allele = int(self.sites.allele_offsets[first])
        return LocusBatch(
            self.contig,
            self.sites.slice(first, last),
            self.shift_ranges.slice(first, last),
            self.loci.slice(start, end),
            self.haplotypes.slice(start, end, first_allele),
        )
