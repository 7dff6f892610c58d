"""Likelihoods of records as text on a GPU (`cuda/pairhmm/tables.cu`); same as `tables`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.text.decimals import POWERS_OF_TEN
from hapgpu.pairhmm.reads.tables import Table
from hapgpu.runtime.gpu.context import download_pinned
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_SOURCE: Final = "pairhmm/tables.cu"
_THREADS: Final = 128  # 32 kWarps in the source

_NAME_LENGTHS: Final = Array("name_lengths", np.int32, "records")
_PAIRS: Final = (
    Array("reads", np.int64, "count"),
    Array("haplotypes", np.int32, "count"),
    Array("likelihoods", np.float64, "count"),
)
_LABEL_OFFSETS: Final = Array("label_offsets", np.int64, "label_count", 1)
_POWERS: Final = Array("powers", np.float64, "power_count")

MEASURE_PAIRS: Final = Kernel(
    _SOURCE,
    "measure_pairs",
    (
        _NAME_LENGTHS,
        *_PAIRS,
        _LABEL_OFFSETS,
        _POWERS,
        Array("sizes", np.int64, "count", 1),
        Scalar("records", np.int32),
        Scalar("count", np.int32),
        Scalar("label_count", np.int32),
        Scalar("power_count", np.int32),
        Scalar("columns", np.int32),
    ),
)
WRITE_PAIRS: Final = Kernel(
    _SOURCE,
    "write_pairs",
    (
        Array("data", np.uint8, "size"),
        Array("starts", np.int64, "records"),
        _NAME_LENGTHS,
        Array("flags", np.uint16, "records"),
        *_PAIRS,
        Array("labels", np.uint8, "label_bytes"),
        _LABEL_OFFSETS,
        _POWERS,
        Array("offsets", np.int64, "count", 1),
        Array("out", np.uint8, "out_bytes"),
        Scalar("size", np.int64),
        Scalar("records", np.int32),
        Scalar("count", np.int32),
        Scalar("label_bytes", np.int64),
        Scalar("label_count", np.int32),
        Scalar("power_count", np.int32),
        Scalar("out_bytes", np.int64),
        Scalar("first", np.int32),
        Scalar("end", np.int32),
        Scalar("columns", np.int32),
    ),
)


@dataclass(frozen=True, slots=True)
class DeviceLikelihoods:
    """p likelihoods of records, in the order of the table, on the current GPU.

    Attributes
    ----------
    records
        n records.
    reads
        int64[p], ascending: the record of each pair.
    haplotypes
        int32[p], ascending for each record.
    likelihoods
        float64[p], log10.
    """

    records: DeviceRecords
    reads: GpuArray
    haplotypes: GpuArray
    likelihoods: GpuArray

    def __len__(self) -> int:
        return int(self.reads.size)


class DeviceTable:
    """Format of a table on the current GPU.

    Parameters
    ----------
    table
        The same table on the host.
    """

    def __init__(self, table: Table) -> None:
        self._labels = DeviceRagged.upload(table.labels)
        self._powers = cupy.asarray(POWERS_OF_TEN)
        self._columns = table.columns

    def text(self, scored: DeviceLikelihoods) -> DeviceText:
        """Return the lines of likelihoods, measured but not yet written; waits for the GPU."""
        count = len(scored)
        sizes = cupy.empty(count + 1, dtype=np.int64)
        layout = scored.records.layout
        pairs = (scored.reads, scored.haplotypes, scored.likelihoods)
        arrays = (layout.name_lengths, *pairs, self._labels.offsets, self._powers, sizes)
        numbers = (len(scored.records), count, len(self._labels), self._powers.size)
        launch_threads(MEASURE_PAIRS, _THREADS, count, (*arrays, *numbers, self._columns))
        offsets = cupy.cumsum(sizes)
        return DeviceText(self, scored, offsets, int(offsets[-1]))

    def write(
        self, scored: DeviceLikelihoods, offsets: GpuArray, rows: slice, size: int
    ) -> GpuArray:
        """Write the text of some pairs, uint8[size] on the GPU.

        `offsets`, int64[p + 1], has the place of each pair's text.
        """
        out = cupy.empty(size, dtype=np.uint8)
        records, labels = scored.records, self._labels
        arrays = (
            records.data,
            records.layout.starts,
            records.layout.name_lengths,
            records.flags,
            scored.reads,
            scored.haplotypes,
            scored.likelihoods,
            labels.data,
            labels.offsets,
            self._powers,
            offsets,
            out,
        )
        numbers = (
            records.data.size,
            len(records),
            len(scored),
            labels.data.size,
            len(labels),
            self._powers.size,
            size,
            rows.start,
            rows.stop,
            self._columns,
        )
        launch_threads(WRITE_PAIRS, _THREADS, rows.stop - rows.start, (*arrays, *numbers))
        return out


@dataclass(frozen=True, slots=True)
class DeviceText:
    """Lines of a table that are written on request.

    Attributes
    ----------
    size
        Bytes of all lines.
    """

    _table: DeviceTable
    _scored: DeviceLikelihoods
    _offsets: GpuArray
    size: int

    def parts(self, part_bytes: int) -> Iterator[NDArray[np.uint8]]:
        """Write the lines and copy them to pinned memory, in parts that end anywhere.

        A part has `part_bytes`, give or take the text of a pair. Works on the current stream of
        the GPU, and waits for it.
        """
        for (first, start), (end, stop) in pairwise(self._cuts(part_bytes)):
            out = self._table.write(self._scored, self._offsets, slice(first, end), stop - start)
            yield download_pinned(out)

    def _cuts(self, part_bytes: int) -> list[tuple[int, int]]:
        """Return where parts start and the last one ends: a pair, and its place in the text."""
        cuts = {(0, 0), (len(self._scored), self.size)}
        if self.size > part_bytes:
            limits = cupy.arange(part_bytes, self.size, part_bytes)
            pairs = cupy.searchsorted(self._offsets, limits, side="right") - 1
            cuts |= set(zip(pairs.get().tolist(), self._offsets[pairs].get().tolist(), strict=True))
        return sorted(cuts)
