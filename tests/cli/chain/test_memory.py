"""Peak memory of `hapgpu chain` where one read decides on it: repeats, and many mappings."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

import pytest

from tests.cli.chain.command import fasta_text, letters
from tests.peak_memory import GIBIBYTE, Usage, measured

MEGABYTE: Final = 1 << 20
UNIT_BASES, UNITS, DIFFERENCES = 171, 6000, 0.01
ARRAY_READ_BASES: Final = 20_000
FEW_PREDECESSORS: Final = ("--max-chain-skip", 0, "--max-chain-iter", 20)
"""Without these limits, minimap2's method takes minutes for a read of an array."""
SEGMENTS, SEGMENT_BASES = 500, 1800


def chained(directory: Path, reference: str, reads: dict[str, str], *options: object) -> Usage:
    """Run `hapgpu chain -t 2` on a contig and reads."""
    fasta, fastq = directory / "reference.fa", directory / "reads.fa"
    fasta.write_text(fasta_text({"ref": reference}))
    fastq.write_text(fasta_text(reads))
    return measured("chain", "-q", "--device", "cpu", "-t", 2, *options, fasta, fastq)


def with_differences(random: Random, bases: str) -> str:
    return "".join(
        letters(random, 1) if random.random() < DIFFERENCES else letter for letter in bases
    )


@pytest.mark.parametrize("form", ["--paf", "-a"])
def test_read_of_one_base(tmp_path: Path, form: str) -> None:
    """A read of 2 kb has 2e9 anchors: it is refused before they are made."""
    reads = {"good": "ACGT" * 20, "poly": "A" * 2000}
    usage = chained(tmp_path, "A" * 1_000_000, reads, form)
    assert usage.status == 1
    assert usage.messages.startswith(
        f"hapgpu chain: error: {tmp_path}/reads.fa, record 2, read poly: has 1,9"
    )
    assert "drop frequent minimizers (-f 1000)" in usage.messages
    assert chained(tmp_path, "A" * 1_000_000, reads, form, "-f", 1000).status == 0
    assert usage.memory < GIBIBYTE // 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["--paf", "-a"])
def test_reads_of_an_array(tmp_path: Path, form: str) -> None:
    """Each read has 16 to 17 million anchors."""
    random = Random(3)  # noqa: S311  (no secrets)
    unit = letters(random, UNIT_BASES)
    array = "".join(with_differences(random, unit) for _ in range(UNITS))
    reads = {
        f"r{start}": array[start : start + ARRAY_READ_BASES]
        for start in (10_000, 200_000, 400_000, 700_000)
    }
    options = (form, *FEW_PREDECESSORS)
    base = chained(tmp_path, array, {"short": array[:100]}, *options)
    usage = chained(tmp_path, array, reads, *options)
    assert usage.status == 0
    assert base.memory + 400 * MEGABYTE < usage.memory < base.memory + GIBIBYTE


@pytest.mark.exhaustive
def test_read_of_many_mappings(tmp_path: Path) -> None:
    """The text of each of 500 mappings has all bases of the read: 450 MB in all."""
    random = Random(6)  # noqa: S311  (no secrets)
    reference = letters(random, SEGMENTS * SEGMENT_BASES)
    segments = [
        reference[start : start + SEGMENT_BASES]
        for start in range(0, len(reference), SEGMENT_BASES)
    ]
    random.shuffle(segments)
    base = chained(tmp_path, reference, {"short": reference[:5000]}, "-a", "-Y")
    usage = chained(tmp_path, reference, {"long": "".join(segments)}, "-a", "-Y")
    assert usage.status == 0
    assert usage.memory < base.memory + 300 * MEGABYTE
