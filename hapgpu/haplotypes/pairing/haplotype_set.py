"""Haplotypes of a FASTA, and their loci."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.fasta import read_fasta
from hapgpu.io.genome.regions import Region
from hapgpu.io.text.values import LAST_POSITION, excerpt, parse_position
from hapgpu.runtime.pool import Pool

_INTERVAL = re.compile(r"(?P<contig>\S+):(?P<start>[0-9,]+)-(?P<end>[0-9,]+)")

# Loci of many headers at once, as programs write them: no commas, no leading zeros, and positions
# that cannot be too large. Equal loci then have equal texts.
_DESCRIBED: Final = re.compile(r"^(\S+):([1-9][0-9]{0,8})-([1-9][0-9]{0,8})(?!\S)", re.MULTILINE)
_NAMED: Final = re.compile(
    r"^(\S+)::([^\s:]+):(0|[1-9][0-9]{0,8})-([1-9][0-9]{0,8})(?:\(\+\))?$", re.MULTILINE
)


class HeaderLoci(NamedTuple):
    """The loci of h haplotypes.

    Attributes
    ----------
    names
        Names without loci.
    loci
        The distinct loci, in order of their first haplotypes.
    locus_index
        int32[h], the locus of each haplotype; -1 for none.
    """

    names: tuple[str, ...]
    loci: tuple[Region, ...]
    locus_index: NDArray[np.int32]


def parse_loci(names: Sequence[str], descriptions: Sequence[str]) -> HeaderLoci:
    """Return the loci in n header lines, without newlines: `parse_locus` of each.

    Raises
    ------
    InputError
        As `parse_locus`, for the first bad line.
    """
    return (
        _described(names, descriptions)
        or _named(names)
        or _one_by_one([parse_locus(*line) for line in zip(names, descriptions, strict=True)])
    )


def _described(names: Sequence[str], descriptions: Sequence[str]) -> HeaderLoci | None:
    """Return the loci if each description starts with one; else None."""
    found = _DESCRIBED.findall("\n".join(descriptions))
    if len(found) < len(names) or any("::" in name for name in names):
        return None
    return _of_fields(tuple(names), found, first=1)


def _named(names: Sequence[str]) -> HeaderLoci | None:
    """Return the loci if each name ends with one; else None."""
    found = _NAMED.findall("\n".join(names))
    if len(found) < len(names):
        return None
    return _of_fields(tuple(name for name, *_ in found), [rest for _, *rest in found], first=0)


def _of_fields(
    names: tuple[str, ...], fields: Sequence[Sequence[str]], first: int
) -> HeaderLoci | None:
    """Return loci by contig, start and end; None if one of them is empty."""
    keys = list(map(tuple, fields))
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    loci = [Region(contig, int(start) - first, int(end)) for contig, start, end in numbers]
    if any(locus.start >= locus.end for locus in loci):
        return None
    return HeaderLoci(names, tuple(loci), np.array([numbers[key] for key in keys], dtype=np.int32))


def _one_by_one(parsed: Sequence[tuple[str, Region | None]]) -> HeaderLoci:
    loci = dict.fromkeys(locus for _, locus in parsed if locus is not None)
    numbers: dict[Region | None, int] = {locus: number for number, locus in enumerate(loci)}
    index = np.array([numbers.get(locus, -1) for _, locus in parsed], dtype=np.int32)
    return HeaderLoci(tuple(name for name, _ in parsed), tuple(loci), index)


def parse_locus(name: str, description: str) -> tuple[str, Region | None]:
    """Return the name of a haplotype without its locus, and the locus if the header has one.

    A locus can be written in two ways:

    `>alt1 chr20:10000101-10000500`
        The first word of the description of the form `contig:start-end`: 1-based, both ends
        included, commas allowed, as in samtools.
    `>alt1::chr20:10000100-10000500`
        As `bedtools getfasta -name` writes it, with or without its `(+)`: 0-based and
        half-open, as in BED. The name of the haplotype is then `alt1`.

    The suffix of the name has precedence over the description. Text that is not an interval, or
    an empty interval, is no locus; the name then stays as it is.

    Raises
    ------
    InputError
        A position is above 2**31 - 1, the length of the longest contig. Or the suffix is `(-)`:
        bedtools reverse-complemented the sequence, but a haplotype at a locus must be in the
        orientation of the reference.
    """
    try:
        return _parsed(name, description)
    except _PositionError as error:
        raise InputError(
            f"haplotype '{excerpt(name)}': locus '{excerpt(str(error))}' ends after"
            f" {LAST_POSITION:,}, the end of the longest contig; correct it"
        ) from None


class _PositionError(Exception):
    """An interval with a position after the end of any contig."""


def _parsed(name: str, description: str) -> tuple[str, Region | None]:
    short, colons, suffix = name.rpartition("::")
    if colons and short and (region := _parse(suffix.removesuffix("(+)"), first=0)):
        return short, region
    if colons and short and suffix.endswith("(-)") and _parse(suffix[:-3], first=0):
        raise InputError(
            f"haplotype '{name}': from the reverse strand; write it in the orientation of the"
            " reference (run: bedtools getfasta without -s)"
        )
    for word in description.split():
        if region := _parse(word, first=1):
            return name, region
    return name, None


def _parse(word: str, first: int) -> Region | None:
    """Return the region of `contig:start-end`, where the first position of a contig is `first`."""
    match = _INTERVAL.fullmatch(word)
    if match is None:
        return None
    digits = [match[side].replace(",", "") for side in ("start", "end")]
    if not all(digits):
        return None
    start, end = map(parse_position, digits)
    if start is None or end is None:
        raise _PositionError(word)
    if start < first or end <= start - first:
        return None
    return Region(match["contig"], start - first, end)


class LocusColumns(NamedTuple):
    """The columns of l loci.

    Attributes
    ----------
    contig_names
        The distinct contigs, in order of their first loci.
    contigs
        int64[l]: the contig of each locus.
    starts, ends
        int64[l], 0-based, half-open.
    """

    contig_names: tuple[str, ...]
    contigs: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class HaplotypeSet:
    """h haplotypes in the order of their file; compared by identity.

    Attributes
    ----------
    names
        Names without loci.
    sequences
        uint8 text, h rows, as in the file.
    loci
        The distinct loci; empty if haplotypes have no loci.
    locus_index
        int32[h], the locus of each haplotype; -1 for none.
    """

    names: tuple[str, ...]
    sequences: Ragged
    loci: tuple[Region, ...]
    locus_index: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def max_candidates(self) -> int:
        """Largest number of haplotypes of one locus; without loci, of all."""
        if not self.loci:
            return len(self)
        return int(np.bincount(self.locus_index).max())

    def locus_columns(self) -> LocusColumns:
        """Return the loci as columns."""
        names = [locus.contig for locus in self.loci]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        return LocusColumns(
            tuple(numbers),
            np.array([numbers[name] for name in names], dtype=np.int64),
            np.array([locus.start for locus in self.loci], dtype=np.int64),
            np.array([locus.end for locus in self.loci], dtype=np.int64),
        )

    def without_loci(self) -> HaplotypeSet:
        """Return the haplotypes without their loci, to pair reads without positions with all."""
        return HaplotypeSet(self.names, self.sequences, (), np.full_like(self.locus_index, -1))

    def take(self, rows: NDArray[np.int64]) -> HaplotypeSet:
        """Return some haplotypes, `rows`, int64[k], with their loci."""
        loci, index = np.unique(self.locus_index[rows], return_inverse=True)
        return HaplotypeSet(
            tuple(map(self.names.__getitem__, rows.tolist())),
            self.sequences.take(rows),
            tuple(map(self.loci.__getitem__, loci.tolist())),
            index.astype(np.int32),
        )


def read_haplotypes(
    path: str | Path, max_record: int = MAX_RECORD, threads: int = 1
) -> HaplotypeSet:
    """Read haplotypes and their loci from a FASTA; header lines hold the loci (`parse_loci`).

    Parameters
    ----------
    path
        FASTA file, plain or compressed with gzip or BGZF.
    max_record
        Bytes of the longest header line and of the longest haplotype.
    threads
        Threads that read a file which is not compressed.

    Raises
    ------
    InputError
        The file is not FASTA, two haplotypes have one name, or only some have a locus.
    """
    with Pool(threads) as pool:
        records = read_fasta(path, max_record=max_record, pool=pool)
    try:
        names, loci, index = parse_loci(records.names, records.descriptions)
    except InputError as error:
        message = f"{path}: {error}"
        raise InputError(message) from error
    if len(set(names)) < len(names):
        twice, _ = Counter(names).most_common(1)[0]
        message = f"{path}: two haplotypes have the name '{twice}'; give each a unique name"
        raise InputError(message)
    if loci and (index < 0).any():
        unbound = names[int(np.argmax(index < 0))]
        message = (
            f"{path}: haplotype '{unbound}' has no locus, but others have; "
            f"write it as in '>{unbound} chr20:10000101-10000500', or remove all loci"
        )
        raise InputError(message)
    return HaplotypeSet(names, records.sequences, loci, index)
