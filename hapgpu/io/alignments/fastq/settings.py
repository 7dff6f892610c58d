"""Settings for reading files of reads."""

from __future__ import annotations

from dataclasses import dataclass

from hapgpu.io.fastx.block_workers import BlockTransfer


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """Settings for reading files of reads.

    Attributes
    ----------
    transfer
        The size of the blocks, and how they get to the devices.
    max_record
        Bytes of the longest record.
    threads
        Threads that decode BAM, CRAM and SAM.
    with_comments
        Whether the tags of BAM, CRAM and SAM follow the names, as lines of SAM have them.
    """

    transfer: BlockTransfer
    max_record: int
    threads: int
    with_comments: bool = False
