"""Ploidies of a run: those of a file of regions, and those of the sex chromosomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from hapgpu.calling.ploidies import MAX_PLOIDY, PloidyRegion
from hapgpu.errors import InputError
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.named_regions import NamedRegion, read_named_regions
from hapgpu.io.genome.regions import Region, contig_hint
from hapgpu.io.text.values import excerpt, parse_position

_HAPLOID: Final = 1


class _Chromosome(NamedTuple):
    """Sex chromosome of an assembly: its length and its pseudoautosomal regions, half-open."""

    name: str
    length: int
    diploid: tuple[tuple[int, int], tuple[int, int]]


_ASSEMBLIES: Final = {
    "GRCh37": (
        _Chromosome("X", 155_270_560, ((60_000, 2_699_520), (154_931_043, 155_260_560))),
        _Chromosome("Y", 59_373_566, ((10_000, 2_649_520), (59_034_049, 59_363_566))),
    ),
    "GRCh38": (
        _Chromosome("X", 156_040_895, ((10_000, 2_781_479), (155_701_382, 156_030_895))),
        _Chromosome("Y", 57_227_415, ((10_000, 2_781_479), (56_887_902, 57_217_415))),
    ),
}


def read_ploidies(
    path: str | Path,
    reference: str | Path,
    lengths: Mapping[str, int],
    max_record: int = MAX_RECORD,
) -> list[PloidyRegion]:
    """Read regions whose names are ploidies: BED, or interval_list of Picard.

    Parameters
    ----------
    path
        The file.
    reference
        Name of the reference, for errors.
    lengths
        Lengths of its contigs.
    max_record
        As of `read_named_regions`.

    Raises
    ------
    InputError
        As `read_named_regions`; a name is no ploidy, or a region is not in the reference.
    """
    found = read_named_regions(path, max_record)
    return [PloidyRegion(_checked(named, reference, lengths), _ploidy(named)) for named in found]


def _checked(named: NamedRegion, reference: str | Path, lengths: Mapping[str, int]) -> Region:
    region = named.region
    length = lengths.get(region.contig)
    if length is None:
        hint = contig_hint(region.contig, lengths)
        raise InputError(
            f"{named.label}: no contig '{excerpt(region.contig)}' in {reference}{hint}; correct it"
        )
    if region.end > length:
        raise InputError(
            f"{named.label}: ends after the {length:,} bases of its contig in {reference};"
            " correct it"
        )
    return region


def _ploidy(named: NamedRegion) -> int:
    ploidy = parse_position(named.name)
    if ploidy is None or not 1 <= ploidy <= MAX_PLOIDY:
        raise InputError(
            f"{named.label}: ploidy is '{excerpt(named.name)}', expected 1 to {MAX_PLOIDY};"
            " correct it, or remove the line"
        )
    return ploidy


def haploid_regions(reference: str | Path, lengths: Mapping[str, int]) -> list[PloidyRegion]:
    """Return X and Y of a male outside the pseudoautosomal regions, with one copy.

    The assembly is found by the lengths of the contigs, with or without `chr` in their names.

    Parameters
    ----------
    reference
        Name of the reference, for errors.
    lengths
        Lengths of its contigs.

    Raises
    ------
    InputError
        The reference has neither X nor Y, or another length of one than GRCh37 and GRCh38 have.
    """
    named = [(name, name.removeprefix("chr")) for name in lengths]
    found = [(contig, name) for contig, name in named if name in {"X", "Y"}]
    if not found:
        raise InputError(f"{reference}: no contig X or Y, with or without chr; drop --sex xy")
    return [
        region
        for contig, name in found
        for region in _of_chromosome(contig, _chromosome(reference, contig, name, lengths))
    ]


def _chromosome(
    reference: str | Path, contig: str, name: str, lengths: Mapping[str, int]
) -> _Chromosome:
    for chromosomes in _ASSEMBLIES.values():
        for chromosome in chromosomes:
            if chromosome.name == name and chromosome.length == lengths[contig]:
                return chromosome
    raise InputError(
        f"{reference}: contig '{contig}' has {lengths[contig]:,} bases, unlike in GRCh37 and"
        " GRCh38; give --ploidy-regions instead of --sex"
    )


def _of_chromosome(contig: str, chromosome: _Chromosome) -> Iterator[PloidyRegion]:
    bounds: Sequence[int] = [0, *(b for part in chromosome.diploid for b in part)]
    ends = [*bounds[1:], chromosome.length]
    for start, end in list(zip(bounds, ends, strict=True))[::2]:
        yield PloidyRegion(Region(contig, start, end), _HAPLOID)
