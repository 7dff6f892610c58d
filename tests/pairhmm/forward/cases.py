"""Made batches for the kernels of the pair-HMM, on a GPU and emulated."""

from __future__ import annotations

import numpy as np

from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.cuda.layouts import LaneLayout
from tests.pairhmm.hmm_oracle import Group, make_batch, simulated_read

LETTERS = np.frombuffer(b"ACGT", dtype=np.uint8)


def genome(rng: np.random.Generator, size: int) -> bytes:
    """Draw a random sequence."""
    return rng.choice(LETTERS, size).tobytes()


def usual_reads(rng: np.random.Generator, source: bytes, lengths: list[int]) -> Group:
    """Simulate reads with usual qualities and one gap continuation; no haplotypes."""
    reads = []
    for length in lengths:
        qualities = [rng.integers(*at, length, np.uint8) for at in ((2, 41), (25, 50), (25, 50))]
        columns = [*qualities, np.full(length, 10, dtype=np.uint8)]
        bases = simulated_read(rng, source, length)
        reads.append((bases, *(column.tobytes() for column in columns)))
    return reads, []


def warps_of_one_read(layout: LaneLayout) -> HmmBatch:
    """Return a batch with warps whose pairs have the same read, and warps with several reads.

    The lengths of the reads are at, and beside, multiples of the rows that kernels compute in turn.
    """
    rng = np.random.default_rng(layout.lanes)
    source = genome(rng, layout.width)
    haplotypes = [source[: max(layout.width - k, 1)] for k in range(layout.pairs_per_warp)]
    lengths = [1, 7, 8, 9, 15, 16, 31, 32, 33, 95, 96, 97, 130]
    groups = []
    for chosen in (haplotypes, haplotypes[: 1 + layout.pairs_per_warp // 3]):
        reads, _ = usual_reads(rng, 3 * source, lengths)
        others, _ = usual_reads(rng, 5 * source, lengths)
        groups.append((reads + others, chosen))
    return make_batch(groups)
