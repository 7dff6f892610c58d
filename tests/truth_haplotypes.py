"""Haplotypes with loci from the true variants of a sample: input for realignment tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pysam

FLANK = 200


@dataclass(frozen=True)
class Variant:
    """A true variant: the alleles of both chromosomes, which replace start to end."""

    start: int
    end: int
    alleles: tuple[str, str]
    has_phase: bool

    @property
    def is_homozygous(self) -> bool:
        return self.alleles[0] == self.alleles[1]


@dataclass(frozen=True)
class TruthLocus:
    """An interval of the reference, 0-based and half-open, with its true haplotypes.

    `haplotypes` has the reference sequence and the sequences of both chromosomes, equal or not.
    """

    contig: str
    start: int
    end: int
    variants: tuple[Variant, ...]
    haplotypes: dict[str, str]

    @property
    def reference(self) -> str:
        return next(iter(self.haplotypes.values()))


def truth_loci(reference: Path, vcf: Path, contig: str = "chr20") -> list[TruthLocus]:
    """Return windows around variants, from left to right and without overlap.

    A window in which the phase of alleles is unknown is excluded, and so is one that
    cuts a variant in two or in which variants overlap.
    """
    variants = list(_variants(vcf))
    loci: list[TruthLocus] = []
    done = 0
    with pysam.FastaFile(str(reference)) as fasta:
        for centre in variants:
            start, end = centre.start - FLANK, centre.start + FLANK
            within = [v for v in variants if v.end > start and v.start < end]
            if start >= done and _can_be_built(within, start, end):
                bases = fasta.fetch(contig, start, end).upper()
                loci.append(
                    TruthLocus(
                        contig, start, end, tuple(within), _haplotypes(contig, start, bases, within)
                    )
                )
                done = end
    return loci


def write_haplotypes(
    path: Path, loci: Iterable[TruthLocus], *, only_reference: bool = False
) -> Path:
    """Write haplotypes under headers with their loci."""
    with path.open("w") as out:
        for locus in loci:
            for name, bases in list(locus.haplotypes.items())[: 1 if only_reference else None]:
                out.write(f">{name} {locus.contig}:{locus.start + 1}-{locus.end}\n{bases}\n")
    return path


def _variants(vcf: Path) -> Iterator[Variant]:
    with pysam.VariantFile(str(vcf)) as records:
        for record in records:
            call = record.samples[0]
            first, second = (allele or record.ref for allele in call.alleles)
            yield Variant(record.start, record.stop, (first, second), call.phased)


def _can_be_built(variants: Sequence[Variant], start: int, end: int) -> bool:
    without_phase = [v for v in variants if not v.is_homozygous and not v.has_phase]
    heterozygous = [v for v in variants if not v.is_homozygous]
    return (
        (not without_phase or len(heterozygous) == 1)
        and all(start < v.start and v.end < end for v in variants)
        and all(left.end <= right.start for left, right in pairwise(variants))
    )


def _haplotypes(contig: str, start: int, bases: str, variants: Sequence[Variant]) -> dict[str, str]:
    prefix = f"{contig}_{start + 1}"
    chromosomes = {
        f"{prefix}_{name}": _with_alleles(bases, start, variants, which)
        for which, name in enumerate(("first", "second"))
    }
    return {f"{prefix}_reference": bases, **chromosomes}


def _with_alleles(bases: str, start: int, variants: Sequence[Variant], which: int) -> str:
    for variant in reversed(variants):
        left, right = variant.start - start, variant.end - start
        bases = bases[:left] + variant.alleles[which] + bases[right:]
    return bases
