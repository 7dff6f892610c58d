"""Lines of VCF 4.3: the records of the sites with the genotypes of samples."""

from __future__ import annotations

import math
import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.genotyping.batches import Calls
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.io.text.numbers import put_integer
from hapgpu.io.vcf.records import VcfRecord
from hapgpu.runtime.jit import njit

_FORMAT: Final = "GT:GQ:DP:AD:PL"
_INT16_WIDTH: Final = 6
_INT32_WIDTH: Final = 11
_DEPTH_ITEM: Final = re.compile(r";DP(?:=[^;]*)?(?=;)")
_TAB, _COLON, _COMMA, _SLASH, _POINT = b"\t:,/."


def call_lines(batch: LocusBatch, calls: Calls) -> bytes:
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
    columns = _sample_columns(calls)
    # Slices of a string are faster than rows of an array.
    text, offsets = columns.data.tobytes().decode("ascii"), columns.offsets.tolist()
    depths = calls.depths.sum(axis=1, dtype=np.int64).tolist()
    lines = [
        _line(record, quality, depth, text[start:end])
        for record, quality, depth, start, end in zip(
            batch.sites.records,
            calls.variant_qualities.tolist(),
            depths,
            offsets[:-1],
            offsets[1:],
            strict=True,
        )
    ]
    return "".join(lines).encode("utf-8", "surrogateescape")


def _line(record: VcfRecord, quality: float, depth: int, samples: str) -> str:
    contig, position, identifier, reference, alternatives, _, filters, info = record.columns
    return (
        f"{contig}\t{position}\t{identifier}\t{reference}\t{alternatives}\t{_quality_text(quality)}"
        f"\t{filters}\t{_info_text(info, depth)}\t{_FORMAT}{samples}\n"
    )


def _quality_text(quality: float) -> str:
    if math.isnan(quality):
        return "."
    return f"{quality:z.2f}".rstrip("0").rstrip(".")


def _info_text(info: str, depth: int) -> str:
    if info == ".":
        return f"DP={depth}"
    # With semicolons around the text, one pattern matches every item.
    replaced, count = _DEPTH_ITEM.subn(f";DP={depth}", f";{info};")
    return replaced[1:-1] if count else f"{info};DP={depth}"


def _sample_columns(calls: Calls) -> Ragged:
    """Return uint8 text, a row per site: a tab and the values of each sample."""
    samples, ploidy = calls.genotypes.shape[1:]
    rows = calls.depths.size
    values = calls.allele_depths.data.size + calls.phred_likelihoods.data.size
    fields = _FORMAT.count(":") + 1
    out = np.empty(
        rows * (fields + ploidy * (_INT16_WIDTH + 1) + _INT16_WIDTH + _INT32_WIDTH)
        + (rows + values) * (_INT32_WIDTH + 1),
        dtype=np.uint8,
    )
    offsets = np.zeros(rows + 1, dtype=np.int64)
    _put_samples(
        read_only(calls.genotypes.reshape(-1, ploidy)),
        read_only(calls.qualities.reshape(-1)),
        read_only(calls.depths.reshape(-1)),
        view_of(calls.allele_depths),
        view_of(calls.phred_likelihoods),
        out,
        offsets,
    )
    return Ragged(out[: offsets[-1]], offsets[::samples])


@njit
def _put_samples(  # noqa: PLR0917  (Numba: no keyword-only arguments)
    genotypes: NDArray[np.int16],
    qualities: NDArray[np.int16],
    depths: NDArray[np.int32],
    allele_depths: RaggedView,
    phred_likelihoods: RaggedView,
    out: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> None:
    """Write the column of each row of the arrays, and its offset."""
    at: Integer = np.int64(0)
    for row in range(depths.size):
        out[at] = _TAB
        at = _put_genotype(out, at + 1, genotypes, row)
        out[at] = _COLON
        at = _put_known(out, at + 1, qualities[row])
        out[at] = _COLON
        at = put_integer(out, at + 1, depths[row])
        out[at] = _COLON
        at = _put_values(out, at + 1, allele_depths, row)
        out[at] = _COLON
        at = _put_values(out, at + 1, phred_likelihoods, row)
        offsets[row + 1] = at


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
