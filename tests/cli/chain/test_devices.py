"""`hapgpu chain` writes the same bytes on every device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hapgpu.longread import pipeline
from tests.cli.chain.command import Sample, fastq_text, status_of, write_unaligned

pytestmark = pytest.mark.gpu


def assert_same_bytes(directory: Path, *arguments: str | Path, suffix: str = "paf") -> None:
    written = []
    for device in ("cpu", "cuda"):
        path = directory / f"{device}.{suffix}"
        assert status_of(*arguments, "-q", "--device", device, "-o", path) == 0
        written.append(path.read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize(
    "options",
    [
        "",
        "-x map-pb",
        "-x map-hifi --paf-no-hit",
        "-k 14 -w 7 -e 0",
        "-P --no-long-join",
        "-N 50 -p 0.1 -U 20,100",
        "--max-chain-skip=1000000000 -r 1k,5k -g 2k",
        "--secondary=no --no-hash-name -M 0.7 --q-occ-frac 0",
    ],
)
def test_sample(sample: Sample, tmp_path: Path, options: str) -> None:
    assert_same_bytes(tmp_path, sample.fasta, sample.fastq, *options.split())


@pytest.mark.parametrize(
    "options",
    [
        "-c --cs --eqx",
        "--cs=long --paf-no-hit",
        "-c --ds -x map-pb",
        "-a --MD -Y -R @RG\\tID:a\\tSM:b",
        "-a -x map-hifi --sam-hit-only -L",
        "-a --secondary-seq -N 50 -p 0.1 --eqx",
        "-a -P --no-end-flt -O 6 -E 2",
        "-a -x lr:hq -z 100,50 --end-bonus 20 --score-N 0 -b 2",
    ],
)
def test_base_alignment(sample: Sample, tmp_path: Path, options: str) -> None:
    is_sam = options.startswith("-a")
    words = ["--no-PG", *options.split()] if is_sam else options.split()
    files = sample.fasta, sample.fastq
    assert_same_bytes(tmp_path, *files, *words, suffix="sam" if is_sam else "paf")


@pytest.mark.parametrize("block", [3000, 20_000])
def test_small_blocks(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(pipeline, "_GPU_BLOCK", block)
    assert_same_bytes(tmp_path, sample.fasta, sample.fastq, sample.fastq)
    assert_same_bytes(
        tmp_path, sample.fasta, sample.fastq, sample.fastq, "-a", "--no-PG", suffix="bam"
    )


def test_unaligned_bam(sample: Sample, tmp_path: Path) -> None:
    path = write_unaligned(sample, tmp_path / "reads.bam", "wb")
    assert_same_bytes(tmp_path, sample.fasta, path, sample.fastq)
    assert_same_bytes(tmp_path, sample.fasta, path, "-a", "-y", "--no-PG", suffix="bam")


def test_a_malformed_read_gives_the_same_error(
    sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.fq"
    path.write_text(f"{fastq_text(sample.reads)}@bad\nACGTACGTACGT\n+\nIIII\n")
    messages = []
    for device in ("cpu", "cuda"):
        options = ("-q", "--device", device, "-o", tmp_path / "out.paf")
        assert status_of(sample.fasta, path, *options) == 1
        messages.append(capsys.readouterr().err)
    assert messages[0] == messages[1]
    assert list(tmp_path.iterdir()) == [path]


def test_anchors(data_dir: Path, tmp_path: Path) -> None:
    path = data_dir / "longread" / "chain" / "anchors_repeat_rich.npz"
    found = []
    for device in ("cpu", "cuda"):
        output = tmp_path / f"{device}.npz"
        assert status_of("--anchors", path, "-q", "--device", device, "-o", output) == 0
        with np.load(output) as arrays:
            found.append(dict(arrays))
    for name, column in found[0].items():
        np.testing.assert_array_equal(found[1][name], column)
