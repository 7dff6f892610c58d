"""The pair-HMM on the CPU against independent float64 and logarithmic oracles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.forward import cpu
from hapgpu.pairhmm.forward.cpu import log10_likelihoods
from hapgpu.runtime.devices import CpuDevice
from tests.example_counts import many
from tests.pairhmm.forward.reference import log10_likelihoods_reference
from tests.pairhmm.hmm_oracle import (
    Read,
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

_TOLERANCE = 1e-5
_USUAL_TOLERANCE = 2e-6

_ONE = CpuDevice(1)


def _assert_close(
    actual: NDArray[np.float64], expected: NDArray[np.float64], tolerance: float
) -> None:
    expected = np.minimum(expected, 0.0)
    assert np.array_equal(np.isfinite(actual), np.isfinite(expected))
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=tolerance)
    assert (actual <= 0.0).all()


def _genome(rng: np.random.Generator, size: int) -> bytes:
    return rng.choice(np.frombuffer(b"ACGT", dtype=np.uint8), size).tobytes()


@pytest.fixture(scope="module")
def mixed_batch() -> HmmBatch:
    """Return groups of all kinds, with more pairs than lanes."""
    rng = np.random.default_rng(3)
    return make_batch([random_group(rng, longest) for longest in (5, 40, 40, 90, 200) * 6])


@settings(max_examples=40)
@given(batches(15))
def test_agrees_with_the_reference(batch: HmmBatch) -> None:
    _assert_close(log10_likelihoods(batch, _ONE), log10_likelihoods_reference(batch), _TOLERANCE)


@settings(max_examples=many(150))
@given(batches(150))
def test_agrees_with_logarithms(batch: HmmBatch) -> None:
    _assert_close(log10_likelihoods(batch, _ONE), log_space_likelihoods(batch), _TOLERANCE)


@pytest.mark.parametrize("name", ["tiny.in", "10s.in", "1m.in.gz"])
def test_agrees_on_real_reads(data_dir: Path, name: str) -> None:
    batch = read_text(data_dir / "pairhmm" / name)
    actual = log10_likelihoods(batch, CpuDevice(2))
    _assert_close(actual, plain_likelihoods(batch), _USUAL_TOLERANCE)


@pytest.mark.parametrize("qualities", [(30, 45, 45, 10), (20, 25, 25, 10), (12, 35, 30, 3)])
@pytest.mark.parametrize("length", [100, 250, 512, 513, 1000])
def test_rounding_does_not_add_up(qualities: tuple[int, ...], length: int) -> None:
    rng = np.random.default_rng(length)
    haplotype = _genome(rng, length + 50)
    reads = [uniform_read(haplotype[k : k + length], *qualities) for k in range(0, 50, 9)]
    batch = make_batch([(reads, [haplotype])])
    _assert_close(log10_likelihoods(batch, _ONE), plain_likelihoods(batch), _TOLERANCE)


@pytest.mark.parametrize("gap_open", [6, 12, 45])
@pytest.mark.parametrize("length", [120, 300])
def test_nothing_is_lost_where_float32_ends(gap_open: int, length: int) -> None:
    rng = np.random.default_rng(gap_open)
    haplotype = _genome(rng, length)
    reads = []
    for mismatches in range(40):
        bases = bytearray(haplotype)
        for position in rng.choice(length, mismatches, replace=False):
            bases[position] = ord("R")
        reads.append(uniform_read(bytes(bases), 37, gap_open, gap_open, 10))
    batch = make_batch([(reads, [haplotype])])
    expected = plain_likelihoods(batch)
    assert expected.min() < -60.0
    _assert_close(log10_likelihoods(batch, _ONE), expected, _TOLERANCE)


@pytest.mark.parametrize(
    ("read_length", "haplotype_length"), [(20_000, 500), (500, 20_000), (3000, 3000), (5000, 1500)]
)
def test_long_sequences(read_length: int, haplotype_length: int) -> None:
    rng = np.random.default_rng(read_length)
    haplotype = _genome(rng, haplotype_length)
    reads = [
        uniform_read(simulated_read(rng, haplotype, read_length), *qualities)
        for qualities in ((30, 45, 45, 10), (40, 30, 30, 20))
    ]
    batch = make_batch([(reads, [haplotype])])
    _assert_close(log10_likelihoods(batch, _ONE), log_space_likelihoods(batch), _TOLERANCE)


def test_the_better_path_may_lie_far_below_for_long() -> None:
    """The start and the end of the read match the haplotype, the end better."""
    rng = np.random.default_rng(5)
    haplotype = _genome(rng, 2500)
    middle = _genome(rng, 500)
    start = bytes(b if rng.random() > 0.05 else ord("A") for b in haplotype)
    batch = make_batch([([uniform_read(start + middle + haplotype, 30, 45, 45, 10)], [haplotype])])
    _assert_close(log10_likelihoods(batch, _ONE), log_space_likelihoods(batch), _TOLERANCE)


@pytest.mark.parametrize(
    ("read", "haplotype", "expected"),
    [
        (uniform_read(b"A", 0, 45, 45, 10), b"A", -np.inf),
        (uniform_read(b"A", 0, 45, 45, 10), b"C", np.log10(0.9 / 3)),
        (uniform_read(b"A", 30, 45, 45, 0), b"A", -np.inf),
        (uniform_read(b"A", 30, 0, 0, 10), b"A", np.log10(0.9 * 0.999)),
        (uniform_read(b"N", 30, 45, 45, 10), b"C", np.log10(0.9 * 0.999)),
        (uniform_read(b"A", 30, 45, 45, 10), b"N", np.log10(0.9 * 0.999)),
        (uniform_read(b"a", 30, 45, 45, 10), b"A", np.log10(0.9 * 1e-3 / 3)),
        (uniform_read(b"R", 30, 45, 45, 10), b"R", np.log10(0.9 * 0.999)),
        (uniform_read(b"A", 127, 127, 127, 127), b"A", 0.0),
    ],
)
def test_single_bases(read: Read, haplotype: bytes, expected: float) -> None:
    """M(1,1) is 0.9 D(0,0) times the emission, and D(0,0) = 1."""
    batch = make_batch([([read], [haplotype])])
    actual = log10_likelihoods(batch, _ONE)
    assert actual == pytest.approx(min(expected, 0.0), abs=1e-6)


def test_no_likelihood_is_above_one() -> None:
    reads = [uniform_read(b"N" * size, 127, 127, 127, 20) for size in range(1, 60)]
    batch = make_batch([(reads, [b"N" * size for size in range(1, 60)])])
    assert (log10_likelihoods(batch, _ONE) <= 0.0).all()


def test_subnormal_numbers_are_left_to_others(mixed_batch: HmmBatch) -> None:
    log10_likelihoods(mixed_batch, _ONE)
    assert np.float32(1e-38) * np.float32(0.1) > 0.0


@pytest.mark.parametrize("gap", [1, 2, 4])
@pytest.mark.parametrize("lengths", [(500, 20), (120, 500)])
def test_rounding_of_long_gaps_does_not_add_up(gap: int, lengths: tuple[int, int]) -> None:
    rng = np.random.default_rng(gap)
    longer = _genome(rng, max(lengths))
    size = min(lengths) // 2
    shorter = longer[:size] + longer[-size:]
    bases, haplotype = (longer, shorter) if lengths[0] > lengths[1] else (shorter, longer)
    reads = [uniform_read(bases, base, 30, 30, gap) for base in (4, 10, 30, 127)]
    batch = make_batch([(reads, [haplotype])])
    _assert_close(log10_likelihoods(batch, _ONE), plain_likelihoods(batch), _TOLERANCE)


def test_values_do_not_depend_on_other_pairs(mixed_batch: HmmBatch) -> None:
    together = log10_likelihoods(mixed_batch, _ONE)
    apart = [
        log10_likelihoods(make_batch([([read], [haplotype])]), _ONE)
        for reads, haplotypes in groups_of(mixed_batch)
        for read in reads
        for haplotype in haplotypes
    ]
    assert np.array_equal(together, np.concatenate(apart))


def test_values_do_not_depend_on_order(mixed_batch: HmmBatch) -> None:
    groups = groups_of(mixed_batch)
    backward = make_batch(
        [(reads[::-1], haplotypes[::-1]) for reads, haplotypes in reversed(groups)]
    )
    forward = log10_likelihoods(mixed_batch, _ONE)
    assert np.array_equal(log10_likelihoods(backward, _ONE), forward[::-1])


def test_values_do_not_depend_on_threads(mixed_batch: HmmBatch) -> None:
    one = log10_likelihoods(mixed_batch, _ONE)
    assert np.array_equal(one, log10_likelihoods(mixed_batch, _ONE))
    assert np.array_equal(one, log10_likelihoods(mixed_batch, CpuDevice(3)))


@pytest.mark.parametrize("max_bytes", [1, 3000, 50_000])
def test_values_do_not_depend_on_parts(
    mixed_batch: HmmBatch, monkeypatch: pytest.MonkeyPatch, max_bytes: int
) -> None:
    """Groups are split where they need more memory."""
    expected = log10_likelihoods(mixed_batch, _ONE)
    monkeypatch.setattr(cpu, "_MAX_BYTES", max_bytes)
    assert np.array_equal(log10_likelihoods(mixed_batch, _ONE), expected)
