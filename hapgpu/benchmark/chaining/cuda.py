"""How long stages of chaining take on a GPU, and the kernels that score anchors by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cupy
import numpy as np

from hapgpu.benchmark.baselines.forward_chaining_cuda import successor_scores
from hapgpu.benchmark.chaining.stages import StagedChainer, StagedDevice
from hapgpu.chaining.batches import Anchors, ChainScores
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.mappings.cuda import mappings_to_host
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.parameters import ChainParameters
from hapgpu.chaining.run.cuda import cuda_stages
from hapgpu.chaining.scores.cuda import chain_scores
from hapgpu.errors import DeviceError
from hapgpu.io.fastx.cuda import DeviceSpans, parse_text, spans_to_host
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import device_errors, thread_streams

Scoring = Callable[[Anchors, ChainParameters], ChainScores]


@contextmanager
def staged_on(
    device: CudaDevice, index: MinimizerIndex, options: MapOptions
) -> Iterator[StagedChainer]:
    """Hold a GPU, and a stream of it, and give a chainer that waits for it after each stage.

    Parameters
    ----------
    device
        Where to compute.
    index
        Of the reference; made with `options.sketch`.
    options
        Of mapping.

    Raises
    ------
    DeviceError
        The index does not fit; or, within, a block does not, or the device failed.
    """
    number = device.index
    with device_errors(device), cupy.cuda.Device(number), thread_streams(number, 1)[0] as stream:
        yield StagedChainer(index, options, _staged(index, device, stream))


def _staged(index: MinimizerIndex, device: CudaDevice, stream: Any) -> StagedDevice:
    def parse(block: ReadBlock) -> tuple[Any, DeviceSpans]:
        text = cupy.empty(block.text.size, dtype=np.uint8)
        text.set(block.text, stream=stream)
        spans = parse_text(text, LONG_READS, is_fasta=block.is_fasta)
        if spans is None:
            raise DeviceError(f"{device.name} refuses reads that the CPU accepts")
        return text, spans

    return StagedDevice(
        stages=cuda_stages(index, device),
        parse=parse,
        to_host=lambda spans, mappings: (spans_to_host(spans), mappings_to_host(mappings)),
        wait=stream.synchronize,
    )


def time_scores(
    anchors: Anchors, parameters: ChainParameters, device: CudaDevice, copies: int, repeats: int
) -> float:
    """Measure `cuda.chain_scores`, with the anchors on the device already.

    Parameters
    ----------
    anchors
        On the host.
    parameters
        Of chaining.
    device
        Where to compute.
    copies
        How often the reads are repeated, at least once: a GPU needs thousands of them.
    repeats
        How often, at least once; one more run is not timed.

    Returns
    -------
    The median of the seconds.

    Raises
    ------
    DeviceError
        The copies do not fit, or the device failed.
    """
    return _time(chain_scores, anchors, parameters, device, copies, repeats)


def time_successors(
    anchors: Anchors, parameters: ChainParameters, device: CudaDevice, copies: int, repeats: int
) -> float:
    """Measure `successors.successor_scores`; as `time_scores`."""
    return _time(successor_scores, anchors, parameters, device, copies, repeats)


def copied_to_device(anchors: Anchors, copies: int) -> Anchors:
    """Return anchors of the host on the current device, the reads repeated."""
    starts = anchors.offsets[:-1] + np.arange(copies)[:, None] * anchors.x.size
    offsets = np.append(starts.ravel(), copies * anchors.x.size)
    return Anchors(
        x=cupy.tile(cupy.asarray(anchors.x), copies),
        y=cupy.tile(cupy.asarray(anchors.y), copies),
        offsets=cupy.asarray(offsets),
    )


def _time(
    scoring: Scoring,
    anchors: Anchors,
    parameters: ChainParameters,
    device: CudaDevice,
    copies: int,
    repeats: int,
) -> float:
    number = device.index
    with device_errors(device), cupy.cuda.Device(number), thread_streams(number, 1)[0]:
        on_device = copied_to_device(anchors, copies)
        return float(np.median(_seconds(lambda: scoring(on_device, parameters), repeats)))


def _seconds(run: Callable[[], Any], repeats: int) -> list[float]:
    """Return the seconds of each run but the first."""
    run()
    seconds = []
    for _ in range(repeats):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        run()
        end.record()
        end.synchronize()
        seconds.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return seconds
