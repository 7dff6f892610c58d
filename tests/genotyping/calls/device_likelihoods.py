"""Genotype likelihoods of test cases by the CUDA kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of
from hapgpu.genotyping.batches import ClippedReads, SiteLikelihoods
from tests.genotyping.calls.test_likelihoods import Case, batch_with_shift_ranges, rows_of_values
from tests.genotyping.device_evidence import on_device


def clipped_reads_of(case: Case) -> ClippedReads:
    """Return the clipped reads of the fragments of a case."""
    parts = [len(fragment.cover) for fragment in case.fragments]
    covers = [pair for fragment in case.fragments for pair in fragment.cover]
    starts, ends = np.array(covers, dtype=np.int64).reshape(-1, 2).T.copy()

    def column(values: list[int], dtype: type[np.integer]) -> NDArray[np.integer]:
        return np.repeat(np.array(values, dtype=dtype), parts)

    rows = np.arange(len(covers))
    return ClippedReads(
        rows,
        column([fragment.locus for fragment in case.fragments], np.int64),
        column([fragment.sample for fragment in case.fragments], np.int32),
        rows,
        rows,
        starts,
        ends,
        offsets_of(parts),
    )


def device_likelihoods(case: Case, as_device: Callable[[Any], Any]) -> SiteLikelihoods:
    """Compute a case by the kernels; `as_device` copies an array to the device."""
    pytest.importorskip("cupy")
    from hapgpu.genotyping.calls.cuda import (  # noqa: PLC0415  (needs CuPy)
        device_site_likelihoods,
    )
    from hapgpu.genotyping.reads.cuda.evidence import DeviceEvidence  # noqa: PLC0415  (as above)

    likelihoods = [
        fragment.likelihoods if part == 0 else [np.nan] * len(fragment.likelihoods)
        for fragment in case.fragments
        for part in range(len(fragment.cover))
    ]
    values = rows_of_values(likelihoods, np.float64)
    evidence = DeviceEvidence(
        on_device(clipped_reads_of(case), as_device),
        as_device(values.data),
        as_device(values.offsets),
        as_device(np.ones(len(case.fragments), dtype=np.bool_)),
    )
    table = rows_of_values([row for haplotypes in case.carried for row in haplotypes], np.int16)
    batch = batch_with_shift_ranges(case)
    return device_site_likelihoods(evidence, batch, table, case.samples, case.ploidy)
