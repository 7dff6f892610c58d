"""How long each stage of chaining takes, one block of reads after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.anchors import expand_anchors
from hapgpu.chaining.backtracking import trace_chains
from hapgpu.chaining.batches import Regions
from hapgpu.chaining.build import repeat_cutoff
from hapgpu.chaining.cpu import chain_scores
from hapgpu.chaining.index_data import MinimizerIndex
from hapgpu.chaining.long_join import join_chains
from hapgpu.chaining.mapping_quality import assess
from hapgpu.chaining.minimizers import sketch
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.paf import put_paf, targets_of
from hapgpu.chaining.regions import make_regions, name_hashes
from hapgpu.chaining.rules import chain_rules, join_rules
from hapgpu.chaining.seeds import find_seeds
from hapgpu.io.read_block import ReadBlock
from hapgpu.io.read_rules import LONG_READS
from hapgpu.io.read_spans import parse_block
from hapgpu.io.spans import ReadSpans

STAGES: Final = (
    "parse",
    "sketch",
    "seeds",
    "anchors",
    "scores",
    "chains",
    "join",
    "regions",
    "lines",
)
"""In their order; on a GPU text goes up within the first, and regions come back in the last."""


@dataclass(frozen=True, slots=True)
class StageFunctions:
    """What the stages are done with, on the CPU or on a GPU.

    Attributes
    ----------
    index
        A `MinimizerIndex`, or a `DeviceMinimizerIndex`.
    parse
        From a block to its text and to where the reads lie in it, both on the device.
    sketch, find_seeds, expand_anchors, chain_scores, trace_chains, join_chains, make_regions
        As the modules of the device have them.
    name_hashes
        Likewise; part of the stage of regions.
    to_host
        From spans and regions to the same in host memory.
    wait
        Until the device is done.
    """

    index: Any
    parse: Callable[[ReadBlock], tuple[Any, Any]]
    sketch: Callable[..., Any]
    find_seeds: Callable[..., Any]
    expand_anchors: Callable[..., Any]
    chain_scores: Callable[..., Any]
    trace_chains: Callable[..., Any]
    join_chains: Callable[..., Any]
    name_hashes: Callable[..., Any]
    make_regions: Callable[..., Any]
    to_host: Callable[[Any, Any], tuple[ReadSpans, Regions]]
    wait: Callable[[], None]


def cpu_functions(index: MinimizerIndex) -> StageFunctions:
    """Return those of the CPU."""
    return StageFunctions(
        index=index,
        parse=lambda block: (block.text, parse_block(block, LONG_READS)),
        sketch=sketch,
        find_seeds=find_seeds,
        expand_anchors=expand_anchors,
        chain_scores=chain_scores,
        trace_chains=trace_chains,
        join_chains=join_chains,
        name_hashes=name_hashes,
        make_regions=make_regions,
        to_host=lambda spans, regions: (spans, regions),
        wait=lambda: None,
    )


class StagedChainer:
    """Chains blocks as the chainers do, and adds up the time of each stage.

    Parameters
    ----------
    index
        Of the reference; made with `options.sketch`.
    options
        What the user chose.
    functions
        Of the device.

    Attributes
    ----------
    seconds
        Of each of `STAGES`, for all blocks so far.
    """

    def __init__(
        self, index: MinimizerIndex, options: MapOptions, functions: StageFunctions
    ) -> None:
        k = index.sketch.k
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._functions = functions
        self._options = options
        self._cutoff = repeat_cutoff(index, options.seeds)
        self._chain_rules = chain_rules(options.chains, k)
        self._join_rules = join_rules(options.chains, k)
        self._targets = targets_of(index)

    def __call__(self, block: ReadBlock) -> NDArray[np.uint8]:
        """Return the lines of a block."""
        do, timed = self._functions, self._timed
        text, spans = timed("parse", do.parse, block)
        seeds = self._seeds(text, spans)
        chains = self._chains(seeds, spans)
        regions = timed("regions", self._regions, text, spans, seeds, chains)
        lines: NDArray[np.uint8] = timed("lines", self._lines, block, spans, regions)
        return lines

    def _seeds(self, text: Any, spans: Any) -> Any:
        do, timed, index = self._functions, self._timed, self._functions.index
        places = (text, spans.base_starts, spans.lengths)
        minimizers = timed("sketch", do.sketch, *places, index.sketch)
        limits = (self._cutoff, self._options.seeds)
        return timed("seeds", do.find_seeds, index, minimizers, spans.lengths, *limits)

    def _chains(self, seeds: Any, spans: Any) -> Any:
        do, timed = self._functions, self._timed
        anchors = timed("anchors", do.expand_anchors, do.index, seeds, spans.lengths)
        scores = timed("scores", do.chain_scores, anchors, self._chain_rules)
        chains = timed("chains", do.trace_chains, anchors, scores, self._chain_rules)
        if self._join_rules is None:
            return chains
        return timed("join", do.join_chains, chains, spans.lengths, self._join_rules)

    def _regions(self, text: Any, spans: Any, seeds: Any, chains: Any) -> Any:
        do, options, lengths = self._functions, self._options, spans.lengths
        names = (spans.name_starts, spans.name_lengths)
        hashes = do.name_hashes(text, *names, lengths, options.regions.uses_names)
        return do.make_regions(
            chains, seeds, lengths, hashes, do.index, options.chains, options.regions
        )

    def _lines(self, block: ReadBlock, spans: Any, regions: Any) -> NDArray[np.uint8]:
        spans, regions = self._functions.to_host(spans, regions)
        mappings = assess(regions, self._options.chains.min_score)
        return put_paf(block.text, spans, mappings, self._targets, self._options.regions).text

    def _timed(self, stage: str, function: Callable[..., Any], *arguments: Any) -> Any:
        begin = time.perf_counter()
        result = function(*arguments)
        self._functions.wait()
        self.seconds[stage] += time.perf_counter() - begin
        return result


def stage_seconds(chainer: StagedChainer, blocks: Sequence[ReadBlock]) -> dict[str, float]:
    """Return the seconds of each stage for all blocks, of which there is at least one."""
    chainer(blocks[0])  # compiles
    chainer.seconds = dict.fromkeys(STAGES, 0.0)
    for block in blocks:
        chainer(block)
    return chainer.seconds
