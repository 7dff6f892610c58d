"""Header of a VCF of genotypes, made from the header of the sites."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from hapgpu.errors import OutputError
from hapgpu.io.text.values import are_contig_names, is_contig_name

_COLUMNS: Final = ("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT")
_SAMPLE_NAME: Final = re.compile(r"[^\t\n\r\0]+")

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

_KINDS: Final = tuple({f"##{kind}=" for kind, _ in _DEFINITIONS})

_VERSION_LINE: Final = re.compile(r"##fileformat=VCFv(\d+)\.(\d+)\s*")
# A value before the ID may be quoted, and contain text like an ID.
_BEFORE_ID: Final = r'(?:[^=,\n]+=(?:"(?:[^"\\\n]|\\.)*"|[^",\n]*),)*?[^\S\n]*'
_IDENTITY: Final = re.compile(rf"##([^=]+)=<{_BEFORE_ID}ID=([^,>]*)")
_CONTIGS: Final = re.compile(rf"\n##contig=<{_BEFORE_ID}ID=([^,>\n]*)")


def check_samples(samples: Sequence[str]) -> None:
    """Check the names of samples.

    Raises
    ------
    OutputError
        VCF does not allow the name of a sample, or two samples have the same name.
    """
    remedy = "change SM in the @RG lines of the reads, or the file's name if it has none"
    for name, count in Counter(samples).items():
        if not _SAMPLE_NAME.fullmatch(name):
            raise OutputError(f"sample name {name!r}: VCF does not allow it; {remedy}")
        if count > 1:
            raise OutputError(f"sample name {name!r}: {count} samples have it; {remedy}")


def contig_lines(contigs: Mapping[str, int]) -> list[str]:
    """Return a line for each contig, by name and length; none for names that VCF does not allow."""
    if not are_contig_names(contigs.keys()):
        contigs = {name: size for name, size in contigs.items() if is_contig_name(name)}
    return [f"##contig=<ID={name},length={size}>" for name, size in contigs.items()]


def definition_line(kind: str, name: str, number: str, value_type: str, description: str) -> str:
    """Return the definition of a field; `kind` is INFO or FORMAT."""
    return f'##{kind}=<ID={name},Number={number},Type={value_type},Description="{description}">'


def run_lines(command: str, command_line: str, version: str) -> list[str]:
    """Return the lines of a run of a command of hapgpu; white space becomes single blanks."""
    return [
        f"##hapgpu_{command}Version={version}",
        f"##hapgpu_{command}Command={' '.join(command_line.split())}",
    ]


def column_line(samples: Sequence[str]) -> str:
    """Return the #CHROM line."""
    return "\t".join([*_COLUMNS, *samples])


def header_text(lines: Iterable[str]) -> bytes:
    """Return lines, each with a newline; bytes of names that are not UTF-8 are kept."""
    return "\n".join([*lines, ""]).encode("utf-8", "surrogateescape")


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
    declared = _CONTIGS.findall("\n".join(["", *lines]))
    if declared == list(contigs):
        return lines
    found = set(declared)
    added = contig_lines({name: n for name, n in contigs.items() if name not in found})
    rows = range(len(lines), 0, -1) if found else ()
    end = next((row for row in rows if _CONTIGS.match(f"\n{lines[row - 1]}")), len(lines))
    return [*lines[:end], *added, *lines[end:]]


def _with_definitions(lines: Iterable[str]) -> list[str]:
    """Replace the first line of each ID in `_DEFINITIONS`, or append the definition."""
    missing = {
        (kind, name): definition_line(kind, name, *fields)
        for (kind, name), fields in _DEFINITIONS.items()
    }
    kept, others = list(lines), []
    for row in [k for k, line in enumerate(kept) if line.startswith(_KINDS)]:
        identity = _identity(kept[row])
        if identity in missing:
            kept[row] = missing.pop(identity)
        elif identity in _DEFINITIONS:
            others.append(row)
    for row in reversed(others):
        del kept[row]
    return [*kept, *missing.values()]


def _identity(line: str) -> tuple[str, str]:
    """Return kind and ID of a structured line, empty strings for other lines."""
    found = _IDENTITY.match(line)
    return (found[1], found[2]) if found else ("", "")
