"""Stages of the aligner of a GPU: what each takes, and results in the order of the pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hapgpu.arrays import cuda as ragged
from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.benchmark.pairs import reads_with_indels
from hapgpu.realign.align.cuda import (
    bands,
    batches,
    buckets,
    diagonals,
    few,
    outputs,
    packed,
    packed_layouts,
    stages,
    ungapped,
)
from hapgpu.realign.align.cuda.batches import DeviceAlignments, DevicePairs
from hapgpu.realign.align.cuda.layouts import StripeLayout
from hapgpu.realign.align.cuda.outputs import FIXED_RUNS, Outputs
from hapgpu.realign.align.cuda.tasks import AlignTask
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from tests.emulation.emulator import EmulatedKernel, emulate
from tests.realign.align.cuda.made_batches import made_pairs, uploaded
from tests.realign.align.reference import align_reference

READ = PRESETS["read-to-haplotype"]
UNFIT = Scoring(-3, 2, -4, -1)
"""Weights that only whole matrices are for."""


class Matrices:
    """Stand-in for the kernels with matrices: aligns on the CPU, and notes the pairs."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def __call__(
        self, pairs: DevicePairs, _lengths: Any, rows: Any, task: AlignTask, filled: Outputs
    ) -> None:
        self.rows += rows.tolist()
        sequences = (Ragged(each.data, each.offsets) for each in (pairs.references, pairs.queries))
        host = PairBatch(*sequences, pairs.reference_index[rows], pairs.query_index[rows])
        alignments = align_pairs(host, task.scoring, task.overhang, CpuDevice(1))
        filled.scores[rows] = alignments.scores
        if not task.with_trace:
            return
        filled.offsets[rows] = alignments.offsets
        filled.cigar_counts[rows] = alignments.cigars.lengths
        start = int(filled.pool_used[0])
        filled.cigar_starts[rows] = start + alignments.cigars.offsets[:-1]
        filled.pool_used[0] = start + alignments.cigars.data.size
        if filled.pool_used[0] <= filled.pool.size:
            filled.pool[start : int(filled.pool_used[0])] = alignments.cigars.data


class _Kernel(EmulatedKernel):
    def blocks_per_multiprocessor(self, _threads: int) -> int:
        """Return the thread blocks of a multiprocessor."""
        return 1


@pytest.fixture
def matrices(monkeypatch: pytest.MonkeyPatch) -> Matrices:
    emulate(
        *(monkeypatch, bands, batches, buckets, diagonals, few, outputs, packed),
        *(packed_layouts, ragged, stages, ungapped),
    )
    monkeypatch.setattr(few, "uploaded_together", list)
    monkeypatch.setattr(few, "downloaded_together", list)
    for module in (bands, packed):
        monkeypatch.setattr(module, "load_kernel", lambda kernel, _device: _Kernel(kernel))
        monkeypatch.setattr(module, "multiprocessors", lambda _device: 1)
    monkeypatch.setattr(few, "choose_layout", few_columns)  # each number is a kernel to compile
    monkeypatch.setattr(few, "multiprocessors", lambda _device: 1)
    monkeypatch.setattr(packed_layouts, "MAX_COLUMNS", 2)
    stand_in = Matrices()
    monkeypatch.setattr(stages, "align_by_matrices", stand_in)
    return stand_in


def few_columns(query: int, *_: int) -> StripeLayout:
    stripes = -(-query // 64)
    lanes = 32 if query > 32 else 1 << max(query - 1, 0).bit_length() >> 1 or 1
    return StripeLayout(-(-query // (lanes * stripes)), lanes, stripes)


def mixed_pairs(seed: int, count: int) -> PairBatch:
    """Make pairs; in a third of them, the query is the reference."""
    pairs = made_pairs(seed, count)
    queries = Ragged.concatenate([pairs.queries, pairs.references])
    query_index = pairs.query_index.copy()
    query_index[::3] = len(pairs.queries) + pairs.reference_index[::3]
    return PairBatch(pairs.references, queries, pairs.reference_index, query_index)


def run(pairs: PairBatch, scoring: Scoring, overhang: Overhang, *, with_trace: bool) -> Any:
    task = AlignTask(scoring, overhang, CudaDevice(0, memory_limit=1 << 30), with_trace)
    return stages.align_batch(uploaded(pairs), task)


def run_few(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, *, with_trace: bool
) -> AlignmentBatch | None:
    device = CudaDevice(0, memory_limit=1 << 30)
    return few.align_few(pairs, AlignTask(scoring, overhang, device, with_trace))


def assert_alike(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.cigars.offsets, expected.cigars.offsets)
    np.testing.assert_array_equal(found.cigars.data, expected.cigars.data)


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("scoring", [READ, Scoring(0, -1, -1, -1), UNFIT], ids=str)
def test_results_are_in_order(scoring: Scoring, overhang: Overhang, matrices: Matrices) -> None:
    pairs = mixed_pairs(1, 90)
    expected = align_pairs(pairs, scoring, overhang, CpuDevice(1))
    assert_alike(run(pairs, scoring, overhang, with_trace=True), expected)
    assert (len(set(matrices.rows)) < len(pairs)) == (overhang.has_free_ends or scoring != UNFIT)
    scores = run(pairs, scoring, overhang, with_trace=False)
    np.testing.assert_array_equal(scores.scores, expected.scores)
    assert len(scores.cigars) == scores.offsets.size == 0


BASES = st.sampled_from([b"A", b"AC", b"ACGTN"]).flatmap(
    lambda letters: st.lists(st.sampled_from(list(letters)), min_size=1, max_size=40).map(bytes)
)
GAINS, LOSSES = st.integers(0, 6) | st.integers(0, 300), st.integers(0, 9) | st.integers(0, 900)
WEIGHTS = st.sampled_from([*PRESETS.values()]) | st.builds(
    lambda match, mismatch, gap_open, gap_extend: Scoring(
        match, match - mismatch, -gap_open, -gap_extend
    ),
    *(GAINS, LOSSES, LOSSES, LOSSES),
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(st.tuples(BASES, BASES), min_size=1, max_size=8), WEIGHTS, st.sampled_from(Overhang)
)
def test_as_the_reference(
    matrices: Matrices,
    sequences: list[tuple[bytes, bytes]],
    scoring: Scoring,
    overhang: Overhang,
) -> None:
    assert matrices is not None
    # A part of each reference with a changed base is settled earlier than a random query.
    for reference, query in sequences[:]:
        part = bytearray(reference[query[0] % len(reference) :])
        part[query[-1] % len(part)] = query[0]
        sequences.append((reference, bytes(part)))
    expected = [align_reference(*pair, scoring, overhang) for pair in sequences]
    found = run(batch_of(sequences), scoring, overhang, with_trace=True)
    assert [
        (score, offset, [(int(run) >> 4, "MIDNS"[int(run) & 15]) for run in cigar])
        for score, offset, cigar in zip(found.scores, found.offsets, rows_of(found), strict=True)
    ] == expected
    scores = run(batch_of(sequences), scoring, overhang, with_trace=False).scores
    assert scores.tolist() == [alignment.score for alignment in expected]
    for with_trace in (True, False):
        few_found = run_few(batch_of(sequences), scoring, overhang, with_trace=with_trace)
        if few_found is not None:
            assert few_found.scores.tolist() == scores.tolist()
            if with_trace:
                assert_alike(few_found, found)


def batch_of(sequences: Sequence[tuple[bytes, bytes]]) -> PairBatch:
    rows = np.arange(len(sequences), dtype=np.int32)
    return PairBatch(
        Ragged.from_sequences(reference for reference, _ in sequences),
        Ragged.from_sequences(query for _, query in sequences),
        rows,
        rows,
    )


def rows_of(alignments: DeviceAlignments) -> list[Any]:
    return list(Ragged(alignments.cigars.data, alignments.cigars.offsets))


@pytest.mark.usefixtures("matrices")
def test_few_pairs() -> None:
    """Reads with and without indels are aligned without any other stage."""
    pairs = reads_with_indels(60, 50, 60)
    expected = align_pairs(pairs, READ, Overhang.SOFTCLIP, CpuDevice(1))
    assert (expected.cigars.lengths > 1).any()
    found = run_few(pairs, READ, Overhang.SOFTCLIP, with_trace=True)
    assert found is not None
    assert_alike(found, expected)
    scored = run_few(pairs, READ, Overhang.SOFTCLIP, with_trace=False)
    assert scored is not None
    assert scored.scores.tolist() == expected.scores.tolist()


@pytest.mark.usefixtures("matrices")
def test_pairs_that_are_not_for_few_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = mixed_pairs(3, 30)
    for scoring in (UNFIT, Scoring(0, -1, -1, -1)):
        assert run_few(pairs, scoring, Overhang.SOFTCLIP, with_trace=True) is None
    monkeypatch.setattr(few, "FEW", 29)
    assert run_few(pairs, READ, Overhang.SOFTCLIP, with_trace=True) is None


def test_a_pool_that_is_too_small(matrices: Matrices, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = mixed_pairs(2, 40)
    expected = align_pairs(pairs, READ, Overhang.SOFTCLIP, CpuDevice(1))
    monkeypatch.setattr(stages, "_other_runs", lambda _: 5)
    found = run(pairs, READ, Overhang.SOFTCLIP, with_trace=True)
    np.testing.assert_array_equal(found.cigars.data, expected.cigars.data)
    assert len(matrices.rows) == 2 * len(set(matrices.rows))


@pytest.mark.usefixtures("matrices")
def test_cigars_that_32_bits_do_not_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller splits the batch, as if memory were too small."""
    pairs = mixed_pairs(2, 40)
    monkeypatch.setattr(stages, "_other_runs", lambda _: 5)
    monkeypatch.setattr(stages, "_LARGEST_INDEX", FIXED_RUNS * len(pairs) + 5)
    monkeypatch.setattr(stages.cupy.cuda, "memory", MemoryOf(MemoryError), raising=False)
    with pytest.raises(MemoryError):
        run(pairs, READ, Overhang.SOFTCLIP, with_trace=True)


class MemoryOf:
    """Stand-in for `cupy.cuda.memory`."""

    def __init__(self, error: type[Exception]) -> None:
        self.OutOfMemoryError = error
