"""`hapgpu chain` from end to end: reads in, PAF out."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pysam
import pytest

import hapgpu
from hapgpu.longread import pipeline
from tests.cli.chain.command import (
    COMMAND,
    Sample,
    fasta_text,
    fastq_text,
    letters,
    lines_of,
    of_read,
    status_of,
    tag,
    with_errors,
)


@pytest.fixture(scope="module")
def lines(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Map all reads with the default options."""
    return lines_of(tmp_path_factory.mktemp("lines"), sample.fasta, sample.fastq, "--paf")


def test_lines_equal_minimap2(data_dir: Path, tmp_path: Path) -> None:
    reference = data_dir / "genomes" / "lambda.NC_001416.fa.gz"
    reads = data_dir / "longread" / "lambda_ont.fq.gz"
    expected = data_dir / "longread" / "chain" / "real_lambda_ont.v230_map-ont.paf.gz"
    found = lines_of(tmp_path, reference, reads)
    assert found == gzip.decompress(expected.read_bytes()).decode().splitlines()


def test_reads_map_to_their_origin(sample: Sample, lines: list[str]) -> None:
    assert len(sample.origins) == 40
    for name, (contig, start, end, strand) in sample.origins.items():
        (fields,) = of_read(lines, name)
        assert (fields[1], fields[4], fields[5]) == (str(len(sample.reads[name])), strand, contig)
        assert start <= int(fields[7]) < start + 150
        assert end - 150 < int(fields[8]) <= end
        assert (tag(fields, "tp"), fields[11]) == ("P", "60")


def test_order_of_the_reads_is_kept(sample: Sample, lines: list[str]) -> None:
    names = list(dict.fromkeys(line.split("\t")[0] for line in lines))
    assert names == [name for name in sample.reads if name in names]
    assert "foreign" not in names


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("block", [1, 20_000])
def test_neither_threads_nor_blocks_change_the_output(
    sample: Sample,
    lines: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    block: int,
) -> None:
    monkeypatch.setattr(pipeline, "_CPU_BLOCK", block)
    assert lines_of(tmp_path, sample.fasta, sample.fastq, threads=threads) == lines


def write_variant(sample: Sample, directory: Path, kind: str) -> list[str | Path]:
    """Write the reads in another format; return the files."""
    path, text = directory / f"reads.{kind}", fastq_text(sample.reads)
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
        case "fasta":
            path.write_text(fasta_text(sample.reads))
        case "fasta_crlf":
            path.write_bytes(fasta_text(sample.reads).replace("\n", "\r\n").encode())
        case "lower":
            path.write_text(fastq_text({k: v.lower() for k, v in sample.reads.items()}))
        case "rna":
            path.write_text(fastq_text({k: v.replace("T", "U") for k, v in sample.reads.items()}))
        case "files":
            names = list(sample.reads)
            path.write_text(fastq_text({name: sample.reads[name] for name in names[:20]}))
            rest = directory / "rest.gz"
            text = fasta_text({name: sample.reads[name] for name in names[20:]})
            rest.write_bytes(gzip.compress(text.encode()))
            return [path, rest]
    return [path]


@pytest.mark.parametrize(
    "kind",
    ["gz", "bgz", "crlf", "no_end", "fasta", "fasta_crlf", "lower", "rna", "files"],
)
def test_kinds_of_input(sample: Sample, lines: list[str], tmp_path: Path, kind: str) -> None:
    assert lines_of(tmp_path, sample.fasta, *write_variant(sample, tmp_path, kind)) == lines


def test_standard_input(
    sample: Sample, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = io.TextIOWrapper(io.BufferedReader(io.BytesIO(sample.fastq.read_bytes())))
    monkeypatch.setattr(sys, "stdin", text)
    found = lines_of(tmp_path, sample.fasta, sample.fastq, "-")
    assert found == lines + lines


@pytest.mark.parametrize("output", [[], ["-o", "-"]])
def test_pipes(sample: Sample, lines: list[str], output: list[str]) -> None:
    command = [*COMMAND, str(sample.fasta), "-", "--device", "cpu", "-q", *output]
    text = sample.fastq.read_text()
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == lines
    assert not done.stderr


def test_a_closed_pipe_ends_it(sample: Sample) -> None:
    many = [str(sample.fastq)] * 40
    command = [*COMMAND, str(sample.fasta), *many, "--device", "cpu", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(100)
        process.stdout.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == b""


def test_names_stay_whole_up_to_the_first_blank(sample: Sample, tmp_path: Path) -> None:
    bases = sample.reads["r0"]
    names = ["two words", "x" * 300, "mate/1", "tab\tbed", "=+-,;:|"]
    path = tmp_path / "reads.fq"
    path.write_text("".join(f"@{name}\n{bases}\n+\n{'I' * len(bases)}\n" for name in names))
    found = lines_of(tmp_path, sample.fasta, path)
    assert [line.split("\t")[0] for line in found] == ["two", "x" * 300, "mate/1", "tab", "=+-,;:|"]


@pytest.mark.parametrize("length", [0, 1, 14, 15, 24])
def test_reads_too_short_to_map(sample: Sample, tmp_path: Path, length: int) -> None:
    path = tmp_path / "reads.fq"
    path.write_text(fastq_text({"short": sample.contigs["chr1"][:length]}))
    assert not lines_of(tmp_path, sample.fasta, path)
    (line,) = lines_of(tmp_path, sample.fasta, path, "--paf-no-hit")
    zeros = "\t0" * 5
    assert line == f"short\t{length}\t0\t0\t*\t*\t0{zeros}\trl:i:0"


def test_a_read_of_two_million_bases(tmp_path: Path) -> None:
    random = Random(2)  # noqa: S311  (reproducible data, not secrets)
    reference = letters(random, 2_100_000)
    read = with_errors(random, reference[40_000:])[:2_000_000]
    fasta, fastq = tmp_path / "reference.fa", tmp_path / "reads.fq"
    fasta.write_text(fasta_text({"chr": reference}))
    fastq.write_text(fastq_text({"long": read}))
    (line,) = lines_of(tmp_path, fasta, fastq)
    fields = line.split("\t")
    assert fields[1] == "2000000"
    assert int(fields[2]) < 150
    assert int(fields[3]) > 1_999_850
    assert 40_000 <= int(fields[7]) < 40_150


def test_statistics(sample: Sample, lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    lines_of(tmp_path, sample.fasta, sample.fastq, "--json", path)
    statistics = json.loads(path.read_text())
    anchors = statistics["counts"].pop("anchors")
    assert anchors >= sum(int(tag(line.split("\t"), "cm")) for line in lines if "tp:A:P" in line)
    assert statistics["counts"] == {
        "reads": len(sample.reads),
        "bases": sum(map(len, sample.reads.values())),
        "mapped": len({line.split("\t")[0] for line in lines}),
        "records": len(lines),
        "secondary": sum("tp:A:S" in line for line in lines),
    }
    assert {"index", "read", "chain", "write", "total"} == set(statistics["seconds"])
    assert statistics["command"] == "chain"
    assert statistics["version"] == hapgpu.__version__
    assert statistics["devices"] == ["CPU, 1 thread"]


def test_a_missing_index_is_built(
    sample: Sample, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fasta = tmp_path / "reference.fa"
    shutil.copy(sample.fasta, fasta)
    output = tmp_path / "out.paf"
    assert status_of(fasta, sample.fastq, "-k", "17", "--device", "cpu", "-o", output) == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if "index" in line]
    (line,) = warnings
    assert f"to keep it, run: hapgpu index --minimizers -k 17 {fasta}" in line
    assert {path.name for path in tmp_path.iterdir()} == {"reference.fa", "out.paf"}
    assert lines_of(tmp_path, fasta, sample.fastq) == lines


def test_the_index_beside_the_reference_is_used(
    sample: Sample, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.paf"
    assert status_of(sample.fasta, sample.fastq, "--device", "cpu", "-t", "1", "-o", output) == 0
    assert capsys.readouterr().err.splitlines() == ["hapgpu chain: device: CPU, 1 thread"]
    assert output.read_text().splitlines() == lines


def test_an_index_alone(
    sample: Sample, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "moved"
    shutil.copy(sample.index, path)
    assert lines_of(tmp_path, path, sample.fastq) == lines
    output = tmp_path / "out.paf"
    options = ("--device", "cpu", "-t", "1", "-o", output)
    assert status_of(path, sample.fastq, "-k", "19", "-H", *options) == 0
    assert capsys.readouterr().err.endswith(
        f"hapgpu chain: {path}: built with -k 15 -w 10; ignoring -k 19 -w 10 -H\n"
    )
    assert output.read_text().splitlines() == lines
