"""FILTER of records: GATK's published thresholds for hard filters."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.annotations.fields import FIELDS
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.io.text.numbers import in_units
from hapgpu.runtime.jit import njit

_ANY, _SNPS, _INDELS = "", ", of records without an indel", ", of records with an indel"
"""Records that a threshold is for; a record with SNPs and indels has an indel."""


class Threshold(NamedTuple):
    """A filter of records whose value is beyond a bound.

    Attributes
    ----------
    field
        INFO field, or `QUAL`.
    side
        `<` or `>`: values on this side of the bound are filtered.
    bound
        The bound, which passes.
    records
        The records that it is for, in words after a comma; empty for all.
    """

    field: str
    side: str
    bound: float
    records: str


THRESHOLDS: Final = {
    "FS200": Threshold("FS", ">", 200.0, _INDELS),
    "FS60": Threshold("FS", ">", 60.0, _SNPS),
    "MQ40": Threshold("MQ", "<", 40.0, _SNPS),
    "MQRankSum-12.5": Threshold("MQRankSum", "<", -12.5, _SNPS),
    "QD2": Threshold("QD", "<", 2.0, _ANY),
    "QUAL30": Threshold("QUAL", "<", 30.0, _ANY),
    "ReadPosRankSum-20": Threshold("ReadPosRankSum", "<", -20.0, _INDELS),
    "ReadPosRankSum-8": Threshold("ReadPosRankSum", "<", -8.0, _SNPS),
    "SOR3": Threshold("SOR", ">", 3.0, _SNPS),
}
"""GATK's "Hard-filtering germline short variants", by the name of the filter."""
_LOW_QUALITY: Final = "LowQual"
FILTERS: Final = tuple(sorted([*THRESHOLDS, _LOW_QUALITY]))
"""Names of filters, in the order of FILTER; filter k is bit k of `RecordMarks.filters`."""
FILTER_NAMES: Final = Ragged.from_sequences(FILTERS)
"""uint8 text: `FILTERS`."""

_QUALITY_DECIMALS: Final = 2
_DECIMALS: Final = {"QUAL": _QUALITY_DECIMALS, **{f.name: f.decimals or 0 for f in FIELDS}}
_STAR, _SYMBOLIC = b"*<"


def filter_definitions(*, has_thresholds: bool, has_low_quality: bool) -> list[str]:
    """Return the header lines of the filters that records may have."""
    lines = []
    if has_low_quality:
        text = "QUAL below the minimum; the record has a given allele"
        lines.append(f'##FILTER=<ID={_LOW_QUALITY},Description="{text}">')
    if has_thresholds:
        lines += [
            f'##FILTER=<ID={name},Description="{one.field} {one.side} {one.bound:g}{one.records}">'
            for name, one in THRESHOLDS.items()
        ]
    return lines


def low_qualities(calls: VariantCalls, min_confidence: float) -> NDArray[np.uint32]:
    """Return uint32[v]: the filter LowQual of records whose QUAL is below the minimum.

    Such records exist only for given alleles.
    """
    is_low = calls.qualities < min_confidence
    filters: NDArray[np.uint32] = is_low.astype(np.uint32) << np.uint32(FILTERS.index(_LOW_QUALITY))
    return filters


def filters_of(calls: VariantCalls, annotations: Annotations) -> NDArray[np.uint32]:
    """Return uint32[v]: the filters of records, a bit for each of `FILTERS`.

    As GATK's VariantFiltration, values are compared as they are written; a missing value passes.

    Parameters
    ----------
    calls
        v records.
    annotations
        Of these records.
    """
    values = {field.name: annotations.values[:, k] for k, field in enumerate(FIELDS)}
    values["QUAL"] = calls.qualities
    has_indel = np.zeros(len(calls), dtype=np.bool_)
    _find_indels(read_only(calls.allele_offsets), view_of(calls.alleles), has_indel)
    filters = np.zeros(len(calls), dtype=np.uint32)
    for name, one in THRESHOLDS.items():
        written = as_written(values[one.field], _DECIMALS[one.field])
        beyond = written > one.bound if one.side == ">" else written < one.bound
        if one.records:
            beyond &= has_indel == (one.records == _INDELS)
        filters |= beyond.astype(np.uint32) << np.uint32(FILTERS.index(name))
    return filters


def as_written(values: NDArray[np.float64], decimals: int) -> NDArray[np.float64]:
    """Return float64[v]: `values`, float64[v], rounded as they are written; NaN stays."""
    out = np.empty(values.size, dtype=np.float64)
    _round(read_only(np.ascontiguousarray(values)), np.int64(decimals), out)
    return out


@njit
def _round(values: NDArray[np.float64], decimals: Integer, out: NDArray[np.float64]) -> None:
    for k in range(values.size):
        if np.isfinite(values[k]):
            size = in_units(abs(values[k]), decimals) / 10.0**decimals
            out[k] = -size if values[k] < 0.0 else size
        else:
            out[k] = values[k]


@njit
def _find_indels(
    allele_offsets: NDArray[np.int64], alleles: RaggedView, out: NDArray[np.bool_]
) -> None:
    """Set whether a record has an ALT with another length than REF, but `*` and symbolic ones."""
    for record in range(out.size):
        first = allele_offsets[record]
        size = alleles.offsets[first + 1] - alleles.offsets[first]
        for allele in range(first + 1, allele_offsets[record + 1]):
            base = alleles.data[alleles.offsets[allele]]
            is_own = base not in (_STAR, _SYMBOLIC)
            if is_own and alleles.offsets[allele + 1] - alleles.offsets[allele] != size:
                out[record] = True
