"""Picard's ValidateSamFile reads what `hapgpu map` writes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.in_process import status_of_command
from tests.cli.map.command import make_sample, status_of

PICARD = shutil.which("picard") or shutil.which("PicardCommandLine")

pytestmark = [
    pytest.mark.skipif(
        PICARD is None or shutil.which("samtools") is None,
        reason="install Picard and samtools to run this",
    ),
    pytest.mark.exhaustive,
]


def errors_in(path: Path, *options: str | Path) -> list[str]:
    """Validate a file; return the lines of errors, and a line if Picard ended early."""
    words = [str(PICARD), "ValidateSamFile", "-I", path, "-IGNORE_WARNINGS", "true", *options]
    ended = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    lines = [line for line in ended.stdout.splitlines() if line.startswith("ERROR")]
    return lines if lines or ended.returncode == 0 else ended.stderr.splitlines()[-5:]


@pytest.mark.parametrize("suffix", ["sam", "bam"])
@pytest.mark.parametrize("with_sequence", [False, True])
def test_picard_finds_no_error(tmp_path: Path, suffix: str, with_sequence: bool) -> None:
    sample = make_sample(tmp_path)
    # Picard counts an R of a read as equal to an R of the reference; the specification does not.
    sample.fasta.write_text(sample.fasta.read_text().replace("R", "N"))
    assert status_of_command("index", sample.fasta, "-q", "--device", "cpu") == 0
    path = tmp_path / f"out.{suffix}"
    options = ["--secondary-seq"] if with_sequence else []
    group = r"@RG\tID:run1\tSM:sample\tPL:ILLUMINA"
    assert (
        status_of(
            *(sample.fasta, sample.fastq, "-q", "--device", "cpu", "-R", group, "-o", path),
            *options,
        )
        == 0
    )
    assert errors_in(path) == []
    if with_sequence:
        in_order = tmp_path / "sorted.bam"
        subprocess.run(["samtools", "sort", "-o", in_order, path], check=True, capture_output=True)
        assert errors_in(in_order, "-R", sample.fasta) == []
