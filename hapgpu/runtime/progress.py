"""Progress of a run, reported to an observer."""

from __future__ import annotations

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

    Parameters
    ----------
    description
        Text before the bar.
    """

    def __init__(self, description: str = "reads") -> None:
        self._description = description
        self._bar: tqdm[None] | None = None

    def start(self, total: int | None) -> None:
        """Show the bar."""
        from tqdm.auto import tqdm  # noqa: PLC0415  (imported only for a bar)

        self._bar = tqdm(desc=self._description, total=total, unit=" reads", unit_scale=True)

    def advance(self, count: int, fraction: float | None = None) -> None:  # noqa: ARG002  (tqdm counts)
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(count)

    def phase(self, name: str, end: float | None, total: int | None = None) -> None:  # noqa: ARG002  (tqdm counts)
        """Name the phase before the bar."""
        if self._bar is not None:
            self._bar.set_description(f"{self._description}, {name}")

    def finish(self) -> None:
        """Close the bar; it stays on the screen."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
