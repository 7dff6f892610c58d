"""Lines of VCF 4.3: the records of the sites with the genotypes of samples."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.genotyping.batches import GenotypeCalls
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.io.text.numbers import put_integer
from hapgpu.io.vcf.batches import GENOTYPES
from hapgpu.runtime.jit import njit, njit_inlined

_FORMAT: Final = np.frombuffer(b"GT:GQ:DP:AD:PL", dtype=np.uint8)
_FIELDS: Final = 5
_INT16_WIDTH: Final = 6
_INT32_WIDTH: Final = 11
_INT64_WIDTH: Final = 20
_TAB, _NEWLINE, _COLON, _SEMICOLON, _COMMA, _SLASH, _POINT, _EQUALS = b"\t\n:;,/.="
_ZERO, _D, _P = b"0DP"
_QUAL, _FILTER, _INFO = 5, 6, 7
_MANTISSA_BITS: Final = 53
_WORD_BITS: Final = 63


class _Columns(NamedTuple):
    """Lines of the records: `VcfBatch.text` and `VcfBatch.columns`."""

    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]


class _Calls(NamedTuple):
    """`GenotypeCalls`, a row per site and sample; `variant_qualities` has a row per site."""

    genotypes: NDArray[np.int16]
    qualities: NDArray[np.int16]
    depths: NDArray[np.int32]
    allele_depths: RaggedView
    phred_likelihoods: RaggedView
    variant_qualities: NDArray[np.float64]


def call_lines(batch: LocusBatch, calls: GenotypeCalls) -> bytes:
    """Write a line for each site, with the columns of at least one sample.

    CHROM, POS, ID, REF, ALT and FILTER are copied from the record. So is INFO, except DP: the
    fragments of all samples used at the site. QUAL has at most two decimals. Missing values are
    written as `.`.

    Parameters
    ----------
    batch
        s sites.
    calls
        Genotypes of m samples at the s sites.

    Returns
    -------
    bytes
        s lines, each with a newline at its end.
    """
    records = batch.sites.records
    sites, samples, ploidy = calls.genotypes.shape
    columns = _Columns(read_only(records.text), read_only(records.columns))
    values = calls.allele_depths.data.size + calls.phred_likelihoods.data.size
    sample_bytes = _FIELDS + ploidy * (_INT16_WIDTH + 1) + _INT16_WIDTH + 3 * _INT32_WIDTH
    size = int(_max_bytes(columns)) + sites * samples * sample_bytes + values * (_INT32_WIDTH + 1)
    out = np.empty(size, dtype=np.uint8)
    end = _put_lines(
        columns,
        _Calls(
            read_only(calls.genotypes.reshape(-1, ploidy)),
            read_only(calls.qualities.reshape(-1)),
            read_only(calls.depths.reshape(-1)),
            view_of(calls.allele_depths),
            view_of(calls.phred_likelihoods),
            read_only(calls.variant_qualities),
        ),
        samples,
        out,
    )
    return out[:end].tobytes()


@njit
def _max_bytes(columns: _Columns) -> Integer:
    """Return the most bytes that lines take without their samples."""
    text, offsets = columns
    size = np.int64(0)
    for site in range(offsets.shape[0]):
        size += offsets[site, GENOTYPES] - offsets[site, 0]
        size += 2 * _INT64_WIDTH + _FORMAT.size + 8  # QUAL, DP, and the separators
        for k in range(offsets[site, _INFO] + 1, offsets[site, GENOTYPES] - 1):
            is_item = text[k] == _P and text[k - 1] == _D
            size += is_item * _INT64_WIDTH
    return size


@njit
def _put_lines(columns: _Columns, calls: _Calls, samples: int, out: NDArray[np.uint8]) -> Integer:
    """Write all lines, and return their end."""
    text, offsets = columns
    at: Integer = np.int64(0)
    for site in range(offsets.shape[0]):
        at = _put_text(out, at, text, offsets[site, 0], offsets[site, _QUAL])
        at = _put_quality(out, at, calls.variant_qualities[site])
        out[at] = _TAB
        at = _put_text(out, at + 1, text, offsets[site, _FILTER], offsets[site, _INFO])
        depth = np.int64(0)
        for row in range(site * samples, (site + 1) * samples):
            depth += calls.depths[row]
        at = _put_info(out, at, text, offsets[site, _INFO], offsets[site, GENOTYPES] - 1, depth)
        out[at] = _TAB
        at = _put_text(out, at + 1, _FORMAT, 0, _FORMAT.size)
        at = _put_samples(out, at, calls, site * samples, (site + 1) * samples)
        out[at] = _NEWLINE
        at += 1
    return at


@njit_inlined
def _put_text(
    out: NDArray[np.uint8], at: Integer, text: NDArray[np.uint8], start: Integer, end: Integer
) -> Integer:
    for k in range(end - start):
        out[at + k] = text[start + k]
    return at + end - start


@njit
def _put_quality(out: NDArray[np.uint8], at: Integer, value: float) -> Integer:
    """Write a number that is not negative, as `f"{value:.2f}"` without closing zeros."""
    if math.isnan(value):
        out[at] = _POINT
        return at + 1
    hundredths = _hundredths(value)
    at = put_integer(out, at, hundredths // 100)
    if hundredths % 100:
        out[at] = _POINT
        out[at + 1] = _ZERO + hundredths % 100 // 10
        out[at + 2] = _ZERO + hundredths % 10
        at += 3 if hundredths % 10 else 2
    return at


@njit
def _hundredths(value: float) -> Integer:
    """Return 100 times a number below 2**46, rounded exactly; ties to even, negative ones to 0."""
    if value <= 0.0:
        return 0
    fraction, exponent = math.frexp(value)
    product = 100 * np.int64(fraction * 2.0**_MANTISSA_BITS)
    shift = _MANTISSA_BITS - exponent
    if shift > _WORD_BITS - 1:
        return 0
    whole, rest = product >> shift, product & ((1 << shift) - 1)
    twice = 2 * rest - (1 << shift)
    return whole + int(twice > 0 or (twice == 0 and whole & 1 == 1))


@njit
def _put_info(
    out: NDArray[np.uint8],
    at: Integer,
    text: NDArray[np.uint8],
    start: Integer,
    end: Integer,
    depth: Integer,
) -> Integer:
    """Write INFO with another value of each item DP, or with DP at its end."""
    if end - start == 1 and text[start] == _POINT:
        return _put_depth(out, at, depth)
    has_depth = False
    while start <= end:
        item = start
        while start < end and text[start] != _SEMICOLON:
            start += 1
        if _is_depth(text, item, start):
            at = _put_depth(out, at, depth)
            has_depth = True
        else:
            at = _put_text(out, at, text, item, start)
        if start < end:
            out[at] = _SEMICOLON
            at += 1
        start += 1
    if not has_depth:
        out[at] = _SEMICOLON
        at = _put_depth(out, at + 1, depth)
    return at


@njit_inlined
def _is_depth(text: NDArray[np.uint8], start: Integer, end: Integer) -> bool:
    if end - start < 2 or text[start] != _D or text[start + 1] != _P:
        return False
    return bool(end - start == 2 or text[start + 2] == _EQUALS)


@njit_inlined
def _put_depth(out: NDArray[np.uint8], at: Integer, depth: Integer) -> Integer:
    out[at], out[at + 1], out[at + 2] = _D, _P, _EQUALS
    return put_integer(out, at + 3, depth)


@njit
def _put_samples(
    out: NDArray[np.uint8], at: Integer, calls: _Calls, first: Integer, end: Integer
) -> Integer:
    """Write the columns of the samples of a site: rows `first` to `end`."""
    for row in range(first, end):
        out[at] = _TAB
        at = _put_genotype(out, at + 1, calls.genotypes, row)
        out[at] = _COLON
        at = _put_known(out, at + 1, calls.qualities[row])
        out[at] = _COLON
        at = put_integer(out, at + 1, calls.depths[row])
        out[at] = _COLON
        at = _put_values(out, at + 1, calls.allele_depths, row)
        out[at] = _COLON
        at = _put_values(out, at + 1, calls.phred_likelihoods, row)
    return at


@njit
def _put_genotype(
    out: NDArray[np.uint8], at: Integer, genotypes: NDArray[np.int16], row: Integer
) -> Integer:
    for copy in range(genotypes.shape[1]):
        if copy:
            out[at] = _SLASH
            at += 1
        at = _put_known(out, at, genotypes[row, copy])
    return at


@njit
def _put_known(out: NDArray[np.uint8], at: Integer, value: Integer) -> Integer:
    """Write a number, or `.` if it is negative."""
    if value < 0:
        out[at] = _POINT
        return at + 1
    return put_integer(out, at, value)


@njit
def _put_values(out: NDArray[np.uint8], at: Integer, rows: RaggedView, row: Integer) -> Integer:
    """Write a row of numbers, or `.` for an empty one."""
    start, end = rows.offsets[row], rows.offsets[row + 1]
    if start == end:
        out[at] = _POINT
        return at + 1
    for k in range(start, end):
        if k > start:
            out[at] = _COMMA
            at += 1
        at = put_integer(out, at, rows.data[k])
    return at
