"""Outputs that cannot be written: status 4, nothing left behind, an older file as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.checks import contents, refused
from tests.faults.child import Children
from tests.faults.commands import COMMANDS, Command, each
from tests.faults.running import run

OPTIONS = ["-o", "--json"]
FEW_BYTES = 200  # less than any output, more than what is said of one
OLDER = b"an older file"


def older_output(folder: Path, command: Command, option: str = "-o") -> tuple[str, list[str]]:
    """Make an older file; return its name, and the command line that would replace it."""
    name = command.output if option == "-o" else "run.json"
    (folder / name).write_bytes(OLDER)
    others = ["-o", command.output] if option == "--json" else []
    return name, [*command.words(), *others, option, name, "-q"]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("place", ["absent", "folder"])
@pytest.mark.parametrize("command", each())
def test_no_place(folder: Path, command: Command, place: str, option: str) -> None:
    path = f"{place}/{command.output}"
    if place == "folder":
        (folder / path).mkdir(parents=True)
    outputs = ["-o", command.output] if option == "--json" else []
    before = contents(folder)
    done = run([*command.words(), *outputs, option, path, "-q"], folder)
    refused(done, command, 4, path)
    assert contents(folder) == before


@pytest.mark.parametrize("command", each(c for c in COMMANDS if not c.beside))
def test_a_full_disk(inputs: Path, command: Command) -> None:
    done = run([*command.with_output("/dev/full"), "-q"], inputs)
    refused(done, command, 4, "cannot write /dev/full")


@pytest.mark.parametrize("command", each())
def test_a_full_disk_for_statistics(folder: Path, command: Command) -> None:
    """They are the last that is written: the output is there, and nothing else."""
    before = contents(folder).keys()
    done = run([*command.with_output(), "--json", "/dev/full", "-q"], folder)
    refused(done, command, 4, "cannot write /dev/full")
    out = command.output
    assert contents(folder).keys() - before <= {out, *(out + ending for ending in command.beside)}


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("command", each())
def test_read_only_folder(folder: Path, command: Command, option: str) -> None:
    name, words = older_output(folder, command, option)
    before = contents(folder)
    folder.chmod(0o555)
    try:
        refused(run(words, folder), command, 4, name)
    finally:
        folder.chmod(0o755)
    assert contents(folder) == before


@pytest.mark.parametrize("command", each())
def test_files_must_not_grow(folder: Path, children: Children, command: Command) -> None:
    name, words = older_output(folder, command)
    before = contents(folder)
    refused(children.run(words, folder, limits={"RLIMIT_FSIZE": FEW_BYTES}), command, 4, name)
    assert contents(folder) == before


@pytest.mark.parametrize("command", each(c for c in COMMANDS if c.beside))
def test_no_place_for_the_index(folder: Path, command: Command) -> None:
    name, words = older_output(folder, command)
    (folder / f"{name}{command.beside[0]}").mkdir()
    before = contents(folder)
    refused(run(words, folder), command, 4, name)
    assert contents(folder) == before


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("command", each())
def test_an_older_file_outlives_a_fault(folder: Path, command: Command, option: str) -> None:
    """Here, of the input that comes last."""
    _, words = older_output(folder, command, option)
    last = [*command.inputs.values()][-1].name
    (folder / last).write_bytes(bytes(range(256)))
    before = contents(folder)
    refused(run(words, folder), command, 1, last)
    assert contents(folder) == before
