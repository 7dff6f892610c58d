"""Every fault of the table: one line, which the docs explain, the status, and nothing written."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.docs.messages import PAGE, is_explained
from tests.faults.checks import refused, state
from tests.faults.commands import Command, alike_are_exhaustive
from tests.faults.processes.child import Children
from tests.faults.processes.running import Done, run
from tests.faults.table.row import Attempt, Fault

TABLES = ("inputs", "options", "outputs", "replaced_inputs")  # of many commands
TABLES_OF_ONE = (
    "realign",
    "pairhmm",
    "haplotypes",
    "genotype",
    "call",
    "index",
    "map",
    "chain",
    "bench",
)
ROWS: list[Fault] = [
    row
    for name in (*TABLES, *(f"commands.{command}" for command in TABLES_OF_ONE))
    for row in import_module(f"tests.faults.table.{name}").ROWS
]


def cells() -> list[ParameterSet]:
    """Return the parameters of a test that runs over all rows and their command lines.

    Of a row, command lines of one subcommand with a fault in one file, or with one output, are
    alike: all but the first are exhaustive.
    """
    marks = alike_are_exhaustive()
    return [
        pytest.param(
            row,
            command,
            about,
            id="-".join(filter(None, (row.name, command.name, about))),
            marks=marks(number, command.subcommand, command.file_of(about) or command.output),
        )
        for number, row in enumerate(ROWS)
        for command, about in row.cells
    ]


@pytest.mark.parametrize(("fault", "command", "about"), cells())
def test_fault(request: pytest.FixtureRequest, fault: Fault, command: Command, about: str) -> None:
    if fault.skip_if():
        pytest.skip("no such fault here")
    directory: Path = request.getfixturevalue("directory" if fault.changes else "odd_files")
    attempt = Attempt(command, directory, about)
    fault.make(attempt)
    before = state(directory)
    children = request.getfixturevalue("children") if fault.limits else None
    try:
        done = attempted(attempt, fault, children)
    finally:
        directory.chmod(0o755)
    if fault.prints_header:
        assert done.out.count(b"\n") == 1
        done = replace(done, out=b"")
    line = refused(done, command, fault.status, "")
    is_expected = fault.says(line, attempt)
    assert is_expected, line
    assert is_explained(line), f"{line}: add it to {PAGE}"
    assert not fault.is_first or done.err == f"{line}\n"
    if fault.leaves_output:
        for ending in ("", *command.beside):
            (directory / f"{attempt.output}{ending}").unlink(missing_ok=True)
    assert state(directory) == before


def attempted(attempt: Attempt, fault: Fault, children: Children | None) -> Done:
    words = attempt.words()
    if children:
        return children.run(words, attempt.directory, limits=fault.limits)
    with ExitStack() as stack:
        stdout = None
        if attempt.stdout:
            path, mode = attempt.stdout
            stdout = stack.enter_context(path.open(mode))
        return run(words, attempt.directory, attempt.stdin, stdout)
