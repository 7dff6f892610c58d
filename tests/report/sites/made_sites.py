"""Made data for the page of sites: a reference, reads and genotypes, with names of any kind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

import pysam

from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.report.page import Section, SectionOptions
from hapgpu.report.sites.section import site_section

CONTIG = "chr1"
HOSTILE = "<script>alert(1)</script>'\"{{7*7}}\\ </script> é漢"
READ_NAME = "<script>alert(1)</script>'\"{{\\"
LENGTH = 6000
READ = 100
DELETION = 2000, 2012
INSERTION = 4000, "GATTACA"


@dataclass(frozen=True, slots=True)
class MadeSites:
    """Files of the made data."""

    reference: Path
    reads: Path
    vcf: Path


def section_of(
    vcf: Path, reads: Path | None = None, reference: Path | None = None, threads: int = 1
) -> Section:
    """Make the section `f` of a VCF."""
    given = (str(reads),) if reads else ()
    options = SectionOptions(
        reads=given,
        reference=reference,
        threads=threads,
        max_record=MAX_RECORD,
        advance=lambda _: None,
    )
    return site_section(vcf, "f", options)


def make(
    directory: Path,
    sample: str = "one",
    read_name: str = "r",
    length: int = READ,
    contig: str = CONTIG,
) -> MadeSites:
    """Write a homozygous deletion and a heterozygous insertion, with reads clipped at both.

    Reads of another length than `READ` are aligned with gaps.
    """
    rng = Random(7)  # noqa: S311  (test data)
    bases = "".join(rng.choices("ACGT", k=LENGTH))
    reference = directory / "reference.fa"
    reference.write_text(f">{contig}\n{bases}\n")
    pysam.faidx(str(reference))
    return MadeSites(
        reference,
        _write_reads(directory / "reads.bam", bases, (contig, sample, read_name), length),
        _write_vcf(directory / "genotypes.vcf", bases, contig, sample),
    )


def _haplotypes(bases: str) -> list[list[tuple[str, int | None]]]:
    """Return both haplotypes: each base with its position on the reference, None if inserted."""
    start, end = DELETION
    position, inserted = INSERTION
    first = [(base, at) for at, base in enumerate(bases) if not start <= at < end]
    second = [pair for pair in first if pair[1] < position]
    second += [(base, None) for base in inserted]
    second += [pair for pair in first if pair[1] >= position]
    return [first, second]


def _write_reads(path: Path, bases: str, names: tuple[str, str, str], length: int) -> Path:
    contig, sample, read_name = names
    header = pysam.AlignmentHeader.from_dict(
        {
            "HD": {"VN": "1.6", "SO": "coordinate"},
            "SQ": [{"SN": contig, "LN": LENGTH}],
            "RG": [{"ID": "group", "SM": sample}],
        }
    )
    records = [
        _record(header, haplotype[at : at + length], f"{read_name}{copy}.{at}")
        for copy, haplotype in enumerate(_haplotypes(bases))
        for at in range(1500, LENGTH - 1500 - length, length // 14)
    ]
    records.sort(key=lambda record: record.reference_start)
    with pysam.AlignmentFile(str(path), "wb", header=header) as file:
        for record in records:
            file.write(record)
    pysam.index(str(path))
    return path


def _record(
    header: pysam.AlignmentHeader, read: list[tuple[str, int | None]], name: str
) -> pysam.AlignedSegment:
    cigar = _gapped(read) if len(read) != READ else _clipped(read)
    record = pysam.AlignedSegment(header)
    record.query_name = name
    record.query_sequence = "".join(base for base, _ in read)
    record.query_qualities = pysam.qualitystring_to_array("I" * len(read))
    record.reference_id = 0
    record.reference_start = read[cigar[0][1] if cigar[0][0] == 4 else 0][1]
    record.mapping_quality = 60
    record.cigartuples = cigar
    record.set_tag("RG", "group")
    return record


def _clipped(read: list[tuple[str, int | None]]) -> list[tuple[int, int]]:
    """Align the longest part without a gap, and clip the rest, as mappers often do."""
    parts: list[list[int]] = [[]]
    for offset, (_, at) in enumerate(read):
        last = read[offset - 1][1] if offset else None
        if at is None or last is None or at != last + 1:
            parts.append([])
        if at is not None:
            parts[-1].append(offset)
    longest = max(parts, key=len)
    left, right = longest[0], len(read) - 1 - longest[-1]
    cigar = [(4, left), (0, len(longest)), (4, right)]
    return [(operation, length) for operation, length in cigar if length]


def _gapped(read: list[tuple[str, int | None]]) -> list[tuple[int, int]]:
    """Align all bases; the read starts and ends with a base of the reference."""
    cigar: list[tuple[int, int]] = []
    last = -1
    for _, at in read:
        if at is not None and cigar and at != last + 1:
            cigar.append((2, at - last - 1))
        operation = 1 if at is None else 0
        if cigar and cigar[-1][0] == operation:
            cigar[-1] = operation, cigar[-1][1] + 1
        else:
            cigar.append((operation, 1))
        last = last if at is None else at
    return cigar


def _write_vcf(path: Path, bases: str, contig: str, sample: str) -> Path:
    deleted = bases[DELETION[0] - 1 : DELETION[1]]
    position, inserted = INSERTION
    before = bases[position - 1]
    snv = bases[3000], next(base for base in "ACGT" if base != bases[3000])
    rows = [
        ["<script>alert(2)</script>", deleted, deleted[0], 50, "PASS", "1/1:80:20:0,20:900,80,0"],
        [".", *snv, ".", ".", "0/0:20:28:28,0:0,20,500"],
        [".", before, before + inserted, 60, "q<10>&'\"", "0/1:99:28:14,14:400,0,400"],
    ]
    positions = [DELETION[0], 3001, position]
    lines = [
        "##fileformat=VCFv4.3",
        f"##contig=<ID={contig},length={LENGTH}>",
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="x">',
        f"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{sample}",
        *(
            "\t".join(map(str, [contig, at, *row[:-1], ".", "GT:GQ:DP:AD:PL", row[-1]]))
            for at, row in zip(positions, rows, strict=True)
        ),
    ]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path
