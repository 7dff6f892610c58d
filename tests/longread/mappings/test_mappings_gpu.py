"""Mappings on the GPU against the CPU."""

from __future__ import annotations

import gzip
import inspect
from dataclasses import astuple, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.longread.batches import Chains, Mappings, Seeds
from hapgpu.longread.chain.chains import trace_chains
from hapgpu.longread.chain.scores import chain_scores
from hapgpu.longread.index.build import build_index, repeat_cutoff
from hapgpu.longread.index.sketch import sketch
from hapgpu.longread.mappings import mappings as on_cpu
from hapgpu.longread.options import ChainOptions, MappingOptions, SketchOptions, preset
from hapgpu.longread.parameters import chain_parameters
from hapgpu.longread.seed.anchors import expand_anchors
from hapgpu.longread.seed.seeds import find_seeds
from tests.longread.made_chains import SEQUENCES, MadeChains, made_chains

pytestmark = pytest.mark.gpu

MADE_INDEX = SimpleNamespace(
    lengths=np.full(SEQUENCES, 400_000, dtype=np.int64), sketch=SketchOptions()
)


def check(
    made: MadeChains,
    index: Any,
    chain_options: ChainOptions,
    options: MappingOptions,
    hashes: NDArray[np.uint32] | None = None,
) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.longread.cuda.mappings import chained_mappings  # noqa: PLC0415  (needs CuPy)

    if hashes is None:
        generator = np.random.default_rng(1)
        hashes = generator.integers(0, 2**32, made.lengths.size, dtype=np.uint32)
    expected, of_chains = on_cpu.chained_mappings(
        made.chains, made.seeds, made.lengths, hashes, index, chain_options, options
    )
    found, chains = chained_mappings(
        Chains(*map(cupy.asarray, astuple(made.chains))),
        Seeds(*map(cupy.asarray, astuple(made.seeds))),
        cupy.asarray(made.lengths),
        cupy.asarray(hashes),
        SimpleNamespace(lengths=cupy.asarray(index.lengths.astype(np.int32)), sketch=index.sketch),
        chain_options,
        options,
    )
    for field in fields(Mappings):
        of_gpu, of_cpu = getattr(found, field.name).get(), getattr(expected, field.name)
        assert of_gpu.dtype == of_cpu.dtype, field.name
        np.testing.assert_array_equal(of_gpu, of_cpu, err_msg=field.name)
    assert chains.dtype == np.int32
    np.testing.assert_array_equal(chains.get(), of_chains)


@pytest.mark.parametrize("name", ["make_mappings", "chained_mappings", "name_hashes"])
def test_signatures(name: str) -> None:
    from hapgpu.longread.cuda import mappings as on_gpu  # noqa: PLC0415  (needs CuPy)

    signatures = [list(inspect.signature(getattr(m, name)).parameters) for m in (on_cpu, on_gpu)]
    assert signatures[0] == signatures[1]


@pytest.mark.parametrize("uses_names", [True, False])
def test_name_hashes(uses_names: bool) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.longread.cuda.mappings import name_hashes  # noqa: PLC0415  (needs CuPy)

    names = [b"a", b"read/1", b"~" * 65_535, b"m54329U_190617/4260129/ccs", b"a"]
    text = np.frombuffer(b"".join(names), dtype=np.uint8)
    lengths = np.array([0, 1, 100_000_000, 17, 15_000], dtype=np.int32)
    sizes = np.array([len(name) for name in names], dtype=np.int32)
    starts = np.cumsum([0, *sizes[:-1]]).astype(np.int32)
    arrays = (text, starts, sizes, lengths)
    found = name_hashes(*map(cupy.asarray, arrays), uses_names)
    expected = on_cpu.name_hashes(*arrays, uses_names)
    np.testing.assert_array_equal(found.get(), expected)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("width", [300, 3000, 300_000])
def test_made_chains(seed: int, width: int) -> None:
    check(made_chains(seed, 20, width), MADE_INDEX, ChainOptions(), MappingOptions())


@pytest.mark.parametrize(
    "options",
    [
        MappingOptions(all_chains=True),
        MappingOptions(score_ratio=0.0),
        MappingOptions(score_ratio=0.1, max_secondary=50),
        MappingOptions(score_ratio=1.0, max_secondary=1),
        MappingOptions(max_secondary=0),
        MappingOptions(mask_level=0.0),
        MappingOptions(mask_level=0.9, score_ratio=0.3),
    ],
)
def test_options(options: MappingOptions) -> None:
    for seed in range(10):
        made = made_chains(seed, 20, 2000)
        check(made, MADE_INDEX, ChainOptions(max_gap=50), options)


@pytest.mark.parametrize("reads", [0, 1, 5])
def test_no_chains(reads: int) -> None:
    made = made_chains(0, reads, 2000)
    none = Chains(
        x=np.empty(0, np.uint64),
        y=np.empty(0, np.uint64),
        anchor_offsets=np.zeros(1, np.int64),
        scores=np.empty(0, np.int32),
        offsets=np.zeros(reads + 1, np.int64),
    )
    empty = MadeChains(none, made.seeds, made.lengths)
    check(empty, MADE_INDEX, ChainOptions(), MappingOptions())


@pytest.mark.parametrize("name", ["map-ont", "map-pb"])
@pytest.mark.parametrize("all_chains", [False, True])
def test_real_reads(data_dir: Path, name: str, all_chains: bool) -> None:
    chosen = preset(name)
    index = build_index(data_dir / "longread/chain/ref.fa.gz", chosen.sketch, 1)
    with gzip.open(data_dir / "longread/chain/reads.fa.gz") as file:
        reads = Ragged.from_sequences(file.read().split(b"\n")[1::2][:300])
    starts, lengths = reads.offsets[:-1].astype(np.int32), reads.lengths.astype(np.int32)
    minimizers = sketch(reads.data, starts, lengths, chosen.sketch)
    cutoff = repeat_cutoff(index, chosen.seeds)
    seeds = find_seeds(index, minimizers, lengths, cutoff, chosen.seeds)
    anchors = expand_anchors(index, seeds, lengths)
    parameters = chain_parameters(chosen.chains, index.sketch.k)
    chains = trace_chains(anchors, chain_scores(anchors, parameters), parameters)
    made = MadeChains(chains, seeds, lengths)
    check(made, index, chosen.chains, MappingOptions(all_chains=all_chains))
