#!/usr/bin/env python3
"""Print what a 30x human genome needs: a Markdown table, from measured rates.

The rates are of docs/developers/: one NVIDIA H200 and 16 host cores, files in memory; of `map` and
`chain` on a simulated genome of 3.1 Gb, of the others on 63 Mb. Start-up is the time of a tiny run.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

GENOME = 3.1e9  # bases
READS = 30 * GENOME / 150
SITES = GENOME / 62.7e6 * 90_231  # as dense as in the measured data
AT_SITES = 3.8 / 12.7  # fraction of the reads near a site, there
SCATTERED = (1, 8, 32)
ONE_JOB = (1,)


@dataclass(frozen=True)
class Task:
    """Work of one genome, and what it needs.

    Attributes
    ----------
    work, unit
        Amount, and of what.
    rate
        Per second, without start-up.
    start
        Seconds of start-up, in each job.
    host_gb
        Host memory of a job.
    index_gb
        Of these, the index; the GPU needs as much.
    jobs
        Numbers of jobs into which the example divides the work.
    """

    name: str
    work: float
    unit: str
    rate: float
    start: float
    host_gb: float
    index_gb: float = 0
    jobs: tuple[int, ...] = SCATTERED

    def seconds(self, jobs: int) -> float:
        """Return the seconds of one of some jobs."""
        return self.start + self.work / self.rate / jobs

    def row(self) -> str:
        """Return the row of the table."""
        cells = [self.name, f"{amount(self.work)} {self.unit}, {amount(self.rate)}/s"]
        for jobs in SCATTERED:
            seconds = self.seconds(jobs)
            text = f"{clock(seconds)}, {jobs * seconds / 3600:.2f} h"
            cells.append(text if jobs in self.jobs else "")
        cells.append(f"{self.host_gb + self.index_gb:.1f} GB")
        needed = f"{self.index_gb:.0f} GB and more" if self.index_gb else "any"
        cells.append("none" if "CPU" in self.name else needed)
        return f"| {' | '.join(cells)} |\n"


# Each shard of `genotype` also reads the sites twice, 5 M per second and thread (EPYC).
START = 1.6 + 2 * SITES / 5e6
TASKS = (
    Task("`genotype`", SITES, "sites", 90_000, START, 0.8),
    Task("`genotype`, 16 CPU threads", SITES, "sites", 11_900, START, 1.4),
    Task("`map`, reads that map once", READS, "reads", 13e6, 2.0, 1.1, 16.2),
    Task("`map --max-hits 5`", READS, "reads", 7.2e6, 2.0, 1.1, 16.2),
    Task("`chain`", READS * 150, "bases", 0.97e9, 3.0, 1.5, 8.4),
    Task("`realign --reference`", READS, "reads", 1.5e6, 1.6, 1.1, jobs=ONE_JOB),
    Task("`pairhmm`, reads near sites", READS * AT_SITES, "reads", 7e6, 1.3, 1.1, jobs=ONE_JOB),
)


def amount(number: float) -> str:
    """Return a number with a unit."""
    for size, unit in ((1e9, " G"), (1e6, " M")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:,.0f}"


def clock(seconds: float) -> str:
    """Return minutes and seconds."""
    return f"{round(seconds) // 60}:{round(seconds) % 60:02}"


def main() -> None:
    """Write the table."""
    jobs = [f"{count} jobs" if count > 1 else "1 job" for count in SCATTERED]
    names = ["command", "work, rate", *jobs, "host memory", "GPU memory"]
    sys.stdout.write(f"| {' | '.join(names)} |\n{'|---' * len(names)}|\n")
    sys.stdout.writelines(task.row() for task in TASKS)


if __name__ == "__main__":
    main()
