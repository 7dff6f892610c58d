"""The options of `hapgpu chain`, which are minimap2's letters, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar

import typer

from hapgpu.chaining.options import (
    LONGEST_KMER,
    PRESETS,
    WIDEST_BAND,
    WIDEST_WINDOW,
    MapOptions,
    MappingOptions,
    SketchOptions,
    preset,
)
from hapgpu.cli.options.numbers import (
    OneOrTwo,
    parse_count,
    parse_one_or_two,
    parse_repetitive,
    parse_share,
)
from hapgpu.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Options = TypeVar("_Options", bound="DataclassInstance")
Given: TypeAlias = Mapping[str, Any]
"""Values by the names of fields; None where the user gave none."""

_DEFAULT_PRESET: Final = next(iter(PRESETS))


class YesNo(StrEnum):
    """What `--secondary` takes."""

    YES = "yes"
    NO = "no"


def chosen_options(
    name: str | None, *, sketch: Given, seeds: Given, chains: Given, mappings: Given
) -> MapOptions:
    """Return what the user chose: the options of a preset, with those in their place that he gave.

    Parameters
    ----------
    name
        Of the preset; None is the default.
    sketch, seeds, chains, mappings
        Fields of the parts of `MapOptions`.

    Raises
    ------
    UsageError
        There is no such preset, options contradict each other, or a number is out of range.
    """
    base = preset(name or _DEFAULT_PRESET)
    options = MapOptions(
        sketch=_adjusted(base.sketch, sketch),
        seeds=_adjusted(base.seeds, seeds),
        chains=_adjusted(base.chains, chains),
        mappings=_adjusted(base.mappings, mappings),
    )
    _check(options)
    return replace(options, mappings=_without_secondary(options.mappings))


def chosen_sketch(name: str | None, given: Given) -> SketchOptions:
    """Return which k-mers are minimizers, by a preset and what was given besides."""
    return _adjusted(preset(name or _DEFAULT_PRESET).sketch, given)


def _adjusted(options: _Options, given: Given) -> _Options:
    changes = {name: value for name, value in given.items() if value is not None}
    return replace(options, **changes)


def _check(options: MapOptions) -> None:
    """Refuse what minimap2 refuses, or what would mean nothing."""
    narrow, wide = options.chains.bandwidth, options.chains.long_bandwidth
    if narrow > wide:
        raise UsageError(f"-r {narrow},{wide}: the first number is larger than the second")
    if wide > WIDEST_BAND:
        raise UsageError(f"-r {narrow},{wide}: {wide:,} is more than {WIDEST_BAND:,}")
    mappings = options.mappings
    if mappings.all_chains and not (mappings.prints_secondary and mappings.max_secondary):
        raise UsageError("-P and --secondary=no (or -N 0) contradict each other")


def _without_secondary(options: MappingOptions) -> MappingOptions:
    """Return what minimap2 makes of `-N 0`: secondary chains are found, but not written."""
    if options.max_secondary > 0:
        return options
    return replace(options, max_secondary=MappingOptions().max_secondary, prints_secondary=False)


_minimizer_option = partial(typer.Option, rich_help_panel="Minimizers")
_seed_option = partial(typer.Option, rich_help_panel="Seeds")
_chain_option = partial(typer.Option, rich_help_panel="Chains")
_region_option = partial(typer.Option, rich_help_panel="Which chains are written")
_a_count: Final = {"metavar": "INT", "parser": parse_count}
_a_share: Final = {"metavar": "SHARE", "parser": parse_share}
_a_pair: Final = {"metavar": "INT[,INT]", "parser": parse_one_or_two}

# Rich takes a bracket before a letter for markup: the defaults in brackets begin with digits.

Preset = Annotated[
    str | None,
    _minimizer_option(
        "-x",
        "--preset",
        metavar="|".join(PRESETS),
        help=f"Kind of the reads, which sets the other options; {_DEFAULT_PRESET} if not given. "
        "map-hifi and lr:hq, for accurate reads, are the same.",
    ),
]
Kmer = Annotated[
    int | None,
    _minimizer_option(
        "-k",
        min=1,
        max=LONGEST_KMER,
        metavar="INT",
        help="Bases of a k-mer [15; all but map-ont 19].",
    ),
]
Window = Annotated[
    int | None,
    _minimizer_option(
        "-w",
        min=1,
        max=WIDEST_WINDOW,
        metavar="INT",
        help="K-mers of a window, the least of which is its minimizer [10; accurate reads 19].",
    ),
]
Compressed = Annotated[
    bool,
    _minimizer_option("-H", help="Count a run of equal bases as one base; map-pb does."),
]

Repetitive = Annotated[
    float | None,
    _seed_option(
        "-f",
        metavar="SHARE|INT",
        parser=parse_repetitive,
        help="Share of the reference's minimizers, the most frequent ones, that are repetitive; "
        "from 1 on, the occurrences above which one is [0.0002].",
    ),
]
Cutoffs = Annotated[
    OneOrTwo | None,
    _seed_option(
        "-U",
        **_a_pair,
        help="Least and most occurrences that the share of -f may come to [10,1000000; accurate "
        "reads 50,500].",
    ),
]
OccurrenceDistance = Annotated[
    int | None,
    _seed_option(
        "-e",
        **_a_count,
        help="Use one repetitive minimizer in so many bases of a read; 0 uses none [500].",
    ),
]
ReadFraction = Annotated[
    float | None,
    _seed_option(
        "--q-occ-frac",
        **_a_share,
        help="Leave out a minimizer that is repetitive within the read, and more than this share "
        "of the read's; 0 leaves out none [0.01].",
    ),
]

Gap = Annotated[
    int | None,
    _chain_option(
        "-g",
        **_a_count,
        help="Most bases between neighbouring anchors [5000; accurate reads 10000].",
    ),
]
Bandwidths = Annotated[
    OneOrTwo | None,
    _chain_option(
        "-r",
        **_a_pair,
        help="Most bases by which neighbours may be out of line: in chains, and where chains are "
        "joined [500,20000].",
    ),
]
LeastCount = Annotated[
    int | None, _chain_option("-n", **_a_count, help="Least anchors of a chain [3].")
]
LeastScore = Annotated[
    int | None, _chain_option("-m", **_a_count, help="Least score of a chain [40].")
]
MaxSkip = Annotated[
    int | None,
    _chain_option(
        "--max-chain-skip",
        **_a_count,
        help="Stop looking for a better predecessor of an anchor after so many in vain; "
        "1000000000 looks at all [25].",
    ),
]
MaxIterations = Annotated[
    int | None,
    _chain_option(
        "--max-chain-iter",
        **_a_count,
        help="Look at this many anchors before each one at most [5000].",
    ),
]
NoLongJoin = Annotated[
    bool, _chain_option("--no-long-join", help="Do not join chains over long gaps.")
]

MaskLevel = Annotated[
    float | None,
    _region_option(
        "-M",
        **_a_share,
        help="A chain is secondary if it shares more than this part of the read with a better "
        "one [0.5].",
    ),
]
ScoreRatio = Annotated[
    float | None,
    _region_option(
        "-p",
        **_a_share,
        help="Least score of a secondary chain, as a share of its primary's [0.8].",
    ),
]
MostSecondary = Annotated[
    int | None,
    _region_option(
        "-N", **_a_count, help="Most secondary chains of a read; 0 is --secondary=no [5]."
    ),
]
Secondary = Annotated[YesNo, _region_option("--secondary", help="Write secondary chains, or not.")]
AllChains = Annotated[
    bool, _region_option("-P", help="Write every chain; none is primary, and mapq is 0.")
]
NoHashName = Annotated[
    bool,
    _region_option(
        "--no-hash-name", help="Choose between equal chains without regard to the read's name."
    ),
]
PafNoHit = Annotated[
    bool, _region_option("--paf-no-hit", help="Write a line for a read without a chain too.")
]
