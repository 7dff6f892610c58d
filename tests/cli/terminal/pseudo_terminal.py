"""Processes on a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_PROGRAM: Final = "from hapgpu.cli.app import main; main()"
_ERASED: Final = "\r\x1b[2K"
_STYLES: Final = re.compile(r"\x1b\[(\?25[hl]|[0-9;]*m)")
"""Colours, and the cursor hidden or shown."""


@dataclass(frozen=True)
class Shown:
    """What a process has written to its terminal, and its exit status."""

    status: int
    text: str

    @property
    def bars(self) -> list[str]:
        """The lines that were drawn and erased again, without styles."""
        drawn = _STYLES.sub("", self.text).split(_ERASED)
        return [line for line in drawn[1:] if line and "\r\n" not in line]

    @property
    def lines(self) -> list[str]:
        """The lines that stay on the terminal."""
        kept = [line.rpartition(_ERASED)[2] for line in _STYLES.sub("", self.text).split("\r\n")]
        return [line for line in kept if line]


def run_on_terminal(
    arguments: list[str | Path] | str,
    *,
    columns: int = 80,
    stdout: int | None = None,
    stdin: int | None = subprocess.DEVNULL,
    environment: Mapping[str, str] | None = None,
    meanwhile: Callable[[subprocess.Popen[Any], Callable[[], str]], object] | None = None,
) -> Shown:
    """Run hapgpu, or a program in Python, with standard error on a terminal of its own.

    Parameters
    ----------
    arguments
        Arguments of hapgpu, or the text of a program.
    columns
        Width of the terminal.
    stdout, stdin
        Descriptors; by default the terminal for standard output.
    environment
        Variables besides those of this process.
    meanwhile
        Called with the process, and with a function that returns what it has written so far.
    """
    own, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    words = [arguments] if isinstance(arguments, str) else [_PROGRAM, *map(str, arguments)]
    parts: list[bytes] = []

    def take() -> None:
        with suppress(OSError):  # the terminal has no process any more
            while part := os.read(own, 1 << 16):
                parts.append(part)

    def text() -> str:
        return b"".join(parts).decode()

    with subprocess.Popen(
        [sys.executable, "-c", *words],
        stdin=stdin,
        stdout=its if stdout is None else stdout,
        stderr=its,
        env={**os.environ, "TERM": "xterm-256color", **(environment or {})},
        start_new_session=True,
    ) as process:
        os.close(its)
        reader = threading.Thread(target=take)
        reader.start()
        if meanwhile is not None:
            meanwhile(process, text)
        process.wait()
        reader.join()
    os.close(own)
    return Shown(process.returncode, text())
