"""Sources of VCF and BCF: header, samples, and records in columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from sys import getsizeof
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.errors import InputError
from hapgpu.io.files.file_kind import guess_kind
from hapgpu.io.files.record_limit import MAX_RECORD, too_long
from hapgpu.io.text.values import LAST_POSITION, is_contig_name
from hapgpu.io.vcf.batches import END, GENOTYPES, VcfBatch
from hapgpu.io.vcf.lines import FIRST_LINE_BYTES, vcf_blocks
from hapgpu.io.vcf.records import BASES, FIXED_COLUMNS, MalformedError, VcfRecord, quoted, record_of
from hapgpu.runtime.closeable import Closeable
from hapgpu.runtime.jit import njit, njit_inlined

_FIXED_NAMES: Final = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO"]

_TAB, _NEWLINE, _RETURN, _ZERO, _NINE = b"\t\n\r09"
_COMMA, _POINT, _STAR, _LESS, _GREATER, _OPENING, _CLOSING = b",.*<>[]"
_IS_BASE: Final = np.isin(np.arange(256), np.frombuffer(BASES.encode(), dtype=np.uint8))
_MALFORMED: Final = -2
_NO_HEADER_LINE: Final = re.compile(rb"^(?!##|\Z)", re.MULTILINE)
_MIN_SYMBOL: Final = 3  # `<`, a letter, `>`


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
    blocks = vcf_blocks(path, name, max_record)
    try:
        is_bcf = next(blocks) == b"BCF"
        return VcfSource(name, blocks, is_bcf=is_bcf, max_record=max_record)
    except BaseException:
        blocks.close()
        raise


class VcfSource(Closeable):
    """Source of the header and the records of a VCF or BCF; a context manager.

    Parameters
    ----------
    name
        Name of the file, for messages.
    blocks
        Blocks of lines of the file; closed with this source.
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
        blocks: Generator[bytes],
        *,
        is_bcf: bool,
        max_record: int = MAX_RECORD,
    ) -> None:
        self.name = name
        self._blocks = blocks
        self._unit = "record" if is_bcf else "line"
        self._rest = b""  # of the block that holds the end of the header
        self.header, columns = self._take_header(max_record)
        line = len(self.header) + 1
        try:
            self.samples = _samples_of(columns)
        except MalformedError as error:
            raise InputError(f"{name}, line {line}: {error}") from None
        self._first_number = 1 if is_bcf else line + 1

    def records(self) -> Iterator[VcfRecord]:
        """Read the records one by one, see `batches`."""
        for batch in self.batches():
            yield from batch

    def batches(self, *, for_vcf: bool = False) -> Iterator[VcfBatch]:
        """Read the records, once, in file order.

        Parameters
        ----------
        for_vcf
            Raise an error for contig names that VCF does not allow: `bcftools` cannot read them.

        Yields
        ------
        VcfBatch
            At least one record.

        Raises
        ------
        InputError
            A line is malformed or not sorted, or the file is damaged or truncated. All records
            before it have been yielded.
        """
        contig, last, number = "", -1, self._first_number
        seen: set[str] = set()
        for block in self._data_blocks():
            text = np.frombuffer(block, dtype=np.uint8)
            ends = line_ends_of(text)
            parsed = ParsedLines.allocated(ends.size)
            row = 0
            while row < ends.size:
                name = np.frombuffer(contig.encode("utf-8", "surrogateescape"), dtype=np.uint8)
                end = parse_lines(text, ends, row, last, name, len(self.samples), parsed)
                if end > row:
                    numbers = np.arange(number + row, number + end)
                    columns = (part[row:end] for part in parsed)
                    yield VcfBatch(contig, self._unit, numbers, text, *columns)
                    last = int(parsed.starts[end - 1])
                row = end
                if row == ends.size:
                    break
                start = int(ends[row - 1]) + 1 if row else 0
                line = _text(block[start : ends[row]])
                label = f"{self._unit} {number + row}"
                try:
                    record = record_of(label, line, len(self.samples))
                    contig = _next_contig(record, contig, last, seen, for_vcf=for_vcf)
                except MalformedError as error:
                    if line.strip():
                        raise InputError(f"{self.name}, {label}: {error}") from None
                    self._check_rest(_text(block[start:]), label)
                    return
                last = -1
            number += ends.size

    def close(self) -> None:
        """Close the file."""
        self._blocks.close()

    def _data_blocks(self) -> Iterator[bytes]:
        rest, self._rest = self._rest, b""
        if rest:
            yield rest
        yield from self._blocks

    def _check_rest(self, rest: str, label: str) -> None:
        """Check that all lines after a blank line are blank too."""
        if rest.strip() or any(_text(block).strip() for block in self._blocks):
            raise InputError(f"{self.name}, {label}: blank line among the records; remove it")

    def _take_header(self, max_bytes: int) -> tuple[tuple[str, ...], str]:
        """Return the ## lines and the next line; keep the rest of its block."""
        header: list[str] = []
        size = 0
        for block in self._blocks:
            if not header:
                _check_first_line(_text(block[: block.find(b"\n") + 1 or None]), self.name)
            found = None if _is_of_header(block) else _NO_HEADER_LINE.search(block)
            text = _text(block[: found.start() if found else None])
            lines = text.split("\n")
            size += _bytes_of(lines, text)
            if lines[-1] == "":
                lines.pop()
            header += [line.rstrip("\r") for line in lines] if "\r" in text else lines
            if size - getsizeof(header[0]) > max_bytes:
                raise too_long(f"{self.name}, header", max_bytes)
            if found:
                end = block.find(b"\n", found.start()) + 1 or len(block)
                self._rest = block[end:]
                return tuple(header), _text(block[found.start() : end]).rstrip("\r\n")
        if not header:
            _check_first_line("", self.name)
        raise InputError(f"{self.name}: truncated (no #CHROM line); copy it again")


def _is_of_header(block: bytes) -> bool:
    """Tell whether all lines start with ##: a million `##contig` lines are not searched."""
    lines = block.count(b"\n") - block.endswith(b"\n")
    return block.startswith(b"##") and block.count(b"\n##") == lines


def _bytes_of(lines: Sequence[str], text: str) -> int:
    """Return the bytes that the lines of a text take in memory."""
    if text.isascii():
        return len(lines) * (getsizeof("") - 1) + len(text) + 1
    return sum(map(getsizeof, lines))


def _text(block: bytes) -> str:
    return block.decode("utf-8", "surrogateescape")


def _check_first_line(line: str, name: str) -> None:
    if line.startswith("##fileformat=VCFv4") and len(line) < FIRST_LINE_BYTES:
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
    if names[:FIXED_COLUMNS] != _FIXED_NAMES or names[FIXED_COLUMNS : FIXED_COLUMNS + 1] not in (
        [],
        ["FORMAT"],
    ):
        raise MalformedError(
            f"found {quoted(columns)}, expected a ## line, or #CHROM POS ID REF ALT QUAL FILTER"
            " INFO (and FORMAT and samples), separated by tabs; correct the header"
        )
    samples = names[FIXED_COLUMNS + 1 :]
    if "" in samples:
        raise MalformedError("empty sample name; run: bcftools reheader")
    if len(set(samples)) < len(samples):
        twice, _ = Counter(samples).most_common(1)[0]
        raise MalformedError(f"two samples are named {quoted(twice)}; run: bcftools reheader")
    return tuple(samples)


def _next_contig(
    record: VcfRecord, contig: str, last: int, seen: set[str], *, for_vcf: bool
) -> str:
    """Return the contig of the first record after another contig, and add it to `seen`.

    Raises
    ------
    MalformedError
        The name is not allowed, the contig came before, or it is the same contig: the record then
        comes after one with a larger position, `last`.
    """
    if record.contig == contig:
        raise _unsorted(f"POS {record.start + 1} after {last + 1}")
    if for_vcf:
        _check_contig(record.contig)
    if record.contig in seen:
        raise _unsorted(f"{quoted(record.contig)} again after another contig")
    seen.add(record.contig)
    return record.contig


def _check_contig(name: str) -> None:
    if not is_contig_name(name):
        raise MalformedError(
            f"CHROM {quoted(name)} is a name that VCF does not allow; rename the contig, also in"
            " the reference"
        )


def _unsorted(reason: str) -> MalformedError:
    return MalformedError(f"records not sorted ({reason}); run: bcftools sort")


class ParsedLines(NamedTuple):
    """Columns of `VcfBatch`, a row per line; rows of lines that are not parsed are undefined."""

    columns: NDArray[np.int64]
    starts: NDArray[np.int64]
    alternatives: NDArray[np.int64]

    @classmethod
    def allocated(cls, count: int) -> ParsedLines:
        """Return arrays for a number of lines."""
        return cls(
            np.empty((count, END + 1), dtype=np.int64),
            np.empty(count, dtype=np.int64),
            np.empty(count, dtype=np.int64),
        )


def line_ends_of(text: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return int64[n]: the end of each line of `text`, uint8; the last may lack a newline."""
    ends = np.flatnonzero(text == _NEWLINE)
    is_open = text.size > (int(ends[-1]) + 1 if ends.size else 0)
    return np.append(ends, text.size) if is_open else ends


@njit
def parse_lines(
    text: NDArray[np.uint8],
    line_ends: NDArray[np.int64],
    first: int,
    last: int,
    contig: NDArray[np.uint8],
    samples: int,
    out: ParsedLines,
) -> int:
    """Parse lines from `first` on, up to a line that differs in kind; return its number.

    That is a malformed line, one of another contig, or one with a smaller position than the line
    before it. `record_of` accepts the same lines.

    Parameters
    ----------
    text
        uint8: lines.
    line_ends
        int64[n]: end of each line, see `line_ends_of`.
    first
        First line to parse.
    last
        Start of the record before it, see `VcfBatch.starts`; -1 on a new contig.
    contig
        uint8 text: name of the contig.
    samples
        Number of samples that the header names.
    out
        A row per line.
    """
    for row in range(first, line_ends.size):
        start = line_ends[row - 1] + 1 if row else np.int64(0)
        end = line_ends[row]
        while end > start and text[end - 1] == _RETURN:
            end -= 1
        if not _find_columns(text, start, end, samples, out.columns[row]):
            return row
        if not _is_contig(text, start, out.columns[row, 1] - 1, contig):
            return row
        position = _position(text, out.columns[row, 1], out.columns[row, 2] - 1)
        if position - 1 < last:
            return row
        last = position - 1
        if not _are_bases(text, out.columns[row, 3], out.columns[row, 4] - 1):
            return row
        alternatives = _count_alternatives(text, out.columns[row, 4], out.columns[row, 5] - 1)
        if alternatives < 0:
            return row
        out.starts[row], out.alternatives[row] = last, alternatives
    return line_ends.size


@njit_inlined
def _find_columns(
    text: NDArray[np.uint8], start: Integer, end: Integer, samples: int, out: NDArray[np.int64]
) -> bool:
    """Write the offsets of the columns of a line; return whether it has them all."""
    at = start
    for column in range(FIXED_COLUMNS):
        out[column] = at
        while at < end and text[at] != _TAB:
            at += 1
        if at == out[column] or (at == end and column < FIXED_COLUMNS - 1):
            return False
        at += 1
    out[GENOTYPES] = out[END] = at
    if samples == 0:
        return True
    tabs = np.int64(0)
    for k in range(at, end):
        tabs += text[k] == _TAB
    out[END] = max(at, end)
    return bool(tabs == samples)


@njit_inlined
def _is_contig(
    text: NDArray[np.uint8], start: Integer, end: Integer, contig: NDArray[np.uint8]
) -> bool:
    if end - start != contig.size:
        return False
    same = np.int64(0)
    while same < contig.size and text[start + same] == contig[same]:
        same += 1
    return bool(same == contig.size)


@njit_inlined
def _position(text: NDArray[np.uint8], start: Integer, end: Integer) -> Integer:
    """Return a position, or a number less than all for any other text."""
    position = np.int64(0)
    for k in range(start, end):
        if not _ZERO <= text[k] <= _NINE:
            return np.int64(_MALFORMED)
        position = min(10 * position + (text[k] - _ZERO), np.int64(LAST_POSITION + 1))
    return position if position <= LAST_POSITION else np.int64(_MALFORMED)


@njit_inlined
def _are_bases(text: NDArray[np.uint8], start: Integer, end: Integer) -> bool:
    at = start
    while at < end and _IS_BASE[text[at]]:
        at += 1
    return bool(at == end)


@njit
def _count_alternatives(text: NDArray[np.uint8], start: Integer, end: Integer) -> int:
    """Return the number of alleles of ALT; negative if one is malformed."""
    if end - start == 1 and text[start] == _POINT:
        return 0
    count, at = 0, start
    while at <= end:
        allele = at
        while at < end and text[at] != _COMMA:
            at += 1
        if at == allele:
            return _MALFORMED
        if not _are_bases(text, allele, at) and not _has_no_sequence(text, allele, at):
            return _MALFORMED
        count += 1
        at += 1
    return count


@njit
def _has_no_sequence(text: NDArray[np.uint8], start: Integer, end: Integer) -> bool:
    """Tell whether an allele is `*`, symbolic, a breakend or missing, as `alternative_alleles`."""
    if end - start == 1 and text[start] == _STAR:
        return True
    for k in range(start, end):
        if text[k] == _OPENING or text[k] == _CLOSING:
            return True
    if text[start] == _LESS:
        return bool(text[end - 1] == _GREATER and end - start >= _MIN_SYMBOL)
    return bool(text[start] == _POINT or text[end - 1] == _POINT)
