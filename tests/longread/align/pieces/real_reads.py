"""Real reads with their mappings before alignment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.io.genome.fasta import read_fasta
from hapgpu.longread.align.batches import MappedAnchors, ReadCodes, TargetCodes
from hapgpu.longread.align.parameters import (
    AlignParameters,
    AlignScoring,
    align_parameters,
    scoring_of,
)
from hapgpu.longread.align.start import code_reads, code_targets, start_mappings
from hapgpu.longread.batches import TANDEM
from hapgpu.longread.cpu import cpu_stages
from hapgpu.longread.index.build import build_index
from hapgpu.longread.mappings.mappings import chained_mappings
from hapgpu.longread.mappings.quality import reported_rows
from hapgpu.longread.options import LongReadOptions
from hapgpu.longread.stages import MappingFinder
from tests.longread.align.pieces.made_plans import Batch, Case, Read
from tests.longread.align.pieces.reference import Anchor, Chain

_LARGE = 1 << 28


@dataclass
class RealReads:
    """Reads of a file with their mappings."""

    names: list[str]
    batch: Batch
    scoring: AlignScoring
    parameters: AlignParameters

    def plain(self) -> Case:
        """Return the reads for the reference implementation, with unmarked anchors."""
        batch = self.batch
        reads = [
            Read(_slice(batch.reads, row), _anchors(batch.anchors, row), [])
            for row in range(len(self.names))
        ]
        for mapping in batch.mappings:
            first = int(mapping["first_anchor"] - batch.anchors.offsets[mapping["read"]])
            reads[mapping["read"]].chains.append(
                Chain(first, int(mapping["anchors"]), int(mapping["matches"]))
            )
        targets = [_slice(batch.targets, row) for row in range(batch.targets.starts.size)]
        return Case(reads, targets, self.scoring, self.parameters)


def _slice(codes: ReadCodes | TargetCodes, row: int) -> list[int]:
    start = codes.starts[row]
    found: list[int] = codes.codes[start : start + codes.lengths[row]].tolist()
    return found


def _anchors(anchors: MappedAnchors, read: int) -> list[Anchor]:
    rows = slice(anchors.offsets[read], anchors.offsets[read + 1])
    pairs: Any = zip(anchors.x[rows].tolist(), anchors.y[rows].tolist(), strict=True)
    return [
        Anchor(
            (bool(x >> 63), x >> 32 & 0x7FFFFFFF),
            query=y & 0xFFFFFFFF,
            target=x & 0xFFFFFFFF,
            span=y >> 32 & 0xFF,
            is_tandem=bool(y & TANDEM),
        )
        for x, y in pairs
    ]


def map_reads(reference: Path, path: Path, options: LongReadOptions) -> RealReads:
    """Map the reads of a file up to their alignment."""
    index = build_index(reference, options.sketch, threads=1)
    (block,) = read_blocks(path, _LARGE)
    spans = parse_block(block, LONG_READS)
    finder = MappingFinder(index, options, cpu_stages(index))
    found = finder.find_chains(block.text, spans, finder.find_seeds(block.text, spans))
    mappings, chains = chained_mappings(
        found.chains,
        found.seeds,
        spans.lengths,
        found.name_hashes,
        index,
        options.chains,
        options.mappings,
    )
    rows, offsets, _ = reported_rows(mappings)
    started, anchors = start_mappings(
        mappings, rows, offsets, found.chains, chains, found.name_hashes
    )
    text = block.text.tobytes()
    names = [
        text[start : start + length].decode()
        for start, length in zip(spans.name_starts, spans.name_lengths, strict=True)
    ]
    batch = Batch(
        started,
        anchors,
        code_reads(block.text, spans.base_starts, spans.lengths),
        code_targets(read_fasta(reference, allow_empty=True).sequences),
    )
    return RealReads(
        names, batch, scoring_of(options.align), align_parameters(options, index.sketch)
    )
