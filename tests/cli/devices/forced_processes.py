"""hapgpu with several processes for GPUs, even for one GPU, and many small batches.

    python -m tests.cli.devices.forced_processes 3 map reference.fa reads.fq --device cuda

The first argument is the number of processes.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from hapgpu.cli.app import main
from hapgpu.haplotypes.locus_batches import LocusLimits
from hapgpu.runtime import driver, gpu_processes, pipeline
from tests.faults.processes.worker_processes import always
from tests.faults.small_batches import set_bounds

SMALL_PIECES: Final[dict[str, Any]] = {
    "hapgpu.genotyping.pipeline._LOCI_OF_GPU": LocusLimits(loci=2, bases=1000),
    "hapgpu.longread.pipeline._GPU_BLOCK": 20_000,
    "hapgpu.shortread.pipeline._GPU_BLOCK": 20_000,
    "hapgpu.realign.pipeline._PIECE_BYTES": 1 << 16,
    "hapgpu.realign.pipeline._MOVES_PIECE_BYTES": 1 << 16,
    "hapgpu.pairhmm.reads.cuda.scorer._PIECE_BYTES": 1 << 16,
    "hapgpu.pairhmm.text_batches.cuda._PIECE_BYTES": 5000,
}
"""Bounds of batches on GPUs, small."""

if __name__ == "__main__":
    count, *sys.argv[1:] = sys.argv[1:]
    driver._are_several = driver._may_divide = always
    gpu_processes._distinct = lambda _: int(count)
    pipeline._fill = always
    set_bounds(SMALL_PIECES)
    main()
