"""Names of read filters on the command line, as GATK resolves them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hapgpu.calling.read_options import MoreFilter, ReadOptions
from hapgpu.errors import UsageError

logger = logging.getLogger(__name__)

MAPPING_QUALITY: Final = "MappingQualityReadFilter"
_KNOWN_QUALITY: Final = "MappingQualityAvailableReadFilter"
_FLAGS: Final = {
    "NotSecondaryAlignmentReadFilter": 0x100,
    "PassesVendorQualityCheckReadFilter": 0x200,
    "NotDuplicateReadFilter": 0x400,
}
_NEVER_USED: Final = ("MappedReadFilter", "NonZeroReferenceLengthAlignmentReadFilter")
"""HaplotypeCaller cannot use the reads that these exclude: disabling them has no effect."""
_NEEDED: Final = ("GoodCigarReadFilter", "WellformedReadFilter")
"""HaplotypeCaller can use the reads that these exclude, but `call` cannot."""
_DEFAULTS: Final = (MAPPING_QUALITY, _KNOWN_QUALITY, *_FLAGS, *_NEVER_USED, *_NEEDED)
_NOT_SUPPORTED: Final = frozenset(
    f"{name}{end}"
    for end, names in {
        "ReadFilter": "AmbiguousBase ContainsKmer ExcessiveEndClipped FirstOfPair "
        "FlowBasedTPAttributeSymetric FlowBasedTPAttributeValid FragmentLength HasReadGroup "
        "HmerQualitySymetric HostAlignment IntervalOverlap Library MarkedOpticalDuplicate "
        "MateDifferentStrand MateDistant MateUnmappedAndUnmapped Metrics "
        "NonChimericOriginalAlignment NonZeroFragmentLength NotOpticalDuplicate NotProperlyPaired "
        "Paired Platform PlatformUnit ReadGroupHasFlowOrder ReadName SecondOfPair SoftClipped "
        "WellformedFlowBased",
        "Filter": "JexlExpressionReadTagValue ReadStrand ReadTagValue",
    }.items()
    for name in names.split()
)
"""The other read filters of GATK."""
_IMPLIED: Final = (
    "AlignmentAgreesWithHeaderReadFilter",
    "AllowAllReadsReadFilter",
    "CigarContainsNoNOperator",
    "MatchingBasesAndQualsReadFilter",
    "ReadLengthEqualsCigarLengthReadFilter",
    "SeqIsStoredReadFilter",
    "ValidAlignmentEndReadFilter",
    "ValidAlignmentStartReadFilter",
)
"""Filters that exclude no read that WellformedReadFilter keeps."""


@dataclass(frozen=True, slots=True)
class FilterChoice:
    """The filters of a run.

    Attributes
    ----------
    exclude_flags, takes_unknown_mapping_quality
        As of `ReadOptions`.
    more
        The filters that are off by default.
    """

    exclude_flags: int
    takes_unknown_mapping_quality: bool
    more: tuple[MoreFilter, ...]


def chosen_filters(
    enabled: Sequence[str], disabled: Sequence[str], *, without_defaults: bool
) -> FilterChoice:
    """Return the filters, as GATK's GATKReadFilterPluginDescriptor; warn of names without effect.

    Parameters
    ----------
    enabled, disabled
        Names of `--read-filter` and `--disable-read-filter`.
    without_defaults
        Whether all default filters are disabled that are not enabled.

    Raises
    ------
    UsageError
        A name is unknown, not supported, or given twice.
    """
    _check_names("--read-filter", enabled)
    _check_names("--disable-read-filter", disabled)
    for name in enabled:
        if name in disabled:
            raise UsageError(f"--read-filter {name}: also in --disable-read-filter; drop one")
        if name in _NOT_SUPPORTED:
            raise UsageError(
                f"--read-filter {name}: not supported; drop it, or filter the reads before (run: "
                "samtools view -e)"
            )
        if name in _IMPLIED or (name in _DEFAULTS and not without_defaults):
            logger.warning("--read-filter %s: no effect, such reads are excluded by default", name)
    for name in disabled:
        if name not in _DEFAULTS:
            logger.warning("--disable-read-filter %s: no effect, off by default", name)
    kept = [name for name in _DEFAULTS if not without_defaults or name in enabled]
    on = [name for name in kept if name not in disabled]
    _check_needed(on, disabled)
    lifted = sum(flag for name, flag in _FLAGS.items() if name not in on)
    more = tuple(MoreFilter(name) for name in enabled if name in [*MoreFilter])
    return FilterChoice(ReadOptions().exclude_flags & ~lifted, _KNOWN_QUALITY not in on, more)


def _check_names(option: str, names: Sequence[str]) -> None:
    known = [*_DEFAULTS, *MoreFilter]
    for number, name in enumerate(names):
        if name not in {*known, *_IMPLIED, *_NOT_SUPPORTED}:
            raise UsageError(
                f"{option} {name}: no such read filter of GATK; choose one of {', '.join(known)}"
            )
        if name in names[:number]:
            raise UsageError(f"{option} {name}: given twice; give it once")


def _check_needed(on: Sequence[str], disabled: Sequence[str]) -> None:
    for name in _NEEDED:
        if name in disabled:
            raise UsageError(
                f"--disable-read-filter {name}: not supported, such reads cannot be used; drop it"
            )
        if name not in on:
            words = " ".join(f"--read-filter {needed}" for needed in _NEEDED)
            raise UsageError(
                f"--disable-tool-default-read-filters: not supported without {words}; add both"
            )
