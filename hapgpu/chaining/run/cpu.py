"""Blocks of long reads turned into lines of PAF, on each kind of device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from hapgpu.chaining.anchors.cpu import expand_anchors
from hapgpu.chaining.chains.cpu import trace_chains
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.join.cpu import join_chains
from hapgpu.chaining.mappings.cpu import make_regions, name_hashes
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.output.writer import ChainedBlock, LineWriter
from hapgpu.chaining.run.stages import RegionFinder, Stages
from hapgpu.chaining.scores.cpu import chain_scores
from hapgpu.chaining.seeds.cpu import find_seeds
from hapgpu.chaining.sketch.cpu import sketch
from hapgpu.io.fastx.block_transfer import BlockTransfer, transfer_for
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.runtime.devices import CudaDevice, Device

Chainer: TypeAlias = Callable[[ReadBlock], ChainedBlock]
"""Raises InputError where a block is malformed; the message names the file and the record."""

_CPU_BLOCK: Final = 4 << 20
_GPU_BLOCK: Final = 128 << 20
_WORKERS_PER_GPU: Final = 4  # the longest reads of a block keep few warps busy, and others the rest


class CpuChainer:
    """Chains blocks of reads, each in the thread that asks for it.

    Parameters
    ----------
    index
        Of the reference; made with `options.sketch`.
    options
        What the user chose.
    """

    def __init__(self, index: MinimizerIndex, options: MapOptions) -> None:
        self._find_regions = RegionFinder(index, options, cpu_stages(index))
        self._write_lines = LineWriter(index, options)

    def __call__(self, block: ReadBlock) -> ChainedBlock:
        """Chain one block.

        Raises
        ------
        InputError
            A record is malformed; the message names the file and the record.
        """
        spans = parse_block(block, LONG_READS)
        regions, anchors = self._find_regions(block.text, spans)
        return self._write_lines(block, spans, regions, anchors)


def cpu_stages(index: MinimizerIndex) -> Stages:
    """Return the stages of the CPU."""
    return Stages(
        index=index,
        sketch=sketch,
        find_seeds=find_seeds,
        expand_anchors=expand_anchors,
        chain_scores=chain_scores,
        trace_chains=trace_chains,
        join_chains=join_chains,
        name_hashes=name_hashes,
        make_regions=make_regions,
    )


def chainers_for(
    devices: Sequence[Device], index: MinimizerIndex, options: MapOptions
) -> list[Chainer]:
    """Return a chainer for each thread that is to chain: one per CPU thread, or some per GPU."""
    chainers: list[Chainer] = []
    for device in devices:
        if isinstance(device, CudaDevice):
            from hapgpu.chaining.run.cuda import CudaChainer  # noqa: PLC0415  (imports CuPy)

            chainers += [CudaChainer(index, options, device)] * _WORKERS_PER_GPU
        else:
            chainers += [CpuChainer(index, options)] * device.threads
    return chainers


def block_transfer(devices: Sequence[Device], threads: int) -> BlockTransfer:
    """Return how blocks come to the devices, which are all CPUs or all GPUs."""
    return transfer_for(devices, threads, cpu_bytes=_CPU_BLOCK, gpu_bytes=_GPU_BLOCK)
