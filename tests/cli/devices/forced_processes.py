"""hapgpu with several processes for GPUs, even for one GPU, and many small batches.

    python -m tests.cli.devices.forced_processes 3 map reference.fa reads.fq --device cuda

The first argument is the number of processes.
"""

from __future__ import annotations

import sys

from hapgpu.cli.app import main
from hapgpu.haplotypes.locus_batches import LocusLimits
from hapgpu.runtime import driver, gpu_processes, pipeline
from tests.faults.processes.worker_processes import always

if __name__ == "__main__":
    count, *sys.argv[1:] = sys.argv[1:]
    driver._are_several = always
    gpu_processes._distinct = lambda _: int(count)
    pipeline._fill = always

    from hapgpu.genotyping import pipeline as genotyping
    from hapgpu.longread import pipeline as longread
    from hapgpu.pairhmm.reads.cuda import scorer
    from hapgpu.pairhmm.text_batches import cuda as text_batches
    from hapgpu.realign import pipeline as realign
    from hapgpu.shortread import pipeline as shortread

    genotyping._LOCI_OF_GPU = LocusLimits(loci=2, bases=1000)  # type: ignore[misc]
    longread._GPU_BLOCK = shortread._GPU_BLOCK = 20_000  # type: ignore[misc]
    realign._PIECE_BYTES = realign._MOVES_PIECE_BYTES = 1 << 16  # type: ignore[misc]
    scorer._PIECE_BYTES = 1 << 16  # type: ignore[misc]
    text_batches._PIECE_BYTES = 5000  # type: ignore[misc]
    main()
