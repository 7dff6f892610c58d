"""`hapgpu index` from end to end."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from hapgpu.runtime.devices import CpuDevice, usable_cpus
from tests.cli.in_process import status_of_command
from tests.cli.map.command import Sample, make_sample, sam_of


def status_of(*arguments: str | Path) -> int:
    return status_of_command("index", *arguments, "--device", "cpu")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return make_sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture
def fasta(sample: Sample, tmp_path: Path) -> Path:
    path = tmp_path / "ref.fa"
    path.write_bytes(sample.fasta.read_bytes())
    return path


def test_the_index_is_written_beside_the_reference(
    fasta: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(fasta) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"hapgpu index: device: {CpuDevice(usable_cpus()).name}\n"
    assert {path.name for path in tmp_path.iterdir()} == {"ref.fa", "ref.fa.hgx"}


def test_quiet_says_nothing(fasta: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(fasta, "-q") == 0
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_the_same_file_on_every_run(fasta: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.hgx", tmp_path / "second.hgx"
    assert status_of(fasta, "-o", first) == status_of(fasta, "-o", second) == 0
    assert first.read_bytes() == second.read_bytes()


def test_low_memory_is_smaller(fasta: Path, tmp_path: Path) -> None:
    # Large enough that the arrays, not the rest of the file, decide.
    fasta.write_text(f">one\n{'ACGTTGCATTAGACCA' * 4000}\n")
    full, sampled = tmp_path / "full.hgx", tmp_path / "sampled.hgx"
    assert status_of(fasta, "-o", full) == status_of(fasta, "-o", sampled, "--low-memory") == 0
    assert sampled.stat().st_size < 0.6 * full.stat().st_size


@pytest.mark.parametrize("kind", ["gz", "crlf", "one_line", "lower"])
def test_however_the_reference_is_written(sample: Sample, tmp_path: Path, kind: str) -> None:
    text = sample.fasta.read_text()
    variants = {
        "gz": gzip.compress(text.encode()),
        "crlf": text.replace("\n", "\r\n").encode(),
        "one_line": "".join(f">{n} x\n{b}\n" for n, b in sample.contigs.items()).encode(),
        "lower": "".join(f">{n}\n{b.lower()}\n" for n, b in sample.contigs.items()).encode(),
    }
    path = tmp_path / f"reference.{kind}"
    path.write_bytes(variants[kind])
    assert status_of(sample.fasta, "-q", "-o", tmp_path / "expected.hgx") == status_of(path) == 0
    expected = sam_of(tmp_path, tmp_path / "expected.hgx", sample.fastq)
    assert sam_of(tmp_path, path, sample.fastq) == expected


def test_a_new_index_replaces_a_stale_one(fasta: Path, sample: Sample, tmp_path: Path) -> None:
    assert status_of(fasta) == 0
    fasta.write_text(f">other\n{sample.contigs['chr2']}\n")
    assert status_of(fasta) == 0
    header, *_ = sam_of(tmp_path, fasta, sample.fastq)[1:]
    assert header == f"@SQ\tSN:other\tLN:{len(sample.contigs['chr2'])}"


def test_statistics(fasta: Path, sample: Sample, tmp_path: Path) -> None:
    assert status_of(fasta, "--json", tmp_path / "run.json") == 0
    statistics = json.loads((tmp_path / "run.json").read_text())
    bases = sum(map(len, sample.contigs.values()))
    assert statistics["counts"] == {"contigs": 3, "bases": bases}
    assert {"build", "write", "total"} == set(statistics["seconds"])
