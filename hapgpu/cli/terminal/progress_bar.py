"""Progress as a bar on a terminal."""

from __future__ import annotations

import os
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import (
    Progress as RichBar,
)

from hapgpu.runtime import leftovers

_CLEARED_LINE: Final = b"\r\x1b[2K\x1b[?25h"
"""Clears the line and shows the cursor; rich itself could wait for a thread that was ended."""


class BarProgress:
    """A bar, or a spinner if the total is unknown.

    Parameters
    ----------
    title
        The program and command.
    unit
        The unit of the count.
    """

    def __init__(self, title: str, unit: str = "reads") -> None:
        self._bar = RichBar(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(f"{unit}, {{task.fields[rate]}} {unit}/s"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._leftover = -1
        self._task = self._bar.add_task(title, start=False, total=None, rate="-")

    def start(self, total: int | None) -> None:
        """Show the bar."""
        self._bar.update(self._task, total=total)
        self._bar.start_task(self._task)
        self._leftover = leftovers.register(lambda: os.write(2, _CLEARED_LINE))
        self._bar.start()

    def advance(self, count: int) -> None:
        """Move the bar."""
        task = self._bar.tasks[0]
        rate = (task.completed + count) / (task.elapsed or 1e-9)
        self._bar.update(self._task, advance=count, rate=f"{rate:,.0f}")

    def finish(self) -> None:
        """Remove the bar."""
        self._bar.stop()
        leftovers.forget(self._leftover)
