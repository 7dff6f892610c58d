"""The design of Ren et al. 2019, run on the CPU, against the aligner of the CPU."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hapgpu.arrays import cuda as ragged
from hapgpu.benchmark.cuda import ren2019
from hapgpu.benchmark.cuda.ren2019 import MAX_ROWS, MAX_RUNS, THREADS, align_by_blocks
from hapgpu.realign.align.cuda import batches
from hapgpu.realign.scoring import PRESETS, Scoring
from tests.benchmark.ren2019_cases import Sequences, assert_as_on_the_cpu, batch_of, made_reads
from tests.emulation.emulator import emulate
from tests.example_counts import many

READ = PRESETS["read-to-haplotype"]


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    emulate(monkeypatch, ren2019, batches, ragged)
    monkeypatch.setattr(batches, "uploaded_together", list)


def test_every_pair_of_tiny_sequences() -> None:
    tiny = [bytes(letters) for length in (1, 2, 3, 4) for letters in product(b"AC", repeat=length)]
    for scoring in (READ, PRESETS["original"]):
        assert_as_on_the_cpu(batch_of(list(product(tiny, tiny))), scoring)


BASES = st.sampled_from([b"A", b"AC", b"ACGTN"]).flatmap(
    lambda letters: st.lists(st.sampled_from(list(letters)), min_size=1, max_size=24).map(bytes)
)
WEIGHT = st.integers(-6, 6) | st.integers(-3000, 3000)


@settings(max_examples=many(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(BASES, BASES), min_size=1, max_size=8),
    st.builds(Scoring, WEIGHT, WEIGHT, WEIGHT, WEIGHT) | st.sampled_from([*PRESETS.values()]),
)
def test_any_pairs(sequences: Sequences, scoring: Scoring) -> None:
    assert_as_on_the_cpu(batch_of(sequences), scoring)


@pytest.mark.parametrize("scoring", PRESETS.values(), ids=str)
def test_reads(scoring: Scoring) -> None:
    assert_as_on_the_cpu(batch_of(made_reads(12, (30, 100), 1)), scoring)


def test_sequences_that_are_too_long() -> None:
    for reference, query in ((MAX_ROWS + 1, 1), (1, THREADS[-1] + 1)):
        with pytest.raises(ValueError, match=f"more than {MAX_ROWS} x {THREADS[-1]}"):
            align_by_blocks(batch_of([(b"A" * reference, b"A" * query)]), READ, 0)


def test_a_cigar_with_too_many_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = batch_of([(b"ACGTACGTAA", b"ACGTACGTAA"), (b"ACGTTTTTACGATTT", b"GTACGTACGATTTCC")])
    monkeypatch.setattr(ren2019, "MAX_RUNS", 1)
    with pytest.raises(ValueError, match="in a CIGAR: more than 1"):
        align_by_blocks(pairs, READ, 0)
    assert MAX_RUNS == 128
