"""The kernels of the pair-HMM, run on the CPU, against the CPU's own implementation: all bits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.cuda.layouts import COLUMNS, LANES, LaneLayout
from hapgpu.pairhmm.forward import cpu
from hapgpu.runtime.devices import CpuDevice
from tests.example_counts import many
from tests.pairhmm.forward.cases import genome, usual_reads, warps_of_one_read
from tests.pairhmm.forward.emulated import emulated_likelihoods
from tests.pairhmm.hmm_oracle import (
    log_space_likelihoods,
    make_batch,
    random_group,
    simulated_read,
    uniform_read,
)


def check(
    monkeypatch: pytest.MonkeyPatch, batch: HmmBatch, layout: LaneLayout | None = None
) -> NDArray[np.bool_]:
    """Compare all bits; return which pairs the kernels leave to the CPU."""
    found = emulated_likelihoods(monkeypatch, batch, layout)
    left = np.isnan(found)
    expected = cpu.log10_likelihoods(batch, CpuDevice(1))
    np.testing.assert_array_equal(found[~left].view(np.int64), expected[~left].view(np.int64))
    return left


@pytest.mark.parametrize("seed", range(many(12)))
def test_random_groups(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Extreme qualities, N and other letters; most pairs need float64."""
    rng = np.random.default_rng(seed)
    batch = make_batch([random_group(rng, longest) for longest in (5, 20, 30, 40, 60, 90) * 2])
    left = check(monkeypatch, batch)
    expected = log_space_likelihoods(batch)
    assert left[np.isneginf(expected)].all()
    assert left.sum() <= np.isneginf(expected).sum() + 2  # beyond the range of the kernel


@pytest.mark.parametrize("is_uniform", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_usual_reads(seed: int, is_uniform: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    source = genome(rng, 160)
    reads, _ = usual_reads(rng, source, [1, 2, 31, 32, 33, 64, 90, 100, 130])
    if not is_uniform:
        reads = [
            (*read[:4], rng.integers(6, 20, len(read[0]), np.uint8).tobytes()) for read in reads
        ]
    haplotypes = [source, source[:70] + source[75:], source[:1], source[20:120], b"N" * 40]
    assert not check(monkeypatch, make_batch([(reads, haplotypes)])).any()


LAYOUTS = [
    LaneLayout(columns, lanes)
    for number, columns in enumerate(COLUMNS)
    for lanes in (LANES[number % len(LANES)],)
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: LaneLayout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Haplotypes that fill a layout, or leave one or most columns free."""
    rng = np.random.default_rng(layout.columns)
    source = genome(rng, layout.width)
    reads, _ = usual_reads(rng, source, [1, 3, layout.lanes + 1, 40])
    haplotypes = [source, source[1:], source[: layout.columns], source[:1]]
    assert not check(monkeypatch, make_batch([(reads, haplotypes)]), layout).any()


@pytest.mark.parametrize("lanes", LANES)
def test_groups_of_one_read_share_its_rows(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = LaneLayout(8, lanes)
    assert not check(monkeypatch, warps_of_one_read(layout), layout).any()


@pytest.mark.parametrize("mismatches", range(0, 60, 6))
def test_where_float32_ends(mismatches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(mismatches)
    haplotype = genome(rng, 130)
    bases = bytearray(haplotype)
    for position in rng.choice(len(bases), mismatches, replace=False):
        bases[position] = ord("T") if bases[position] != ord("T") else ord("C")
    reads = [uniform_read(bytes(bases), quality, 45, 40, 10) for quality in (20, 37, 60)]
    assert not check(monkeypatch, make_batch([(reads, [haplotype])])).any()


def test_long_reads_and_haplotypes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads of more than 512 bases, and strips of haplotypes of more than 512 columns."""
    rng = np.random.default_rng(7)
    source = genome(rng, 1100)
    long_reads = [uniform_read(simulated_read(rng, source[:700], 520), 30, 45, 45, 10)]
    odd_reads = [uniform_read(source[500:540], 30, 3, 3, 3), uniform_read(b"R" * 9, 30, 45, 45, 10)]
    haplotypes = [source[:250], source[:500], source[:513], source[:1024], source]
    for reads in (long_reads, odd_reads):
        assert not check(monkeypatch, make_batch([(reads, haplotypes)])).any()


@pytest.mark.parametrize("length", [511, 512, 513])
def test_the_longest_reads_of_float32(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    haplotype = genome(np.random.default_rng(length), length)
    reads = [uniform_read(haplotype, quality, 40, 40, 10) for quality in (20, 30)]
    assert not check(monkeypatch, make_batch([(reads, [haplotype[:40]])])).any()


@pytest.mark.parametrize("length", [2047, 2048, 2049])
def test_the_longest_haplotypes_of_float32(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(length)
    haplotype = genome(rng, length)
    reads, _ = usual_reads(rng, haplotype, [20, 30])
    assert not check(monkeypatch, make_batch([(reads, [haplotype])])).any()


def test_the_better_path_may_lie_far_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start and the end of the read match the haplotype, the end better."""
    rng = np.random.default_rng(5)
    haplotype = genome(rng, 300)
    middle = genome(rng, 60)
    start = bytes(b if rng.random() > 0.05 else ord("A") for b in haplotype)
    batch = make_batch([([uniform_read(start + middle + haplotype, 40, 45, 45, 10)], [haplotype])])
    assert not check(monkeypatch, batch).any()
