"""Records of VCF and BCF files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from sys import getsizeof
from types import TracebackType
from typing import Final, Self

from hapgpu.errors import InputError
from hapgpu.io.files.file_kind import guess_kind
from hapgpu.io.files.record_limit import MAX_RECORD, too_long
from hapgpu.io.text.contig_names import is_contig_name
from hapgpu.io.text.positions import LAST_POSITION, MAX_DIGITS, parse_position
from hapgpu.io.vcf.alleles import BASES, MalformedError, alternative_alleles, quoted
from hapgpu.io.vcf.lines import FIRST_LINE_CHARACTERS, vcf_lines

_FIXED_NAMES: Final = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO"]
_FIXED: Final = len(_FIXED_NAMES)


@dataclass(frozen=True, slots=True)
class VcfRecord:
    """Record of a VCF.

    Attributes
    ----------
    label
        Number in its file, for messages: `line 12`, or `record 3` of BCF; from 1.
    contig
        CHROM.
    start
        0-based position of the first base of REF; -1 for POS 0, the telomere.
    reference
        REF, upper case.
    alternatives
        ALT: sequences in upper case; `*`, symbolic alleles and breakends as written; empty for `.`.
    columns
        The eight fixed columns as written, CHROM to INFO.
    genotypes
        FORMAT and the columns of the samples, as written; empty without samples.
    """

    label: str
    contig: str
    start: int
    reference: str
    alternatives: tuple[str, ...]
    columns: tuple[str, ...]
    genotypes: str


def open_vcf(path: str | Path, max_record: int = MAX_RECORD) -> VcfSource:
    """Open a VCF, plain, gzip- or BGZF-compressed, or a BCF, recognised by their first bytes.

    Parameters
    ----------
    path
        A file, or `-` for standard input.
    max_record
        Bytes of the longest record, and of the header in memory, that is read.

    Raises
    ------
    InputError
        The file cannot be read, is neither VCF nor BCF, or its header is malformed or too long.
    """
    name = "standard input" if str(path) == "-" else str(path)
    lines = vcf_lines(path, name, max_record)
    try:
        is_bcf = next(lines) == "BCF"
        return VcfSource(name, lines, is_bcf=is_bcf, max_record=max_record)
    except BaseException:
        lines.close()
        raise


class VcfSource:
    """Source of the header and the records of a VCF or BCF; a context manager.

    Parameters
    ----------
    name
        Name of the file, for messages.
    lines
        Lines of the file; closed with this source.
    is_bcf
        Whether the file is BCF: messages then count records, not lines.
    max_record
        Maximum of bytes that the header takes in memory.

    Attributes
    ----------
    name
        As above.
    header
        The `##` lines, without newlines.
    samples
        Names of the samples.

    Raises
    ------
    InputError
        The header is malformed (the message names the line) or too long.
    """

    def __init__(
        self,
        name: str,
        lines: Generator[str],
        *,
        is_bcf: bool,
        max_record: int = MAX_RECORD,
    ) -> None:
        self.name = name
        self._lines = lines
        self._unit = "record" if is_bcf else "line"
        first = next(lines, "")
        _check_first_line(first, name)
        self.header, columns = self._take_header(first, max_record)
        line = len(self.header) + 1
        try:
            self.samples = _samples_of(columns)
        except MalformedError as error:
            raise InputError(f"{name}, line {line}: {error}") from None
        self._first_number = 1 if is_bcf else line + 1

    def records(self, *, for_vcf: bool = False) -> Iterator[VcfRecord]:
        """Read the records, once, in file order.

        Parameters
        ----------
        for_vcf
            Raise an error for contig names that VCF does not allow: `bcftools` cannot read them.

        Raises
        ------
        InputError
            A line is malformed or not sorted, or the file is damaged or truncated.
        """
        contig, last = "", 0
        seen: set[str] = set()
        samples = len(self.samples)
        for number, line in enumerate(self._lines, self._first_number):
            label = f"{self._unit} {number}"
            try:
                record = _record(label, line, samples)
                if record.contig != contig:
                    contig = record.contig
                    if for_vcf:
                        _check_contig(contig)
                    if contig in seen:
                        raise _unsorted(f"{quoted(contig)} again after another contig")
                    seen.add(contig)
                elif record.start < last:
                    raise _unsorted(f"POS {record.start + 1} after {last + 1}")
            except MalformedError as error:
                if line.strip():
                    raise InputError(f"{self.name}, {label}: {error}") from None
                self._check_rest(label)
                return
            last = record.start
            yield record

    def close(self) -> None:
        """Close the file."""
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _check_rest(self, label: str) -> None:
        """Check that all lines after a blank line are blank too."""
        if any(line.strip() for line in self._lines):
            raise InputError(f"{self.name}, {label}: blank line among the records; remove it")

    def _take_header(self, first: str, max_bytes: int) -> tuple[tuple[str, ...], str]:
        """Return the ## lines and the next line."""
        header = [first.rstrip("\r\n")]
        size = 0
        for line in self._lines:
            text = line.rstrip("\r\n")
            if not text.startswith("##"):
                return tuple(header), text
            header.append(text)
            size += getsizeof(text)
            if size > max_bytes:
                raise too_long(f"{self.name}, header", max_bytes)
        raise InputError(f"{self.name}: truncated (no #CHROM line); copy it again")


def _check_first_line(line: str, name: str) -> None:
    if line.startswith("##fileformat=VCFv4") and len(line) < FIRST_LINE_CHARACTERS:
        return
    if not line:
        raise InputError(f"{name}: empty; give VCF or BCF")
    if line.startswith("##fileformat=VCF"):
        raise InputError(
            f"{name}, line 1: found {quoted(line.rstrip())}, expected VCFv4; convert it to VCFv4"
        )
    kind = "FASTA" if line.startswith(">") else guess_kind(line.encode("utf-8", "surrogateescape"))
    found = f"looks like {kind}" if kind else "does not start with ##fileformat=VCFv4"
    raise InputError(f"{name}: {found}; give VCF or BCF")


def _samples_of(columns: str) -> tuple[str, ...]:
    names = columns.split("\t")
    if names[:_FIXED] != _FIXED_NAMES or names[_FIXED : _FIXED + 1] not in ([], ["FORMAT"]):
        raise MalformedError(
            f"found {quoted(columns)}, expected a ## line, or #CHROM POS ID REF ALT QUAL FILTER"
            " INFO (and FORMAT and samples), separated by tabs; correct the header"
        )
    samples = names[_FIXED + 1 :]
    if "" in samples:
        raise MalformedError("empty sample name; run: bcftools reheader")
    if len(set(samples)) < len(samples):
        twice, _ = Counter(samples).most_common(1)[0]
        raise MalformedError(f"two samples are named {quoted(twice)}; run: bcftools reheader")
    return tuple(samples)


def _record(label: str, line: str, samples: int) -> VcfRecord:
    fields = line.rstrip("\r\n").split("\t", _FIXED)
    columns = tuple(fields[:_FIXED])
    if len(columns) < _FIXED or "" in columns:
        raise MalformedError(
            "expected the columns CHROM to INFO, separated by tabs, none empty; correct the line"
        )
    # As in htslib, columns that the header does not name are skipped.
    genotypes = fields[_FIXED] if samples and len(fields) > _FIXED else ""
    if genotypes.count("\t") != samples:
        count = len(line.split("\t"))
        raise MalformedError(
            f"found {count} columns, expected {_FIXED + 1 + samples} by the header; correct it"
        )
    contig, position, _, reference, alternatives = columns[:5]
    start = _start(position)
    if reference.strip(BASES):
        raise MalformedError(f"REF {quoted(reference)} is not a sequence of bases; correct it")
    return VcfRecord(
        label,
        contig,
        start,
        reference.upper(),
        alternative_alleles(alternatives),
        columns,
        genotypes,
    )


def _check_contig(name: str) -> None:
    if not is_contig_name(name):
        raise MalformedError(
            f"CHROM {quoted(name)} is a name that VCF does not allow; rename the contig, also in"
            " the reference"
        )


def _start(position: str) -> int:
    # Most positions are short, which this faster test accepts.
    is_short = len(position) < MAX_DIGITS and position.isascii() and position.isdecimal()
    number = int(position) if is_short else parse_position(position)
    if number is None:
        raise MalformedError(
            f"POS is {quoted(position)}, expected a whole number from 0 to {LAST_POSITION};"
            " correct it"
        )
    return number - 1


def _unsorted(reason: str) -> MalformedError:
    return MalformedError(f"records not sorted ({reason}); run: bcftools sort")
