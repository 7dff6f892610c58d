"""`hapgpu pairhmm` and commands that use it give the same results on every device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.pairhmm.command import status_of
from tests.cli.realign import command as realign_command
from tests.cli.realign.command import make_example
from tests.pairhmm.truth_sites import truth_sites, write_haplotypes

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("cupy")
    return make_example(tmp_path_factory.mktemp("devices") / "example")


def text_on(device: str, directory: Path, *arguments: str | Path) -> str:
    path = directory / f"{device}.tsv"
    assert status_of(*arguments, "-q", "--device", device, "-o", path) == 0
    return path.read_text()


def assert_same_table(directory: Path, *arguments: str | Path, min_decimals: int) -> None:
    """Compare all bytes; at least a number of fields are decimals, as likelihoods are."""
    on_cpu, on_gpu = (text_on(device, directory, *arguments) for device in ("cpu", "cuda"))
    assert sum("." in field for field in on_cpu.split()) >= min_decimals
    assert on_cpu == on_gpu


@pytest.mark.parametrize(
    "options",
    [[], ["--matrix"], ["--normalize"], ["--pcr-model", "none", "--gap-open", "30"]],
    ids=" ".join,
)
def test_example(example: Path, tmp_path: Path, options: list[str]) -> None:
    files = example / "reads.bam", example / "haplotypes.fa"
    assert_same_table(tmp_path, *files, *options, min_decimals=1000)


def test_extended_haplotypes(example: Path, tmp_path: Path) -> None:
    files = example / "reads.bam", example / "haplotypes.fa"
    assert_same_table(tmp_path, *files, "--reference", example / "reference.fa", min_decimals=1000)


@pytest.mark.parametrize("options", [[], ["--matrix"]], ids=" ".join)
def test_small_pieces_and_parts(
    example: Path, tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the pieces of the file nor the parts of the text change a byte."""
    from hapgpu.pairhmm.reads.cuda import scorer  # noqa: PLC0415  (needs CuPy)

    files = example / "reads.bam", example / "haplotypes.fa"
    tables = []
    usual = scorer._PIECE_BYTES, scorer._PART_BYTES, scorer._MAX_TEXT_BYTES
    for piece_bytes, part_bytes, text_bytes in (usual, (1, 3000, 1 << 30), (1, 3000, 4000)):
        monkeypatch.setattr(scorer, "_PIECE_BYTES", piece_bytes)
        monkeypatch.setattr(scorer, "_MIN_PIECE_BYTES", 1)
        monkeypatch.setattr(scorer, "_PART_BYTES", part_bytes)
        monkeypatch.setattr(scorer, "_MAX_TEXT_BYTES", text_bytes)
        output = tmp_path / "table.tsv"
        assert status_of(*files, *options, "-q", "--device", "cuda", "-o", output) == 0
        tables.append(output.read_bytes())
    assert tables[0] == tables[1] == tables[2]


@pytest.mark.parametrize("options", [[], ["--matrix"]], ids=" ".join)
def test_human(data_dir: Path, tmp_path: Path, options: list[str]) -> None:
    data = data_dir / "illumina_na12878"
    truth = data / "NA12878.truth.dev.vcf.gz"
    sites = truth_sites(data / "chr20.hg19.fa.gz", truth, flank=60)[::10]
    fasta = write_haplotypes(tmp_path / "haplotypes.fa", sites)
    assert_same_table(tmp_path, data / "NA12878.chr20.dev.bam", fasta, *options, min_decimals=500)


@pytest.mark.parametrize("options", [[], ["--matrix"]], ids=" ".join)
@pytest.mark.parametrize(("name", "pairs"), [("tiny.in", 332), ("10s.in", 3550)])
def test_text_batches(
    data_dir: Path, tmp_path: Path, name: str, pairs: int, options: list[str]
) -> None:
    path = data_dir / "pairhmm" / name
    assert_same_table(tmp_path, "--batches", path, *options, min_decimals=pairs)


def test_little_memory(data_dir: Path, tmp_path: Path) -> None:
    options = ("--batches", data_dir / "pairhmm" / "10s.in", "--gpu-mem", "3M")
    assert_same_table(tmp_path, *options, min_decimals=3550)


def test_too_little_memory(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = data_dir / "pairhmm" / "10s.in"
    arguments = ("--batches", path, "--gpu-mem", "1K", "--device", "cuda", "-q")
    assert status_of(*arguments, "-o", tmp_path / "out.tsv") == 3
    printed = capsys.readouterr().err
    assert len(printed.splitlines()) == 1
    assert "too little memory" in printed


@pytest.mark.parametrize("options", [[], ["--all"]], ids=" ".join)
def test_realign_by_likelihood(example: Path, tmp_path: Path, options: list[str]) -> None:
    files = example / "reads.bam", example / "haplotypes.fa"
    written = []
    for device in ("cpu", "cuda"):
        path = tmp_path / f"{device}.sam"
        fixed = ("--best-by", "likelihood", "--no-PG", "-o", path)
        realign_command.realign(*files, *fixed, *options, device=device)
        written.append(path.read_text())
    assert written[0] == written[1]
