"""Header and lines of a VCF of calls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.genotypes.annotation_fields import INFO_FIELDS
from hapgpu.io.text.numbers import FIXED_WIDTH, put_fixed, put_integer, put_scientific
from hapgpu.io.vcf.header import (
    check_samples,
    column_line,
    contig_lines,
    definition_line,
    header_text,
    run_lines,
)
from hapgpu.runtime.jit import njit

_Fields = Sequence[tuple[str, str, str, str]]
BANDS: Final = (*range(1, 61), 70, 80, 90, 99)
"""Bounds of the bands of GQ: GATK's `--gvcf-gq-bands`."""
MAX_QUALITY: Final = 99
"""GQ, at most."""
_FORMAT_FIELDS: Final = (
    ("GT", "1", "String", "Genotype"),
    ("AD", "R", "Integer", "Reads that support each allele"),
    ("DP", "1", "Integer", "Reads that support an allele"),
    ("GQ", "1", "Integer", "Phred-scaled probability that the genotype is wrong, at most 99"),
    ("PL", "G", "Integer", "Phred-scaled likelihoods of genotypes, the best being 0"),
)
"""ID, number, type and description of the fields of samples, in the order of the lines."""
_GENOMIC_FORMAT: Final = (
    *_FORMAT_FIELDS,
    ("MIN_DP", "1", "Integer", "Lowest DP of the positions of a block"),
    ("PGT", "1", "String", "Phase of the ALT allele in its phase group"),
    ("PID", "1", "String", "Phase group: position, REF and ALT of its first record"),
    ("PS", "1", "Integer", "Phase group: position of its first record"),
    ("SB", "4", "Integer", "Reads of REF forward, REF reverse, ALT forward, ALT reverse"),
)
_INFO_LINES: Final = tuple((f.name, f.number, f.type, f.description) for f in INFO_FIELDS)
_ONLY_PLAIN: Final = ("AC", "AF", "AN", "FS", "MQ", "QD", "SOR")
_GENOMIC_INFO: Final = (
    *(field for field in _INFO_LINES if field[0] not in _ONLY_PLAIN),
    ("END", "1", "Integer", "Last position of a block"),
    ("RAW_MQandDP", "2", "Integer", "Sum of squared mapping qualities, and number of reads"),
)
_NON_REF: Final = (
    '##ALT=<ID=NON_REF,Description="Represents any possible alternative allele at this location">'
)

_FORMAT: Final = np.frombuffer(b"\tGT:AD:DP:GQ:PL", dtype=np.uint8)
_INFO_NAMES: Final = tuple(field.name for field in INFO_FIELDS)
_NAMES: Final = Ragged.from_sequences(f"{name}=" for name in _INFO_NAMES)
_DECIMALS: Final = np.array([field.decimals or 0 for field in INFO_FIELDS], dtype=np.int64)
"""Decimals of statistics, 0 for other fields."""
_AC, _AF, _AN, _DP, _MLEAC, _MLEAF = map(
    _INFO_NAMES.index, ("AC", "AF", "AN", "DP", "MLEAC", "MLEAF")
)
_OF_GENOTYPES: Final = 1 << _AC | 1 << _AF | 1 << _AN | 1 << _MLEAF
_OF_COPIES: Final = 1 << _AC | 1 << _AF
_FRACTIONS: Final = 1 << _AF | 1 << _MLEAF
"""Sets of fields, bit k for field k: undefined without genotypes; of the genotypes; fractions."""
_TAB, _NEWLINE, _COLON, _SEMICOLON, _COMMA, _SLASH, _POINT, _ZERO = b"\t\n:;,/.0"
_INTEGER_WIDTH: Final = 20
_QUALITY_DECIMALS: Final = 2
_SMALL_FRACTION: Final = 0.01


class _Names(NamedTuple):
    contig: NDArray[np.uint8]
    fields: RaggedView
    decimals: NDArray[np.int64]


class CallColumns(NamedTuple):
    """`VariantCalls` and their `Annotations`, read-only."""

    starts: NDArray[np.int64]
    allele_offsets: NDArray[np.int64]
    alleles: RaggedView
    qualities: NDArray[np.float64]
    genotypes: NDArray[np.int16]
    genotype_qualities: NDArray[np.int16]
    phred_likelihoods: RaggedView
    likely_counts: NDArray[np.int32]
    depths: NDArray[np.int32]
    sample_depths: NDArray[np.int32]
    allele_depths: RaggedView
    statistics: NDArray[np.float64]

    @classmethod
    def of(cls, calls: VariantCalls, annotations: Annotations) -> CallColumns:
        """View records and annotations."""
        return cls(
            read_only(calls.starts),
            read_only(calls.allele_offsets),
            view_of(calls.alleles),
            read_only(calls.qualities),
            read_only(calls.genotypes),
            read_only(calls.genotype_qualities),
            view_of(calls.phred_likelihoods),
            read_only(calls.maximum_likelihood_counts),
            read_only(annotations.depths),
            read_only(annotations.sample_depths),
            view_of(annotations.allele_depths),
            read_only(annotations.values),
        )


def call_lines(
    contig: str, calls: VariantCalls, annotations: Annotations, rows: NDArray[np.bool_]
) -> bytes:
    """Write a line for each of some records.

    Fields of INFO that are not defined are left out. FILTER is missing, and so are AD and DP of a
    sample without a call.

    Parameters
    ----------
    contig
        Name of the contig.
    calls
        v records.
    annotations
        Of these records.
    rows
        bool[v]: the records to write.

    Returns
    -------
    bytes
        Lines, each with a newline at its end.
    """
    text = np.frombuffer(contig.encode("utf-8", "surrogateescape"), dtype=np.uint8)
    names = _Names(text, view_of(_NAMES), read_only(_DECIMALS))
    columns = CallColumns.of(calls, annotations)
    out = np.empty(_max_bytes(text.size, calls, annotations), dtype=np.uint8)
    end = _put_lines(names, columns, np.flatnonzero(rows), out)
    return out[:end].tobytes()


def _max_bytes(name: int, calls: VariantCalls, annotations: Annotations) -> int:
    """Return the most bytes that all lines take."""
    records, samples, ploidy = calls.genotypes.shape
    fixed = _NAMES.data.size + len(INFO_FIELDS) * (FIXED_WIDTH + 1) + _FORMAT.size
    line = name + _INTEGER_WIDTH + FIXED_WIDTH + fixed + 2 * len("\t\t\t\t\t\t\t\t\n")
    sample = (ploidy + 2) * (_INTEGER_WIDTH + 1) + len("\t::::")
    numbers = annotations.allele_depths.data.size + calls.phred_likelihoods.data.size
    alleles = len(calls.alleles)
    by_allele = (len(("AC", "AF", "MLEAC", "MLEAF")) * (FIXED_WIDTH + 1) + 1) * alleles
    lists = calls.alleles.data.size + by_allele + numbers * (_INTEGER_WIDTH + 1)
    return int(records * (line + samples * sample) + lists + 2 * records * samples)


@njit
def _put_lines(
    names: _Names, calls: CallColumns, rows: NDArray[np.int64], out: NDArray[np.uint8]
) -> Integer:
    """Write all lines, and return their end."""
    at: Integer = np.int64(0)
    for record in rows:
        copy_bytes(names.contig, 0, out, at, names.contig.size)
        at += names.contig.size
        out[at] = _TAB
        at = put_integer(out, at + 1, calls.starts[record] + 1)
        out[at], out[at + 1] = _TAB, _POINT
        at = put_alleles(out, at + 2, calls, record)
        out[at] = _TAB
        at = put_quality(out, at + 1, calls.qualities[record])
        out[at], out[at + 1], out[at + 2] = _TAB, _POINT, _TAB
        at = _put_info(out, at + 3, names, calls, record)
        copy_bytes(_FORMAT, 0, out, at, _FORMAT.size)
        at = _put_samples(out, at + _FORMAT.size, calls, record)
        out[at] = _NEWLINE
        at += 1
    return at


@njit
def put_alleles(
    out: NDArray[np.uint8], at: Integer, calls: CallColumns, record: Integer
) -> Integer:
    """Write REF and ALT, each after a tab."""
    first = calls.allele_offsets[record]
    for allele in range(first, calls.allele_offsets[record + 1]):
        out[at] = _TAB if allele < first + 2 else _COMMA
        start, end = calls.alleles.offsets[allele], calls.alleles.offsets[allele + 1]
        copy_bytes(calls.alleles.data, start, out, at + 1, end - start)
        at += 1 + end - start
    return at


@njit
def put_quality(out: NDArray[np.uint8], at: Integer, value: float) -> Integer:
    """Write QUAL with two decimals, or as an integer if both are 0."""
    if not math.isfinite(value):
        out[at] = _POINT
        return at + 1
    at = put_fixed(out, at, value, np.int64(_QUALITY_DECIMALS))
    is_whole = out[at - 1] == _ZERO and out[at - 2] == _ZERO
    return at - 3 if is_whole else at


@njit
def _put_info(
    out: NDArray[np.uint8], at: Integer, names: _Names, calls: CallColumns, record: Integer
) -> Integer:
    """Write INFO; DP is always defined, so that INFO is not empty."""
    called = called_alleles(calls, record)
    column = np.int64(0)
    start = at
    for field in range(names.decimals.size):
        is_statistic = names.decimals[field] > 0
        value = calls.statistics[record, column] if is_statistic else 0.0
        column += is_statistic
        is_of_genotypes = _OF_GENOTYPES >> field & 1
        if not math.isfinite(value) or (is_of_genotypes and called == 0):
            continue
        if at > start:
            out[at] = _SEMICOLON
            at += 1
        first, end = names.fields.offsets[field], names.fields.offsets[field + 1]
        copy_bytes(names.fields.data, first, out, at, end - first)
        at += end - first
        if is_statistic:
            at = put_fixed(out, at, value, names.decimals[field])
        elif field == _AN:
            at = put_integer(out, at, called)
        elif field == _DP:
            at = put_integer(out, at, calls.depths[record])
        else:
            at = put_allele_field(out, at, calls, record, field, called)
    return at


@njit
def called_alleles(calls: CallColumns, record: Integer) -> Integer:
    """Return AN."""
    called = np.int64(0)
    for sample in range(calls.genotypes.shape[1]):
        for copy in range(calls.genotypes.shape[2]):
            called += calls.genotypes[record, sample, copy] >= 0
    return called


@njit
def put_allele_field(
    out: NDArray[np.uint8],
    at: Integer,
    calls: CallColumns,
    record: Integer,
    field: Integer,
    called: Integer,
) -> Integer:
    """Write AC, AF, MLEAC or MLEAF of each ALT."""
    first, end = calls.allele_offsets[record] + 1, calls.allele_offsets[record + 1]
    for allele in range(first, end):
        if allele > first:
            out[at] = _COMMA
            at += 1
        if _OF_COPIES >> field & 1:
            count = _copies(calls, record, allele + 1 - first)
        else:
            count = np.int64(calls.likely_counts[allele])
        if _FRACTIONS >> field & 1:
            at = put_fraction(out, at, min(1.0, count / called))
        else:
            at = put_integer(out, at, count)
    return at


@njit
def _copies(calls: CallColumns, record: Integer, allele: Integer) -> Integer:
    """Return AC of an allele."""
    count = np.int64(0)
    for sample in range(calls.genotypes.shape[1]):
        for copy in range(calls.genotypes.shape[2]):
            count += calls.genotypes[record, sample, copy] == allele
    return count


@njit
def put_fraction(out: NDArray[np.uint8], at: Integer, value: float) -> Integer:
    """Write a fraction from 0 to 1 as HTSJDK does.

    It has three decimals, but two if it is 1 or 0, and an exponent below 0.01.
    """
    if value == 0.0 or value >= 1.0:
        return put_fixed(out, at, value, np.int64(2))
    if value < _SMALL_FRACTION:
        return put_scientific(out, at, value, np.int64(3))
    return put_fixed(out, at, value, np.int64(3))


@njit
def _put_samples(
    out: NDArray[np.uint8], at: Integer, calls: CallColumns, record: Integer
) -> Integer:
    """Write the fields of all samples of a record; return the end."""
    samples = calls.genotypes.shape[1]
    for sample in range(samples):
        row = record * samples + sample
        out[at] = _TAB
        at = _put_genotype(out, at + 1, calls.genotypes, record, sample)
        out[at] = _COLON
        if calls.genotypes[record, sample, 0] < 0:  # GATK has no depths without a call
            out[at + 1], out[at + 2], out[at + 3] = _POINT, _COLON, _POINT
            at += 4
        else:
            at = put_values(out, at + 1, calls.allele_depths, row)
            out[at] = _COLON
            at = put_integer(out, at + 1, calls.sample_depths[record, sample])
        out[at] = _COLON
        at = put_integer(out, at + 1, np.int64(calls.genotype_qualities[record, sample]))
        out[at] = _COLON
        at = put_values(out, at + 1, calls.phred_likelihoods, row)
    return at


@njit
def _put_genotype(
    out: NDArray[np.uint8],
    at: Integer,
    genotypes: NDArray[np.int16],
    record: Integer,
    sample: Integer,
) -> Integer:
    for copy in range(genotypes.shape[2]):
        if copy:
            out[at] = _SLASH
            at += 1
        at = put_known(out, at, genotypes[record, sample, copy])
    return at


@njit
def put_known(out: NDArray[np.uint8], at: Integer, value: Integer) -> Integer:
    """Write a number, or `.` if it is negative."""
    if value < 0:
        out[at] = _POINT
        return at + 1
    return put_integer(out, at, np.int64(value))


@njit
def put_values(out: NDArray[np.uint8], at: Integer, rows: RaggedView, row: Integer) -> Integer:
    """Write a row of numbers, or `.` for an empty one."""
    start, end = rows.offsets[row], rows.offsets[row + 1]
    if start == end:
        out[at] = _POINT
        return at + 1
    for k in range(start, end):
        if k > start:
            out[at] = _COMMA
            at += 1
        at = put_integer(out, at, np.int64(rows.data[k]))
    return at


def calls_header(
    contigs: Mapping[str, int],
    samples: Sequence[str],
    command_line: str,
    version: str,
    *,
    is_genomic: bool = False,
) -> bytes:
    """Return the header of a VCF of calls.

    Parameters
    ----------
    contigs
        Names and lengths of the contigs. A name that VCF does not allow gets no line.
    samples
        Sample names, in the order of the columns.
    command_line
        Command line of the run; runs of white space become single blanks.
    version
        Version of hapgpu.
    is_genomic
        Whether the file is a genomic VCF, with blocks of positions and phases.

    Returns
    -------
    bytes
        All lines, the #CHROM line included, each with a newline.

    Raises
    ------
    OutputError
        VCF does not allow the name of a sample, or two samples have the same name.
    """
    check_samples(samples)
    lines = [
        "##fileformat=VCFv4.3",
        *(_genomic_definitions() if is_genomic else _definitions(_FORMAT_FIELDS, _INFO_LINES)),
        *contig_lines(contigs),
        *run_lines("call", command_line, version),
        column_line(samples),
    ]
    return header_text(lines)


def _definitions(formats: _Fields, infos: _Fields, between: Sequence[str] = ()) -> list[str]:
    return [
        *(definition_line("FORMAT", *field) for field in formats),
        *between,
        *(definition_line("INFO", *field) for field in infos),
    ]


def _genomic_definitions() -> list[str]:
    bands = [
        f"##GVCFBlock{low}-{high}=minGQ={low}(inclusive),maxGQ={high}(exclusive)"
        for low, high in pairwise((0, *BANDS, MAX_QUALITY + 1))
    ]
    return [_NON_REF, *_definitions(sorted(_GENOMIC_FORMAT), sorted(_GENOMIC_INFO), bands)]
