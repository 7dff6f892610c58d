"""A block of reads cut in two, for devices that hold only part of it."""

from __future__ import annotations

import numpy as np

from hapgpu.io.fastx.read_block import ReadBlock


def halves_of(block: ReadBlock) -> list[ReadBlock]:
    """Cut a block between two records; one of a single record stays whole."""
    newlines = np.flatnonzero(block.text == ord("\n"))
    lines = 2 if block.is_fasta else 4
    records = newlines.size // lines
    if records < 2:
        return [block]
    cut = int(newlines[records // 2 * lines - 1]) + 1
    return [
        ReadBlock(block.text[:cut], block.is_fasta, block.first, block.name),
        ReadBlock(block.text[cut:], block.is_fasta, block.first + records // 2, block.name),
    ]
