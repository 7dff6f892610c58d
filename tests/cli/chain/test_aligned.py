"""`hapgpu chain` with base alignment from end to end: reads in, PAF, SAM, BAM or CRAM out."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from threading import Thread

import pysam
import pytest

import hapgpu
from hapgpu.chaining.run import workers
from tests.cli.chain.command import (
    COMMAND,
    Sample,
    fasta_text,
    fastq_text,
    lines_of,
    make_sample,
    status_of,
    write_unaligned,
)
from tests.cli.in_process import error_of_command, status_of_command

REVERSE, SECONDARY, SUPPLEMENTARY = 16, 256, 2048
ON_CPU = ("-q", "--device", "cpu", "-t", "1")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Make a reference, its index, and reads."""
    sample = make_sample(tmp_path_factory.mktemp("sample"))
    assert status_of_command("index", "--minimizers", sample.fasta, "-q") == 0
    return sample


@pytest.fixture(scope="module")
def lines(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Align all reads, to PAF."""
    return lines_of(tmp_path_factory.mktemp("lines"), sample.fasta, sample.fastq, "-c")


@pytest.fixture(scope="module")
def records(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Align all reads, to SAM with MD; return header and records."""
    directory = tmp_path_factory.mktemp("records")
    return sam_of(directory, sample.fasta, sample.fastq, "--MD")


def sam_of(directory: Path, *arguments: str | Path) -> list[str]:
    """Align to SAM without @PG; return its lines."""
    path = directory / "out.sam"
    path.unlink(missing_ok=True)
    assert status_of(*arguments, *ON_CPU, "--no-PG", "-o", path) == 0
    return path.read_text().splitlines()


def reads_of(directory: Path, expected: Path, reads: Path) -> Path:
    """Write the reads of which lines are expected."""
    with gzip.open(expected, "rt") as file:
        names = {line.split("\t")[0] for line in file if not line.startswith("@")}
    path = directory / "some.fq"
    with pysam.FastxFile(str(reads)) as records:
        chosen = [f"{record}\n" for record in records if record.name in names]
    path.write_text("".join(chosen))
    return path


@pytest.mark.parametrize(("options", "suffix"), [(["-c", "--cs"], "paf"), (["-a"], "sam")])
def test_lines_equal_minimap2(
    data_dir: Path, tmp_path: Path, options: list[str], suffix: str
) -> None:
    longread = data_dir / "longread"
    stored = longread / "aligned" / f"lambda_ont.map-ont.{suffix}.gz"
    some = reads_of(tmp_path, stored, longread / "lambda_ont.fq.gz")
    output = tmp_path / f"out.{suffix}"
    reference = data_dir / "genomes" / "lambda.NC_001416.fa.gz"
    assert status_of(reference, some, *options, *ON_CPU, "--no-PG", "-o", output) == 0
    with gzip.open(stored, "rt") as file:
        expected = [line for line in file if not line.startswith("@PG")]
    assert output.read_text().splitlines(keepends=True) == expected


def test_alignments_describe_the_reference(
    sample: Sample, records: list[str], tmp_path: Path
) -> None:
    """The reference made of bases, CIGAR and MD is that of the FASTA file."""
    path = tmp_path / "out.sam"
    path.write_text("\n".join([*records, ""]))
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


def test_reads_align_to_their_origin(sample: Sample, lines: list[str]) -> None:
    for name, (contig, start, end, strand) in sample.origins.items():
        (fields,) = (line.split("\t") for line in lines if line.startswith(f"{name}\t"))
        assert (fields[4], fields[5]) == (strand, contig)
        assert abs(int(fields[7]) - start) < 10
        assert abs(int(fields[8]) - end) < 10


def test_records_agree_with_paf(lines: list[str], records: list[str]) -> None:
    rows = [line.split("\t") for line in records if not line.startswith("@")]
    mapped = [row for row in rows if not int(row[1]) & 4]
    assert [(row[0], row[2], row[3], row[4]) for row in mapped] == [
        (fields[0], fields[5], str(int(fields[7]) + 1), fields[11])
        for fields in (line.split("\t") for line in lines)
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
    lines: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    block: int,
) -> None:
    monkeypatch.setattr(workers, "_CPU_BLOCK", block)
    assert lines_of(tmp_path, sample.fasta, sample.fastq, "-c", threads=threads) == lines


@pytest.mark.parametrize(
    ("name", "options", "magic"),
    [
        ("out.sam", [], b"@HD\t"),
        ("out.bam", [], b"\x1f\x8b\x08\x04"),
        ("out.CRAM", ["-c"], b"CRAM"),
        ("out", ["-a"], b"@HD\t"),
        ("out.paf", ["-a"], b"@HD\t"),
        ("out", ["-O", "bam"], b"\x1f\x8b\x08\x04"),
        ("out.bam", ["-O", "cram"], b"CRAM"),
        ("out.sam", ["--output-fmt", "bam"], b"\x1f\x8b\x08\x04"),
        ("out", ["-O", "4,24", "-O", "sam"], b"@HD\t"),
    ],
)
def test_formats_have_the_same_content(
    sample: Sample,
    records: list[str],
    tmp_path: Path,
    name: str,
    options: list[str],
    magic: bytes,
) -> None:
    path = tmp_path / name
    files = sample.fasta, sample.fastq, "-o", path
    assert status_of(*files, *options, "--MD", *ON_CPU, "--no-PG") == 0
    assert path.read_bytes()[:4] == magic
    header, found = read_again(path, sample.fasta)
    plain = tmp_path / "plain.sam"
    plain.write_text("\n".join([*records, ""]))
    # CRAM puts the tags in another order.
    assert [sorted(row) for row in found] == [
        sorted(row) for row in read_again(plain, sample.fasta)[1]
    ]
    assert [line for line in header if not line.startswith("@SQ")] == records[:1]


def read_again(path: Path, reference: Path) -> tuple[list[str], list[list[str]]]:
    """Return header and fields of a file, as htslib reads them."""
    with pysam.AlignmentFile(str(path), reference_filename=str(reference)) as file:
        header = str(file.header).splitlines()
        return header, [record.to_string().split("\t") for record in file]


@pytest.mark.parametrize("options", [["-c"], ["--cs"], ["--paf", "--cs=long"]])
def test_paf_whatever_the_name(sample: Sample, tmp_path: Path, options: list[str]) -> None:
    """A name without an extension of SAM, or `--paf`."""
    path = tmp_path / ("out.bam" if "--paf" in options else "out")
    assert status_of(sample.fasta, sample.fastq, *options, *ON_CPU, "-o", path) == 0
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert {("cg:Z" in "\t".join(row), "cs:Z" in "\t".join(row)) for row in rows} == {
        ("-c" in options, "-c" not in options)
    }


def test_cs_alone_is_short(sample: Sample, tmp_path: Path) -> None:
    files = sample.fasta, sample.fastq
    alone = lines_of(tmp_path, *files, "--cs")
    assert alone == lines_of(tmp_path, *files, "--cs=short")
    assert alone == lines_of(tmp_path, "--cs", *files)
    assert all("\tcs:Z::" in line for line in alone)
    assert alone != lines_of(tmp_path, *files, "--cs=long")


def test_one_of_the_tags_with_differences(sample: Sample, tmp_path: Path) -> None:
    """Of several, minimap2 writes MD before ds before cs."""
    tags = ("--MD", "--ds", "--cs")
    for number, option in enumerate(tags):
        found = lines_of(tmp_path, sample.fasta, sample.fastq, "-c", *tags[number:])
        last = {line.split("\t")[-1][:5] for line in found}
        assert last == {f"{option.removeprefix('--')}:Z:"}


def test_header_names_the_program_and_the_read_group(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "out.bam"
    group = r"@RG\tID:run 1\tSM:sample"
    assert status_of(sample.fasta, sample.fastq, "-a", "-R", group, *ON_CPU, "-o", path) == 0
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        header = file.header.to_dict()
        assert {record.get_tag("RG") for record in file} == {"run 1"}
    assert header["HD"] == {"VN": "1.6", "SO": "unsorted", "GO": "query"}
    assert {row["SN"]: row["LN"] for row in header["SQ"]} == {
        name: len(bases) for name, bases in sample.contigs.items()
    }
    assert header["RG"] == [{"ID": "run 1", "SM": "sample"}]
    (program,) = header["PG"]
    assert (program["ID"], program["VN"]) == ("hapgpu", hapgpu.__version__)
    assert program["CL"].startswith(f"hapgpu chain {sample.fasta}")


def test_several_files(
    sample: Sample, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FASTQ, FASTA, standard input and BAM."""
    fasta = tmp_path / "reads.fa.gz"
    fasta.write_bytes(gzip.compress(fasta_text(sample.reads).encode()))
    bam = write_unaligned(sample, tmp_path / "reads.bam", "wb")
    with sample.fastq.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        files = sample.fastq, fasta, "-", bam
        assert lines_of(tmp_path, sample.fasta, *files, "-c") == lines * 4


@pytest.mark.parametrize("output", [[], ["-o", "-"]])
def test_pipes(sample: Sample, records: list[str], output: list[str]) -> None:
    options = ("-a", "--MD", "--no-PG", *ON_CPU, *output)
    done = subprocess.run(
        [*COMMAND, str(sample.fasta), "-", *options],
        input=sample.fastq.read_text(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == records
    assert not done.stderr


def test_a_closed_pipe_ends_it(sample: Sample) -> None:
    many = [str(sample.fastq)] * 40
    command = [*COMMAND, str(sample.fasta), *many, "-a", "--device", "cpu", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(100)
        process.stdout.close()
        assert process.wait(timeout=120) == 141
        assert process.stderr.read() == b""


def test_bases_and_qualities_are_those_of_the_reads(sample: Sample, records: list[str]) -> None:
    with pysam.FastxFile(str(sample.fastq)) as file:
        reads = {record.name: (record.sequence, record.quality) for record in file}
    for line in records:
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


def test_an_index_has_no_bases(
    sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.paf"
    assert status_of(sample.index, sample.fastq, "-c", *ON_CPU, "-o", output) == 1
    error = error_of_command("chain", capsys)
    assert f"{sample.index}: an index has no bases to align to; give the FASTA" in error
    assert not output.exists()


def test_the_index_beside_the_reference_is_used(
    sample: Sample, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.paf"
    options = ("-c", "--device", "cpu", "-t", "1", "-o", output)
    assert status_of(sample.fasta, sample.fastq, *options) == 0
    assert capsys.readouterr().err.splitlines() == ["hapgpu chain: device: CPU, 1 thread"]
    assert output.read_text().splitlines() == lines


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_missing_index_is_built(
    sample: Sample,
    lines: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    suffix: str,
) -> None:
    fasta = tmp_path / f"reference.fa{suffix}"
    data = sample.fasta.read_bytes()
    fasta.write_bytes(gzip.compress(data) if suffix else data)
    output = tmp_path / "out.paf"
    assert status_of(fasta, sample.fastq, "-c", "--device", "cpu", "-o", output) == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if "index" in line]
    (line,) = warnings
    assert f"to keep it, run: hapgpu index --minimizers {fasta}" in line
    assert output.read_text().splitlines() == lines


@pytest.fixture
def pipe(sample: Sample, tmp_path: Path) -> Iterator[Path]:
    """Path of a pipe through which the reference comes."""
    path = tmp_path / "reference"
    os.mkfifo(path)
    with sample.fasta.open("rb") as source:

        def write() -> None:
            with path.open("wb") as out:
                shutil.copyfileobj(source, out)

        thread = Thread(target=write)
        thread.start()
        yield path
        thread.join()


def test_the_reference_may_be_a_pipe(
    sample: Sample, lines: list[str], pipe: Path, tmp_path: Path
) -> None:
    assert lines_of(tmp_path, pipe, sample.fastq, "-c") == lines


def test_cram_needs_a_reference_to_read_again(
    sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "reference"
    os.mkfifo(path)
    assert status_of(path, sample.fastq, *ON_CPU, "-o", tmp_path / "out.cram") == 2
    assert f"{path}: is a pipe, but CRAM needs" in error_of_command("chain", capsys)
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:0,1"])
def test_a_named_gpu_is_refused(
    sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str], device: str
) -> None:
    output = tmp_path / "out.bam"
    assert status_of(sample.fasta, sample.fastq, "--device", device, "-o", output) == 2
    error = error_of_command("chain", capsys)
    assert f"--device {device}: bases are aligned on the CPU only; drop --device" in error
    assert not output.exists()


def test_auto_is_the_cpu(
    sample: Sample, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.paf"
    files = sample.fasta, sample.fastq, "-o", output
    assert status_of(*files, "-c", "--device", "auto", "-t", "2") == 0
    assert capsys.readouterr().err.splitlines() == ["hapgpu chain: device: CPU, 2 threads"]
    assert output.read_text().splitlines() == lines


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


def test_statistics(sample: Sample, lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    lines_of(tmp_path, sample.fasta, sample.fastq, "-c", "--json", path)
    statistics = json.loads(path.read_text())
    counts = statistics["counts"]
    assert counts.pop("anchors") > 0
    rows = [line.split("\t") for line in lines]
    assert counts == {
        "reads": len(sample.reads),
        "bases": sum(map(len, sample.reads.values())),
        "mapped": len({row[0] for row in rows}),
        "records": len(lines),
        "secondary": sum("tp:A:S" in row for row in rows),
        "supplementary": 0,
        "aligned_bases": sum(int(row[3]) - int(row[2]) for row in rows if "tp:A:P" in row),
    }
    assert {"index", "read", "align", "write", "total"} == set(statistics["seconds"])
    assert statistics["command"] == "chain"
    assert statistics["devices"] == ["CPU, 1 thread"]


def test_statistics_of_sam(sample: Sample, records: list[str], tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    assert sam_of(tmp_path, sample.fasta, sample.fastq, "--MD", "--json", path) == records
    counts = json.loads(path.read_text())["counts"]
    flags = [int(line.split("\t")[1]) for line in records if not line.startswith("@")]
    assert counts["records"] == len(flags)
    assert counts["secondary"] == sum(flag & SECONDARY > 0 for flag in flags)
    assert counts["supplementary"] == sum(flag & SUPPLEMENTARY > 0 for flag in flags)
    assert counts["mapped"] == len(sample.reads) - flags.count(4)
