"""Columns of sites from VCF records."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.haplotypes.batches import AlleleKind, Sites
from hapgpu.io.vcf.batches import VcfBatch
from hapgpu.runtime.jit import njit, njit_inlined

_NS = b"Nn"


def are_telomeres(records: VcfBatch, length: int) -> NDArray[np.bool_]:
    """Return bool[n]: whether records are at POS 0 or, on a contig of N bases, at N + 1.

    See VCF 4.3, 1.6.1. A record at N + 1 whose REF is a base is not at a telomere: it belongs to
    another reference.

    Parameters
    ----------
    records
        Records of one contig.
    length
        Length of the contig; negative if it is unknown.
    """
    are: NDArray[np.bool_] = records.starts < 0
    if length >= 0:
        for row in np.flatnonzero(records.starts == length).tolist():
            start, end = records.columns[row, 3:5]
            are[row] = not records.text[start : end - 1].tobytes().strip(_NS)
    return are


_COMMA, _STAR = b",*"
_SEQUENCE, _SPANNED, _SYMBOLIC = map(int, AlleleKind)
_UPPER: Final = ~np.uint8(0x20)  # as an integer, it would make wider letters
_IS_ACGT: Final = np.isin(np.arange(256), np.frombuffer(b"ACGTacgt", dtype=np.uint8))


def sites_of(records: VcfBatch, length: int) -> Sites:
    """Return the sites of records.

    A record at a telomere (`are_telomeres`) changes no base of the contig: its REF is empty, and
    its ALTs are symbolic.

    Parameters
    ----------
    records
        Records of one contig, sorted by position.
    length
        Length of the contig; negative if it is unknown.
    """
    is_telomere = are_telomeres(records, length)
    columns = read_only(records.columns)
    alternatives = read_only(records.alternatives)
    data, offsets, kinds, allele_offsets = _alleles(
        read_only(records.text), columns, alternatives, is_telomere
    )
    return Sites(
        records, np.maximum(records.starts, 0), Ragged(data, offsets), kinds, allele_offsets
    )


@njit
def _alleles(
    text: NDArray[np.uint8],
    columns: NDArray[np.int64],
    alternatives: NDArray[np.int64],
    is_telomere: NDArray[np.bool_],
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Return the columns of `Sites` after `starts`."""
    sites = alternatives.size
    size = rows = np.int64(0)
    for site in range(sites):
        size += columns[site, 5] - columns[site, 3]
        rows += 1 + alternatives[site]
    data, offsets = np.empty(size, np.uint8), np.zeros(rows + 1, np.int64)
    kinds, allele_offsets = np.empty(rows, np.uint8), np.zeros(sites + 1, np.int64)
    row = np.int64(0)
    at: Integer = np.int64(0)
    for site in range(sites):
        kinds[row] = _SEQUENCE
        if not is_telomere[site]:
            at = _put_upper(text, columns[site, 3], columns[site, 4] - 1, data, at)
        row += 1
        offsets[row] = at
        end = columns[site, 4]
        for _ in range(alternatives[site]):
            start = end
            while text[end] != _COMMA and end < columns[site, 5] - 1:
                end += 1
            kinds[row] = _SYMBOLIC if is_telomere[site] else _kind(text, start, end)
            if kinds[row] == _SEQUENCE:
                at = _put_upper(text, start, end, data, at)
            row += 1
            offsets[row] = at
            end += 1
        allele_offsets[site + 1] = row
    return data[:at], offsets, kinds, allele_offsets


@njit_inlined
def _put_upper(
    text: NDArray[np.uint8], start: Integer, end: Integer, out: NDArray[np.uint8], at: Integer
) -> Integer:
    for k in range(start, end):
        out[at + k - start] = text[k] & _UPPER
    return at + end - start


@njit_inlined
def _kind(text: NDArray[np.uint8], start: Integer, end: Integer) -> int:
    """Return the kind of an ALT allele; a sequence has no base but A, C, G and T."""
    for k in range(start, end):
        if not _IS_ACGT[text[k]]:
            is_star = end - start == 1 and text[start] == _STAR
            return _SPANNED if is_star else _SYMBOLIC
    return _SEQUENCE
