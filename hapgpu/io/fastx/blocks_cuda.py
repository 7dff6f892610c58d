"""Blocks of reads on a GPU: transfer, and division where memory is too small."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import cupy
import numpy as np

from hapgpu.errors import DeviceError
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.cuda import DeviceSpans, parse_text
from hapgpu.io.fastx.limits import ReadLimits
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import OUT_OF_MEMORY, explained, thread_streams

_Result = TypeVar("_Result")


def limit_memory(device: CudaDevice) -> None:
    """Limit the memory that CuPy takes on a device to the limit of the user."""
    if device.memory_limit is not None:
        with cupy.cuda.Device(device.index):
            cupy.get_default_memory_pool().set_limit(size=device.memory_limit)


def in_parts(
    block: ReadBlock,
    device: CudaDevice,
    do: Callable[[ReadBlock], _Result],
    join: Callable[[Sequence[_Result]], _Result],
) -> _Result:
    """Process a block of reads; if it does not fit the device, process its halves.

    Parameters
    ----------
    device
        Runs `do`, on the stream of the calling thread.
    do
        Processes a block.
    join
        Joins the results of successive pieces.

    Raises
    ------
    DeviceError
        A single read does not fit the device, or the device failed.
    """
    with explained(device):
        return _in_parts(block, device, do, join)


def _in_parts(
    block: ReadBlock,
    device: CudaDevice,
    do: Callable[[ReadBlock], _Result],
    join: Callable[[Sequence[_Result]], _Result],
) -> _Result:
    try:
        return do(block)
    except OUT_OF_MEMORY as error:
        _release(device)
        halves = block.halves()
        if len(halves) == 1:
            raise DeviceError(
                f"{block.name}: record {block.first}: does not fit into the memory of "
                f"{device.name}; raise --gpu-mem or use --device cpu"
            ) from error
    return join([_in_parts(half, device, do, join) for half in halves])


def _release(device: CudaDevice) -> None:
    """Release unused memory of the pool, once the stream of the calling thread is done."""
    with cupy.cuda.Device(device.index):
        thread_streams(device.index, 1)[0].synchronize()
        cupy.get_default_memory_pool().free_all_blocks()


def bring_to_device(
    block: ReadBlock, limits: ReadLimits, device: CudaDevice
) -> tuple[Any, DeviceSpans]:
    """Copy the text of a block to the current device and parse it.

    Returns
    -------
    The text, uint8 on the device, and the spans of the reads in it.

    Raises
    ------
    InputError
        A record is malformed; the message names the file and the record.
    """
    text = cupy.empty(block.text.size, dtype=np.uint8)
    text.set(block.text, stream=cupy.cuda.get_current_stream())
    spans = parse_text(text, limits, is_fasta=block.is_fasta)
    if spans is None:
        parse_block(block, limits)
        raise DeviceError(
            f"{block.name}: internal error: {device.name} rejects reads that the CPU accepts; use"
            " --device cpu and report this"
        )
    return text, spans
