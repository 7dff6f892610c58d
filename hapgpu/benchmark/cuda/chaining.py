"""Times of the stages of long-read mapping on a GPU, and of the scoring kernels alone.

`successor_scores` scores chains by forward transformation (`cuda/benchmark/forward_chaining.cu`),
the method of mm2-ax (Sadasivan et al. 2023): no predecessor is skipped, and each anchor updates the
scores of its possible successors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import cupy
import numpy as np

from hapgpu.benchmark.cuda.io import timed_on_gpu
from hapgpu.benchmark.stages import StagedChainer, StagedDevice
from hapgpu.errors import DeviceError
from hapgpu.io.fastx.cuda import DeviceSpans, parse_text
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.longread.batches import Anchors, ChainScores
from hapgpu.longread.cuda.output import copy_to_host
from hapgpu.longread.cuda.scores import CHAIN_PARAMETERS, chain_scores, parameter_fields
from hapgpu.longread.cuda.stages import cuda_stages
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.kernels import ANCHORS, CHAIN_SCORES, anchor_fields, score_fields
from hapgpu.longread.options import LongReadOptions
from hapgpu.longread.parameters import ChainParameters
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import device_errors, thread_streams
from hapgpu.runtime.gpu.kernel import Kernel, Scalar
from hapgpu.runtime.gpu.launch import load_kernel

Scoring = Callable[[Anchors, ChainParameters], ChainScores]

_THREADS: Final = 128  # as in the paper
_MAX_BLOCKS: Final = 2**20
_MAX_INT: Final = 2**31 - 1

UPDATE_SUCCESSORS: Final = Kernel(
    "benchmark/forward_chaining.cu",
    "update_successors",
    (ANCHORS, CHAIN_PARAMETERS, Scalar("max_iterations", np.int32), CHAIN_SCORES),
)


@contextmanager
def staged_on(
    device: CudaDevice, index: MinimizerIndex, options: LongReadOptions
) -> Iterator[StagedChainer]:
    """Yield a chainer for a GPU and one of its streams; it waits for the stream after each stage.

    Parameters
    ----------
    device
        GPU to use.
    index
        Index of the reference, built with `options.sketch`.
    options
        Options of long-read mapping.

    Raises
    ------
    DeviceError
        The index or, within the context, a block does not fit the device; or the device failed.
    """
    number = device.index
    with device_errors(device), cupy.cuda.Device(number), thread_streams(number, 1)[0] as stream:
        yield StagedChainer(index, options, _staged_device(index, device, stream))


def _staged_device(index: MinimizerIndex, device: CudaDevice, stream: Any) -> StagedDevice:
    def parse(block: ReadBlock) -> tuple[Any, DeviceSpans]:
        text = cupy.empty(block.text.size, dtype=np.uint8)
        text.set(block.text, stream=stream)
        spans = parse_text(text, LONG_READS, is_fasta=block.is_fasta)
        if spans is None:
            raise DeviceError(f"{device.name}: internal error; give --device cpu, report this")
        return text, spans

    return StagedDevice(
        stages=cuda_stages(index, device),
        parse=parse,
        to_host=lambda _block, text, spans, mappings: copy_to_host(text, spans, mappings),
        wait=stream.synchronize,
    )


def time_scores(
    anchors: Anchors, parameters: ChainParameters, device: CudaDevice, copies: int, repeats: int
) -> float:
    """Return the median time of `chain_scores`, with the anchors in the memory of the device.

    Parameters
    ----------
    anchors
        Anchors on the host.
    parameters
        Parameters of chaining.
    device
        GPU to use.
    copies
        Number of copies of the reads, at least 1: a GPU needs thousands of reads.
    repeats
        Number of timed runs, at least 1; one more run is not timed.

    Returns
    -------
    The median in seconds.

    Raises
    ------
    DeviceError
        The copies do not fit the device, or the device failed.
    """
    return _time(chain_scores, anchors, parameters, device, copies, repeats)


def time_successors(
    anchors: Anchors, parameters: ChainParameters, device: CudaDevice, copies: int, repeats: int
) -> float:
    """Return the median time of `successor_scores`; arguments as for `time_scores`."""
    return _time(successor_scores, anchors, parameters, device, copies, repeats)


def copied_to_device(anchors: Anchors, copies: int) -> Anchors:
    """Return `copies` copies of the reads' anchors on the current device."""
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
        return timed_on_gpu(lambda: scoring(on_device, parameters), repeats)[1]


def successor_scores(anchors: Anchors, parameters: ChainParameters) -> ChainScores:
    """Find the best chain that ends at each anchor, visiting all predecessors.

    The result equals `cuda.scores.chain_scores` with `UNLIMITED_SKIP` if no anchor has more than
    `parameters.max_iterations` predecessors within reach. Beyond these, minimap2 visits one more,
    the anchor of the highest score; this method does not.

    Parameters
    ----------
    anchors
        As for `cuda.scores.chain_scores`.
    parameters
        Parameters of chaining; `max_skip` is not used.

    Returns
    -------
    ChainScores
        On the device.
    """
    total = int(anchors.x.size)
    scores = ChainScores(cupy.empty(total, dtype=np.int32), cupy.empty(total, dtype=np.int32))
    if not total:
        return scores
    load_kernel(UPDATE_SUCCESSORS, cupy.cuda.Device().id).launch(
        min(len(anchors), _MAX_BLOCKS),
        _THREADS,
        (
            *(anchor_fields(anchors), parameter_fields(parameters)),
            min(max(parameters.max_iterations, 0), _MAX_INT),
            score_fields(scores),
        ),
    )
    return scores
