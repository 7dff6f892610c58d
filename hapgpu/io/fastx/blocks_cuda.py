"""Blocks of reads computed on a GPU, in pieces if its memory is too small."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
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
        _limit_memory(device)

    def __call__(self, block: ReadBlock | UncutBlock) -> TextBlock:
        """Compute one block, in pieces if it does not fit into the memory of the GPU.

        Raises
        ------
        InputError
            A record is malformed; the message names the file and the record.
        DeviceError
            A single read does not fit the GPU, or the GPU failed.
        """
        with device_errors(self._device):
            if not isinstance(block, UncutBlock):
                return TextBlock.joined(self._pieces(block))
            with self._stream():
                text = decoded(block)
            return TextBlock.joined(self._pieces(text)) if text is not None else _no_reads()

    @abstractmethod
    def _text_of(self, block: ReadBlock, text: Any, spans: DeviceSpans) -> TextBlock:
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

    def _pieces(self, block: ReadBlock) -> list[TextBlock]:
        try:
            return [self._computed(block)]
        except OUT_OF_MEMORY as error:
            _release(self._device)
            halves = self._halves(block)
            if len(halves) == 1:
                raise DeviceError(
                    f"{block.name}, record {block.first}: does not fit into the memory of "
                    f"{self._device.name}; raise --gpu-mem or use --device cpu"
                ) from error
        return [piece for half in halves for piece in self._pieces(half)]

    def _halves(self, block: ReadBlock) -> list[ReadBlock]:
        if not isinstance(block, DeviceBlock):
            return block.halves()
        with self._stream():  # the text is copied to host memory
            return block.halves()

    def _computed(self, block: ReadBlock) -> TextBlock:
        with self._stream():
            return self._text_of(block, *_parsed(block, self._limits, self._device))

    @contextmanager
    def _stream(self) -> Iterator[None]:
        """Make the GPU, and the stream of the calling thread on it, the current ones."""
        number = self._device.index
        with cupy.cuda.Device(number), thread_streams(number, 1)[0]:
            yield


def _limit_memory(device: CudaDevice) -> None:
    """Limit the memory that CuPy takes on a device to the limit of the user."""
    if device.memory_limit is not None:
        with cupy.cuda.Device(device.index):
            cupy.get_default_memory_pool().set_limit(size=device.memory_limit)


def _release(device: CudaDevice) -> None:
    """Release unused memory of the pool, once the stream of the calling thread is done."""
    with cupy.cuda.Device(device.index):
        thread_streams(device.index, 1)[0].synchronize()
        cupy.get_default_memory_pool().free_all_blocks()


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
