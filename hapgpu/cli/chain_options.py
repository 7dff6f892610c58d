"""The options of `hapgpu chain`, which are minimap2's letters, and what they come to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from hapgpu.chaining.options import (
    LONGEST_KMER,
    PRESETS,
    WIDEST_BAND,
    WIDEST_WINDOW,
    MapOptions,
    RegionOptions,
    SketchOptions,
    preset,
)
from hapgpu.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Options = TypeVar("_Options", bound="DataclassInstance")

_MINIMIZERS: Final = "Minimizers"
_SEEDS: Final = "Seeds"
_CHAINS: Final = "Chains"
_REGIONS: Final = "Which chains are written"
_UNITS: Final = {"k": 1e3, "m": 1e6, "g": 1e9}
_LARGEST: Final = 2**31 - 1


class YesNo(StrEnum):
    """What `--secondary` takes."""

    YES = "yes"
    NO = "no"


def parse_bases(text: str | int) -> int:
    """Read a number of bases as minimap2 does: `5000`, `5k`, `1.5m`.

    Raises
    ------
    typer.BadParameter
        It is no number, or one below 0 or above 2**31 - 1.
    """
    digits = str(text).strip().lower()
    unit = _UNITS.get(digits[-1:], 1.0)
    return int(_number(digits[:-1] if unit > 1 else digits) * unit)


@dataclass(frozen=True, slots=True)
class OneOrTwo:
    """A number, and a second one that may be left out."""

    first: int | None = None
    second: int | None = None


def parse_one_or_two(text: str) -> OneOrTwo:
    """Read `A` or `A,B`, each as `parse_bases` does."""
    first, comma, second = text.partition(",")
    return OneOrTwo(parse_bases(first), parse_bases(second) if comma else None)


def parse_repetitive(text: str | float) -> float:
    """Read `-f`: a fraction, or a number of occurrences.

    Raises
    ------
    typer.BadParameter
        It is no number, or there is a second one, which is for short reads.
    """
    first, comma, _ = str(text).partition(",")
    if comma:
        raise typer.BadParameter(f"'{text}': a second number is for short reads only")
    value = _number(first)
    return float(int(value + 0.499)) if value >= 1 else value


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is no number") from None
    if not 0 <= value <= _LARGEST:
        raise typer.BadParameter(f"{text} is not between 0 and {_LARGEST:,}")
    return value


def adjusted(options: _Options, **given: Any) -> _Options:
    """Return the options, with those in the place of others that are not None."""
    changes = {name: value for name, value in given.items() if value is not None}
    return replace(options, **changes)


def chosen_sketch(
    name: str | None, kmer: int | None, window: int | None, *, hpc: bool
) -> SketchOptions:
    """Return which k-mers are minimizers, by a preset and what was given besides."""
    base = preset(name or "map-ont").sketch
    return adjusted(base, k=kmer, w=window, is_hpc=hpc or None)


def check_options(options: MapOptions) -> None:
    """Refuse what minimap2 refuses, or what would mean nothing.

    Raises
    ------
    UsageError
        Two options contradict each other, or a number is out of range.
    """
    chains, regions = options.chains, options.regions
    if chains.bandwidth > chains.long_bandwidth:
        raise UsageError(
            f"-r {chains.bandwidth},{chains.long_bandwidth}:"
            " the second number must not be smaller than the first"
        )
    if chains.long_bandwidth > WIDEST_BAND:
        raise UsageError(f"-r: {chains.long_bandwidth:,} is more than {WIDEST_BAND:,}")
    if regions.all_chains and not regions.prints_secondary:
        raise UsageError("-P and --secondary=no contradict each other")


def without_secondary(options: RegionOptions) -> RegionOptions:
    """Return what minimap2 makes of `-N 0`: secondary chains are found, but not written."""
    if options.most_secondary > 0:
        return options
    return replace(options, most_secondary=RegionOptions().most_secondary, prints_secondary=False)


Preset = Annotated[
    str | None,
    typer.Option(
        "-x", "--preset", metavar="|".join(PRESETS), help="Kind of reads; otherwise map-ont."
    ),
]
Kmer = Annotated[
    int | None,
    typer.Option(
        "-k",
        min=1,
        max=LONGEST_KMER,
        metavar="INT",
        help="Bases of a k-mer [15; accurate and compressed reads 19].",
        rich_help_panel=_MINIMIZERS,
    ),
]
Window = Annotated[
    int | None,
    typer.Option(
        "-w",
        min=1,
        max=WIDEST_WINDOW,
        metavar="INT",
        help="K-mers of a window [10; accurate reads 19].",
        rich_help_panel=_MINIMIZERS,
    ),
]
Compressed = Annotated[
    bool,
    typer.Option(
        "-H", help="A run of equal bases counts as one base [map-pb].", rich_help_panel=_MINIMIZERS
    ),
]
Repetitive = Annotated[
    float | None,
    typer.Option(
        "-f",
        metavar="FLOAT|INT",
        parser=parse_repetitive,
        help="Fraction of the most frequent minimizers to leave out, or the number of "
        "occurrences above which one is left out [0.0002].",
        rich_help_panel=_SEEDS,
    ),
]
Cutoffs = Annotated[
    OneOrTwo | None,
    typer.Option(
        "-U",
        metavar="INT[,INT]",
        parser=parse_one_or_two,
        help="Bounds of the number of occurrences that -f gives [10,1000000; accurate reads "
        "50,500].",
        rich_help_panel=_SEEDS,
    ),
]
OccurrenceDistance = Annotated[
    int | None,
    typer.Option(
        "-e",
        metavar="INT",
        parser=parse_bases,
        help="Keep a repetitive minimizer every so many bases of a read; 0 keeps none [500].",
        rich_help_panel=_SEEDS,
    ),
]
ReadFraction = Annotated[
    float | None,
    typer.Option(
        "--q-occ-frac",
        metavar="FLOAT",
        help="Leave out a minimizer that makes up more than this share of a read's; 0 leaves "
        "out none [0.01].",
        rich_help_panel=_SEEDS,
    ),
]
Gap = Annotated[
    int | None,
    typer.Option(
        "-g",
        metavar="INT",
        parser=parse_bases,
        help="Bases between neighbouring anchors, at most [5000; accurate reads 10000].",
        rich_help_panel=_CHAINS,
    ),
]
Bandwidths = Annotated[
    OneOrTwo | None,
    typer.Option(
        "-r",
        metavar="INT[,INT]",
        parser=parse_one_or_two,
        help="How far diagonals of neighbours may differ, in chaining and in joining chains "
        "[500,20000].",
        rich_help_panel=_CHAINS,
    ),
]
LeastCount = Annotated[
    int | None,
    typer.Option(
        "-n",
        min=0,
        metavar="INT",
        help="Anchors of a chain, at least [3].",
        rich_help_panel=_CHAINS,
    ),
]
LeastScore = Annotated[
    int | None,
    typer.Option(
        "-m",
        min=0,
        metavar="INT",
        help="Score of a chain, at least [40].",
        rich_help_panel=_CHAINS,
    ),
]
MaxSkip = Annotated[
    int | None,
    typer.Option(
        "--max-chain-skip",
        min=0,
        metavar="INT",
        help="Predecessors in vain before the search for one ends [25].",
        rich_help_panel=_CHAINS,
    ),
]
MaxIterations = Annotated[
    int | None,
    typer.Option(
        "--max-chain-iter",
        min=0,
        metavar="INT",
        help="Predecessors that are looked at, at most [5000].",
        rich_help_panel=_CHAINS,
    ),
]
NoLongJoin = Annotated[
    bool,
    typer.Option(
        "--no-long-join", help="Do not join chains over long gaps.", rich_help_panel=_CHAINS
    ),
]
MaskLevel = Annotated[
    float | None,
    typer.Option(
        "-M",
        min=0,
        metavar="FLOAT",
        help="Overlap from which on a chain is secondary to a better one [0.5].",
        rich_help_panel=_REGIONS,
    ),
]
ScoreRatio = Annotated[
    float | None,
    typer.Option(
        "-p",
        min=0,
        max=1,
        metavar="FLOAT",
        help="Score of a secondary chain, in shares of its primary's, at least [0.8].",
        rich_help_panel=_REGIONS,
    ),
]
MostSecondary = Annotated[
    int | None,
    typer.Option(
        "-N",
        min=0,
        metavar="INT",
        help="Secondary chains of a read, at most; 0 is --secondary=no [5].",
        rich_help_panel=_REGIONS,
    ),
]
Secondary = Annotated[
    YesNo,
    typer.Option(
        "--secondary", help="Whether secondary chains are written.", rich_help_panel=_REGIONS
    ),
]
AllChains = Annotated[
    bool,
    typer.Option(
        "-P",
        help="Write every chain, without telling primary from secondary.",
        rich_help_panel=_REGIONS,
    ),
]
NoHashName = Annotated[
    bool,
    typer.Option(
        "--no-hash-name",
        help="Let the name of a read not decide between equal chains.",
        rich_help_panel=_REGIONS,
    ),
]
PafNoHit = Annotated[
    bool,
    typer.Option(
        "--paf-no-hit",
        help="Write a line for reads without a chain too.",
        rich_help_panel=_REGIONS,
    ),
]
