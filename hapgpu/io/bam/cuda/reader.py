"""Source of BAM records in GPU memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.header import SamHeader

PIECE_BYTES: Final = 1 << 24
"""Bytes of a file per piece, unless the caller or the memory of a GPU sets another size."""


class DevicePiece:
    """A part of a file for one worker: compressed bytes in host memory, and their block table.

    Nothing in it is for the consumer: it goes from `DeviceReads.pieces` to `DeviceReads.records`.
    """


class DeviceReads:
    """Source of BAM records in GPU memory, for a pipeline; a context manager.

        source: reads.pieces()           in the thread that reads
        worker: reads.records(piece)     in any thread, on any GPU

    Pieces are few and large; a piece may have no records. Workers must take them in their order,
    as the pipeline does: `records` waits for the piece before, for the record between the two.

    Attributes
    ----------
    header
        Header of the file.
    is_fastq
        False.
    """

    header: SamHeader
    is_fastq = False

    @property
    def is_sorted(self) -> bool:
        """Whether the header, or an index beside the file, says that records are sorted."""
        raise NotImplementedError

    def pieces(self) -> Iterator[DevicePiece]:
        """Read the file, once, in pieces.

        Raises
        ------
        InputError
            The file is truncated, or has other bytes than blocks.
        """
        raise NotImplementedError

    def records(self, piece: DevicePiece) -> DeviceRecords:
        """Return the checked records that end in a piece, on the current device and stream.

        Records outside the regions of the source are left out. Call this once for each piece.
        Waits for the stream.

        Raises
        ------
        InputError
            The file is damaged or truncated: the error of the CPU's reader, from the piece with
            the fault and from all pieces after it. A pipeline raises the first.
        MemoryError
            The GPU has too little memory for the piece, even without the work of decoding it.
        """
        raise NotImplementedError
