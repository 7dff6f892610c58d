"""Reference implementation of long-read mapping: reads to lines of PAF, stage by stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from hapgpu.longread.options import LongReadOptions
from hapgpu.longread.parameters import chain_parameters, join_parameters
from tests.longread.anchors.reference import anchors_of
from tests.longread.chains.reference import Chain, chains_of
from tests.longread.index.reference import Index, cutoff_of
from tests.longread.join.reference import joined
from tests.longread.mappings.reference import (
    Mapping,
    hash_of_read,
    mappings_of,
    matches_and_length,
    select,
    set_parents,
)
from tests.longread.quality.reference import (
    count_seeds,
    divergence_of,
    drop_divergent,
    mean_span,
    set_qualities,
)
from tests.longread.scores.reference import chain_scores
from tests.longread.seeds.reference import ReadSeeds, seeds_of
from tests.longread.sketch.reference import minimizers_of


def paf_lines(
    reads: Iterable[tuple[str, bytes]], index: Index, options: LongReadOptions
) -> Iterator[str]:
    """Map (name, sequence) pairs, and yield the lines of PAF without their newlines.

    Parameters
    ----------
    index
        Index of the reference, built with `options.sketch`.
    """
    cutoff = cutoff_of(index, options.seeds)
    for name, sequence in reads:
        length = len(sequence)
        minimizers = minimizers_of(sequence, index.sketch)
        seeds = seeds_of(minimizers, length, index, cutoff, options.seeds)
        chains = read_chains(seeds, length, index.sketch.k, options)
        mappings = read_mappings(name, length, chains, seeds, index, options)
        if not mappings and options.mappings.prints_unmapped:
            columns = [name, length, 0, 0, "*", "*", 0, 0, 0, 0, 0, 0]
            yield "\t".join(map(str, [*columns, f"rl:i:{seeds.repeat_length}"]))
        for mapping in mappings:
            if mapping.is_primary or options.mappings.prints_secondary:
                yield _line(name, length, mapping, seeds.repeat_length, index)


def read_chains(seeds: ReadSeeds, length: int, k: int, options: LongReadOptions) -> list[Chain]:
    """Chain the seeds of a read of `length` bases."""
    parameters = chain_parameters(options.chains, k)
    for_join = join_parameters(options.chains, k)
    anchors = anchors_of(seeds.kept, length)
    chains = chains_of(anchors, chain_scores(anchors, parameters, k), parameters)
    return chains if for_join is None else joined(chains, length, for_join, k)


def read_mappings(
    name: str,
    length: int,
    chains: list[Chain],
    seeds: ReadSeeds,
    index: Index,
    options: LongReadOptions,
) -> list[Mapping]:
    """Return the mappings of a read to report, from its chains."""
    uses_names = options.mappings.uses_names
    name_hash = hash_of_read(name.encode(), length, uses_names=uses_names)
    mappings = mappings_of(chains, length, name_hash)
    if not options.mappings.all_chains:
        set_parents(mappings, options.mappings.mask_level)
        mappings = select(mappings, index.sketch.k, options.chains, options.mappings)
    for mapping in mappings:
        counts = count_seeds(mapping, seeds.kept, length, index.lengths[mapping.sequence])
        mapping.divergence = divergence_of(counts, mean_span(seeds.kept))
    mappings = drop_divergent(mappings)
    set_qualities(mappings, seeds.repeat_length, options.chains.min_score)
    return mappings


def _line(name: str, length: int, mapping: Mapping, repeat_length: int, index: Index) -> str:
    """Return the line of a mapping, as `mm_write_paf` writes it without base alignment."""
    sequence = mapping.sequence
    columns = [
        *(name, length, *mapping.query, "-" if mapping.is_reverse else "+"),
        *(index.names[sequence], index.lengths[sequence], *mapping.target),
        *(*matches_and_length(mapping.chain), mapping.quality),
        f"tp:A:{'P' if mapping.is_primary else 'S'}",
        f"cm:i:{mapping.count}",
        f"s1:i:{mapping.score}",
        *([f"s2:i:{mapping.second_score}"] if mapping.is_primary else []),
        "dv:f:0" if mapping.divergence == np.float32(0) else f"dv:f:{mapping.divergence:.4f}",
        f"rl:i:{repeat_length}",
    ]
    return "\t".join(map(str, columns))
