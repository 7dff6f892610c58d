"""Stages of long-read mapping on the CPU or a GPU, and their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from hapgpu.chaining.index.build import repeat_cutoff
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.parameters import chain_parameters, join_parameters

Stage = Callable[..., Any]
"""Function from batch to batch, with the same signature on the CPU and on a GPU."""


@dataclass(frozen=True, slots=True)
class Stages:
    """Functions of the stages and the index, for one kind of device.

    Attributes
    ----------
    index
        A `MinimizerIndex`, or a `DeviceMinimizerIndex`.
    sketch, find_seeds, expand_anchors, chain_scores, trace_chains, join_chains, name_hashes, \
make_mappings
        Functions of these names for the device.
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


class FoundChains(NamedTuple):
    """Chains of n reads, with what their mappings need, on the device of the stages.

    Attributes
    ----------
    chains, seeds
        `Chains` and `Seeds`.
    name_hashes
        uint32[n].
    anchors
        Number of the reads' anchors.
    """

    chains: Any
    seeds: Any
    name_hashes: Any
    anchors: int


class MappingFinder:
    """Finder of the mappings of reads, stage by stage.

    Parameters
    ----------
    index
        Index of the reference.
    options
        Options of long-read mapping; the options for minimizers are the index's.
    stages
        Stages of the device.
    """

    def __init__(self, index: MinimizerIndex, options: MapOptions, stages: Stages) -> None:
        k = index.sketch.k
        self._stages = stages
        self._options = options
        self._cutoff = repeat_cutoff(index, options.seeds)
        self._chain_parameters = chain_parameters(options.chains, k)
        self._join_parameters = join_parameters(options.chains, k)

    def __call__(self, text: Any, spans: Any) -> tuple[Any, int]:
        """Return the mappings of reads, and the number of their anchors.

        Parameters
        ----------
        text
            uint8: text of the reads, on the device of the stages.
        spans
            Offsets of the reads in the text: `ReadSpans`, or `DeviceSpans` on a GPU.

        Returns
        -------
        Mappings
            On the device.
        """
        return self.find_mappings(text, spans, self.find_seeds(text, spans))

    def find_mappings(self, text: Any, spans: Any, seeds: Any) -> tuple[Any, int]:
        """Return the same as a call, for reads with these seeds."""
        stages, options = self._stages, self._options
        found = self.find_chains(text, spans, seeds)
        mappings = stages.make_mappings(
            found.chains,
            found.seeds,
            spans.lengths,
            found.name_hashes,
            stages.index,
            options.chains,
            options.mappings,
        )
        return mappings, found.anchors

    def find_chains(self, text: Any, spans: Any, seeds: Any) -> FoundChains:
        """Return the chains of reads with these seeds; the parameters are those of a call."""
        chains, anchors = self._chains(seeds, spans.lengths)
        hashes = self._stages.name_hashes(
            text,
            spans.name_starts,
            spans.name_lengths,
            spans.lengths,
            self._options.mappings.uses_names,
        )
        return FoundChains(chains, seeds, hashes, anchors)

    def find_seeds(self, text: Any, spans: Any) -> Any:
        """Return the seeds of reads; the parameters are those of a call."""
        stages = self._stages
        minimizers = stages.sketch(text, spans.base_starts, spans.lengths, stages.index.sketch)
        return stages.find_seeds(
            stages.index, minimizers, spans.lengths, self._cutoff, self._options.seeds
        )

    def _chains(self, seeds: Any, lengths: Any) -> tuple[Any, int]:
        stages = self._stages
        anchors = stages.expand_anchors(stages.index, seeds, lengths)
        scores = stages.chain_scores(anchors, self._chain_parameters)
        chains = stages.trace_chains(anchors, scores, self._chain_parameters)
        count = int(anchors.x.size)
        del anchors, scores  # the long join takes as much memory
        if self._join_parameters is not None:
            chains = stages.join_chains(chains, lengths, self._join_parameters)
        return chains, count
