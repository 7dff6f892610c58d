"""Counts of likelihoods, beside a loop over the lines of a table."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from hapgpu.errors import InputError
from hapgpu.report import line_blocks
from hapgpu.report.likelihoods import LikelihoodCounts, count_likelihoods
from hapgpu.report.page import SectionOptions

OPTIONS = SectionOptions(
    reads=(), reference=None, threads=1, max_record=1 << 28, advance=lambda _: None
)
HAPLOTYPES = ("ref", "alt", "both")


def made_reads(seed: int, count: int) -> list[list[float]]:
    """Return the likelihoods of each read, in tenths, some equal."""
    chance = random.Random(seed)  # noqa: S311  (data for a test)
    return [
        [-chance.randrange(1, 400) / 10 for _ in range(chance.randrange(1, 4))]
        for _ in range(count)
    ]


def counted(path: Path, text: str) -> LikelihoodCounts:
    path.write_text(text, encoding="utf-8")
    return count_likelihoods(path, OPTIONS)


def check(counts: LikelihoodCounts, reads: list[list[float]]) -> None:
    """Compare margins, ties and best likelihoods."""
    ordered = [sorted(values, reverse=True) for values in reads]
    margins = [round(10 * (values[0] - values[1])) for values in ordered if len(values) > 1]
    assert counts.reads == len(reads)
    assert counts.alone == sum(len(values) == 1 for values in reads)
    assert counts.ties == margins.count(0)
    # A margin on the edge of a bin may be on either side: 0.3 is no binary number.
    found = [k for k, number in enumerate(counts.margins.counts) for _ in range(number)]
    assert all(0 <= a - b <= 1 for a, b in zip(sorted(margins), found, strict=True))
    assert len(counts.best) == len(reads)


@pytest.mark.parametrize("block", [100, 1 << 22])
def test_line_per_pair(tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_blocks, "_BLOCK_BYTES", block)
    reads = made_reads(1, 200)
    lines = [
        f"read{k // 2}\t{k % 2 + 1}\tchr1:{k % 3}\t{name}\t{value}\n"
        for k, values in enumerate(reads)
        for name, value in zip(HAPLOTYPES, values, strict=False)
    ]
    header = "read\tmate\tlocus\thaplotype\tlog10_likelihood\n"
    counts = counted(tmp_path / "made.tsv", header + "".join(lines))
    check(counts, reads)
    assert counts.likelihoods == len(lines)
    assert counts.loci.most_common(9) == Counter(f"chr1:{k % 3}" for k in range(200))
    best = Counter(
        HAPLOTYPES[values.index(max(values))] for values in reads if values.count(max(values)) == 1
    )
    assert counts.haplotypes.most_common(9) == best


def test_matrix(tmp_path: Path) -> None:
    reads = made_reads(2, 100)
    lines = [
        "\t".join([f"read{k}", "1", *map(str, values), *["NA"] * (3 - len(values))]) + "\n"
        for k, values in enumerate(reads)
    ]
    header = "\t".join(["read", "mate", *HAPLOTYPES]) + "\n"
    counts = counted(tmp_path / "made.tsv", header + "".join(lines))
    check(counts, reads)
    assert sum(counts.haplotypes.most_common(9).values()) == len(reads) - counts.ties


def test_text_batches(tmp_path: Path) -> None:
    reads = [[-1.5, -2.5], [-3.0, -1e-05], [-4.0], [-0.25]]
    lines = ["2 2", "-1.5 -2.5", "-3 -1e-05", "2 1", "-4", "-0.25"]
    check(counted(tmp_path / "matrix.txt", "\n".join(lines) + "\n"), reads)
    header = "batch\tread\thaplotype\tlog10_likelihood\n"
    pairs = ["0\t0\t0\t-1.5", "0\t0\t1\t-2.5", "0\t1\t0\t-3", "0\t1\t1\t-1e-05"]
    pairs += ["1\t0\t0\t-4", "1\t1\t0\t-0.25"]
    check(counted(tmp_path / "pairs.tsv", header + "\n".join(pairs) + "\n"), reads)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("read\tmate\tlocus\thaplotype\tlog10_likelihood\nr\t1\tchr1\ta\tmany\n", 2),
        ("read\tmate\tlocus\thaplotype\tlog10_likelihood\nr\t1\tchr1\n", 2),
        ("read\tmate\ta\tb\nr\t1\t-1\t-2\nr\t1\t-1\n", 3),
        ("2 2\n-1 -2\n-1\n", 3),
        ("1 1\n-1\n-2\n", 3),
        ("1 1\n-1\n2 1\n-2\n", 5),
    ],
)
def test_malformed_lines(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(InputError, match=f"made.tsv, line {line}: malformed likelihoods"):
        counted(tmp_path / "made.tsv", text)


def test_numbers_too_large_for_a_likelihood(tmp_path: Path) -> None:
    """They are limited: neither their difference nor its units overflow."""
    text = "read\tmate\th1\th2\na\t1\t-1e308\t-1.7e308\nb\t1\t1e308\t-1.7e308\n"
    counts = counted(tmp_path / "made.tsv", text)
    assert (counts.reads, counts.ties, counts.alone) == (2, 0, 0)
