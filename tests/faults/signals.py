"""Runs interrupted by a signal, and the files and processes that remain."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.checks import contents, plain
from tests.faults.commands import Command
from tests.faults.processes.running import run

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STATISTICS = "run.json"
_START = (
    "import os, sys; sys.argv[0] = 'hapgpu'; {}; os.write({}, b'.');"  # the name is in the header
    "from hapgpu.cli.app import main; main()"
)
_ENDS_WITHIN = 120.0
_CHILDREN_END_WITHIN = 5.0
_BAD_WORDS = ("Traceback", "unexpected", "Exception ignored", "Error:")


@dataclass(frozen=True)
class Interrupted:
    """Result of a run interrupted by a signal.

    Attributes
    ----------
    status
        As a shell shows it: 128 and the number of a signal that ended the process.
    err
        Its standard error.
    changes
        The files that it created or changed, by name.
    temporary
        Names of files left in the directory for temporary files.
    processes
        Number of its processes that still run.
    """

    status: int
    err: str
    changes: Mapping[str, bytes]
    temporary: list[str]
    processes: int


def interrupt(
    command: Command,
    directory: Path,
    number: signal.Signals,
    moment: float,
    preparation: str = "pass",
    options: Sequence[str] = (),
) -> Interrupted:
    """Run a command in a directory, and send a signal so many seconds after its first statement.

    Parameters
    ----------
    preparation, options
        As of `started`.
    """

    def send(process: subprocess.Popen[str]) -> None:
        time.sleep(moment)
        process.send_signal(number)

    return disturb(command, directory, send, preparation, options)


def disturb(
    command: Command,
    directory: Path,
    fault: Callable[[subprocess.Popen[str]], None],
    preparation: str = "pass",
    options: Sequence[str] = (),
    stdout: int = subprocess.DEVNULL,
) -> Interrupted:
    """Run a command in a directory, and call a function with the process.

    Parameters
    ----------
    preparation, options, stdout
        As of `started`.
    """
    before = contents(directory)
    with tempfile.TemporaryDirectory() as temporary:
        with started(command, directory, temporary, preparation, options, stdout) as process:
            fault(process)
            _, err = process.communicate(timeout=_ENDS_WITHIN)
            processes = _processes_left(process.pid)
        left = [path.name for path in Path(temporary).iterdir()]
    after = contents(directory)
    changes = {name: data for name, data in after.items() if before.get(name) != data}
    changes |= dict.fromkeys(before.keys() - after.keys(), b"")
    status = process.returncode
    return Interrupted(status if status >= 0 else 128 - status, err, changes, left, processes)


def started(
    command: Command,
    directory: Path,
    temporary: str,
    preparation: str = "pass",
    options: Sequence[str] = (),
    stdout: int = subprocess.DEVNULL,
) -> subprocess.Popen[str]:
    """Start a command in a session of its own, and wait for its first statement.

    Parameters
    ----------
    preparation
        Statement to run before the program; then it is waited for, too.
    options
        Further words of the command line.
    stdout
        Descriptor to which the output goes; by default, it is a file. It is closed here.
    """
    reader, writer = os.pipe()
    environment = os.environ | {"TMPDIR": temporary}
    # Unbuffered, text left in a buffer at the end of the interpreter would not be noticed.
    environment.pop("PYTHONUNBUFFERED", None)
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            _START.format(preparation, writer),
            *_words(command, stdout),
            *options,
        ],
        cwd=directory,
        env=environment | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        pass_fds=[writer],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for descriptor in {writer, stdout} - {subprocess.DEVNULL}:
        os.close(descriptor)
    assert os.read(reader, 1)
    os.close(reader)
    return process


def _words(command: Command, stdout: int = subprocess.DEVNULL) -> list[str]:
    words = command.with_output() if stdout == subprocess.DEVNULL else command.words()
    return [*words, "--json", STATISTICS, "-q"]


def _processes_left(session: int) -> int:
    """End the processes of a session that do not end by themselves; return their number."""
    ends = time.monotonic() + _CHILDREN_END_WITHIN
    while (left := [*_processes_of(session)]) and time.monotonic() < ends:
        time.sleep(0.05)
    for process in left:
        os.kill(process, signal.SIGKILL)
    return len(left)


def _processes_of(session: int) -> Iterator[int]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, fields = stat.read_text().rpartition(") ")
        except OSError:  # it has ended
            continue
        state, _, _, of_process, *_ = fields.split()
        if int(of_process) == session and state != "Z":
            yield int(stat.parent.name)


def faults(
    outcome: Interrupted, status: int, expected: Mapping[str, bytes], directory: Path
) -> list[str]:
    """Return the faults of a run that ends early, with a status.

    An output has to be whole; a run that ended before the fault has all outputs.
    """
    found = []
    if outcome.status not in {0, status}:
        found.append(f"status {outcome.status}")
    found += [f"says {word}" for word in _BAD_WORDS if word in outcome.err]
    found += [f"leaves {name} in TMPDIR" for name in outcome.temporary]
    found += [f"leaves {outcome.processes} processes"] * bool(outcome.processes)
    found += [f"makes {name}" for name in outcome.changes if name not in {*expected, STATISTICS}]
    for name, data in expected.items():
        if name in outcome.changes:
            found += [f"{name} is not whole"] * (plain(directory / name) != data)
        elif not outcome.status:
            found.append(f"no {name}")
    return found


def whole_outputs(
    command: Command, directory: Path, options: Sequence[str] = ()
) -> dict[str, bytes]:
    """Run a command, with further options; return its outputs, and delete them."""
    before = contents(directory).keys()
    done = run([*_words(command), *options], directory)
    assert done.status == 0, done
    made = contents(directory).keys() - before
    found = {name: plain(directory / name) for name in made if name != STATISTICS}
    for name in made:
        (directory / name).unlink()
    return found


def seconds_of(command: Command, directory: Path) -> float:
    """Return how long a run takes from its first statement, and keep its outputs."""
    with (
        tempfile.TemporaryDirectory() as temporary,
        started(command, directory, temporary) as process,
    ):
        start = time.monotonic()
        process.communicate()
        return time.monotonic() - start
