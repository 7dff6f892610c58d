"""Options of `call` on the reads that it uses, by the names of GATK."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from hapgpu.calling.options import CallOptions
from hapgpu.calling.read_options import MoreFilter, ReadOptions
from hapgpu.cli.options.calling.filter_names import MAPPING_QUALITY, chosen_filters
from hapgpu.cli.options.common import MinMappingQuality
from hapgpu.errors import UsageError

logger = logging.getLogger(__name__)

_READS: Final = "Which reads"
_MAX_LENGTH: Final = 2**31 - 1
_DEFAULT: Final = ReadOptions()
_FIELD: Final = 2
_DEFAULTS: Final = CallOptions()
_MANY: Final = 10**6

WARNINGS: Final = {
    name.excluded: f"reads excluded: --read-filter {name.value}" for name in MoreFilter
}
"""The words after the number of reads that a filter excludes, by the name of the count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadChoice:
    """The options that select reads, and what is done with their qualities."""

    min_mapping_quality: MinMappingQuality = _DEFAULTS.min_mapping_quality
    max_reads_per_start: Annotated[
        int,
        typer.Option(
            "--max-reads-per-start",
            "--max-reads-per-alignment-start",
            metavar="INT",
            min=0,
            max=_MANY,
            help="Reads of a sample used per start position, at most; 0: all.",
            rich_help_panel=_READS,
        ),
    ] = _DEFAULTS.max_reads_per_start
    read_filter: Annotated[
        list[str] | None,
        typer.Option(
            "--read-filter",
            metavar="NAME",
            help="Also apply this read filter of GATK; repeatable.",
            rich_help_panel=_READS,
        ),
    ] = None
    disable_read_filter: Annotated[
        list[str] | None,
        typer.Option(
            "--disable-read-filter",
            metavar="NAME",
            help="Do not apply this default read filter of GATK; repeatable.",
            rich_help_panel=_READS,
        ),
    ] = None
    disable_default_filters: Annotated[
        bool,
        typer.Option(
            "--disable-tool-default-read-filters",
            help="Apply only the filters of --read-filter.",
            rich_help_panel=_READS,
        ),
    ] = False
    min_read_length: Annotated[
        int | None,
        typer.Option(
            "--min-read-length",
            metavar="INT",
            min=0,
            max=_MAX_LENGTH,
            help="ReadLengthReadFilter: exclude reads with fewer bases.",
            show_default=str(_DEFAULT.min_length),
            rich_help_panel=_READS,
        ),
    ] = None
    max_read_length: Annotated[
        int | None,
        typer.Option(
            "--max-read-length",
            metavar="INT",
            min=0,
            max=_MAX_LENGTH,
            help="ReadLengthReadFilter: exclude reads with more bases.",
            rich_help_panel=_READS,
        ),
    ] = None
    filter_too_short: Annotated[
        int | None,
        typer.Option(
            "--filter-too-short",
            metavar="INT",
            min=0,
            max=_MAX_LENGTH,
            help="OverclippedReadFilter: exclude clipped reads with fewer aligned bases.",
            show_default=str(_DEFAULT.min_aligned_bases),
            rich_help_panel=_READS,
        ),
    ] = None
    one_soft_clip: Annotated[
        bool,
        typer.Option(
            "--dont-require-soft-clips-both-ends",
            help="OverclippedReadFilter: exclude also reads clipped at one end only.",
            rich_help_panel=_READS,
        ),
    ] = False
    sample: Annotated[
        list[str] | None,
        typer.Option(
            "--sample",
            metavar="NAME",
            help="SampleReadFilter: keep reads of this sample; repeatable.",
            rich_help_panel=_READS,
        ),
    ] = None
    keep_read_group: Annotated[
        str | None,
        typer.Option(
            "--keep-read-group",
            metavar="ID",
            help="ReadGroupReadFilter: keep reads of this read group.",
            rich_help_panel=_READS,
        ),
    ] = None
    read_group_black_list: Annotated[
        list[str] | None,
        typer.Option(
            "--read-group-black-list",
            metavar="FIELD:VALUE",
            help="ReadGroupBlackListReadFilter: exclude these read groups, such as PU:lane1; "
            "repeatable.",
            rich_help_panel=_READS,
        ),
    ] = None
    sample_name: Annotated[
        str | None,
        typer.Option(
            "--sample-name",
            metavar="NAME",
            help="Call only this sample.",
            rich_help_panel=_READS,
        ),
    ] = None
    keep_overlap_qualities: Annotated[
        bool,
        typer.Option(
            "--do-not-correct-overlapping-quality",
            help="Do not lower base qualities where mates overlap.",
            rich_help_panel=_READS,
        ),
    ] = False


def read_options(choice: ReadChoice) -> ReadOptions:
    """Return the options on reads; warn of names without effect.

    Raises
    ------
    UsageError
        A filter is unknown, not supported, named twice, or lacks an argument; or an argument
        belongs to a filter that is off, or has no meaning.
    """
    names = chosen_filters(
        choice.read_filter or (),
        choice.disable_read_filter or (),
        without_defaults=choice.disable_default_filters,
    )
    arguments = _arguments(choice)
    _check_arguments(arguments, names.more)
    low = _DEFAULT.min_length if choice.min_read_length is None else choice.min_read_length
    high = _DEFAULT.max_length if choice.max_read_length is None else choice.max_read_length
    if low > high:
        raise UsageError(f"--min-read-length {low}: above --max-read-length {high}; correct one")
    short = choice.filter_too_short
    return ReadOptions(
        exclude_flags=names.exclude_flags,
        takes_unknown_mapping_quality=names.takes_unknown_mapping_quality,
        filters=names.more,
        min_length=low,
        max_length=high,
        min_aligned_bases=_DEFAULT.min_aligned_bases if short is None else short,
        soft_clips=1 if choice.one_soft_clip else _DEFAULT.soft_clips,
        samples=frozenset(choice.sample or ()),
        read_group=choice.keep_read_group or "",
        black_list=tuple(map(_listed, choice.read_group_black_list or ())),
        only_sample=choice.sample_name,
    )


def lowest_mapping_quality(choice: ReadChoice) -> int:
    """Return the lowest MAPQ of reads that are used: 0 without the filter of GATK for it.

    Warns if another one than the default is given without it.
    """
    given = choice.min_mapping_quality
    off = choice.disable_read_filter or ()
    on = choice.read_filter or ()
    is_off = choice.disable_default_filters and MAPPING_QUALITY not in on
    if not is_off and MAPPING_QUALITY not in off:
        return given
    if given != _DEFAULTS.min_mapping_quality:
        logger.warning("--min-mapping-quality: no effect without %s", MAPPING_QUALITY)
    return 0


def _arguments(choice: ReadChoice) -> Mapping[str, tuple[MoreFilter, bool, bool]]:
    """Return for each argument its filter, whether it is given, and whether the filter needs it."""
    return {
        "--min-read-length": (MoreFilter.LENGTH, choice.min_read_length is not None, False),
        "--max-read-length": (MoreFilter.LENGTH, choice.max_read_length is not None, True),
        "--filter-too-short": (MoreFilter.OVERCLIPPED, choice.filter_too_short is not None, False),
        "--dont-require-soft-clips-both-ends": (
            MoreFilter.OVERCLIPPED,
            choice.one_soft_clip,
            False,
        ),
        "--sample": (MoreFilter.SAMPLE, bool(choice.sample), True),
        "--keep-read-group": (MoreFilter.READ_GROUP, choice.keep_read_group is not None, True),
        "--read-group-black-list": (
            MoreFilter.BLACK_LIST,
            bool(choice.read_group_black_list),
            True,
        ),
    }


def _check_arguments(
    arguments: Mapping[str, tuple[MoreFilter, bool, bool]], filters: tuple[MoreFilter, ...]
) -> None:
    for option, (name, is_given, is_needed) in arguments.items():
        if is_given and name not in filters:
            raise UsageError(f"{option}: no effect without --read-filter {name}; add it")
        if is_needed and not is_given and name in filters:
            raise UsageError(f"--read-filter {name}: needs {option}; add it")


def _listed(text: str) -> tuple[str, str]:
    """Return the field of an @RG line, and its value."""
    field, colon, value = text.partition(":")
    if not colon or len(field) != _FIELD:
        raise UsageError(
            f"--read-group-black-list {text}: not FIELD:VALUE; give two letters of an @RG line and "
            "a value, such as PU:lane1"
        )
    return field, value
