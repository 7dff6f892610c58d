"""How long each stage of chaining takes, one block of reads after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hapgpu.chaining.batches import Mappings
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.output.writer import PafWriter
from hapgpu.chaining.run.cpu import cpu_stages
from hapgpu.chaining.run.stages import MappingFinder, Stages
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.spans import ReadSpans
from hapgpu.io.fastx.text_block import TextBlock

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
"""What the time of each function counts as."""

STAGES: Final = ("parse", *dict.fromkeys(_NAMES.values()), "lines")
"""In their order; on a GPU text goes up within the first, and mappings come back in the last."""


@dataclass(frozen=True, slots=True)
class StagedDevice:
    """What stages are done with, and what comes before and after them.

    Attributes
    ----------
    stages
        Of the device.
    parse
        From a block to its text and to where the reads lie in it, both on the device.
    to_host
        From spans and mappings to the same in host memory.
    wait
        Until the device is done.
    """

    stages: Stages
    parse: Callable[[ReadBlock], tuple[Any, Any]]
    to_host: Callable[[Any, Any], tuple[ReadSpans, Mappings]]
    wait: Callable[[], None]


def staged_cpu(index: MinimizerIndex) -> StagedDevice:
    """Return the stages of the CPU, of which all is done when they return."""
    return StagedDevice(
        stages=cpu_stages(index),
        parse=lambda block: (block.text, parse_block(block, LONG_READS)),
        to_host=lambda spans, mappings: (spans, mappings),
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
    device
        With its stages.

    Attributes
    ----------
    seconds
        Of each of `STAGES`, for all blocks so far.
    """

    def __init__(self, index: MinimizerIndex, options: MapOptions, device: StagedDevice) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._device = device
        self._parse = self._timed("parse", device.parse)
        self._find_mappings = MappingFinder(index, options, self._timed_stages(device.stages))
        self._write_lines = self._timed("lines", self._lines)
        self._lines_of = PafWriter(index, options)

    def __call__(self, block: ReadBlock) -> TextBlock:
        """Return the lines of a block."""
        text, spans = self._parse(block)
        mappings, anchors = self._find_mappings(text, spans)
        chained: TextBlock = self._write_lines(block, spans, mappings, anchors)
        return chained

    def _lines(self, block: ReadBlock, spans: Any, mappings: Any, anchors: int) -> TextBlock:
        return self._lines_of(block, *self._device.to_host(spans, mappings), anchors)

    def _timed_stages(self, stages: Stages) -> Stages:
        timed = {
            function: self._timed(name, getattr(stages, function))
            for function, name in _NAMES.items()
        }
        return replace(stages, **timed)

    def _timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed_function(*arguments: Any) -> Any:
            begin = time.perf_counter()
            result = function(*arguments)
            self._device.wait()
            self.seconds[stage] += time.perf_counter() - begin
            return result

        return timed_function


def stage_seconds(chainer: StagedChainer, blocks: Sequence[ReadBlock]) -> dict[str, float]:
    """Return the seconds of each stage for all blocks, of which there is at least one."""
    chainer(blocks[0])  # compiles
    chainer.seconds = dict.fromkeys(STAGES, 0.0)
    for block in blocks:
        chainer(block)
    return chainer.seconds
