"""Calls where very many reads start at one place, without a limit per position."""

from __future__ import annotations

import json
from pathlib import Path

import pysam
import pytest

from hapgpu.calling.reads import windows
from tests.cli.in_process import status_of_command
from tests.deep_reads import made_reads, made_reference
from tests.peak_memory import GIBIBYTE, measured

READS = 1500
LIMIT = 200


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("deep")
    made_reads(directory / "deep.bam", made_reference(directory / "ref.fa"), READS)
    sam = ("-o", str(directory / "deep.sam"), "-h", str(directory / "deep.bam"))
    pysam.view(*sam, catch_stdout=False)
    return directory


@pytest.mark.parametrize("kind", ["bam", "sam"])
def test_crowds_are_limited_counted_and_told(
    made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    monkeypatch.setattr(windows, "MAX_CROWD", LIMIT)
    out, counts = tmp_path / "calls.vcf", tmp_path / "counts.json"
    files = (made / f"deep.{kind}", made / "ref.fa", "-o", out, "--json", counts)
    options = ("--max-reads-per-start", "0", "--device", "cpu", "-t", "1")
    assert status_of_command("call", *files, *options) == 0
    with pysam.AlignmentFile(str(made / "deep.bam")) as source:
        starts = [read.reference_start // 100 for read in source]
    excess = sum(max(starts.count(crowd) - LIMIT, 0) for crowd in set(starts))
    assert json.loads(counts.read_text())["counts"]["reads_over_limit"] == excess > 0
    assert f" {excess} reads excluded: over 10,000 of a sample" in capsys.readouterr().err
    (record,) = pysam.VariantFile(str(out))
    assert record.info["DP"] <= len(set(starts)) * LIMIT


@pytest.mark.exhaustive
def test_memory_of_a_million_reads(tmp_path: Path) -> None:
    made_reads(tmp_path / "deep.bam", made_reference(tmp_path / "ref.fa"), 1_000_000)
    files = tmp_path / "deep.bam", tmp_path / "ref.fa", "-o", tmp_path / "calls.vcf"
    options = ("--max-reads-per-start", "0", "--device", "cpu", "-t", "2")
    usage = measured("call", *files, *options)
    assert usage.status == 0, usage.messages
    assert usage.memory < GIBIBYTE
    assert "990000 reads excluded" in usage.messages
