"""Options of `call` that choose intervals, as in GATK."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.models import OptionInfo

from hapgpu.cli.options.effects import needs
from hapgpu.cli.options.file_kinds import INTERVALS
from hapgpu.cli.options.files import Read
from hapgpu.io.intervals.names import names_file

if TYPE_CHECKING:  # the help imports no NumPy
    from hapgpu.io.intervals.choice import IntervalChoice

_REGIONS: Final = "Which regions"
_MAX_PADDING: Final = 2**31 - 1

INTERVAL_FILES: Final = (
    Read("intervals", expected=INTERVALS, is_path=names_file),
    Read("exclude_intervals", expected=INTERVALS, is_path=names_file),
)
INTERVAL_EFFECTS: Final = (
    needs("intervals", "-L", "interval_padding", "interval_set_rule", "interval_merging_rule"),
    needs("exclude_intervals", "--exclude-intervals", "interval_exclusion_padding"),
)


class SetRule(StrEnum):
    """How the intervals of several -L are combined."""

    UNION = "union"
    INTERSECTION = "intersection"


class MergingRule(StrEnum):
    """Which intervals are merged."""

    ALL = "all"
    OVERLAPPING_ONLY = "overlapping_only"


def _option(*names: str, **settings: Any) -> OptionInfo:
    option: OptionInfo = typer.Option(*names, rich_help_panel=_REGIONS, **settings)
    return option


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalOptions:
    """The options that choose intervals."""

    intervals: Annotated[
        list[str] | None,
        _option(
            "-L",
            "--intervals",
            "--targets-file",
            metavar="FILE|INTERVAL",
            help="Call only these (BED, interval_list, VCF, list or chr:start-end); repeatable; "
            "with -r, both.",
        ),
    ] = None
    exclude_intervals: Annotated[
        list[str] | None,
        _option(
            "--exclude-intervals",
            metavar="FILE|INTERVAL",
            help="Do not call these intervals, given as those of -L; repeatable.",
        ),
    ] = None
    interval_padding: Annotated[
        int,
        _option(
            "--interval-padding",
            metavar="INT",
            min=0,
            max=_MAX_PADDING,
            help="Bases added on both sides of each interval of -L.",
        ),
    ] = 0
    interval_exclusion_padding: Annotated[
        int,
        _option(
            "--interval-exclusion-padding",
            metavar="INT",
            min=0,
            max=_MAX_PADDING,
            help="Bases added on both sides of each excluded interval.",
        ),
    ] = 0
    interval_set_rule: Annotated[
        SetRule,
        _option(
            "--interval-set-rule",
            case_sensitive=False,
            help="Call what any -L has, or what all have.",
        ),
    ] = SetRule.UNION
    interval_merging_rule: Annotated[
        MergingRule,
        _option(
            "--interval-merging-rule",
            case_sensitive=False,
            help="overlapping_only: call intervals that only abut apart.",
        ),
    ] = MergingRule.ALL

    def read(self, max_record: int) -> IntervalChoice:
        """Read the files of the intervals; warn of those without intervals.

        Raises
        ------
        UsageError, InputError
            As `read_choice`.
        """
        from hapgpu.io.intervals.choice import (  # noqa: PLC0415  (imports NumPy)
            IntervalRules,
            read_choice,
        )

        rules = IntervalRules(
            padding=self.interval_padding,
            exclusion_padding=self.interval_exclusion_padding,
            is_intersection=self.interval_set_rule is SetRule.INTERSECTION,
            keeps_abutting=self.interval_merging_rule is MergingRule.OVERLAPPING_ONLY,
        )
        return read_choice(self.intervals or (), self.exclude_intervals or (), rules, max_record)
