"""Blocks of reads computed on a GPU, divided if its memory is too small."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from math import inf
from typing import Any

import cupy
import numpy as np

from hapgpu.errors import DeviceError
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.cuda import DeviceSpans, parse_text
from hapgpu.io.fastx.limits import ReadLimits
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.text_block import TextBlock
from hapgpu.io.fastx.uncut.blocks import UncutBlock
from hapgpu.io.fastx.uncut.cuda import DeviceBlock, decoded
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import OUT_OF_MEMORY, device_errors, thread_streams
from hapgpu.runtime.gpu.memory_turns import memory_turns
from hapgpu.runtime.pipeline import Divided


class GpuWorker(ABC):
    """Worker that computes text from blocks of reads on one GPU; one stream per calling thread.

    Parameters
    ----------
    device
        The GPU.
    limits
        Limits of the reads.
    """

    def __init__(self, device: CudaDevice, limits: ReadLimits) -> None:
        self._device = device
        self._limits = limits
        self._turns = memory_turns(device)
        self._largest: float = inf  # bytes of a block that may fit; shared by the threads
        _limit_memory(device)

    def __call__(self, block: ReadBlock | UncutBlock) -> TextBlock | Divided[ReadBlock, TextBlock]:
        """Compute one block; it is divided if it does not fit into the memory of the GPU.

        Raises
        ------
        InputError
            A record is malformed; the message names the file and the record.
        DeviceError
            A single read does not fit the GPU, or the GPU failed.
        """
        number = self._device.index
        with device_errors(self._device), cupy.cuda.Device(number), thread_streams(number, 1)[0]:
            text = decoded(block) if isinstance(block, UncutBlock) else block
            return self._divided(text) if text is not None else _no_reads()

    @abstractmethod
    def _text_of(
        self, block: ReadBlock, text: Any, spans: DeviceSpans
    ) -> TextBlock | Divided[ReadBlock, TextBlock]:
        """Compute one block on the current stream.

        Parameters
        ----------
        block
            The block.
        text
            uint8: its text on the device.
        spans
            Spans of the reads in the text.
        """

    def _divided(self, block: ReadBlock) -> TextBlock | Divided[ReadBlock, TextBlock]:
        halves = block.halves() if block.size > self._largest else [block]
        if len(halves) == 1:
            try:
                return self._turns.compute(partial(self._computed, block))
            except OUT_OF_MEMORY as error:
                halves = block.halves()
                if len(halves) == 1:
                    raise DeviceError(
                        f"{block.name}, record {block.first}: does not fit into the memory of "
                        f"{self._device.name}; raise --gpu-mem or use --device cpu"
                    ) from error
                self._largest = min(max(half.size for half in halves), self._largest)
        outcome = self._divided(halves[0])
        first = outcome if isinstance(outcome, Divided) else Divided(outcome, ())
        return Divided(first.result, [*first.rest, halves[1]])

    def _computed(self, block: ReadBlock) -> TextBlock | Divided[ReadBlock, TextBlock]:
        return self._text_of(block, *_parsed(block, self._limits, self._device))


def _limit_memory(device: CudaDevice) -> None:
    """Limit the memory that CuPy takes on a device to the limit of the user."""
    if device.memory_limit is not None:
        with cupy.cuda.Device(device.index):
            cupy.get_default_memory_pool().set_limit(size=device.memory_limit)


def _no_reads() -> TextBlock:
    return TextBlock(np.empty(0, dtype=np.uint8), {"reads": 0})


def _parsed(block: ReadBlock, limits: ReadLimits, device: CudaDevice) -> tuple[Any, DeviceSpans]:
    """Parse the text of a block on the current device, and copy it there if it is not there.

    Returns
    -------
    The text, uint8 on the device, and the spans of the reads in it.

    Raises
    ------
    InputError
        A record is malformed; the message names the file and the record.
    """
    if isinstance(block, DeviceBlock):
        text = block.on_device
    else:
        text = cupy.empty(block.text.size, dtype=np.uint8)
        text.set(block.text, stream=cupy.cuda.get_current_stream())
    spans = parse_text(text, limits, is_fasta=block.is_fasta)
    if spans is None:
        parse_block(block, limits)
        raise DeviceError(f"{device.name}: internal error; use --device cpu and report this")
    return text, spans
