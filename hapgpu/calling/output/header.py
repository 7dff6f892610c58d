"""Header of a VCF of calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

FORMAT: Final = (
    ("GT", "1", "String", "Genotype"),
    ("AD", "R", "Integer", "Reads that support each allele"),
    ("DP", "1", "Integer", "Reads that support an allele"),
    ("GQ", "1", "Integer", "Phred-scaled probability that the genotype is wrong, at most 99"),
    ("PL", "G", "Integer", "Phred-scaled likelihoods of genotypes, the best being 0"),
)
"""ID, number, type and description of the fields of samples, in the order of the lines."""


def calls_header(
    contigs: Mapping[str, int], samples: Sequence[str], command_line: str, version: str
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
    infos = ((f.name, f.number, f.type, f.description) for f in INFO_FIELDS)
    return header_text(
        [
            "##fileformat=VCFv4.3",
            *(definition_line("FORMAT", *definition) for definition in FORMAT),
            *(definition_line("INFO", *definition) for definition in infos),
            *contig_lines(contigs),
            *run_lines("call", command_line, version),
            column_line(samples),
        ]
    )
