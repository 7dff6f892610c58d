"""Progress on standard error: a bar on a terminal, else a line every 30 seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final, TextIO

from hapgpu.cli.terminal import live_line
from hapgpu.cli.terminal.work import Work, WorkState, counted
from hapgpu.runtime.progress import NoProgress, Progress

_SECONDS_BETWEEN_LINES: Final = 30.0


def choose_progress(
    title: str, *, quiet: bool, unit: str, since: float, shows_output: bool
) -> Progress:
    """Return a bar for a terminal, plain lines for other streams, nothing if quiet.

    A terminal that also shows the output gets lines: a bar would be drawn into the records.

    Parameters
    ----------
    title
        The program and command, such as `hapgpu realign`.
    quiet
        Whether to show nothing.
    unit
        The unit of the count, such as `reads`.
    since
        Start of the command, by `time.monotonic`.
    shows_output
        Whether the output goes to standard output.
    """
    if quiet:
        return NoProgress()
    if live_line.can_show(shows_output=shows_output):
        from hapgpu.cli.terminal.progress_bar import BarProgress  # noqa: PLC0415  (only for a terminal)

        return BarProgress(title, unit, since)
    return LineProgress(title, unit=unit)


class LineProgress:
    """Progress as one line every 30 seconds, without control characters, for log files.

    Parameters
    ----------
    title
        The program and command.
    stream
        The stream of the lines; None is standard error.
    clock
        Returns seconds since any fixed time.
    unit
        The unit of the count, such as `reads`.
    """

    def __init__(
        self,
        title: str,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        unit: str = "reads",
    ) -> None:
        self._title = title
        self._unit = unit
        self._stream = stream or sys.stderr
        self._work = Work(clock)
        self._lines = 0

    def start(self, total: int | None) -> None:
        """Start the clock."""
        self._work.start(total)

    def advance(self, count: int, fraction: float | None = None) -> None:
        """Write a line if the last line is 30 seconds old."""
        self._work.advance(count, fraction)
        self._write()

    def phase(self, name: str, end: float | None, total: int | None = None) -> None:
        """Write a line if the last line is 30 seconds old."""
        self._work.phase(name, end, total)
        self._write()

    def _write(self) -> None:
        state = self._work.state()
        lines = int(state.seconds / _SECONDS_BETWEEN_LINES)
        if lines > self._lines:
            self._lines = lines
            print(f"{self._title}: {_line(state, self._unit)}", file=self._stream, flush=True)

    def finish(self) -> None:
        """Write nothing more."""


def _line(state: WorkState, unit: str) -> str:
    parts = [state.phase, counted(state, unit)]
    if state.fraction is not None and state.total is None:
        parts.append(f"{100 * state.fraction:.0f} %")
    if state.done:
        parts.append(f"{state.rate:,.0f} {unit}/s")
    parts.append(f"{state.seconds:.0f} s")
    if (left := state.seconds_left) is not None:
        parts.append(f"{left:.0f} s left")
    return ", ".join(part for part in parts if part)
