"""The design of Ren et al. 2019 on a GPU, against the aligner of the CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hapgpu.arrays.batches import PairBatch
from hapgpu.benchmark.cuda.alignment import PAIRS_PER_CALL, compare_with_ren2019
from hapgpu.benchmark.cuda.ren2019 import THREADS
from hapgpu.benchmark.pairs import close_reads, distant_reads, reads_with_indels
from hapgpu.realign.scoring import PRESETS, Scoring
from hapgpu.runtime.devices import CudaDevice
from tests.benchmark.ren2019_cases import assert_as_on_the_cpu, batch_of, made_reads

pytestmark = pytest.mark.gpu

READ = PRESETS["read-to-haplotype"]


@pytest.mark.parametrize("threads", THREADS)
def test_every_size_of_a_thread_block(threads: int) -> None:
    sequences = made_reads(40, (threads // 2, threads), threads)
    assert_as_on_the_cpu(batch_of(sequences), READ)


@pytest.mark.parametrize("scoring", PRESETS.values(), ids=str)
def test_many_short_reads(scoring: Scoring) -> None:
    assert_as_on_the_cpu(batch_of(made_reads(2000, (1, 60), 7)), scoring)


@pytest.mark.parametrize("make", [close_reads, distant_reads, reads_with_indels])
def test_measured_pairs(make: Callable[[int, int, int], PairBatch]) -> None:
    assert_as_on_the_cpu(make(3000, 150, 350), READ)


def test_lines() -> None:
    lines = list(compare_with_ren2019(CudaDevice(0)))
    assert len(lines) == 4 * len(PAIRS_PER_CALL)
    assert {line.task for line in lines} == {
        f"{method}, {task}"
        for method in ("hapgpu", "ren2019")
        for task in ("kernels", "whole call")
    }
    assert all(0 < line.seconds < 10 and line.count for line in lines)
