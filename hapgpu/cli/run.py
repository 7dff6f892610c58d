"""What commands have in common before and after their work."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from hapgpu.batch import ReadBatch
from hapgpu.device import CpuDevice, Device
from hapgpu.errors import OutputError, UsageError
from hapgpu.io.regions import Region, parse_region, read_bed
from hapgpu.jit import is_first_run
from hapgpu.stats import RunStatistics

logger = logging.getLogger(__name__)

_STANDARD: Final = "-"
_INDEXES: Final = ("fai", "gzi", "bai", "csi", "crai", "tbi")
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


def refuse_to_replace(inputs: Iterable[str | Path], output: Path | None) -> None:
    """Make sure that the output is none of the inputs, which it would replace at the end.

    Raises
    ------
    UsageError
        It is one of them, under whatever name.
    """
    if output is None or not output.is_file():
        return
    for path in map(Path, inputs):
        if path.exists() and path.samefile(output):
            raise UsageError(f"{output} is read from: write to another file")


def require_folder(path: Path | None) -> None:
    """Make sure, before the work is done, that there is a folder for an output.

    Raises
    ------
    OutputError
        There is none.
    """
    if path is not None and not path.parent.is_dir():
        raise OutputError(f"cannot write {path}: there is no folder {path.parent}")


def with_indexes(paths: Iterable[str | Path]) -> list[str]:
    """Return files that are read, and those that may be read with them; not standard input."""
    files = [str(path) for path in paths if str(path) != _STANDARD]
    stems = [str(Path(path).parent / Path(path).stem) for path in files]
    return [*files, *(f"{path}.{kind}" for path in files + stems for kind in _INDEXES)]


def check_outputs(inputs: Iterable[str | Path], output: Path | None, json: Path | None) -> None:
    """Refuse, before anything takes its time, what cannot or must not be written.

    Raises
    ------
    UsageError
        An output is one of the inputs, or both are one file.
    OutputError
        There is no folder for one.
    """
    read = list(inputs)
    for path in (output, json):
        refuse_to_replace(read, path)
        require_folder(path)
    refuse_one_for_both(output, json)


def refuse_one_for_both(output: Path | None, json: Path | None) -> None:
    """Make sure that the output and the statistics go to two files.

    Raises
    ------
    UsageError
        Both are one file.
    """
    if output is not None and json is not None and output.resolve() == json.resolve():
        raise UsageError(f"{json} cannot take both the output and the statistics")


def worker_devices(devices: Sequence[Device]) -> list[Device]:
    """Return the devices, each as often as it works on batches; the CPU has a pool of its own."""
    return [
        device
        for device in devices
        for _ in range(1 if isinstance(device, CpuDevice) else _WORKERS_PER_GPU)
    ]


def given_regions(texts: Sequence[str] | None, targets_file: Path | None) -> list[Region]:
    """Return the regions of -r and -L.

    Raises
    ------
    UsageError
        A text is no region.
    InputError
        The file cannot be read or is no BED.
    """
    regions = [parse_region(text) for text in texts or ()]
    return regions + (read_bed(targets_file) if targets_file is not None else [])


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
