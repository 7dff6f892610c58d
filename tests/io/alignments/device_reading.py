"""How tests read alignment files into GPU memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from hapgpu.errors import InputError
from hapgpu.io.alignments.cuda import open_device_reads
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.cuda.reader import DeviceReads
from hapgpu.io.bam.record_layout import RecordBlock, RecordLayout
from hapgpu.runtime.devices import CudaDevice

GPU = CudaDevice(0)


class FileRecords:
    """All records of a file: their bytes, layout and fixed fields, as plain lists."""

    def __init__(self, parts: list[DeviceRecords]) -> None:
        self.parts = [part for part in parts if len(part)]
        self.columns = {
            name: [value for part in self.parts for value in getattr(part, name).tolist()]
            for name in ("flags", "reference_ids", "positions", "mapping_qualities")
        }

    def block(self) -> RecordBlock | None:
        """Return the records end to end; None without any."""
        blocks = [part.download().packed() for part in self.parts]
        return joined(blocks) if blocks else None


def joined(blocks: list[RecordBlock]) -> RecordBlock:
    """Concatenate blocks, each of which has only the bytes of its records."""
    starts = np.cumsum([0, *(block.data.size for block in blocks)])
    layouts = [
        block.layout.shifted(np.full(len(block), start))
        for block, start in zip(blocks, starts[:-1], strict=True)
    ]
    columns = (np.concatenate(column) for column in zip(*layouts, strict=True))
    data = np.concatenate([block.data for block in blocks])
    return RecordBlock(data, RecordLayout._make(columns))


def device_records(path: Path | str, **options: object) -> tuple[FileRecords, int]:
    """Read a file; return its records, and the number of pieces that the CPU has read."""
    with open_device_reads(str(path), [GPU], **options) as reads:
        assert isinstance(reads, DeviceReads)
        parts = [reads.records(piece) for piece in reads.pieces()]
        return FileRecords(parts), reads.pieces_read_again


def host_records(path: Path | str, **options: object) -> RecordBlock | None:
    """Read a file by the CPU; return its records end to end, or None."""
    with open_reads(str(path), **options) as reads:
        # The bytes of a block are valid until the next block.
        kept = (RecordBlock(block.data.copy(), block.layout) for block in reads.blocks())
        blocks = [block.packed() for block in kept]
    return joined(blocks) if blocks else None


def outcome(read: Callable[[], RecordBlock | None]) -> str | list[bytes]:
    """Return the records that a call gives, or the message of its `InputError`."""
    try:
        block = read()
    except InputError as error:
        return str(error)
    return contents(block)


def contents(block: RecordBlock | None) -> list[bytes]:
    """Return the bytes of records end to end, and of the columns of their layout."""
    if block is None:
        return []
    return [block.data.tobytes(), *(column.tobytes() for column in block.layout)]
