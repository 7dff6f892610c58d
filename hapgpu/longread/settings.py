"""Settings of a user, as the options of `hapgpu chain` take them, to `LongReadOptions`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, TypeVar

from hapgpu.errors import UsageError
from hapgpu.longread.options import (
    ANCHOR_BYTES,
    MAX_DROP,
    MAX_GAP_COSTS,
    MAX_SCORE,
    WIDEST_BAND,
    AlignOptions,
    LongReadOptions,
    MappingOptions,
    SketchOptions,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Options = TypeVar("_Options", bound="DataclassInstance")

OneOrTwo: TypeAlias = int | tuple[int, int]
"""A number, or two."""


class SketchSettings(TypedDict, total=False):
    """Settings of minimizers.

    Attributes
    ----------
    kmer, window
        `-k`, `-w`: k-mer length in bases, and k-mers per window.
    hpc
        `-H`: use homopolymer-compressed k-mers, as map-pb does.
    """

    kmer: int
    window: int
    hpc: bool


class MapSettings(TypedDict, total=False):
    """Settings of seeds, chains and mappings; by default those of the preset.

    Attributes
    ----------
    repetitive
        `-f`: most frequent fraction of minimizers, treated as repetitive; 1 or more: the cutoff.
    cutoffs
        `-U`: bounds of the cutoff that a fraction gives; a single number is the lower bound.
    occurrence_distance
        `-e`: use one repetitive minimizer per this many bases of a read; 0: none.
    read_fraction
        `--q-occ-frac`: exclude minimizers that a read has more often than the cutoff and this
        fraction; 0: none.
    max_gap
        `-g`: maximum distance in bases between neighbouring anchors.
    bandwidths
        `-r`: bandwidths of chaining and of the long join; a single number is for chaining.
    min_count, min_score
        `-n`, `-m`: minimum number of anchors, and minimum score, of a chain.
    max_skip, max_iterations
        `--max-chain-skip`, `--max-chain-iter`: limits on the predecessors visited.
    no_long_join
        Do not join chains over long gaps.
    mask_level
        `-M`: a mapping is secondary if it overlaps a better one by more than this fraction.
    score_ratio
        `-p`: minimum score of a secondary mapping, as a fraction of its primary's.
    max_secondary
        `-N`: maximum secondary mappings per read; 0: as `secondary=False`.
    secondary
        Whether to return secondary mappings.
    all_chains
        `-P`: return all mappings; none is primary, the mapping qualities are 0.
    no_hash_name
        Break ties without the name of the read.
    max_record
        Bytes that the anchors of a read may take, 16 each, if that is more than the usual limit.
    """

    repetitive: float
    cutoffs: OneOrTwo
    occurrence_distance: int
    read_fraction: float
    max_gap: int
    bandwidths: OneOrTwo
    min_count: int
    min_score: int
    max_skip: int
    max_iterations: int
    no_long_join: bool
    mask_level: float
    score_ratio: float
    max_secondary: int
    secondary: bool
    all_chains: bool
    no_hash_name: bool
    max_record: int


class AlignSettings(MapSettings, total=False):
    """Settings of base alignment, besides `MapSettings`; by default those of the preset.

    Attributes
    ----------
    match, mismatch, transition, ambiguous
        `-A`, `-B`, `-b`, `--score-N`: score of a match, costs of other pairs of bases.
    gap_open, gap_extend
        `-O`, `-E`: costs of gaps; a gap of k bases costs the smaller of O1+k*E1 and O2+k*E2.
    drops
        `-z`: largest drop of the score within an alignment, and to look for inversions.
    min_dp_score
        `-s`: minimum score of the best part of an alignment.
    end_bonus
        `--end-bonus`: score for reaching the end of the read.
    cap_sw_mem
        `--cap-sw-mem`: do not align pieces with more cells than this; 0: no limit.
    min_dp_len
        `--min-dp-len`: fewest bases between two anchors that are aligned on their own.
    no_end_flt
        `--no-end-flt`: keep unreliable anchors at the ends of chains.
    eqx
        `--eqx`: CIGARs with = and X, not M.
    """

    match: int
    mismatch: int
    transition: int
    ambiguous: int
    gap_open: OneOrTwo
    gap_extend: OneOrTwo
    drops: OneOrTwo
    min_dp_score: int
    end_bonus: int
    cap_sw_mem: int
    min_dp_len: int
    no_end_flt: bool
    eqx: bool


def sketch_options(base: SketchOptions, settings: SketchSettings) -> SketchOptions:
    """Return the options of a preset, changed by settings."""
    return _changed(
        base,
        k=settings.get("kmer"),
        w=settings.get("window"),
        is_hpc=settings.get("hpc"),
    )


def long_read_options(base: LongReadOptions, settings: AlignSettings) -> LongReadOptions:
    """Return the options of a preset, changed by settings.

    Raises
    ------
    UsageError
        Settings contradict each other, or scores are out of range.
    """
    low, high = _two(settings.get("cutoffs"))
    narrow, wide = _two(settings.get("bandwidths"))
    options = replace(
        base,
        seeds=_changed(base.seeds, settings, min_cutoff=low, max_cutoff=high),
        chains=_changed(
            base.chains,
            settings,
            bandwidth=narrow,
            long_bandwidth=wide,
            joins=not settings.get("no_long_join"),
        ),
        mappings=_changed(
            base.mappings,
            settings,
            prints_secondary=settings.get("secondary"),
            uses_names=not settings.get("no_hash_name"),
        ),
        max_anchors=max(base.max_anchors, settings.get("max_record", 0) // ANCHOR_BYTES),
        align=_align_options(base.align, settings),
    )
    _check(options)
    return replace(options, mappings=_without_secondary(options.mappings))


def _align_options(base: AlignOptions, settings: AlignSettings) -> AlignOptions:
    others = {name: value for name, value in settings.items() if name != "min_score"}  # of chains
    options = _changed(
        base,
        others,
        **_both("gap_open", "gap_open2", settings.get("gap_open")),
        **_both("gap_extend", "gap_extend2", settings.get("gap_extend")),
        **_both("drop", "inversion_drop", settings.get("drops")),
        min_score=settings.get("min_dp_score"),
        max_cells=settings.get("cap_sw_mem"),
        min_piece=settings.get("min_dp_len"),
        filters_ends=not settings.get("no_end_flt"),
    )
    _check_scores(options)
    return options


_NONE: Final[Mapping[str, object]] = {}


def _changed(options: _Options, settings: Mapping[str, Any] = _NONE, **others: Any) -> _Options:
    """Return options with the values that are not None: of settings of equal names, and others."""
    names = {each.name for each in fields(options)}
    given = {name: value for name, value in settings.items() if name in names} | others
    return replace(options, **{name: value for name, value in given.items() if value is not None})


def _two(given: OneOrTwo | None) -> tuple[int | None, int | None]:
    return given if isinstance(given, tuple) else (given, None)


def _both(first: str, second: str, given: OneOrTwo | None) -> dict[str, int | None]:
    """Return the values of two options; a single number is the value of both."""
    one, other = given if isinstance(given, tuple) else (given, given)
    return {first: one, second: other}


def _check(options: LongReadOptions) -> None:
    """Refuse options that minimap2 refuses, or that have no effect."""
    narrow, wide = options.chains.bandwidth, options.chains.long_bandwidth
    if narrow > wide:
        raise UsageError(f"-r {narrow},{wide}: the first number is larger; reduce it")
    if wide > WIDEST_BAND:
        raise UsageError(f"-r {narrow},{wide}: must be at most {WIDEST_BAND:,}")
    mappings = options.mappings
    if mappings.all_chains and not (mappings.prints_secondary and mappings.max_secondary):
        raise UsageError("-P: contradicts --secondary=no or -N 0; drop one of them")


def _without_secondary(options: MappingOptions) -> MappingOptions:
    """Return the options with `-N 0` as in minimap2: secondary mappings are found, not written."""
    if options.max_secondary > 0:
        return options
    return replace(options, max_secondary=MappingOptions().max_secondary, prints_secondary=False)


def _check_scores(options: AlignOptions) -> None:
    """Refuse scores that minimap2 refuses, or that leave the range of its scores."""
    _check_gaps(options)
    _check_bases(options)
    if options.drop < options.inversion_drop:
        raise UsageError(
            f"-z {options.drop},{options.inversion_drop}: the second number is larger; reduce it"
        )
    for option, score in (("-z", options.drop), ("--end-bonus", options.end_bonus)):
        if score > MAX_DROP:
            raise UsageError(f"{option} {score}: must be at most {MAX_DROP:,}")


def _check_gaps(options: AlignOptions) -> None:
    """Refuse costs of gaps."""
    opens = (options.gap_open, options.gap_open2)
    extends = (options.gap_extend, options.gap_extend2)
    if min(*opens, *extends) <= 0:
        raise UsageError(f"{_gap_costs(options)}: gap costs must be at least 1; increase them")
    first, second = opens[0] + extends[0], opens[1] + extends[1]
    if (opens[0] != opens[1] or extends[0] != extends[1]) and not (
        extends[0] > extends[1] and first < second
    ):
        raise UsageError(
            f"{_gap_costs(options)}: the second costs must be less to extend and more for one"
            " base; swap them"
        )
    if first + second > MAX_GAP_COSTS:
        raise UsageError(
            f"{_gap_costs(options)}: their sum must be at most {MAX_GAP_COSTS}; reduce them"
        )


def _check_bases(options: AlignOptions) -> None:
    """Refuse scores of two bases; the costs of gaps are legal."""
    one_base = options.gap_open + options.gap_extend
    for option, cost in (("-B", options.mismatch), ("-b", options.transition)):
        if cost > 2 * one_base:
            raise UsageError(
                f"{option} {cost}: must be at most {2 * one_base}, twice the cost of a gap of one"
                " base; reduce it"
            )
    is_single = options.gap_open == options.gap_open2
    most = MAX_SCORE - (2 * one_base if is_single else one_base)
    if not 1 <= options.match <= most:
        raise UsageError(
            f"-A {options.match}: must be from 1 to {most} with {_gap_costs(options)}; change it"
        )
    if options.ambiguous >= options.mismatch:
        raise UsageError(
            f"--score-N {options.ambiguous}: must be less than -B {options.mismatch}; reduce it"
        )


def _gap_costs(options: AlignOptions) -> str:
    return (
        f"-O {options.gap_open},{options.gap_open2} -E {options.gap_extend},{options.gap_extend2}"
    )
