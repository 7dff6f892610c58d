"""Runs of the command line in processes of their own.

Each is a fork of one process that has imported and run all commands before: that takes a fifth of
the time of a new one, and it ends as any interpreter does.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from hapgpu.cli.app import main
from hapgpu.cli.catalogue import COMMANDS, METHODS, command_module
from tests.cli.in_process import status_of_command
from tests.faults.processes.running import Done, standard_stream

CLOSED, CLOSED_PIPE = "closed", "closed pipe"
_MODES = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT)


class Children:
    """Starts runs, one after the other; a context manager.

    Parameters
    ----------
    warm_up
        Command lines to run before the first.
    """

    def __init__(self, warm_up: Sequence[Sequence[str]], directory: Path) -> None:
        command = [sys.executable, "-m", "tests.faults.processes.child", json.dumps(warm_up)]
        pipe = subprocess.PIPE
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        self._server = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, cwd=directory, env=environment
        )

    def run(
        self,
        words: Sequence[str],
        directory: Path,
        *,
        limits: Mapping[str, int] | None = None,
        **streams: str,
    ) -> Done:
        """Run a command line in a directory.

        Parameters
        ----------
        limits
            Of the run, as in `resource`: `RLIMIT_FSIZE` and the number of bytes.
        streams
            `stdin`, `stdout` and `stderr`: a path, `CLOSED`, or `CLOSED_PIPE`, a pipe
            without a reader. By default stdin is empty, and the result holds the others.
        """
        with tempfile.TemporaryDirectory() as kept:
            paths = {"stdin": os.devnull, "stdout": f"{kept}/out", "stderr": f"{kept}/err"}
            request = [words, str(directory), [*(paths | streams).values()], limits or {}]
            assert self._server.stdin
            assert self._server.stdout
            self._server.stdin.write(json.dumps(request) + "\n")
            self._server.stdin.flush()
            status = int(self._server.stdout.readline())
            out, err = (
                Path(paths[name]).read_bytes() if name not in streams else b""
                for name in ("stdout", "stderr")
            )
        return Done(status, out, err.decode())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.communicate()


def _serve(warm_up: Sequence[Sequence[str]]) -> None:
    """Fork a run for each line of standard input; answer with its exit status."""
    for name in COMMANDS:
        for names in [(name,)] if name != "bench" else [(name, method) for method in METHODS]:
            command_module(*names)
    for words in warm_up:
        status_of_command(*words)
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for line in requests:
        if not (child := os.fork()):
            requests.detach()
            _become(*json.loads(line))
        _, status = os.waitpid(child, 0)
        answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
        answers.flush()


def _become(
    words: Sequence[str], directory: str, paths: Sequence[str], limits: Mapping[str, int]
) -> NoReturn:
    """Run a command line with other standard streams, as a process started with them."""
    os.chdir(directory)
    streams = [_set_stream(number, path) for number, path in enumerate(paths)]
    sys.stdin, sys.stdout, sys.stderr = streams
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = streams  # type: ignore[misc]
    for name, value in limits.items():
        resource.setrlimit(getattr(resource, name), (value, value))
    sys.argv = ["hapgpu", *words]
    main()
    raise SystemExit


def _set_stream(number: int, path: str) -> Any:
    """Open a path as a standard stream; return the stream object that Python would make."""
    if path == CLOSED:
        os.close(number)
        return None
    if path == CLOSED_PIPE:
        reader, writer = os.pipe()
        os.close(reader)
    else:
        writer = os.open(path, _MODES[number])
    os.dup2(writer, number)
    os.close(writer)
    return standard_stream(number)


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]))
