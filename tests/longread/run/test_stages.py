"""Each compiled stage on the CPU against the reference implementation, on small sequences."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.longread.batches import Chains
from hapgpu.longread.cpu import CpuChainer
from hapgpu.longread.mappings.quality import assess
from hapgpu.longread.options import ChainOptions, LongReadOptions, SketchOptions
from tests.longread.chains.reference import Chain
from tests.longread.made_cases import CASES, Case, fasta_of, made_sequences
from tests.longread.mappings.reference import matches_and_length
from tests.longread.run.reference import paf_lines
from tests.longread.stage_runs import Compiled, Plain, computed

stage = settings(
    max_examples=60,
)


def rows_of(offsets: Any, *columns: Any) -> list[list[Any]]:
    """Return the rows of each read, as tuples if there are several columns."""
    lists = [column.tolist() for column in columns]
    rows = lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))
    return [rows[start:end] for start, end in pairwise(offsets.tolist())]


def chain_rows(chains: Chains) -> list[list[tuple[int, list[tuple[int, int]]]]]:
    anchors = rows_of(chains.anchor_offsets, chains.x, chains.y)
    pairs = list(zip(chains.scores.tolist(), anchors, strict=True))
    return [pairs[start:end] for start, end in pairwise(chains.offsets.tolist())]


def plain_chain_rows(reads: list[list[Chain]]) -> list[list[tuple[int, list[tuple[int, int]]]]]:
    return [
        [(chain.score, [(anchor.x, anchor.y) for anchor in chain.anchors]) for chain in chains]
        for chains in reads
    ]


@stage
@given(CASES)
def test_sketch(case: Case) -> None:
    found = Compiled(case).minimizers
    assert rows_of(found.offsets, found.keys, found.positions) == [
        [(m.hash << 8 | m.span, m.position << 1 | m.strand) for m in minimizers]
        for minimizers in Plain(case).minimizers
    ]


@stage
@given(CASES)
def test_cutoff(case: Case) -> None:
    assert Compiled(case).cutoff == Plain(case).cutoff


@stage
@given(CASES)
def test_seeds(case: Case) -> None:
    compiled = Compiled(case)
    found = compiled.seeds
    occurrences = compiled.index.occurrences.tolist()
    assert rows_of(
        found.offsets,
        found.positions,
        found.spans,
        found.is_tandem,
        found.first_occurrences,
        found.occurrence_counts,
    ) == [
        [
            (
                seed.minimizer.position << 1 | seed.minimizer.strand,
                seed.minimizer.span,
                int(seed.is_tandem),
                first_of(seed.occurrences, occurrences),
                len(seed.occurrences),
            )
            for seed in seeds.kept
        ]
        for seeds in Plain(case).seeds
    ]
    assert found.repeat_lengths.tolist() == [seeds.repeat_length for seeds in Plain(case).seeds]


def first_of(occurrences: Any, table: list[int]) -> int:
    """Return the row of the first occurrence of a seed in the index."""
    words = [
        occurrence.sequence << 32 | occurrence.position << 1 | occurrence.strand
        for occurrence in occurrences
    ]
    first = table.index(words[0])
    assert table[first : first + len(words)] == words
    return first


@stage
@given(CASES)
def test_anchors(case: Case) -> None:
    found = Compiled(case).anchors
    assert rows_of(found.offsets, found.x, found.y) == [
        [(anchor.x, anchor.y) for anchor in anchors] for anchors in Plain(case).anchors
    ]


@stage
@given(CASES)
def test_scores(case: Case) -> None:
    compiled, plain = Compiled(case), Plain(case)
    found, offsets = compiled.scores, compiled.anchors.offsets
    assert rows_of(offsets, found.scores) == [scores.scores for scores in plain.scores]
    assert rows_of(offsets, found.predecessors) == [scores.predecessors for scores in plain.scores]


@stage
@given(CASES)
def test_chains(case: Case) -> None:
    assert chain_rows(Compiled(case).chains) == plain_chain_rows(Plain(case).chains)


@stage
@given(CASES)
def test_join(case: Case) -> None:
    assert chain_rows(Compiled(case).joined) == plain_chain_rows(Plain(case).joined)


@pytest.mark.parametrize("seed", range(40))
def test_join_where_it_joins(seed: int) -> None:
    """Two distant parts of a reference, on one diagonal except for a gap, make one chain."""
    case = gapped_case(seed)
    compiled = Compiled(case)
    before, after = compiled.chains, compiled.joined
    assert before.offsets[-1] > after.offsets[-1]
    assert chain_rows(after) == plain_chain_rows(Plain(case).joined)


def gapped_case(seed: int) -> Case:
    """Make a read with a deletion longer than the bandwidth."""
    rng = np.random.default_rng(seed)
    bases = bytes(rng.choice(np.frombuffer(b"ACGT", dtype=np.uint8), 600))
    gap = int(rng.integers(40, 120))
    turned = bytes.maketrans(b"ACGT", b"TGCA")
    read = bases[50:250] + bases[250 + gap : 560]
    if seed % 2:
        read = read.translate(turned)[::-1]
    options = LongReadOptions(
        sketch=SketchOptions(k=9, w=2 + seed % 4),
        chains=ChainOptions(max_gap=100, bandwidth=20, long_bandwidth=400, min_score=20),
    )
    repeats = made_sequences(seed)[0]
    return Case([*repeats, ("far", bases)], [("read", read)], options, inner_distance=60)


@stage
@given(CASES)
def test_mappings(case: Case) -> None:
    compiled, plain = Compiled(case), Plain(case)
    mappings = assess(compiled.mappings, case.options.chains.min_score)
    found, kept = mappings.mappings, mappings.rows
    columns = [
        "scores counts sequences is_reverse query_starts query_ends target_starts target_ends",
        "matches lengths second_scores n_sub is_retained",
    ]
    assert rows_of(
        mappings.offsets,
        *(getattr(found, column)[kept] for column in " ".join(columns).split()),
        mappings.is_primary,
    ) == [
        [
            (
                *(mapping.score, mapping.count, mapping.sequence, int(mapping.is_reverse)),
                *(*mapping.query, *mapping.target, *matches_and_length(mapping.chain)),
                *(mapping.second_score, mapping.n_sub, int(mapping.is_retained)),
                mapping.is_primary,
            )
            for mapping in mappings
        ]
        for mappings in plain.mappings
    ]


@stage
@given(CASES)
def test_mapping_quality(case: Case) -> None:
    mappings = assess(Compiled(case).mappings, case.options.chains.min_score)
    assert rows_of(mappings.offsets, mappings.qualities, mappings.divergences) == [
        [(mapping.quality, float(mapping.divergence)) for mapping in mappings]
        for mappings in Plain(case).mappings
    ]


@stage
@given(CASES, st.booleans())
def test_lines(case: Case, joins: bool) -> None:
    options = replace(case.options, chains=replace(case.options.chains, joins=joins))
    compiled = Compiled(replace(case, options=options))
    text = np.frombuffer(fasta_of(case.reads), dtype=np.uint8)
    block = ReadBlock(text, is_fasta=True, first=1, name="reads.fa")
    found = computed(CpuChainer(compiled.index, options), block)
    assert found.text.tobytes().decode().splitlines() == list(
        paf_lines(case.reads, Plain(case).index, options)
    )
