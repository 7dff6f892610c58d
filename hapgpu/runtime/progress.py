"""How far a run has come, for whoever wants to show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tqdm import tqdm


class Progress(Protocol):
    """What the pipeline reports to: `start` once, `advance` per written batch, `finish` once.

    All three are called from the thread that runs the pipeline.
    """

    def start(self, total: int | None) -> None:
        """Begin, with what is to come, where it is known."""

    def advance(self, count: int) -> None:
        """Take note that `count` further reads, or sites, have been written."""

    def finish(self) -> None:
        """End, after the last batch or after an error."""


class NoProgress:
    """Progress that nobody watches."""

    def start(self, total: int | None) -> None:
        """Do nothing."""

    def advance(self, count: int) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Do nothing."""


class TqdmProgress:
    """Progress on a tqdm bar, for scripts and notebooks.

    Parameters
    ----------
    description
        What stands before the bar.
    """

    def __init__(self, description: str = "reads") -> None:
        self._description = description
        self._bar: tqdm[None] | None = None

    def start(self, total: int | None) -> None:
        """Show the bar."""
        from tqdm.auto import tqdm  # noqa: PLC0415  (only those who want a bar pay for it)

        self._bar = tqdm(desc=self._description, total=total, unit=" reads", unit_scale=True)

    def advance(self, count: int) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(count)

    def finish(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
