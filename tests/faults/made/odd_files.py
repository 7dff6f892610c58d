"""Faulty files, beside the inputs of all commands."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np
import pysam
import pysam.bcftools

from tests.cli.in_process import status_of_command

CONTIG: Final = "chr20"
LENGTH: Final = 20_000
SITE: Final = 5121
"""Position of the first site of the inputs, which is in their targets."""
_OTHERS: Final = str.maketrans("ACGT", "CGTA")
READ: Final = "@r{0}\nACGTTTGACAAC\n+\nIIIIIIIIIIII\n"
GOOD: Final = "".join(READ.format(number) for number in range(50))
READS: Final = ("other_id", "long_quality", "short_quality", "no_quality", "cut_in_name")
READS += ("cut_in_bases", "cut_in_plus", "cut_in_qualities", "null_in_bases", "null_in_qualities")
READS += ("space", "tab", "no_at")


def make_odd_files(directory: Path) -> None:
    """Write all odd files into a directory of the inputs."""
    text = "".join((directory / "reference.fa").read_text().splitlines()[1:])
    contigs = {"other_contig.fa": "", "both.fa": f">{CONTIG}\n{text}\n"}
    for name, first in contigs.items():
        (directory / name).write_text(f"{first}>other\nACGT\n")
        pysam.faidx(str(directory / name))
    for name, content in {**_fasta(), **_fastq(), **_others(), **_sites(text)}.items():
        (directory / name).write_text(content)
    _write_indexes(directory)
    _write_compressed(directory)
    _write_alignments(directory, text)
    _write_anchors(directory)


def _fasta() -> dict[str, str]:
    first = f">one {CONTIG}:5001-5040\n{'ACGT' * 10}\n"
    return {
        # References, and indexes of one.
        "no_header.fa": "ACGTACGT\n",
        "no_name.fa": ">\nACGTACGT\n",
        "no_sequence.fa": ">one\n>two\nACGT\n",
        "twice.fa": ">one\nACGTACGTACGT\n>one\nACGTTTGACAAC\n",
        "star.fa": ">one\nACGT*-ACGT\n",
        "comma.fa": ">a,b\nACGTACGTACGT\n",
        "empty.fa": "",
        "tiny.fa": ">tiny\nTTGACCTAGGACATCAGCATTACGGATCCAGTCAAGT\n",
        "small.fa": f">one\n{'ACGTTTGACAAC' * 9}\n",
        # Haplotypes.
        "one.fa": first,
        "free_locus.fa": f"{first}>free\nACGT\n",
        "loci_twice.fa": first + first,
        "comma_haplotype.fa": ">one,two\nACGT\n",
        "gaps.fa": ">one\nAC-GT\n",
        "other_locus.fa": first.replace(f"{CONTIG}:5001-5040", "other:1-4"),
        "prefix.fa": first.replace(CONTIG, "20"),
        "unknown.fa": first.replace(CONTIG, "chrUn"),
        "beyond.fa": first.replace("5001-5040", "20001-20040"),
        "over_end.fa": first.replace("5001-5040", "19951-20001"),
    }


def _fastq() -> dict[str, str]:
    """Make files whose record 51 is malformed, and one with a later malformed record."""
    last = READ.format(50)
    name, bases, plus, qualities = last.splitlines()
    records = {
        "other_id": last.replace("+", "+r7"),
        "long_quality": last.replace(qualities, qualities + "I"),
        "short_quality": last.replace(qualities, qualities[1:]),
        "no_quality": last.replace(qualities, ""),
        "cut_in_name": name,
        "cut_in_bases": f"{name}\n{bases[:5]}",
        "cut_in_plus": f"{name}\n{bases}\n{plus}",
        "cut_in_qualities": f"{name}\n{bases}\n{plus}\n{qualities[:5]}",
        "null_in_bases": last.replace("GTT", "G\0T"),
        "null_in_qualities": last.replace("II", "I\0", 1),
        "space": last.replace("GTT", "G T"),
        "tab": last.replace("GTT", "G\tT"),
        "no_at": last.replace("@", "a"),
        "digit": last.replace("GTT", "G7T"),
    }
    assert {*READS} < {*records}
    return {f"{key}.fq": GOOD + text for key, text in records.items()} | {
        "good.fq": GOOD,
        "late.fq": GOOD * 1200 + READ.format(0).replace("+", "-"),
    }


def _others() -> dict[str, str]:
    return {
        "whole.bed": f"{CONTIG}\t0\t{LENGTH}\n",
        "bad.bed": f"{CONTIG}\t5\n",
        "prefix.bed": "20\t5\t9\n",
        "short.in": "1 1\nACGT III IIII IIII ++++\nACGTA\n",
        "cut.in": "1 2\nACGT IIII IIII IIII ++++\nACGTA\n",
    }


def _sites(reference: str) -> dict[str, str]:
    base, next_base = reference[SITE - 1], reference[SITE]
    other = "ACGT".replace(base, "")[0]
    wrong = "ACGT".replace(next_base, "")[0]
    site = f"{SITE} {base} {other}"
    files = {
        "other_base.vcf": [site, f"{SITE + 1} {wrong} GG"],
        "over_end.vcf": [f"{LENGTH} {reference[-1]}A G"],
        "beyond.vcf": [f"{LENGTH + 1} A G"],
        "unsorted.vcf": [f"{SITE + 1} {next_base} GG", site],
        "no_bases.vcf": [f"{site}X"],
        "columns.vcf": [site, f"{SITE + 1} A"],
        "genotype.vcf": [f"{site} GT 0/2"],
    }
    found = {name: _vcf(records) for name, records in files.items()}
    names = {"prefix.vcf": "20", "comma.vcf": "chr,1", "unknown.vcf": "chr2"}
    found |= {name: _vcf([site], contig) for name, contig in names.items()}
    again = _vcf([site, site, site]).splitlines()
    again[-2] = again[-2].replace(CONTIG, "chr2")
    return found | {
        "again.vcf": "\n".join([*again, ""]),
        "empty.vcf": "",
        "header.vcf": "##fileformat=VCFv4.2\n",
        "with_contig.vcf": found["other_base.vcf"].replace(
            "#CHROM", f"##contig=<ID={CONTIG}>\n#CHROM"
        ),
    }


def _vcf(records: Iterable[str], contig: str = CONTIG) -> str:
    """Write records such as `12 A T`, or `12 A T GT 0/1`."""
    lines = []
    samples = []
    for record in records:
        position, *alleles = record.split()
        alleles, samples = alleles[:2], alleles[2:]
        lines.append("\t".join([contig, position, ".", *alleles, ".", ".", ".", *samples]))
    names = ["FORMAT", "s1"] if samples else []
    columns = "\t".join(["#CHROM POS ID REF ALT QUAL FILTER INFO".replace(" ", "\t"), *names])
    return "\n".join(["##fileformat=VCFv4.2", columns, *lines, ""])


def _write_indexes(directory: Path) -> None:
    """Write indexes that do not match the reference beside them."""
    for name in ("stale", "foreign"):
        path = directory / f"{name}.fa"
        path.write_text((directory / "small.fa").read_text())
        assert status_of_command("index", path, "-q", "--device", "cpu") == 0
        assert status_of_command("index", "--minimizers", path, "-q") == 0
    (directory / "stale.fa").write_text(f">stale\n{'ACGTTTGACAAT' * 9}\n")
    shutil.copy(directory / "kept.hgm", directory / "foreign.fa.k15w10.hgm")


def _write_compressed(directory: Path) -> None:
    packed = gzip.compress(b">one\nACGTACGTACGT\n" * 50)
    (directory / "cut.fa.gz").write_bytes(packed[: len(packed) // 2])
    with pysam.BGZFile(str(directory / "cut.fq.bgz"), "wb") as out:
        out.write(GOOD.encode())
    blocks = (directory / "cut.fq.bgz").read_bytes()
    (directory / "cut.fq.bgz").write_bytes(blocks[:-28])
    bcf = str(directory / "other_base.bcf")
    pysam.bcftools.view("-Ob", "-o", bcf, str(directory / "with_contig.vcf"), catch_stdout=False)


def _write_alignments(directory: Path, reference: str) -> None:
    bases = reference[5100:5200]
    rows: list[list[str | int]] = [
        [f"r{number}", 0, CONTIG, 5101, 60, "100M", "*", 0, 0, bases, "I" * 100, "RG:Z:run1"]
        for number in range(2)
    ]

    def sam(
        name: str,
        changes: dict[int, str | int] | None = None,
        contig: str = CONTIG,
        length: int = LENGTH,
        groups: str = "@RG\tID:run1\tSM:a\n@RG\tID:run2\tSM:b\n",
    ) -> Path:
        """Write a file whose last read has other columns."""
        last = [(changes or {}).get(column, value) for column, value in enumerate(rows[1])]
        lines = [
            "\t".join(map(str, [*row[:2], contig, *row[3:]])).rstrip() for row in (rows[0], last)
        ]
        header = f"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:{contig}\tLN:{length}\n{groups}"
        path = directory / name
        path.write_text("\n".join([header + lines[0], lines[1], ""]))
        return path

    unknown = {9: f"{bases[:-30]}{bases[-30:].translate(_OTHERS)}", 10: "*"}
    sam("unsorted.sam", {3: 5050})
    sam("prefix.sam", contig="20")
    sam("elsewhere.sam", contig="chr2")
    sam("no_group.sam", {11: ""})
    sam("unknown_group.sam", {11: "RG:Z:run3"})
    sam("no_sample.sam", {11: "RG:Z:run2"}, groups="@RG\tID:run1\tSM:a\n@RG\tID:run2\n")
    sam("short_tag.sam", {11: "BI:Z:III"})
    for name, changes, length in (("bare", unknown, LENGTH), ("longer", {}, LENGTH + 100)):
        path = sam(f"{name}.sam", changes, length=length)
        pysam.view("-b", "-o", f"{path.with_suffix('.bam')}", str(path), catch_stdout=False)
        pysam.index(f"{path.with_suffix('.bam')}")
    (directory / "two").mkdir()
    for name in ("unnamed1.sam", "two/unnamed1.sam"):
        path = sam(name, groups="")
        path.write_text(path.read_text().replace("\tRG:Z:run1", ""))
    shutil.copy(directory / "reads.bam", directory / "no_index.bam")
    with pysam.AlignmentFile(str(directory / "reads.bam")) as file:
        header, lines = str(file.header), [r.to_string() for r in file.fetch(until_eof=True)]
    unsorted = header.replace("SO:coordinate", "SO:unsorted")
    (directory / "unsorted_header.sam").write_text(unsorted + "\n".join([*lines, ""]))
    (directory / "misordered.sam").write_text(header + "\n".join([lines[-1], *lines[:-1], ""]))
    with pysam.AlignmentFile(str(directory / "no_reads.bam"), "wb", header={"HD": {"VN": "1.6"}}):
        pass
    for ending in ("", ".bai"):
        (directory / f"link.bam{ending}").symlink_to(f"reads.bam{ending}")


def _write_anchors(directory: Path) -> None:
    with np.load(directory / "anchors.npz") as arrays:
        x, y, offsets = arrays["x"], arrays["y"], arrays["offsets"]
    for name, given in {
        "no_offsets": {"x": x, "y": y},
        "offsets": {"x": x, "y": y, "offsets": offsets + 1},
        "order": {"x": x[::-1], "y": y, "offsets": offsets},
        "span": {"x": x, "y": y * 0, "offsets": offsets},
        "object": {"x": np.array([object()]), "y": y, "offsets": offsets},
    }.items():
        np.savez(directory / f"{name}.npz", **given)
    (directory / "text.npz").write_bytes(b"not a zip file")
    (directory / "pickle.npz").write_bytes(b"\x80\x04\x95")
    (directory / "empty.npz").write_bytes(b"")
