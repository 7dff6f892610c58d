"""The keys of `--json`, as docs/json.md lists them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.in_process import status_of_command
from tests.faults.commands import COMMANDS, Command
from tests.faults.made.inputs import make_inputs

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([\w ]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
MORE = {
    "pairhmm": ["--normalize"],
    "pairhmm_reference": ["--normalize"],
}
"""Options by which a command has more counts."""


RARE = {"records_without_alt", "excluded_by_flags", "reference"}
"""Counts and stages that the inputs and options do not have."""


def names_in(text: str, heading: str) -> set[str]:
    """Return the names in the first column of the tables with a heading."""
    tables = re.findall(rf"^\| {heading} \|.*\n\|[-|]+\n((?:\|.*\n)*)", text, re.MULTILINE)
    rows = re.findall(r"^\| (.+?) \|", "".join(tables), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\S+?)`", row)}


TOP_LEVEL = {key for key in names_in(SECTIONS["All commands"], "key") if "." not in key}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_inputs(tmp_path_factory.mktemp("inputs"), tmp_path_factory.mktemp("example"))


def statistics_of(command: Command, directory: Path) -> dict[str, dict[str, object]]:
    """Run a command in the working directory; return its statistics."""
    report = directory / f"{command.name}.json"
    _, *words = command.with_output(directory / command.output)
    words += MORE.get(command.name, [])
    assert status_of_command(command.subcommand, *words, "--json", report, "-q") == 0
    statistics: dict[str, dict[str, object]] = json.loads(report.read_text())
    return statistics


@pytest.mark.parametrize("name", sorted({command.subcommand for command in COMMANDS}))
def test_keys(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """All command lines of a command together have the listed counts and stages."""
    monkeypatch.chdir(inputs)
    counts: set[str] = set()
    stages: set[str] = set()
    for command in COMMANDS:
        if command.subcommand == name:
            statistics = statistics_of(command, tmp_path)
            assert set(statistics) - {"predecessor_ranges"} == TOP_LEVEL
            assert statistics["schema_version"] == 2
            counts |= set(statistics["counts"])
            stages |= set(statistics["seconds"])
    expected = names_in(SECTIONS[name], "count")
    expected |= {"chains"} if name == "chain" else set()
    assert expected - RARE <= counts <= expected
    expected = {"total"} | names_in(SECTIONS[name], "stage")
    assert expected - RARE <= stages <= expected
