"""The stages of chaining, of the CPU or of a GPU, and their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hapgpu.chaining.index.build import repeat_cutoff
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.parameters import chain_parameters, join_parameters

Stage = Callable[..., Any]
"""Arrays of reads in, arrays of reads out; its signature is the same on all kinds of devices."""


@dataclass(frozen=True, slots=True)
class Stages:
    """What the stages are done with, on one kind of device.

    Attributes
    ----------
    index
        A `MinimizerIndex`, or a `DeviceMinimizerIndex`.
    sketch, find_seeds, expand_anchors, chain_scores, trace_chains, join_chains, name_hashes, \
make_mappings
        As the modules of the device have them.
    """

    index: Any
    sketch: Stage
    find_seeds: Stage
    expand_anchors: Stage
    chain_scores: Stage
    trace_chains: Stage
    join_chains: Stage
    name_hashes: Stage
    make_mappings: Stage


class MappingFinder:
    """Finds the mappings of reads, stage by stage.

    Parameters
    ----------
    index
        Of the reference.
    options
        What the user chose; for minimizers what the index was made with holds.
    stages
        Of the device.
    """

    def __init__(self, index: MinimizerIndex, options: MapOptions, stages: Stages) -> None:
        k = index.sketch.k
        self._stages = stages
        self._options = options
        self._cutoff = repeat_cutoff(index, options.seeds)
        self._chain_rules = chain_parameters(options.chains, k)
        self._join_rules = join_parameters(options.chains, k)

    def __call__(self, text: Any, spans: Any) -> tuple[Any, int]:
        """Return the mappings of reads, and how many anchors they come from.

        Parameters
        ----------
        text
            uint8, on the device of the stages.
        spans
            Where the reads lie in it: `ReadSpans`, or `DeviceSpans` on a GPU.

        Returns
        -------
        Mappings
            On the device.
        """
        do, options, lengths = self._stages, self._options, spans.lengths
        seeds = self._seeds(text, spans)
        chains, anchors = self._chains(seeds, lengths)
        names = (spans.name_starts, spans.name_lengths)
        hashes = do.name_hashes(text, *names, lengths, options.mappings.uses_names)
        mappings = do.make_mappings(
            chains, seeds, lengths, hashes, do.index, options.chains, options.mappings
        )
        return mappings, anchors

    def _seeds(self, text: Any, spans: Any) -> Any:
        do = self._stages
        minimizers = do.sketch(text, spans.base_starts, spans.lengths, do.index.sketch)
        return do.find_seeds(do.index, minimizers, spans.lengths, self._cutoff, self._options.seeds)

    def _chains(self, seeds: Any, lengths: Any) -> tuple[Any, int]:
        do = self._stages
        anchors = do.expand_anchors(do.index, seeds, lengths)
        scores = do.chain_scores(anchors, self._chain_rules)
        chains = do.trace_chains(anchors, scores, self._chain_rules)
        if self._join_rules is not None:
            chains = do.join_chains(chains, lengths, self._join_rules)
        return chains, int(anchors.x.size)
