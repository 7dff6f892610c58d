"""A BED file without regions selects nothing."""

from __future__ import annotations

from pathlib import Path

import pysam
import pytest

from tests.faults.commands import COMMANDS, Command, each
from tests.faults.processes.running import Done, run

BEDS = {"empty": "", "comments": "# none\ntrack name=none\n\n", "/dev/null": None}


def run_without_regions(directory: Path, command: Command, bed: str, *options: str) -> Done:
    """Run with a BED file of no regions, which replaces another or lies beside the inputs."""
    text = BEDS[bed]
    path = "none.bed" if text is not None else bed
    if text is not None:
        (directory / path).write_text(text)
    if "targets" in command.inputs:
        return run([*command.with_output(targets=path), *options], directory)
    return run([*command.with_output(), "-L", path, *options], directory)


def records(path: Path) -> int:
    """Count the records of an output."""
    if path.suffix in {".sam", ".bam", ".cram"}:
        return int(pysam.view("-c", "-T", str(path.with_name("reference.fa")), str(path)))
    if path.suffix == ".gz":
        with pysam.BGZFile(str(path)) as lines:
            return sum(not line.startswith(b"#") for line in lines)
    lines = path.read_text().splitlines()
    return sum(not line.startswith(("#", "read\t")) for line in lines)


@pytest.mark.parametrize("bed", BEDS)
@pytest.mark.parametrize("command", each(c for c in COMMANDS if c.selects))
def test_nothing_is_selected(directory: Path, command: Command, bed: str) -> None:
    done = run_without_regions(directory, command, bed)
    assert done.status == 0, done
    assert records(directory / command.output) == 0
    path = "none.bed" if BEDS[bed] is not None else bed
    warnings = [line for line in done.err.splitlines() if path in line]
    assert len(warnings) == 1, done.err


@pytest.mark.parametrize("command", each(c for c in COMMANDS if c.selects))
def test_regions_beside_it_count(directory: Path, command: Command) -> None:
    done = run_without_regions(directory, command, "empty", "-r", "chr20:5001-5400")
    assert done.status == 0, done
    assert records(directory / command.output) > 0
