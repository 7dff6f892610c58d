"""Texts of INFO fields that have several numbers per allele."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import memory_of
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.annotations.fields import ALLELE_RANK_SUMS, DRAGSTR_FIELDS
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.record_columns import NO_REFERENCE, NO_SCORE
from hapgpu.io.text.builder import TextBuilder, put_all, put_byte, put_integer
from hapgpu.io.text.fields import text_of
from hapgpu.io.text.numbers import put_units
from hapgpu.runtime.jit import njit

TEXT_FIELDS: Final = (*ALLELE_RANK_SUMS, "AS_RAW_MQ", "AS_SB_TABLE", *DRAGSTR_FIELDS, "RPA", "RU")
"""INFO fields that are written as texts."""

_TEXTS: Final = TextBuilder(row_bytes=20)
_BAR, _COMMA, _MINUS, _ONE = b"|,-1"
_NO_SCORE_TEXT: Final = text_of("NaN")
_NOTHING: Final = text_of("")
_DECIMALS_OF_ZERO: Final = text_of(".00")


def field_text(name: str, calls: VariantCalls, annotations: Annotations) -> Ragged:
    """Return uint8 text, v rows: one of `TEXT_FIELDS` of v records; an empty row: no such field.

    Raises
    ------
    ValueError
        The field was not computed.
    """
    offsets = calls.allele_offsets
    if name in DRAGSTR_FIELDS:
        if annotations.dragstr is None:
            raise ValueError(f"{name} was not computed")
        texts = annotations.dragstr.repeats, annotations.dragstr.values
        return texts[DRAGSTR_FIELDS.index(name)]
    if name in {"RPA", "RU"}:
        if annotations.repeats is None:
            raise ValueError(f"{name} was not computed")
        if name == "RU":
            return annotations.repeats.units
        has_unit = annotations.repeats.units.lengths > 0
        return _joined(annotations.repeats.counts[:, None], offsets, has_unit, _COMMA, _NOTHING)
    if annotations.alleles is None:
        raise ValueError(f"{name} was not computed")
    if name in ALLELE_RANK_SUMS:
        bins = annotations.alleles.rank_sums[ALLELE_RANK_SUMS.index(name)]
        ends = np.zeros(len(calls) + 1, dtype=np.int64)
        write = partial(_put_scores, read_only(bins), read_only(offsets), ends)
        return Ragged(_TEXTS(len(calls), write), ends)
    in_all = np.ones(len(calls), dtype=np.bool_)
    if name == "AS_SB_TABLE":
        return _joined(annotations.alleles.strands, offsets, in_all, _BAR, _NOTHING)
    return _joined(annotations.alleles.squares[:, None], offsets, in_all, _BAR, _DECIMALS_OF_ZERO)


def _joined(
    values: NDArray[np.int64],
    offsets: NDArray[np.int64],
    is_written: NDArray[np.bool_],
    separator: int,
    ending: NDArray[np.uint8],
) -> Ragged:
    """Write `values`, int64[a, w], of the alleles of each record, joined by a separator."""
    ends = np.zeros(is_written.size + 1, dtype=np.int64)
    columns = read_only(np.ascontiguousarray(values)), read_only(offsets), read_only(is_written)
    write = partial(_put_joined, columns, np.int64(separator), ending, ends)
    return Ragged(_TEXTS(is_written.size, write), ends)


@njit
def _put_joined(
    columns: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]],
    separator: Integer,
    ending: NDArray[np.uint8],
    ends: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> Integer:
    values, offsets, is_written = columns
    text, suffix = memory_of(out), memory_of(ending)
    at: Integer = np.int64(0)
    for record in range(is_written.size):
        if is_written[record]:
            for allele in range(offsets[record], offsets[record + 1]):
                if allele > offsets[record]:
                    at = put_byte(text, at, separator)
                for k in range(values.shape[1]):
                    at = put_byte(text, at, _COMMA) if k else at
                    at = put_integer(text, at, values[allele, k])
                at = put_all(text, at, suffix)
        ends[record + 1] = at
    return at


@njit
def _put_scores(
    bins: NDArray[np.int64],
    offsets: NDArray[np.int64],
    ends: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> Integer:
    """Write bins of 0.1 as GATK's Histogram: the bound of the bin, and the number of its values."""
    text = memory_of(out)
    at: Integer = np.int64(0)
    for record in range(offsets.size - 1):
        for allele in range(offsets[record] + 1, offsets[record + 1]):
            at = put_byte(text, at, _BAR)
            if bins[allele] == NO_SCORE:
                at = put_all(text, at, memory_of(_NO_SCORE_TEXT))
            elif bins[allele] != NO_REFERENCE:
                at = put_byte(text, at, _MINUS) if bins[allele] < 0 else at
                at = put_units(text, at, abs(bins[allele]), np.int64(1))
                at = put_byte(text, put_byte(text, at, _COMMA), _ONE)
        ends[record + 1] = at
    return at
