"""Missing, truncated or damaged indexes, and a reference that is read by region."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.checks import contents, plain, refused
from tests.faults.commands import COMMANDS, Command, cells
from tests.faults.good_outputs import GoodOutputs
from tests.faults.made.damage import CONTENTS, CUTS
from tests.faults.processes.running import Done, run

FAULTS = CONTENTS | CUTS


def partly_read() -> Iterator[tuple[Command, str]]:
    """Yield commands and their files that a run may read only in part, or not at all."""
    for command in COMMANDS:
        for file in command.files:
            if file.endswith(".fa.gz") or file not in {i.name for i in command.inputs.values()}:
                yield command, file


def run_to_output(command: Command, directory: Path) -> Done:
    return run([*command.with_output(), "--json", "run.json"], directory)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("command", "file"), cells(partly_read()))
def test_bad_index(
    directory: Path, good_outputs: GoodOutputs, command: Command, file: str, fault: str
) -> None:
    """The damaged file is named, or its damage makes no difference."""
    if fault == "unreadable" and os.geteuid() == 0:
        pytest.skip("root reads every file")
    expected = good_outputs.main(command)
    out = directory / command.output
    out.write_bytes(b"an older file")
    FAULTS[fault](directory / file)
    before = contents(directory)
    done = run_to_output(command, directory)
    if done.status:
        refused(done, command, 1, Path(file).stem, "reads.cram")  # `samtools index FILE` will do
        assert contents(directory) == before
    else:
        assert plain(out) == expected
