"""FASTA of haplotypes, with their loci in the header lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from hapgpu.haplotypes.batches import LocusBatch, Sites
from hapgpu.haplotypes.sites.shift_ranges import LONGEST_SHIFT
from hapgpu.io.genome.regions import Region


class HaplotypeText:
    """FASTA of the haplotypes of consecutive batches, each with a unique name.

    A header such as `>chr20_10001337_2 chr20:10001337-10001536 10001436:A>AAGGCT` holds the name
    (contig, first position, number among the haplotypes that start there), the reference interval
    that the haplotype replaces, and its ALT alleles; of equivalent alleles, all.

    Parameters
    ----------
    flank
        Bases of the reference on either side of loci.
    count
        Called with the numbers of `haplotypes` written and of `loci_without_alt`: loci
        without a haplotype that differs from the reference, of which none is written.
    """

    def __init__(self, flank: int, count: Callable[[str, int], None]) -> None:
        self._around = LONGEST_SHIFT + flank
        self._count = count
        self._contig = ""
        self._numbers: dict[int, int] = {}
        self._sequences: dict[Region, set[bytes]] = {}

    def of(self, batch: LocusBatch) -> bytes:
        """Return the FASTA records of a batch."""
        self._forget(batch)
        haplotypes = batch.haplotypes
        records: list[bytes] = []
        for start, end, (first, last) in zip(
            haplotypes.starts.tolist(),
            haplotypes.ends.tolist(),
            pairwise(haplotypes.offsets.tolist()),
            strict=True,
        ):
            if haplotypes.carried.offsets[first] == haplotypes.carried.offsets[last]:
                self._count("loci_without_alt", 1)
            else:
                records += self._records(batch, Region(batch.contig, start, end), first, last)
        self._count("haplotypes", len(records))
        return b"".join(records)

    def _forget(self, batch: LocusBatch) -> None:
        """Drop numbers and sequences that no locus of this or a later batch can share."""
        if batch.contig != self._contig:
            self._contig = batch.contig
            self._numbers, self._sequences = {}, {}
        first = int(batch.sites.starts[0]) - self._around
        self._numbers = {start: n for start, n in self._numbers.items() if start >= first}
        self._sequences = {at: rows for at, rows in self._sequences.items() if at.start >= first}

    def _records(self, batch: LocusBatch, region: Region, first: int, last: int) -> Iterator[bytes]:
        """Yield the records of a locus, each sequence of a region once."""
        written = self._sequences.setdefault(region, set())
        for row in range(first, last):
            sequence = batch.haplotypes.sequences[row].tobytes()
            if sequence and sequence not in written:
                written.add(sequence)
                number = self._numbers.get(region.start, 0) + 1
                self._numbers[region.start] = number
                name = f"{region.contig}_{region.start + 1}_{number}"
                alleles = [_allele(batch.sites, a) for a in batch.haplotypes.carried[row].tolist()]
                header = " ".join([f">{name}", str(region), *alleles])
                yield b"%b\n%b\n" % (header.encode("utf-8", "surrogateescape"), sequence)


def _allele(sites: Sites, row: int) -> str:
    """Return an allele as POS:REF>ALT of its record."""
    site = int(sites.allele_offsets.searchsorted(row, side="right")) - 1
    reference = int(sites.allele_offsets[site])
    before, after = (sites.alleles[k].tobytes().decode("ascii") for k in (reference, row))
    return f"{sites.starts[site] + 1}:{before}>{after}"
