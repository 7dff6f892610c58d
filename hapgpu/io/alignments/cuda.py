"""Aligned reads in GPU memory: BAM, and SAM and CRAM through samtools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hapgpu.io.alignments.reader import ReadSource
from hapgpu.io.bam.cuda.reader import PIECE_BYTES, DeviceReads
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.regions import Region
from hapgpu.runtime.devices import CudaDevice


def open_device_reads(
    path: str,
    devices: Sequence[CudaDevice],
    *,
    threads: int = 1,
    piece_bytes: int = PIECE_BYTES,
    reference: Path | None = None,
    regions: Sequence[Region] | None = None,
    needs_index: bool = True,
    name: str | None = None,
    max_record: int = MAX_RECORD,
) -> DeviceReads | ReadSource:
    """Open reads as `open_reads` does, with their records in GPU memory.

    Parameters
    ----------
    path
        A file, or `-` for standard input.
    devices
        The GPUs on which `DeviceReads.records` may be called, at least one.
    threads
        CPU threads that read the file, and threads of samtools for CRAM.
    piece_bytes
        Bytes of the file per piece; pieces are smaller if the memory of a GPU is.
    reference, regions, needs_index, name, max_record
        As in `open_reads`; records outside the regions are left out.

    Returns
    -------
    DeviceReads | ReadSource
        The source of `open_reads` for FASTQ, which has no alignments.

    Raises
    ------
    InputError
        As `open_reads`.
    """
    raise NotImplementedError
