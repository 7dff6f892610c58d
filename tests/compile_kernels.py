"""Compile every kernel for every architecture, without a GPU, and report registers and spills.

Ends with status 1 if a kernel does not compile, or keeps registers in memory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hapgpu.kernels import SMOKE, Kernel, Usage, compile_kernel, usage
from hapgpu.pairhmm import kernels as pairhmm
from hapgpu.pairhmm.layouts import COLUMNS
from hapgpu.realign.cuda import MOST_COLUMNS, kernel_for

ARCHITECTURES = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


def all_kernels() -> Iterator[Kernel]:
    """Yield every kernel that hapgpu can launch."""
    yield SMOKE
    for score_type in (np.int32, np.int64):
        for columns in range(1, MOST_COLUMNS[score_type] + 1):
            for with_trace in (True, False):
                yield kernel_for(columns, score_type, with_trace=with_trace)
    yield from (pairhmm.PREPARE_HAPLOTYPES, pairhmm.PREPARE_READS)
    yield from (pairhmm.COUNT_PAIRS, pairhmm.PLACE_BINS, pairhmm.LIST_PAIRS, pairhmm.EXACT)
    for columns in COLUMNS:
        for is_uniform in (True, False):
            yield pairhmm.forward_kernel(columns, is_uniform=is_uniform)


def compiled_usage(job: tuple[Kernel, str]) -> Usage:
    """Compile one kernel and read what it uses."""
    kernel, architecture = job
    return usage(compile_kernel(kernel, architecture))


def main() -> int:
    """Print one line per kernel and architecture."""
    jobs = [(kernel, arch) for kernel in all_kernels() for arch in ARCHITECTURES]
    spilling = 0
    with ThreadPoolExecutor() as pool:
        for (kernel, arch), used in zip(jobs, pool.map(compiled_usage, jobs), strict=True):
            spills = used.stack_bytes > 0 or used.spill_bytes > 0
            spilling += spills
            print(
                f"{arch:7} {kernel.expression:28} {used.registers:3} registers, "
                f"{used.stack_bytes} B stack, {used.spill_bytes} B spilled"
                f"{'  <-- must not' if spills else ''}"
            )
    print(f"{len(jobs)} kernels compiled, {spilling} of them spill")
    return 1 if spilling else 0


if __name__ == "__main__":
    sys.exit(main())
