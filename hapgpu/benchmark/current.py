"""The measurement that is being made, told to whoever shows the progress of a benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hapgpu.runtime.progress import NoProgress, Progress

_progress: Progress = NoProgress()
_planned = 0


@contextmanager
def shown_by(progress: Progress) -> Iterator[None]:
    """Show measurements within the context, of one benchmark at a time."""
    global _progress, _planned  # noqa: PLW0603  (one benchmark in a process)
    _progress, _planned = progress, 0
    progress.start(None)
    try:
        yield
    finally:
        progress.finish()
        _progress = NoProgress()


def plan(measurements: int) -> None:
    """Note how many measurements a device is going to get."""
    global _planned  # noqa: PLW0603  (as above)
    _planned += measurements


def measuring(what: str) -> None:
    """Note what is measured from now on."""
    _progress.phase(what, None, _planned)
