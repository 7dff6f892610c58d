"""Read filters of `call`, by the names of GATK, and their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_NO_EVIDENCE: Final = 0x704
"""Flags: unmapped, secondary, failed vendor checks, duplicate; supplementary alignments stay."""
_LONGEST: Final = 2**31 - 1


class MoreFilter(StrEnum):
    """Filter that is off by default."""

    NOT_SUPPLEMENTARY = "NotSupplementaryAlignmentReadFilter"
    PROPERLY_PAIRED = "ProperlyPairedReadFilter"
    PRIMARY_LINE = "PrimaryLineReadFilter"
    NOT_ZERO = "MappingQualityNotZeroReadFilter"
    SAME_CONTIG = "MateOnSameContigOrNoMappedMateReadFilter"
    LENGTH = "ReadLengthReadFilter"
    OVERCLIPPED = "OverclippedReadFilter"
    SAMPLE = "SampleReadFilter"
    READ_GROUP = "ReadGroupReadFilter"
    BLACK_LIST = "ReadGroupBlackListReadFilter"

    @property
    def excluded(self) -> str:
        """Name of the count of the reads that it excludes."""
        return f"excluded_by_{self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Options on the reads of a run; the defaults are those of GATK HaplotypeCaller.

    Attributes
    ----------
    exclude_flags
        Reads with any of these SAM flags are excluded.
    takes_unknown_mapping_quality
        Whether reads with MAPQ 255 are used.
    filters
        Other filters, in the order in which they apply.
    min_length, max_length
        Bases of a read that `LENGTH` keeps.
    min_aligned_bases, soft_clips
        `OVERCLIPPED` excludes reads with fewer aligned bases and at least so many soft clips.
    samples
        Samples that `SAMPLE` keeps.
    read_group
        Read group that `READ_GROUP` keeps.
    black_list
        Fields of @RG lines and their values: `BLACK_LIST` excludes read groups that have one.
    only_sample
        The only sample that is called; None: all.
    """

    exclude_flags: int = _NO_EVIDENCE
    takes_unknown_mapping_quality: bool = False
    filters: tuple[MoreFilter, ...] = ()
    min_length: int = 1
    max_length: int = _LONGEST
    min_aligned_bases: int = 30
    soft_clips: int = 2
    samples: frozenset[str] = frozenset()
    read_group: str = ""
    black_list: tuple[tuple[str, str], ...] = ()
    only_sample: str | None = None
