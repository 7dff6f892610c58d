"""Runs of pipelines whose workers are in processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from hapgpu.runtime.pipeline import Budget, run_pipeline
from hapgpu.runtime.processes.forked import Processes
from hapgpu.runtime.processes.tallies import Tally

COUNTS: Final = (1, 2, 3, 5, 16)
"""Numbers of processes; some divide no number of workers evenly."""


def results_of_run(
    source: Iterable[Any],
    workers: Sequence[Callable[[Any], Any]],
    processes: int,
    *,
    shared: Sequence[object] = (),
    tallies: Sequence[Tally] = (),
    limit: int | None = None,
    results: list[Any] | None = None,
) -> list[Any]:
    """Run a pipeline; return what the sink gets, in order.

    Parameters
    ----------
    limit
        Results that may wait for the sink.
    results
        List to append to; it has the results also after an error.
    """
    written = [] if results is None else results

    def write(result: Any) -> int:
        written.append(result)
        return 1

    run_pipeline(
        source,
        workers,
        write,
        budget=None if limit is None else Budget(limit, lambda _: 1),
        processes=Processes(processes, shared, tallies),
    )
    return written
