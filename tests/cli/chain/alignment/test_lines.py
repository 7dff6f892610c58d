"""`hapgpu chain` with base alignment: the lines and records it writes."""

from __future__ import annotations

import gzip
import json
from itertools import groupby
from pathlib import Path

import pysam
import pytest

from hapgpu.longread import pipeline
from tests.cli.chain.command import (
    ON_CPU,
    Sample,
    fastq_text,
    lines_of,
    sam_of,
    status_of,
    write_unaligned,
)

REVERSE, SECONDARY, SUPPLEMENTARY = 16, 256, 2048


def reads_of(directory: Path, expected: Path, reads: Path) -> Path:
    """Write the reads of which lines are expected."""
    with gzip.open(expected, "rt") as file:
        names = {line.split("\t")[0] for line in file if not line.startswith("@")}
    path = directory / "some.fq"
    with pysam.FastxFile(str(reads)) as records:
        chosen = [f"{record}\n" for record in records if record.name in names]
    path.write_text("".join(chosen))
    return path


@pytest.mark.parametrize(
    ("options", "suffix"), [(["-c", "--cs"], "paf"), (["-a", "--no-PG"], "sam")]
)
def test_lines_equal_minimap2(
    data_dir: Path, tmp_path: Path, options: list[str], suffix: str
) -> None:
    longread = data_dir / "longread"
    stored = longread / "aligned" / f"lambda_ont.map-ont.{suffix}.gz"
    some = reads_of(tmp_path, stored, longread / "lambda_ont.fq.gz")
    output = tmp_path / f"out.{suffix}"
    reference = data_dir / "genomes" / "lambda.NC_001416.fa.gz"
    assert status_of(reference, some, *options, *ON_CPU, "-o", output) == 0
    with gzip.open(stored, "rt") as file:
        expected = [line for line in file if not line.startswith("@PG")]
    assert output.read_text().splitlines(keepends=True) == expected


def test_alignments_describe_the_reference(
    sample: Sample, aligned_records: list[str], tmp_path: Path
) -> None:
    """The reference made of bases, CIGAR and MD is that of the FASTA file."""
    path = tmp_path / "out.sam"
    path.write_text("\n".join([*aligned_records, ""]))
    with pysam.AlignmentFile(str(path)) as file:
        aligned = [record for record in file if not record.is_unmapped]
    assert len(aligned) > len(sample.origins)
    for record in aligned:
        assert record.infer_read_length() == len(sample.reads[record.query_name])
        if record.is_secondary:
            continue
        contig = sample.contigs[record.reference_name]
        expected = contig[record.reference_start : record.reference_end]
        assert record.get_reference_sequence().upper() == expected
        pairs = record.get_aligned_pairs(with_seq=True)
        edits = sum(base is None or base.islower() or at is None for at, _, base in pairs)
        clipped = sum(n for operation, n in record.cigartuples if operation == pysam.CSOFT_CLIP)
        assert record.get_tag("NM") == edits - clipped


def test_reads_align_to_their_origin(sample: Sample, aligned_lines: list[str]) -> None:
    for name, (contig, start, end, strand) in sample.origins.items():
        (fields,) = (line.split("\t") for line in aligned_lines if line.startswith(f"{name}\t"))
        assert (fields[4], fields[5]) == (strand, contig)
        assert abs(int(fields[7]) - start) < 10
        assert abs(int(fields[8]) - end) < 10


def test_records_agree_with_paf(aligned_lines: list[str], aligned_records: list[str]) -> None:
    rows = [line.split("\t") for line in aligned_records if not line.startswith("@")]
    mapped = [row for row in rows if not int(row[1]) & 4]
    assert [(row[0], row[2], row[3], row[4]) for row in mapped] == [
        (fields[0], fields[5], str(int(fields[7]) + 1), fields[11])
        for fields in (line.split("\t") for line in aligned_lines)
    ]
    assert len(rows) > len(mapped)


def test_kinds_of_records(sample: Sample, tmp_path: Path) -> None:
    """One read has a secondary alignment, one a supplementary, one none."""
    found = sam_of(tmp_path, sample.fasta, sample.fastq, "-M", "0.7")
    rows = [line.split("\t") for line in found if not line.startswith("@")]
    flags = {
        name: [int(row[1]) & ~REVERSE for row in of_read]
        for name, of_read in groupby(rows, lambda row: row[0])
    }
    assert flags["shared0"] == [0, SECONDARY]
    assert flags["overlap"] == [0, SUPPLEMENTARY]
    assert flags["foreign"] == [4]
    assert list(flags) == list(sample.reads)
    mapped_only = sam_of(tmp_path, sample.fasta, sample.fastq, "-M", "0.7", "--sam-hit-only")
    assert mapped_only == [line for line in found if line.split("\t")[1] != "4"]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block", [1, 20_000])
def test_neither_threads_nor_blocks_change_the_output(
    sample: Sample,
    aligned_lines: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    block: int,
) -> None:
    monkeypatch.setattr(pipeline, "_CPU_BLOCK", block)
    assert lines_of(tmp_path, sample.fasta, sample.fastq, "-c", threads=threads) == aligned_lines


def test_cs_alone_is_short(sample: Sample, tmp_path: Path) -> None:
    files = sample.fasta, sample.fastq
    alone = lines_of(tmp_path, *files, "--cs")
    assert alone == lines_of(tmp_path, *files, "--cs=short")
    assert alone == lines_of(tmp_path, "--cs", *files)
    assert all("\tcs:Z::" in line for line in alone)
    assert alone != lines_of(tmp_path, *files, "--cs=long")


def test_one_of_the_tags_with_differences(sample: Sample, tmp_path: Path) -> None:
    """`--cs` also aligns bases; then minimap2 writes MD or ds instead."""
    for option in ("--MD", "--ds", "--cs"):
        found = lines_of(tmp_path, sample.fasta, sample.fastq, "--cs", option)
        last = {line.split("\t")[-1][:5] for line in found}
        assert last == {f"{option.removeprefix('--')}:Z:"}


def test_bases_and_qualities_are_those_of_the_reads(
    sample: Sample, aligned_records: list[str]
) -> None:
    with pysam.FastxFile(str(sample.fastq)) as file:
        reads = {record.name: (record.sequence, record.quality) for record in file}
    for line in aligned_records:
        if line.startswith("@"):
            continue
        name, flag, *_, bases, qualities = line.split("\t")[:11]
        if int(flag) & SUPPLEMENTARY:
            continue
        if int(flag) & SECONDARY:
            assert (bases, qualities) == ("*", "*")
            continue
        if int(flag) & REVERSE:
            bases = bases[::-1].translate(str.maketrans("ACGT", "TGCA"))
            qualities = qualities[::-1]
        assert (bases, qualities) == reads[name]


def test_comments_of_fastq(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "reads.fq"
    text = fastq_text({name: sample.reads[name] for name in ("r0", "foreign", "r1")})
    path.write_text(
        text.replace("@r0\n", "@r0 BC:Z:a\tXX:i:1\n").replace("@foreign\n", "@foreign\tXY:i:2\n")
    )
    found = [line for line in sam_of(tmp_path, sample.fasta, path, "-y") if line[0] != "@"]
    assert [line.split("\trl:i:")[1].split("\t")[1:] for line in found] == [
        ["BC:Z:a", "XX:i:1"],
        ["XY:i:2"],
        [],
    ]
    assert all(":i:1" not in line[-8:] for line in sam_of(tmp_path, sample.fasta, path))


def test_tags_of_bam(sample: Sample, tmp_path: Path) -> None:
    reads = write_unaligned(sample, tmp_path / "reads.bam", "wb")
    path = tmp_path / "aligned.bam"
    assert status_of(sample.fasta, reads, "-y", *ON_CPU, "-o", path) == 0
    with pysam.AlignmentFile(str(path)) as file:
        found = list(file)
    assert {record.query_name for record in found} == set(sample.reads)
    assert {record.get_tag("qs") for record in found} == {12.5}
    assert all([*record.get_tag("ML")] == [*range(200)] for record in found)


@pytest.mark.parametrize("length", [0, 1, 14, 30])
def test_reads_too_short_to_map(sample: Sample, tmp_path: Path, length: int) -> None:
    path, bases = tmp_path / "reads.fq", sample.contigs["chr1"][:length]
    path.write_text(fastq_text({"short": bases}))
    assert not lines_of(tmp_path, sample.fasta, path, "-c")
    (line,) = lines_of(tmp_path, sample.fasta, path, "-c", "--paf-no-hit")
    zeros = "\t0" * 5
    assert line == f"short\t{length}\t0\t0\t*\t*\t0{zeros}\trl:i:0"
    *_, record = sam_of(tmp_path, sample.fasta, path)
    fields = record.split("\t")
    assert fields[:9] == ["short", "4", "*", "0", "0", "*", "*", "0", "0"]
    assert fields[9] == (bases or "*")


@pytest.mark.parametrize("suffix", ["paf", "sam", "bam"])
def test_no_reads(sample: Sample, tmp_path: Path, suffix: str) -> None:
    reads, path = tmp_path / "none.bam", tmp_path / f"out.{suffix}"
    header = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6"}})
    with pysam.AlignmentFile(str(reads), "wb", header=header):
        pass
    assert status_of(sample.fasta, reads, "-c", *ON_CPU, "-o", path) == 0
    if suffix == "paf":
        assert not path.read_bytes()
        return
    with pysam.AlignmentFile(str(path)) as file:
        assert file.nreferences == len(sample.contigs)
        assert not [*file]


def test_statistics(sample: Sample, aligned_lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    lines_of(tmp_path, sample.fasta, sample.fastq, "-c", "--json", path)
    statistics = json.loads(path.read_text())
    counts = statistics["counts"]
    assert counts.pop("anchors") > 0
    rows = [line.split("\t") for line in aligned_lines]
    assert counts == {
        "reads": len(sample.reads),
        "bases": sum(map(len, sample.reads.values())),
        "mapped": len({row[0] for row in rows}),
        "records": len(aligned_lines),
        "secondary": sum("tp:A:S" in row for row in rows),
        "supplementary": 0,
        "aligned_bases": sum(int(row[3]) - int(row[2]) for row in rows if "tp:A:P" in row),
    }
    assert {"index", "read", "align", "write", "total"} == set(statistics["seconds"])
    assert statistics["command"] == "chain"
    assert statistics["devices"] == ["CPU, 1 thread"]


def test_statistics_of_sam(sample: Sample, aligned_records: list[str], tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    assert sam_of(tmp_path, sample.fasta, sample.fastq, "--MD", "--json", path) == aligned_records
    counts = json.loads(path.read_text())["counts"]
    flags = [int(line.split("\t")[1]) for line in aligned_records if not line.startswith("@")]
    assert counts["records"] == len(flags)
    assert counts["secondary"] == sum(flag & SECONDARY > 0 for flag in flags)
    assert counts["supplementary"] == sum(flag & SUPPLEMENTARY > 0 for flag in flags)
    assert counts["mapped"] == len(sample.reads) - flags.count(4)
