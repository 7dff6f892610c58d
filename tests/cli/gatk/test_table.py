"""The table of HaplotypeCaller's arguments, beside the names in GATK's source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from hapgpu.cli.catalogue import description_of
from hapgpu.cli.gatk.arguments import Argument, Effect
from hapgpu.cli.gatk.table import ARGUMENTS, OWN_OPTIONS, TOPICS

RECORDED: Final = Path(__file__).with_name("recorded_names.txt")
LAUNCHER: Final = {
    "java-options",
    "debug-port",
    "debug-suspend",
    "spark-runner",
    "spark-submit-command",
    "dry-run",
}
"""Arguments of the script `gatk`, which are not in the source of the tool."""
NOT_OF_CALL: Final = {"input", "reference", "emit-ref-confidence", "arguments_file"}
"""Obeyed, but no option of `call` alone."""


def recorded() -> Iterator[tuple[str, list[str]]]:
    """Yield the kind and the names of each argument in GATK's source."""
    for line in RECORDED.read_text().splitlines():
        if not line.startswith("#"):
            kind, *names = line.split()
            yield kind, names


def arguments() -> list[Argument]:
    return [argument for topic in TOPICS.values() for argument in topic]


@pytest.mark.parametrize(("kind", "names"), [*recorded()], ids=str)
def test_every_argument_of_gatk_is_there(kind: str, names: list[str]) -> None:
    argument = ARGUMENTS[names[0]]
    assert all(ARGUMENTS[name] is argument for name in names)
    assert argument.name == names[0]
    assert argument.is_list == (kind == "list")
    assert (not argument.value) == (kind == "flag")


def test_there_is_no_other() -> None:
    known = {name for _, names in recorded() for name in names} | LAUNCHER
    more = {"arguments-file", "show-hidden"}  # Barclay's newer names
    assert {*ARGUMENTS} == known | more


def test_names_are_unique() -> None:
    names = [name for argument in arguments() for name in argument.names]
    assert len(names) == len({*names})
    assert len({argument.option for argument in arguments() if argument.option}) == sum(
        bool(argument.option) for argument in arguments()
    )


def test_every_argument_is_explained() -> None:
    for argument in arguments():
        match argument.effect:
            case Effect.OBEYED:
                assert argument.option or argument.name in NOT_OF_CALL
            case Effect.DEFAULT:
                assert argument.default
                assert argument.is_default(argument.default)
            case _:
                assert argument.reason
                assert not argument.option


def test_needs_are_arguments() -> None:
    assert all(need in ARGUMENTS for argument in arguments() for need in argument.needs)


def test_defaults_are_those_of_call() -> None:
    """A default of GATK is not passed on: `call` has the same."""
    options = {name: option for option in description_of("call").options for name in option.names}
    compared = 0
    for argument in arguments():
        option = options.get(argument.option)
        if argument.default and option is not None:
            default = option.default.upper() if argument.choices else option.default
            assert argument.is_default(default), argument.name
            compared += 1
    assert compared >= 9


def test_flags_are_flags_of_call() -> None:
    options = {name: option for option in description_of("call").options for name in option.names}
    for argument in [*arguments(), *OWN_OPTIONS.values()]:
        option = options.get(argument.option)
        if argument.effect == Effect.OBEYED and option is not None:
            assert (not option.placeholder) == (not argument.value), argument.name


def test_call_has_every_option() -> None:
    options = {name for option in description_of("call").options for name in option.names}
    named = {one.option for one in [*arguments(), *OWN_OPTIONS.values()] if one.option}
    assert not named - options
