"""Header and lines of a VCF of calls."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.genotypes.annotation_fields import INFO_FIELDS
from hapgpu.calling.options import MAX_QUALITY, GenomicOptions
from hapgpu.calling.output.known_names import DBSNP, KnownNames
from hapgpu.io.text.builder import (
    TextBuilder,
    put_all,
    put_byte,
    put_count,
    put_integer,
)
from hapgpu.io.text.columns import put_row
from hapgpu.io.text.fields import text_of
from hapgpu.io.text.numbers import in_units, put_fixed, put_scientific, put_sign, put_units
from hapgpu.io.vcf.header import (
    check_samples,
    column_line,
    contig_lines,
    definition_line,
    header_text,
    run_lines,
)
from hapgpu.io.vcf.numbers import put_genotype, put_values
from hapgpu.runtime.jit import njit

_Fields = Sequence[tuple[str, str, str, str]]
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
_OF_BLOCKS: Final = frozenset({"END", "MIN_DP"})
_OF_PHASES: Final = frozenset({"PGT", "PID", "PS"})
_BLOCKS: Final = GenomicOptions()
_ALL: Final = MAX_QUALITY + 1
"""Upper bound of all GQ."""
_NON_REF: Final = (
    '##ALT=<ID=NON_REF,Description="Represents any possible alternative allele at this location">'
)

_LINES: Final = TextBuilder(row_bytes=300)
_FORMAT: Final = text_of("\tGT:AD:DP:GQ:PL")
_NO_FILTER: Final = text_of("\t.\t")
_NO_DEPTHS: Final = text_of(".:.")
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
_TAB, _NEWLINE, _COLON, _SEMICOLON, _COMMA, _POINT = b"\t\n:;,."
_QUALITY_DECIMALS: Final = np.int64(2)
_HUNDREDTHS: Final = np.int64(100)
_SMALL_FRACTION: Final = 0.01


class _Names(NamedTuple):
    contig: NDArray[np.uint8]
    fields: RaggedView
    decimals: NDArray[np.int64]


class KnownColumns(NamedTuple):
    """`KnownNames`, read-only.

    Attributes
    ----------
    ids, flags
        As in `KnownNames`.
    names
        uint8 text, f rows: the names of the flags.
    places
        int64[f]: the field of INFO before which each flag is written.
    """

    ids: RaggedView
    flags: NDArray[np.uint8]
    names: RaggedView
    places: NDArray[np.int64]

    @classmethod
    def of(cls, known: KnownNames | None, records: int, fields: Sequence[str]) -> KnownColumns:
        """View the names of records; `fields` are the names of the other fields, ascending."""
        known = KnownNames.none(records) if known is None else known
        places = np.array([bisect(fields, name) for name in known.names], dtype=np.int64)
        return cls(
            view_of(known.ids),
            read_only(known.flags),
            view_of(Ragged.from_sequences(known.names)),
            read_only(places),
        )


class CallColumns(NamedTuple):
    """`VariantCalls` and their `Annotations`, read-only.

    Attributes
    ----------
    starts, allele_offsets, alleles, qualities, genotypes, genotype_qualities
        As in `VariantCalls`.
    ploidies, phred_likelihoods
        As in `VariantCalls`.
    likely_counts
        int32[a]: `maximum_likelihood_counts`.
    depths, sample_depths, allele_depths
        As in `Annotations`.
    statistics
        float64[v, k]: `values`.
    known
        Names of the records.
    """

    starts: NDArray[np.int64]
    allele_offsets: NDArray[np.int64]
    alleles: RaggedView
    qualities: NDArray[np.float64]
    genotypes: NDArray[np.int16]
    genotype_qualities: NDArray[np.int16]
    ploidies: NDArray[np.int64]
    phred_likelihoods: RaggedView
    likely_counts: NDArray[np.int32]
    depths: NDArray[np.int32]
    sample_depths: NDArray[np.int32]
    allele_depths: RaggedView
    statistics: NDArray[np.float64]
    known: KnownColumns

    @classmethod
    def of(cls, calls: VariantCalls, annotations: Annotations, known: KnownColumns) -> CallColumns:
        """View records, annotations and names."""
        return cls(
            read_only(calls.starts),
            read_only(calls.allele_offsets),
            view_of(calls.alleles),
            read_only(calls.qualities),
            read_only(calls.genotypes),
            read_only(calls.genotype_qualities),
            read_only(calls.ploidies),
            view_of(calls.phred_likelihoods),
            read_only(calls.maximum_likelihood_counts),
            read_only(annotations.depths),
            read_only(annotations.sample_depths),
            view_of(annotations.allele_depths),
            read_only(annotations.values),
            known,
        )


def call_lines(
    contig: str,
    calls: VariantCalls,
    annotations: Annotations,
    rows: NDArray[np.bool_],
    known: KnownNames | None = None,
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
    known
        Names of the records; None: none has a name.

    Returns
    -------
    bytes
        Lines, each with a newline at its end.
    """
    text = np.frombuffer(contig.encode("utf-8", "surrogateescape"), dtype=np.uint8)
    names = _Names(text, view_of(_NAMES), read_only(_DECIMALS))
    columns = CallColumns.of(calls, annotations, KnownColumns.of(known, len(calls), _INFO_NAMES))
    records = np.flatnonzero(rows)
    return _LINES(records.size, partial(_put_lines, names, columns, records)).tobytes()


@njit
def _put_lines(
    names: _Names, calls: CallColumns, rows: NDArray[np.int64], out: NDArray[np.uint8]
) -> Integer:
    """Write all lines, and return their end."""
    text, contig = memory_of(out), memory_of(names.contig)
    at: Integer = np.int64(0)
    for record in rows:
        at = put_place(text, at, contig, calls, record)
        at = _put_info(text, at, names, calls, record)
        at = put_all(text, at, memory_of(_FORMAT))
        at = _put_samples(text, at, calls, record)
        at = put_byte(text, at, _NEWLINE)
    return at


@njit
def put_place(
    text: Memory, at: Integer, contig: Memory, calls: CallColumns, record: Integer
) -> Integer:
    """Write CHROM to FILTER, and a tab."""
    at = put_byte(text, put_all(text, at, contig), _TAB)
    at = put_integer(text, at, calls.starts[record] + 1)
    at = _put_id(text, put_byte(text, at, _TAB), calls.known.ids, record)
    first = calls.allele_offsets[record]
    for allele in range(first, calls.allele_offsets[record + 1]):
        at = put_byte(text, at, _TAB if allele < first + 2 else _COMMA)
        at = put_row(text, at, calls.alleles, allele)
    at = put_quality(text, put_byte(text, at, _TAB), calls.qualities[record])
    return put_all(text, at, memory_of(_NO_FILTER))


@njit
def _put_id(text: Memory, at: Integer, ids: RaggedView, record: Integer) -> Integer:
    if ids.offsets[record] == ids.offsets[record + 1]:
        return put_byte(text, at, _POINT)
    return put_row(text, at, ids, record)


@njit
def put_flags(
    text: Memory, at: Integer, known: KnownColumns, record: Integer, place: Integer, start: Integer
) -> Integer:
    """Write the flags of a record whose place is `place`, in an INFO that begins at `start`."""
    for flag in range(known.places.size):
        if known.places[flag] == place and known.flags[record, flag]:
            if at > start:
                at = put_byte(text, at, _SEMICOLON)
            at = put_row(text, at, known.names, flag)
    return at


@njit
def put_quality(text: Memory, at: Integer, value: float) -> Integer:
    """Write QUAL with two decimals, or as an integer if both are 0."""
    if not math.isfinite(value):
        return put_byte(text, at, _POINT)
    at = put_sign(text, at, value)
    units = in_units(abs(value), _QUALITY_DECIMALS)
    if units % _HUNDREDTHS == 0:
        return put_count(text, at, units // _HUNDREDTHS)
    return put_units(text, at, units, _QUALITY_DECIMALS)


@njit
def _put_info(
    text: Memory, at: Integer, names: _Names, calls: CallColumns, record: Integer
) -> Integer:
    """Write INFO; DP is always defined, so that INFO is not empty."""
    called = called_alleles(calls, record)
    column = np.int64(0)
    start = at
    for field in range(names.decimals.size):
        at = put_flags(text, at, calls.known, record, field, start)
        is_statistic = names.decimals[field] > 0
        value = calls.statistics[record, column] if is_statistic else 0.0
        column += is_statistic
        is_of_genotypes = _OF_GENOTYPES >> field & 1
        if not math.isfinite(value) or (is_of_genotypes and called == 0):
            continue
        if at > start:
            at = put_byte(text, at, _SEMICOLON)
        at = put_row(text, at, names.fields, field)
        if is_statistic:
            at = put_fixed(text, at, value, names.decimals[field])
        elif field == _AN:
            at = put_integer(text, at, called)
        elif field == _DP:
            at = put_integer(text, at, np.int64(calls.depths[record]))
        else:
            at = _put_allele_field(text, at, calls, record, field, called)
    return put_flags(text, at, calls.known, record, names.decimals.size, start)


@njit
def called_alleles(calls: CallColumns, record: Integer) -> Integer:
    """Return AN."""
    called = np.int64(0)
    for sample in range(calls.genotypes.shape[1]):
        for copy in range(calls.genotypes.shape[2]):
            called += calls.genotypes[record, sample, copy] >= 0
    return called


@njit
def _put_allele_field(
    text: Memory,
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
            at = put_byte(text, at, _COMMA)
        if _OF_COPIES >> field & 1:
            count = _copies(calls, record, allele + 1 - first)
        else:
            count = np.int64(calls.likely_counts[allele])
        if _FRACTIONS >> field & 1:
            at = put_fraction(text, at, min(1.0, count / called))
        else:
            at = put_integer(text, at, count)
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
def put_fraction(text: Memory, at: Integer, value: float) -> Integer:
    """Write a fraction from 0 to 1 as HTSJDK does.

    It has three decimals, but two if it is 1 or 0, and an exponent below 0.01.
    """
    if value == 0.0 or value >= 1.0:
        return put_fixed(text, at, value, np.int64(2))
    if value < _SMALL_FRACTION:
        return put_scientific(text, at, value, np.int64(3))
    return put_fixed(text, at, value, np.int64(3))


@njit
def _put_samples(text: Memory, at: Integer, calls: CallColumns, record: Integer) -> Integer:
    """Write the fields of all samples of a record; return the end."""
    samples = calls.genotypes.shape[1]
    genotypes = calls.genotypes[record]
    for sample in range(samples):
        at = put_byte(text, at, _TAB)
        at = put_genotype(text, at, genotypes, sample)
        at = put_counts(text, at, calls, record, sample)
        at = put_byte(text, at, _COLON)
        at = put_values(text, at, calls.phred_likelihoods, record * samples + sample)
    return at


@njit
def put_counts(
    text: Memory, at: Integer, calls: CallColumns, record: Integer, sample: Integer
) -> Integer:
    """Write AD, DP and GQ, each after a colon; GATK has no depths without a call."""
    at = put_byte(text, at, _COLON)
    if calls.genotypes[record, sample, 0] < 0:
        at = put_all(text, at, memory_of(_NO_DEPTHS))
    else:
        row = record * calls.genotypes.shape[1] + sample
        at = put_values(text, at, calls.allele_depths, row)
        at = put_byte(text, at, _COLON)
        at = put_integer(text, at, np.int64(calls.sample_depths[record, sample]))
    at = put_byte(text, at, _COLON)
    return put_integer(text, at, np.int64(calls.genotype_qualities[record, sample]))


def calls_header(
    contigs: Mapping[str, int],
    samples: Sequence[str],
    command_line: str,
    version: str,
    *,
    is_genomic: bool = False,
    flags: Sequence[str] = (),
    genomic: GenomicOptions = _BLOCKS,
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
        Whether the file is a genomic VCF.
    flags
        Flags of known variants.
    genomic
        Options of a genomic VCF: lines of blocks and of phases are left out if it has none.

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
    named = [(flag, "0", "Flag", _membership(flag)) for flag in flags]
    infos = sorted([*(_GENOMIC_INFO if is_genomic else _INFO_LINES), *named])
    lines = [
        "##fileformat=VCFv4.3",
        *(
            _genomic_definitions(infos, genomic)
            if is_genomic
            else _definitions(_FORMAT_FIELDS, infos)
        ),
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


def _membership(flag: str) -> str:
    return "Variant of dbSNP" if flag == DBSNP else f"Variant of the file {flag}"


def _genomic_definitions(infos: _Fields, options: GenomicOptions) -> list[str]:
    bounds = [*options.bands] if options.bands[-1] > MAX_QUALITY else [*options.bands, _ALL]
    bands = [
        f"##GVCFBlock{low}-{high}=minGQ={low}(inclusive),maxGQ={high}(exclusive)"
        for low, high in pairwise((0, *bounds))
    ]
    hidden = set() if options.has_phases else _OF_PHASES
    if options.is_per_position:
        bands, hidden = [], hidden | _OF_BLOCKS
    formats, infos = (
        [field for field in sorted(fields) if field[0] not in hidden]
        for fields in (_GENOMIC_FORMAT, infos)
    )
    return [_NON_REF, *_definitions(formats, infos, bands)]
