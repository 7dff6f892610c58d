"""samtools as a child process, which ends with this process."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from io import BufferedReader, BufferedWriter
from itertools import islice
from pathlib import Path
from typing import IO, Final, TypeVar

from hapgpu.errors import InputError
from hapgpu.runtime import leftovers

_ORIGIN = re.compile(r"\[[EW]::\w+\] |\[main_samview\] |samtools view: ")
_LINE: Final = re.compile(r"Parse error at line (\d+)")
_GENERAL: Final = re.compile(r"error (reading|closing) file|error closing|fail to read the header")
"""Lines that say only that samtools failed on the name that it was given."""
_NO_MEMORY: Final = re.compile(r"Cannot allocate memory|error closing .*: -12$")
_WARNING: Final = "[W::"

_Pipe = TypeVar("_Pipe", BufferedReader, BufferedWriter)

_COMMAND: Final = Path(__file__).with_name("samtools_command.py")


@dataclass(frozen=True, slots=True)
class SamtoolsFailure:
    """Error output of a samtools that failed, at least one line."""

    lines: tuple[str, ...]

    def __str__(self) -> str:
        return _join(self.lines)

    @property
    def reason(self) -> str:
        """Reason of the failure; empty if the output gives none."""
        return _join(
            line for line in self.lines if not (line.startswith(_WARNING) or _GENERAL.search(line))
        )

    @property
    def is_out_of_memory(self) -> bool:
        """Whether samtools ran out of memory."""
        return any(_NO_MEMORY.search(line) for line in self.lines)

    @property
    def line(self) -> int | None:
        """Line of SAM at which samtools failed; known only if it ran on one thread."""
        found = _LINE.search("\n".join(self.lines))
        return int(found[1]) if found else None


def _join(lines: Iterable[str]) -> str:
    return "; ".join(islice((_ORIGIN.sub("", line).strip() for line in lines), 2))


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
    def input(self) -> BufferedWriter:
        """Pipe to samtools."""
        return _pipe(self._process.stdin, BufferedWriter)

    @property
    def output(self) -> BufferedReader:
        """Pipe from samtools."""
        return _pipe(self._process.stdout, BufferedReader)

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


def _pipe(stream: IO[bytes] | None, kind: type[_Pipe]) -> _Pipe:
    """Return the end of a pipe that this process was asked for."""
    if not isinstance(stream, kind):
        raise TypeError("not a pipe of samtools")
    return stream


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _limit(process: int, max_bytes: int) -> None:
    """Limit the memory of a process, unless a lower limit holds."""
    _, hard = resource.prlimit(process, resource.RLIMIT_DATA)
    soft = max_bytes if hard == resource.RLIM_INFINITY else min(max_bytes, hard)
    resource.prlimit(process, resource.RLIMIT_DATA, (soft, hard))
