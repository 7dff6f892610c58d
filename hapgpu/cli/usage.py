"""Errors of Typer on a command line, in the words of hapgpu: `WHERE: WHAT; REMEDY`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import typer

from hapgpu.cli.catalogue import command_function, command_module, description_of
from hapgpu.cli.parameters import Description, Parameter, arguments_of, parameters_of
from hapgpu.cli.terminal.suggestions import advice
from hapgpu.errors import UsageError

_TyperError: Final[type[Exception]] = typer.BadParameter.__mro__[1]
_CHOICE: Final = re.compile("(?:Value error, )?'(.*)' is not one of '(.*)'", re.DOTALL)
_SURPLUS: Final = re.compile(r"extra argument\S* \((.*)\)$", re.DOTALL)


@contextmanager
def usage_explained(words: Sequence[str], arguments: Sequence[str]) -> Iterator[None]:
    """Explain each error of Typer on the command line of a command.

    Parameters
    ----------
    words
        The names of the command.
    arguments
        The arguments after them.

    Raises
    ------
    UsageError
        There is an error on the command line.
    """
    try:
        yield
    except _TyperError as error:
        raise UsageError(_explained(error, description_of(*words), arguments)) from error


def _explained(error: Any, command: Description, arguments: Sequence[str]) -> str:
    parameter = getattr(error, "param", None)
    if hasattr(error, "param_type"):
        return f"{_missing(error, command, arguments)}: missing; usage: {command.usage}"
    if parameter is not None:
        described = parameters_of(command_function(*command.words))[parameter.name]
        return _of_value(error.message.rstrip("."), described, command, arguments)
    if hasattr(error, "possibilities"):
        known = [name for option in command.options for name in option.names]
        name = error.option_name
        return f"{name}: no such option{advice(name, known, command.program)}"
    if name := getattr(error, "option_name", ""):
        return f"{name}: needs a value; run: {command.program} --help"
    if surplus := _SURPLUS.search(error.message.rstrip(".")):
        return f"{surplus[1]}: not expected; usage: {command.usage}"
    return f"{error.message.rstrip('.')}; run: {command.program} --help"


def _missing(error: Any, command: Description, arguments: Sequence[str]) -> str:
    """Return the parameter that is missing; of arguments, by the kinds of those that are given.

    Typer gives out the last argument first.
    """
    if error.param.param_type_name != "argument":
        return str(error.param.opts[0])
    names = arguments_of(command_function(*command.words))
    parsed, _, _ = error.ctx.command.make_parser(error.ctx).parse_args([*arguments])
    # Versions of Typer differ in what stands for a missing value.
    given = {name: value for name, value in parsed.items() if isinstance(value, str | list | tuple)}
    missing: str | None = command_module(*command.words).FILES.missing_argument(given, names)
    return names[missing or error.param.name].removesuffix("...")


def _of_value(
    fault: str, parameter: Parameter, command: Description, arguments: Sequence[str]
) -> str:
    """Return the message of a value that a parameter refuses."""
    name = parameter.name_in(arguments)
    if choice := _CHOICE.fullmatch(fault):
        choices = choice[2].split("', '")
        remedy = advice(choice[1], choices, command.program)
        return f"{name} '{choice[1]}'".lstrip() + f": must be one of {', '.join(choices)}{remedy}"
    if parameter.low is None and fault.startswith("'"):  # by a parser, with the value
        return f"{name} {fault}; run: {command.program} --help"
    return f"{name}: must be {parameter.number}; run: {command.program} --help"
