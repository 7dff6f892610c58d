"""Projection onto the reference on a GPU (`cuda/realign/`), costs of alignments, hashes of names.

The functions are those of `project`, `placement`, `clip_ends`, `alignment_costs` and `moves`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of, rows_struct
from hapgpu.cigar.cuda import ALIGNMENTS, alignment_fields
from hapgpu.haplotypes.pairing.cuda import DeviceExtended
from hapgpu.io.bam.cuda.device_records import RECORDS, DeviceRecords
from hapgpu.realign.align.cuda.batches import DeviceAlignments
from hapgpu.realign.projection.alignment_costs import AlignmentCosts
from hapgpu.realign.projection.placement import Placement
from hapgpu.realign.projection.project import PlacedHaplotypes, Projections
from hapgpu.realign.scoring import Scoring
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar, Struct
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128

_WEIGHTS: Final = Struct(
    "weights",
    tuple(Scalar(name, np.int64) for name in ("match", "mismatch", "gap_open", "gap_extend")),
)
ALIGNMENT_COSTS: Final = Kernel(
    "realign/alignment_costs.cu",
    "alignment_costs",
    (
        *(ALIGNMENTS, _WEIGHTS),
        Array("scores", np.int64, "alignments.cigars.count"),
        Array("costs", np.int64, "alignments.cigars.count"),
    ),
)
NAME_HASHES: Final = Kernel(
    "realign/name_hashes.cu",
    "name_hashes",
    (RECORDS, Array("hashes", np.uint64, "records.count")),
)

_SOURCE: Final = "realign/project.cu"
_MAX_WORKERS: Final = 1 << 16
_SCRATCH_BYTES: Final = 256 << 20
# CIGARs with more elements than these are projected by fewer threads with more memory each.
_READ_ELEMENTS: Final = 24
_HAPLOTYPE_ELEMENTS: Final = 48
_ALIGNMENTS: Final = Struct(
    "alignments",
    (
        rows_struct("bases", np.uint8),
        Array("queries", np.int64, "cigars.count"),
        rows_struct("cigars", np.uint32),
        Array("starts", np.int32, "cigars.count"),
        Array("haplotypes", np.int32, "cigars.count"),
        Array("leading", np.int32, "cigars.count"),
        Array("trailing", np.int32, "cigars.count"),
    ),
)
_HAPLOTYPES: Final = Struct(
    "haplotypes",
    (
        rows_struct("cigars", np.uint32),
        Array("starts", np.int64, "cigars.count"),
        Array("reference_index", np.int32, "cigars.count"),
        rows_struct("references", np.uint8),
        Array("reference_starts", np.int64, "references.count"),
    ),
)
_WORKSPACES: Final = Struct(
    "workspaces",
    (
        *(Array("memory", np.int64, "words"), Length("words"), Scalar("count", np.int32)),
        *(Scalar("read_elements", np.int32), Scalar("haplotype_elements", np.int32)),
    ),
)
_INPUTS: Final = (
    Array("rows", np.int64, "row_count"),
    *(_ALIGNMENTS, _HAPLOTYPES, _WORKSPACES),
)
_OPTIONS: Final = (Scalar("row_count", np.int32), Scalar("clip_ends", np.int32))
_ALIGNMENT_COUNT: Final = "alignments.cigars.count"
MEASURE_PROJECTIONS: Final = Kernel(
    _SOURCE,
    "measure_projections",
    (
        *_INPUTS,
        Array("sizes", np.int64, _ALIGNMENT_COUNT),
        Array("positions", np.int64, _ALIGNMENT_COUNT),
        *_OPTIONS,
    ),
)
WRITE_PROJECTIONS: Final = Kernel(
    _SOURCE,
    "write_projections",
    (
        *_INPUTS,
        Array("out_offsets", np.int64, _ALIGNMENT_COUNT, 1),
        *(Array("out", np.uint32, "written"), Length("written")),
        *_OPTIONS,
    ),
)
_PLACEMENT_SOURCE: Final = "realign/placement.cu"
_PLACED: Final = Struct(
    "placed",
    (
        rows_struct("cigars", np.uint32),
        Array("haplotypes", np.int32, "count"),
        Array("before", np.int64, "count"),
        Array("after", np.int64, "count"),
        Scalar("count", np.int32),
    ),
)
MEASURE_LENGTHENED: Final = Kernel(
    _PLACEMENT_SOURCE, "measure_lengthened", (_PLACED, Array("sizes", np.int64, "placed.count"))
)
WRITE_LENGTHENED: Final = Kernel(
    _PLACEMENT_SOURCE,
    "write_lengthened",
    (
        *(_PLACED, Array("out_offsets", np.int64, "placed.count", 1)),
        *(Array("out", np.uint32, "written"), Length("written")),
    ),
)
_ENDS_SOURCE: Final = "realign/clip_ends.cu"
_CIGARS: Final = rows_struct("cigars", np.uint32)
MEASURE_CLIPPED_ENDS: Final = Kernel(
    _ENDS_SOURCE,
    "measure_clipped_ends",
    (
        _CIGARS,
        Array("positions", np.int64, "cigars.count"),
        Array("sizes", np.int64, "cigars.count"),
        Array("starts", np.int64, "cigars.count"),
    ),
)
WRITE_CLIPPED_ENDS: Final = Kernel(
    _ENDS_SOURCE,
    "write_clipped_ends",
    (
        *(_CIGARS, Array("out_offsets", np.int64, "cigars.count", 1)),
        *(Array("out", np.uint32, "written"), Length("written")),
    ),
)
COMPARE_ALIGNMENTS: Final = Kernel(
    _ENDS_SOURCE,
    "compare_alignments",
    (
        rows_struct("ones", np.uint32),
        Array("one_positions", np.int32, "ones.count"),
        rows_struct("others", np.uint32, "ones.count"),
        Array("other_positions", np.int32, "ones.count"),
        Array("same", np.uint8, "ones.count"),
    ),
)


def alignment_costs(
    bases: DeviceRagged,
    cigars: DeviceRagged,
    positions: GpuArray,
    references: DeviceRagged,
    reference_index: GpuArray,
    scoring: Scoring,
) -> AlignmentCosts:
    """Return the scores and costs of n alignments on the current GPU.

    Parameters
    ----------
    bases, cigars, positions, references, reference_index
        As in `alignment_fields`, with n rows of bases; an alignment without reference is
        incomparable.
    scoring
        The weights.

    Returns
    -------
    AlignmentCosts
        In CuPy arrays, as `projection.alignment_costs.alignment_costs` computes them.
    """
    alignments = alignment_fields(bases, None, cigars, positions, references, reference_index)
    count = len(cigars)
    costs = AlignmentCosts(cupy.empty(count, dtype=np.int64), cupy.empty(count, dtype=np.int64))
    launch_threads(ALIGNMENT_COSTS, _THREADS, count * WARP, (alignments, scoring.weights, *costs))
    return costs


def name_hashes(records: DeviceRecords) -> GpuArray:
    """Return uint64[n]: the hash of each record's name, as `moves.name_hashes` computes it."""
    count = len(records)
    hashes = cupy.empty(count, dtype=np.uint64)
    launch_threads(NAME_HASHES, _THREADS, count, (records.fields, hashes))
    return hashes


def project_alignments(
    bases: DeviceRagged,
    alignments: DeviceAlignments,
    haplotype_index: GpuArray,
    haplotypes: PlacedHaplotypes[DeviceRagged],
    clips: tuple[GpuArray, GpuArray],
    *,
    queries: GpuArray = None,
    clip_ends: bool = False,
) -> Projections[DeviceRagged]:
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
    inputs = (
        (
            bases.fields,
            cupy.arange(count, dtype=np.int64) if queries is None else queries,
            *(cigars.fields, alignments.offsets, haplotype_index, *clips),
        ),
        (
            *(haplotypes.cigars.fields, haplotypes.starts, haplotypes.reference_index),
            *(haplotypes.references.fields, haplotypes.reference_starts),
        ),
    )
    haplotype_elements = haplotypes.cigars.lengths_of(haplotype_index)
    parts = _parts(cigars.lengths, haplotype_elements)
    for part in parts:
        measured = (part.rows, *inputs, part.workspaces(), sizes, positions)
        options = (part.rows.size, clip_ends)
        launch_threads(MEASURE_PROJECTIONS, _THREADS, part.workers, (*measured, *options))
    offsets = offsets_of(sizes)
    out = cupy.empty(int(offsets[-1]), dtype=np.uint32)
    for part in parts:
        written = (part.rows, *inputs, part.workspaces(), offsets, out, out.size)
        options = (part.rows.size, clip_ends)
        launch_threads(WRITE_PROJECTIONS, _THREADS, part.workers, (*written, *options))
    return Projections(positions, DeviceRagged(out, offsets), sizes > 0)


@dataclass(frozen=True, slots=True)
class _Part:
    """Alignments that are projected together, and the numbers of elements of their longest CIGARs.

    `rows` are int64 on the GPU, at least one.
    """

    rows: GpuArray
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

    def workspaces(self) -> tuple[GpuArray | int, ...]:
        """Allocate the memory of all threads; return the fields of `_WORKSPACES`."""
        memory = cupy.empty(self.workers * self.words, dtype=np.int64)
        return memory, memory.size, self.workers, self.read_elements, self.haplotype_elements


def _parts(read_elements: GpuArray, haplotype_elements: GpuArray) -> list[_Part]:
    """Separate alignments with long CIGARs, which need more memory; int64[n] each: elements."""
    is_long = (read_elements > _READ_ELEMENTS) | (haplotype_elements > _HAPLOTYPE_ELEMENTS)
    parts = []
    for rows in (cupy.flatnonzero(~is_long), cupy.flatnonzero(is_long)):
        if rows.size:
            longest = (read_elements[rows].max(), haplotype_elements[rows].max())
            parts.append(_Part(rows, *map(int, longest)))
    return parts


class DevicePlacement:
    """`Placement` for haplotypes that were extended on the current GPU."""

    def __init__(self, placement: Placement) -> None:
        self._cigars = DeviceRagged.upload(placement.cigars)
        self._flanks = cupy.asarray(placement.flanks)

    def place(self, extended: DeviceExtended) -> PlacedHaplotypes[DeviceRagged]:
        """Return the alignments of extended haplotypes with their windows; waits for the GPU."""
        rows = extended.haplotypes
        return PlacedHaplotypes(
            lengthened(self._cigars, rows, extended.flanks - self._flanks[:, rows]),
            cupy.zeros(rows.size, dtype=np.int64),
            extended.windows,
            extended.references,
            extended.reference_starts,
        )


def lengthened(cigars: DeviceRagged, rows: GpuArray, longer: GpuArray) -> DeviceRagged:
    """Add matches before and after CIGARs, and wait for the GPU.

    Parameters
    ----------
    cigars
        uint32 in BAM encoding.
    rows
        int32[n], the row of `cigars` for each result.
    longer
        int64[2, n], the matches to add; none where the number is 0.
    """
    count = int(rows.size)
    placed = (cigars.fields, rows, longer[0], longer[1], count)
    sizes = cupy.empty(count, dtype=np.int64)
    launch_threads(MEASURE_LENGTHENED, _THREADS, count, (placed, sizes))
    offsets = offsets_of(sizes)
    out = cupy.empty(int(offsets[-1]), dtype=np.uint32)
    launch_threads(WRITE_LENGTHENED, _THREADS, count, (placed, offsets, out, out.size))
    return DeviceRagged(out, offsets)


def clip_end_insertions(cigars: DeviceRagged, positions: GpuArray) -> tuple[DeviceRagged, GpuArray]:
    """Turn insertions at the ends into soft clips, and remove deletions next to them.

    Works on the current GPU, and waits for it.

    Parameters
    ----------
    cigars
        uint32 in BAM encoding, n rows.
    positions
        int64[n].

    Returns
    -------
    CIGARs, and int64[n], the positions of their first aligned bases.
    """
    count = len(cigars)
    sizes = cupy.empty(count, dtype=np.int64)
    starts = cupy.empty(count, dtype=np.int64)
    measured = (cigars.fields, positions, sizes, starts)
    launch_threads(MEASURE_CLIPPED_ENDS, _THREADS, count, measured)
    offsets = offsets_of(sizes)
    out = cupy.empty(int(offsets[-1]), dtype=np.uint32)
    written = (cigars.fields, offsets, out, out.size)
    launch_threads(WRITE_CLIPPED_ENDS, _THREADS, count, written)
    return DeviceRagged(out, offsets), starts


def are_same_alignments(
    one: DeviceRagged, one_positions: GpuArray, other: DeviceRagged, other_positions: GpuArray
) -> GpuArray:
    """Return bool[n]: whether all bases have equal positions; M, = and X are the same.

    `one_positions` and `other_positions` are int32[n].
    """
    count = len(one)
    same = cupy.empty(count, dtype=np.uint8)
    arguments = (one.fields, one_positions, other.fields, other_positions, same)
    launch_threads(COMPARE_ALIGNMENTS, _THREADS, count, arguments)
    return same.view(np.bool_)
