"""Codes of reads and mappings started by kernels, against the CPU's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.align.batches import MAPPING, MappedAnchors, ReadCodes
from hapgpu.longread.align.start import code_reads, start_mappings
from hapgpu.longread.batches import Chains, Mappings
from hapgpu.longread.mappings.mappings import chained_mappings
from hapgpu.longread.mappings.quality import reported_rows
from hapgpu.longread.options import ChainOptions, MappingOptions, SketchOptions
from tests.longread.made_chains import SEQUENCES, made_chains

OPTIONS = [
    MappingOptions(),
    MappingOptions(all_chains=True),
    MappingOptions(score_ratio=0.1, max_secondary=50),
    MappingOptions(score_ratio=0.99, max_secondary=50, mask_level=0.0),
]
BASES = np.frombuffer(b"ACGTUacgtuNn@BDFRYKM\0\x80\xff-*", dtype=np.uint8)


@dataclass(frozen=True)
class Starter:
    """Start of alignments with arrays elsewhere, and copies of arrays to and from there."""

    start_mappings: Callable[..., tuple[Any, MappedAnchors]]
    code_reads: Callable[..., ReadCodes]
    to_device: Callable[[NDArray[Any]], Any]
    to_host: Callable[[Any], NDArray[Any]]


def check_start(starter: Starter, seed: int, reads: int, options: MappingOptions) -> bool:
    """Start mappings of made-up chains by both; return whether any of them is retained."""
    made = made_chains(seed, reads, 2000)
    lengths = np.full(SEQUENCES, 400_000, dtype=np.int64)
    index: Any = SimpleNamespace(lengths=lengths, sketch=SketchOptions())
    hashes = np.arange(reads, dtype=np.uint32) * np.uint32(2_654_435_761)
    inputs = (made.chains, made.seeds, made.lengths, hashes, index)
    mappings, chains = chained_mappings(*inputs, ChainOptions(max_gap=50), options)
    rows, offsets, _ = reported_rows(mappings)
    expected, anchors = start_mappings(mappings, rows, offsets, made.chains, chains, hashes)
    upload = starter.to_device
    started, found = starter.start_mappings(
        Mappings(*map(upload, astuple(mappings))),
        Chains(*map(upload, astuple(made.chains))),
        upload(np.ascontiguousarray(chains)),
        upload(hashes),
    )
    words = starter.to_host(started)
    assert words.dtype == np.int64
    assert words.view(MAPPING).reshape(-1).tolist() == expected.tolist()
    check_columns(starter, found, anchors)
    return bool(mappings.is_retained.any())


def check_columns(starter: Starter, found: Sequence[Any], expected: Sequence[Any]) -> None:
    for column, of_cpu in zip(map(starter.to_host, found), expected, strict=True):
        assert column.dtype == of_cpu.dtype
        np.testing.assert_array_equal(column, of_cpu)


def check_codes(starter: Starter, seed: int, lengths: Sequence[int]) -> None:
    """Code reads of some lengths by both; other text lies between the reads."""
    generator = np.random.default_rng(seed)
    gaps = generator.integers(0, 20, len(lengths))
    sizes = np.array(lengths, dtype=np.int64)
    starts = (np.cumsum(gaps + sizes) - sizes).astype(np.int32)
    text = generator.choice(BASES, int(np.sum(gaps) + np.sum(sizes)))
    text[generator.random(text.size) < 0.5] = ord("C")
    arrays = (text, starts, sizes.astype(np.int32))
    check_columns(starter, starter.code_reads(*map(starter.to_device, arrays)), code_reads(*arrays))
