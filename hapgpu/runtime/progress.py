"""Progress of a run, reported to an observer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tqdm import tqdm


class Progress(Protocol):
    """Observer of a pipeline, which calls `start` once, `advance` per batch, `finish` once.

    All calls come from the thread that runs the pipeline.
    """

    def start(self, total: int | None) -> None:
        """Start; `total` is the number of reads, or sites, to come, if known."""

    def advance(self, count: int) -> None:
        """Report `count` more reads, or sites, as written."""

    def finish(self) -> None:
        """Finish, after the last batch or after an error."""


class NoProgress:
    """Progress that is not shown."""

    def start(self, total: int | None) -> None:
        """Do nothing."""

    def advance(self, count: int) -> None:
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

    def advance(self, count: int) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(count)

    def finish(self) -> None:
        """Close the bar; it stays on the screen."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
