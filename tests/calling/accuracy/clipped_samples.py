"""Simulated samples with long variants, whose reads are clipped there as aligners clip them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Final

import pysam

from hapgpu.simulation.paired_reads import PairedReadModel
from hapgpu.simulation.sample import simulated_reads
from hapgpu.simulation.variants import VariantKind, VariantModel, drawn_variants
from tests.haplotypes.made_references import slice_of
from tests.simulation.made_samples import MadeSample, written_sample

LONG: Final = 40
"""Reads are clipped at insertions and deletions of so many bases."""
MODEL: Final = VariantModel(
    frequencies={
        VariantKind.SNV: 0.6,
        VariantKind.TANDEM_DUPLICATION: 0.2,
        VariantKind.LONG_DELETION: 0.2,
    },
    spacing=400,
    duplication_lengths=(60, 150),
    long_deletion_lengths=(120, 150),
)
MISMATCH: Final = -4
_M, _I, _D, _S = 0, 1, 2, 4


def extension(bases: str, reference: str) -> int:
    """Return how many bases from the first on align best, with 1 per match and -4 per mismatch."""
    score = best = length = 0
    for at, (one, other) in enumerate(zip(bases, reference, strict=False), 1):
        score += 1 if one == other else MISMATCH
        if score > best:
            best, length = score, at
    return length


def clip(read: pysam.AlignedSegment, text: str) -> None:
    """Clip a read at its long insertion or deletion; align what is clipped as far as it fits."""
    cigar, start = list(read.cigartuples), read.reference_start
    long = [k for k, (op, length) in enumerate(cigar) if op in {_I, _D} and length >= LONG]
    if long:
        before, after = cigar[: long[0]], cigar[long[0] + 1 :]
        length = sum(n for op, n in (cigar[long[0]],) if op == _I)
        if _query(before) >= _query(after):
            cigar = [*before, (_S, length + _query(after))]
        else:
            start += sum(n for op, n in cigar[: long[0] + 1] if op not in {_I, _S})
            cigar = [(_S, length + _query(before)), *after]
    bases = str(read.query_sequence)
    if cigar[0][0] == _S:
        clipped = cigar[0][1]
        more = extension(bases[:clipped][::-1], text[max(start - clipped, 0) : start][::-1])
        start -= more
        cigar[:2] = [(_S, clipped - more), (_M, cigar[1][1] + more)]
    if cigar[-1][0] == _S:
        clipped = cigar[-1][1]
        end = start + sum(n for op, n in cigar if op in {_M, _D})
        more = extension(bases[-clipped:], text[end : end + clipped])
        cigar[-2:] = [(_M, cigar[-2][1] + more), (_S, clipped - more)]
    read.reference_start = start
    read.cigartuples = [element for element in cigar if element[1]]


def _query(cigar: list[tuple[int, int]]) -> int:
    return sum(n for op, n in cigar if op != _D)


def clipped_sample(directory: Path, text: str, depth: float, seed: int = 1) -> MadeSample:
    """Simulate a sample of this depth, its reads clipped at long variants."""
    reference = slice_of(text)
    variants, kinds = drawn_variants(reference, 2, MODEL, seed)
    reads = simulated_reads(reference, variants, "NA1", PairedReadModel(depth=depth), seed)
    files = written_sample(directory, text, variants, reads)
    path = str(files.reads)
    with pysam.AlignmentFile(path) as source:
        header, records = source.header, list(source)
    pairs: dict[str, list[pysam.AlignedSegment]] = defaultdict(list)
    for read in records:
        clip(read, text)
        pairs[str(read.query_name)].append(read)
    for one, other in pairs.values():
        low = min(one.reference_start, other.reference_start)
        span = max(int(one.reference_end or 0), int(other.reference_end or 0)) - low
        for read, mate in ((one, other), (other, one)):
            read.next_reference_start = mate.reference_start
            read.template_length = -span if read.is_reverse else span
    records.sort(key=lambda read: read.reference_start)
    with pysam.AlignmentFile(path, "wb", header=header) as output:
        for read in records:
            output.write(read)
    pysam.index(path)
    return MadeSample(files, variants, kinds)
