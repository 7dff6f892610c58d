"""Made data for the page of sites: a reference, reads and genotypes, with names of any kind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

import pysam

from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.report.options import SectionOptions
from hapgpu.report.page import Section
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
    options = SectionOptions(given, reference, threads, MAX_RECORD, lambda _: None)
    return site_section(vcf, "f", options)


def make(directory: Path, sample: str = "one", read_name: str = "r") -> MadeSites:
    """Write a homozygous deletion and a heterozygous insertion, with reads misaligned at both."""
    rng = Random(7)  # noqa: S311  (test data)
    bases = "".join(rng.choices("ACGT", k=LENGTH))
    reference = directory / "reference.fa"
    reference.write_text(f">{CONTIG}\n{bases}\n")
    pysam.faidx(str(reference))
    return MadeSites(
        reference,
        _write_reads(directory / "reads.bam", bases, sample, read_name),
        _write_vcf(directory / "genotypes.vcf", bases, sample),
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


def _write_reads(path: Path, bases: str, sample: str, read_name: str) -> Path:
    header = pysam.AlignmentHeader.from_dict(
        {
            "HD": {"VN": "1.6", "SO": "coordinate"},
            "SQ": [{"SN": CONTIG, "LN": LENGTH}],
            "RG": [{"ID": "group", "SM": sample}],
        }
    )
    records = [
        _record(header, haplotype[at : at + READ], f"{read_name}{copy}.{at}")
        for copy, haplotype in enumerate(_haplotypes(bases))
        for at in range(1500, LENGTH - 1600, 7)
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
    record = pysam.AlignedSegment(header)
    record.query_name = name
    record.query_sequence = "".join(base for base, _ in read)
    record.query_qualities = pysam.qualitystring_to_array("I" * len(read))
    record.reference_id = 0
    record.reference_start = read[left][1]
    record.mapping_quality = 60
    clips = [(4, left)] if left else [], [(4, right)] if right else []
    record.cigartuples = [*clips[0], (0, len(longest)), *clips[1]]
    record.set_tag("RG", "group")
    return record


def _write_vcf(path: Path, bases: str, sample: str) -> Path:
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
        f"##contig=<ID={CONTIG},length={LENGTH}>",
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="x">',
        f"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{sample}",
        *(
            "\t".join(map(str, [CONTIG, at, *row[:-1], ".", "GT:GQ:DP:AD:PL", row[-1]]))
            for at, row in zip(positions, rows, strict=True)
        ),
    ]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path
