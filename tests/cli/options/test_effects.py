"""The declarations of options without an effect."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, Final

import pytest
import typer
from typer.testing import CliRunner

from hapgpu.cli.catalogue import COMMANDS, METHODS, command_module
from hapgpu.cli.options.effects import (
    AllBut,
    NoEffect,
    contradicts,
    needs,
    refuse_without_effect,
)
from hapgpu.cli.parameters import one_parameter_per_option
from hapgpu.errors import UsageError

NAMES: Final = [
    *[(name,) for name in COMMANDS if name != "bench"],
    *[("bench", name) for name in METHODS],
]
DECLARED: Final = (
    needs("plus", "--plus", "size", "word"),
    contradicts("minus", "--minus", "size"),
    NoEffect(AllBut("minus", "word"), lambda values: values["word"] == "alone", "alone; drop it"),
)
app = typer.Typer()


@app.command()
def show(  # (all kinds of parameters)
    context: typer.Context,
    word: Annotated[str, typer.Option("-w", "--word", "-W")] = "",
    size: Annotated[int, typer.Option("-s")] = 3,
    plus: Annotated[bool, typer.Option("--plus")] = False,  # noqa: FBT002 (as Typer passes it)
    minus: Annotated[bool, typer.Option("--minus")] = False,  # noqa: FBT002
    file: Annotated[str | None, typer.Argument()] = None,
) -> None:
    values = {"word": word, "size": size, "plus": plus, "minus": minus, "file": file}
    refuse_without_effect(context, DECLARED, values)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", ""),
        ("--minus", ""),
        ("--plus -s 5 -w x", ""),
        ("-s 3", "-s: no effect without --plus; add it"),
        ("-w x -s 3", "--word -s: no effect without --plus; add it"),
        ("--plus --minus -s 3", "-s: no effect with --minus; drop one of them"),
        ("--plus -w alone", "--plus: no effect alone; drop it"),
        ("--plus -w alone x.bam", "--plus FILE: no effect alone; drop it"),
    ],
)
def test_only_given_options_are_refused(words: str, message: str) -> None:
    error = CliRunner().invoke(app, words.split()).exception
    assert str(error or "") == message
    assert error is None or isinstance(error, UsageError)


@pytest.mark.parametrize("names", NAMES, ids=" ".join)
def test_declared_names_are_parameters(names: tuple[str, ...]) -> None:
    module = command_module(*names)
    parameters = inspect.signature(one_parameter_per_option(getattr(module, names[-1]))).parameters
    defaults: dict[str, Any] = {name: each.default for name, each in parameters.items()}
    for rule in getattr(module, "NO_EFFECT", ()):
        declared = (
            rule.parameters._names if isinstance(rule.parameters, AllBut) else rule.parameters
        )
        assert set(declared) <= set(defaults)
        rule.where(defaults)  # its names are parameters
        assert "; " in rule.reason
