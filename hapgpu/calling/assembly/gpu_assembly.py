"""Assembly with a GPU: it takes the active regions that it can, and the CPU takes the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hapgpu.calling.assembly.assembler import assembled_paths, reference_texts
from hapgpu.calling.assembly.coded_regions import CodedRegions, coded_regions
from hapgpu.calling.assembly.haplotypes import LEFT, AssembledPaths, haplotypes_of
from hapgpu.calling.batches import ActiveRegions, RegionHaplotypes, RegionReads, SegmentReads
from hapgpu.calling.options import AssemblyOptions
from hapgpu.runtime.devices import Device


class GpuAssembly:
    """Assembly of active regions to haplotypes, as `assembled_haplotypes`.

    Parameters
    ----------
    paths_of
        `cuda.assembled_paths` with given options, on a GPU.
    options
        k-mers, pruning, and the number of haplotypes.
    aligner
        The device that aligns the haplotypes; the result does not depend on it.
    """

    def __init__(
        self,
        paths_of: Callable[[CodedRegions], AssembledPaths],
        options: AssemblyOptions,
        aligner: Device,
    ) -> None:
        self._paths_of = paths_of
        self._options = options
        self._aligner = aligner

    def __call__(
        self,
        reads: RegionReads,
        segment: SegmentReads,
        regions: ActiveRegions,
        has_junction: NDArray[np.bool_],
    ) -> tuple[RegionHaplotypes, NDArray[np.uint8]]:
        """Assemble; parameters and result as of `assembled_haplotypes`.

        The flags of regions that the CPU assembles have `LEFT`, too.

        Raises
        ------
        DeviceError
            The GPU failed.
        """
        options = self._options
        references, bases = reference_texts(segment, regions), reads.bases(segment.reads)
        coded = coded_regions(bases, reads, references, options.min_base_quality)
        paths = self._paths_of(coded)
        is_left = paths.outcomes & LEFT != 0
        if is_left.any():
            own = bases.take(is_left[reads.regions])
            others = assembled_paths(
                own, reads.of_regions(is_left), references.take(is_left), options
            )
            paths = paths.with_left(others, np.flatnonzero(is_left))
        return haplotypes_of(paths, references, self._aligner, has_junction), paths.outcomes
