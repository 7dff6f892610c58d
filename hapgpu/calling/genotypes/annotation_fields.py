"""INFO fields of calls: one definition for the header, the statistics and the lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class InfoField:
    """Definition of an INFO field.

    Attributes
    ----------
    name, number, type, description
        As in the header.
    decimals
        Decimals of a statistic, which is a column of `Annotations.values`; None for the fields that
        are counts, or made of counts.
    """

    name: str
    number: str
    type: str
    description: str
    decimals: int | None = None


def _rank_sum(name: str, values: str) -> InfoField:
    text = f"Z score of Wilcoxon's rank sum test of ALT against REF: {values}"
    return InfoField(name, "1", "Float", text, 3)


INFO_FIELDS: Final = (
    InfoField("AC", "A", "Integer", "Copies of each ALT allele in the genotypes"),
    InfoField("AF", "A", "Float", "Fraction of each ALT allele in the genotypes"),
    InfoField("AN", "1", "Integer", "Alleles in the genotypes"),
    _rank_sum("BaseQRankSum", "base qualities"),
    InfoField("DP", "1", "Integer", "Reads of all samples, also uninformative ones"),
    InfoField(
        "ExcessHet",
        "1",
        "Float",
        "Phred-scaled p-value of an exact test of excess heterozygosity",
        4,
    ),
    InfoField("FS", "1", "Float", "Phred-scaled p-value of Fisher's exact test of strand bias", 3),
    InfoField("MLEAC", "A", "Integer", "Maximum likelihood estimate of AC"),
    InfoField("MLEAF", "A", "Float", "Maximum likelihood estimate of AF"),
    InfoField("MQ", "1", "Float", "Root mean square of the mapping qualities", 2),
    _rank_sum("MQRankSum", "mapping qualities"),
    InfoField("QD", "1", "Float", "QUAL per read of samples with a variant", 2),
    _rank_sum("ReadPosRankSum", "distances from the end of the read"),
    InfoField("SOR", "1", "Float", "Symmetric odds ratio of a strand bias", 3),
)
"""All INFO fields, in the order of the lines."""

FIELDS: Final = tuple(field for field in INFO_FIELDS if field.decimals is not None)
"""The fields of `Annotations.values`, in the order of its columns."""
