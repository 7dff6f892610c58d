"""What commands have in common before and after their work."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from hapgpu.arrays.ragged import ReadBatch
from hapgpu.cli.options.files import STANDARD
from hapgpu.errors import InputError
from hapgpu.io.genome.regions import EVERYTHING, RegionChoice, parse_region, read_bed
from hapgpu.runtime.devices import CpuDevice, Device
from hapgpu.runtime.jit import is_first_run
from hapgpu.runtime.statistics import RunStatistics

logger = logging.getLogger(__name__)

_WORKERS_PER_GPU: Final = 2  # one prepares and finishes batches while the other has the GPU


def announce(command: str, device: str, *, quiet: bool) -> None:
    """Say on standard error what will compute, and why the first run takes a while."""
    if quiet:
        return
    sys.stderr.write(f"hapgpu {command}: {device}\n")
    if sys.stderr.isatty() and is_first_run(command):
        sys.stderr.write(
            f"hapgpu {command}: the first run compiles for this machine; later ones start sooner\n"
        )


def require_inputs(paths: Iterable[str | Path]) -> None:
    """Make sure, before anything takes its time, that all inputs are there.

    Raises
    ------
    InputError
        One is not; `-` is.
    """
    for path in map(str, paths):
        if path != STANDARD and not Path(path).exists():
            raise InputError(f"{path}: no such file")


def worker_devices(devices: Sequence[Device]) -> list[Device]:
    """Return the devices, each as often as it works on batches; the CPU has a pool of its own."""
    return [
        device
        for device in devices
        for _ in range(1 if isinstance(device, CpuDevice) else _WORKERS_PER_GPU)
    ]


def given_regions(
    texts: Sequence[str] | None, targets_file: Path | None, max_record: int
) -> RegionChoice:
    """Return the regions of -r and -L: everything without either.

    Raises
    ------
    UsageError
        A text is no region.
    InputError
        The file cannot be read, is no BED or is longer than `max_record` bytes.
    """
    if not texts and targets_file is None:
        return EVERYTHING
    regions = [parse_region(text) for text in texts or ()]
    regions += read_bed(targets_file, max_record) if targets_file is not None else []
    if not regions:
        logger.warning("%s: holds no region, so nothing is chosen", targets_file)
    return RegionChoice(tuple(regions))


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
        statistics.write(json)


def split_batches(batches: Iterable[ReadBatch], reads: int) -> Iterator[ReadBatch]:
    """Cut batches into ones of at most so many reads."""
    for batch in batches:
        yield from batch.split(reads)
