"""`hapgpu genotype --shard` on a GPU: parts that are together exactly the whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.genotype.command import text_of
from tests.cli.in_process import status_of_command

pytestmark = pytest.mark.gpu


def records(out: Path, *arguments: str | Path) -> list[str]:
    """Run the command on the first GPU, and return the lines of its records."""
    status = status_of_command("genotype", "--device", "cuda:0", "-q", *arguments, "-o", out)
    assert status == 0
    return [line for line in text_of(out).splitlines() if not line.startswith("#")]


def test_parts_are_the_whole(data_dir: Path, tmp_path: Path) -> None:
    data = data_dir / "illumina_na12878"
    names = ("NA12878.chr20.dev.bam", "HG002.chr20.dev.bam", "chr20.hg19.fa.gz", "sites.dev.vcf.gz")
    inputs = [data / name for name in names]
    whole = records(tmp_path / "whole.vcf.gz", *inputs)
    for count in (2, 7):
        shards = [f"{number}/{count}" for number in range(1, count + 1)]
        parts = [records(tmp_path / "part.vcf.gz", *inputs, "--shard", shard) for shard in shards]
        assert [line for part in parts for line in part] == whole
