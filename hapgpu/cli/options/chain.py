"""The options of `hapgpu chain`, with minimap2's letters, as groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Annotated, Final, cast

import typer

from hapgpu.cli.options.align import AlignArguments, given_of
from hapgpu.cli.options.numbers import (
    OneOrTwo,
    parse_count,
    parse_fraction,
    parse_one_or_two,
    parse_repetitive,
)
from hapgpu.longread.options import (
    LONGEST_KMER,
    PRESETS,
    WIDEST_WINDOW,
    LongReadOptions,
    SketchOptions,
    preset,
)
from hapgpu.longread.settings import (
    AlignSettings,
    SketchSettings,
    long_read_options,
    sketch_options,
)

DEFAULT_PRESET: Final = next(iter(PRESETS))

_minimizer_option = partial(typer.Option, rich_help_panel="Minimizers")
_seed_option = partial(typer.Option, rich_help_panel="Seeds")
_chain_option = partial(typer.Option, rich_help_panel="Chains")
_mapping_option = partial(typer.Option, rich_help_panel="Which mappings are written")
_COUNT: Final = {"metavar": "INT", "parser": parse_count}
_FRACTION: Final = {"metavar": "FLOAT", "parser": parse_fraction}
_ONE_OR_TWO: Final = {"metavar": "INT[,INT]", "parser": parse_one_or_two}

# Rich takes a bracket before a letter for markup: the defaults in brackets begin with digits.

Preset = Annotated[
    str | None,
    _minimizer_option(
        "-x",
        "--preset",
        metavar="|".join(PRESETS),
        help=f"Preset for the read type; {DEFAULT_PRESET} if not given. lr:hq is map-hifi with the "
        "alignment scores of map-ont.",
    ),
]


class YesNo(StrEnum):
    """Value of `--secondary`."""

    YES = "yes"
    NO = "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class SketchArguments:
    """The options on minimizers; None or False if not given."""

    preset: Preset = None
    kmer: Annotated[
        int | None,
        _minimizer_option(
            "-k",
            min=1,
            max=LONGEST_KMER,
            metavar="INT",
            help="Length of k-mers [15; all but map-ont 19].",
        ),
    ] = None
    window: Annotated[
        int | None,
        _minimizer_option(
            "-w",
            min=1,
            max=WIDEST_WINDOW,
            metavar="INT",
            help="K-mers per window, of which one is the minimizer [10; accurate reads 19].",
        ),
    ] = None
    hpc: Annotated[
        bool,
        _minimizer_option("-H", help="Use homopolymer-compressed k-mers; map-pb does."),
    ] = False

    def sketch_options(self) -> SketchOptions:
        """Return the options of the preset, changed by those given.

        Raises
        ------
        UsageError
            There is no such preset.
        """
        given: SketchSettings = {}
        if self.hpc:
            given["hpc"] = True
        if self.kmer is not None:
            given["kmer"] = self.kmer
        if self.window is not None:
            given["window"] = self.window
        return sketch_options(self._preset().sketch, given)

    def _preset(self) -> LongReadOptions:
        return preset(self.preset or DEFAULT_PRESET)


@dataclass(frozen=True, slots=True, kw_only=True)
class LongReadArguments(SketchArguments):
    """The options on minimizers, seeds, chains and mappings; None if not given."""

    repetitive: Annotated[
        float | None,
        _seed_option(
            "-f",
            metavar="FLOAT|INT",
            parser=parse_repetitive,
            help="Most frequent fraction of minimizers, treated as repetitive; 1 or more: the "
            "cutoff [0.0002].",
        ),
    ] = None
    cutoffs: Annotated[
        OneOrTwo | None,
        _seed_option(
            "-U",
            **_ONE_OR_TWO,
            help="Bounds of the cutoff that -f gives [10,1000000; accurate reads 50,500].",
        ),
    ] = None
    occurrence_distance: Annotated[
        int | None,
        _seed_option(
            "-e",
            **_COUNT,
            help="Use one repetitive minimizer per INT bases of a read; 0: none [500].",
        ),
    ] = None
    read_fraction: Annotated[
        float | None,
        _seed_option(
            "--q-occ-frac",
            **_FRACTION,
            help="Exclude minimizers that a read has more often than the cutoff and this fraction; "
            "0: none [0.01].",
        ),
    ] = None
    max_gap: Annotated[
        int | None,
        _chain_option(
            "-g",
            **_COUNT,
            help="Maximum distance between neighbouring anchors [5000; accurate reads 10000].",
        ),
    ] = None
    bandwidths: Annotated[
        OneOrTwo | None,
        _chain_option("-r", **_ONE_OR_TWO, help="Bandwidth: chaining, long join [500,20000]."),
    ] = None
    min_count: Annotated[
        int | None, _chain_option("-n", **_COUNT, help="Minimum number of anchors of a chain [3].")
    ] = None
    min_score: Annotated[
        int | None, _chain_option("-m", **_COUNT, help="Minimum score of a chain [40].")
    ] = None
    max_skip: Annotated[
        int | None,
        _chain_option(
            "--max-chain-skip",
            **_COUNT,
            help="Stop after INT predecessors that do not improve the score; 1000000000: visit "
            "all [25].",
        ),
    ] = None
    max_iterations: Annotated[
        int | None,
        _chain_option(
            "--max-chain-iter", **_COUNT, help="Visit at most INT predecessors per anchor [5000]."
        ),
    ] = None
    no_long_join: Annotated[
        bool, _chain_option("--no-long-join", help="Do not join chains over long gaps.")
    ] = False
    mask_level: Annotated[
        float | None,
        _mapping_option(
            "-M",
            **_FRACTION,
            help="A mapping is secondary if it overlaps a better one on the read by more than this "
            "fraction [0.5].",
        ),
    ] = None
    score_ratio: Annotated[
        float | None,
        _mapping_option(
            "-p",
            **_FRACTION,
            help="Minimum score of a secondary mapping, as a fraction of its primary's [0.8].",
        ),
    ] = None
    max_secondary: Annotated[
        int | None,
        _mapping_option(
            "-N", **_COUNT, help="Maximum secondary mappings per read; 0: --secondary=no [5]."
        ),
    ] = None
    secondary: Annotated[
        YesNo, _mapping_option("--secondary", help="Write secondary mappings, or do not.")
    ] = YesNo.YES
    all_chains: Annotated[
        bool, _mapping_option("-P", help="Write all mappings; none is primary, MAPQ is 0.")
    ] = False
    no_hash_name: Annotated[
        bool,
        _mapping_option("--no-hash-name", help="Break ties without the name of the read."),
    ] = False
    paf_no_hit: Annotated[
        bool, _mapping_option("--paf-no-hit", help="Write a line for unmapped reads, too.")
    ] = False

    def long_read_options(self, alignment: AlignArguments, max_record: int) -> LongReadOptions:
        """Return the options of the preset, changed by those given.

        Parameters
        ----------
        alignment
            The options on base alignment.
        max_record
            The maximum size of a record, in bytes; the anchors of a read may take as much.

        Raises
        ------
        UsageError
            There is no such preset, options contradict each other, or a number is out of range.
        """
        base = replace(self._preset(), sketch=self.sketch_options())
        settings: AlignSettings = {  # names of other options are ignored
            **cast("AlignSettings", given_of(self)),
            **alignment.settings(),
            "secondary": self.secondary is YesNo.YES,
            "max_record": max_record,
        }
        options = long_read_options(base, settings)
        return replace(options, mappings=replace(options.mappings, prints_unmapped=self.paf_no_hit))
