"""Projection onto the reference on a GPU (`cuda/realign/projection/project.cu`).

Same as `hapgpu/realign/projection/project.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of
from hapgpu.realign.align.device_batches import DeviceAlignments
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads

_THREADS: Final = 128
_SOURCE: Final = "realign/projection/project.cu"
_MAX_WORKERS: Final = 1 << 16
_SCRATCH_BYTES: Final = 256 << 20
# CIGARs with more elements than these are projected by fewer threads with more memory each.
_READ_ELEMENTS: Final = 24
_HAPLOTYPE_ELEMENTS: Final = 48

_INPUTS: Final = (
    Array("rows", np.int64, "row_count"),
    Array("bases", np.uint8, "base_count"),
    Array("base_offsets", np.int64, "queries_count", 1),
    Array("queries", np.int64, "count"),
    Array("cigars", np.uint32, "elements"),
    Array("cigar_offsets", np.int64, "count", 1),
    Array("starts", np.int32, "count"),
    Array("haplotype_index", np.int32, "count"),
    Array("leading", np.int32, "count"),
    Array("trailing", np.int32, "count"),
    Array("haplotype_cigars", np.uint32, "haplotype_elements_count"),
    Array("haplotype_offsets", np.int64, "haplotype_count", 1),
    Array("haplotype_starts", np.int64, "haplotype_count"),
    Array("reference_index", np.int32, "haplotype_count"),
    Array("references", np.uint8, "reference_bases"),
    Array("reference_offsets", np.int64, "reference_count", 1),
    Array("reference_starts", np.int64, "reference_count"),
    Array("scratch", np.int64, "words"),
)
_SIZES: Final = (
    Scalar("row_count", np.int32),
    Scalar("base_count", np.int64),
    Scalar("queries_count", np.int32),
    Scalar("elements", np.int64),
    Scalar("count", np.int32),
    Scalar("haplotype_elements_count", np.int64),
    Scalar("haplotype_count", np.int32),
    Scalar("reference_bases", np.int64),
    Scalar("reference_count", np.int32),
    Scalar("words", np.int64),
    Scalar("workers", np.int32),
    Scalar("read_elements", np.int32),
    Scalar("haplotype_elements", np.int32),
    Scalar("clip_ends", np.int32),
)
MEASURE_PROJECTIONS: Final = Kernel(
    _SOURCE,
    "measure_projections",
    (
        *_INPUTS,
        Array("sizes", np.int64, "count"),
        Array("positions", np.int64, "count"),
        *_SIZES,
    ),
)
WRITE_PROJECTIONS: Final = Kernel(
    _SOURCE,
    "write_projections",
    (
        *_INPUTS,
        Array("out_offsets", np.int64, "count", 1),
        Array("out", np.uint32, "written"),
        *_SIZES,
        Scalar("written", np.int64),
    ),
)


@dataclass(frozen=True, slots=True)
class DevicePlacedHaplotypes:
    """`PlacedHaplotypes` on the current GPU: the same fields."""

    cigars: DeviceRagged
    starts: Any
    reference_index: Any
    references: DeviceRagged
    reference_starts: Any


@dataclass(frozen=True, slots=True)
class DeviceProjections:
    """`Projections` on the current GPU: the same fields."""

    positions: Any
    cigars: DeviceRagged
    ok: Any


def project_alignments(
    bases: DeviceRagged,
    alignments: DeviceAlignments,
    haplotype_index: Any,
    haplotypes: DevicePlacedHaplotypes,
    clips: tuple[Any, Any],
    *,
    queries: Any = None,
    clip_ends: bool = False,
) -> DeviceProjections:
    """Project n alignments of reads with haplotypes onto the reference; waits for the GPU.

    Parameters
    ----------
    bases
        uint8 text, q rows: bases without soft clips.
    alignments
        n alignments of the reads with their haplotypes, with soft-clipped overhangs.
    haplotype_index
        int32[n], the haplotype of each alignment.
    haplotypes
        The haplotypes and their loci.
    clips
        int32[n] each: soft clips to add before and after each CIGAR; 0 for none.
    queries
        int64[n], the row of `bases` of each alignment; None for n rows, one for each.
    clip_ends
        As in `hapgpu.realign.projection.project.project_alignments`.
    """
    cigars = alignments.cigars
    count = len(cigars)
    sizes = cupy.empty(count, dtype=np.int64)
    positions = cupy.empty(count, dtype=np.int64)
    arrays = (
        *(bases.data, bases.offsets),
        cupy.arange(count, dtype=np.int64) if queries is None else queries,
        *(cigars.data, cigars.offsets, alignments.offsets, haplotype_index, *clips),
        *(haplotypes.cigars.data, haplotypes.cigars.offsets),
        *(haplotypes.starts, haplotypes.reference_index),
        *(haplotypes.references.data, haplotypes.references.offsets, haplotypes.reference_starts),
    )
    lengths = (
        *(bases.data.size, len(bases), cigars.data.size, count),
        *(haplotypes.cigars.data.size, len(haplotypes.cigars)),
        *(haplotypes.references.data.size, len(haplotypes.references)),
    )
    haplotype_elements = haplotypes.cigars.lengths_of(haplotype_index)
    parts = _parts(cigars.lengths, haplotype_elements)
    for part in parts:
        inputs = (part.rows, *arrays, part.scratch(), sizes, positions)
        scalars = (part.rows.size, *lengths, *part.sizes, clip_ends)
        launch_threads(MEASURE_PROJECTIONS, _THREADS, part.workers, (*inputs, *scalars))
    offsets = offsets_of(sizes)
    out = cupy.empty(int(offsets[-1]), dtype=np.uint32)
    for part in parts:
        inputs = (part.rows, *arrays, part.scratch(), offsets, out)
        scalars = (part.rows.size, *lengths, *part.sizes, clip_ends)
        launch_threads(WRITE_PROJECTIONS, _THREADS, part.workers, (*inputs, *scalars, out.size))
    return DeviceProjections(positions, DeviceRagged(out, offsets), sizes > 0)


@dataclass(frozen=True, slots=True)
class _Part:
    """Alignments that are projected together, and the numbers of elements of their longest CIGARs.

    `rows` are int64 on the GPU, at least one.
    """

    rows: Any
    read_elements: int
    haplotype_elements: int

    @property
    def words(self) -> int:
        """Memory of a thread, as laid out by `Workspace` in the kernels."""
        composed = self.read_elements + self.haplotype_elements + 1
        result = 5 * (composed + 1) + 2
        return self.read_elements + 2 * self.haplotype_elements + 1 + 2 * composed + 2 * result

    @property
    def workers(self) -> int:
        """Number of threads."""
        return max(1, min(int(self.rows.size), _MAX_WORKERS, _SCRATCH_BYTES // (8 * self.words)))

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Arguments for the kernels' scalars from `words` to `haplotype_elements`."""
        words = self.workers * self.words
        return words, self.workers, self.read_elements, self.haplotype_elements

    def scratch(self) -> Any:
        """Allocate the memory of all threads."""
        return cupy.empty(self.workers * self.words, dtype=np.int64)


def _parts(read_elements: Any, haplotype_elements: Any) -> list[_Part]:
    """Separate alignments with long CIGARs, which need more memory; int64[n] each: elements."""
    is_long = (read_elements > _READ_ELEMENTS) | (haplotype_elements > _HAPLOTYPE_ELEMENTS)
    parts = []
    for rows in (cupy.flatnonzero(~is_long), cupy.flatnonzero(is_long)):
        if rows.size:
            longest = (read_elements[rows].max(), haplotype_elements[rows].max())
            parts.append(_Part(rows, *map(int, longest)))
    return parts
