"""Sites of a truth set, each with the haplotypes of its alleles and of nearby alleles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import prod
from pathlib import Path

import pysam

MAX_HAPLOTYPES = 32


@dataclass(frozen=True)
class Record:
    """A record of the truth set: alleles of start to end, and the genotype."""

    start: int
    end: int
    alleles: tuple[str, ...]
    genotype: tuple[int, int]
    has_phase: bool

    @property
    def is_heterozygous(self) -> bool:
        return self.genotype[0] != self.genotype[1]


@dataclass(frozen=True)
class TruthSite:
    """A record, the window around it, and its candidate haplotypes.

    `haplotypes` are distinct sequences. `truth` lists the pairs that agree with the truth set:
    one, unless phase is unknown; a homozygous pair is a set of one.
    """

    record: Record
    contig: str
    start: int
    end: int
    haplotypes: list[str]
    truth: set[frozenset[int]]

    @property
    def locus(self) -> str:
        return f"{self.contig}:{self.start + 1}-{self.end}"

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations_with_replacement(range(len(self.haplotypes)), 2))


def truth_sites(reference: Path, vcf: Path, flank: int, contig: str = "chr20") -> list[TruthSite]:
    """Return a window around each record; its haplotypes include other records in the window."""
    records = list(_records(vcf))
    with pysam.FastaFile(str(reference)) as fasta:
        return [_site(record, records, fasta, flank, contig) for record in records]


def write_haplotypes(path: Path, sites: Iterable[TruthSite]) -> Path:
    """Write the haplotypes of sites, named by site number and haplotype number."""
    with path.open("w") as out:
        for number, site in enumerate(sites):
            for haplotype, bases in enumerate(site.haplotypes):
                out.write(f">{number}_{haplotype} {site.locus}\n{bases}\n")
    return path


def _records(vcf: Path) -> Iterator[Record]:
    with pysam.VariantFile(str(vcf)) as file:
        for record in file:
            call = record.samples[0]
            yield Record(record.start, record.stop, record.alleles, call["GT"], call.phased)


def _site(
    record: Record, records: list[Record], fasta: pysam.FastaFile, flank: int, contig: str
) -> TruthSite:
    start, end = record.start - flank, record.end + flank
    within = [r for r in records if r.start > start and r.end < end]
    bases = fasta.fetch(contig, start, end).upper()
    sequences: dict[str, int] = {}

    def number_of(chosen: tuple[int, ...]) -> int | None:
        """Return the number of the haplotype with these alleles, or None if two overlap."""
        made = _with_alleles(bases, start, within, chosen)
        return None if made is None else sequences.setdefault(made, len(sequences))

    for chosen in product(*_allele_options(record, within)):
        number_of(chosen)
    truth = {
        frozenset(n for n in map(number_of, pair) if n is not None) for pair in _true_pairs(within)
    }
    return TruthSite(record, contig, start, end, list(sequences), truth)


def _allele_options(record: Record, within: list[Record]) -> list[list[int]]:
    """Return the alleles of each record; of distant records only the true ones, if too many."""
    options = [list(range(len(r.alleles))) for r in within]
    far_to_near = sorted(range(len(within)), key=lambda k: -abs(within[k].start - record.start))
    for k in far_to_near[:-1]:
        if prod(map(len, options)) > MAX_HAPLOTYPES:
            options[k] = sorted(set(within[k].genotype))
    return options


def _true_pairs(within: list[Record]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Combine the genotypes in all ways that their phase allows."""
    orders = [
        (r.genotype,) if r.has_phase or not r.is_heterozygous else (r.genotype, r.genotype[::-1])
        for r in within
    ]
    return [tuple(zip(*genotypes, strict=True)) for genotypes in product(*orders)]


def _with_alleles(
    bases: str, start: int, records: list[Record], chosen: tuple[int, ...]
) -> str | None:
    """Write alleles into the reference from right to left; return None if two overlap."""
    limit = len(bases)
    for record, allele in sorted(
        zip(records, chosen, strict=True), key=lambda pair: -pair[0].start
    ):
        if allele == 0:
            continue
        left, right = record.start - start, record.end - start
        if right > limit:
            return None
        bases = bases[:left] + record.alleles[allele] + bases[right:]
        limit = left
    return bases
