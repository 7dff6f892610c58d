"""The first line of a run on standard error, and its summary."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from pathlib import Path

from hapgpu.io.files.output import write_json
from hapgpu.runtime.statistics import RunStatistics

logger = logging.getLogger(__name__)


def announce(command: str, device: str, *, compiles: bool) -> None:
    """Name the devices of a run on standard error, and say that the first run compiles."""
    sys.stderr.write(f"hapgpu {command}: {device}\n")
    if sys.stderr.isatty() and compiles:
        sys.stderr.write(
            f"hapgpu {command}: the first run compiles for this machine; later ones start sooner\n"
        )


def report(
    statistics: RunStatistics, json: Path | None, warnings: Mapping[str, str] | None = None
) -> None:
    """Log the counts of a run, with warnings for some of them, and write the statistics.

    Parameters
    ----------
    statistics
        The statistics of the run.
    json
        The file for the statistics; None for none.
    warnings
        By the name of a count: the words after its number in the warning if it is not 0, such as
        `reads without bases excluded`.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    counts = statistics.counts
    for name, words in (warnings or {}).items():
        if number := counts.get(name):
            logger.warning("%d %s", number, words)
    logger.info("%s", counts)
    if json is not None:
        write_json(json, statistics.as_dict())
