"""Checks of inputs and regions that options name."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from hapgpu.cli.options.files import STANDARD
from hapgpu.errors import InputError
from hapgpu.io.genome.regions import EVERYTHING, RegionChoice, parse_region, read_bed

logger = logging.getLogger(__name__)


def require_inputs(paths: Iterable[str | Path]) -> None:
    """Check, before the run starts, that all inputs exist.

    Raises
    ------
    InputError
        An input does not exist; `-` always does.
    """
    for path in map(str, paths):
        if path != STANDARD and not Path(path).exists():
            raise InputError(f"{path}: no such file")


def given_regions(
    texts: Sequence[str] | None, targets_file: Path | None, max_record: int
) -> RegionChoice:
    """Return the regions of -r and -L: everything without either.

    Raises
    ------
    UsageError
        A text is not a region.
    InputError
        The file cannot be read, is not BED, or has a line of more than `max_record` bytes.
    """
    if not texts and targets_file is None:
        return EVERYTHING
    regions = [parse_region(text) for text in texts or ()]
    regions += read_bed(targets_file, max_record) if targets_file is not None else []
    if not regions:
        logger.warning("%s: no region, nothing selected", targets_file)
    return RegionChoice(tuple(regions))
