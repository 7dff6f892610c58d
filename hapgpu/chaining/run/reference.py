"""Reads turned into lines of PAF: all steps, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from hapgpu.chaining.anchors.reference import anchors_of
from hapgpu.chaining.chains.reference import Chain, chains_of
from hapgpu.chaining.index.reference import Index, cutoff_of
from hapgpu.chaining.join.reference import joined
from hapgpu.chaining.mappings.reference import (
    Region,
    hash_of_read,
    matches_and_length,
    regions_of,
    select,
    set_parents,
)
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.parameters import chain_rules, join_rules
from hapgpu.chaining.quality.reference import (
    count_seeds,
    divergence_of,
    drop_divergent,
    mean_span,
    set_qualities,
)
from hapgpu.chaining.scores.reference import chain_scores
from hapgpu.chaining.seeds.reference import ReadSeeds, seeds_of
from hapgpu.chaining.sketch.reference import minimizers_of


def paf_lines(
    reads: Iterable[tuple[str, bytes]], index: Index, options: MapOptions
) -> Iterator[str]:
    """Map (name, sequence) pairs, and yield the lines of PAF without their newlines.

    Parameters
    ----------
    index
        Of the reference, made with `options.sketch`.
    """
    cutoff = cutoff_of(index, options.seeds)
    for name, sequence in reads:
        length = len(sequence)
        minimizers = minimizers_of(sequence, index.sketch)
        seeds = seeds_of(minimizers, length, index, cutoff, options.seeds)
        chains = read_chains(seeds, length, index.sketch.k, options)
        regions = read_regions(name, length, chains, seeds, index, options)
        if not regions and options.regions.prints_unmapped:
            nowhere = [name, length, 0, 0, "*", "*", 0, 0, 0, 0, 0, 0]
            yield "\t".join(map(str, [*nowhere, f"rl:i:{seeds.repeat_length}"]))
        for region in regions:
            if region.is_primary or options.regions.prints_secondary:
                yield _line(name, length, region, seeds.repeat_length, index)


def read_chains(seeds: ReadSeeds, length: int, k: int, options: MapOptions) -> list[Chain]:
    """Chain the seeds of a read of `length` bases."""
    rules, long_rules = chain_rules(options.chains, k), join_rules(options.chains, k)
    anchors = anchors_of(seeds.kept, length)
    chains = chains_of(anchors, chain_scores(anchors, rules, k), rules)
    return chains if long_rules is None else joined(chains, length, long_rules, k)


def read_regions(
    name: str,
    length: int,
    chains: list[Chain],
    seeds: ReadSeeds,
    index: Index,
    options: MapOptions,
) -> list[Region]:
    """Turn the chains of a read into the regions to report."""
    uses_names = options.regions.uses_names
    name_hash = hash_of_read(name.encode(), length, uses_names=uses_names)
    regions = regions_of(chains, length, name_hash)
    if not options.regions.all_chains:
        set_parents(regions, options.regions.mask_level)
        regions = select(regions, index.sketch.k, options.chains, options.regions)
    for region in regions:
        counts = count_seeds(region, seeds.kept, length, index.lengths[region.sequence])
        region.divergence = divergence_of(counts, mean_span(seeds.kept))
    regions = drop_divergent(regions)
    set_qualities(regions, seeds.repeat_length, options.chains.min_score)
    return regions


def _line(name: str, length: int, region: Region, repeat_length: int, index: Index) -> str:
    """Write a region as `mm_write_paf` does without base alignment."""
    sequence = region.sequence
    columns = [
        *(name, length, *region.query, "-" if region.is_reverse else "+"),
        *(index.names[sequence], index.lengths[sequence], *region.target),
        *(*matches_and_length(region.chain), region.quality),
        f"tp:A:{'P' if region.is_primary else 'S'}",
        f"cm:i:{region.count}",
        f"s1:i:{region.score}",
        *([f"s2:i:{region.second_score}"] if region.is_primary else []),
        "dv:f:0" if region.divergence == np.float32(0) else f"dv:f:{region.divergence:.4f}",
        f"rl:i:{repeat_length}",
    ]
    return "\t".join(map(str, columns))
