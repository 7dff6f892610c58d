"""Render hapgpu's nf-core modules, Snakemake wrappers and Galaxy tools.

Usage: `python packaging/render.py DIRECTORY`; needs Jinja2 and PyYAML.

`commands.yml` is the table of the commands, `templates` has the files of each system. What is
rendered belongs into the repositories of these systems. It names the package hapgpu of bioconda,
which is there after a release, and no container: a pipeline configures its own.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

Table: TypeAlias = dict[str, Any]

_HERE: Final = Path(__file__).resolve().parent
_TABLE: Final = _HERE / "commands.yml"
_VERSION: Final = _HERE.parent / "hapgpu" / "version.py"
_MODULE: Final = "nf-core/modules/nf-core/hapgpu/{}"
_WRAPPER: Final = "snakemake-wrappers/bio/hapgpu/{}"
_COMMON: Final = {
    "nf-core/nf-core.yml": "nf-core/.nf-core.yml",
    "galaxy/macros.xml": "galaxy/macros.xml",
}
_OF_COMMANDS: Final = {
    "nf-core/main.nf": f"{_MODULE}/main.nf",
    "nf-core/main.nf.test": f"{_MODULE}/tests/main.nf.test",
    "nf-core/meta.yml": f"{_MODULE}/meta.yml",
    "nf-core/environment.yml": f"{_MODULE}/environment.yml",
    "snakemake/wrapper.py": f"{_WRAPPER}/wrapper.py",
    "snakemake/meta.yaml": f"{_WRAPPER}/meta.yaml",
    "snakemake/environment.yaml": f"{_WRAPPER}/environment.yaml",
    "snakemake/Snakefile": f"{_WRAPPER}/test/Snakefile",
}
_OF_GALAXY: Final = {"galaxy/tool.xml": "galaxy/hapgpu_{}.xml"}
"""The file of each template; `{}` is the name of the command."""

_ATTRIBUTES: Final = (
    *("argument", "name", "type", "format", "optional", "value", "min", "max", "checked"),
    *("label", "help"),
)
"""Attributes of a parameter in Galaxy, in their usual order."""


class _Absent(StrictUndefined):
    """A key that is not in the table: false, and an error if it is written."""

    def __bool__(self) -> bool:
        return False


def render(directory: Path) -> None:
    """Write all files below a directory."""
    for name, text in rendered_files():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def rendered_files() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file."""
    table = yaml.safe_load(_TABLE.read_text(encoding="utf-8"))
    templates = _templates()
    common = {"table": table, "version": runpy.run_path(str(_VERSION))["__version__"]}
    for template, path in _COMMON.items():
        yield path, templates.get_template(f"{template}.jinja").render(common)
    for name, command in table["commands"].items():
        values = {**common, "name": name, "command": command, **_values(name, table)}
        files = {**_OF_COMMANDS, **(_OF_GALAXY if "galaxy" in command else {})}
        for template, path in files.items():
            text = templates.get_template(f"{template}.jinja").render(values)
            yield path.format(name), text


def _templates() -> Environment:
    """Return the templates, whose marks are seldom used by the languages of the files."""
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=_Absent,
        autoescape=False,  # noqa: S701  (only attributes of XML are escaped, by filters)
    )
    environment.filters["meta"] = lambda number: f"meta{number if number > 1 else ''}"
    environment.filters["wrapper_name"] = lambda file: file.get("wrapper", file["name"])
    return environment


def _values(name: str, table: Table) -> Table:
    """Return what the templates of a command use beside the table."""
    command = table["commands"][name]
    inputs = _inputs(name, table)
    galaxy = command.get("galaxy", {})
    makers = [one["made_by"]["module"] for one in inputs if "made_by" in one]
    json = {"about": "Run statistics", "formats": ["JSON"]}
    return {
        "inputs": inputs,
        "arguments": [table["inputs"][key]["files"][0]["name"] for key in command["arguments"]],
        "makers": {maker: _inputs(maker, table) for maker in makers},
        "definitions": command.get("definitions", {}),
        "packages": command.get("packages", {}),
        "outputs": {**command["outputs"], "json": {"path": f"*.{name}.json", **json}},
        "named": {
            **command.get("named", {}),
            "json": {"option": "--json", "about": "Run statistics, which MultiQC shows"},
        },
        "rules": [_rule(rule, values, table) for rule, values in command["rules"].items()],
        "galaxy": galaxy,
        "parameters": [*_galaxy_parameters(galaxy.get("parameters", []), table)],
    }


def _inputs(name: str, table: Table) -> list[Table]:
    """Return the inputs of a command in the order of nf-core: the sample gives outputs its name."""
    command = table["commands"][name]
    required = [table["inputs"][key] for key in command["arguments"]]
    optional = [
        {**table["inputs"][key], **option} for key, option in command.get("options", {}).items()
    ]
    return [*sorted(required, key=lambda one: one["meta"] == "genome"), *optional]


def _rule(name: str, values: Table, table: Table) -> Table:
    """Return a rule of a wrapper's test; the first word of its name is the command."""
    command = name.partition("_")[0]
    threads = table["commands"][command]["threads"]
    if isinstance(threads, str):
        threads = threads in values.get("extra", "")
    inputs = _inputs(command, table)
    return {"name": name, "command": command, "inputs": inputs, "threads": threads, **values}


def _galaxy_parameters(listed: list[str | Table], table: Table) -> Iterator[Table]:
    """Yield the parameters of a Galaxy tool, with the words that each adds to the command."""
    for given in listed:
        one = table["galaxy_parameters"][given] if isinstance(given, str) else given
        option = one.get("argument", "")
        variable = one.get("name") or option.lstrip("-").replace("-", "_")
        is_number = one["type"] in {"integer", "float"}
        is_flag = one["type"] == "boolean"
        value = f"${variable}" if is_number else f"'${variable}'"
        is_optional = is_flag or "optional" in one
        yield {
            "option": option,
            "variable": variable,
            "words": option if is_flag else f"{option} {value}",
            "condition": one.get("condition") or (f"${variable}" if is_optional else ""),
            "attributes": {key: one[key] for key in _ATTRIBUTES if key in one},
            "choices": one.get("choices"),
            "chosen": one.get("chosen"),
            "test_data": one.get("test_data"),
        }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python packaging/render.py DIRECTORY")
    render(Path(sys.argv[1]))
