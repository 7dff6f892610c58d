"""Pairs of BAM records and haplotypes on a GPU, and haplotypes with flanks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of, rows_of, rows_struct
from hapgpu.haplotypes.pairing.extended_haplotypes import (
    CLASS_BITS,
    FLANK,
    GAP_ROOM,
    MAX_FLANKS,
    ExtendedHaplotypes,
    Extender,
)
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import PairFinder, ReadHaplotypePairs
from hapgpu.io.bam.cuda.device_records import RECORDS, DeviceRecords
from hapgpu.runtime.gpu.kernel import Array, Kernel, KernelArgument, Length, Scalar, Struct
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128
_HAPLOTYPE_BITS: Final = 32

_LOCI: Final = Struct(
    "loci",
    (
        Array("starts", np.int64, "haplotypes.count"),
        Array("ends", np.int64, "haplotypes.count"),
        Array("max_ends", np.int64, "haplotypes.count"),
        rows_struct("haplotypes", np.int32),
    ),
)


def _overlaps(records: str) -> Struct:
    """Declare the loci that records overlap; `records` names their number."""
    return Struct(
        "overlaps",
        (
            Array("first", np.int32, records),
            Array("end", np.int32, records),
            Array("read_starts", np.int64, records),
        ),
    )


COUNT_PAIRS: Final = Kernel(
    "haplotypes/pairing.cu",
    "count_pairs",
    (
        *(RECORDS, _LOCI),
        Struct(
            "wanted",
            tuple(
                Scalar(name, np.int32) for name in ("require_flags", "exclude_flags", "needs_bases")
            ),
        ),
        _overlaps("records.count"),
        Array("counts", np.int64, "records.count"),
    ),
)
LIST_PAIRS: Final = Kernel(
    "haplotypes/pairing.cu",
    "list_pairs",
    (
        Array("selected", np.int64, "reads"),
        *(_overlaps("records"), Length("records"), _LOCI),
        Array("offsets", np.int64, "reads", 1),
        *(Array("out", np.int32, "total"), Length("total"), Scalar("reads", np.int32)),
    ),
)


@dataclass(frozen=True, slots=True)
class DeviceReadPairs:
    """Pairs of n reads and haplotypes, as in `ReadHaplotypePairs`, on the current GPU.

    Attributes
    ----------
    offsets
        int64[n + 1]: the haplotypes of read i are rows `offsets[i]` to `offsets[i + 1]`.
    haplotypes
        int32[offsets[-1]], the haplotype of each pair.
    """

    offsets: GpuArray
    haplotypes: GpuArray

    def __len__(self) -> int:
        return int(self.haplotypes.size)

    @property
    def counts(self) -> GpuArray:
        """int64[n]: the number of haplotypes of each read."""
        return self.offsets[1:] - self.offsets[:-1]

    @property
    def reads(self) -> GpuArray:
        """int64[offsets[-1]]: the read of each pair."""
        return rows_of(self.offsets, len(self))

    def download(self) -> ReadHaplotypePairs:
        """Copy the pairs to host memory."""
        return ReadHaplotypePairs(self.offsets.get(), self.haplotypes.get())


@dataclass(frozen=True, slots=True)
class _Loci:
    """The columns of a `LocusTable` on the current GPU."""

    starts: GpuArray
    ends: GpuArray
    max_ends: GpuArray
    haplotypes: DeviceRagged

    @property
    def fields(self) -> tuple[KernelArgument, ...]:
        """The fields of `_LOCI`."""
        return self.starts, self.ends, self.max_ends, self.haplotypes.fields


@dataclass(frozen=True, slots=True)
class DeviceCandidates:
    """Records with haplotypes, and the loci that they overlap; the pairs are listed on request.

    Attributes
    ----------
    rows
        int64[n]: the records that have the flags and overlap a locus.
    counts
        int64[n], above 0: the number of haplotypes of each.
    """

    rows: GpuArray
    counts: GpuArray
    _first_loci: GpuArray
    _end_loci: GpuArray
    _read_starts: GpuArray
    _loci: _Loci
    _is_in_order: bool

    def __len__(self) -> int:
        return int(self.rows.size)

    def take(self, kept: GpuArray) -> DeviceCandidates:
        """Keep the records of a mask, `kept`, bool[n]."""
        return replace(self, rows=self.rows[kept], counts=self.counts[kept])

    def pairs(self, start: int, end: int, excluded: GpuArray = None) -> DeviceReadPairs:
        """List the pairs of `rows[start:end]`; none for `excluded`, bool[end - start], a mask."""
        rows, counts = self.rows[start:end], self.counts[start:end]
        offsets = offsets_of(counts if excluded is None else cupy.where(excluded, 0, counts))
        total = int(offsets[-1])
        haplotypes = cupy.empty(total, dtype=np.int32)
        if not total:
            return DeviceReadPairs(offsets, haplotypes)
        overlaps = (self._first_loci, self._end_loci, self._read_starts)
        arguments = (
            *(rows, overlaps, self._first_loci.size, self._loci.fields),
            *(offsets, haplotypes, total, end - start),
        )
        launch_threads(LIST_PAIRS, _THREADS, (end - start) * WARP, arguments)
        pairs = DeviceReadPairs(offsets, haplotypes)
        return pairs if self._is_in_order else _sorted(pairs)


class DevicePairFinder:
    """Search for the haplotypes of records on the current GPU; the loci stay in its memory."""

    def __init__(self, finder: PairFinder) -> None:
        table = finder.table
        self._loci = _Loci(
            cupy.asarray(table.starts),
            cupy.asarray(table.ends),
            cupy.asarray(table.max_ends),
            DeviceRagged.upload(table.haplotypes),
        )
        haplotypes = table.haplotypes.data
        self._is_in_order = bool((haplotypes[1:] > haplotypes[:-1]).all())

    def find(
        self,
        records: DeviceRecords,
        require_flags: int = 0,
        exclude_flags: int = 0,
        *,
        needs_bases: bool = False,
    ) -> DeviceCandidates:
        """Find the records that have all required SAM flags, none of the excluded, and a locus.

        With `needs_bases`, only records with bases.
        """
        count, loci = len(records), self._loci
        first, end = (cupy.empty(count, dtype=np.int32) for _ in range(2))
        read_starts, counts = (cupy.empty(count, dtype=np.int64) for _ in range(2))
        if count:
            wanted = (require_flags, exclude_flags, needs_bases)
            overlaps = (first, end, read_starts)
            arguments = (records.fields, loci.fields, wanted, overlaps, counts)
            launch_threads(COUNT_PAIRS, _THREADS, count, arguments)
        rows = cupy.flatnonzero(counts)
        return DeviceCandidates(
            rows, counts[rows], first, end, read_starts, loci, self._is_in_order
        )


def _sorted(pairs: DeviceReadPairs) -> DeviceReadPairs:
    """Sort the haplotypes of each read."""
    keys = cupy.sort((pairs.reads << _HAPLOTYPE_BITS) + pairs.haplotypes)
    haplotypes = (keys & ((1 << _HAPLOTYPE_BITS) - 1)).astype(np.int32)
    return DeviceReadPairs(pairs.offsets, haplotypes)


JOIN_HAPLOTYPES = Kernel(
    "haplotypes/join.cu",
    "join_haplotypes",
    (
        *(rows_struct("sequences", np.uint8), rows_struct("references", np.uint8)),
        Struct(
            "extended",
            (
                Array("haplotypes", np.int32, "count"),
                Array("windows", np.int32, "count"),
                Array("left_flanks", np.int64, "count"),
                Array("right_flanks", np.int64, "count"),
                Scalar("count", np.int32),
            ),
        ),
        Array("offsets", np.int64, "extended.count", 1),
        *(Array("out", np.uint8, "total"), Length("total")),
    ),
)


@dataclass(frozen=True, slots=True)
class DeviceExtended:
    """The columns of `ExtendedHaplotypes` on the current GPU."""

    haplotypes: GpuArray
    sequences: DeviceRagged
    classes: GpuArray
    flanks: GpuArray
    windows: GpuArray
    references: DeviceRagged
    reference_starts: GpuArray
    contigs: GpuArray

    def download(self) -> ExtendedHaplotypes:
        """Copy the columns to host memory."""
        return ExtendedHaplotypes(
            self.haplotypes.get(),
            self.sequences.download(),
            self.classes.get(),
            self.flanks.get(),
            self.windows.get(),
            self.references.download(),
            self.reference_starts.get(),
            self.contigs.get(),
        )


class DeviceExtender:
    """`Extender` on the current GPU; the reference is fetched by the host.

    Parameters
    ----------
    extender
        The host's extender of the same haplotypes, used by this object alone.
    haplotypes
        The haplotypes, with loci.
    """

    def __init__(self, extender: Extender, haplotypes: HaplotypeSet) -> None:
        self._extender = extender
        self._sequences = DeviceRagged.upload_large(haplotypes.sequences)
        self._locus_index = cupy.asarray(haplotypes.locus_index)
        self._starts = cupy.asarray(extender.starts)
        self._ends = cupy.asarray(extender.ends)
        self._room = cupy.asarray(extender.shrink + GAP_ROOM)

    def flanks_needed(
        self, starts: GpuArray, ends: GpuArray, lengths: GpuArray, reads: GpuArray, rows: GpuArray
    ) -> GpuArray:
        """Return the flanks that p pairs of a read and a haplotype need, int64[2, p].

        Parameters
        ----------
        starts, ends
            int64[n]: the reads' alignments with the reference, soft clips included.
        lengths
            int32[n]: the bases of the reads.
        reads, rows
            int64[p] and int32[p]: the read and the haplotype of each pair.
        """
        locus = self._locus_index[rows]
        first = cupy.minimum(starts, ends - lengths)[reads]
        last = cupy.maximum(ends, starts + lengths)[reads]
        room = self._room[locus]
        return cupy.stack([self._starts[locus] - first + room, last - self._ends[locus] + room])

    def extend(self, rows: GpuArray, needed: GpuArray) -> tuple[DeviceExtended, GpuArray]:
        """Extend haplotypes, `rows`, int32[p], by at least `needed`, int64[2, p], bases.

        Returns
        -------
        DeviceExtended
            As `Extender.extend`.
        cupy.ndarray
            int32[p], the extended haplotype of each pair.

        Raises
        ------
        InputError
            The reference is damaged.
        """
        units = cupy.clip(-(-needed // FLANK), 1, MAX_FLANKS)
        classes = units[0] << 16 | units[1]
        keys, extended_rows = cupy.unique(
            rows.astype(np.int64) << 32 | classes, return_inverse=True
        )
        haplotypes = (keys >> 32).astype(np.int32)
        locus = self._locus_index[haplotypes].astype(np.int64)
        window_keys, windows = cupy.unique(locus << 32 | keys & CLASS_BITS, return_inverse=True)
        fetched = self._extender.windows_of(window_keys.get())
        references = DeviceRagged.gather(
            cupy.asarray(fetched.text),
            cupy.asarray(fetched.text_starts),
            cupy.asarray(fetched.lengths),
        )
        windows = windows.astype(np.int32)
        flanks = cupy.asarray(fetched.flanks)[:, windows]
        extended = DeviceExtended(
            haplotypes,
            self._joined(haplotypes, flanks, references, windows),
            keys & CLASS_BITS,
            flanks,
            windows,
            references,
            cupy.asarray(fetched.starts),
            cupy.asarray(fetched.contigs),
        )
        return extended, extended_rows.astype(np.int32)

    def _joined(
        self, haplotypes: GpuArray, flanks: GpuArray, references: DeviceRagged, windows: GpuArray
    ) -> DeviceRagged:
        sequences = self._sequences
        offsets = offsets_of(sequences.lengths_of(haplotypes) + flanks[0] + flanks[1])
        total = int(offsets[-1])
        out = cupy.empty(total, dtype=np.uint8)
        if total:
            extended = (haplotypes, windows, flanks[0], flanks[1], haplotypes.size)
            arguments = (sequences.fields, references.fields, extended, offsets, out, total)
            launch_threads(JOIN_HAPLOTYPES, _THREADS, haplotypes.size * WARP, arguments)
        return DeviceRagged(out, offsets)
