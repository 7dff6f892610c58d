"""Files of `--json`, read and checked: any program may have written them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hapgpu.errors import InputError
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.record_limit import too_long

SHORTEST: Final = 1e-9
"""Seconds below which a time is no divisor."""

_REMEDY: Final = "give a file that --json of hapgpu wrote"


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The statistics of a run, as docs/json.md describes them.

    Attributes
    ----------
    about
        Texts by name: command, version, devices, threads, command line.
    counts, seconds, threads
        Numbers by name; `seconds` without `total`.
    total
        Wall time in seconds.
    """

    about: Mapping[str, str]
    counts: Mapping[str, float]
    seconds: Mapping[str, float]
    threads: Mapping[str, float]
    total: float

    def busy(self) -> dict[str, float]:
        """Return the fraction of the run for which the threads of each stage worked."""
        return {
            name: seconds / max(self.threads.get(name, 1), 1) / self.total
            for name, seconds in self.seconds.items()
            if self.total >= SHORTEST
        }

    def rates(self) -> dict[str, float]:
        """Return counts per second of the run, without those that are 0.

        `bases` of `call` have no rate: its time goes by its `covered_bases`.
        """
        skipped = {"bases"} if "covered_bases" in self.counts else set()
        return {
            name: number / self.total
            for name, number in self.counts.items()
            if number and name not in skipped and self.total >= SHORTEST
        }


def read_statistics(path: Path, max_record: int) -> RunRecord | list[dict[str, Any]]:
    """Read the statistics of a run, or the measurements of `hapgpu bench`.

    Raises
    ------
    InputError
        The file is not JSON, or has other content.
    """
    with open_inflated(path, str(path)) as stream:
        data = stream.read(max_record + 1)
    if len(data) > max_record:
        raise too_long(str(path), max_record)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); {_REMEDY}") from error
    if isinstance(found, list):
        if all(isinstance(line, dict) and is_number(line.get("seconds")) for line in found):
            return found
        raise InputError(f"{path}: measurements without seconds; {_REMEDY}")
    return _run_of(path, found)


def _run_of(path: Path, found: Any) -> RunRecord:
    tables = [found.get(name) for name in ("counts", "seconds", "stage_threads")]
    if found.get("tool") != "hapgpu" or not all(map(_holds_numbers, tables)):
        raise InputError(f"{path}: no statistics of a run of hapgpu; {_REMEDY}")
    counts, seconds, threads = tables
    stages = {name: number for name, number in seconds.items() if name != "total"}
    about = {
        "command": str(found.get("command", "")),
        "version": str(found.get("version", "")),
        "devices": ", ".join(map(str, _list_of(found.get("devices")))),
        "threads": str(found.get("threads", "")),
        "command line": " ".join(map(str, _list_of(found.get("command_line")))),
    }
    return RunRecord(about, counts, stages, threads, seconds.get("total", 0))


def _list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _holds_numbers(table: Any) -> bool:
    return isinstance(table, dict) and all(map(is_number, table.values()))


def is_number(value: Any) -> bool:
    """Tell whether a value of JSON is a number that statistics may have."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value < 2**63
        and math.isfinite(value)
    )
