"""Run statistics (docs/json.md) as the numbers that MultiQC shows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hapgpu.runtime.statistics import COMPILE, SCHEMA_VERSION

# What each command is counted in: the number of it per second is the rate of a run.
UNITS: Final = {
    "realign": "reads",
    "pairhmm": "reads",
    "haplotypes": "sites",
    "call": "covered bases",
    "genotype": "sites",
    "index": "bases",
    "map": "reads",
    "chain": "reads",
    "report": "records",
}

# The outcomes of a command that are successes; their fraction is a general statistic.
SUCCESSES: Final = {
    "realign": ("realigned", "aligned"),
    "genotype": ("called",),
    "map": ("mapped",),
    "chain": ("mapped",),
}

# Counts are int64. Larger numbers of damaged files cannot be divided or drawn.
MAX_NUMBER: Final = 1 << 63


class StatisticsError(ValueError):
    """Raised for a file that does not hold the statistics of one run."""


@dataclass(frozen=True)
class RunSummary:
    """The statistics of one run.

    Attributes
    ----------
    command
        The subcommand, such as `realign`.
    version
        The version of hapgpu that ran.
    devices
        Names of the devices that computed.
    counts
        Numbers of the run, by name.
    seconds
        Time of each stage, by name, and `total`, the wall time.
    """

    command: str
    version: str
    devices: tuple[str, ...]
    counts: Mapping[str, int]
    seconds: Mapping[str, float]

    @property
    def amount(self) -> int:
        """The amount of work, in the unit of the command."""
        return self.counts.get(UNITS[self.command].replace(" ", "_"), 0)

    @property
    def rate(self) -> float:
        """Return the amount of work per second without compiling, 0 for a run without time."""
        working = self.seconds["total"] - self.seconds.get(COMPILE, 0.0)
        return self.amount / working if working > 0 else 0.0

    @property
    def stages(self) -> dict[str, float]:
        """Time of each stage in seconds; the wall time if the command has no stages.

        No stage is part of another: `genotype` includes the pair-HMM, which is taken out of it.
        """
        stages = {name: spent for name, spent in self.seconds.items() if name != "total"}
        if self.command == "genotype" and stages.keys() >= {"genotype", "pairhmm"}:
            stages["other genotyping"] = max(stages.pop("genotype") - stages["pairhmm"], 0.0)
        return stages or dict(self.seconds)

    @property
    def outcomes(self) -> dict[str, int]:
        """What became of the reads, genotypes or records, without outcomes that are 0."""
        return {name: number for name, number in _outcomes(self).items() if number > 0}

    @property
    def success(self) -> float | None:
        """The percentage of successes among the outcomes, None if the command has none."""
        outcomes, successes = self.outcomes, SUCCESSES.get(self.command)
        if successes is None or not outcomes:
            return None
        return 100 * sum(outcomes.get(name, 0) for name in successes) / sum(outcomes.values())


def parse_statistics(text: str) -> RunSummary:
    """Return the run of a file that `--json` wrote.

    Raises
    ------
    StatisticsError
        If the text is damaged, or not of the schema that this version of hapgpu writes.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StatisticsError(f"not JSON ({error})") from error
    if not isinstance(content, dict) or content.get("tool") != "hapgpu":
        raise StatisticsError("not the statistics of a run")
    if content.get("schema_version") != SCHEMA_VERSION:
        raise StatisticsError(f"schema_version is not {SCHEMA_VERSION}")
    command = content.get("command")
    if not isinstance(command, str) or command not in UNITS:
        raise StatisticsError("unknown command")
    seconds = _numbers(content, "seconds")
    if "total" not in seconds:
        raise StatisticsError("without seconds.total")
    devices = content.get("devices")
    return RunSummary(
        command=command,
        version=_text(content.get("version")),
        devices=tuple(map(_text, devices)) if isinstance(devices, list) else (),
        counts={name: int(number) for name, number in _numbers(content, "counts").items()},
        seconds=seconds,
    )


def _numbers(content: Mapping[str, object], key: str) -> dict[str, float]:
    """Return a table of numbers that are at least 0 and fit 63 bits."""
    table = content.get(key)
    if not isinstance(table, dict):
        raise StatisticsError(f"without {key}")
    for name, number in table.items():
        if not isinstance(number, int | float) or not 0 <= number < MAX_NUMBER:
            raise StatisticsError(f"{key}.{_text(name)} is not a number")
    return {_text(name): number for name, number in table.items()}


def _text(value: object) -> str:
    """Return text without lone surrogates, with which MultiQC could not write its report."""
    return str(value).encode(errors="replace").decode()


def _outcomes(run: RunSummary) -> dict[str, int]:
    count = run.counts.get
    reads, records, unmapped = count("reads", 0), count("records", 0), count("unmapped", 0)
    at_loci, realigned = count("at_loci"), count("realigned", 0)
    mapped, too_short = count("mapped", 0), count("too_short", 0)
    without_bases, spliced = count("without_bases", 0), count("spliced", 0)
    mapping = {"mapped": mapped, "unmapped": reads - mapped - too_short, "too short": too_short}
    if run.command == "realign" and at_loci is not None:  # with --reference
        return {
            "realigned": realigned,
            "unchanged": at_loci - realigned,
            "without a candidate haplotype": reads - at_loci,
        }
    by_command = {
        "realign": {
            "aligned": records - unmapped,
            "unmapped": unmapped,
            "not written": reads - records,
        },
        "pairhmm": {
            "unmapped": unmapped,
            "spliced": spliced,
            "without bases": without_bases,
            "other": reads - unmapped - spliced - without_bases,
        },
        "haplotypes": {
            "used": count("sites", 0),
            "at a telomere": count("telomere_records", 0),
            "without ALT": count("records_without_alt", 0),
        },
        "genotype": {"called": count("calls", 0), "missing": count("no_calls", 0)},
        "map": mapping,
        "chain": mapping,
    }
    return by_command.get(run.command, {})
