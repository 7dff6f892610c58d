"""Command lines that cannot be meant: one line, and status 2, or 3 of a device."""

from __future__ import annotations

from pathlib import Path

import cupy
import pytest

from tests.faults.checks import contents, refused
from tests.faults.child import Children
from tests.faults.commands import COMMANDS, Command, each
from tests.faults.running import Done, run

WITH_THREADS = [command for command in COMMANDS if "-t" in command.resources]
WITH_DEVICE = [command for command in COMMANDS if "--device" in command.resources]


def fails(folder: Path, command: Command, status: int, *options: str) -> Done:
    before = contents(folder)
    done = run([*command.with_output(), *options], folder)
    refused(done, command, status, *options, options[-1].split(":")[0])
    assert contents(folder) == before
    return done


@pytest.mark.parametrize(
    "options",
    [["--nonsense"], ["--json"], ["surplus", "surplus", "surplus", "--nonsense"]],
    ids=["unknown", "no_value", "surplus"],
)
@pytest.mark.parametrize("command", each())
def test_options(inputs: Path, command: Command, options: list[str]) -> None:
    fails(inputs, command, 2, *options)


@pytest.mark.parametrize("value", ["0", "-1", "many"])
@pytest.mark.parametrize("command", each(WITH_THREADS))
def test_threads(inputs: Path, command: Command, value: str) -> None:
    fails(inputs, command, 2, "-t", value)


@pytest.mark.parametrize("command", each(WITH_THREADS))
def test_countless_threads(inputs: Path, children: Children, command: Command) -> None:
    """Limited, so that what starts them all nevertheless does not take the machine along."""
    words = [*command.with_output("/dev/null"), "-t", "99999999999999999999"]
    limits = {"RLIMIT_AS": 4 << 30, "RLIMIT_CPU": 20}
    refused(children.run(words, inputs, limits=limits), command, 2, "-t")


@pytest.mark.parametrize("value", ["nonsense", "cuda:", "cuda:x", "cpu:1", ""])
@pytest.mark.parametrize("command", each(WITH_DEVICE))
def test_unknown_device(inputs: Path, command: Command, value: str) -> None:
    fails(inputs, command, 2, "--device", value)


@pytest.mark.parametrize("value", ["cuda", "cuda:4000"])
@pytest.mark.parametrize("command", each(WITH_DEVICE))
def test_absent_device(inputs: Path, command: Command, value: str) -> None:
    if value == "cuda" and cupy.cuda.is_available():
        pytest.skip("there is a GPU")
    fails(inputs, command, 3, "--device", value)


@pytest.mark.parametrize("command", each())
def test_no_arguments(inputs: Path, command: Command) -> None:
    refused(run([command.subcommand], inputs), command, 2, "error")


@pytest.mark.parametrize("value", ["chrUn:1-9", "chr20:9-1"])
@pytest.mark.parametrize("command", each(command for command in COMMANDS if command.selects))
def test_regions(inputs: Path, command: Command, value: str) -> None:
    # Where reads are chosen, their header lacks the contig, as it may lack that of a haplotype.
    is_of_reads = value.startswith("chrUn") and command.subcommand in {"realign", "pairhmm"}
    fails(inputs, command, 1 if is_of_reads else 2, "-r", value)
