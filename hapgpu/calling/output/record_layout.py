"""Layout of records: which fields INFO and the samples have, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.annotations.fields import (
    FIELDS,
    HEADER_ONLY,
    EnabledFields,
)
from hapgpu.calling.output.allele_texts import TEXT_FIELDS
from hapgpu.calling.output.filters import FILTER_NAMES
from hapgpu.io.text.fields import text_of

COPIES, LIKELY_COPIES, ALLELE_NUMBER, DEPTH, STATISTIC, INTEGER, SQUARES, TEXT, FLAG = range(9)
"""Kinds of INFO fields: AC and AF; MLEAC and MLEAF; AN; DP; columns of statistics and of integers;
RAW_MQandDP; texts; flags."""
INTEGERS: Final = ("MQ0", "NDA")
"""Fields of kind `INTEGER`, in the order of the columns."""
REPEAT_FLAG: Final = "STR"
UNPHASED, PHASED = 0, 1
"""Rows of `RecordLayout.formats`."""

_KINDS: Final = {
    "AC": COPIES,
    "AF": COPIES,
    "AN": ALLELE_NUMBER,
    "DP": DEPTH,
    "MLEAC": LIKELY_COPIES,
    "MLEAF": LIKELY_COPIES,
    "RAW_MQandDP": SQUARES,
    **dict.fromkeys(INTEGERS, INTEGER),
    **dict.fromkeys(TEXT_FIELDS, TEXT),
    **{field.name: STATISTIC for field in FIELDS},
}
_FRACTIONS: Final = ("AF", "MLEAF")
_STATISTICS: Final = {field.name: (k, field.decimals or 0) for k, field in enumerate(FIELDS)}
_PHASES: Final = ("PGT", "PID", "PS")


class SampleFields(NamedTuple):
    """Whether samples have AD, AF, DP and SB."""

    allele_depths: bool
    allele_fractions: bool
    depth: bool
    strands: bool


class RecordLayout(NamedTuple):
    """Layout of records, for compiled functions.

    Attributes
    ----------
    names
        uint8 text: `DP=`, or `STR` of a flag.
    kinds
        int64: `COPIES` to `FLAG`.
    columns
        int64: the column of the field among those of its kind; 1 for a fraction of copies.
    decimals
        int64: of a statistic.
    samples
        The fields of samples.
    formats
        uint8 text: the tab and FORMAT of a record without and with phase.
    filters
        uint8 text: the name of each filter.
    no_filter
        uint8 text: FILTER of a record without filters.
    """

    names: RaggedView
    kinds: NDArray[np.int64]
    columns: NDArray[np.int64]
    decimals: NDArray[np.int64]
    samples: SampleFields
    formats: RaggedView
    filters: RaggedView
    no_filter: NDArray[np.uint8]


def text_fields(fields: EnabledFields) -> tuple[str, ...]:
    """Return the names of the fields of kind `TEXT`, in the order of their columns."""
    return tuple(name for name in fields.info if name in TEXT_FIELDS)


@cache
def record_layout(fields: EnabledFields) -> RecordLayout:
    """Return the layout of records with some fields."""
    flags = (*fields.flags, REPEAT_FLAG)
    names = sorted({*fields.info, *fields.flags} - HEADER_ONLY)
    texts = text_fields(fields)
    columns = {
        **{name: k for k, name in enumerate(INTEGERS)},
        **{name: k for k, name in enumerate(texts)},
        **dict.fromkeys(_FRACTIONS, 1),
        **{name: column for name, (column, _) in _STATISTICS.items()},
        **{name: k for k, name in enumerate(flags)},
    }
    kinds = [FLAG if name in flags else _KINDS[name] for name in names]
    decimals = [_STATISTICS.get(name, (0, 0))[1] for name in names]
    shown = [name if kind == FLAG else f"{name}=" for name, kind in zip(names, kinds, strict=True)]
    return RecordLayout(
        view_of(Ragged.from_sequences(shown)),
        _integers(kinds),
        _integers([columns.get(name, 0) for name in names]),
        _integers(decimals),
        SampleFields(*(name in fields.formats for name in ("AD", "AF", "DP", "SB"))),
        view_of(Ragged.from_sequences([_format(fields, ()), _format(fields, _PHASES)])),
        view_of(FILTER_NAMES),
        read_only(text_of("PASS" if fields.has_filters else ".")),
    )


def _integers(values: Sequence[int]) -> NDArray[np.int64]:
    return read_only(np.array(values, dtype=np.int64))


def _format(fields: EnabledFields, phases: Sequence[str]) -> str:
    """Return FORMAT: GT, then the other fields in the order of their names."""
    return "\t" + ":".join(["GT", *sorted({"GQ", "PL", *fields.formats, *phases})])
