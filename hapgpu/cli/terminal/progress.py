"""Progress on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final, TextIO

from hapgpu.runtime.progress import NoProgress, Progress

_SECONDS_BETWEEN_LINES: Final = 30.0


def choose_progress(title: str, *, quiet: bool, unit: str = "reads") -> Progress:
    """Return a bar for a terminal, plain lines elsewhere, nothing when quiet.

    A terminal that also shows the output gets lines: a bar would be drawn into the records.

    Parameters
    ----------
    title
        What is running, such as `hapgpu realign`.
    quiet
        Whether the user asked for silence.
    unit
        What is counted.
    """
    if quiet:
        return NoProgress()
    if sys.stderr.isatty() and not sys.stdout.isatty():
        from hapgpu.cli.terminal.progress_bar import BarProgress  # noqa: PLC0415  (imports rich: slow)

        return BarProgress(title, unit)
    return LineProgress(title, unit=unit)


class LineProgress:
    """One line every 30 seconds: log files and batch systems get no control characters.

    Parameters
    ----------
    title
        What is running.
    stream
        Where the lines go; standard error if not given.
    clock
        Seconds from any fixed time on.
    unit
        What is counted.
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
        self._began = self._last_line = clock()

    def start(self, total: int | None) -> None:
        """Start the clock."""
        self._total = total
        self._began = self._last_line = self._clock()

    def advance(self, count: int) -> None:
        """Write a line if the last is 30 seconds old."""
        self._done += count
        now = self._clock()
        if now - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = now
            print(self._line(now - self._began), file=self._stream, flush=True)

    def _line(self, seconds: float) -> str:
        of_total = f" of {self._total:,}" if self._total is not None else ""
        rate = self._done / seconds
        return (
            f"{self._title}: {self._done:,}{of_total} {self._unit}, "
            f"{rate:,.0f} {self._unit}/s, {seconds:.0f} s"
        )

    def finish(self) -> None:
        """Write nothing more."""
