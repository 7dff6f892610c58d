"""The run of `hapgpu haplotypes`: sites of a VCF to the FASTA of their candidate haplotypes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from hapgpu.haplotypes.batches import AlleleKind, LocusBatch, Sites
from hapgpu.haplotypes.limits import MAX_COMBINATIONS
from hapgpu.haplotypes.locus_batches import UNKNOWN_LENGTH, Count, LocusOptions, locus_batches
from hapgpu.haplotypes.sites.columns import are_telomeres, sites_of
from hapgpu.haplotypes.sites.record_selection import REGIONS, within
from hapgpu.haplotypes.sites.shift_ranges import LONGEST_SHIFT
from hapgpu.io.files.text_output import open_text
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import Region, RegionChoice
from hapgpu.io.vcf.batches import VcfBatch
from hapgpu.io.vcf.source import open_vcf
from hapgpu.runtime.inputs import fraction_read
from hapgpu.runtime.progress import Progress


@dataclass(frozen=True, slots=True)
class HaplotypeInputs:
    """Inputs of a run.

    Attributes
    ----------
    reference
        The FASTA.
    calls
        The sites: VCF or BCF, or `-` for standard input.
    regions
        The regions of the sites.
    max_record
        Bytes of the longest record.
    """

    reference: Path
    calls: str
    regions: RegionChoice
    max_record: int


def write_haplotypes(
    inputs: HaplotypeInputs,
    output: Path | None,
    flank: int,
    count: Count,
    showing: Callable[[], AbstractContextManager[Progress]],
) -> None:
    """Write the candidate haplotypes of all sites.

    Parameters
    ----------
    inputs
        The reference and the sites.
    output
        The FASTA to write; None for standard output.
    flank
        Bases of the reference on either side of a locus.
    count
        Adds a number to a count of the run by its name.
    showing
        Returns a context within which the progress is shown, in sites.

    Raises
    ------
    InputError
        An input cannot be read, or the sites do not match the reference.
    OutputError
        The output cannot be written.
    """
    options = LocusOptions(
        distance=flank, flank=flank, max_combinations=MAX_COMBINATIONS, masks=False, phased=True
    )
    with (
        ReferenceFasta(inputs.reference) as fasta,
        open_vcf(inputs.calls, inputs.max_record) as vcf,
    ):
        records = within(vcf.batches(), inputs.regions, fasta.lengths)
        records = _with_sequences(records, fasta.lengths, count)
        batches = locus_batches(records, fasta, options, vcf.name, count)
        with open_text(output) as write:
            text = HaplotypeText(flank, count)
            streamed = vcf.name if inputs.regions.is_everything else REGIONS
            with showing() as progress:
                for batch in batches:
                    write(memoryview(text.of(batch)))
                    progress.advance(len(batch.sites), fraction_read([streamed]))


def _with_sequences(
    batches: Iterable[VcfBatch], lengths: Mapping[str, int], count: Count
) -> Iterator[VcfBatch]:
    """Exclude records that change nothing: their neighbours must not share a locus across them."""
    for batch in batches:
        count("records", len(batch))
        length = lengths.get(batch.contig, UNKNOWN_LENGTH)
        is_telomere = are_telomeres(batch, length)
        sites = sites_of(batch, length)
        sequences, spanned = (
            np.add.reduceat(sites.kinds == kind, sites.allele_offsets[:-1], dtype=np.int64)
            for kind in (AlleleKind.SEQUENCE, AlleleKind.SPANNED)
        )
        has_alternative = sequences > 1  # REF is a sequence, too
        kept = has_alternative & ~is_telomere
        without = ~has_alternative & ~is_telomere
        counts = {
            "telomere_records": is_telomere.sum(),
            "spanned_alleles": spanned[without].sum(),
            "symbolic_alleles": (batch.alternatives - spanned)[without].sum(),
            "records_without_alt": without.sum(),
        }
        for name in filter(counts.get, counts):
            count(name, int(counts[name]))
        if kept.any():
            yield batch.take(kept)


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
