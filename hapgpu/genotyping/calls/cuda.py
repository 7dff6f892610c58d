"""Genotype likelihoods of sites, on a GPU (`cuda/genotyping/likelihoods.cu`)."""

from __future__ import annotations

from typing import Final, NamedTuple

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.genotyping.batches import SiteLikelihoods
from hapgpu.genotyping.calls.genotype_order import common_table, genotype_counts
from hapgpu.genotyping.reads.cuda.evidence import DeviceEvidence
from hapgpu.genotyping.reads.spanning import spanning_fragments
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.runtime.gpu.context import download_pinned
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.staging import thread_staging
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128
_STAGING: Final = 3  # of the thread; the pair-HMM has the ones before

ADD_FRAGMENTS: Final = Kernel(
    "genotyping/likelihoods.cu",
    "add_fragments",
    (
        Array("fragment_offsets", np.int64, "fragments", 1),
        Array("part_starts", np.int64, "parts"),
        Array("part_ends", np.int64, "parts"),
        Array("likelihood_offsets", np.int64, "parts", 1),
        Array("likelihoods", np.float64, "pairs"),
        Array("fragment_bounds", np.int64, "locus_samples", 1),
        Array("site_loci", np.int32, "sites"),
        Array("site_offsets", np.int64, "loci", 1),
        Array("spanning_starts", np.int64, "sites"),
        Array("spanning_ends", np.int64, "sites"),
        Array("shift_starts", np.int64, "sites"),
        Array("shift_ends", np.int64, "sites"),
        Array("haplotype_offsets", np.int64, "loci", 1),
        Array("alleles", np.int16, "allele_values"),
        Array("allele_offsets", np.int64, "haplotypes", 1),
        Array("table", np.int16, "table_values"),
        Array("depth_offsets", np.int64, "rows", 1),
        Array("genotype_offsets", np.int64, "rows", 1),
        Array("weights", np.float64, "depth_values"),
        Array("products", np.float64, "genotype_values"),
        Array("depths", np.int32, "rows"),
        Array("allele_depths", np.int32, "depth_values"),
        Array("genotypes", np.float64, "genotype_values"),
        Scalar("fragments", np.int32),
        Scalar("parts", np.int32),
        Scalar("pairs", np.int64),
        Scalar("rows", np.int32),
        Scalar("sites", np.int32),
        Scalar("loci", np.int32),
        Scalar("locus_samples", np.int32),
        Scalar("haplotypes", np.int32),
        Scalar("allele_values", np.int64),
        Scalar("table_values", np.int64),
        Scalar("depth_values", np.int64),
        Scalar("genotype_values", np.int64),
        Scalar("samples", np.int32),
        Scalar("ploidy", np.int32),
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
    sites = _site_columns(batch)
    tables = (*sites, batch.haplotypes.offsets, alleles.data, alleles.offsets, table.reshape(-1))
    columns = thread_staging(_STAGING).upload(
        [np.ascontiguousarray(column) for column in (*tables, depth_offsets, genotype_offsets)],
        cupy.cuda.get_current_stream(),
    )
    clipped, loci = evidence.clipped, len(batch.loci)
    arguments = (
        clipped.fragment_offsets,
        clipped.starts,
        clipped.ends,
        evidence.likelihood_offsets,
        evidence.likelihoods,
        _fragment_bounds(evidence, loci, samples),
        *columns,
        cupy.empty(totals.allele_depths.size, dtype=np.float64),
        cupy.empty(totals.genotypes.size, dtype=np.float64),
        totals.depths,
        totals.allele_depths,
        totals.genotypes,
        clipped.fragments,
        len(clipped),
        evidence.likelihoods.size,
        rows,
        len(batch.sites),
        loci,
        loci * samples,
        len(alleles),
        alleles.data.size,
        table.size,
        totals.allele_depths.size,
        totals.genotypes.size,
        samples,
        ploidy,
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


def _fragment_bounds(evidence: DeviceEvidence, loci: int, samples: int) -> GpuArray:
    """Return int64[loci * samples + 1]: the fragments of each locus and sample."""
    clipped = evidence.clipped
    first = clipped.fragment_offsets[:-1]
    keys = clipped.loci[first] * samples + clipped.samples[first]
    return cupy.searchsorted(keys, cupy.arange(loci * samples + 1), side="left")
