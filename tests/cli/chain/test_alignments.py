"""`hapgpu chain` of BAM, CRAM and SAM: the same lines as of FASTQ."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pysam
import pytest

from hapgpu.longread import pipeline
from tests.cli.chain.command import (
    Sample,
    complement,
    lines_of,
    status_of,
    write_unaligned,
)
from tests.cli.in_process import error_of_command

REVERSE, SECONDARY, SUPPLEMENTARY = 16, 256, 2048
HEADER = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6"}})
ALIGNED = pysam.AlignmentHeader.from_dict({"SQ": [{"SN": "chr1", "LN": 32_000}]})


@pytest.fixture(scope="module")
def lines(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Map the reads as FASTQ."""
    return lines_of(tmp_path_factory.mktemp("lines"), sample.fasta, sample.fastq)


@pytest.mark.parametrize(("suffix", "mode"), [("bam", "wb"), ("cram", "wc"), ("sam", "wh")])
def test_lines_equal_those_of_fastq(
    sample: Sample, lines: list[str], tmp_path: Path, suffix: str, mode: str
) -> None:
    path = write_unaligned(sample, tmp_path / f"reads.{suffix}", mode)
    assert lines_of(tmp_path, sample.fasta, path) == lines


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
    monkeypatch.setattr(pipeline, "_CPU_BLOCK", block)
    path = write_unaligned(sample, tmp_path / "reads.bam", "wb")
    assert lines_of(tmp_path, sample.fasta, path, threads=threads) == lines


def test_standard_input_among_files(
    sample: Sample, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_unaligned(sample, tmp_path / "reads.bam", "wb")
    with path.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        found = lines_of(tmp_path, sample.fasta, sample.fastq, "-", path)
    assert found == lines * 3


def test_aligned_records_are_read_once_as_sequenced(
    sample: Sample, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, json_path = tmp_path / "aligned.bam", tmp_path / "run.json"
    excluded = 0
    with pysam.AlignmentFile(str(path), "wb", header=ALIGNED) as file:
        for number, (name, bases) in enumerate(sample.reads.items()):
            for flag in (number % 2 * REVERSE, SECONDARY, SUPPLEMENTARY | REVERSE)[
                : 1 + number % 3
            ]:
                record = pysam.AlignedSegment(ALIGNED)
                record.query_name, record.flag = name, flag
                record.reference_id, record.reference_start = 0, number
                record.query_sequence = complement(bases) if flag & REVERSE else bases
                record.cigarstring = f"{len(bases)}M"
                file.write(record)
                excluded += flag & (SECONDARY | SUPPLEMENTARY) != 0
    output = tmp_path / "out.paf"
    options = ("--json", json_path, "--device", "cpu", "-t", "2", "-o", output)
    assert status_of(sample.fasta, path, *options) == 0
    assert output.read_text().splitlines() == lines
    warning = f"hapgpu chain: {excluded} secondary and supplementary records excluded\n"
    assert capsys.readouterr().err.endswith(warning)
    counts = json.loads(json_path.read_text())["counts"]
    assert counts["reads"] == len(sample.reads)
    assert counts["excluded_by_flags"] == excluded > 0


def test_no_reads(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "none.bam"
    with pysam.AlignmentFile(str(path), "wb", header=HEADER):
        pass
    assert lines_of(tmp_path, sample.fasta, path) == []


def test_a_truncated_file(
    sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_unaligned(sample, tmp_path / "reads.bam", "wb")
    path.write_bytes(path.read_bytes()[:-100])
    output = tmp_path / "out.paf"
    assert status_of(sample.fasta, path, "-o", output, "--device", "cpu") == 1
    error = error_of_command("chain", capsys)
    assert error.startswith(f"hapgpu chain: error: {path}: truncated")
    assert not output.exists()


def test_an_output_that_is_an_index_of_the_reads(
    sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_unaligned(sample, tmp_path / "reads.bam", "wb")
    index = tmp_path / "reads.bam.bai"
    index.touch()
    assert status_of(sample.fasta, path, "-o", index) == 2
    assert "is also an input" in capsys.readouterr().err
