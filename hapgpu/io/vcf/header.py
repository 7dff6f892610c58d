"""Header of a VCF of genotypes, made from the header of the sites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from hapgpu.io.vcf.header_lines import (
    check_samples,
    column_line,
    contig_lines,
    definition_line,
    header_text,
    run_lines,
)

_MIN_VERSION: Final = (4, 3)
_DEFINITIONS: Final = {
    ("INFO", "DP"): ("1", "Integer", "Fragments of all samples that count at the site"),
    ("FORMAT", "GT"): ("1", "String", "Genotype"),
    ("FORMAT", "GQ"): ("1", "Integer", "Phred-scaled probability that the genotype is wrong"),
    ("FORMAT", "DP"): ("1", "Integer", "Fragments that count at the site"),
    ("FORMAT", "AD"): ("R", "Integer", "Fragments that speak for each allele"),
    ("FORMAT", "PL"): ("G", "Integer", "Phred-scaled likelihoods of genotypes, the best being 0"),
}
"""Number, type and description of the fields of calls, by kind and ID."""

_VERSION_LINE: Final = re.compile(r"##fileformat=VCFv(\d+)\.(\d+)\s*")
# A value before the ID may be quoted, and contain text like an ID.
_IDENTITY: Final = re.compile(
    r'##([^=]+)=<(?:[^=,]+=(?:"(?:[^"\\]|\\.)*"|[^",]*),)*?\s*ID=([^,>]*)'
)


def genotyped_header(
    lines: Sequence[str],
    contigs: Mapping[str, int],
    samples: Sequence[str],
    command_line: str,
    version: str,
) -> bytes:
    """Extend the header of sites to the header of their genotypes.

    The lines stay in order. `##fileformat` is raised to VCFv4.3. Definitions of the fields of calls
    replace others of the same ID. Lines for contigs that have none follow the last `##contig`.
    Other definitions, program and command line come at the end, as in `bcftools`.

    Parameters
    ----------
    lines
        The `##` lines of the sites, without line ends.
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
    extended = [
        *_with_definitions(_with_contigs(_with_version(lines), contigs)),
        *run_lines("genotype", command_line, version),
        column_line(samples),
    ]
    return header_text(extended)


def _with_version(lines: Iterable[str]) -> list[str]:
    """Set the version to at least `_MIN_VERSION`."""
    lines = list(lines)
    found = _VERSION_LINE.fullmatch(lines[0]) if lines else None
    if found and (int(found[1]), int(found[2])) >= _MIN_VERSION:
        return lines
    others = [line for line in lines if not line.startswith("##fileformat=")]
    return ["##fileformat=VCFv{}.{}".format(*_MIN_VERSION), *others]


def _with_contigs(lines: list[str], contigs: Mapping[str, int]) -> list[str]:
    identities = [_identity(line) for line in lines]
    declared = {name for kind, name in identities if kind == "contig"}
    last = max((k for k, (kind, _) in enumerate(identities) if kind == "contig"), default=None)
    end = len(lines) if last is None else last + 1
    added = contig_lines({name: n for name, n in contigs.items() if name not in declared})
    return [*lines[:end], *added, *lines[end:]]


def _with_definitions(lines: Iterable[str]) -> list[str]:
    """Replace the first line of each ID in `_DEFINITIONS`, or append the definition."""
    missing = {
        (kind, name): definition_line(kind, name, *fields)
        for (kind, name), fields in _DEFINITIONS.items()
    }
    kept = []
    for line in lines:
        identity = _identity(line)
        if identity not in _DEFINITIONS:
            kept.append(line)
        elif identity in missing:
            kept.append(missing.pop(identity))
    return [*kept, *missing.values()]


def _identity(line: str) -> tuple[str, str]:
    """Return kind and ID of a structured line, empty strings for other lines."""
    found = _IDENTITY.match(line)
    return (found[1], found[2]) if found else ("", "")
