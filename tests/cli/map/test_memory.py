"""Peak memory of `hapgpu map` on reads with millions of hits."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.cli.in_process import status_of_command
from tests.peak_memory import GIBIBYTE, measured

UNIT, COPIES = 171, 6000


def fastq(path: Path, reads: list[str]) -> Path:
    path.write_text(
        "".join(f"@r{k}\n{read}\n+\n{'I' * len(read)}\n" for k, read in enumerate(reads))
    )
    return path


def indexed(path: Path, bases: str) -> Path:
    path.write_text(f">c\n{bases}\n")
    assert status_of_command("index", path, "-q", "--device", "cpu") == 0
    return path


def peak(fasta: Path, reads: Path, *options: object) -> int:
    """Map on two threads; return the peak memory above the index, in bytes."""
    used = measured("map", fasta, reads, "-t", 2, "--device", "cpu", "-q", *options)
    assert used.status == 0, used.messages
    return used.memory - Path(f"{fasta}.hgx").stat().st_size


def test_reads_with_many_hits(tmp_path: Path) -> None:
    # 9 million records of some 100 bytes, whose hits and text would take 1 GiB.
    fasta = indexed(tmp_path / "a.fa", "A" * 300_000)
    assert peak(fasta, fastq(tmp_path / "a.fq", ["A" * 30] * 30)) < 0.6 * GIBIBYTE


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("bases", "reads", "options"),
    [
        (1_000_000, 50, ()),
        (1_000_000, 50, ("--max-hits", 1)),
        (1_000_000, 20, ("--best", "--secondary-seq")),
        (2_000_000, 1, ()),
        (2_000_000, 1, ("--best", "--secondary-seq")),
    ],
)
def test_reads_with_a_million_hits(
    tmp_path: Path, bases: int, reads: int, options: tuple[object, ...]
) -> None:
    fasta = indexed(tmp_path / "a.fa", "A" * bases)
    assert peak(fasta, fastq(tmp_path / "a.fq", ["A" * 30] * reads), *options) < GIBIBYTE


@pytest.mark.exhaustive
@pytest.mark.parametrize("options", [(), ("-O", "bam", "--max-hits", 500)])
def test_reads_of_a_tandem_array(tmp_path: Path, options: tuple[object, ...]) -> None:
    random = Random(1)  # noqa: S311  (reproducible data, not secrets)
    unit = random.choices("ACGT", k=UNIT)
    array = "".join(
        random.choice("ACGT") if random.random() < 4 / 300 else base for base in unit * COPIES
    )
    starts = [random.randrange(len(array) - 100) for _ in range(10_000)]
    reads = fastq(tmp_path / "array.fq", [array[start : start + 100] for start in starts])
    assert peak(indexed(tmp_path / "array.fa", array), reads, *options) < GIBIBYTE
