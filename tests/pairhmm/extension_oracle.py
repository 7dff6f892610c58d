"""Haplotypes extended by the reference for one read, in plain Python: an oracle for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pysam

from tests.pairhmm.preparation_oracle import Rules, prepare_record

SOFT_CLIP = 4
FLANK = 64
ROOM = 32


@dataclass(frozen=True)
class Locus:
    """An interval of a contig, 0-based, half-open, and its haplotypes in order."""

    contig: str
    start: int
    end: int
    haplotypes: dict[str, str]

    @property
    def text(self) -> str:
        return f"{self.contig}:{self.start + 1}-{self.end}"

    def is_overlapped_by(self, record: pysam.AlignedSegment) -> bool:
        # A read without aligned bases counts as one base long.
        start = record.reference_start
        end = max(start + 1, record.reference_end)
        return record.reference_name == self.contig and start < self.end and end > self.start


def flanks(record: pysam.AlignedSegment, locus: Locus) -> tuple[int, int]:
    """Return the lengths by which haplotypes are extended before and after their locus."""
    cigar = record.cigartuples or []
    soft = [(operation, length) for operation, length in cigar if operation != 5]
    before = soft[0][1] if soft and soft[0][0] == SOFT_CLIP else 0
    after = soft[-1][1] if len(soft) > 1 and soft[-1][0] == SOFT_CLIP else 0
    start = record.reference_start - before
    end = record.reference_start + sum(n for op, n in cigar if op in (0, 2, 3, 7, 8)) + after
    length = len(record.query_sequence)
    first, last = min(start, end - length), max(end, start + length)
    shortest = min(map(len, locus.haplotypes.values()))
    deletion = max(0, locus.end - locus.start - shortest)
    needed = (locus.start - first + deletion + ROOM, last - locus.end + deletion + ROOM)
    left, right = (max(FLANK, (bases + FLANK - 1) // FLANK * FLANK) for bases in needed)
    return left, right


def likelihoods(
    record: pysam.AlignedSegment, locus: Locus, reference: pysam.FastaFile, rules: Rules
) -> Sequence[float]:
    """Return likelihoods of a whole read, per haplotype of the locus with reference flanks."""
    left, right = flanks(record, locus)
    before = reference.fetch(locus.contig, max(0, locus.start - left), locus.start).upper()
    contig_end = reference.get_reference_length(locus.contig)
    after = reference.fetch(locus.contig, locus.end, min(contig_end, locus.end + right)).upper()
    read = prepare_record(record, rules)
    return [read.likelihood(before + bases.upper() + after) for bases in locus.haplotypes.values()]
