"""Lines of VCF 4.3: the records of the sites with the genotypes of samples."""

from __future__ import annotations

import math
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, read_u8
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.genotyping.batches import GenotypeCalls
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.io.text.builder import (
    TextBuilder,
    put_all,
    put_byte,
    put_bytes,
    put_integer,
    put_two,
)
from hapgpu.io.text.fields import text_of
from hapgpu.io.vcf.batches import GENOTYPES
from hapgpu.io.vcf.numbers import put_genotype, put_known, put_values
from hapgpu.runtime.jit import njit, njit_inlined

_LINES: Final = TextBuilder(row_bytes=200)
_FORMAT: Final = text_of("\tGT:GQ:DP:AD:PL")
_DEPTH: Final = text_of("DP=")
_TAB, _NEWLINE, _COLON, _SEMICOLON, _COMMA, _POINT, _EQUALS = b"\t\n:;,.="
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
    rows = _Calls(
        read_only(calls.genotypes.reshape(-1, ploidy)),
        read_only(calls.qualities.reshape(-1)),
        read_only(calls.depths.reshape(-1)),
        view_of(calls.allele_depths),
        view_of(calls.phred_likelihoods),
        read_only(calls.variant_qualities),
    )
    return _LINES(sites, partial(_put_lines, columns, rows, samples)).tobytes()


@njit
def _put_lines(columns: _Columns, calls: _Calls, samples: int, out: NDArray[np.uint8]) -> Integer:
    """Write all lines, and return their end."""
    text, source, offsets = memory_of(out), memory_of(columns.text), columns.offsets
    at: Integer = np.int64(0)
    for site in range(offsets.shape[0]):
        at = _put_span(text, at, source, offsets[site, 0], offsets[site, _QUAL])
        at = _put_quality(text, at, calls.variant_qualities[site])
        at = put_byte(text, at, _TAB)
        at = _put_span(text, at, source, offsets[site, _FILTER], offsets[site, _INFO])
        depth = np.int64(0)
        for row in range(site * samples, (site + 1) * samples):
            depth += calls.depths[row]
        at = _put_info(text, at, source, offsets[site, _INFO], offsets[site, GENOTYPES] - 1, depth)
        at = put_all(text, at, memory_of(_FORMAT))
        at = _put_samples(text, at, calls, site * samples, (site + 1) * samples)
        at = put_byte(text, at, _NEWLINE)
    return at


@njit_inlined
def _put_span(text: Memory, at: Integer, source: Memory, start: Integer, end: Integer) -> Integer:
    return put_bytes(text, at, source, start, end - start)


@njit
def _put_quality(text: Memory, at: Integer, value: float) -> Integer:
    """Write a number that is not negative, as `f"{value:.2f}"` without closing zeros."""
    if math.isnan(value):
        return put_byte(text, at, _POINT)
    hundredths = _hundredths(value)
    at = put_integer(text, at, hundredths // 100)
    tenths, rest = hundredths % 100 // 10, hundredths % 10
    if tenths or rest:
        at = put_two(text, at, _POINT, _ZERO + tenths)
    return put_byte(text, at, _ZERO + rest) if rest else at


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
    text: Memory, at: Integer, source: Memory, start: Integer, end: Integer, depth: Integer
) -> Integer:
    """Write INFO with another value of each item DP, or with DP at its end."""
    if end - start == 1 and read_u8(source, start) == _POINT:
        return _put_depth(text, at, depth)
    has_depth = False
    while start <= end:
        item = start
        while start < end and read_u8(source, start) != _SEMICOLON:
            start += 1
        if _is_depth(source, item, start):
            at = _put_depth(text, at, depth)
            has_depth = True
        else:
            at = _put_span(text, at, source, item, start)
        if start < end:
            at = put_byte(text, at, _SEMICOLON)
        start += 1
    if not has_depth:
        at = _put_depth(text, put_byte(text, at, _SEMICOLON), depth)
    return at


@njit_inlined
def _is_depth(source: Memory, start: Integer, end: Integer) -> bool:
    if end - start < 2 or read_u8(source, start) != _D or read_u8(source, start + 1) != _P:
        return False
    return bool(end - start == 2 or read_u8(source, start + 2) == _EQUALS)


@njit_inlined
def _put_depth(text: Memory, at: Integer, depth: Integer) -> Integer:
    return put_integer(text, put_all(text, at, memory_of(_DEPTH)), depth)


@njit
def _put_samples(text: Memory, at: Integer, calls: _Calls, first: Integer, end: Integer) -> Integer:
    """Write the columns of the samples of a site: rows `first` to `end`."""
    for row in range(first, end):
        at = put_genotype(text, put_byte(text, at, _TAB), calls.genotypes, row)
        at = put_known(text, put_byte(text, at, _COLON), np.int64(calls.qualities[row]))
        at = put_integer(text, put_byte(text, at, _COLON), np.int64(calls.depths[row]))
        at = put_values(text, put_byte(text, at, _COLON), calls.allele_depths, row)
        at = put_values(text, put_byte(text, at, _COLON), calls.phred_likelihoods, row)
    return at
