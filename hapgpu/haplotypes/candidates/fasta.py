"""Haplotypes of loci as FASTA that binds them to their loci."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from hapgpu.haplotypes.batches import LocusBatch, Sites
from hapgpu.haplotypes.sites.shift_ranges import LONGEST_SHIFT
from hapgpu.io.genome.regions import Region


class HaplotypeText:
    """Writes the haplotypes of one batch after the other, each under a name of its own.

    A header such as `>chr20_10001337_2 chr20:10001337-10001536 10001436:A>AAGGCT` tells the name
    (contig, first position, number among the haplotypes that begin there), what of the reference
    the haplotype stands for, and the alleles that it has in place of REF; of alleles that come to
    the same, all.

    Parameters
    ----------
    flank
        Bases of the reference on either side of loci.
    count
        Told how many `haplotypes` were written, and of how many loci none, because none there
        differs from the reference (`loci_without_alt`).
    """

    def __init__(self, flank: int, count: Callable[[str, int], None]) -> None:
        self._around = LONGEST_SHIFT + flank
        self._count = count
        self._contig = ""
        self._numbers: dict[int, int] = {}
        self._sequences: dict[Region, set[bytes]] = {}

    def of(self, batch: LocusBatch) -> bytes:
        """Return the records of a batch."""
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
        """Drop what can begin or stand where no locus from here on does."""
        if batch.contig != self._contig:
            self._contig = batch.contig
            self._numbers, self._sequences = {}, {}
        least = int(batch.sites.starts[0]) - self._around
        self._numbers = {start: n for start, n in self._numbers.items() if start >= least}
        self._sequences = {at: rows for at, rows in self._sequences.items() if at.start >= least}

    def _records(self, batch: LocusBatch, region: Region, first: int, last: int) -> Iterator[bytes]:
        """Yield the records of a locus; loci that show the same bases share what they have."""
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
    """Return what an allele changes, as its record tells it."""
    site = int(sites.allele_offsets.searchsorted(row, side="right")) - 1
    record = sites.records[site]
    alternative = record.alternatives[row - int(sites.allele_offsets[site]) - 1]
    return f"{record.start + 1}:{record.reference}>{alternative}"
