"""Records of SAM, BAM and CRAM as text, and their edits, without code of hapgpu."""

from __future__ import annotations

import gzip
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pysam

PAIRED, PROPER, UNMAPPED, MATE_UNMAPPED = 0x1, 0x2, 0x4, 0x8
REVERSE, MATE_REVERSE, FIRST, SECOND = 0x10, 0x20, 0x40, 0x80
SECONDARY, DUPLICATE, SUPPLEMENTARY = 0x100, 0x400, 0x800
SEGMENT = FIRST | SECOND
NOT_PRIMARY = SECONDARY | SUPPLEMENTARY

ON_READ = frozenset("MIS=X")
ON_REFERENCE = frozenset("MDN=X")
ALIGNED = frozenset("M=X")
MATCH, MISMATCH, GAP_OPEN, GAP_EXTEND = 10, -15, -30, -5

_COMPLEMENTS = str.maketrans("ACGTMRWSYKVHDBN", "TGCAKYWSRMBDHVN")
_OPERATION = re.compile(r"(\d+)([MIDNSHP=XB])")

Cigar = list[tuple[int, str]]


class Alignment(NamedTuple):
    """The alignment of a record."""

    contig: str
    position: int
    cigar: str
    is_unmapped: bool
    is_reverse: bool


@dataclass
class Sam:
    """A record: its columns, and its number in the file."""

    columns: list[str]
    row: int = 0
    raw: bytes | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return self.columns[0]

    @cached_property
    def flag(self) -> int:
        return int(self.columns[1])

    @property
    def contig(self) -> str:
        return self.columns[2]

    @cached_property
    def position(self) -> int:
        return int(self.columns[3])

    @property
    def cigar_text(self) -> str:
        return self.columns[5]

    @cached_property
    def cigar(self) -> Cigar:
        return cigar_of(self.cigar_text)

    @property
    def mate_contig(self) -> str:
        return self.contig if self.columns[6] == "=" else self.columns[6]

    @property
    def bases(self) -> str:
        return "" if self.columns[9] == "*" else self.columns[9]

    @cached_property
    def tags(self) -> dict[str, str]:
        """Values of the optional fields with their types, such as `i:5`."""
        return {text[:2]: text[3:] for text in self.columns[11:]}

    def value(self, tag: str) -> str | None:
        found = self.tags.get(tag)
        return None if found is None else found[2:]

    @property
    def is_unmapped(self) -> bool:
        return bool(self.flag & UNMAPPED)

    @property
    def is_primary(self) -> bool:
        return not self.flag & NOT_PRIMARY

    @property
    def alignment(self) -> Alignment:
        flag = self.flag
        return Alignment(
            self.contig, self.position, self.cigar_text, bool(flag & UNMAPPED), bool(flag & REVERSE)
        )

    @property
    def end(self) -> int:
        """The last position, 1-based; an unmapped record is one base long."""
        length = 0 if self.is_unmapped else span(self.cigar, ON_REFERENCE)
        return self.position + max(length, 1) - 1

    @property
    def as_sequenced(self) -> str:
        if not self.flag & REVERSE:
            return self.bases
        return self.bases.translate(_COMPLEMENTS)[::-1]

    def overlaps(self, locus: tuple[str, int, int]) -> bool:
        """Return whether the record overlaps a locus, 0-based and half-open."""
        contig, start, end = locus
        return self.contig == contig and self.position - 1 < end and self.end > start


def sam_of(line: str) -> Sam:
    return Sam(line.rstrip("\n").split("\t"))


def read_records(path: Path, reference: Path | None = None) -> list[Sam]:
    """Read a file; records of BAM have their bytes, too."""
    fasta = str(reference) if reference else None
    with pysam.AlignmentFile(str(path), check_sq=False, reference_filename=fasta) as file:
        found = [
            Sam(r.to_string().split("\t"), n) for n, r in enumerate(file.fetch(until_eof=True))
        ]
        is_bam = file.is_bam
    if is_bam:
        for record, raw in zip(found, raw_records(path), strict=True):
            record.raw = raw
    return found


def header_lines(path: Path) -> list[str]:
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        return str(file.header).splitlines()


def raw_records(path: Path) -> Iterator[bytes]:
    """Yield the records of a BAM file, as stored, without their lengths."""
    with gzip.open(path) as file:  # BGZF is gzip of many members
        data = file.read()
    assert data[:4] == b"BAM\1"
    at = 8 + struct.unpack_from("<i", data, 4)[0]
    contigs = struct.unpack_from("<i", data, at)[0]
    at += 4
    for _ in range(contigs):
        at += 8 + struct.unpack_from("<i", data, at)[0]
    while at < len(data):
        size = struct.unpack_from("<i", data, at)[0]
        yield data[at + 4 : at + 4 + size]
        at += 4 + size


def cigar_of(text: str) -> Cigar:
    return [(int(length), code) for length, code in _OPERATION.findall(text)]


def span(cigar: Cigar, codes: frozenset[str]) -> int:
    return sum(length for length, code in cigar if code in codes)


class Edits(NamedTuple):
    """An alignment compared with the reference, base by base."""

    distance: int
    md: str
    score: int
    clipped: int

    @property
    def burden(self) -> int:
        """The number of edits and soft-clipped bases."""
        return self.distance + self.clipped


class Bases:
    """The contigs of a FASTA file, upper case."""

    def __init__(self, path: Path) -> None:
        self._fasta = pysam.FastaFile(str(path))
        self._window = ("", 0, "")

    def length(self, contig: str) -> int:
        return int(self._fasta.get_reference_length(contig))

    def fetch(self, contig: str, start: int, end: int) -> str:
        """Return the bases of a half-open interval, from a window that is read ahead."""
        name, first, bases = self._window
        if name != contig or start < first or end > first + len(bases):
            first = max(0, start - 1000)
            bases = self._fasta.fetch(contig, first, max(end, start + 100_000)).upper()
            self._window = (contig, first, bases)
        return bases[start - first : end - first]


def edits_of(record: Sam, bases: Bases, cigar: Cigar | None = None) -> Edits:
    """Return NM, MD and score of a mapped record; soft clips and skips score 0."""
    cigar = record.cigar if cigar is None else cigar
    read, at = record.bases, 0
    window = bases.fetch(
        record.contig, record.position - 1, record.position - 1 + span(cigar, ON_REFERENCE)
    )
    on_window, distance, score, matches, md = 0, 0, 0, 0, ""
    for length, code in cigar:
        if code in ALIGNED:
            for base, other in zip(
                read[at : at + length], window[on_window : on_window + length], strict=True
            ):
                if base == other and base != "N":
                    matches, score = matches + 1, score + MATCH
                else:
                    md, matches = f"{md}{matches}{other}", 0
                    distance, score = distance + 1, score + MISMATCH
        elif code in "ID":
            distance, score = distance + length, score + GAP_OPEN + (length - 1) * GAP_EXTEND
            if code == "D":
                md, matches = f"{md}{matches}^{window[on_window : on_window + length]}", 0
        at += length if code in ON_READ else 0
        on_window += length if code in ON_REFERENCE else 0
    clipped = span(cigar, frozenset("S"))
    return Edits(distance, f"{md}{matches}", score, clipped)


def terminal_insertion(cigar: Cigar) -> int:
    """Return the longest insertion next to an end of the read, or next to its clip."""
    inner = [part for part in cigar if part[1] not in "SH"]
    return max((length for length, code in (inner[:1] + inner[-1:]) if code == "I"), default=0)
