"""Fields of calls: one definition for the header, the annotations and the lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from hapgpu.calling.options import AnnotationOptions


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


def _raw_rank_sum(name: str, values: str) -> InfoField:
    text = f"Z score in bins of 0.1 and its number, of each ALT against REF: {values}"
    return InfoField(name, "1", "String", text)


INFO_FIELDS: Final = (
    InfoField("AC", "A", "Integer", "Copies of each ALT allele in the genotypes"),
    InfoField("AF", "A", "Float", "Fraction of each ALT allele in the genotypes"),
    InfoField("AN", "1", "Integer", "Alleles in the genotypes"),
    InfoField("AS_InbreedingCoeff", "A", "Float", "Inbreeding coefficient of each ALT allele"),
    InfoField("AS_QD", "A", "Float", "QUAL of each ALT allele per read of samples with it"),
    _raw_rank_sum("AS_RAW_BaseQRankSum", "base qualities"),
    InfoField("AS_RAW_MQ", "1", "String", "Sum of squared mapping qualities of each allele"),
    _raw_rank_sum("AS_RAW_MQRankSum", "mapping qualities"),
    _raw_rank_sum("AS_RAW_ReadPosRankSum", "distances from the end of the read"),
    InfoField("AS_SB_TABLE", "1", "String", "Forward and reverse reads of each allele"),
    _rank_sum("BaseQRankSum", "base qualities"),
    _rank_sum("ClippingRankSum", "hard-clipped bases"),
    InfoField("DP", "1", "Integer", "Reads of all samples, also uninformative ones"),
    InfoField("DRAGstrInfo", "2", "Integer", "Bases and copies of the repeated unit"),
    InfoField("DRAGstrParams", "3", "Float", "Gap open, gap continuation and prior of the repeat"),
    InfoField(
        "ExcessHet",
        "1",
        "Float",
        "Phred-scaled p-value of an exact test of excess heterozygosity",
        4,
    ),
    InfoField("FS", "1", "Float", "Phred-scaled p-value of Fisher's exact test of strand bias", 3),
    InfoField(
        "InbreedingCoeff",
        "1",
        "Float",
        "1 less heterozygotes per expected ones, by genotype likelihoods",
        4,
    ),
    _rank_sum("LikelihoodRankSum", "likelihoods of the best alleles"),
    InfoField("MLEAC", "A", "Integer", "Maximum likelihood estimate of AC"),
    InfoField("MLEAF", "A", "Float", "Maximum likelihood estimate of AF"),
    InfoField("MQ", "1", "Float", "Root mean square of the mapping qualities", 2),
    InfoField("MQ0", "1", "Integer", "Reads with mapping quality 0"),
    _rank_sum("MQRankSum", "mapping qualities"),
    InfoField("NDA", "1", "Integer", "ALT alleles found at the site, also those not written"),
    InfoField("QD", "1", "Float", "QUAL per read of samples with a variant", 2),
    InfoField(
        "RAW_MQandDP", "2", "Integer", "Sum of squared mapping qualities, and number of reads"
    ),
    InfoField("RPA", "R", "Integer", "Repeats of the unit RU of each allele"),
    InfoField("RU", "1", "String", "Unit of a tandem repeat"),
    _rank_sum("ReadPosRankSum", "distances from the end of the read"),
    InfoField("SOR", "1", "Float", "Symmetric odds ratio of a strand bias", 3),
    InfoField("STR", "0", "Flag", "The variant changes the length of a tandem repeat"),
)
"""All INFO fields of records, in the order of the lines."""

FIELDS: Final = tuple(field for field in INFO_FIELDS if field.decimals is not None)
"""The fields of `Annotations.values`, in the order of its columns."""

FORMAT_FIELDS: Final = {
    "AD": ("R", "Integer", "Reads that support each allele"),
    "AF": ("A", "Float", "Fraction of the reads in AD that support each ALT allele"),
    "DP": ("1", "Integer", "Reads that support an allele"),
    "SB": ("4", "Integer", "Reads of REF forward, REF reverse, ALT forward, ALT reverse"),
}
"""Number, type and description of fields of samples that annotations make, in their order."""

_RANK_SUMS: Final = {
    "BaseQualityRankSumTest": ("BaseQRankSum",),
    "ClippingRankSumTest": ("ClippingRankSum",),
    "LikelihoodRankSumTest": ("LikelihoodRankSum",),
    "MappingQualityRankSumTest": ("MQRankSum",),
    "ReadPosRankSumTest": ("ReadPosRankSum",),
}
_BOTH: Final[Mapping[str, tuple[str, ...]]] = {
    **_RANK_SUMS,
    "Coverage": ("DP",),
    "ExcessHet": ("ExcessHet",),
    "MappingQualityZero": ("MQ0",),
    "TandemRepeat": ("RPA", "RU", "STR"),
}
INFO_OF_CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    **_BOTH,
    "ChromosomeCounts": ("AC", "AF", "AN"),
    "FisherStrand": ("FS",),
    "InbreedingCoeff": ("InbreedingCoeff",),
    "QualByDepth": ("QD",),
    "RMSMappingQuality": ("MQ",),
    "StrandOddsRatio": ("SOR",),
}
"""INFO fields of GATK's annotations in a VCF."""
GENOMIC_INFO_OF_CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    **_BOTH,
    "RMSMappingQuality": ("RAW_MQandDP",),
    "AS_BaseQualityRankSumTest": ("AS_RAW_BaseQRankSum",),
    "AS_FisherStrand": ("AS_SB_TABLE",),
    "AS_InbreedingCoeff": ("AS_InbreedingCoeff",),
    "AS_MappingQualityRankSumTest": ("AS_RAW_MQRankSum",),
    "AS_QualByDepth": ("AS_QD",),
    "AS_RMSMappingQuality": ("AS_RAW_MQ",),
    "AS_ReadPosRankSumTest": ("AS_RAW_ReadPosRankSum",),
    "AS_StrandOddsRatio": ("AS_SB_TABLE",),
}
"""INFO fields of GATK's annotations in a genomic VCF: raw ones, which the joint tools reduce."""
FORMAT_OF_CLASSES: Final[Mapping[str, str]] = {
    "AlleleFraction": "AF",
    "DepthPerAlleleBySample": "AD",
    "DepthPerSampleHC": "DP",
    "StrandBiasBySample": "SB",
}
"""FORMAT fields of GATK's annotations."""

HEADER_ONLY: Final = frozenset({"AS_InbreedingCoeff", "AS_QD"})
"""Fields that only the header of a genomic VCF has, as GATK's: one sample has no such value."""
DRAGSTR_FIELDS: Final = ("DRAGstrInfo", "DRAGstrParams")
"""Fields of records with an indel, in runs with DRAGstr parameters."""
ALLELE_RANK_SUMS: Final = ("AS_RAW_BaseQRankSum", "AS_RAW_MQRankSum", "AS_RAW_ReadPosRankSum")
"""Fields of `AlleleAnnotations.rank_sums`, in the order of its rows."""
MIN_INBREEDING_SAMPLES: Final = 10
"""With fewer samples InbreedingCoeff is not defined."""


@dataclass(frozen=True, slots=True)
class EnabledFields:
    """Fields of an output.

    Attributes
    ----------
    info
        Names of the INFO fields of records, in the order of the lines, and of `HEADER_ONLY`.
    formats
        Names of those `FORMAT_FIELDS` that samples have, in their order.
    is_genomic
        Whether the output is a genomic VCF.
    has_filters
        Whether FILTER is set by thresholds.
    flags
        Names of the columns of `RecordMarks.flags`, ascending.
    has_low_quality
        Whether records may have the filter LowQual.
    """

    info: tuple[str, ...]
    formats: tuple[str, ...]
    is_genomic: bool = False
    has_filters: bool = False
    flags: tuple[str, ...] = ()
    has_low_quality: bool = False

    def has(self, *names: str) -> bool:
        """Tell whether one of some INFO fields is enabled."""
        return any(name in self.info for name in names)


@cache
def enabled_fields(
    options: AnnotationOptions, *, is_genomic: bool = False, has_dragstr: bool = False
) -> EnabledFields:
    """Return the fields of an output.

    A genomic VCF always has SB, and has no AC, AF, AN, FS, QD and SOR, as GATK's; MLEAC and MLEAF
    are in every output.
    """
    of_classes = GENOMIC_INFO_OF_CLASSES if is_genomic else INFO_OF_CLASSES
    info = {"MLEAC", "MLEAF", *(("NDA",) if options.counts_discovered else ())}
    info.update(DRAGSTR_FIELDS if has_dragstr else ())
    info.update(name for one in options.classes for name in of_classes.get(one, ()))
    formats = {FORMAT_OF_CLASSES[one] for one in options.classes & FORMAT_OF_CLASSES.keys()}
    if is_genomic:
        formats.add("SB")
    return EnabledFields(
        tuple(field.name for field in INFO_FIELDS if field.name in info),
        tuple(name for name in FORMAT_FIELDS if name in formats),
        is_genomic,
        options.has_filters,
    )


DEFAULT_FIELDS: Final = enabled_fields(AnnotationOptions())
"""The fields of a VCF without options."""
DEFAULT_GENOMIC_FIELDS: Final = enabled_fields(AnnotationOptions(), is_genomic=True)
"""The fields of a genomic VCF without options."""
