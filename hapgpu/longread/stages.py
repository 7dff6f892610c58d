"""Stages of long-read mapping on the CPU or a GPU, and their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from hapgpu.longread.batches import Anchors, Chains, ChainScores, Mappings, Minimizers, Seeds
from hapgpu.longread.index.build import repeat_cutoff
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import (
    ChainOptions,
    LongReadOptions,
    MappingOptions,
    SeedOptions,
    SketchOptions,
)
from hapgpu.longread.parameters import (
    ChainParameters,
    JoinParameters,
    chain_parameters,
    join_parameters,
)


class _Sketched(Protocol):
    """Index on a device."""

    @property
    def sketch(self) -> SketchOptions: ...


Index = TypeVar("Index", bound=_Sketched)
"""`MinimizerIndex`, or `DeviceMinimizerIndex`."""
Array = TypeVar("Array")
"""`NDArray`, or `GpuArray`; the columns of batches are arrays of the same kind."""
_Column_co = TypeVar("_Column_co", covariant=True)


class AnySpans(Protocol[_Column_co]):
    """Offsets of n reads in their text, int32[n] each: `ReadSpans`, or `DeviceSpans` on a GPU."""

    @property
    def name_starts(self) -> _Column_co:
        """First characters of the names."""

    @property
    def name_lengths(self) -> _Column_co:
        """Characters of the names."""

    @property
    def base_starts(self) -> _Column_co:
        """First bases."""

    @property
    def lengths(self) -> _Column_co:
        """Numbers of bases."""


@dataclass(frozen=True, slots=True)
class ChainStages(Generic[Index, Array]):
    """The index on a device, and the functions of the stages there, in their order."""

    index: Index
    sketch: Callable[[Array, Array, Array, SketchOptions], Minimizers]
    find_seeds: Callable[[Index, Minimizers, Array, int, SeedOptions], Seeds]
    expand_anchors: Callable[[Index, Seeds, Array], Anchors]
    chain_scores: Callable[[Anchors, ChainParameters], ChainScores]
    trace_chains: Callable[[Anchors, ChainScores, ChainParameters], Chains]
    join_chains: Callable[[Chains, Array, JoinParameters], Chains]
    name_hashes: Callable[[Array, Array, Array, Array, bool], Array]
    make_mappings: Callable[
        [Chains, Seeds, Array, Array, Index, ChainOptions, MappingOptions], Mappings
    ]


class FoundChains(NamedTuple, Generic[Array]):
    """Chains of n reads, with what their mappings need, on the device of the stages.

    Attributes
    ----------
    chains, seeds
        Of the reads.
    name_hashes
        uint32[n].
    anchors
        Number of the reads' anchors.
    """

    chains: Chains
    seeds: Seeds
    name_hashes: Array
    anchors: int


class MappingFinder(Generic[Index, Array]):
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

    def __init__(
        self, index: MinimizerIndex, options: LongReadOptions, stages: ChainStages[Index, Array]
    ) -> None:
        k = index.sketch.k
        self._stages = stages
        self._options = options
        self._cutoff = repeat_cutoff(index, options.seeds)
        self._chain_parameters = chain_parameters(options.chains, k)
        self._join_parameters = join_parameters(options.chains, k)

    @property
    def index(self) -> Index:
        """The index on the device of the stages."""
        return self._stages.index

    def find_seeds(self, text: Array, spans: AnySpans[Array]) -> Seeds:
        """Return the seeds of reads.

        Parameters
        ----------
        text
            uint8: text of the reads, on the device of the stages.
        spans
            Offsets of the reads in the text.
        """
        stages = self._stages
        minimizers = stages.sketch(text, spans.base_starts, spans.lengths, stages.index.sketch)
        return stages.find_seeds(
            stages.index, minimizers, spans.lengths, self._cutoff, self._options.seeds
        )

    def find_chains(self, text: Array, spans: AnySpans[Array], seeds: Seeds) -> FoundChains[Array]:
        """Return the chains of reads with these seeds; `text` and `spans`: see `find_seeds`."""
        stages, parameters = self._stages, self._chain_parameters
        anchors = stages.expand_anchors(stages.index, seeds, spans.lengths)
        scores = stages.chain_scores(anchors, parameters)
        chains = stages.trace_chains(anchors, scores, parameters)
        count = int(anchors.x.size)
        del anchors, scores  # the long join takes as much memory
        if self._join_parameters is not None:
            chains = stages.join_chains(chains, spans.lengths, self._join_parameters)
        names = (spans.name_starts, spans.name_lengths)
        uses_names = self._options.mappings.uses_names
        hashes = stages.name_hashes(text, *names, spans.lengths, uses_names)
        return FoundChains(chains, seeds, hashes, count)

    def find_mappings(
        self, text: Array, spans: AnySpans[Array], seeds: Seeds
    ) -> tuple[Mappings, int]:
        """Return the mappings of reads with these seeds, and the number of their anchors."""
        stages, options = self._stages, self._options
        found = self.find_chains(text, spans, seeds)
        mappings = stages.make_mappings(
            found.chains,
            seeds,
            spans.lengths,
            found.name_hashes,
            stages.index,
            options.chains,
            options.mappings,
        )
        return mappings, found.anchors
