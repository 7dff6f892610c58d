"""Progress of a run, reported to an observer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tqdm import tqdm


class Progress(Protocol):
    """Observer of some work, which calls `start` once, `finish` once, and others in between.

    `advance` may be called from any thread, the others from one.
    """

    def start(self, total: int | None) -> None:
        """Start; `total` is the number of units, such as reads or sites, to come, if known."""

    def advance(self, count: int, fraction: float | None = None) -> None:
        """Report `count` more units as done.

        Parameters
        ----------
        count
            Units.
        fraction
            Fraction of the time, of the phase if there is one, that has passed, if it is known
            better than by the units.
        """

    def phase(self, name: str, end: float | None, total: int | None = None) -> None:
        """Report the start of a phase.

        Parameters
        ----------
        name
            What is done, such as `sorting suffixes`.
        end
            Of work that is not counted in units: the fraction of all work that is done at the end
            of the phase, by its usual time. None: units are counted.
        total
            The number of units of all phases, if known by now.
        """

    def finish(self) -> None:
        """Finish, after the last unit or after an error."""


class NoProgress:
    """Progress that is not shown."""

    def start(self, total: int | None) -> None:
        """Do nothing."""

    def advance(self, count: int, fraction: float | None = None) -> None:
        """Do nothing."""

    def phase(self, name: str, end: float | None, total: int | None = None) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Do nothing."""


class TqdmProgress:
    """Progress as a tqdm bar, for scripts and notebooks.

    Without a known total, the bar estimates it from the fraction that has passed. Work in phases
    moves the bar by their usual time.

    Parameters
    ----------
    description
        Text before the bar.
    unit
        The unit of the count, such as `reads`.
    """

    def __init__(self, description: str, unit: str) -> None:
        self._description = description
        self._unit = unit
        self._bar: tqdm[None] | None = None
        self._lock = Lock()
        self._total: int | None = None
        self._phase_start = 0.0
        self._phase_end: float | None = None

    def start(self, total: int | None) -> None:
        """Show the bar."""
        from tqdm.auto import tqdm  # noqa: PLC0415  (imported only for a bar)

        self._total = total
        self._bar = tqdm(
            desc=self._description, total=total, unit=f" {self._unit}", unit_scale=True
        )

    def advance(self, count: int, fraction: float | None = None) -> None:
        """Move the bar."""
        if self._bar is None:
            return
        with self._lock:
            if self._phase_end is not None and fraction is not None:
                self._move(self._phase_start + (self._phase_end - self._phase_start) * fraction)
                return
            if self._total is None and fraction:
                self._bar.total = round((self._bar.n + count) / fraction)
            self._bar.update(count)

    def phase(self, name: str, end: float | None, total: int | None = None) -> None:
        """Name the phase before the bar."""
        if self._bar is None:
            return
        self._bar.set_description(f"{self._description}, {name}", refresh=False)
        self._phase_start, self._phase_end = self._phase_end or 0.0, end
        if total is not None:
            self._total = self._bar.total = total
        self._move(self._phase_start)

    def _move(self, fraction: float) -> None:
        """Move the bar to a fraction of the total, if this is known."""
        if self._bar is not None:
            self._bar.update(max(round((self._total or 0) * fraction) - self._bar.n, 0))
            self._bar.refresh()

    def finish(self) -> None:
        """Close the bar; it stays on the screen."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def shown_progress(description: str, unit: str, *, is_shown: bool) -> Progress:
    """Return a bar of tqdm, or nothing.

    Parameters
    ----------
    description
        Text before the bar.
    unit
        The unit of the count, such as `reads`.
    is_shown
        Whether the user wants a bar.
    """
    return TqdmProgress(description, unit) if is_shown else NoProgress()


@contextmanager
def showing(
    description: str, unit: str, total: int | None, *, is_shown: bool
) -> Iterator[Progress]:
    """Show `shown_progress`, if it is wanted, while the context lasts; `total` as for `start`."""
    progress = shown_progress(description, unit, is_shown=is_shown)
    progress.start(total)
    try:
        yield progress
    finally:
        progress.finish()


@contextmanager
def showing_phases(description: str, unit: str, *, is_shown: bool) -> Iterator[Progress]:
    """Show phases as `showing` does, of an index that is built; the bar ends full."""
    with showing(description, unit, None, is_shown=is_shown) as progress:
        yield progress
        progress.phase("built", 1.0)
        progress.advance(0, 1.0)
