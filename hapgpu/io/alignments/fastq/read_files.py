"""Blocks of the reads of a file of any format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing

from hapgpu.io.alignments.formats import open_head
from hapgpu.io.fastx.block_workers import ReadSettings
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.io.fastx.uncut.blocks import UncutBlock


def read_file(
    path: str, settings: ReadSettings, count_excluded: Callable[[int], object]
) -> Iterator[ReadBlock | UncutBlock]:
    """Read a file in blocks.

    Parameters
    ----------
    path
        FASTQ, FASTA, BAM, CRAM or SAM; `-` is standard input.
    settings
        How to read it.
    count_excluded
        Receives numbers of records that are excluded because they are secondary or supplementary.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    transfer, max_record = settings.transfer, settings.max_record
    opened = open_head(path)
    opened.warn_of_old_qualities()
    if opened.has_records:
        from hapgpu.io.alignments.fastq.read_texts import read_texts  # noqa: PLC0415  (imports pysam)

        yield from read_texts(opened, settings, count_excluded)
    elif opened.stream.seekable():
        opened.stream.seek(-len(opened.head), os.SEEK_CUR)
        opened.close()
        yield from transfer.blocks(path, max_record)
    else:
        with closing(opened.rejoined()) as stream:
            yield from read_blocks(
                stream,
                transfer.size,
                transfer.allocate,
                transfer.reading_threads,
                max_record,
                name=opened.name,
            )
