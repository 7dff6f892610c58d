"""Substitutes for slow parts of the standard library; nothing else of hapgpu changes."""

from __future__ import annotations

import io
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn, Self


class SerialExecutor:
    """An executor without threads: their start takes longer than reading a tiny file."""

    def __init__(self, _threads: int) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None: ...

    @staticmethod
    def map(function: Callable[..., Any], *arguments: Iterable[Any]) -> Iterator[Any]:
        """Call the function for each argument."""
        return map(function, *arguments)


class ForkedScript:
    """A process that runs a Python script, given as `[python, "-P", script, *arguments]`.

    It takes a fiftieth of the time of a new interpreter, and has the parts of
    `subprocess.Popen` that `hapgpu.io.alignments` uses. It stays in the group of
    processes that a worker is ended with.
    """

    def __init__(
        self,
        arguments: Sequence[str | Path],
        *,
        stdin: Any,
        stdout: Any,
        stderr: Any,
        env: Mapping[str, str] | None = None,  # noqa: ARG002  (of Popen)
        process_group: int | None = None,  # noqa: ARG002  (of Popen)
    ) -> None:
        theirs, self.stdin, self.stdout = [-1, -1, stderr.fileno()], None, None
        own: list[IO[bytes]] = []
        for number, asked in enumerate((stdin, stdout)):
            theirs[number], pipe = _end(asked, number)
            if pipe is not None:
                own.append(pipe)
                setattr(self, ("stdin", "stdout")[number], pipe)
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            for pipe in own:
                os.close(pipe.fileno())
            _run(arguments[2:], theirs)
        for number, asked in enumerate((stdin, stdout)):
            if asked in {subprocess.PIPE, subprocess.DEVNULL}:
                os.close(theirs[number])

    def wait(self) -> int:
        """Wait for its end."""
        if self.returncode is None:
            _, status = os.waitpid(self.pid, 0)
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def poll(self) -> int | None:
        """Return its status if it has ended."""
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode

    def kill(self) -> None:
        """End it."""
        if self.poll() is None:
            os.kill(self.pid, 9)

    terminate = kill


def _end(asked: Any, number: int) -> tuple[int, IO[bytes] | None]:
    """Return the descriptor of the child, and the other end if there is a pipe."""
    if asked == subprocess.DEVNULL:
        return os.open(os.devnull, os.O_RDWR), None
    if asked != subprocess.PIPE:
        return asked if isinstance(asked, int) else asked.fileno(), None
    reading, writing = os.pipe()
    if number == 0:
        return reading, os.fdopen(writing, "wb")
    return writing, os.fdopen(reading, "rb")


def _run(script: Sequence[str | Path], descriptors: Sequence[int]) -> NoReturn:
    """Run a script with these standard streams, and exit."""
    status = 1
    try:
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        sys.argv = [str(argument) for argument in script]
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), write_through=True)
        runpy.run_path(sys.argv[0], run_name="__main__")
        status = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        os._exit(status)
