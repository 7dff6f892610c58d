"""Genotype likelihoods of sites, on a GPU (`cuda/genotyping/likelihoods.cu`)."""

from __future__ import annotations

from typing import Final, NamedTuple

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import DeviceRagged, rows_struct
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.genotyping.batches import SiteLikelihoods
from hapgpu.genotyping.calls.genotype_order import common_table, genotype_counts
from hapgpu.genotyping.reads.cuda.evidence import DeviceEvidence
from hapgpu.genotyping.reads.spanning import spanning_fragments
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.runtime.gpu.context import download_pinned
from hapgpu.runtime.gpu.kernel import Array, Kernel, KernelArgument, Length, Scalar, Struct
from hapgpu.runtime.gpu.staging import thread_staging
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128
_STAGING: Final = 3  # of the thread; the pair-HMM has the ones before

_FRAGMENTS: Final = Struct(
    "fragments",
    (
        Array("offsets", np.int64, "count", 1),
        Array("part_starts", np.int64, "parts"),
        Array("part_ends", np.int64, "parts"),
        Array("likelihood_offsets", np.int64, "parts", 1),
        Array("likelihoods", np.float64, "pairs"),
        Array("bounds", np.int64, "locus_samples", 1),
        *(Length("count"), Length("parts"), Length("pairs"), Length("locus_samples")),
    ),
)
_SITES: Final = Struct(
    "sites",
    (
        Array("loci", np.int32, "count"),
        Array("offsets", np.int64, "locus_count", 1),
        Array("spanning_starts", np.int64, "count"),
        Array("spanning_ends", np.int64, "count"),
        Array("shift_starts", np.int64, "count"),
        Array("shift_ends", np.int64, "count"),
        *(Length("count"), Length("locus_count")),
    ),
)
_HAPLOTYPES: Final = Struct(
    "haplotypes",
    (Array("offsets", np.int64, "sites.locus_count", 1), rows_struct("alleles", np.int16)),
)
_TOTALS: Final = Struct(
    "totals",
    (
        Array("depths", np.int32, "rows"),
        Array("allele_depths", np.int32, "depth_values"),
        Array("depth_offsets", np.int64, "rows", 1),
        Array("genotypes", np.float64, "genotype_values"),
        Array("genotype_offsets", np.int64, "rows", 1),
        *(Length("depth_values"), Length("genotype_values"), Scalar("rows", np.int32)),
    ),
)
ADD_FRAGMENTS: Final = Kernel(
    "genotyping/likelihoods.cu",
    "add_fragments",
    (
        *(_FRAGMENTS, _SITES, _HAPLOTYPES),
        *(Array("table", np.int16, "table_values"), Length("table_values")),
        Array("weights", np.float64, "totals.depth_values"),
        Array("products", np.float64, "totals.genotype_values"),
        *(_TOTALS, Scalar("samples", np.int32), Scalar("ploidy", np.int32)),
    ),
)


class _Totals(NamedTuple):
    """The columns of `SiteLikelihoods` in one array of the current GPU, zeros first."""

    data: GpuArray
    genotypes: GpuArray
    depths: GpuArray
    allele_depths: GpuArray

    @classmethod
    def zeros(cls, rows: int, depths: int, genotypes: int) -> _Totals:
        data = cupy.zeros(8 * genotypes + 4 * (rows + depths), dtype=np.uint8)
        floats, ints = data[: 8 * genotypes], data[8 * genotypes :].view(np.int32)
        return cls(data, floats.view(np.float64), ints[:rows], ints[rows:])

    def fields(
        self, depth_offsets: GpuArray, genotype_offsets: GpuArray
    ) -> tuple[KernelArgument, ...]:
        """Return the fields of `_TOTALS`."""
        return (
            *(self.depths, self.allele_depths, depth_offsets, self.genotypes, genotype_offsets),
            *(self.allele_depths.size, self.genotypes.size, self.depths.size),
        )

    def download(self) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
        """Copy all to host memory: genotypes, depths, allele depths."""
        data = download_pinned(self.data)
        size = self.genotypes.size
        ints = data[8 * size :].view(np.int32)
        rows = self.depths.size
        return data[: 8 * size].view(np.float64).copy(), ints[:rows].copy(), ints[rows:].copy()


def device_site_likelihoods(
    evidence: DeviceEvidence, batch: LocusBatch, alleles: Ragged, samples: int, ploidy: int
) -> SiteLikelihoods:
    """Compute the likelihoods of the genotypes of each site, as `site_likelihoods`.

    Parameters
    ----------
    evidence
        Fragments on the current GPU, which is waited for.
    batch, alleles, samples, ploidy
        As in `site_likelihoods`.

    Returns
    -------
    SiteLikelihoods
        In host memory.
    """
    allele_counts = np.diff(batch.sites.allele_offsets)
    depth_offsets = offsets_of(np.repeat(allele_counts, samples))
    genotype_offsets = offsets_of(np.repeat(genotype_counts(allele_counts, ploidy), samples))
    rows = len(batch.sites) * samples
    totals = _Totals.zeros(rows, int(depth_offsets[-1]), int(genotype_offsets[-1]))
    table = common_table(allele_counts, ploidy)
    columns = (
        *(*_site_columns(batch), batch.haplotypes.offsets, alleles.data, alleles.offsets),
        *(table.reshape(-1), depth_offsets, genotype_offsets),
    )
    uploaded = thread_staging(_STAGING).upload(
        [np.ascontiguousarray(column) for column in columns], cupy.cuda.get_current_stream()
    )
    *sites, haplotypes = uploaded[:-5]
    allele_data, allele_offsets, genotype_table, *row_offsets = uploaded[-5:]
    loci = len(batch.loci)
    arguments = (
        _fragment_fields(evidence, loci, samples),
        (*sites, len(batch.sites), loci),
        (haplotypes, DeviceRagged(allele_data, allele_offsets).fields),
        *(genotype_table, table.size),
        cupy.empty(totals.allele_depths.size, dtype=np.float64),
        cupy.empty(totals.genotypes.size, dtype=np.float64),
        totals.fields(*row_offsets),
        *(samples, ploidy),
    )
    launch_threads(ADD_FRAGMENTS, _THREADS, rows * WARP, arguments)
    genotypes, depths, allele_depths = totals.download()
    return SiteLikelihoods(
        depths.reshape(-1, samples),
        Ragged(allele_depths, depth_offsets),
        Ragged(genotypes, genotype_offsets),
    )


def _site_columns(batch: LocusBatch) -> tuple[NDArray[np.int32] | NDArray[np.int64], ...]:
    """Return the locus of each site, the sites of each locus, and the span requirements."""
    counts = np.diff(batch.loci.site_offsets)
    loci = np.repeat(np.arange(counts.size, dtype=np.int32), counts)
    spanning = spanning_fragments(batch)
    ranges = batch.shift_ranges
    return (
        loci,
        batch.loci.site_offsets,
        spanning.latest_starts,
        spanning.earliest_ends,
        ranges.starts,
        ranges.ends,
    )


def _fragment_fields(
    evidence: DeviceEvidence, loci: int, samples: int
) -> tuple[KernelArgument, ...]:
    """Return the fields of `_FRAGMENTS`."""
    clipped = evidence.clipped
    return (
        *(clipped.fragment_offsets, clipped.starts, clipped.ends),
        *(evidence.likelihood_offsets, evidence.likelihoods),
        _fragment_bounds(evidence, loci, samples),
        *(clipped.fragments, len(clipped), evidence.likelihoods.size, loci * samples),
    )


def _fragment_bounds(evidence: DeviceEvidence, loci: int, samples: int) -> GpuArray:
    """Return int64[loci * samples + 1]: the fragments of each locus and sample."""
    clipped = evidence.clipped
    first = clipped.fragment_offsets[:-1]
    keys = clipped.loci[first] * samples + clipped.samples[first]
    return cupy.searchsorted(keys, cupy.arange(loci * samples + 1), side="left")
