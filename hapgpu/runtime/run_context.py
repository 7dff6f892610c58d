"""What the pipelines of a method need from the run of a command."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from hapgpu.runtime.devices import Device
from hapgpu.runtime.progress import Progress
from hapgpu.runtime.statistics import RunStatistics


class RunContext(Protocol):
    """Devices, threads, statistics and progress of a run."""

    @property
    def devices(self) -> Sequence[Device]:
        """Devices that compute: all CPUs, or all GPUs."""
        ...

    @property
    def threads(self) -> int:
        """Number of CPU threads."""
        ...

    @property
    def processes(self) -> int | None:
        """Number of processes that the user wants; None: what suits the command."""
        ...

    @property
    def statistics(self) -> RunStatistics:
        """Counts and times."""
        ...

    def progress(self, unit: str = "reads", part: str = "") -> Progress:
        """Return what shows the progress of the run, or of a part of it, counted in a unit."""
        ...

    def showing(self, unit: str, part: str = "") -> AbstractContextManager[Progress]:
        """Show the progress of work within the context, whose total is unknown."""
        ...
