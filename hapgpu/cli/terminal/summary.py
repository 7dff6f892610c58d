"""What commands have in common before and after their work."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from pathlib import Path

from hapgpu.io.files.output import write_json
from hapgpu.runtime.jit import is_first_run
from hapgpu.runtime.statistics import RunStatistics

logger = logging.getLogger(__name__)


def announce(command: str, device: str, *, quiet: bool) -> None:
    """Say on standard error what will compute, and why the first run takes a while."""
    if quiet:
        return
    sys.stderr.write(f"hapgpu {command}: {device}\n")
    if sys.stderr.isatty() and is_first_run(command):
        sys.stderr.write(
            f"hapgpu {command}: the first run compiles for this machine; later ones start sooner\n"
        )


def report(
    statistics: RunStatistics, json: Path | None, left_out: Mapping[str, str] | None = None
) -> None:
    """Tell what a run has counted, and write its statistics where they are asked for.

    Parameters
    ----------
    statistics
        Of the run.
    json
        File for them.
    left_out
        What is worth a warning if there was any, by the name of its count: the words behind the
        number, such as `reads without bases are left out`.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    counts = statistics.counts
    for what, words in (left_out or {}).items():
        if number := counts.get(what):
            logger.warning("%d %s", number, words)
    logger.info("%s", counts)
    if json is not None:
        write_json(json, statistics.as_dict())
