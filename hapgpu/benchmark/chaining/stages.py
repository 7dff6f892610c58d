"""Time of each stage of long-read mapping, one block of reads after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hapgpu.chaining.batches import Mappings, NamedReads
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.output.writer import PafWriter
from hapgpu.chaining.run.cpu import cpu_stages, named_reads
from hapgpu.chaining.run.stages import MappingFinder, Stages
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock
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

    stages: Stages
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


class StagedChainer:
    """Chainer of blocks that adds up the time of each stage.

    Parameters
    ----------
    index
        Index of the reference, built with `options.sketch`.
    options
        Options of long-read mapping.
    device
        Stages of the device.

    Attributes
    ----------
    seconds
        Time of each of `STAGES`, for all blocks so far.
    """

    def __init__(self, index: MinimizerIndex, options: MapOptions, device: StagedDevice) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._device = device
        self._parse = self._timed("parse", device.parse)
        self._find_mappings = MappingFinder(index, options, self._timed_stages(device.stages))
        self._write_lines = self._timed("lines", self._write_block)
        self._writer = PafWriter(index, options)

    def __call__(self, block: ReadBlock) -> TextBlock:
        """Return the lines of a block."""
        text, spans = self._parse(block)
        mappings, anchors = self._find_mappings(text, spans)
        lines: TextBlock = self._write_lines(block, text, spans, mappings, anchors)
        return lines

    def _write_block(
        self, block: ReadBlock, text: Any, spans: Any, mappings: Mappings, anchors: int
    ) -> TextBlock:
        return self._writer(*self._device.to_host(block, text, spans, mappings), anchors)

    def _timed_stages(self, stages: Stages) -> Stages:
        timed = {
            function: self._timed(name, getattr(stages, function))
            for function, name in _NAMES.items()
        }
        return replace(stages, **timed)

    def _timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed_function(*arguments: Any) -> Any:
            start = time.perf_counter()
            result = function(*arguments)
            self._device.wait()
            self.seconds[stage] += time.perf_counter() - start
            return result

        return timed_function


def stage_seconds(chainer: StagedChainer, blocks: Sequence[ReadBlock]) -> dict[str, float]:
    """Return the seconds of each stage for at least one block."""
    chainer(blocks[0])  # compiles
    chainer.seconds = dict.fromkeys(STAGES, 0.0)
    for block in blocks:
        chainer(block)
    return chainer.seconds
