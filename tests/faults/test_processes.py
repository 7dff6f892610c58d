"""Runs with worker processes: results, standard streams, signals, and processes that are killed.

With HAPGPU_TEST_SIGNALS=1, `--exhaustive` sends 300 signals, and kills 100 processes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import pytest
from _pytest.mark import ParameterSet

from hapgpu.runtime import pipeline
from tests.faults.checks import plain
from tests.faults.commands import (
    COMMANDS,
    Command,
    alike_are_exhaustive,
    cells,
    each,
    streamed,
)
from tests.faults.good_outputs import GoodOutputs
from tests.faults.made.copies import Copies
from tests.faults.processes.running import a_pipe, run
from tests.faults.processes.worker_processes import (
    OPTIONS,
    SUBCOMMANDS,
    always,
    preparation_for,
    wait_for_workers,
    workers_of,
)
from tests.faults.signals import SIGNALS, Interrupted, disturb, faults
from tests.faults.small_batches import SMALL_BATCHES

FORKING = [
    command
    for command in COMMANDS
    if command.subcommand in SUBCOMMANDS
    and "-t" in command.resources
    and command.name != "chain_anchors"  # one computation, without a pipeline
]
Fault: TypeAlias = Callable[[subprocess.Popen[str]], None]
"""What happens to a run."""
_FILL = pipeline._fill
_SIGNALS, _KILLS = (300, 100) if os.environ.get("HAPGPU_TEST_SIGNALS") == "1" else (24, 12)
_SECONDS = 0.5
"""After the fork, of most runs."""


@pytest.fixture(scope="module")
def expected_outputs(copies: Copies) -> GoodOutputs:
    """Return the outputs of runs with the options of those that are disturbed."""
    return GoodOutputs(copies.directory, OPTIONS)


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let runs in this process fork on small inputs; return the list of their processes."""
    found: list[int] = []
    fork = os.fork

    def noted() -> int:
        number = fork()
        found.append(number)
        return number

    monkeypatch.setattr(os, "fork", noted)
    monkeypatch.setattr(pipeline, "_fill", always)
    for bounds in SMALL_BATCHES.values():
        for target, value in bounds.items():
            monkeypatch.setattr(target, value)
    return found


def each_of_stdout() -> list[ParameterSet]:
    """Return commands that write to standard output; all but one of a subcommand are exhaustive."""
    marks = alike_are_exhaustive()
    return [
        pytest.param(command, id=command.name, marks=marks(command.subcommand))
        for command in FORKING
        if command.to_stdout
    ]


def counts_of(path: Path) -> Any:
    """Return what the statistics of a run hold, except times and the numbers of threads."""
    statistics = json.loads(path.read_text())
    stages = statistics.pop("seconds").keys(), statistics.pop("stage_threads").keys()
    for name in ("command_line", "threads"):
        del statistics[name]
    return statistics, stages


@pytest.mark.parametrize("processes", [3, pytest.param(16, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("command", each(FORKING))
def test_results(directory: Path, forks: list[int], command: Command, processes: int) -> None:
    """They are those of threads; so are the statistics."""
    found = []
    for count in (processes, 1):
        words = [*command.with_output(), "-t", "16", "--processes", str(count)]
        done = run([*words, "--json", f"{count}.json"], directory)
        assert done.status == 0, done
        found.append((plain(directory / command.output), counts_of(directory / f"{count}.json")))
    assert found[0] == found[1]
    # A thread reads a stream: then there is a worker less.
    assert len(forks) in ([0] if processes == 1 else [processes, min(processes, 15)])


@pytest.mark.parametrize(
    ("command", "role"), cells((c, r) for c, r in streamed() if c in FORKING and c.to_stdout)
)
def test_standard_streams(directory: Path, forks: list[int], command: Command, role: str) -> None:
    words = [*command.words(**{role: "-"}), "-t", "5", "--processes", "3"]
    with a_pipe(directory / command.inputs[role].name) as stdin:
        done = run(words, directory, stdin)
    assert done.status == 0, done
    assert len(forks) == 3
    (directory / "from_stdout").write_bytes(done.out)
    done = run([*command.with_output("to_file"), "--processes", "1"], directory)
    assert done.status == 0, done
    assert plain(directory / "from_stdout") == plain(directory / "to_file")


@pytest.mark.parametrize("command", each_of_stdout())
def test_standard_output_whose_reader_ends(directory: Path, command: Command) -> None:
    """As of `| head`: it ends when the workers have their first batches."""
    reader, writer = os.pipe()
    outcome = disturbed(command, directory, lambda _: os.close(reader), writer)
    assert (outcome.status, outcome.err) == (141, ""), outcome
    assert not faults(outcome, 141, {}, directory)


@pytest.mark.parametrize("is_large", [False, True])
def test_processes_only_for_many_batches(
    directory: Path, forks: list[int], monkeypatch: pytest.MonkeyPatch, is_large: bool
) -> None:
    monkeypatch.setattr(pipeline, "_fill", _FILL)
    if not is_large:
        monkeypatch.setattr("hapgpu.shortread.pipeline._CPU_BLOCK", 1 << 20)
    words = ["map", "reference.fa", "reads.fq.gz", "-o", "out.sam", "--device", "cpu", "-t", "4"]
    done = run([*words, "--processes", "3"], directory)
    assert done.status == 0, done
    assert len(forks) == (3 if is_large else 0)


def disturbed(
    command: Command, directory: Path, fault: Fault, stdout: int = subprocess.DEVNULL
) -> Interrupted:
    """Run a command with worker processes, and call a function with it when it has forked."""

    def when_forked(process: subprocess.Popen[str]) -> None:
        wait_for_workers(process)
        fault(process)

    preparation = preparation_for(command.subcommand)
    return disturb(command, directory, when_forked, preparation, OPTIONS, stdout)


def some(total: int, few: int) -> list[ParameterSet]:
    """Return the numbers of examples, of which few are not exhaustive."""
    return [
        pytest.param(number, marks=[] if number < few else pytest.mark.exhaustive)
        for number in range(total)
    ]


def command_of(number: int) -> Command:
    """Return the command of an example: the first six are of all subcommands."""
    firsts = [next(c for c in FORKING if c.subcommand == name) for name in SUBCOMMANDS]
    return [*firsts, *(c for c in FORKING if c not in firsts)][number % len(FORKING)]


@pytest.mark.parametrize("number", some(_SIGNALS, len(SUBCOMMANDS)))
def test_signals(directory: Path, expected_outputs: GoodOutputs, number: int) -> None:
    """Most of them when there are worker processes; they also reach those, as of a terminal."""
    command, sent = command_of(number), SIGNALS[number % len(SIGNALS)]
    expected = expected_outputs.files(command)
    random = Random(number)  # noqa: S311  (moments, not secrets)
    moment = random.uniform(0, _SECONDS)

    def send(process: subprocess.Popen[str]) -> None:
        time.sleep(moment)
        if number % 2:
            os.killpg(process.pid, sent)
        else:
            process.send_signal(sent)

    outcome = disturbed(command, directory, send)
    assert not faults(outcome, 128 + sent, expected, directory), outcome


@pytest.mark.parametrize("number", some(_KILLS, len(SUBCOMMANDS)))
def test_a_worker_that_is_killed(
    directory: Path, expected_outputs: GoodOutputs, number: int
) -> None:
    """The run ends with an error that names it, or it had no work left."""
    command = command_of(number)
    expected = expected_outputs.files(command)
    random = Random(number)  # noqa: S311  (moments, not secrets)
    moment = random.uniform(0, _SECONDS)
    killed: list[int] = []

    def kill(process: subprocess.Popen[str]) -> None:
        time.sleep(moment)
        for worker in random.sample(found := workers_of(process.pid), min(len(found), 1)):
            with suppress(ProcessLookupError):  # its run has ended
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)

    outcome = disturbed(command, directory, kill)
    if outcome.status == 0:
        assert not outcome.err
    else:
        assert outcome.status == 1, outcome
        start = f"hapgpu {command.subcommand}: error: worker process {killed[0]}: was killed, "
        assert outcome.err.startswith(start), outcome
        assert outcome.err.count("\n") == 1, outcome
        assert not outcome.changes
    assert not faults(outcome, 1, expected, directory), outcome
