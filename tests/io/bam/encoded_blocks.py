"""Reads as blocks of BAM records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.io.bam.decode import block_of
from hapgpu.io.bam.encode import EncodedRecords
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.runtime.pool import Pool


def encode_records(batch: ReadBatch, header: SamHeader, pool: Pool) -> NDArray[np.uint8]:
    """Write reads as BAM records, end to end.

    Returns
    -------
    numpy.ndarray
        uint8: the records.

    Raises
    ------
    OutputError
        A name is longer than 254 characters, or the header lacks a contig.
    """
    records = EncodedRecords(batch, header)
    parts = pool.over_rows(records.made, records.size)
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def encode_block(batch: ReadBatch, header: SamHeader, pool: Pool) -> RecordBlock:
    """Convert columns to records."""
    data = encode_records(batch, header, pool)
    return block_of(data, len(header.reference_names), pool)
