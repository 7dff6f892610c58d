"""The options of `hapgpu bench`, and which of them belong to what is measured."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.numbers import parse_count
from hapgpu.errors import UsageError

_SHORTEST_READS: Final = 100
_CHAIN_DATA: Final = "Chaining"


class Benchmark(StrEnum):
    """What can be measured."""

    REALIGN = "realign"
    PAIRHMM = "pairhmm"
    MAP = "map"
    CHAIN = "chain"
    GENOTYPE = "genotype"
    IO = "io"


class Method(StrEnum):
    """How something is computed that hapgpu can compute in another way too."""

    FM = "fm"
    BACKTRACKING = "backtracking"
    PREDECESSOR = "predecessor"
    SUCCESSOR = "successor"


@dataclass(frozen=True, slots=True)
class Choices:
    """What was given of the options that say what to measure; None where one was not.

    The names are those of the options: `read_length` is `--read-length`.
    """

    batches: str | None = None
    reference: Path | None = None
    reads: str | None = None
    anchors: Path | None = None
    method: Method | None = None
    copies: int | None = None
    bases: int | None = None
    read_length: int | None = None
    error: float | None = None
    preset: str | None = None


_OWNERS: Final = {
    "batches": (Benchmark.PAIRHMM,),
    "reference": (Benchmark.MAP, Benchmark.CHAIN, Benchmark.GENOTYPE),
    "reads": (Benchmark.MAP,),
    "anchors": (Benchmark.CHAIN,),
    "method": (Benchmark.MAP, Benchmark.CHAIN),
    "bases": (Benchmark.CHAIN,),
    "read_length": (Benchmark.CHAIN,),
    "error": (Benchmark.CHAIN,),
    "preset": (Benchmark.CHAIN,),
}
_METHODS: Final = {
    Benchmark.MAP: (Method.FM, Method.BACKTRACKING),
    Benchmark.CHAIN: (Method.PREDECESSOR, Method.SUCCESSOR),
}
_OF_SIMULATED_READS: Final = ("bases", "read_length", "error")


def check_choices(what: Benchmark, choices: Choices) -> None:
    """Refuse options that would change nothing, and their absence where one is needed.

    Raises
    ------
    UsageError
        The message names the option.
    """
    for name, owners in _OWNERS.items():
        if getattr(choices, name) is not None and what not in owners:
            said = " or ".join(owners)
            raise UsageError(f"{_option(name)} is for bench {said}, not for bench {what}")
    if choices.reads is not None and choices.reference is None:
        raise UsageError("--reads are mapped to a reference: give it with --reference FASTA")
    if choices.copies is not None and not _is_repeated(what, choices):
        raise UsageError(
            "--copies repeats what a file holds: give it with --batches, --reads or --anchors, or "
            "for bench genotype"
        )
    if choices.method is not None and choices.method not in _METHODS[what]:
        raise UsageError(f"--method for bench {what} is {' or '.join(_METHODS[what])}")
    if what is Benchmark.CHAIN:
        _check_chain(choices)
    if what is Benchmark.GENOTYPE and choices.reference is None:
        raise UsageError("bench genotype simulates a sample: give --reference FASTA")


def _is_repeated(what: Benchmark, choices: Choices) -> bool:
    is_of_file = choices.batches or choices.reads or choices.anchors
    return what is Benchmark.GENOTYPE or bool(is_of_file)


def _check_chain(choices: Choices) -> None:
    if (choices.reference is None) == (choices.anchors is None):
        raise UsageError("bench chain measures --reference FASTA or --anchors FILE.npz")
    for name in _OF_SIMULATED_READS:
        if choices.anchors is not None and getattr(choices, name) is not None:
            raise UsageError(f"{_option(name)} is for reads, which --anchors does without")
    if choices.method is not None and choices.anchors is None:
        raise UsageError("--method for bench chain is for ready-made anchors: give --anchors")
    if choices.read_length is not None and choices.read_length < _SHORTEST_READS:
        raise UsageError(f"--read-length: at least {_SHORTEST_READS} bases")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


Batches = Annotated[
    str | None,
    typer.Option(
        "--batches",
        metavar="FILE",
        help="Measure the pair-HMM on these text batches; - is standard input.",
    ),
]
Reference = Annotated[
    Path | None,
    typer.Option(
        "--reference",
        metavar="FASTA",
        help="Measure mapping, with the index of this reference where it has one, chaining, or "
        "genotyping of a sample simulated for its longest contig.",
    ),
]
Reads = Annotated[
    str | None,
    typer.Option(
        "--reads",
        metavar="FASTQ",
        help="Map these reads, not simulated ones; - is standard input.",
    ),
]
AnchorFile = Annotated[
    Path | None,
    typer.Option(
        "--anchors",
        metavar="FILE.npz",
        help="Measure the scoring of ready-made anchors (arrays x, y, offsets).",
        rich_help_panel=_CHAIN_DATA,
    ),
]
HowComputed = Annotated[
    Method | None,
    typer.Option(
        "--method",
        help="How hits are searched: as map does (fm), or as Seide 2012 (backtracking); how "
        "anchors are scored: as chain does (predecessor), or as mm2-ax (successor; GPU only).",
    ),
]
Copies = Annotated[
    int | None,
    typer.Option(
        "--copies",
        metavar="N",
        min=1,
        help="Take what the file holds, or the sample to genotype, so often.",
    ),
]
Bases = Annotated[
    int | None,
    typer.Option(
        "--bases",
        metavar="INT",
        parser=parse_count,
        help="Of simulated reads to chain, such as 200m [20m; a GPU 1g].",
        rich_help_panel=_CHAIN_DATA,
    ),
]
ReadLength = Annotated[
    int | None,
    typer.Option(
        "--read-length",
        metavar="INT",
        parser=parse_count,
        help="Mean length of simulated reads to chain [10k].",
        rich_help_panel=_CHAIN_DATA,
    ),
]
ErrorRate = Annotated[
    float | None,
    typer.Option(
        "--error",
        metavar="FLOAT",
        min=0,
        max=1,
        help="Share of wrong bases in simulated reads to chain [0.08].",
        rich_help_panel=_CHAIN_DATA,
    ),
]
