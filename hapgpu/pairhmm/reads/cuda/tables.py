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
from hapgpu.io.bam.cuda.device_records import RECORDS, DeviceRecords
from hapgpu.io.text.decimals import POWERS_OF_TEN
from hapgpu.pairhmm.reads.tables import Table
from hapgpu.runtime.gpu.context import download_pinned
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar, Struct
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_SOURCE: Final = "pairhmm/tables.cu"
_THREADS: Final = 128  # 32 kWarps in the source

_PAIRS: Final = Struct(
    "pairs",
    (
        Array("reads", np.int64, "count"),
        Array("haplotypes", np.int32, "count"),
        Array("likelihoods", np.float64, "count"),
        Scalar("count", np.int32),
    ),
)
_TABLE: Final = Struct(
    "table",
    (
        *(Array("labels", np.uint8, "label_bytes"), Length("label_bytes")),
        *(Array("label_offsets", np.int64, "label_count", 1), Length("label_count")),
        *(Array("powers", np.float64, "power_count"), Length("power_count")),
        Scalar("columns", np.int32),
    ),
)

MEASURE_PAIRS: Final = Kernel(
    _SOURCE,
    "measure_pairs",
    (RECORDS, _PAIRS, _TABLE, Array("sizes", np.int64, "pairs.count", 1)),
)
WRITE_PAIRS: Final = Kernel(
    _SOURCE,
    "write_pairs",
    (
        *(RECORDS, _PAIRS, _TABLE, Array("offsets", np.int64, "pairs.count", 1)),
        *(Array("out", np.uint8, "out_bytes"), Length("out_bytes")),
        *(Scalar("first", np.int32), Scalar("end", np.int32)),
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

    @property
    def fields(self) -> tuple[GpuArray | int, ...]:
        """The fields of `pairs`: int64 reads, int32 haplotypes, float64 likelihoods, their size."""
        return self.reads, self.haplotypes, self.likelihoods, len(self)


class DeviceTable:
    """Format of a table on the current GPU.

    Parameters
    ----------
    table
        The same table on the host.
    """

    def __init__(self, table: Table) -> None:
        labels, powers = DeviceRagged.upload(table.labels), cupy.asarray(POWERS_OF_TEN)
        self._fields = (
            *(labels.data, labels.data.size, labels.offsets, len(labels)),
            *(powers, powers.size, table.columns),
        )

    def text(self, scored: DeviceLikelihoods) -> DeviceText:
        """Return the lines of likelihoods, measured but not yet written; waits for the GPU."""
        count = len(scored)
        sizes = cupy.empty(count + 1, dtype=np.int64)
        arguments = (scored.records.fields, scored.fields, self._fields, sizes)
        launch_threads(MEASURE_PAIRS, _THREADS, count, arguments)
        offsets = cupy.cumsum(sizes)
        return DeviceText(self, scored, offsets, int(offsets[-1]))

    def write(
        self, scored: DeviceLikelihoods, offsets: GpuArray, rows: slice, size: int
    ) -> GpuArray:
        """Write the text of some pairs, uint8[size] on the GPU.

        `offsets`, int64[p + 1], has the place of each pair's text.
        """
        out = cupy.empty(size, dtype=np.uint8)
        arguments = (
            *(scored.records.fields, scored.fields, self._fields, offsets),
            *(out, size, rows.start, rows.stop),
        )
        launch_threads(WRITE_PAIRS, _THREADS, rows.stop - rows.start, arguments)
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
        """Write the lines, uint8, and copy them to pinned memory, in parts that end anywhere.

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
