"""Stages of `call` that a GPU can take over: the assembly and the pair-HMM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of
from hapgpu.calling.assembly.assembler import assembled_haplotypes
from hapgpu.calling.assembly.coded_regions import CodedRegions
from hapgpu.calling.assembly.gpu_assembly import GpuAssembly
from hapgpu.calling.assembly.haplotypes import AssembledPaths
from hapgpu.calling.batches import ActiveRegions, RegionHaplotypes, RegionReads, SegmentReads
from hapgpu.calling.genotypes.likelihoods import LikelihoodsOf
from hapgpu.calling.options import AssemblyOptions
from hapgpu.calling.shared_batches import SharedBatches
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device
from hapgpu.runtime.processes.in_run import InRun

_ONE_THREAD: Final = CpuDevice(1)
_ASSEMBLIES: Final = 2  # at a time: while one is on the GPU, the host prepares the next

HaplotypesOf = Callable[
    [RegionReads, SegmentReads, ActiveRegions, NDArray[np.bool_]],
    tuple[RegionHaplotypes, NDArray[np.uint8]],
]
"""`assembled_haplotypes` with given options: reads, segment, regions, and which have a junction."""


class DeviceStages(NamedTuple):
    """Stages on a device, which workers of one GPU share.

    Attributes
    ----------
    haplotypes
        The assembly.
    pair_hmm
        The pair-HMM.
    """

    haplotypes: HaplotypesOf
    pair_hmm: LikelihoodsOf


def stages_on(device: Device, options: AssemblyOptions) -> DeviceStages:
    """Return the stages on a device: for one thread on the CPU, or for all threads on a GPU."""
    if isinstance(device, CpuDevice):
        return DeviceStages(
            partial(_haplotypes, options=options), partial(log10_likelihoods, device=_ONE_THREAD)
        )
    paths_of = SharedBatches(partial(_paths, options=options, device=device), _ASSEMBLIES)
    likelihoods = SharedBatches(partial(_likelihoods, device=device))
    return DeviceStages(GpuAssembly(InRun(paths_of), options, _ONE_THREAD), InRun(likelihoods))


def _haplotypes(
    reads: RegionReads,
    segment: SegmentReads,
    regions: ActiveRegions,
    has_junction: NDArray[np.bool_],
    options: AssemblyOptions,
) -> tuple[RegionHaplotypes, NDArray[np.uint8]]:
    return assembled_haplotypes(reads, segment, regions, options, _ONE_THREAD, has_junction)


def _paths(
    batches: Sequence[CodedRegions], options: AssemblyOptions, device: CudaDevice
) -> list[AssembledPaths]:
    from hapgpu.calling.assembly.cuda import assembled_paths  # noqa: PLC0415  (imports CuPy)

    paths = assembled_paths(CodedRegions.concatenate(batches), options, device)
    return paths.divided([len(batch) for batch in batches])


def _likelihoods(batches: Sequence[HmmBatch], device: CudaDevice) -> list[NDArray[np.float64]]:
    values = log10_likelihoods(HmmBatch.concatenate(batches), device=device)
    ends = offsets_of([batch.pairs for batch in batches])
    return [values[start:end] for start, end in pairwise(ends)]
