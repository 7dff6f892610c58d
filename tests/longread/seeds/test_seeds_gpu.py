"""Seeds on the GPU against the CPU: frequent and repetitive minimizers, real reads."""

from __future__ import annotations

import inspect
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.longread.batches import Minimizers, Seeds
from hapgpu.longread.index.build import build_index, repeat_cutoff
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.index.sketch import sketch
from hapgpu.longread.options import SeedOptions, preset
from hapgpu.longread.seed import seeds as on_cpu
from hapgpu.runtime.devices import CudaDevice
from tests.longread.made_index import index_of, lengths_of, minimizers_of

Read = list[tuple[int, int, int]]


def check(
    index: MinimizerIndex, minimizers: Minimizers, lengths: Any, cutoff: int, options: SeedOptions
) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.longread.cuda import seeds as seeds_cuda  # noqa: PLC0415  (needs CuPy)
    from hapgpu.longread.cuda.index import resident_index  # noqa: PLC0415  (as above)

    expected = on_cpu.find_seeds(index, minimizers, lengths, cutoff, options)
    found = seeds_cuda.find_seeds(
        resident_index(index, CudaDevice(0)),
        Minimizers(*map(cupy.asarray, astuple(minimizers))),
        cupy.asarray(lengths),
        cutoff,
        options,
    )
    for field in fields(Seeds):
        of_gpu, of_cpu = getattr(found, field.name), getattr(expected, field.name)
        assert of_gpu.dtype == of_cpu.dtype, field.name
        np.testing.assert_array_equal(of_gpu.get(), of_cpu, err_msg=field.name)


def check_reads(
    reads: list[Read], occurrences: dict[int, list[int]], cutoff: int, options: SeedOptions
) -> None:
    check(index_of(occurrences), minimizers_of(reads), lengths_of(reads), cutoff, options)


def made_reads(seed: int, kinds: int, count: int) -> tuple[list[Read], dict[int, list[int]]]:
    """Make reads of k-mers that often repeat, and occurrences for most k-mers."""
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 2**56, kinds).tolist()
    occurrences = {h: list(range(int(rng.integers(1, 30)))) for h in hashes if rng.random() < 0.8}
    reads = []
    for _ in range(count):
        size = int(rng.choice([0, 1, 2, 31, 32, 33, 64, 700]))
        positions = np.cumsum(rng.choice([1, 2, 9, 50], size)).tolist()
        kind = 0
        read: Read = []
        for position in positions:
            kind = kind if rng.random() < 0.5 else int(rng.integers(kinds))
            read.append((hashes[kind], int(rng.integers(5, 7)), position << 1 | position % 2))
        reads.append(read)
    return reads, occurrences


@pytest.mark.gpu
@settings(max_examples=200)
@given(
    seed=st.integers(0, 2**32),
    kinds=st.sampled_from([1, 3, 8, 40, 300]),
    cutoff=st.sampled_from([1, 2, 5, 14, 4095]),
    distance=st.sampled_from([0, 1, 7, 30, 500]),
    fraction=st.sampled_from([0.0, 1e-6, 0.01, 0.1, 0.3]),
)
def test_made_reads(seed: int, kinds: int, cutoff: int, distance: int, fraction: float) -> None:
    options = SeedOptions(occurrence_distance=distance, read_fraction=fraction)
    check_reads(*made_reads(seed, kinds, 5), cutoff, options)


@pytest.mark.gpu
@pytest.mark.parametrize("cutoff", [10, 4094, 4095, 5000])
def test_occurrences_beyond_the_limit(cutoff: int) -> None:
    occurrences = {1: [*range(4094)], 2: [*range(4095)], 3: [*range(4096)], 4: [0]}
    reads = [[(h, 5, 20 * (k + 1)) for k, h in enumerate(row)] for row in ([4, 1, 2, 3, 4], [3])]
    check_reads(reads, occurrences, cutoff, SeedOptions(occurrence_distance=1))


@pytest.mark.gpu
@pytest.mark.parametrize("step", [1, 10, 100, 300])
def test_long_run_of_repetitive_seeds(step: int) -> None:
    occurrences = {h: [*range(11 + h % 5)] for h in range(1, 3000)}
    order = np.random.default_rng(1).permutation(np.arange(1, 3000)).tolist()
    read = [(h, 5, step * (k + 1) << 1) for k, h in enumerate(order)]
    check_reads([read, read[:1], [], read[:200]], occurrences, 10, SeedOptions())


@pytest.mark.gpu
def test_many_frequent_keys() -> None:
    """More keys than counters, some of them just at the limit."""
    rng = np.random.default_rng(2)
    hashes = np.concatenate([np.repeat(rng.integers(0, 2**50, 200), 15), np.arange(30_000)])
    read = [(int(h), 5, (k + 5) << 1) for k, h in enumerate(rng.permutation(hashes))]
    for fraction in (1e-6, 0.01):
        for cutoff in (1, 14, 15):
            check_reads([read, read[:3]], {1: [1]}, cutoff, SeedOptions(read_fraction=fraction))


@pytest.mark.gpu
def test_no_reads_and_no_occurrences() -> None:
    check_reads([], {1: [2]}, 10, SeedOptions())
    check_reads([[], [(1, 5, 20)], []], {}, 10, SeedOptions())


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["map-ont", "map-pb"])
def test_real_reads(data_dir: Path, name: str) -> None:
    directory, options = data_dir / "longread" / "chain", preset(name)
    index = build_index(directory / "ref.fa.gz", options.sketch, 2)
    (block,) = read_blocks(directory / "reads.fa.gz", 1 << 28)
    spans = parse_block(block, LONG_READS)
    lengths = spans.lengths
    minimizers = sketch(block.text, spans.base_starts, lengths, options.sketch)
    repetitive = SeedOptions(repetitive=3, occurrence_distance=50)
    for seeds in (
        options.seeds,
        repetitive,
        SeedOptions(repetitive=0.005, min_cutoff=2, max_cutoff=1_000_000, occurrence_distance=0),
    ):
        check(index, minimizers, lengths, repeat_cutoff(index, seeds), seeds)


@pytest.mark.parametrize("distance", [1, 2, 7, 499, 500, 1000, 2000, 123_456_789])
def test_steps_of_runs(distance: int) -> None:
    """Same as minimap2's division, at every step and just before it."""
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.seeds import steps_of_runs  # noqa: PLC0415  (needs CuPy)

    steps = steps_of_runs(14, distance)
    for bases in [0, *steps.tolist(), *(steps - 1).tolist(), 130 * distance, 2**31 - 2]:
        if bases < 2**31 - 1:
            assert (steps <= bases).sum() == min(int(bases / distance + 0.499), 128)


def test_no_steps_where_all_are_dropped() -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.seeds import steps_of_runs  # noqa: PLC0415  (needs CuPy)

    assert not steps_of_runs(14, 0).size
    assert not steps_of_runs(4095, 500).size


def test_same_signature() -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda import seeds as seeds_cuda  # noqa: PLC0415  (needs CuPy)

    own, other = inspect.signature(seeds_cuda.find_seeds), inspect.signature(on_cpu.find_seeds)
    assert list(own.parameters) == list(other.parameters)
