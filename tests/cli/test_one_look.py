"""One look over all commands: the same thing has the same name, and a name one meaning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import pytest

from hapgpu.cli.catalogue import COMMANDS, METHODS, command_module, description_of
from hapgpu.cli.parameters import Description, Parameter

RUNS: Final = ("realign", "pairhmm", "haplotypes", "call", "genotype", "index", "map", "chain")
"""The commands that compute results."""
ON_DEVICES: Final = {*RUNS} - {"haplotypes"}
MINIMAP2: Final = {"index", "chain"}
"""Their letters are minimap2's, which has other meanings for some letters of samtools."""
OTHER_NAMES: Final = {
    ("chain", "--output-fmt"): "-O are minimap2's gap open costs; it takes the formats, too",
    ("chain", "--uncompressed"): "-u is minimap2's option on splice sites",
}
"""Options that lack a letter in a command, and why."""
ORDER: Final = ("reads", "reference", "haplotypes", "sites")
PLACEHOLDERS: Final = {
    "reads": {"READS", "READS.bam"},
    "reference": {"REF.fa", "REF.fa|INDEX"},
    "haplotypes": {"HAPLOTYPES.fa"},
    "sites": {"SITES.vcf.gz"},
}
OTHER_VALUES: Final = {
    "--method": "the algorithms of a method of bench",
    "--ploidy": "also of pools, under GATK's name, too, in call",
    "--targets-file": "several files or intervals, as in GATK, in call",
    "--reads": "of any kind in bench, aligned in report",
}
"""Options with other values in each command, and why."""


def commands() -> Iterator[Description]:
    """Yield all commands, of `bench`, too."""
    for command in description_of().walk():
        if not command.commands:
            yield command


def options_by_long_name() -> dict[str, list[tuple[str, Parameter]]]:
    found = defaultdict(list)
    for command in commands():
        for option in command.options:
            for name in option.names:
                if name.startswith("--"):
                    found[name].append((command.words[-1], option))
    return found


@pytest.mark.parametrize("name", options_by_long_name())
def test_an_option_is_the_same_in_every_command(name: str) -> None:
    uses = options_by_long_name()[name]
    forms = {
        (option.names, option.placeholder, option.default, option.low, option.high)
        for command, option in uses
        if (command, name) not in OTHER_NAMES
    }
    assert len(forms) == 1 or name in OTHER_VALUES, forms


def test_a_letter_has_one_meaning() -> None:
    meanings = defaultdict(set)
    for command in commands():
        if not MINIMAP2.intersection(command.words):
            for option in command.options:
                for name in option.names:
                    if not name.startswith("--"):
                        meanings[name].add(option.names[-1])
    assert {name: found for name, found in meanings.items() if len(found) > 1} == {}


def test_letters_of_minimap2_are_those_of_the_index() -> None:
    index, chain = (
        [option for option in description_of(name).options if option.panel == "Minimizers"]
        for name in ("index", "chain")
    )
    assert index == chain


@pytest.mark.parametrize("command", [*RUNS, "report"])
def test_files_have_the_same_placeholders_and_order(command: str) -> None:
    module = command_module(command)
    given = [read.parameter for read in module.FILES.reads]
    described = description_of(command)
    options = {option.names[-1]: option for option in described.options}
    arguments = iter(described.arguments)
    order = []
    for name in given:
        if name in PLACEHOLDERS and f"--{name}" in options:
            assert options[f"--{name}"].placeholder in PLACEHOLDERS[name]
        elif name in PLACEHOLDERS:
            assert next(arguments).placeholder in PLACEHOLDERS[name]
            order.append(name)
    # As minimap2 and bwa, mappers take the reference first.
    expected = sorted(order, key=ORDER.index, reverse=command in {"map", "chain"})
    assert order == expected


@pytest.mark.parametrize("command", RUNS)
def test_every_run_has_these_options(command: str) -> None:
    names = {name for option in description_of(command).options for name in option.names}
    assert names >= {"-o", "--output", "--json", "-q", "-v", "--debug", "-h", "--help"}
    assert ("-t" in names and "--device" in names) == (command in ON_DEVICES)
    assert ("--region" in names) == ("--targets-file" in names)


def test_numbers_have_the_same_placeholders() -> None:
    for command in commands():
        for option in command.options:
            if option.low is not None:
                assert option.placeholder in {"INT", "FLOAT", "PHRED"}, option
                assert option.is_whole == (option.placeholder != "FLOAT"), option


def test_the_catalogue_is_complete() -> None:
    words = {command.words for command in commands()}
    assert words == {(name,) for name in COMMANDS if name != "bench"} | {
        ("bench", name) for name in METHODS
    }
