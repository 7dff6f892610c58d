"""Header of a VCF of calls, or of a genomic VCF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from hapgpu.calling.annotations.fields import INFO_FIELDS
from hapgpu.io.vcf.header_lines import (
    check_samples,
    column_line,
    contig_lines,
    definition_line,
    header_text,
    run_lines,
)

_Fields = Sequence[tuple[str, str, str, str]]

BANDS: Final = (*range(1, 61), 70, 80, 90, 99)
"""Bounds of the bands of GQ: GATK's `--gvcf-gq-bands`."""
MAX_QUALITY: Final = 99
"""GQ, at most."""

_FORMAT: Final = (
    ("GT", "1", "String", "Genotype"),
    ("AD", "R", "Integer", "Reads that support each allele"),
    ("DP", "1", "Integer", "Reads that support an allele"),
    ("GQ", "1", "Integer", "Phred-scaled probability that the genotype is wrong, at most 99"),
    ("PL", "G", "Integer", "Phred-scaled likelihoods of genotypes, the best being 0"),
)
"""ID, number, type and description of the fields of samples, in the order of the lines."""
_GENOMIC_FORMAT: Final = (
    *_FORMAT,
    ("MIN_DP", "1", "Integer", "Lowest DP of the positions of a block"),
    ("PGT", "1", "String", "Phase of the ALT allele in its phase group"),
    ("PID", "1", "String", "Phase group: position, REF and ALT of its first record"),
    ("PS", "1", "Integer", "Phase group: position of its first record"),
    ("SB", "4", "Integer", "Reads of REF forward, REF reverse, ALT forward, ALT reverse"),
)
_INFO: Final = tuple((f.name, f.number, f.type, f.description) for f in INFO_FIELDS)
_ONLY_PLAIN: Final = ("AC", "AF", "AN", "FS", "MQ", "QD", "SOR")
_GENOMIC_INFO: Final = (
    *(field for field in _INFO if field[0] not in _ONLY_PLAIN),
    ("END", "1", "Integer", "Last position of a block"),
    ("RAW_MQandDP", "2", "Integer", "Sum of squared mapping qualities, and number of reads"),
)
_NON_REF: Final = (
    '##ALT=<ID=NON_REF,Description="Represents any possible alternative allele at this location">'
)


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
        *(_genomic_definitions() if is_genomic else _definitions(_FORMAT, _INFO)),
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
