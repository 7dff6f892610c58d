"""A row of the table of faults, and its runs."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from tests.faults.commands import COMMANDS, Command

Cell = tuple[Command, str]
"""A command line, and the file, role, option or value that a fault concerns there."""


@dataclass
class Attempt:
    """A good command line, which a row makes a bad one.

    Attributes
    ----------
    command, directory
        The command, and its working directory.
    about
        File, role, option or value that the fault concerns; empty where it is the whole line.
    roles
        Paths that replace paths of the command line.
    options
        Words to add.
    output, statistics
        Paths of `-o` and `--json`; empty for none.
    line
        Words of another command line, which replace all of these.
    stdin
        File of standard input.
    stdout
        Path and mode of a file for standard output, if its content is not checked.
    """

    command: Command
    directory: Path
    about: str = ""
    roles: dict[str, str] = field(default_factory=dict)
    options: list[str] = field(default_factory=list)
    output: str = ""
    statistics: str = "run.json"
    line: list[str] | None = None
    stdin: Path = Path(os.devnull)
    stdout: tuple[Path, str] | None = None

    def __post_init__(self) -> None:
        self.output = self.command.output

    @property
    def file(self) -> str:
        """Name of the file that the fault concerns."""
        inputs = self.command.inputs
        return inputs[self.about].name if self.about in inputs else self.about

    @property
    def path(self) -> Path:
        return self.directory / self.file

    def words(self) -> list[str]:
        if self.line is not None:
            return self.line
        words = self.command.words(**self.roles)
        for option, path in ((self.command.option, self.output), ("--json", self.statistics)):
            words += [option, path] if path else []
        return [*words, *self.options]

    def write_to(self, option: str, path: str) -> None:
        """Set the path of `-o` or `--json`."""
        if option == "-o":
            self.output = path
        else:
            self.statistics = path

    def names(self) -> dict[str, str]:
        """Return the values of the names in braces of a message."""
        inputs = {role: given.name for role, given in self.command.inputs.items()} | self.roles
        outputs = {
            name: str(Path(path)) if path else path
            for name, path in (("output", self.output), ("statistics", self.statistics))
        }
        return {**inputs, **outputs, "about": self.about, "file": self.file}


@dataclass(frozen=True)
class Fault:
    """A row: a fault, its commands, and their message.

    Attributes
    ----------
    name
        Of the fault; a name may have several rows, whose commands differ.
    cells
        The commands that it concerns, and the part of each.
    status
        The exit status.
    message
        Text of the line after `error: `: any of these. `...` matches any text, which may
        also precede and follow; `^` for the start, `$` for the end; a name in braces for one of
        `Attempt.names`.
    make
        Makes a good command line a bad one; it may change files where `changes`.
    limits
        Of the process, as in `resource`.
    leaves_output
        Whether the output is written nevertheless.
    prints_header
        Whether the first line of a table is printed before.
    is_first
        Whether no message precedes it, such as the device.
    skip_if
        Returns whether there is no such fault here.
    """

    name: str
    cells: Sequence[Cell]
    status: int
    message: str | tuple[str, ...]
    make: Callable[[Attempt], None]
    changes: bool = True
    limits: Mapping[str, int] = field(default_factory=dict)
    leaves_output: bool = False
    prints_header: bool = False
    is_first: bool = False
    skip_if: Callable[[], bool] = lambda: False

    def says(self, line: str, attempt: Attempt) -> bool:
        """Return whether a line is the message of this row."""
        patterns = (self.message,) if isinstance(self.message, str) else self.message
        message = line.partition("error: ")[2]
        return any(_matches(pattern, message, attempt.names()) for pattern in patterns)


def _matches(pattern: str, message: str, names: Mapping[str, str]) -> bool:
    start, end = pattern.startswith("^"), pattern.endswith("$")
    text = pattern.removeprefix("^").removesuffix("$")
    parts = [re.escape(part.strip().format(**names)) for part in text.split("...")]
    return bool(re.search("^" * start + ".*".join(parts) + "$" * end, message))


def commands(patterns: str) -> list[Command]:
    """Return the commands whose names match these, in which `*` matches any text."""
    found = [c for c in COMMANDS if any(fnmatchcase(c.name, p) for p in patterns.split())]
    assert found, patterns
    return found


def row(name: str, on: str, change: str, status: int, message: str) -> Fault:
    """Return a row of a fault in the words of a command line.

    Parameters
    ----------
    on
        Names of the commands, for `commands`.
    change
        Words: `role=path` replaces an input, `output=path` and `statistics=path` what is
        written, with an empty path for none; others are added.
    """

    def make(attempt: Attempt) -> None:
        for word in shlex.split(change):
            role, is_given, path = word.partition("=")
            if is_given and role in {"output", "statistics"}:
                setattr(attempt, role, path)
            elif is_given and role in attempt.command.inputs:
                attempt.roles[role] = path
            elif not (is_given and role in _ROLES):
                attempt.options.append(word)

    cells = [(command, "") for command in commands(on)]
    return Fault(name, cells, status, message, make, changes=False)


def values(option: str, on: str, given: Iterable[str], message: str = "") -> Fault:
    """Return a row of values that an option refuses; the default message names the option."""

    def make(attempt: Attempt) -> None:
        attempt.options += [option, attempt.about]

    cells = [(command, value) for command in commands(on) for value in given]
    return Fault(f"value of {option}", cells, 2, message or option, make, changes=False)


def line(name: str, words: str, status: int, message: str, *, header: bool = False) -> Fault:
    """Return a row of a command line of its own, to which device and outputs are added."""
    subcommand, *given = shlex.split(words)
    like = next((c for c in COMMANDS if c.subcommand == subcommand), None)
    output, resources = (like.output, like.resources) if like else ("", ("--device",))
    # The options of a method of bench follow its name.
    start = f"bench {given.pop(0)}" if subcommand == "bench" else subcommand
    command = Command(subcommand, start, {}, output, resources=resources)

    def make(attempt: Attempt) -> None:
        attempt.options += given

    cells = [(command, "")]
    return Fault(name, cells, status, message, make, changes=False, prints_header=header)


_ROLES: Final = {role for command in COMMANDS for role in command.inputs}
