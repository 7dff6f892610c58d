"""Options of the qualities that the pair-HMM takes; the defaults are GATK's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MIN_QUALITY: Final = 6
"""GATK's lowest usable quality; lower ones become this."""


class PcrModel(StrEnum):
    """Assumed rate of PCR indel errors, from none to highest; GATK's `--pcr-indel-model`."""

    NONE = "none"
    CONSERVATIVE = "conservative"
    AGGRESSIVE = "aggressive"
    HOSTILE = "hostile"


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityOptions:
    """Options of the preparation; the defaults are GATK's.

    Attributes
    ----------
    gap_open
        Phred, of insertions in reads without the tag `BI` and of deletions in reads without `BD`.
    gap_continuation
        Phred.
    pcr_model
        Limits the gap-open qualities in tandem repeats.
    cap_by_mapping_quality
        Whether to cap base qualities at the mapping quality of the read.
    base_quality_threshold
        Base qualities below this become `MIN_QUALITY`; Phred, at least that.
    """

    gap_open: int = 45
    gap_continuation: int = 10
    pcr_model: PcrModel = PcrModel.CONSERVATIVE
    cap_by_mapping_quality: bool = True
    base_quality_threshold: int = 18
