"""Simulated long reads: their bases, lengths, errors and blocks."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.simulation.long_reads import LongReadModel, simulated_reads
from tests.simulation.made_genomes import complement, empty_text

REFERENCE = Ragged.from_sequences(
    [bytes(np.random.default_rng(3).choice(list(b"ACGT"), 60_000).tolist()), b"acgtn" * 100]
)


def reads_of(model: LongReadModel, block_bytes: int = 1 << 24, seed: int = 1) -> list[bytes]:
    blocks = simulated_reads(REFERENCE, 400_000, block_bytes, empty_text, model, seed)
    reads = []
    for block in blocks:
        spans = parse_block(block, LONG_READS)
        text = block.text.tobytes()
        assert block.first == len(reads) + 1
        for start, length in zip(spans.base_starts, spans.lengths, strict=True):
            reads.append(text[start : start + length])
    return reads


def test_without_errors_reads_are_substrings_of_the_reference() -> None:
    first = REFERENCE[0].tobytes()
    both = first + b"|" + complement(REFERENCE[0]).tobytes()
    reads = [read for read in reads_of(LongReadModel(3000, 800, 0.0)) if len(read) > 500]
    assert all(read in both for read in reads)
    forward = sum(read in first for read in reads)
    assert 0.3 < forward / len(reads) < 0.7
    assert min(map(len, reads)) >= 800
    assert np.mean([len(read) for read in reads]) == pytest.approx(3000, rel=0.15)
    assert sum(map(len, reads)) == pytest.approx(400_000, rel=0.05)


@pytest.mark.parametrize("rate", [0.01, 0.1])
def test_fraction_of_errors(rate: float) -> None:
    """A 15-mer has no error with probability (1 - rate)**15."""
    first = REFERENCE[0].tobytes()
    both = first + b"|" + complement(REFERENCE[0]).tobytes()
    known = {both[k : k + 15] for k in range(len(both))}
    reads = [read for read in reads_of(LongReadModel(5000, 1000, rate)) if len(read) > 600]
    kmers = [read[k : k + 15] for read in reads for k in range(len(read) - 14)]
    fraction = sum(kmer in known for kmer in kmers) / len(kmers)
    assert fraction == pytest.approx((1 - rate) ** 15, abs=0.02)


def test_reads_do_not_depend_on_the_size_of_blocks() -> None:
    model = LongReadModel(2000, 500, 0.05)
    assert reads_of(model) == reads_of(model, 1) == reads_of(model, 50_000)
    assert reads_of(model) != reads_of(model, seed=2)
