"""Alleles of a called VCF and of a simulated sample, in one notation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.vcf.records import VcfRecord
from hapgpu.io.vcf.source import open_vcf

Allele: TypeAlias = tuple[int, str, str]
"""0-based position, REF and ALT: single bases, or an indel with the base before it."""

_BETWEEN_ALLELES: Final = re.compile(r"[/|]")
_SPANNING: Final = "*"
_NEAR: Final = 10
"""Bases between neighbours, at most."""


def called_alleles(path: Path, reference: str) -> set[Allele]:
    """Return the ALT alleles of the genotypes of a VCF with one contig and one sample."""
    found: set[Allele] = set()
    with open_vcf(path) as vcf:
        for record in vcf.records():
            genotype = record.genotypes.split("\t")[1].partition(":")[0]
            numbers = {int(text) for text in _BETWEEN_ALLELES.split(genotype) if text != "."}
            found.update(_alleles_of(record, numbers, reference))
    return found


def carried_alleles(path: Path, reference: str, genotypes: NDArray[np.int8]) -> set[Allele]:
    """Return the ALT alleles of a sample at the sites of a VCF with one contig.

    Parameters
    ----------
    path
        The VCF, s records.
    reference
        Bases of the contig.
    genotypes
        int8[s, 2]: allele numbers of the sample.
    """
    found: set[Allele] = set()
    with open_vcf(path) as vcf:
        for record, numbers in zip(vcf.records(), genotypes.tolist(), strict=True):
            found.update(_alleles_of(record, set(numbers), reference))
    return found


def _alleles_of(record: VcfRecord, numbers: set[int], reference: str) -> Iterator[Allele]:
    for number in numbers - {0}:
        alternative = record.alternatives[number - 1]
        if alternative != _SPANNING:
            yield from simple_alleles(record.start, record.reference, alternative, reference)


def simple_alleles(start: int, ref: str, alt: str, reference: str) -> Iterator[Allele]:
    """Yield the bases in which alleles of equal length differ; otherwise the indel, left-aligned.

    Parameters
    ----------
    start
        0-based position of REF.
    ref, alt
        The alleles.
    reference
        Bases of the contig.
    """
    if len(ref) == len(alt):
        for offset, (old, new) in enumerate(zip(ref, alt, strict=True)):
            if old != new:
                yield start + offset, old, new
        return
    while ref[-1] == alt[-1] and start:
        ref, alt = ref[:-1], alt[:-1]
        if not (ref and alt):
            start -= 1
            ref, alt = reference[start] + ref, reference[start] + alt
    common = 0
    while common < min(len(ref), len(alt)) - 1 and ref[common] == alt[common]:
        common += 1
    yield start + common, ref[common:], alt[common:]


def missed_and_false(
    truth: set[Allele], called: set[Allele], reference: str
) -> tuple[set[Allele], set[Allele]]:
    """Return the true alleles that are not called, and the called alleles that are not true.

    Neighbours are the same in any notation: an aligner may write several mismatches side by side
    as an insertion and a deletion.

    Parameters
    ----------
    truth, called
        The alleles.
    reference
        Bases of the contig.
    """
    missed: set[Allele] = set()
    false: set[Allele] = set()
    for cluster in _clusters(truth | called):
        true, found = truth.intersection(cluster), called.intersection(cluster)
        if true != found:
            text = _applied(true, cluster, reference)
            if text is None or text != _applied(found, cluster, reference):
                missed |= true - found
                false |= found - true
    return missed, false


def _clusters(alleles: set[Allele]) -> Iterator[list[Allele]]:
    """Yield alleles that are near each other, in order."""
    cluster: list[Allele] = []
    end = 0
    for allele in sorted(alleles):
        if cluster and allele[0] > end + _NEAR:
            yield cluster
            cluster = []
        cluster.append(allele)
        end = max(end, allele[0] + len(allele[1]))
    if cluster:
        yield cluster


def _applied(alleles: set[Allele], cluster: list[Allele], reference: str) -> str | None:
    """Return the bases from the start to the end of a cluster; None if alleles overlap."""
    at, text = cluster[0][0], ""
    for start, ref, alt in sorted(map(_without_base_before, alleles)):
        if start < at:
            return None
        text += reference[at:start] + alt
        at = start + len(ref)
    return text + reference[at : max(start + len(ref) for start, ref, _ in cluster)]


def _without_base_before(allele: Allele) -> Allele:
    start, ref, alt = allele
    return allele if len(ref) == len(alt) else (start + 1, ref[1:], alt[1:])
