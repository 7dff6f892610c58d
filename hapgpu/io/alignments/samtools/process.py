"""samtools as a child process, which ends with this process."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import IO, Final, cast

from hapgpu.errors import InputError
from hapgpu.io.alignments.samtools.failure import SamtoolsFailure
from hapgpu.runtime import leftovers

_COMMAND: Final = Path(__file__).with_name("command.py")


class Samtools:
    """Running samtools.

    Parameters
    ----------
    arguments
        The samtools command, such as `view`, and its arguments.
    stdin, stdout
        Descriptors, or constants of `subprocess`.
    max_bytes
        Limit on the memory of samtools, if any.
    """

    def __init__(
        self,
        arguments: Sequence[str | Path],
        stdin: int | None,
        stdout: int,
        max_bytes: int | None = None,
    ) -> None:
        with ExitStack() as stack:
            self._messages = tempfile.TemporaryFile()  # noqa: SIM115 (the stack closes it)
            stack.callback(self._messages.close)
            # pysam creates files there, which a killed process does not remove.
            directory = stack.enter_context(leftovers.temporary_directory())
            self._process, leftover = self._start(arguments, stdin, stdout, directory)
            stack.callback(leftovers.forget, leftover)
            stack.callback(self._end)
            if max_bytes is not None:
                _limit(self._process.pid, max_bytes)
            self._stack = stack.pop_all()

    def _start(
        self, arguments: Sequence[str | Path], stdin: int | None, stdout: int, directory: Path
    ) -> tuple[subprocess.Popen[bytes], int]:
        """Start samtools; return the process and its number in `leftovers`."""
        with leftovers.steady():
            try:
                process = subprocess.Popen(  # noqa: S603 (a list of arguments, no shell)
                    [sys.executable, "-P", _COMMAND, *arguments],
                    stdin=stdin,
                    stdout=stdout,
                    stderr=self._messages,
                    env={**os.environ, "TMPDIR": str(directory)},
                    process_group=0,  # Ctrl-C is for this process, which then ends samtools
                )
            except OSError as error:
                raise InputError(
                    f"samtools: cannot be started ({error.strerror or error}); free memory,"
                    " or raise the limit of processes (ulimit -u)"
                ) from error
            return process, leftovers.register(partial(_kill, process))

    @property
    def input(self) -> IO[bytes]:
        """Pipe to samtools."""
        return cast("IO[bytes]", self._process.stdin)

    @property
    def output(self) -> IO[bytes]:
        """Pipe from samtools."""
        return cast("IO[bytes]", self._process.stdout)

    def failure(self) -> SamtoolsFailure | None:
        """Wait for the end of samtools; return its failure, or None."""
        if self._process.wait() == 0:
            return None
        self._messages.seek(0)
        output = self._messages.read().decode("utf-8", "replace").splitlines()
        lines = tuple(line for line in output if line.strip())
        return SamtoolsFailure(lines or (f"samtools ended with status {self._process.returncode}",))

    def close(self) -> None:
        """Kill samtools and release its files."""
        self._stack.close()

    def _end(self) -> None:
        _kill(self._process)
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                with suppress(OSError):
                    stream.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _limit(process: int, max_bytes: int) -> None:
    """Limit the memory of a process, unless a lower limit holds."""
    _, hard = resource.prlimit(process, resource.RLIMIT_DATA)
    soft = max_bytes if hard == resource.RLIM_INFINITY else min(max_bytes, hard)
    resource.prlimit(process, resource.RLIMIT_DATA, (soft, hard))
