"""Translation of a command line of HaplotypeCaller into the arguments of `hapgpu call`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from hapgpu.cli.gatk.arguments import Argument, Effect
from hapgpu.cli.gatk.parser import Given, parse
from hapgpu.cli.gatk.table import ARGUMENTS, OWN_OPTIONS
from hapgpu.cli.gatk.tool import TOOL
from hapgpu.errors import UsageError

USAGE: Final = f"hapgpu {TOOL} -R REF.fa -I READS.bam -O FILE.vcf.gz [ARGUMENTS]"
_REQUIRED: Final = {"reference": "-R", "input": "-I", "output": "-O"}
_BLOCKS: Final = "floor-blocks"
_MODES: Final = {"GVCF": "--gvcf", "BP_RESOLUTION": "--bp-resolution"}
_WITHOUT_EFFECT: Final = {
    "NONE": ("gvcf-gq-bands", "do-not-run-physical-phasing"),
    "GVCF": ("standard-min-confidence-threshold-for-calling",),
    "BP_RESOLUTION": (
        "standard-min-confidence-threshold-for-calling",
        "gvcf-gq-bands",
        _BLOCKS,
    ),
}
"""Arguments without effect in each mode of --emit-ref-confidence, as in GATK."""


class Translation(NamedTuple):
    """A command line of HaplotypeCaller, for `hapgpu call`.

    Attributes
    ----------
    arguments
        The arguments of `call`.
    without_effect
        The names of arguments that change nothing, as they are written.
    names
        The name of each option of `call` on this command line: as it is written for
        HaplotypeCaller, or its long name.
    """

    arguments: tuple[str, ...]
    without_effect: tuple[str, ...]
    names: dict[str, str]


def translate(words: Sequence[str]) -> Translation:
    """Translate the arguments of HaplotypeCaller.

    Raises
    ------
    UsageError
        An argument is unknown, wrong, missing, or would change the output but is not available.
    InputError
        A file of arguments or values cannot be read.
    """
    given = parse(words)
    for one in given:
        _check(one)
    _check_required(given)
    effective = [one for one in given if _has_effect(one, given)]
    options = [word for one in effective for word in _options(one)]
    files = [one.value for name in ("input", "reference") for one in _named(given, name)]
    # A flag that is off, or a default, is not worth a note: it does what it says.
    noted = [one for one in given if one not in effective and not _is_default(one)]
    return Translation(
        (*options, *files),
        tuple(dict.fromkeys(one.written for one in noted)),
        _names(given),
    )


def _check(given: Given) -> None:
    """Refuse an argument whose value is not possible, or not available."""
    argument, shown = given.argument, _shown(given)
    if argument.choices and given.value not in argument.choices:
        raise UsageError(f"{shown}: must be one of {', '.join(argument.choices)}")
    if _is_default(given):
        return
    if argument.effect == Effect.REFUSED:
        raise UsageError(f"{shown}: not supported ({argument.reason}); drop it")
    if argument.effect == Effect.DEFAULT and not argument.needs:
        raise UsageError(_fixed(given))


def _fixed(given: Given) -> str:
    reason = f" ({given.argument.reason})" if given.argument.reason else ""
    return f"{_shown(given)}: not supported, only {given.argument.default}{reason}; drop it"


def _shown(given: Given) -> str:
    return given.written if given.value == "true" else f"{given.written} {given.value}"


def _check_required(given: Sequence[Given]) -> None:
    for name, shown in _REQUIRED.items():
        if not _named(given, name):
            raise UsageError(f"{shown}: missing; usage: {USAGE}")


def _has_effect(given: Given, others: Sequence[Given]) -> bool:
    """Tell whether an argument changes the run, beside the others.

    Raises
    ------
    UsageError
        It contradicts another, or has another value than the only one that is available.
    """
    argument, mode = given.argument, _mode(others)
    if argument.effect == Effect.NONE or _is_default(given):
        return False
    if argument.name == _BLOCKS and mode == "NONE":
        raise UsageError(f"{given.written}: no effect without reference blocks; add -ERC GVCF")
    if argument.needs and not any(
        not _is_default(one) for need in argument.needs for one in _named(others, need)
    ):
        return False
    if argument.effect == Effect.DEFAULT:
        raise UsageError(_fixed(given))
    is_threads = argument.name == "native-pair-hmm-threads"
    if is_threads and _named(others, "threads"):
        return False
    return argument.name not in _WITHOUT_EFFECT[mode]


def _mode(given: Sequence[Given]) -> str:
    named = _named(given, "emit-ref-confidence")
    return named[0].value if named else "NONE"


def _named(given: Sequence[Given], name: str) -> list[Given]:
    return [one for one in given if one.argument.name == name]


def _is_default(given: Given) -> bool:
    return given.argument.effect != Effect.NONE and given.argument.is_default(given.value)


def _options(given: Given) -> Iterator[str]:
    """Yield the words of `call` for an argument that has an effect."""
    argument = given.argument
    if argument.name == "emit-ref-confidence":
        yield _MODES[given.value]
    elif not argument.option:  # a file, which `call` takes without a name
        return
    elif not argument.value:
        yield argument.option
    else:
        value = given.value.lower() if argument.choices else given.value
        yield from (argument.option, f"{given.tag}={value}" if argument.has_tag else value)


def _names(given: Sequence[Given]) -> dict[str, str]:
    """Return the name of each option of `call` on this command line."""
    names = {argument.option: f"--{argument.name}" for argument in _obeyed()}
    names |= {one.argument.option: one.written for one in given}
    names |= {option: f"-ERC {mode}" for mode, option in _MODES.items()}
    names |= {alias: names[option] for alias, option in _ALIASES.items()}
    return {option: name for option, name in names.items() if option and option != name}


def _obeyed() -> Iterator[Argument]:
    yield from (one for one in [*ARGUMENTS.values(), *OWN_OPTIONS.values()] if one.option)


_ALIASES: Final = {
    "--intervals": "-L",
    "--targets-file": "-L",
    "--sample-ploidy": "--ploidy",
    "--bam-output": "--bam-out",
    "--max-reads-per-start": "--max-reads-per-alignment-start",
    "--max-num-haplotypes-in-population": "--max-haplotypes",
    "--standard-min-confidence-threshold-for-calling": "--stand-call-conf",
    "--contamination": "--contamination-fraction-to-filter",
    "--contamination-file": "--contamination-fraction-per-sample-file",
}
"""Other names of options of `call`, by which its messages may name them."""
