"""The help of HaplotypeCaller: a page of its own, with all arguments by what they do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from typing import Final

from hapgpu.cli.gatk.arguments import Argument, Effect
from hapgpu.cli.gatk.table import OWN_OPTIONS, TOPICS
from hapgpu.cli.gatk.tool import SUMMARY, TOOL
from hapgpu.cli.gatk.translation import USAGE
from hapgpu.cli.parameters import HELP, Description, Parameter

_WIDTH: Final = 80
_COLUMN: Final = 26
_TEXT: Final = """\
Run a command line of GATK 4 HaplotypeCaller: hapgpu call does the work. Flags may have true or \
false after them. Arguments before the tool, such as --java-options, are taken: with a link named \
gatk, scripts run unchanged.

An argument that would change the output and is not available stops the run."""
_EXAMPLES: Final = f"""Call the variants of a sample:
hapgpu {TOOL} -R reference.fa -I sample.bam -O variants.vcf.gz

Write a genomic VCF of the intervals of a file:
hapgpu --java-options -Xmx4g {TOOL} -R reference.fa -I sample.bam \\
    -L calling.interval_list -ERC GVCF -O sample.g.vcf.gz"""


def page(call: Description) -> str:
    """Return the text of `hapgpu HaplotypeCaller --help`, 80 columns wide.

    Parameters
    ----------
    call
        The description of the command `call`, for the meanings of its options.
    """
    return "\n".join(_lines(_by_name(call))) + "\n"


def _by_name(call: Description) -> dict[str, Parameter]:
    return {name: option for option in call.options for name in option.names}


def _lines(options: Mapping[str, Parameter]) -> Iterator[str]:
    yield f"Usage: {USAGE}"
    for paragraph in _TEXT.split("\n\n"):
        yield from ("", *_wrapped(paragraph, "  "))
    for topic, arguments in TOPICS.items():
        obeyed = [one for one in arguments if one.effect == Effect.OBEYED]
        if obeyed:
            yield from ("", f"{topic}:")
        for argument in obeyed:
            yield from _entry(argument, options)
    yield from ("", "Options of hapgpu call:", *_listed(map(_with_value, OWN_OPTIONS.values())))
    fixed, without, refused = (
        [one for topic in TOPICS.values() for one in topic if one.effect == effect]
        for effect in (Effect.DEFAULT, Effect.NONE, Effect.REFUSED)
    )
    yield from ("", "Only GATK's default:")
    yield from _listed(f"--{one.name} {one.default}" for one in fixed)
    yield from ("", "No effect, as those that need a refused argument:")
    yield from _listed(f"--{one.name}" for one in without if not one.reason.startswith("only "))
    yield from ("", "Refused:", *_listed(f"--{one.name}" for one in refused))
    yield from ("", "Examples:", *(f"  {line}".rstrip() for line in _EXAMPLES.splitlines()))
    yield from ("", "hapgpu call --help: the options of call, and their limits.")


def _entry(argument: Argument, options: Mapping[str, Parameter]) -> Iterator[str]:
    """Yield the lines of an argument: its names, and its meaning."""
    shown = f"  {argument.shown} {argument.value}".rstrip()
    lines = _wrapped(meaning(argument, options), " " * _COLUMN)
    if len(shown) + 2 > _COLUMN:
        yield from (shown, *lines)
    else:
        yield from (shown + lines[0][len(shown) :], *lines[1:])


def meaning(argument: Argument, options: Mapping[str, Parameter]) -> str:
    """Return the meaning of an argument, or why it has no effect, in words of plain text.

    Parameters
    ----------
    argument
        Any.
    options
        The options of `call` by each of their names.
    """
    match argument.effect:
        case Effect.OBEYED:
            option = options.get(argument.option)
            words = _MEANINGS.get(argument.name) or (option.text if option else argument.option)
            return words + (f" [{argument.default}]" if argument.default else "")
        case Effect.DEFAULT:
            reason = f" ({argument.reason})" if argument.reason else ""
            return f"only {argument.default}{reason}"
        case _:
            return argument.reason


_MEANINGS: Final = {
    "input": "Reads: BAM, CRAM or SAM; repeatable.",
    "reference": "Reference: FASTA with its index.",
    "output": "Output file; .gz is bgzipped and indexed.",
    "emit-ref-confidence": "Write a genomic VCF, or each position of one.",
    "arguments_file": "File with more arguments; they come first.",
    "comparison": "Flag variants of this VCF: --comp:NAME FILE; repeatable.",
    "pcr-indel-model": "Limit gap-open qualities in tandem repeats; NONE: PCR-free reads.",
}
"""Meanings of arguments that are written differently in `call`."""


def _with_value(argument: Argument) -> str:
    return f"--{argument.name} {argument.value}".rstrip()


def _listed(items: Iterable[str]) -> list[str]:
    """Return the lines of a list; an item with a space stays on one line."""
    text = " ".join(item.replace(" ", "\0") for item in items)
    return [line.replace("\0", " ") for line in _wrapped(text, "  ")]


def _wrapped(text: str, indent: str) -> list[str]:
    return wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def described_tool(call: Description) -> Description:
    """Return the description of the tool for the completion of shells: long names only.

    Parameters
    ----------
    call
        The description of the command `call`.
    """
    options = _by_name(call)
    arguments = [*(one for topic in TOPICS.values() for one in topic), *OWN_OPTIONS.values()]
    # A refused argument is not worth completing.
    offered = [one for one in arguments if one.effect != Effect.REFUSED]
    shown = (Parameter((f"--{one.name}",), one.value, meaning(one, options)) for one in offered)
    return Description((TOOL,), SUMMARY, SUMMARY, _EXAMPLES, (), (*shown, HELP))
