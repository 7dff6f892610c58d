"""Parameters of commands: groups of options, and descriptions of all parameters.

Help, shell completion, man pages and tables of options are made of the descriptions.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from typer.models import ArgumentInfo, OptionInfo
from typer.utils import get_params_from_function


def one_parameter_per_option(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with one parameter per option, as Typer needs it.

    Parameters
    ----------
    command
        Takes keywords. Each parameter whose type is a dataclass is a group; its fields are the
        options and have the types and defaults that a parameter of a command has.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {}
    options: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            options += inspect.signature(groups[name], eval_str=True).parameters.values()
        else:
            options.append(parameter)

    @wraps(command)
    def ungrouped(**values: Any) -> None:
        for name, group in groups.items():
            given = [field.name for field in fields(group) if field.name in values]
            values[name] = group(**{option: values.pop(option) for option in given})
        command(**values)

    vars(ungrouped)["__signature__"] = signature.replace(parameters=options)
    return ungrouped


_PLACEHOLDERS: Final = {int: "INT", float: "FLOAT", Path: "FILE"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """An option or argument of a command.

    Attributes
    ----------
    names
        Of an option; empty for an argument.
    placeholder
        What stands for the value in texts: `FILE`, or `sam|bam|cram`; empty for a flag.
    text
        The help.
    default
        The default value in words; empty if there is none.
    panel
        The group of options in the help.
    required, repeatable
        Whether it must be given, and whether an argument may be given several times.
    low, high
        The smallest and the largest value, if there are limits.
    is_whole
        Whether the value is a whole number.
    """

    names: tuple[str, ...]
    placeholder: str
    text: str
    default: str = ""
    panel: str = "Options"
    required: bool = False
    repeatable: bool = False
    low: float | None = None
    high: float | None = None
    is_whole: bool = False

    def name_in(self, words: Sequence[str]) -> str:
        """Return the name that a command line has; of an argument, its placeholder if it is one."""
        given = [name for name in self.names for word in words if word.startswith(name)]
        return given[-1] if given else "" if "|" in self.placeholder else self.placeholder

    @property
    def choices(self) -> tuple[str, ...]:
        """The values, if they can be listed: words in lower case."""
        values = tuple(self.placeholder.split("|"))
        listed = len(values) > 1 and not any(letter.isupper() for letter in self.placeholder)
        return values if listed else ()

    @property
    def meaning(self) -> str:
        """The help, and the limits that matter as a sentence: not those against typing errors."""
        if self.low is None or self.high is None or self.high >= _OUT_OF_REACH:
            return self.text
        return f"{self.text} {self.low:,} to {self.high:,}."

    @property
    def number(self) -> str:
        """The numbers that are possible, in words."""
        kind = "a whole number" if self.is_whole else "a number"
        match self.low, self.high:
            case None, None:
                return kind
            case low, None:
                return f"{kind} of at least {low:,}"
            case low, high:
                return f"{kind} from {low:,} to {high:,}"

    @property
    def value(self) -> str:
        """The placeholder; of an argument that may be given several times, with dots."""
        return self.placeholder + "..." * self.repeatable

    @property
    def usage(self) -> str:
        """The parameter in a usage line: in brackets if it may be left out."""
        shown = " ".join([*self.names[-1:], self.value])
        return shown if self.required else f"[{shown}]"


_OUT_OF_REACH: Final = 4096

HELP: Final = Parameter(("-h", "--help"), "", "Show this help.", panel="Messages")
VERSION: Final = Parameter(("--version",), "", "Print the version.")


@dataclass(frozen=True, slots=True)
class Description:
    """A command, or a group of commands.

    Attributes
    ----------
    words
        The names after `hapgpu`: `map`, or `bench` and `map`; none for `hapgpu` itself.
    summary
        Its line in the list of commands.
    text
        Paragraphs of the help.
    examples
        Paragraphs of the end of the help.
    arguments, options
        Its parameters.
    commands
        The commands of a group.
    """

    words: tuple[str, ...]
    summary: str
    text: str
    examples: str
    arguments: tuple[Parameter, ...]
    options: tuple[Parameter, ...]
    commands: tuple[Description, ...] = ()

    @property
    def program(self) -> str:
        """The words of a command line up to the command."""
        return " ".join(["hapgpu", *self.words])

    @property
    def usage(self) -> str:
        """The usage line."""
        if self.commands:
            return f"{self.program} COMMAND [OPTIONS]"
        required = [*(one for one in self.options if one.required), *self.arguments]
        return " ".join([self.program, "[OPTIONS]", *(one.usage for one in required)])

    def walk(self) -> Iterator[Description]:
        """Yield it and all commands in it."""
        yield self
        for command in self.commands:
            yield from command.walk()


def arguments_of(function: Callable[..., None]) -> dict[str, str]:
    """Return the placeholder of each argument of a command, by the name of its parameter."""
    described = parameters_of(function).items()
    return {name: re.sub(r"\|\w+", "", one.value) for name, one in described if not one.names}


def parameters_of(function: Callable[..., None]) -> dict[str, Parameter]:
    """Return the parameters of the function of a command, by name and in their order."""
    found = {}
    for name, parameter in get_params_from_function(function).items():
        info = parameter.default
        if isinstance(info, OptionInfo | ArgumentInfo):
            types = [parameter.annotation, *get_args(parameter.annotation)]
            found[name] = _described(name, types, info)
    return found


def _described(name: str, types: list[object], info: OptionInfo | ArgumentInfo) -> Parameter:
    is_argument = isinstance(info, ArgumentInfo)
    return Parameter(
        () if is_argument else tuple(info.param_decls or (f"--{name.replace('_', '-')}",)),
        info.metavar or _placeholder(name, types, is_argument=is_argument),
        info.help or "",
        _default(info),
        info.rich_help_panel or "Options",
        required=info.default is ... and info.default_factory is None,
        repeatable=is_argument and any(get_origin(kind) is list for kind in types),
        low=info.min,
        high=info.max,
        is_whole=any(kind is int or int in get_args(kind) for kind in types),
    )


def _placeholder(name: str, types: list[object], *, is_argument: bool) -> str:
    for kind in types:
        if isinstance(kind, type) and issubclass(kind, Enum):
            return "|".join(str(member.value) for member in kind)
    if is_argument:
        return name.upper()
    if bool in types:
        return ""
    return next((_PLACEHOLDERS[kind] for kind in types if kind in _PLACEHOLDERS), "TEXT")


def _default(info: OptionInfo | ArgumentInfo) -> str:
    """Return the default value in words, as the help has it."""
    if isinstance(info.show_default, str):
        return info.show_default
    value = info.default
    if value is ... or value is None or isinstance(value, bool) or not info.show_default:
        return ""
    return str(value.value if isinstance(value, Enum) else value)
