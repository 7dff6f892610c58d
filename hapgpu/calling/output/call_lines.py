"""Header and lines of a VCF of calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of
from hapgpu.calling.annotations.fields import (
    DEFAULT_FIELDS,
    FORMAT_FIELDS,
    INFO_FIELDS,
    MIN_INBREEDING_SAMPLES,
    EnabledFields,
)
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.known.names import DBSNP
from hapgpu.calling.options import MAX_QUALITY, GenomicOptions
from hapgpu.calling.output.call_columns import CallColumns, put_counts, put_place, put_strands
from hapgpu.calling.output.filters import filter_definitions
from hapgpu.calling.output.info_fields import put_info
from hapgpu.calling.output.record_layout import UNPHASED, RecordLayout, record_layout
from hapgpu.io.text.builder import TextBuilder, put_byte
from hapgpu.io.text.columns import put_row
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
_OF_BLOCKS: Final = frozenset({"END", "MIN_DP"})
_OF_PHASES: Final = frozenset({"PGT", "PID", "PS"})
_BLOCKS: Final = GenomicOptions()
_ALL: Final = MAX_QUALITY + 1
"""Upper bound of all GQ."""
_GENOTYPE: Final = ("GT", "1", "String", "Genotype")
_LIKELIHOODS: Final = (
    ("GQ", "1", "Integer", "Phred-scaled probability that the genotype is wrong, at most 99"),
    ("PL", "G", "Integer", "Phred-scaled likelihoods of genotypes, the best being 0"),
)
_GENOMIC_FORMAT: Final = (
    ("DP", *FORMAT_FIELDS["DP"]),
    ("MIN_DP", "1", "Integer", "Lowest DP of the positions of a block"),
    ("PGT", "1", "String", "Phase of the ALT allele in its phase group"),
    ("PID", "1", "String", "Phase group: position, REF and ALT of its first record"),
    ("PS", "1", "Integer", "Phase group: position of its first record"),
)
"""ID, number, type and description of further fields of a genomic VCF, blocks included."""
_GENOMIC_INFO: Final = ("END", "1", "Integer", "Last position of a block")
_NON_REF: Final = (
    '##ALT=<ID=NON_REF,Description="Represents any possible alternative allele at this location">'
)

_LINES: Final = TextBuilder(row_bytes=300)
_TAB, _NEWLINE, _COLON = b"\t\n:"


def call_lines(
    contig: str,
    calls: VariantCalls,
    annotations: Annotations,
    rows: NDArray[np.bool_],
    fields: EnabledFields = DEFAULT_FIELDS,
) -> bytes:
    """Write a line for each of some records.

    Fields of INFO that are not defined are left out. AD and DP are missing for a sample without a
    call.

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
    fields
        The fields of the output.

    Returns
    -------
    bytes
        Lines, each with a newline at its end.
    """
    name = np.frombuffer(contig.encode("utf-8", "surrogateescape"), dtype=np.uint8)
    columns = CallColumns.of(calls, annotations, fields)
    records = np.flatnonzero(rows)
    write = partial(_put_lines, name, record_layout(fields), columns, records)
    return _LINES(records.size, write).tobytes()


@njit
def _put_lines(
    name: NDArray[np.uint8],
    layout: RecordLayout,
    calls: CallColumns,
    rows: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> Integer:
    """Write all lines, and return their end."""
    text, contig = memory_of(out), memory_of(name)
    at: Integer = np.int64(0)
    for record in rows:
        at = put_place(text, at, contig, layout, calls, record)
        at = put_info(text, at, layout, calls, record)
        at = put_row(text, at, layout.formats, np.int64(UNPHASED))
        at = _put_samples(text, at, layout, calls, record)
        at = put_byte(text, at, _NEWLINE)
    return at


@njit
def _put_samples(
    text: Memory, at: Integer, layout: RecordLayout, calls: CallColumns, record: Integer
) -> Integer:
    """Write the fields of all samples of a record; return the end."""
    samples = calls.genotypes.shape[1]
    genotypes = calls.genotypes[record]
    for sample in range(samples):
        at = put_byte(text, at, _TAB)
        at = put_genotype(text, at, genotypes, sample)
        at = put_counts(text, at, layout, calls, record, sample)
        at = put_byte(text, at, _COLON)
        at = put_values(text, at, calls.phred_likelihoods, record * samples + sample)
        at = put_strands(text, at, layout, calls, record, sample)
    return at


def calls_header(
    contigs: Mapping[str, int],
    samples: Sequence[str],
    command_line: str,
    version: str,
    *,
    fields: EnabledFields = DEFAULT_FIELDS,
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
    fields
        The fields of the records.
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
    lines = [
        "##fileformat=VCFv4.3",
        *filter_definitions(
            has_thresholds=fields.has_filters, has_low_quality=fields.has_low_quality
        ),
        *(
            _genomic_definitions(fields, genomic)
            if fields.is_genomic
            else _plain(fields, len(samples))
        ),
        *contig_lines(contigs),
        *run_lines("call", command_line, version),
        column_line(samples),
    ]
    return header_text(lines)


def _plain(fields: EnabledFields, samples: int) -> list[str]:
    """Return the definitions of a VCF; InbreedingCoeff only if there are enough samples."""
    names = fields.info
    if samples < MIN_INBREEDING_SAMPLES:
        names = tuple(name for name in names if name != "InbreedingCoeff")
    formats = [_GENOTYPE, *_sample_fields(fields), *_LIKELIHOODS]
    infos = sorted([*_info_fields(names), *_flag_fields(fields)])
    return _definitions(formats, infos)


def _genomic_definitions(fields: EnabledFields, options: GenomicOptions) -> list[str]:
    bounds = [*options.bands] if options.bands[-1] > MAX_QUALITY else [*options.bands, _ALL]
    bands = [
        f"##GVCFBlock{low}-{high}=minGQ={low}(inclusive),maxGQ={high}(exclusive)"
        for low, high in pairwise((0, *bounds))
    ]
    hidden = set() if options.has_phases else _OF_PHASES
    if options.is_per_position:
        bands, hidden = [], hidden | _OF_BLOCKS
    formats = {_GENOTYPE, *_sample_fields(fields), *_LIKELIHOODS, *_GENOMIC_FORMAT}
    infos = {*_info_fields(fields.info), *_flag_fields(fields), _GENOMIC_INFO}
    formats, infos = ({one for one in part if one[0] not in hidden} for part in (formats, infos))
    return [_NON_REF, *_definitions(sorted(formats), sorted(infos), bands)]


def _flag_fields(fields: EnabledFields) -> _Fields:
    return [(flag, "0", "Flag", _membership(flag)) for flag in fields.flags]


def _membership(flag: str) -> str:
    return "Variant of dbSNP" if flag == DBSNP else f"Variant of the file {flag}"


def _sample_fields(fields: EnabledFields) -> _Fields:
    return [(name, *FORMAT_FIELDS[name]) for name in fields.formats]


def _info_fields(names: Sequence[str]) -> _Fields:
    return [(f.name, f.number, f.type, f.description) for f in INFO_FIELDS if f.name in names]


def _definitions(formats: _Fields, infos: _Fields, between: Sequence[str] = ()) -> list[str]:
    return [
        *(definition_line("FORMAT", *field) for field in formats),
        *between,
        *(definition_line("INFO", *field) for field in infos),
    ]
