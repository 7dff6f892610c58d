"""Pairs grouped by locus on the GPU, against the same groups on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.haplotypes.pairing.pairs import PairFinder, ReadHaplotypePairs
from hapgpu.pairhmm.options import QualityOptions
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes, PairsByLocus
from hapgpu.pairhmm.reads.qualities import prepared_parts
from tests.cigar.made_alignments import block_of
from tests.realign.batches.made_reads import HEADER, made_reads

pytestmark = pytest.mark.gpu


def equal(found: Any, expected: Any) -> None:
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.get(), expected)


def check(
    reads: ReadBatch, pairs: ReadHaplotypePairs, haplotypes: LocusHaplotypes, seed: int
) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.haplotypes.pairing.cuda import DeviceReadPairs  # noqa: PLC0415  (needs CuPy)
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (as above)
    from hapgpu.pairhmm.reads.cuda.pairs_by_locus import (  # noqa: PLC0415  (as above)
        DeviceLocusHaplotypes,
        DevicePairsByLocus,
    )
    from hapgpu.pairhmm.reads.cuda.qualities import prepared_device_parts  # noqa: PLC0415  (as above)

    on_gpu = DeviceLocusHaplotypes.upload(haplotypes)
    records = DeviceRecords.upload(block_of(reads))
    device_pairs = DeviceReadPairs(cupy.asarray(pairs.offsets), cupy.asarray(pairs.haplotypes))
    found, expected = (
        DevicePairsByLocus.of(device_pairs, on_gpu),
        PairsByLocus.of(pairs, haplotypes),
    )
    for name in ("reads", "loci", "order", "counts"):
        equal(getattr(found, name), getattr(expected, name))
    parts = found.clipped_reads(records, on_gpu)
    expected_parts = expected.clipped_reads(reads, haplotypes)
    for name in ("reads", "starts", "ends"):
        equal(getattr(parts, name), getattr(expected_parts, name))
    kept = expected_parts.lengths > np.random.default_rng(seed).integers(0, 20)
    found, parts = found.take(cupy.asarray(kept)), parts.take(cupy.asarray(kept))
    np.testing.assert_array_equal(found.order.get(), expected.take(kept).order)
    of_pairs = expected.in_input_order(expected.pairs_of(kept))
    expected = PairsByLocus.of(pairs.take(of_pairs), haplotypes)
    for name in ("reads", "loci", "counts"):
        equal(getattr(found, name), getattr(expected, name))
    equal(found.order, np.flatnonzero(of_pairs)[expected.order])
    options = QualityOptions()
    batch = found.hmm_batch(prepared_device_parts(records, parts, options, "x"), on_gpu)
    expected_batch = expected.hmm_batch(
        prepared_parts(reads, expected_parts.take(kept), options, "x"), haplotypes
    )
    downloaded = batch.download()
    for name in ("read_offsets", "haplotype_offsets"):
        np.testing.assert_array_equal(getattr(downloaded, name), getattr(expected_batch, name))
    for ragged, other in (
        (downloaded.haplotypes, expected_batch.haplotypes),
        (downloaded.reads.bases, expected_batch.reads.bases),
    ):
        np.testing.assert_array_equal(ragged.offsets, other.offsets)
        np.testing.assert_array_equal(ragged.data, other.data)
    np.testing.assert_array_equal(batch.group_bases, expected_batch.group_bases)
    np.testing.assert_array_equal(batch.haplotype_lengths, expected_batch.haplotype_lengths)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    count=st.sampled_from([1, 40]),
    is_in_order=st.booleans(),
    with_loci=st.booleans(),
)
def test_made_reads(seed: int, count: int, is_in_order: bool, with_loci: bool) -> None:
    made = made_reads(seed, count, is_in_order=is_in_order, with_loci=with_loci)
    is_used = (made.reads.bases.lengths > 0) & (made.reads.flags & 4 == 0)
    reads = made.reads.take(is_used)
    pairs = PairFinder(made.haplotypes, HEADER, "x").find(reads)
    check(reads, pairs, LocusHaplotypes.of(made.haplotypes), seed)
