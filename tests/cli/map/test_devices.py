"""`hapgpu index` and `hapgpu map` write the same bytes on every device."""

from __future__ import annotations

from pathlib import Path

import pytest

from hapgpu.io.bgzf.marks import EOF_BLOCK
from hapgpu.shortread import pipeline
from tests.cli.in_process import status_of_command
from tests.cli.map.command import Sample, make_sample, status_of
from tests.io.bgzf_blocks import block as bgzf_block

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    sample = make_sample(tmp_path_factory.mktemp("sample"))
    assert status_of_command("index", sample.fasta, "-q", "--device", "cpu") == 0
    return sample


def assert_same_bytes(directory: Path, *arguments: str | Path) -> None:
    written = []
    for device in ("cpu", "cuda"):
        path = directory / f"{device}.sam"
        options = ("-q", "--no-PG", "--device", device, "-o", path)
        assert status_of(*arguments, *options) == 0
        written.append(path.read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--errors", "0"],
        ["--best"],
        ["--max-hits", "2"],
        ["--no-indels", "--forward-only"],
        ["--sam-hit-only", "-R", r"@RG\tID:a"],
    ],
)
def test_sample(sample: Sample, tmp_path: Path, options: list[str]) -> None:
    assert_same_bytes(tmp_path, sample.fasta, sample.fastq, *options)


@pytest.mark.parametrize("block", [300, 5000])
def test_small_blocks(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(pipeline, "_GPU_BLOCK", block)
    packed = tmp_path / "r.fq.gz"
    text = sample.fastq_text().encode()
    parts = [text[at : at + 999] for at in range(0, len(text), 999)]
    packed.write_bytes(b"".join(bgzf_block(part) for part in parts) + EOF_BLOCK)
    assert_same_bytes(tmp_path, sample.fasta, sample.fastq, packed, packed, sample.fastq)


@pytest.mark.parametrize("options", [[], ["--low-memory"]])
def test_index(sample: Sample, tmp_path: Path, options: list[str]) -> None:
    written = []
    for device in ("cpu", "cuda"):
        path = tmp_path / f"{device}.hgx"
        command = (sample.fasta, "-o", path, "-q", "--device", device, *options)
        assert status_of_command("index", *command) == 0
        written.append(path.read_bytes())
    assert written[0] == written[1]
    assert_same_bytes(tmp_path, tmp_path / "cuda.hgx", sample.fastq)


def test_a_malformed_read_gives_the_same_error(
    sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.fq"
    path.write_text(f"{sample.fastq_text()}@bad\nACGTACGTACGT\n+\nIIII\n")
    messages = []
    for device in ("cpu", "cuda"):
        options = ("-q", "--device", device, "-o", tmp_path / "out.sam")
        assert status_of(sample.fasta, path, *options) == 1
        messages.append(capsys.readouterr().err)
    assert messages[0] == messages[1]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("reference", "reads"),
    [
        ("ecoli.NC_000913.2.fa.gz", "ecoli_corrected"),
        ("grch38_chr20_60001_8060000.fa.gz", "NA12878.chr20_dev"),
    ],
)
def test_genomes(data_dir: Path, tmp_path: Path, reference: str, reads: str) -> None:
    fastq = [data_dir / "shortread" / f"{reads}.R{mate}.fq.gz" for mate in (1, 2)]
    assert_same_bytes(tmp_path, data_dir / "genomes" / reference, *fastq)
