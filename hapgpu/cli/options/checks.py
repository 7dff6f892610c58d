"""Regions that options name."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from hapgpu.io.genome.regions import RegionChoice, common_regions, read_bed

logger = logging.getLogger(__name__)


def given_regions(
    texts: Sequence[str] | None, targets_file: Path | None, max_record: int
) -> RegionChoice:
    """Return the regions of -r and -L: everything without either.

    Warns of a file without regions, or without a base in common with -r.

    Raises
    ------
    UsageError
        A text is not a region, whatever the contigs are.
    InputError
        The file cannot be read, is not BED, or has a line of more than `max_record` bytes.
    """
    targets = None if targets_file is None else tuple(read_bed(targets_file, max_record))
    choice = RegionChoice(tuple(texts) if texts else None, targets)
    sets = choice.possible_sets()
    if targets is not None and not targets:
        logger.warning("%s: no region, nothing selected", targets_file)
    elif len(sets) == 2 and not common_regions(*sets):
        logger.warning("%s: no base in common with -r", targets_file)
    return choice
