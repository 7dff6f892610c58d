"""Progress on standard error: a bar on a terminal, else a line every 30 seconds."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, TextIO

from hapgpu.cli.terminal import live_line
from hapgpu.cli.terminal.work import Work, WorkState, clock_time, counted, short_number
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


if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_SHOWN_AFTER_SECONDS: Final = 2.0
_SECONDS_PER_DRAWING: Final = 0.25
_UNKNOWN_WIDTH: Final = 80
"""Width of a terminal that does not know its own, such as a serial line."""
_MIN_BAR: Final = 8
_MAX_BAR: Final = 40
_MARGIN: Final = 3
"""Columns that stay free: a full line would wrap, and the terminal writes `^C` after the line."""


class BarProgress:
    """A line with a bar, counts, rate and time left; a thread draws it four times a second.

    Parameters
    ----------
    title
        The program and command.
    unit
        The unit of the count.
    since
        Start of the command, by `time.monotonic`: nothing is shown in its first two seconds.
    """

    def __init__(self, title: str, unit: str, since: float) -> None:
        self._title = title
        self._unit = unit
        self._shown_from = since + _SHOWN_AFTER_SECONDS
        self._work = Work()
        self._has_ended = Event()
        self._thread = Thread(target=self._draw_until_end, name="hapgpu-progress", daemon=True)

    def start(self, total: int | None) -> None:
        """Start the clock; the bar is shown later."""
        self._work.start(total)
        self._thread.start()

    def advance(self, count: int, fraction: float | None = None) -> None:
        """Move the bar."""
        self._work.advance(count, fraction)

    def phase(self, name: str, end: float | None, total: int | None = None) -> None:
        """Name the phase beside the bar."""
        self._work.phase(name, end, total)

    def finish(self) -> None:
        """Remove the bar."""
        self._has_ended.set()
        self._thread.join()

    def _draw_until_end(self) -> None:
        if self._has_ended.wait(max(self._shown_from - time.monotonic(), 0)):
            return
        from rich.console import Console  # noqa: PLC0415  (slow, and a short run has no bar)

        console = Console(stderr=True, force_terminal=True, highlight=False)
        while True:
            with suppress(OSError):  # else the width of the environment, which may be an old one
                console.width = os.get_terminal_size(2).columns or _UNKNOWN_WIDTH
            with console.capture() as drawn:
                line = line_of(self._title, self._unit, self._work.state(), console)
                console.print(line, end="", soft_wrap=True)
            live_line.draw(drawn.get().rstrip("\n"))
            if self._has_ended.wait(_SECONDS_PER_DRAWING):
                break
        live_line.erase()


def line_of(title: str, unit: str, state: WorkState, console: Console) -> RenderableType:
    """Return the line of a state, with as much as fits the width of the terminal.

    Parameters
    ----------
    title
        The program and command.
    unit
        The unit of the count.
    state
        The state of the work.
    console
        The terminal.
    """
    from rich import progress_bar, table, text  # noqa: PLC0415  (slow to import)

    room = console.width - _MARGIN
    texts = _texts(title, unit, state, room)
    bar = min(room - _length(texts) - 1, _MAX_BAR)
    line = table.Table.grid(padding=(0, 1, 0, 0))
    cells: list[RenderableType] = [text.Text(part, no_wrap=True) for part in texts]
    if bar >= _MIN_BAR:
        known = state.fraction is not None
        cells.insert(1, progress_bar.ProgressBar(1.0, state.fraction or 0.0, bar, pulse=not known))
    for _ in cells:
        line.add_column(no_wrap=True)
    line.add_row(*cells)
    return line


def _texts(title: str, unit: str, state: WorkState, room: int) -> list[str]:
    """Return the texts of a line; where they are too long, the least useful ones are missing."""
    percent = f"{100 * state.fraction:3.0f} %" if state.fraction is not None else ""
    rate = f"{short_number(state.rate)} {unit}/s" if state.done else ""
    left = state.seconds_left
    end = clock_time(state.seconds) if left is None else f"{clock_time(left)} left"
    long = f"{title}: {state.phase}" if state.phase else title
    short = state.phase or title.removeprefix("hapgpu ")
    with_bar = (
        [long, percent, counted(state, unit), rate, end],
        [long, percent, rate, end],
        [short, percent, rate, end],
    )
    without_bar = ([short, percent, rate, end], [percent, rate, end], [percent, end], [end])
    rooms = [room - _MIN_BAR - 1] * len(with_bar) + [room] * len(without_bar)
    rows = [[text for text in row if text] for row in (*with_bar, *without_bar)]
    fitting = (row for row, most in zip(rows, rooms, strict=True) if _length(row) <= most)
    return next(fitting, rows[-1])


def _length(texts: list[str]) -> int:
    return sum(map(len, texts)) + len(texts) - 1
