"""samtools as a child of this process, which does not outlive it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Final, cast

from hapgpu import leftovers
from hapgpu.io.samtools_failure import SamtoolsFailure

_COMMAND: Final = Path(__file__).with_name("samtools_command.py")


class Samtools:
    """A running samtools.

    Parameters
    ----------
    arguments
        The command, such as `view`, and its own.
    stdin, stdout
        Descriptors, or what `subprocess` takes in their place.
    most_bytes
        Of memory that it may take, if that is limited.
    """

    def __init__(
        self,
        arguments: Sequence[str | Path],
        stdin: int | None,
        stdout: int,
        most_bytes: int | None = None,
    ) -> None:
        self._stack = ExitStack()
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 (the stack closes it)
        self._stack.callback(self._messages.close)
        # pysam makes files there, which a process that is killed does not remove.
        folder = self._stack.enter_context(leftovers.temporary_folder())
        with leftovers.steady():
            self._process = subprocess.Popen(  # noqa: S603 (a list of arguments, no shell)
                [sys.executable, "-P", _COMMAND, *arguments],
                stdin=stdin,
                stdout=stdout,
                stderr=self._messages,
                env={**os.environ, "TMPDIR": str(folder)},
                process_group=0,  # Ctrl-C is for this process, which then ends samtools
            )
            self._leftover = leftovers.register(self._end)
        if most_bytes is not None:
            _, most = resource.prlimit(self._process.pid, resource.RLIMIT_DATA)
            soft = most_bytes if most == resource.RLIM_INFINITY else min(most_bytes, most)
            resource.prlimit(self._process.pid, resource.RLIMIT_DATA, (soft, most))

    @property
    def input(self) -> IO[bytes]:
        """The pipe to it."""
        return cast("IO[bytes]", self._process.stdin)

    @property
    def output(self) -> IO[bytes]:
        """The pipe from it."""
        return cast("IO[bytes]", self._process.stdout)

    def failure(self) -> SamtoolsFailure | None:
        """Wait for the end; return what went wrong, or None."""
        if self._process.wait() == 0:
            return None
        self._messages.seek(0)
        said = self._messages.read().decode("utf-8", "replace").splitlines()
        lines = tuple(line for line in said if line.strip())
        return SamtoolsFailure(lines or (f"samtools ended with status {self._process.returncode}",))

    def close(self) -> None:
        """End it, whatever it is doing."""
        self._end()
        leftovers.forget(self._leftover)
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                with suppress(OSError):
                    stream.close()
        self._stack.close()

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
