#!/usr/bin/env python3
"""Print what a 30x human genome needs: a Markdown table, from measured rates.

The rates are of docs/performance.md: one NVIDIA H200 and 16 host cores, the other GPU of the host
busy, files in memory. Start-up is the time of a tiny run and, where a job loads an index of the
genome, the measured time for 63 Mb of reference, scaled.
"""

from __future__ import annotations

from dataclasses import dataclass

GENOME = 3.1e9  # bases
READS = 30 * GENOME / 150
SITES = GENOME / 62.7e6 * 90_231  # as dense as in the measured data
AT_SITES = 3.8 / 12.7  # fraction of the reads near a site, there
INDEX = GENOME / 63e6  # in references of 63 Mb
SHARDS = (1, 8, 32)


@dataclass(frozen=True)
class Task:
    """Work of one genome: its amount in a unit, the rate per second, seconds before, and memory."""

    name: str
    work: float
    unit: str
    rate: float
    start: float
    host_gb: float
    gpu_gb: float | None = None

    def seconds(self, shards: int) -> float:
        """Return the seconds of one shard, all shards running side by side."""
        return self.start + self.work / self.rate / shards

    def row(self) -> str:
        """Return the row of the table."""
        cells = [self.name, f"{self.work / 1e6:,.1f} M {self.unit}", f"{self.rate / 1e6:,.2f} M/s"]
        cells += [clock(self.seconds(shards)) for shards in SHARDS]
        cells += [f"{shards * self.seconds(shards) / 3600:.2f}" for shards in SHARDS]
        cells += [f"{self.host_gb:.1f} GB", f"{self.gpu_gb:.0f} GB" if self.gpu_gb else ""]
        return f"| {' | '.join(cells)} |"


# Each shard of `genotype` also reads the sites twice, 5 M per second and thread (EPYC).
TASKS = (
    Task("genotype", SITES, "sites", 90_000, 1.6 + 2 * SITES / 5e6, 0.8),
    Task("genotype, CPU, 16 threads", SITES, "sites", 11_900, 1.6 + 2 * SITES / 5e6, 1.4),
    Task("pairhmm, at the sites", READS * AT_SITES, "reads", 7.0e6, 1.3, 1.1),
    Task("realign --reference", READS, "reads", 1.5e6, 1.6, 1.1),
    Task("map, rate of E. coli", READS, "reads", 13e6, 1.0 + 0.13 * INDEX, 17.4, 5.2 * GENOME / 1e9),
    Task("chain, rate of 63 Mb", 30 * GENOME, "bases", 1.2e9, 0.5 + 0.7 * INDEX, 17.6, 5.1 * GENOME / 1e9),
)


def clock(seconds: float) -> str:
    """Return minutes and seconds."""
    return f"{round(seconds) // 60}:{round(seconds) % 60:02}"


def main() -> None:
    """Print the table."""
    names = ["task", "work", "rate", *(f"{n} jobs, min:s" if n > 1 else "1 job" for n in SHARDS)]
    names += [f"GPU hours, {n}" for n in SHARDS]
    names += ["host memory", "index"]
    print(f"| {' | '.join(names)} |")
    print("|---" * len(names) + "|")
    for task in TASKS:
        print(task.row())


if __name__ == "__main__":
    main()
