"""Haplotypes of a FASTA, and their loci."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.haplotypes.pairing.locus_header import parse_locus
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.fasta import read_fasta
from hapgpu.io.genome.regions import Region


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

    def without_loci(self) -> HaplotypeSet:
        """Return the haplotypes without their loci, to pair reads without positions with all."""
        return HaplotypeSet(self.names, self.sequences, (), np.full_like(self.locus_index, -1))

    def take(self, rows: NDArray[np.int64]) -> HaplotypeSet:
        """Return some of the haplotypes, with their loci."""
        loci = sorted({int(locus) for locus in self.locus_index[rows]})
        numbers = {locus: number for number, locus in enumerate(loci)}
        return HaplotypeSet(
            tuple(self.names[row] for row in rows),
            self.sequences.take(rows),
            tuple(self.loci[locus] for locus in loci),
            np.array([numbers[int(k)] for k in self.locus_index[rows]], dtype=np.int32),
        )


def read_haplotypes(path: str | Path, max_record: int = MAX_RECORD) -> HaplotypeSet:
    """Read haplotypes and their loci from a FASTA; header lines hold the loci (`parse_locus`).

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
        parsed = [
            parse_locus(name, description)
            for name, description in zip(records.names, records.descriptions, strict=True)
        ]
    except InputError as error:
        message = f"{path}: {error}"
        raise InputError(message) from error
    names = tuple(name for name, _ in parsed)
    loci = [locus for _, locus in parsed if locus is not None]
    if len(set(names)) < len(names):
        twice, _ = Counter(names).most_common(1)[0]
        message = f"{path}: two haplotypes have the name '{twice}'; give each a unique name"
        raise InputError(message)
    if not loci:
        return HaplotypeSet(names, records.sequences, (), np.full(len(names), -1, dtype=np.int32))
    if unbound := next((name for name, locus in parsed if locus is None), None):
        message = (
            f"{path}: haplotype '{unbound}' has no locus, but others have; "
            f"write it as in '>{unbound} chr20:10000101-10000500', or remove all loci"
        )
        raise InputError(message)
    numbers = {locus: number for number, locus in enumerate(dict.fromkeys(loci))}
    index = np.array([numbers[locus] for locus in loci], dtype=np.int32)
    return HaplotypeSet(names, records.sequences, tuple(numbers), index)
