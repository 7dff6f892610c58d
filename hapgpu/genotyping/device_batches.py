"""Arrays between stages on the current GPU: the columns of `batches`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.cigar.cuda.read_parts import DeviceReadParts
from hapgpu.genotyping.batches import ClippedReads, LocusReads
from hapgpu.haplotypes.batches import Loci, LocusBatch
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.cuda.packed import download_reads
from hapgpu.io.bam.record_block import RecordBlock

_HOST_BYTES: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class DeviceLocusReads:
    """Loci, and the reads that may overlap them, as in `LocusReads`.

    Attributes
    ----------
    batch
        The loci, in host memory.
    records
        n mapped reads with bases, on the contig of the loci.
    samples, files
        int32[n], sample and input of each read.
    """

    batch: LocusBatch
    records: DeviceRecords
    samples: Any
    files: Any

    def slice(self, start: int, end: int) -> DeviceLocusReads:
        """Return the loci start to end, and all reads."""
        batch = self.batch.slice(start, end)
        return DeviceLocusReads(batch, self.records, self.samples, self.files)

    def host_pieces(self) -> Iterator[LocusReads]:
        """Copy the reads to host memory as columns, about `_HOST_BYTES` of records at a time."""
        count = len(self.records)
        step = max(count * _HOST_BYTES // max(int(self.records.data.size), 1), 1)
        for start in range(0, count, step):
            rows = slice(start, start + step)
            yield LocusReads(
                self.batch,
                download_reads(self.records.take(rows)),
                self.samples[rows].get(),
                self.files[rows].get(),
            )

    def download(self) -> HostLocusReads:
        """Copy packed records to host memory, for another thread or GPU; waits for the GPU."""
        return HostLocusReads(
            self.batch, self.records.download(), self.samples.get(), self.files.get()
        )


@dataclass(frozen=True, slots=True)
class HostLocusReads:
    """`DeviceLocusReads` in host memory."""

    batch: LocusBatch
    records: RecordBlock
    samples: NDArray[np.int32]
    files: NDArray[np.int32]

    def upload(self) -> DeviceLocusReads:
        """Copy the reads to the current GPU."""
        return DeviceLocusReads(
            self.batch,
            DeviceRecords.upload(self.records),
            cupy.asarray(self.samples),
            cupy.asarray(self.files),
        )


@dataclass(frozen=True, slots=True)
class DeviceLoci:
    """Loci on the current GPU; int64[l] each.

    Attributes
    ----------
    starts, ends
        The loci.
    min_starts, max_ends
        The smallest start from each locus on, and the largest end up to each.
    """

    starts: Any
    ends: Any
    min_starts: Any
    max_ends: Any

    def __len__(self) -> int:
        return int(self.starts.size)

    @property
    def columns(self) -> tuple[Any, ...]:
        """All columns, in this order."""
        return self.starts, self.ends, self.min_starts, self.max_ends


def locus_columns(loci: Loci) -> tuple[NDArray[np.int64], ...]:
    """Return the columns of `DeviceLoci` in host memory."""
    min_starts = np.minimum.accumulate(loci.starts[::-1])[::-1]
    return loci.starts, loci.ends, min_starts, np.maximum.accumulate(loci.ends)


@dataclass(frozen=True, slots=True)
class DeviceClippedReads:
    """The columns of `ClippedReads`: w clipped reads by locus, sample and fragment.

    Attributes
    ----------
    parts
        Rows of the records, and offsets of the bases.
    loci
        int64[w], ascending.
    samples
        int32[w].
    starts, ends
        int64[w], the reference interval.
    fragment_offsets
        int64[f + 1].
    """

    parts: DeviceReadParts
    loci: Any
    samples: Any
    starts: Any
    ends: Any
    fragment_offsets: Any

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def fragments(self) -> int:
        """Number of fragments."""
        return int(self.fragment_offsets.size) - 1

    def download(self) -> ClippedReads:
        """Copy the columns to host memory."""
        parts = self.parts
        return ClippedReads(
            parts.reads.get(),
            self.loci.get(),
            self.samples.get(),
            parts.starts.get(),
            parts.ends.get(),
            self.starts.get(),
            self.ends.get(),
            self.fragment_offsets.get(),
        )


@dataclass(frozen=True, slots=True)
class DeviceEvidence:
    """Fragments with capped likelihoods, as in `Evidence`.

    Attributes
    ----------
    clipped
        The clipped reads of the fragments.
    likelihoods
        float64: the values of a fragment are where its first clipped read has its own.
    likelihood_offsets
        int64[w + 1], the values of each clipped read.
    is_explained
        bool[f].
    """

    clipped: DeviceClippedReads
    likelihoods: Any
    likelihood_offsets: Any
    is_explained: Any
