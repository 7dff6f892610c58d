"""Resources of a run of `hapgpu pairhmm`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hapgpu.runtime.devices import CpuDevice, Device
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.progress import Progress
from hapgpu.runtime.statistics import RunStatistics

_Batch = TypeVar("_Batch")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class LikelihoodRun:
    """Devices, threads, output, progress and statistics of a run."""

    devices: list[Device]
    threads: int
    output: Path | None
    progress: Progress
    statistics: RunStatistics

    def pipe(
        self,
        source: Iterable[_Batch],
        workers: Sequence[Callable[[_Batch], _Result]],
        sink: Callable[[_Result], int],
        *,
        source_name: str,
        threaded: bool | None = None,
    ) -> None:
        """Send batches through the workers into the sink.

        `source_name` is the name of the reads. With `threaded`, all steps run at the same time;
        the default is GPUs only.
        """
        on_gpus = not isinstance(self.devices[0], CpuDevice)
        run_pipeline(
            self.statistics.timed_source("read", source),
            [self.statistics.timed("pairhmm", worker) for worker in workers],
            self.statistics.timed("write", sink),
            progress=self.progress,
            inputs=[source_name],
            threaded=on_gpus if threaded is None else threaded,
        )
