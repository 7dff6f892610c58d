"""Declarations of options without an effect in some runs, and their check before the run.

Only options that the user gave are refused, never defaults. Not refused are limits on threads,
memory and records, so that a command line works on every device; and options that repeat what
another one implies, such as `-c` beside `-a`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import typer

from hapgpu.errors import UsageError

if TYPE_CHECKING:  # the help of all commands imports no NumPy
    from hapgpu.cli.options.files import Values


class AllBut(Container[str]):
    """All names except some."""

    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)

    def __contains__(self, name: object) -> bool:
        return name not in self._names


@dataclass(frozen=True, slots=True)
class NoEffect:
    """Options that have no effect in some runs.

    Attributes
    ----------
    parameters
        Names of their parameters.
    where
        Tells from the parameters of the command, by name, whether the run is one of these.
    reason
        Words after "no effect", with the remedy.
    """

    parameters: Container[str]
    where: Callable[[Values], object]
    reason: str


def needs(parameter: str, option: str, *parameters: str) -> NoEffect:
    """Declare options that have an effect only with another one, whose default is none."""
    return NoEffect(parameters, lambda values: not values[parameter], f"without {option}; add it")


def contradicts(parameter: str, option: str, *parameters: str) -> NoEffect:
    """Declare options that another one, whose default is none, deprives of their effect."""
    return NoEffect(parameters, lambda values: values[parameter], f"with {option}; {DROP_ONE}")


DROP_ONE: Final = "drop one of them"

UNCOMPRESSED: Final = NoEffect(
    ["uncompressed"],
    lambda values: values["output_fmt"] not in {None, "bam"},
    f"with -O sam or cram; {DROP_ONE}",
)
"""Only BAM is written without compression."""


def refuse_without_effect(
    context: typer.Context, declared: Sequence[NoEffect], values: Values
) -> None:
    """Refuse the options of a command line that have no effect.

    Parameters
    ----------
    context
        The context of the command.
    declared
        The declarations of the command.
    values
        The parameters of the command, by name.

    Raises
    ------
    UsageError
        There are such options; the message names all of the first declaration that applies.
    """
    given = {
        parameter.name or "": _shown(parameter)
        for parameter in context.command.params
        if _is_given(context, parameter.name or "")
    }
    for rule in declared:
        names = [name for parameter, name in given.items() if parameter in rule.parameters]
        if names and rule.where(values):
            raise UsageError(f"{' '.join(names)}: no effect {rule.reason}")


def _is_given(context: typer.Context, parameter: str) -> bool:
    source = context.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"


def _shown(parameter: Any) -> str:
    """Return the last long name of an option, else its letter; an argument in capitals."""
    names: list[str] = [name for name in parameter.opts if name.startswith("-")]
    long_names = [name for name in names if name.startswith("--")]
    return (long_names or names or [str(parameter.name).upper()])[-1]
