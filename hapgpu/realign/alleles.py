"""Reads per sample and haplotype: counts of batches, and the table of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.kinds import HOST, AnyArray, AnyRagged, ArrayKind
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.errors import UsageError
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.read_groups import ReadGroups, SampleTable
from hapgpu.io.files.text_output import WriteText
from hapgpu.realign.projection.haplotype_cigars import haplotype_cigars
from hapgpu.runtime.devices import Device


@dataclass(frozen=True, slots=True)
class AlleleCounts:
    """Numbers of reads of some batches.

    A sample has two cells per haplotype: of the reads that it alone explains best, and of those
    that another one explains as well. The last cell is of reads that no haplotype explains.

    Attributes
    ----------
    cells
        int64[c]: cells of one sample after the other, in any order.
    reads
        int64[c]: numbers of reads to add to them.
    """

    cells: NDArray[np.int64]
    reads: NDArray[np.int64]

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join counts, at least one."""
        return cls(
            np.concatenate([part.cells for part in parts]),
            np.concatenate([part.reads for part in parts]),
        )


def count_alleles(
    samples: AnyArray,
    reads: AnyArray,
    haplotypes: AnyArray,
    are_tied: AnyArray,
    count: int,
    arrays: ArrayKind[AnyRagged] = HOST,
) -> AlleleCounts:
    """Count the reads of a batch.

    Parameters
    ----------
    samples
        int32[n]: the sample of each read.
    reads, haplotypes
        int64[m] and int32[m]: the reads that a haplotype explains, and this haplotype.
    are_tied
        bool[n]: whether another haplotype explains the read as well.
    count
        Number of haplotypes.
    arrays
        The functions on these arrays.
    """
    if not samples.size:
        none = np.empty(0, dtype=np.int64)
        return AlleleCounts(none, none)
    chosen = arrays.module.full(samples.size, 2 * count, dtype=np.int64)
    chosen[reads] = 2 * haplotypes.astype(np.int64) + are_tied[reads]
    found = samples.astype(np.int64) * (2 * count + 1) + chosen
    cells, numbers = map(arrays.to_host, arrays.module.unique(found, return_counts=True))
    return AlleleCounts(cells, numbers.astype(np.int64))


class AlleleTally:
    """Numbers of reads of a whole run.

    Parameters
    ----------
    samples, haplotypes
        Their numbers, s and h.
    """

    def __init__(self, samples: int, haplotypes: int) -> None:
        self._cells = np.zeros((samples, 2 * haplotypes + 1), dtype=np.int64)

    def add(self, counts: AlleleCounts) -> None:
        """Add the counts of some batches."""
        np.add.at(self._cells.reshape(-1), counts.cells, counts.reads)

    @property
    def alone(self) -> NDArray[np.int64]:
        """int64[s, h]: reads that this haplotype alone explains best."""
        return self._cells[:, :-1:2]

    @property
    def tied(self) -> NDArray[np.int64]:
        """int64[s, h]: reads that this haplotype, the first of the best, and others explain."""
        return self._cells[:, 1:-1:2]

    @property
    def unexplained(self) -> NDArray[np.int64]:
        """int64[s]: reads that no haplotype explains."""
        return self._cells[:, -1]


MAX_LINES: Final = 5_000_000
"""Samples x haplotypes, at most: 16 bytes each in memory."""

MAX_LENGTH: Final = 10_000
"""Longest haplotype that gets a CIGAR: its matrix has the square of this in bytes."""

_COLUMNS: Final = ("sample", "locus", "haplotype", "cigar", "reads", "ambiguous", "fraction")
_MISSING: Final = "NA"
_UNEXPLAINED: Final = "*"
_LINES_PER_PIECE: Final = 10_000
_HAPLOTYPES_PER_BATCH: Final = 20_000  # limits the memory of their alignment


class AlleleTable:
    """Table of the reads per sample and haplotype.

    Parameters
    ----------
    header, name
        Header and name of the reads.
    haplotypes
        The haplotypes.

    Attributes
    ----------
    groups
        The read groups of the reads.
    tally
        Receives the counts of the batches.

    Raises
    ------
    InputError
        The read groups of the header are malformed.
    UsageError
        There are too many samples and haplotypes.
    """

    def __init__(self, header: SamHeader, name: str, haplotypes: HaplotypeSet) -> None:
        samples = SampleTable.of([header], [name])
        self._samples = samples.names
        self._haplotypes = haplotypes
        lines = len(self._samples) * len(haplotypes)
        if lines > MAX_LINES:
            raise UsageError(
                f"--alleles-table: {len(self._samples):,} samples x {len(haplotypes):,} haplotypes"
                f" are over {MAX_LINES:,} lines; give fewer haplotypes"
            )
        self.groups: ReadGroups = samples.files[0]
        self.tally = AlleleTally(len(self._samples), len(haplotypes))

    def write(self, write: WriteText, device: Device) -> None:
        """Write all lines; `device` aligns the haplotypes with the first of their locus.

        Raises
        ------
        OutputError
            The output cannot be written.
        """
        lines = self._lines(_cigars_of(self._haplotypes, device))
        while piece := list(islice(lines, _LINES_PER_PIECE)):
            write(memoryview("".join(piece).encode("utf-8", "surrogateescape")))

    def _lines(self, cigars: Sequence[str]) -> Iterator[str]:
        """Yield the head, and of each sample a line per haplotype and one for its other reads."""
        yield "\t".join(_COLUMNS) + "\n"
        haplotypes, tally = self._haplotypes, self.tally
        loci = [str(locus) for locus in haplotypes.loci] or [_MISSING]
        heads = [
            f"{loci[locus]}\t{name}\t{cigar}"
            for locus, name, cigar in zip(
                haplotypes.locus_index.tolist(), haplotypes.names, cigars, strict=True
            )
        ]
        for row, sample in enumerate(self._samples):
            totals = _totals_of_loci(tally.alone[row], haplotypes.locus_index)
            numbers = (column.tolist() for column in (tally.alone[row], tally.tied[row], totals))
            for head, alone, tied, total in zip(heads, *numbers, strict=True):
                fraction = f"{alone / total:.6g}" if total else _MISSING
                yield f"{sample}\t{head}\t{alone}\t{tied}\t{fraction}\n"
            others = f"{_MISSING}\t{_UNEXPLAINED}\t{_MISSING}\t{tally.unexplained[row]}"
            yield f"{sample}\t{others}\t0\t{_MISSING}\n"


def _totals_of_loci(reads: NDArray[np.int64], loci: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return int64[h]: the reads of all haplotypes of the locus of each; -1 is one locus, too."""
    totals = np.zeros(int(loci.max(initial=-1)) + 2, dtype=np.int64)
    np.add.at(totals, loci + 1, reads)
    return totals[loci + 1]


def _cigars_of(haplotypes: HaplotypeSet, device: Device) -> list[str]:
    """Align each haplotype end to end with the first of its locus; NA without such an alignment."""
    sequences, loci = haplotypes.sequences, haplotypes.locus_index
    _, firsts, index = np.unique(loci, return_index=True, return_inverse=True)
    references = firsts[index].astype(np.int32)
    lengths = sequences.lengths
    aligned = np.flatnonzero(np.maximum(lengths, lengths[references]) <= MAX_LENGTH)
    texts = [_MISSING] * len(haplotypes)
    for start in range(0, aligned.size, _HAPLOTYPES_PER_BATCH):
        rows = aligned[start : start + _HAPLOTYPES_PER_BATCH]
        pairs = PairBatch(sequences, sequences, references[rows], rows.astype(np.int32))
        cigars, ok = haplotype_cigars(pairs, device)
        found = zip(rows.tolist(), cigar_strings(cigars), ok.tolist(), strict=True)
        for row, text, has_cigar in found:
            texts[row] = text if has_cigar else _MISSING
    return texts
