"""Progress on standard error: a bar on a terminal, else a line every 30 seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final, TextIO

from hapgpu.runtime.progress import NoProgress, Progress

_SECONDS_BETWEEN_LINES: Final = 30.0


def choose_progress(title: str, *, quiet: bool, unit: str = "reads") -> Progress:
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
    """
    if quiet:
        return NoProgress()
    if sys.stderr.isatty() and not sys.stdout.isatty():
        from hapgpu.cli.terminal.progress_bar import BarProgress  # noqa: PLC0415  (imports rich: slow)

        return BarProgress(title, unit)
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
        self._clock = clock
        self._total: int | None = None
        self._done = 0
        self._start = self._last_line = clock()

    def start(self, total: int | None) -> None:
        """Start the clock."""
        self._total = total
        self._start = self._last_line = self._clock()

    def advance(self, count: int) -> None:
        """Write a line if the last line is 30 seconds old."""
        self._done += count
        now = self._clock()
        if now - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = now
            print(self._line(now - self._start), file=self._stream, flush=True)

    def _line(self, seconds: float) -> str:
        of_total = f" of {self._total:,}" if self._total is not None else ""
        rate = self._done / seconds
        return (
            f"{self._title}: {self._done:,}{of_total} {self._unit}, "
            f"{rate:,.0f} {self._unit}/s, {seconds:.0f} s"
        )

    def finish(self) -> None:
        """Write nothing more."""
