"""Time of each stage of long-read mapping, one block of reads after another."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock, TextBlock
from hapgpu.longread.batches import Mappings, NamedReads
from hapgpu.longread.cpu import cpu_stages, named_reads
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import LongReadOptions
from hapgpu.longread.output.paf import PafWriter
from hapgpu.longread.stages import ChainStages, MappingFinder
from hapgpu.runtime.statistics import Arguments, Out

_NAMES: Final = {
    "sketch": "sketch",
    "find_seeds": "seeds",
    "expand_anchors": "anchors",
    "chain_scores": "scores",
    "trace_chains": "chains",
    "join_chains": "join",
    "name_hashes": "mappings",
    "make_mappings": "mappings",
}
"""Stage to which the time of each function is added."""

STAGES: Final = ("parse", *dict.fromkeys(_NAMES.values()), "lines")
"""The stages in order; on a GPU, the first and last include copies to and from the device."""


@dataclass(frozen=True, slots=True)
class StagedDevice:
    """Stages of a device, and the functions before and after them.

    Attributes
    ----------
    stages
        Stages of the device.
    parse
        Function from a block to its text and the offsets of its reads, both on the device.
    to_host
        Function from a block, its text, spans and mappings to names and mappings on the host.
    wait
        Function that waits for the device.
    """

    stages: ChainStages[Any, Any]
    parse: Callable[[ReadBlock], tuple[Any, Any]]
    to_host: Callable[[ReadBlock, Any, Any, Mappings], tuple[NamedReads, Mappings]]
    wait: Callable[[], None]


def staged_cpu(index: MinimizerIndex) -> StagedDevice:
    """Return the stages of the CPU, whose work is complete when they return."""
    return StagedDevice(
        stages=cpu_stages(index),
        parse=lambda block: (block.text, parse_block(block, LONG_READS)),
        to_host=lambda block, _text, spans, mappings: (named_reads(block, spans), mappings),
        wait=lambda: None,
    )


class StageClock(ABC):
    """Worker for blocks that adds up the time of each of its stages.

    Attributes
    ----------
    seconds
        Time of each stage, for all blocks so far.
    """

    def __init__(self, stages: Sequence[str], wait: Callable[[], None] = lambda: None) -> None:
        self.seconds = dict.fromkeys(stages, 0.0)
        self._wait = wait

    @abstractmethod
    def __call__(self, block: ReadBlock) -> TextBlock:
        """Return the lines of a block."""

    def timed(self, stage: str, step: Callable[Arguments, Out], /) -> Callable[Arguments, Out]:
        """Return the step, adding the time of each call to a stage."""

        def timed_step(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Out:
            start = time.perf_counter()
            result = step(*args, **kwargs)
            self._wait()
            self.seconds[stage] += time.perf_counter() - start
            return result

        return timed_step

    def seconds_of(self, blocks: Sequence[ReadBlock]) -> Mapping[str, float]:
        """Return the seconds of each stage for all blocks; the functions are compiled before."""
        self.seconds = dict.fromkeys(self.seconds, 0.0)
        for block in blocks:
            self(block)
        return self.seconds


class StagedChainer(StageClock):
    """Chainer of blocks that adds up the time of each stage.

    Parameters
    ----------
    index
        Index of the reference, built with `options.sketch`.
    options
        Options of long-read mapping.
    device
        Stages of the device.
    """

    def __init__(
        self, index: MinimizerIndex, options: LongReadOptions, device: StagedDevice
    ) -> None:
        super().__init__(STAGES, device.wait)
        self._device = device
        self._parse = self.timed("parse", device.parse)
        self._finder = MappingFinder(index, options, self._timed_stages(device.stages))
        self._write_lines = self.timed("lines", self._write_block)
        self._writer = PafWriter(index, options)

    def __call__(self, block: ReadBlock) -> TextBlock:
        """Return the lines of a block."""
        text, spans = self._parse(block)
        seeds = self._finder.find_seeds(text, spans)
        mappings, anchors = self._finder.find_mappings(text, spans, seeds)
        return self._write_lines(block, text, spans, mappings, anchors)

    def _write_block(
        self, block: ReadBlock, text: Any, spans: Any, mappings: Mappings, anchors: int
    ) -> TextBlock:
        return self._writer(*self._device.to_host(block, text, spans, mappings), anchors)

    def _timed_stages(self, stages: ChainStages[Any, Any]) -> ChainStages[Any, Any]:
        timed = {
            function: self.timed(name, getattr(stages, function))
            for function, name in _NAMES.items()
        }
        return replace(stages, **timed)
