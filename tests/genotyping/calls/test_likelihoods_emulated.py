"""Genotype likelihoods by the kernel, run on the CPU, against the CPU's own: all bits are equal."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.emulation.emulator import emulate
from tests.genotyping.calls.device_likelihoods import device_likelihoods
from tests.genotyping.calls.test_likelihoods import Case, Fragment, likelihoods_of


def check(monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    pytest.importorskip("cupy")
    from hapgpu.genotyping.calls import cuda  # noqa: PLC0415  (imports CuPy)

    def uploaded(arrays: list[Any], _stream: object) -> list[Any]:
        return arrays

    emulate(monkeypatch, cuda)
    monkeypatch.setattr(cuda.cupy.cuda, "get_current_stream", lambda: None, raising=False)
    monkeypatch.setattr(cuda, "thread_staging", lambda _: SimpleNamespace(upload=uploaded))
    monkeypatch.setattr(cuda, "download_pinned", np.copy)
    found, expected = device_likelihoods(case, np.asarray), likelihoods_of(case)
    np.testing.assert_array_equal(found.depths, expected.depths)
    np.testing.assert_array_equal(found.allele_depths.data, expected.allele_depths.data)
    bits = [rows.data.view(np.int64) for rows in (found.genotypes, expected.genotypes)]
    np.testing.assert_array_equal(*bits)


@pytest.mark.parametrize("ploidy", [1, 2, 4])
@pytest.mark.parametrize("depth", [1, 30, 500])
def test_sites(ploidy: int, depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few alleles and of more than lanes, and products that would underflow."""
    random = np.random.default_rng(ploidy + depth)
    alleles = [[2, 12], [40]] if ploidy < 4 else [[2, 5], [3]]
    carried = [
        [[int(random.integers(0, count)) for count in sites] for _ in range(9)] for sites in alleles
    ]
    fragments = [
        Fragment(locus, sample, [(-40, 400)], (-4.5 * random.random(9)).tolist())
        for locus in range(2)
        for sample in range(2)
        for _ in range(depth)
    ]
    check(monkeypatch, Case(alleles, carried, fragments, 2, ploidy))
