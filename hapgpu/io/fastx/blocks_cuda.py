"""Blocks of reads computed on a GPU, in parts where its memory is too small."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import cupy
import numpy as np

from hapgpu.errors import DeviceError
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.cuda import DeviceSpans, parse_text
from hapgpu.io.fastx.limits import ReadLimits
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.text_block import TextBlock
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import OUT_OF_MEMORY, device_errors, thread_streams


class GpuWorker(ABC):
    """Turns blocks of reads into text on one GPU; each calling thread has its own stream.

    Parameters
    ----------
    device
        Where to compute.
    limits
        Limits of the reads.
    """

    def __init__(self, device: CudaDevice, limits: ReadLimits) -> None:
        self._device = device
        self._limits = limits
        _limit_memory(device)

    def __call__(self, block: ReadBlock) -> TextBlock:
        """Compute one block, in parts if it does not fit into the memory of the GPU.

        Raises
        ------
        InputError
            A record is malformed; the message names the file and the record.
        DeviceError
            A single read does not fit, or the device failed.
        """
        with device_errors(self._device):
            return TextBlock.joined(self._parts(block))

    @abstractmethod
    def _text_of(self, block: ReadBlock, text: Any, spans: DeviceSpans) -> TextBlock:
        """Compute one block on the current stream.

        Parameters
        ----------
        block
            The block, in the memory of the host.
        text
            uint8, its text on the device.
        spans
            Its reads in the text.
        """

    def _parts(self, block: ReadBlock) -> list[TextBlock]:
        try:
            return [self._computed(block)]
        except OUT_OF_MEMORY as error:
            _release(self._device)
            halves = block.halves()
            if len(halves) == 1:
                raise DeviceError(
                    f"{block.name}: record {block.first} does not fit into the memory of "
                    f"{self._device.name}: give it more (--gpu-mem), or use --device cpu"
                ) from error
        return [part for half in halves for part in self._parts(half)]

    def _computed(self, block: ReadBlock) -> TextBlock:
        number = self._device.index
        with cupy.cuda.Device(number), thread_streams(number, 1)[0]:
            return self._text_of(block, *_bring_to_device(block, self._limits, self._device))


def _limit_memory(device: CudaDevice) -> None:
    """Let CuPy take no more memory of a device than the user allows."""
    if device.memory_limit is not None:
        with cupy.cuda.Device(device.index):
            cupy.get_default_memory_pool().set_limit(size=device.memory_limit)


def _release(device: CudaDevice) -> None:
    """Give back what the pool of the calling thread's stream keeps."""
    with cupy.cuda.Device(device.index):
        thread_streams(device.index, 1)[0].synchronize()
        cupy.get_default_memory_pool().free_all_blocks()


def _bring_to_device(
    block: ReadBlock, rules: ReadLimits, device: CudaDevice
) -> tuple[Any, DeviceSpans]:
    """Copy the text of a block to the current device, and find the reads in it.

    Returns
    -------
    uint8 on the device, and where the reads lie in it.

    Raises
    ------
    InputError
        A record is malformed; the message names the file and the record.
    """
    text = cupy.empty(block.text.size, dtype=np.uint8)
    text.set(block.text, stream=cupy.cuda.get_current_stream())
    spans = parse_text(text, rules, is_fasta=block.is_fasta)
    if spans is None:
        parse_block(block, rules)
        raise DeviceError(f"{device.name}: internal error; use --device cpu and report this")
    return text, spans
