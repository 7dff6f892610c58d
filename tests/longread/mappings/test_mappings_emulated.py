"""Mappings made by the kernels, run on the CPU, against the CPU's own."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hapgpu.longread.batches import Mappings
from hapgpu.longread.mappings import mappings as on_cpu
from hapgpu.longread.options import ChainOptions, MappingOptions, SketchOptions
from tests.emulation.emulator import emulate
from tests.longread.made_chains import SEQUENCES, made_chains

LENGTHS = np.full(SEQUENCES, 400_000, dtype=np.int64)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "options",
    [
        MappingOptions(),
        MappingOptions(all_chains=True),
        MappingOptions(score_ratio=0.1, max_secondary=50),
        MappingOptions(mask_level=0.0, max_secondary=1),
        MappingOptions(score_ratio=1e-50, max_secondary=1),  # 0 as float32
    ],
)
def test_made_chains(seed: int, options: MappingOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda import mappings as on_gpu  # noqa: PLC0415  (imports CuPy)

    emulate(monkeypatch, on_gpu)
    made = made_chains(seed, 8, 3000)
    hashes = np.arange(made.lengths.size, dtype=np.uint32) * np.uint32(40_503)

    def index(lengths: Any) -> Any:
        return SimpleNamespace(lengths=lengths, sketch=SketchOptions())

    reads = (made.chains, made.seeds, made.lengths, hashes)
    chain_options = ChainOptions(max_gap=50)
    expected, expected_chains = on_cpu.chained_mappings(
        *reads, index(LENGTHS), chain_options, options
    )
    found, chains = on_gpu.chained_mappings(
        *reads, index(LENGTHS.astype(np.int32)), chain_options, options
    )
    for field in fields(Mappings):
        column, of_cpu = getattr(found, field.name), getattr(expected, field.name)
        assert column.dtype == of_cpu.dtype, field.name
        np.testing.assert_array_equal(column, of_cpu, err_msg=field.name)
    assert chains.dtype == np.int32
    np.testing.assert_array_equal(chains, expected_chains)
