"""The commands: their names, modules and descriptions. A module is imported when it is needed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Final

from hapgpu.cli.gatk.tool import TOOL
from hapgpu.cli.parameters import (
    HELP,
    VERSION,
    Description,
    one_parameter_per_option,
    parameters_of,
)
from hapgpu.cli.terminal.suggestions import advice
from hapgpu.errors import UsageError

COMMANDS: Final = {
    "realign": "Align reads to haplotypes, exactly as GATK does.",
    "pairhmm": "Compute the likelihoods of reads given haplotypes, by GATK's pair-HMM.",
    "haplotypes": "Write the candidate haplotypes of a VCF.",
    "call": "Find and genotype variants, by GATK HaplotypeCaller's algorithm.",
    "genotype": "Genotype the sites of a VCF in aligned reads, by the pair-HMM.",
    "index": "Build the index of a reference, for map or chain.",
    "map": "Find all hits of short reads with at most one error.",
    "chain": "Map long reads, and align their bases, exactly as minimap2 does.",
    "report": "Show results as one HTML page: sites with their reads, charts of mappings.",
    "bench": "Measure the speed of this machine.",
    "doctor": "Show what hapgpu finds on this machine, and what is missing.",
    "completion": "Write the script that completes commands in a shell.",
}
"""Each command with its line of help.

Command `x` is the function `x` of its module. `FILES` of the module declares the files that it
reads and writes, `NO_EFFECT`, which may be missing, the options without an effect in some runs; the
text `EXAMPLES`, in paragraphs, is the end of its help. The commands of `bench` are `METHODS`.
"""

METHODS: Final = {
    "realign": "Measure the alignment of reads to haplotypes.",
    "pairhmm": "Measure the pair-HMM.",
    "genotype": "Measure genotyping, from BAM to VCF, on a simulated sample.",
    "call": "Measure variant calling, from BAM to VCF, on a simulated sample.",
    "map": "Measure the mapping of short reads.",
    "chain": "Measure the mapping of long reads, and the alignment of their bases.",
    "io": "Measure reading and writing of BAM.",
}
"""Each command of `bench` with its line of help; its module is as any command's."""

_SUMMARY: Final = "Realign, genotype and map reads on NVIDIA GPUs or the CPU."
_GROUPS: Final[Mapping[tuple[str, ...], Mapping[str, str]]] = {(): COMMANDS, ("bench",): METHODS}
_OF_GROUPS: Final = {(): (VERSION, HELP), ("bench",): (HELP,)}


def commands_of(*words: str) -> Mapping[str, str]:
    """Return the commands of a group with their lines of help: of `hapgpu` itself, or of `bench`.

    A command that is no group has none.
    """
    return _GROUPS.get(words, {})


def summary_of(*words: str) -> str:
    """Return the line of help of a command or group; no words: of `hapgpu`."""
    return commands_of(*words[:-1])[words[-1]] if words else _SUMMARY


def command_words(arguments: Sequence[str]) -> list[str]:
    """Return the words that name a command: `map`, or `bench` and `map`; of a group, its words.

    Parameters
    ----------
    arguments
        The command line after the name of the program.

    Raises
    ------
    UsageError
        There is no such command.
    """
    words: list[str] = []
    for argument in arguments:
        names = commands_of(*words)
        if not names or argument.startswith("-"):
            break
        if argument not in names:
            program = " ".join(["hapgpu", *words])
            known = [*names, *([] if words else [TOOL])]
            raise UsageError(f"{argument}: no such command{advice(argument, known, program)}")
        words.append(argument)
    return words


def command_module(*words: str) -> ModuleType:
    """Return the module of a command: of `map`, or of `bench` and `map`."""
    *group, name = words
    return import_module(".".join(["hapgpu.cli", *(group or ["commands"]), name]))


def command_function(*words: str) -> Callable[..., None]:
    """Return the function of a command, with one parameter per option."""
    return one_parameter_per_option(getattr(command_module(*words), words[-1]))


def description_of(*words: str) -> Description:
    """Return the description of a command; of a group, with its commands; no words: `hapgpu`."""
    summary = summary_of(*words)
    if names := commands_of(*words):
        commands = tuple(description_of(*words, name) for name in names)
        return Description(words, summary, summary, "", (), _OF_GROUPS[words], commands)
    module, function = command_module(*words), command_function(*words)
    parameters = parameters_of(function).values()
    return Description(
        words,
        summary,
        inspect.getdoc(function) or summary,
        module.EXAMPLES,
        tuple(one for one in parameters if not one.names),
        (*(one for one in parameters if one.names), HELP),
    )
