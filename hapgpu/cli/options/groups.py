"""Groups of options: a dataclass that stands for its fields among the parameters of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any


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
