"""Haplotypes of a FASTA, and their loci."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.haplotypes.pairing.locus_header import parse_loci
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.fasta import read_fasta
from hapgpu.io.genome.regions import Region


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


@dataclass(frozen=True, slots=True)
class HaplotypeSet:
    """h haplotypes in the order of their file.

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
        """Return some of the haplotypes, with their loci."""
        loci, index = np.unique(self.locus_index[rows], return_inverse=True)
        return HaplotypeSet(
            tuple(map(self.names.__getitem__, rows.tolist())),
            self.sequences.take(rows),
            tuple(map(self.loci.__getitem__, loci.tolist())),
            index.astype(np.int32),
        )


def read_haplotypes(path: str | Path, max_record: int = MAX_RECORD) -> HaplotypeSet:
    """Read haplotypes and their loci from a FASTA; header lines hold the loci (`parse_loci`).

    Parameters
    ----------
    path
        FASTA file, plain or compressed with gzip or BGZF.
    max_record
        Bytes of the longest header line and of the longest haplotype.

    Raises
    ------
    InputError
        The file is not FASTA, two haplotypes have one name, or only some have a locus.
    """
    records = read_fasta(path, max_record=max_record)
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
