"""`hapgpu map` from end to end: reads in, SAM, BAM or CRAM out."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pysam
import pytest

import hapgpu
from hapgpu.shortread import pipeline
from hapgpu.shortread.search.hits import SearchOptions
from tests.cli.in_process import status_of_command
from tests.cli.map.command import COMMAND, Sample, make_sample, sam_of, status_of
from tests.shortread.search.reference import Hit, find_hits

UNMAPPED, REVERSE, SECONDARY = 4, 16, 256


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Make a reference, its index, and reads."""
    sample = make_sample(tmp_path_factory.mktemp("sample"))
    assert status_of_command("index", sample.fasta, "-q", "--device", "cpu") == 0
    return sample


@pytest.fixture(scope="module")
def lines(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Map all reads with the default options."""
    return sam_of(tmp_path_factory.mktemp("lines"), sample.fasta, sample.fastq)


def body(lines: list[str]) -> list[str]:
    return [line for line in lines if not line.startswith("@")]


def by_read(lines: list[str]) -> dict[str, list[list[str]]]:
    """Return the fields of the records of each read, in the order of the file."""
    fields = [line.split("\t") for line in body(lines)]
    return {name: [*rows] for name, rows in groupby(fields, lambda row: row[0])}


def tags(fields: list[str]) -> dict[str, str]:
    return {field[:2]: field[5:] for field in fields[11:]}


def expected_hits(sample: Sample, bases: str, options: SearchOptions) -> list[Hit]:
    """Scan the reference; return hits in the order of the records."""
    contigs = [contig.encode() for contig in sample.contigs.values()]
    hits = find_hits(contigs, bases.encode(), options) if len(bases) >= 10 else []
    return sorted(hits, key=lambda hit: (hit.distance, hit.contig, hit.start, hit.strand, hit.end))


def as_row(sample: Sample, hit: Hit) -> tuple[str, int, int, str, str]:
    name = [*sample.contigs][hit.contig]
    return name, hit.start + 1, REVERSE * hit.strand, hit.cigar, str(hit.distance)


def found_row(fields: list[str]) -> tuple[str, int, int, str, str]:
    return fields[2], int(fields[3]), int(fields[1]) & REVERSE, fields[5], tags(fields)["NM"]


def differences(read: str, window: str, cigar: str) -> tuple[int, str]:
    """Return NM and MD of an aligned read, letter by letter; only A, C, G and T can match."""
    edits, run, text = 0, 0, ""
    read_at = window_at = 0
    for length, operation in re.findall(r"(\d+)([MID])", cigar):
        if operation == "I":
            read_at += int(length)
            edits += int(length)
            continue
        if operation == "D":
            text += f"{run}^{window[window_at : window_at + int(length)]}"
            run = 0
            window_at += int(length)
            edits += int(length)
            continue
        for _ in range(int(length)):
            base, letter = read[read_at], window[window_at]
            if base == letter and letter in "ACGT":
                run += 1
            else:
                text += f"{run}{letter}"
                run = 0
                edits += 1
            read_at += 1
            window_at += 1
    assert (read_at, window_at) == (len(read), len(window))
    return edits, f"{text}{run}"


def complement(bases: str) -> str:
    return bases[::-1].translate(str.maketrans("ACGT", "TGCA"))


def test_header(sample: Sample, lines: list[str]) -> None:
    squares = [f"@SQ\tSN:{name}\tLN:{len(bases)}" for name, bases in sample.contigs.items()]
    header = [line for line in lines if line.startswith("@")]
    assert header == ["@HD\tVN:1.6\tSO:unsorted\tGO:query", *squares]


def test_header_names_the_program_and_the_read_group(sample: Sample, tmp_path: Path) -> None:
    group = r"@RG\tID:run 1\tSM:sample"
    path = tmp_path / "out.sam"
    options = ("-R", group, "-q", "--device", "cpu", "-t", "1", "-o", path)
    assert status_of(sample.fasta, sample.fastq, *options) == 0
    with pysam.AlignmentFile(str(path)) as file:
        header = file.header.to_dict()
        assert {read.get_tag("RG") for read in file} == {"run 1"}
    assert header["RG"] == [{"ID": "run 1", "SM": "sample"}]
    (program,) = header["PG"]
    assert (program["ID"], program["VN"]) == ("hapgpu", hapgpu.__version__)
    assert program["CL"].startswith(f"hapgpu map {sample.fasta}")


def test_hits_equal_a_plain_scan(sample: Sample, lines: list[str]) -> None:
    found = by_read(lines)
    assert list(found) == list(sample.reads)
    for name, bases in sample.reads.items():
        expected = expected_hits(sample, bases, SearchOptions())
        rows = found[name]
        if not expected:
            assert [row[1:9] for row in rows] == [["4", "*", "0", "0", "*", "*", "0", "0"]], name
            continue
        assert [found_row(row) for row in rows] == [as_row(sample, hit) for hit in expected], name
        best = sum(hit.distance == expected[0].distance for hit in expected)
        assert [int(row[1]) & SECONDARY for row in rows] == [0] + [SECONDARY] * (len(rows) - 1)
        for number, row in enumerate(rows, 1):
            values = {tag: tags(row)[tag] for tag in ("NH", "HI", "X0", "X1")}
            numbers = (len(expected), number, best, len(expected) - best)
            assert list(values.values()) == [str(value) for value in numbers], name
    assert sum(len(rows) > 2 for rows in found.values()) > 10


def test_bases_and_qualities_are_of_the_forward_strand(sample: Sample, lines: list[str]) -> None:
    qualities = sample.qualities
    for name, (primary, *others) in by_read(lines).items():
        bases, letters = sample.reads[name].upper(), qualities[name]
        if int(primary[1]) & REVERSE:
            bases, letters = complement(bases), letters[::-1]
        assert primary[9:11] == [bases or "*", letters or "*"]
        assert all(row[9:11] == ["*", "*"] for row in others)


def test_nm_and_md_describe_the_reference(sample: Sample, lines: list[str]) -> None:
    checked = 0
    for name, rows in by_read(lines).items():
        for row in rows:
            if int(row[1]) & UNMAPPED:
                continue
            bases = sample.reads[name].upper()
            bases = complement(bases) if int(row[1]) & REVERSE else bases
            length = sum(int(n) for n, operation in re.findall(r"(\d+)([MD])", row[5]))
            start = int(row[3]) - 1
            window = sample.contigs[row[2]].upper()[start : start + length]
            edits, text = differences(bases, window, row[5])
            assert (tags(row)["NM"], tags(row)["MD"]) == (str(edits), text), name
            checked += 1
    assert checked > 300


def test_pysam_reads_every_record(sample: Sample, lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "all.sam"
    path.write_text("\n".join([*lines, ""]))
    with pysam.AlignmentFile(str(path)) as file:
        records = list(file)
    assert [record.to_string() for record in records] == body(lines)
    for record in records:
        assert record.is_unmapped or record.reference_end <= len(
            sample.contigs[record.reference_name]
        )


@pytest.mark.parametrize(
    ("options", "search"),
    [
        (["--errors", "0"], SearchOptions(errors=0)),
        (["--no-indels"], SearchOptions(indels=False)),
        (["--forward-only"], SearchOptions(forward_only=True)),
        (["--errors", "0", "--forward-only"], SearchOptions(errors=0, forward_only=True)),
    ],
)
def test_which_hits(
    sample: Sample, tmp_path: Path, options: list[str], search: SearchOptions
) -> None:
    found = by_read(sam_of(tmp_path, sample.fasta, sample.fastq, *options))
    for name, bases in sample.reads.items():
        rows = [found_row(row) for row in found[name] if not int(row[1]) & UNMAPPED]
        assert rows == [as_row(sample, hit) for hit in expected_hits(sample, bases, search)], name


def test_best(sample: Sample, lines: list[str], tmp_path: Path) -> None:
    best = by_read(sam_of(tmp_path, sample.fasta, sample.fastq, "--best"))
    fewer = 0
    for name, rows in by_read(lines).items():
        nearest = [row for row in rows if tags(row).get("NM") == tags(rows[0]).get("NM")]
        assert [row[:10] for row in best[name]] == [row[:10] for row in nearest]
        assert all(tags(row)["NH"] == str(len(nearest)) for row in best[name] if len(row) > 11)
        fewer += len(nearest) < len(rows)
    assert fewer


def test_max_hits(
    sample: Sample, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.sam"
    files = (sample.fasta, sample.fastq, "-o", path, "--no-PG")
    assert status_of(*files, "--max-hits", "2", "--device", "cpu", "-t", "1") == 0
    cut = by_read(path.read_text().splitlines())
    reads_cut = 0
    for name, rows in by_read(lines).items():
        assert len(cut[name]) == min(2, len(rows))
        for left, row in zip(cut[name], rows, strict=False):
            is_cut = len(rows) > 2
            added = {"XL": "2"} if is_cut else {}
            assert left[:11] == row[:11]
            assert tags(left) == tags(row) | added
        reads_cut += len(rows) > 2
    assert f"{reads_cut} reads with more hits than written" in capsys.readouterr().err


def test_mapped_reads_only(sample: Sample, lines: list[str], tmp_path: Path) -> None:
    mapped = body(sam_of(tmp_path, sample.fasta, sample.fastq, "--sam-hit-only"))
    assert mapped == [line for line in body(lines) if line.split("\t")[1] != "4"]


def test_short_reads_are_reported(
    sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sample.fasta, sample.fastq, "-o", tmp_path / "out.sam"
    assert status_of(*files, "--device", "cpu", "-t", "1") == 0
    device, *messages = capsys.readouterr().err.splitlines()
    assert device.startswith("hapgpu map: device: CPU, 1 thread")
    assert messages == ["hapgpu map: 2 reads not mapped: fewer than 10 bases"]


def test_one_short_read_is_reported(
    sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "reads.fq"
    path.write_text("@a\nACGT\n+\nIIII\n")
    assert status_of(sample.fasta, path, "-o", tmp_path / "out.sam", "--device", "cpu") == 0
    assert capsys.readouterr().err.endswith("hapgpu map: 1 read not mapped: fewer than 10 bases\n")


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("block", [300, 5000])
def test_neither_threads_nor_blocks_change_the_output(
    sample: Sample,
    lines: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    block: int,
) -> None:
    monkeypatch.setattr(pipeline, "_CPU_BLOCK", block)
    assert sam_of(tmp_path, sample.fasta, sample.fastq, threads=threads) == lines


def write_variant(sample: Sample, directory: Path, kind: str) -> list[str | Path]:
    """Write the reads in another format; return the files."""
    path, text = directory / f"reads.{kind}", sample.fastq_text()
    match kind:
        case "gz":
            path.write_bytes(gzip.compress(text.encode()))
        case "bgz":
            with pysam.BGZFile(str(path), "wb") as out:
                out.write(text.encode())
        case "crlf":
            path.write_bytes(text.replace("\n", "\r\n").encode())
        case "no_end":
            path.write_text(text.removesuffix("\n"))
        case "files":
            half = text.index("@r150 ")
            path.write_text(text[:half])
            rest = directory / "rest.gz"
            rest.write_bytes(gzip.compress(text[half:].encode()))
            return [path, rest]
    return [path]


@pytest.mark.parametrize("kind", ["gz", "bgz", "crlf", "no_end", "files"])
def test_kinds_of_input(sample: Sample, lines: list[str], tmp_path: Path, kind: str) -> None:
    assert sam_of(tmp_path, sample.fasta, *write_variant(sample, tmp_path, kind)) == lines


def test_standard_input(
    sample: Sample, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = io.TextIOWrapper(io.BufferedReader(io.BytesIO(sample.fastq_text().encode())))
    monkeypatch.setattr(sys, "stdin", text)
    assert sam_of(tmp_path, sample.fasta, "-") == lines


def test_alignments(sample: Sample, lines: list[str], tmp_path: Path) -> None:
    """A record on the reverse strand is turned back."""
    path = tmp_path / "reads.bam"
    header = pysam.AlignmentHeader.from_dict({"SQ": [{"SN": "other", "LN": 1000}]})
    with pysam.AlignmentFile(str(path), "wb", header=header) as file:
        for number, (name, bases) in enumerate(sample.reads.items()):
            is_reverse = number % 2
            record = pysam.AlignedSegment(header)
            record.query_name, record.flag = name, REVERSE * is_reverse
            record.reference_id, record.reference_start = 0, number
            record.query_sequence = complement(bases.upper()) if is_reverse else bases
            qualities = pysam.qualitystring_to_array(sample.qualities[name])
            record.query_qualities = qualities[::-1] if is_reverse else qualities
            file.write(record)
    assert sam_of(tmp_path, sample.fasta, path) == lines


def test_fasta_reads(sample: Sample, lines: list[str], tmp_path: Path) -> None:
    """FASTA gives the same hits, without qualities; a sequence may span several lines."""
    path = tmp_path / "reads.fa"
    reads = {name: bases for name, bases in sample.reads.items() if bases}
    path.write_text(
        "".join(f">{name}\n{bases[:40]}\n{bases[40:]}\n" for name, bases in reads.items())
    )
    expected = [line.split("\t") for line in body(lines) if not line.startswith("empty\t")]
    found = [line.split("\t") for line in body(sam_of(tmp_path, sample.fasta, path))]
    assert [row[:10] + row[11:] for row in found] == [row[:10] + row[11:] for row in expected]
    assert {row[10] for row in found} == {"*"}


def test_mates_lose_their_number(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "reads.fq"
    path.write_text("@a/1 x\nACGTACGTACGT\n+\nIIIIIIIIIIII\n@b/2\nACGTACGTACGT\n+\nIIIIIIIIIIII\n")
    assert set(by_read(sam_of(tmp_path, sample.fasta, path))) == {"a", "b"}


@pytest.mark.parametrize(
    ("name", "options"),
    [("out.bam", []), ("out.cram", []), ("out", ["-O", "bam"]), ("out", ["-O", "cram"])],
)
def test_other_formats_have_the_same_content(
    sample: Sample, lines: list[str], tmp_path: Path, name: str, options: list[str]
) -> None:
    path = tmp_path / name
    files = sample.fasta, sample.fastq, "-o", path
    assert status_of(*files, *options, "-q", "--device", "cpu", "-t", "2", "--no-PG") == 0
    is_cram = "cram" in (options or [name])[-1]
    assert path.read_bytes()[:4] == (b"CRAM" if is_cram else b"\x1f\x8b\x08\x04")
    with pysam.AlignmentFile(str(path), reference_filename=str(sample.fasta)) as file:
        found = [record.to_string().split("\t") for record in file.fetch(until_eof=True)]
    expected = [line.split("\t") for line in body(lines)]
    # CRAM computes NM and MD again and puts them last.
    assert [row[:11] for row in found] == [row[:11] for row in expected]
    assert [tags(row) for row in found] == [tags(row) for row in expected]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_bam_is_that_of_samtools(
    sample: Sample, lines: list[str], tmp_path: Path, threads: str
) -> None:
    sam, path, expected = tmp_path / "x.sam", tmp_path / "out.bam", tmp_path / "expected.bam"
    sam.write_text("\n".join([*lines, ""]))
    options = "-q", "--device", "cpu", "-t", threads, "--no-PG"
    assert status_of(sample.fasta, sample.fastq, "-o", path, *options) == 0
    pysam.samtools.view("-b", "--no-PG", "-o", str(expected), str(sam), catch_stdout=False)
    assert gzip.decompress(path.read_bytes()) == gzip.decompress(expected.read_bytes())


def test_standard_output(sample: Sample, lines: list[str]) -> None:
    options = ["--device", "cpu", "-q", "--no-PG"]
    command = [*COMMAND, str(sample.fasta), str(sample.fastq), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == lines
    assert not done.stderr


@pytest.mark.parametrize("output_format", ["sam", "bam"])
def test_a_closed_pipe_ends_it(sample: Sample, tmp_path: Path, output_format: str) -> None:
    many = tmp_path / "many.fq"
    many.write_text(sample.fastq_text() * 200)
    options = ["--device", "cpu", "-q", "-O", output_format]
    command = [*COMMAND, str(sample.fasta), str(many), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(100)
        process.stdout.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == b""


def test_statistics(sample: Sample, lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    sam_of(tmp_path, sample.fasta, sample.fastq, "--json", path, "--max-hits", "3")
    statistics = json.loads(path.read_text())
    reads = by_read(lines).values()
    hits = [sum(len(row) > 11 for row in rows) for rows in reads]
    assert statistics["counts"] == {
        "reads": len(reads),
        "mapped": sum(count > 0 for count in hits),
        "hits": sum(hits),
        "records": sum(min(max(count, 1), 3) for count in hits),
        "reads_over_max_hits": sum(count > 3 for count in hits),
        "too_short": sum(len(bases) < 10 for bases in sample.reads.values()),
    }
    assert {"index", "read", "map", "write", "total"} == set(statistics["seconds"])


@pytest.fixture
def without_index(sample: Sample, tmp_path: Path) -> Iterator[Path]:
    """Copy the reference to a directory without an index."""
    path = tmp_path / "reference.fa"
    path.write_bytes(sample.fasta.read_bytes())
    return path


def test_a_missing_index_is_built(
    sample: Sample,
    lines: list[str],
    without_index: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert sam_of(tmp_path, without_index, sample.fastq) == lines
    options = ("-o", tmp_path / "out.sam", "--device", "cpu", "-t", "1")
    assert status_of(without_index, sample.fastq, *options) == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if "index" in line]
    (line,) = warnings
    assert f"to keep it, run: hapgpu index {without_index}" in line
    assert {path.name for path in tmp_path.iterdir()} == {"reference.fa", "out.sam"}


@pytest.mark.parametrize("options", [[], ["--low-memory"]])
def test_an_index_in_another_directory(
    sample: Sample, lines: list[str], without_index: Path, tmp_path: Path, options: list[str]
) -> None:
    path = tmp_path / "elsewhere.hgx"
    made = status_of_command("index", without_index, "-o", path, *options, "--device", "cpu", "-q")
    assert made == 0
    assert sam_of(tmp_path, path, sample.fastq) == lines


def test_secondary_records_with_sequences(sample: Sample, lines: list[str], tmp_path: Path) -> None:
    complement = str.maketrans("ACGTN", "TGCAN")
    plain = [line.split("\t") for line in body(lines)]
    found = by_read(sam_of(tmp_path, sample.fasta, sample.fastq, "--secondary-seq"))
    secondary = 0
    for records in found.values():
        name, bases = records[0][0], sample.reads[records[0][0]].upper()
        for fields in records:
            is_reverse = int(fields[1]) & REVERSE
            step = -1 if is_reverse else 1
            own = bases.translate(complement) if is_reverse else bases
            assert fields[9] == (own[::step] or "*")
            assert fields[10] == (sample.qualities[name][::step] or "*")
            if int(fields[1]) & SECONDARY:
                secondary += 1
                fields[9:11] = ["*", "*"]
    assert secondary > 50
    assert [fields for records in found.values() for fields in records] == plain
