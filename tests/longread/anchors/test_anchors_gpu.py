"""Anchors on the GPU against the CPU: coordinates, flags, and the order of ties."""

from __future__ import annotations

import gzip
import inspect
from dataclasses import astuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread.batches import Seeds
from hapgpu.longread.index.build import build_index
from hapgpu.longread.index.sketch import sketch
from hapgpu.longread.options import SeedOptions, preset
from hapgpu.longread.seed import anchors as on_cpu
from hapgpu.longread.seed.seeds import find_seeds

pytestmark = pytest.mark.gpu


def check(index: Any, seeds: Seeds, lengths: Any) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.longread.cuda.anchors import expand_anchors  # noqa: PLC0415  (needs CuPy)

    expected = on_cpu.expand_anchors(index, seeds, lengths)
    device_index = SimpleNamespace(occurrences=cupy.asarray(np.array(index.occurrences)))
    found = expand_anchors(
        device_index, Seeds(*map(cupy.asarray, astuple(seeds))), cupy.asarray(lengths)
    )
    np.testing.assert_array_equal(found.offsets.get(), expected.offsets)
    np.testing.assert_array_equal(found.x.get(), expected.x)
    np.testing.assert_array_equal(found.y.get(), expected.y)


def seeds_of(reads: list[list[tuple[int, int, int]]], occurrence_count: int) -> Seeds:
    """Make seeds from (position, first occurrence, count) within `occurrence_count` in all."""
    rows = [row for read in reads for row in read]
    positions, first_occurrences, counts = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Seeds(
        positions=positions.astype(np.uint32),
        spans=(15 + positions % 3).astype(np.uint8),
        is_tandem=(positions % 5 == 0).astype(np.uint8),
        first_occurrences=first_occurrences,
        occurrence_counts=np.minimum(counts, occurrence_count - first_occurrences).astype(np.int32),
        offsets=np.cumsum([0, *map(len, reads)]),
        repeat_lengths=np.zeros(len(reads), dtype=np.int32),
    )


def made_occurrences(seed: int, kinds: int, shift: int) -> Any:
    """Make occurrences on few positions, many equal; positions are multiples of 1 << shift."""
    generator = np.random.default_rng(seed)
    positions = generator.integers(0, kinds, 600).astype(np.uint64) << np.uint64(shift)
    return positions << np.uint64(1) | generator.integers(0, 2, 600).astype(np.uint64)


ROWS = st.lists(
    st.tuples(st.integers(60, 2000), st.integers(0, 599), st.integers(1, 300)), max_size=30
)


@settings(max_examples=60)
@given(
    st.lists(ROWS, max_size=6),
    st.integers(0, 9),
    st.sampled_from([2, 5, 300, 70_000]),
    st.integers(0, 14),
)
def test_equal_positions(
    reads: list[list[tuple[int, int, int]]], seed: int, kinds: int, shift: int
) -> None:
    index = SimpleNamespace(occurrences=made_occurrences(seed, kinds, shift))
    check(index, seeds_of(reads, 600), np.full(len(reads), 1500, dtype=np.int32))


@pytest.mark.parametrize("count", [1, 31, 32, 63, 64, 65, 66, 127, 128, 129, 20_000])
@pytest.mark.parametrize("kinds", [1, 2, 3, 256, 2**30])
def test_sizes(count: int, kinds: int) -> None:
    """One read, one seed per occurrence, between reads without anchors."""
    generator = np.random.default_rng(count)
    occurrences = generator.integers(0, kinds, count).astype(np.uint64)
    read = [(100 + k, k, 1) for k in range(count)]
    lengths = np.array([0, 200 + count, 0], dtype=np.int32)
    check(SimpleNamespace(occurrences=occurrences), seeds_of([[], read, []], count), lengths)


def test_ends_of_the_longest_read() -> None:
    length = 2**31 - 1
    occurrences = np.array([14 << 1, 20 << 1 | 1, (2**31 - 1) << 32 | 2**32 - 1], dtype=np.uint64)
    read = [(14 << 1, 0, 3), ((length - 1) << 1 | 1, 0, 3)]
    check(
        SimpleNamespace(occurrences=occurrences),
        seeds_of([read], 3),
        np.array([length], dtype=np.int32),
    )


@pytest.mark.parametrize(("name", "cutoff"), [("map-ont", 14), ("map-ont", 400), ("map-pb", 20)])
def test_real_reads(data_dir: Path, name: str, cutoff: int) -> None:
    directory, options = data_dir / "longread/chain", preset(name)
    index = build_index(directory / "ref.fa.gz", options.sketch, 2)
    records = gzip.decompress((directory / "reads.fa.gz").read_bytes()).split(b">")[1:]
    reads = [b"".join(record.split(b"\n")[1:]) for record in records]
    lengths = np.array([len(read) for read in reads], dtype=np.int32)
    starts = (np.cumsum(lengths) - lengths).astype(np.int32)
    text = np.frombuffer(b"".join(reads), dtype=np.uint8)
    minimizers = sketch(text, starts, lengths, options.sketch)
    seeds = find_seeds(index, minimizers, lengths, cutoff, SeedOptions())
    check(index, seeds, lengths)


def test_signature() -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda import anchors as anchors_cuda  # noqa: PLC0415  (needs CuPy)

    parameters = inspect.signature(anchors_cuda.expand_anchors).parameters
    assert list(parameters) == list(inspect.signature(on_cpu.expand_anchors).parameters)
