"""The module that MultiQC runs, and the search pattern for its files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from html import escape
from typing import Final

from multiqc import config
from multiqc.base_module import BaseMultiqcModule, ModuleNoSamplesFound
from multiqc.plots import bargraph

from hapgpu.report.multiqc_summaries import UNITS, RunSummary, StatisticsError, parse_statistics

MODULE: Final = "hapgpu"

# A run that writes `--json` names the tool in the first lines.
SEARCH_PATTERN: Final = {
    "fn": "*.json",
    "contents_re": r'.*"tool"\s*:\s*"hapgpu"',
    "num_lines": 10,
}

# Names of the successes; of realign: reads moved with --reference, otherwise aligned reads.
_SUCCESS_TITLES: Final = {
    "realign": "realigned",
    "genotype": "called",
    "map": "mapped",
    "chain": "mapped",
}

Runs = dict[str, dict[str, RunSummary]]  # command -> sample -> run

# MultiQC's modules use this logger.
log = logging.getLogger(f"multiqc.modules.{MODULE}")


def add_search_pattern() -> None:
    """Let MultiQC look for run statistics; a pattern in the user's configuration wins."""
    if MODULE not in config.sp:
        config.update_dict(config.sp, {MODULE: SEARCH_PATTERN})


class MultiqcModule(BaseMultiqcModule):  # type: ignore[misc]  # MultiQC is not installed for mypy
    """Section of MultiQC's report on the runs of hapgpu.

    A run belongs to the sample in the name of its file: `NA12878.genotype.json` and
    `NA12878.realign.json` are two runs of NA12878.

    Raises
    ------
    ModuleNoSamplesFound
        If no file holds run statistics, as MultiQC expects.
    """

    def __init__(self) -> None:
        super().__init__(
            name=MODULE,
            anchor=MODULE,
            info="realigns, genotypes and maps sequencing reads on NVIDIA GPUs or the CPU.",
        )
        runs = self._find_runs()
        if not runs:
            raise ModuleNoSamplesFound
        log.info("Found %d reports", sum(map(len, runs.values())))
        for command, samples in runs.items():
            self._add_general_statistics(command, samples)
        self._add_plot(
            runs,
            lambda run: run.stages,
            name="Stage times",
            description="Seconds of each stage, summed over threads. Stages run at the same time.",
            ylab="Seconds",
        )
        self._add_plot(
            runs,
            lambda run: run.outcomes,
            name="Outcomes",
            description="What became of the reads, of the genotypes or of the records of the VCF.",
            ylab="Number",
        )
        table = {
            f"{sample}.{command}": _row(run) | {"device": ", ".join(run.devices)}
            for command, samples in runs.items()
            for sample, run in samples.items()
        }
        self.write_data_file(table, "multiqc_hapgpu")

    def _find_runs(self) -> Runs:
        runs: Runs = {command: {} for command in UNITS}
        for file in self.find_log_files(MODULE):
            try:
                run = parse_statistics(file["f"])
            except StatisticsError as error:
                log.warning("%s: %s; skipping the file", file["fn"], error)
                continue
            sample = _sample_name(file["s_name"], run.command)
            if sample in runs[run.command]:
                log.debug("Duplicate sample name found! Overwriting: %s", sample)
            self.add_data_source(file, sample, section=run.command)
            self.add_software_version(escape(run.version), sample)
            runs[run.command][sample] = run
        ordered = {
            command: self.ignore_samples(dict(sorted(samples.items())))
            for command, samples in runs.items()
        }
        return {command: samples for command, samples in ordered.items() if samples}

    def _add_general_statistics(self, command: str, samples: Mapping[str, RunSummary]) -> None:
        unit = UNITS[command]
        headers: dict[str, dict[str, object]] = {
            "amount": {
                "title": f"{command}: {unit}",
                "description": f"{unit.capitalize()} of the run",
                "format": "{:,.0f}",
                "scale": "Blues",
            },
            "success": {
                "title": f"% {_SUCCESS_TITLES.get(command, '')}",
                "description": "Fraction of the outcomes in the plot below",
                "suffix": "%",
                "min": 0,
                "max": 100,
                "scale": "Purples",
            },
            "rate": {
                "title": f"{unit.capitalize()}/s",
                "description": f"{unit.capitalize()} per second of the whole run",
                "format": "{:,.0f}",
                "scale": "Greens",
            },
            "seconds": {
                "title": "Seconds",
                "description": "Wall time of the run",
                "format": "{:,.1f}",
                "scale": "Oranges",
            },
            "device": {"title": "Device", "description": "Devices that computed", "hidden": True},
        }
        rows = {
            sample: {
                f"{command}_{key}": value
                for key, value in (_row(run) | {"device": escape(", ".join(run.devices))}).items()
            }
            for sample, run in samples.items()
        }
        columns = {
            f"{command}_{key}": header
            for key, header in headers.items()
            if any(f"{command}_{key}" in row for row in rows.values())
        }
        self.general_stats_addcols(rows, columns, namespace=command)

    def _add_plot(
        self,
        runs: Runs,
        numbers: Callable[[RunSummary], Mapping[str, float]],
        *,
        name: str,
        description: str,
        ylab: str,
    ) -> None:
        """Add a section with one stacked bar per sample, and a button per command."""
        bars = {
            command: {sample: shown for sample, run in samples.items() if (shown := numbers(run))}
            for command, samples in runs.items()
        }
        bars = {command: shown for command, shown in bars.items() if shown}
        if not bars:
            return
        anchor = f"{MODULE}-{name.lower().replace(' ', '-')}"
        self.add_section(
            name=name,
            anchor=anchor,
            description=description,
            plot=bargraph.plot(
                list(bars.values()),
                None,
                {
                    "id": f"{anchor}-plot",
                    "title": f"hapgpu: {name}",
                    "ylab": ylab,
                    "data_labels": [{"name": command, "ylab": ylab} for command in bars],
                },
            ),
        )


def _sample_name(name: str, command: str) -> str:
    """Return the name of the file without its command, safe in HTML, where MultiQC puts it."""
    for separator in "._-":
        name = name.removesuffix(f"{separator}{command}")
    return escape(name)


def _row(run: RunSummary) -> dict[str, object]:
    row: dict[str, object] = {
        "amount": run.amount,
        "rate": run.rate,
        "seconds": run.seconds["total"],
    }
    return row if run.success is None else row | {"success": run.success}
