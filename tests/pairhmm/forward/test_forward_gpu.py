"""The pair-HMM on the GPU against independent oracles, the CPU, and itself with other batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.errors import DeviceError
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.cuda.layouts import (
    COLUMNS,
    LANES,
    LONGEST_HAPLOTYPE,
    LaneLayout,
    LayoutPlan,
    plan_layouts,
)
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from tests.gpu_memory import own_pool
from tests.pairhmm.forward.cases import LETTERS, genome, warps_of_one_read
from tests.pairhmm.hmm_oracle import (
    Group,
    batches,
    groups_of,
    log_space_likelihoods,
    make_batch,
    plain_likelihoods,
    random_group,
    read_text,
    simulated_read,
    uniform_read,
)

pytestmark = pytest.mark.gpu

TOLERANCE = 1e-5
USUAL_TOLERANCE = 2e-6
CPU = CpuDevice(4)
GPU = CudaDevice(index=0)
USUAL = (30, 45, 45, 10)


@pytest.fixture
def cuda() -> ModuleType:
    """Return the CUDA backend; importing it needs CuPy."""
    pytest.importorskip("cupy")
    from hapgpu.pairhmm.forward import cuda as module  # noqa: PLC0415  (as above)

    return module


def assert_close(
    actual: NDArray[np.float64],
    expected: NDArray[np.float64],
    tolerance: float = TOLERANCE,
) -> None:
    expected = np.minimum(expected, 0.0)
    assert not np.isnan(actual).any()
    assert np.array_equal(np.isfinite(actual), np.isfinite(expected))
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=tolerance)
    assert (actual <= 0.0).all()


def on_gpu(batch: HmmBatch) -> NDArray[np.float64]:
    return log10_likelihoods(batch, GPU)


def usual_group(rng: np.random.Generator, reads: int, haplotypes: int, longest: int) -> Group:
    """Return a group with reads and haplotypes of all lengths, and usual qualities."""
    source = genome(rng, longest)
    made = []
    for _ in range(reads):
        bases = simulated_read(rng, source, int(rng.integers(1, min(longest, 300) + 1)))
        limits = ((2, 41), (20, 50), (20, 50), (6, 20))
        made.append((bases, *(rng.integers(*at, len(bases), np.uint8).tobytes() for at in limits)))
    texts = [source[: int(rng.integers(1, longest + 1))] for _ in range(haplotypes)]
    return made, texts


@pytest.fixture(scope="module")
def mixed_batch() -> HmmBatch:
    """Return usual and extreme groups, some without reads or haplotypes."""
    rng = np.random.default_rng(3)
    groups = [random_group(rng, longest) for longest in (5, 40, 90, 200) * 8]
    groups += [usual_group(rng, 12, 6, longest) for longest in (30, 120, 300, 700) * 4]
    odd = [
        ([uniform_read(b"ACGT", *USUAL)], []),
        ([], [b"ACGT", genome(rng, 1500)]),
        ([], []),
    ]
    return make_batch([odd[1], *groups[:20], *odd, *groups[20:], odd[0]])


@pytest.fixture(scope="module")
def large_batch() -> HmmBatch:
    """Return enough pairs for many layouts: 30 groups of 32 reads and 12 haplotypes."""
    rng = np.random.default_rng(4)
    lengths = (20, 60, 110, 190, 320, 500, 900, 1400, 2000, 2500)
    return make_batch([usual_group(rng, 32, 12, longest) for longest in lengths * 3])


# Against the oracles.


@pytest.mark.parametrize("name", ["tiny.in", "10s.in", "1m.in.gz"])
def test_real_reads(data_dir: Path, name: str) -> None:
    batch = read_text(data_dir / "pairhmm" / name)
    assert_close(on_gpu(batch), plain_likelihoods(batch), USUAL_TOLERANCE)


@settings(max_examples=200)
@given(batches(60))
def test_short_extremes(batch: HmmBatch) -> None:
    assert_close(log10_likelihoods(batch, GPU), log_space_likelihoods(batch))


def extreme_batch(seed: int) -> HmmBatch:
    """Return a group with reads of up to 700 bases and haplotypes of up to 2,500, all qualities."""
    rng = np.random.default_rng(seed)
    group = random_group(rng, 700)
    if seed % 3:
        return make_batch([group])
    reads, _ = group
    return make_batch([(reads[:1], [genome(rng, int(rng.integers(1, 2501)))])])


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1).map(extreme_batch))
def test_long_extremes(batch: HmmBatch) -> None:
    assert_close(log10_likelihoods(batch, GPU), log_space_likelihoods(batch))


@pytest.mark.parametrize("seed", [4921780])
def test_columns_too_far_apart_for_one_exponent(seed: int) -> None:
    batch = extreme_batch(seed)
    assert_close(log10_likelihoods(batch, GPU), log_space_likelihoods(batch))


ODD_READS = [
    uniform_read(b"ACGTacgtRYn*.N" * 3, *USUAL),
    uniform_read(b"acgtacgtacgtac", *USUAL),
    uniform_read(b"NNNNNNNNNNNNNN", 2, 45, 45, 10),
    uniform_read(b"ACGTACGTACGTAC", 0, 45, 45, 10),
    uniform_read(b"ACGTACGTACGTAC", 1, 3, 3, 3),
    uniform_read(b"ACGTACGTACGTAC", 30, 0, 0, 0),
    uniform_read(b"ACGTACGTACGTAC", 127, 127, 127, 127),
    uniform_read(b"ACGTACGTACGTAC", 255, 255, 255, 255),
    (b"ACGT" * 9, bytes([30] * 36), bytes([6, 60] * 18), bytes([60, 6] * 18), bytes([10, 40] * 18)),
    (b"ACGT" * 9, bytes([0, 93] * 18), bytes([1, 127] * 18), bytes([127, 1] * 18), bytes([9] * 36)),
]


@pytest.mark.parametrize("read", ODD_READS)
def test_odd_letters_and_qualities(read: tuple[bytes, bytes, bytes, bytes, bytes]) -> None:
    haplotypes = [b"ACGTACGTACGTAC" * 2, b"acgtACGTRYn*.NRY", b"N" * 20, b"a", b"R", b"ACGA" * 9]
    batch = make_batch([([read], haplotypes)])
    assert_close(on_gpu(batch), log_space_likelihoods(batch))


def test_letters_of_other_groups_do_not_count() -> None:
    """A lower-case base matches only where its own haplotype has the same lower-case base."""
    read = uniform_read(b"ACGTaCGT", *USUAL)
    batch = make_batch([([read], [b"ACGTACGT"]), ([read], [b"ACGTaCGT"]), ([read], [b"ACGTRCGT"])])
    assert_close(on_gpu(batch), log_space_likelihoods(batch))


@pytest.mark.parametrize("gap_open", [6, 12, 45])
@pytest.mark.parametrize("length", [120, 300])
def test_where_float32_ends(gap_open: int, length: int) -> None:
    rng = np.random.default_rng(gap_open)
    haplotype = genome(rng, length)
    reads = []
    for mismatches in range(60):
        bases = bytearray(haplotype)
        for position in rng.choice(length, mismatches, replace=False):
            bases[position] = ord("T") if haplotype[position] != ord("T") else ord("C")
        reads.append(uniform_read(bytes(bases), 37, gap_open, gap_open, 10))
    batch = make_batch([(reads, [haplotype])])
    expected = plain_likelihoods(batch)
    assert expected.min() < -60.0
    assert_close(on_gpu(batch), expected)


@pytest.mark.parametrize("qualities", [USUAL, (20, 25, 25, 10), (12, 35, 30, 4)])
@pytest.mark.parametrize("length", [100, 250, 511, 512, 513, 1000])
def test_rounding_of_matches(qualities: tuple[int, int, int, int], length: int) -> None:
    rng = np.random.default_rng(length)
    haplotype = genome(rng, length + 50)
    reads = [uniform_read(haplotype[k : k + length], *qualities) for k in range(0, 50, 9)]
    batch = make_batch([(reads, [haplotype])])
    assert_close(on_gpu(batch), plain_likelihoods(batch))


@pytest.mark.parametrize("quality", [1, 2, 3, 4, 5, 6, 8])
def test_rounding_of_mismatches(quality: int) -> None:
    """Each mismatch adds the same rounding error; low qualities allow for hundreds of them."""
    reads = [uniform_read(b"A" * size, quality, 45, 45, 10) for size in (50, 100, 200, 400, 512)]
    batch = make_batch([(reads, [b"C" * 600, b"C" * 100])])
    assert_close(on_gpu(batch), plain_likelihoods(batch))


@pytest.mark.parametrize("gap", [1, 2, 4, 5, 6])
@pytest.mark.parametrize("lengths", [(500, 20), (120, 500)])
def test_rounding_of_long_gaps(gap: int, lengths: tuple[int, int]) -> None:
    rng = np.random.default_rng(gap)
    longer = genome(rng, max(lengths))
    size = min(lengths) // 2
    shorter = longer[:size] + longer[-size:]
    bases, haplotype = (longer, shorter) if lengths[0] > lengths[1] else (shorter, longer)
    reads = [
        uniform_read(bases, base, gap_open, gap_open, gap)
        for base in (2, 3, 4, 5, 10, 30, 127)
        for gap_open in (12, 30, 44, 46)
    ]
    batch = make_batch([(reads, [haplotype])])
    assert_close(on_gpu(batch), plain_likelihoods(batch))


@pytest.mark.parametrize(
    ("read_length", "haplotype_length"),
    [(20_000, 500), (300, 20_000), (3000, 3000), (5000, 800), (1, 5000), (700, 2049)],
)
def test_long_sequences(read_length: int, haplotype_length: int) -> None:
    rng = np.random.default_rng(read_length)
    haplotype = genome(rng, haplotype_length)
    reads = [
        uniform_read(simulated_read(rng, haplotype, read_length), *qualities)
        for qualities in (USUAL, (40, 30, 30, 20))
    ]
    batch = make_batch([(reads, [haplotype])])
    assert_close(on_gpu(batch), log_space_likelihoods(batch))


def test_long_reads_with_many_mismatches() -> None:
    rng = np.random.default_rng(8)
    haplotype = genome(rng, 2000)
    rates = (0.05, 0.3, 0.75)
    bases = np.frombuffer(haplotype, dtype=np.uint8)
    reads = [
        uniform_read(
            np.where(rng.random(2000) < rate, rng.choice(LETTERS, 2000), bases).tobytes(), *USUAL
        )
        for rate in rates
    ]
    batch = make_batch([(reads, [haplotype])])
    expected = log_space_likelihoods(batch)
    assert expected.min() < -1000.0
    assert_close(on_gpu(batch), expected)


def test_the_better_path_may_lie_far_below_for_long() -> None:
    """The start and the end of the read match the haplotype, the end better."""
    rng = np.random.default_rng(5)
    haplotype = genome(rng, 2500)
    start = bytes(b if rng.random() > 0.05 else ord("A") for b in haplotype)
    reads = [
        uniform_read(start + genome(rng, 500) + haplotype, *USUAL),
        uniform_read(haplotype[1500:] + haplotype[:2000], *USUAL),
    ]
    batch = make_batch([(reads, [haplotype])])
    assert_close(on_gpu(batch), log_space_likelihoods(batch))


@pytest.mark.parametrize("gap_open", [0, 1, 2, 3])
def test_gaps_that_are_likelier_than_none(gap_open: int) -> None:
    """Sums grow above 1 from row to row, until mismatches lower them."""
    bases = b"N" * 400 + b"A" * 200
    reads = [
        (bases, bytes([40] * 400 + [30] * 200), *(bytes([gap_open] * 600),) * 2, bytes(gaps))
        for gaps in ([3] * 600, [10] * 600, [0, 10] * 300)
    ]
    batch = make_batch([(reads, [b"C" * 300, b"C" * 1000])])
    assert_close(on_gpu(batch), log_space_likelihoods(batch))


# Groups, layouts and launches.


def test_groups_without_reads_or_haplotypes() -> None:
    read = uniform_read(b"ACGTACGT", *USUAL)
    without_haplotypes: Group = ([read, read], [])
    without_reads: Group = ([], [b"ACGT", b"AC"])
    full: Group = ([read], [b"ACGTACGTA", b"TTTT"])
    for groups in (
        [without_haplotypes, full],
        [full, without_haplotypes],
        [without_reads, full],
        [full, without_reads],
        [([], []), without_reads, without_haplotypes, full, without_haplotypes, full, ([], [])],
    ):
        batch = make_batch(groups)
        assert_close(on_gpu(batch), log_space_likelihoods(batch))


def test_haplotypes_without_reads() -> None:
    """Layouts without pairs, in small batches and in large ones."""
    rng = np.random.default_rng(6)
    long_haplotype = genome(rng, LONGEST_HAPLOTYPE + 1)
    few = make_batch([([], [b"ACGT"]), ([uniform_read(b"ACGT", *USUAL)], [long_haplotype])])
    assert_close(on_gpu(few), log_space_likelihoods(few))
    reads, haplotypes = usual_group(rng, 200, 100, 60)
    unmet = [genome(rng, length) for length in (5, 300, 1000, 3000)]
    many = make_batch([([], unmet), (reads, haplotypes), ([], unmet)])
    assert many.pairs > 16_000
    assert_close(on_gpu(many), plain_likelihoods(many))


def test_only_long_reads_or_haplotypes() -> None:
    rng = np.random.default_rng(7)
    haplotype = genome(rng, 2200)
    for length, haplotypes in ((600, [haplotype[:700], haplotype[:9]]), (100, [haplotype])):
        batch = make_batch([([uniform_read(haplotype[:length], *USUAL)], haplotypes)])
        assert_close(on_gpu(batch), log_space_likelihoods(batch))


@pytest.mark.usefixtures("cuda")
def test_many_layouts_in_one_call(large_batch: HmmBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = []

    def plan(*arguments: Any) -> LayoutPlan:
        plans.append(plan_layouts(*arguments))
        return plans[-1]

    monkeypatch.setattr("hapgpu.pairhmm.cuda.piece_run.plan_layouts", plan)
    assert_close(on_gpu(large_batch), plain_likelihoods(large_batch))
    assert max(len(plan.layouts) for plan in plans) > 3


def assert_same_bits(batch: HmmBatch) -> None:
    found, expected = on_gpu(batch), log10_likelihoods(batch, CPU)
    np.testing.assert_array_equal(found.view(np.int64), expected.view(np.int64))


def test_has_the_bits_of_the_cpu(mixed_batch: HmmBatch, large_batch: HmmBatch) -> None:
    for batch in (mixed_batch, large_batch):
        assert_same_bits(batch)


@pytest.mark.parametrize("name", ["tiny.in", "10s.in", "1m.in.gz"])
def test_real_reads_have_the_bits_of_the_cpu(data_dir: Path, name: str) -> None:
    assert_same_bits(read_text(data_dir / "pairhmm" / name))


@settings(max_examples=200)
@given(batches(60) | st.integers(0, 2**32 - 1).map(extreme_batch))
def test_extremes_have_the_bits_of_the_cpu(batch: HmmBatch) -> None:
    assert_same_bits(batch)


@pytest.mark.parametrize(("read_length", "haplotype_length"), [(3000, 3000), (800, 20_000)])
def test_long_reads_have_the_bits_of_the_cpu(read_length: int, haplotype_length: int) -> None:
    rng = np.random.default_rng(read_length)
    haplotype = genome(rng, haplotype_length)
    reads = [
        uniform_read(simulated_read(rng, haplotype, read_length), *qualities)
        for qualities in (USUAL, (40, 30, 30, 20))
    ]
    assert_same_bits(make_batch([(reads, [haplotype, haplotype[:600]])]))


def one_layout_for_all(layout: LaneLayout) -> Callable[..., LayoutPlan]:
    def plan(lengths: NDArray[np.int64], *_: object) -> LayoutPlan:
        return LayoutPlan((layout,), (lengths > layout.width).astype(np.int32))

    return plan


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.usefixtures("cuda")
def test_every_layout(columns: int, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Haplotypes that fill a layout, leave one or most columns free, or are too long for it."""
    layout = LaneLayout(columns, lanes)
    rng = np.random.default_rng(100 * columns + lanes)
    source = genome(rng, layout.width + 1)
    lengths = {1, 2, columns, columns + 1, layout.width - 1, layout.width, layout.width + 1}
    haplotypes = [source[: min(length, layout.width + 1)] for length in sorted(lengths)]
    reads = []
    for length in (1, 2, 3, 4, 5, lanes, lanes + 1, 31, 64, 130):
        qualities = rng.integers(10, 45, (4, length), dtype=np.uint8)
        bases = simulated_read(rng, source, length)
        reads.append((bases, *(column.tobytes() for column in qualities)))
    monkeypatch.setattr("hapgpu.pairhmm.cuda.piece_run.plan_layouts", one_layout_for_all(layout))
    batch = make_batch([(reads, haplotypes), (reads[::-1], haplotypes[:2])])
    assert_close(on_gpu(batch), plain_likelihoods(batch))


# Likelihoods do not depend on other pairs.


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("lanes", LANES)
def test_groups_of_one_read_share_its_rows(
    columns: int, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = LaneLayout(columns, lanes)
    monkeypatch.setattr("hapgpu.pairhmm.cuda.piece_run.plan_layouts", one_layout_for_all(layout))
    assert_same_bits(warps_of_one_read(layout))


def test_two_runs_are_the_same(mixed_batch: HmmBatch, large_batch: HmmBatch) -> None:
    for batch in (mixed_batch, large_batch):
        assert np.array_equal(on_gpu(batch), on_gpu(batch))


def test_order_changes_no_value(mixed_batch: HmmBatch, large_batch: HmmBatch) -> None:
    for batch in (mixed_batch, large_batch):
        turned = make_batch(
            [(reads[::-1], texts[::-1]) for reads, texts in reversed(groups_of(batch))]
        )
        assert np.array_equal(on_gpu(turned), on_gpu(batch)[::-1])


def test_splitting_changes_no_value(mixed_batch: HmmBatch, large_batch: HmmBatch) -> None:
    for batch in (mixed_batch, large_batch):
        parts = [batch.slice(k, k + 1) for k in range(len(batch))]
        apart = [log10_likelihoods(part, GPU) for part in parts]
        assert np.array_equal(np.concatenate(apart), on_gpu(batch))


def test_merging_changes_no_value(mixed_batch: HmmBatch, large_batch: HmmBatch) -> None:
    merged = HmmBatch.concatenate([mixed_batch, large_batch, mixed_batch])
    apart = [on_gpu(batch) for batch in (mixed_batch, large_batch, mixed_batch)]
    assert np.array_equal(on_gpu(merged), np.concatenate(apart))


def test_a_batch_of_its_own_changes_no_value(mixed_batch: HmmBatch) -> None:
    """Compute a sample of pairs, each in a batch of its own."""
    pairs: list[Group] = [
        ([read], [haplotype])
        for reads, haplotypes in groups_of(mixed_batch)
        for read in reads
        for haplotype in haplotypes
    ]
    together = on_gpu(mixed_batch)
    sample: Sequence[int] = range(0, len(pairs), 7)
    apart = [on_gpu(make_batch([pairs[k]]))[0] for k in sample]
    assert np.array_equal(together[list(sample)], apart)


@pytest.mark.parametrize("limits", [(1, 1 << 25), (100_000, 1 << 25), (3_000_000, 2000)])
def test_pieces_change_no_value(
    cuda: ModuleType,
    mixed_batch: HmmBatch,
    limits: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = on_gpu(mixed_batch)
    monkeypatch.setattr(cuda, "_PIECE_CELLS", limits[0])
    monkeypatch.setattr(cuda, "_PIECE_BASES", limits[1])
    assert np.array_equal(on_gpu(mixed_batch), whole)


def test_threads_do_not_disturb_each_other(mixed_batch: HmmBatch, large_batch: HmmBatch) -> None:
    jobs = [mixed_batch, large_batch, mixed_batch.slice(3, 9), large_batch.slice(7, 20)] * 4
    expected = [on_gpu(batch) for batch in jobs]
    with ThreadPoolExecutor(2) as pool:
        for actual, alone in zip(pool.map(on_gpu, jobs), expected, strict=True):
            assert np.array_equal(actual, alone)


def test_results_outlive_later_calls(mixed_batch: HmmBatch) -> None:
    first = on_gpu(mixed_batch)
    kept = first.copy()
    for _ in range(5):
        on_gpu(mixed_batch.slice(0, 20))
    assert np.array_equal(first, kept)


# Memory.


def assert_as_unlimited(batch: HmmBatch, device: CudaDevice) -> None:
    """Compare with the result of the GPU with all of its memory."""
    assert_close(log10_likelihoods(batch, device), on_gpu(batch), USUAL_TOLERANCE)


@pytest.mark.parametrize("memory_limit", [3_000_000, 20_000_000])
def test_a_memory_limit_changes_nothing(large_batch: HmmBatch, memory_limit: int) -> None:
    assert_as_unlimited(large_batch, CudaDevice(index=0, memory_limit=memory_limit))


@pytest.mark.parametrize("memory_limit", [1, 3000])
def test_too_little_memory(large_batch: HmmBatch, memory_limit: int) -> None:
    device = CudaDevice(index=0, memory_limit=memory_limit)
    with pytest.raises(DeviceError, match=r"too little memory for a read of .*; use --device cpu"):
        log10_likelihoods(large_batch, device)
    assert_as_unlimited(large_batch.slice(0, 3), GPU)


MAX_ALLOCATED = 60_000_000


@pytest.fixture
def tight_gpu_memory() -> Iterator[CudaDevice]:
    """Return a GPU on which allocations above MAX_ALLOCATED fail, though more seems free."""
    cupy = pytest.importorskip("cupy")
    with cupy.cuda.Device(GPU.index), own_pool(MAX_ALLOCATED):
        yield GPU


def test_batches_are_halved_if_memory_runs_out(
    data_dir: Path,
    cuda: ModuleType,
    tight_gpu_memory: CudaDevice,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batch = read_text(data_dir / "pairhmm" / "10s.in")
    copies = 80
    many = HmmBatch.concatenate([batch] * copies)
    assert 29 * many.reads.bases.data.size + 44 * many.pairs > MAX_ALLOCATED
    monkeypatch.setattr(cuda, "_PIECE_CELLS", 4 * many.cells)
    actual = log10_likelihoods(many, tight_gpu_memory)
    assert_close(actual, np.tile(plain_likelihoods(batch), copies), USUAL_TOLERANCE)


def test_nothing_fits_if_memory_runs_out(tight_gpu_memory: CudaDevice) -> None:
    rng = np.random.default_rng(9)
    read = uniform_read(genome(rng, 3_000_000), *USUAL)
    with pytest.raises(DeviceError, match="too little memory"):
        log10_likelihoods(make_batch([([read], [b"ACGT"])]), tight_gpu_memory)


# The benchmark.


def test_the_time_of_the_kernels(cuda: ModuleType, large_batch: HmmBatch) -> None:
    before = on_gpu(large_batch)
    assert cuda.forward_seconds(large_batch, GPU, 2) > 0.0
    assert np.array_equal(on_gpu(large_batch), before)
