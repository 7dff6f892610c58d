"""Standard streams that are closed, full, or pipes without a reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.checks import plain, refused
from tests.faults.commands import COMMANDS, Command, cells, each, each_format, streamed
from tests.faults.good_outputs import GoodOutputs
from tests.faults.processes.child import CLOSED, CLOSED_PIPE, Children

TO_STDOUT = [command for command in COMMANDS if command.to_stdout]
ALL_CLOSED = {"stdin": CLOSED, "stdout": CLOSED, "stderr": CLOSED}
ONE_CLOSED = [{name: CLOSED} for name in ALL_CLOSED]
UNUSED = {
    "stdin_closed": {"stdin": CLOSED},
    "stdout_closed": {"stdout": CLOSED},
    "stderr_closed": {"stderr": CLOSED},
    "all_closed": ALL_CLOSED,
    "stderr_full": {"stderr": "/dev/full"},
    "stderr_unread": {"stderr": CLOSED_PIPE},
}
"""Streams that a run to a file does not need."""
NO_STDOUT = {"closed": CLOSED, "full": "/dev/full"}
PRINTING = {
    "help": ["--help"],
    "help_of_realign": ["realign", "--help"],
    "version": ["--version"],
    "doctor": ["doctor"],
    "bench": ["bench", "pairhmm", "--batches", "batches.in", "--device", "cpu"],
}
"""Command lines that write text to standard output."""


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(name, marks=[pytest.mark.exhaustive] * (streams in ONE_CLOSED))
        for name, streams in UNUSED.items()
    ],
)
@pytest.mark.parametrize("command", each_format())
def test_a_stream_that_is_not_needed(
    directory: Path, children: Children, good_outputs: GoodOutputs, command: Command, fault: str
) -> None:
    expected = good_outputs.main(command)
    done = children.run([*command.with_output(), "--json", "run.json"], directory, **UNUSED[fault])
    assert done.status == 0, done
    assert plain(directory / command.output) == expected
    assert (directory / "run.json").read_bytes().endswith(b"}\n")


@pytest.mark.parametrize(("command", "role"), cells(streamed()))
def test_standard_input_that_is_needed(
    directory: Path, children: Children, command: Command, role: str
) -> None:
    done = children.run(command.with_output(**{role: "-"}), directory, stdin=CLOSED)
    refused(done, command, 1, "standard input")
    assert not (directory / command.output).exists()


@pytest.mark.parametrize("fault", NO_STDOUT)
@pytest.mark.parametrize("command", each(TO_STDOUT))
def test_standard_output_that_is_needed(
    directory: Path, children: Children, command: Command, fault: str
) -> None:
    done = children.run(command.words(), directory, stdout=NO_STDOUT[fault])
    refused(done, command, 4, "standard output: ")


@pytest.mark.parametrize("command", each(TO_STDOUT))
def test_standard_output_without_a_reader(
    directory: Path, children: Children, command: Command
) -> None:
    done = children.run([*command.words(), "-q"], directory, stdout=CLOSED_PIPE)
    assert (done.status, done.err) == (141, "")


@pytest.mark.parametrize("fault", NO_STDOUT)
@pytest.mark.parametrize("line", PRINTING)
def test_text_that_cannot_be_written(
    inputs: Path, children: Children, line: str, fault: str
) -> None:
    done = children.run(PRINTING[line], inputs, stdout=NO_STDOUT[fault])
    *_, message = done.err.splitlines()
    assert done.status == 4, done
    assert message.startswith("hapgpu")
    assert "error: standard output: " in message


@pytest.mark.parametrize("line", PRINTING)
def test_text_without_a_reader(inputs: Path, children: Children, line: str) -> None:
    done = children.run(PRINTING[line], inputs, stdout=CLOSED_PIPE)
    assert done.status in {0, 141}
    assert "error" not in done.err


@pytest.mark.parametrize("fault", ["stdin_closed", "stderr_closed", "stderr_full", "stderr_unread"])
@pytest.mark.parametrize("line", PRINTING)
def test_text_without_other_streams(
    inputs: Path, children: Children, line: str, fault: str
) -> None:
    done = children.run(PRINTING[line], inputs, **UNUSED[fault])
    assert done.status == 0, done
    assert done.out
