"""Likelihoods of fragments on the GPU: the same bits as on the CPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings

from hapgpu.genotyping.batches import ClippedReads
from tests.genotyping.device_evidence import on_device
from tests.genotyping.evidence.test_fragment_likelihoods import (
    Fragment,
    clipped_reads_of_fragments,
    evidence_of_fragments,
    fragments_at_loci,
)

pytestmark = pytest.mark.gpu


def check(counts: Sequence[int], fragments: Sequence[Fragment]) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.genotyping.reads.cuda.evidence import device_evidence_of  # noqa: PLC0415  (needs CuPy)

    values = [v for fragment in fragments for row in fragment.likelihoods for v in row]
    clipped: ClippedReads = clipped_reads_of_fragments(fragments)
    likelihoods = cupy.asarray(np.array(values, dtype=np.float64))
    counts_on_gpu = cupy.asarray(np.array(counts, dtype=np.int64))
    found = device_evidence_of(on_device(clipped), likelihoods, counts_on_gpu)
    expected = evidence_of_fragments(counts, fragments)
    np.testing.assert_array_equal(found.is_explained.get(), expected.is_explained)
    data, offsets = found.likelihoods.get(), found.likelihood_offsets.get()
    first = clipped.fragment_offsets[:-1]
    rows = [data[offsets[row] : offsets[row + 1]] for row in first]
    assert [row.tolist() for row in rows] == [row.tolist() for row in expected.likelihoods]


@settings(max_examples=60)
@given(fragments_at_loci())
def test_random_fragments(case: tuple[list[int], list[Fragment]]) -> None:
    check(*case)


def test_many_fragments() -> None:
    random = np.random.default_rng(8)
    counts = random.integers(1, 70, 50)
    fragments = [
        Fragment(
            locus,
            random.integers(1, 160, size := int(random.integers(1, 4))).tolist(),
            (-30 * random.random((size, counts[locus])) ** 3).tolist(),
        )
        for locus in sorted(random.integers(0, 50, 1500).tolist())
    ]
    check(counts.tolist(), fragments)
