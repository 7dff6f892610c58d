"""Reads as blocks of BAM records."""

from __future__ import annotations

from hapgpu.arrays.batches import ReadBatch
from hapgpu.io.bam.decode import block_of
from hapgpu.io.bam.encode import encode_records
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.record_block import RecordBlock
from hapgpu.runtime.pool import Pool


def encode_block(batch: ReadBatch, header: SamHeader, pool: Pool) -> RecordBlock:
    """Convert columns to records."""
    data = encode_records(batch, header, pool)
    return block_of(data, len(header.reference_names), pool)
