"""Run the tests of a Galaxy tool without Galaxy, by the libraries that Galaxy and planemo share.

Run by the Python that has `galaxy-tool-util`: `galaxy_job.py TOOL.xml TEST_DATA WORK`. The command
of each test is filled in by Galaxy's template engine from the inputs and the test, run by bash, and
its outputs are checked by Galaxy's assertions.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from xml.etree.ElementTree import Element

from galaxy.tool_util.loader import load_tool
from galaxy.tool_util.parser import get_tool_source
from galaxy.tool_util.verify import verify
from galaxy.util.template import fill_template


@dataclass(frozen=True)
class Dataset:
    """A file of the history, with the attributes that the command uses."""

    path: Path
    extension: str

    def __str__(self) -> str:
        return str(self.path)

    def is_of_type(self, extension: str) -> bool:
        return self.extension == extension

    @property
    def metadata(self) -> SimpleNamespace:
        return SimpleNamespace(bam_index=f"{self.path}.bai", cram_index=f"{self.path}.crai")


def value_of(parameter: Element, given: dict[str, Element], data: Path) -> object:
    """Return the value of a parameter: as the test gives it, or its default."""
    name = parameter.get("name") or parameter.get("argument", "").lstrip("-").replace("-", "_")
    text = given[name].get("value") if name in given else parameter.get("value")
    match parameter.get("type"):
        case "data":
            files = [
                Dataset(data / file, given[name].get("ftype", ""))
                for file in (text or "").split(",")
                if file
            ]
            return files if parameter.get("multiple") == "true" else next(iter(files), None)
        case "boolean":
            return (text or parameter.get("checked")) == "true"
        case "select" if name not in given:
            options = parameter.findall("option")
            chosen = [option for option in options if option.get("selected") == "true"]
            return (chosen or options)[0].get("value")
        case _:
            return text


def values_of(inputs: Element, given: dict[str, Element], data: Path) -> dict[str, object]:
    """Return the values of all parameters by name; a conditional is a dictionary of its own."""
    values: dict[str, object] = {}
    for item in inputs:
        if item.tag == "conditional":
            selector = item.find("param")
            assert selector is not None
            chosen = value_of(selector, given, data)
            branch = item.find(f"when[@value='{chosen}']")
            assert branch is not None
            values[item.get("name", "")] = {
                selector.get("name", ""): chosen,
                **values_of(branch, given, data),
            }
        else:
            name = item.get("name") or item.get("argument", "").lstrip("-").replace("-", "_")
            values[name] = value_of(item, given, data)
    return values


def run_tests(tool: Path, data: Path, work: Path) -> int:
    """Run all tests of a tool, each in a directory of its own; return their number."""
    root = load_tool(str(tool)).getroot()
    inputs, template = root.find("inputs"), root.findtext("command")
    assert inputs is not None
    expected = get_tool_source(str(tool)).parse_tests_to_dict()["tests"]
    for number, (test, checks) in enumerate(zip(root.iter("test"), expected, strict=True)):
        directory = work / f"test {number}"
        directory.mkdir(parents=True)
        given = {item.get("name", ""): item for item in test.iter("param")}
        outputs = {check["name"]: directory / check["name"] for check in checks["outputs"]}
        values = values_of(inputs, given, data)
        command = fill_template(template, context={**values, **outputs})
        subprocess.run(["bash", "-c", " ".join(command.split("\n"))], cwd=directory, check=True)
        for check in checks["outputs"]:
            content = outputs[check["name"]].read_bytes()
            verify(check["name"], content, check["attributes"])
    return len(expected)


if __name__ == "__main__":
    sys.stdout.write(f"{run_tests(*map(Path, sys.argv[1:]))} tests passed\n")
