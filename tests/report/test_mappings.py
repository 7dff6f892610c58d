"""Counts of mappings, beside a loop over the lines of a PAF file."""

from __future__ import annotations

import gzip
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from hapgpu.errors import InputError
from hapgpu.report import line_blocks
from hapgpu.report.dot_plot import MAX_SEGMENTS
from hapgpu.report.mapping_lines import PafColumn
from hapgpu.report.mappings import MappingCounts, count_mappings, mapping_section
from hapgpu.report.page import SectionOptions
from tests.report.made_paf import CONTIGS, paf_lines, text_of

OPTIONS = SectionOptions(
    reads=(), reference=None, threads=1, max_record=1 << 28, advance=lambda _: None
)
LINE = "read\t10\t0\t10\t+\tchr1\t100\t0\t10\t9\t10\t60"


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few lines, so that reads cross their ends."""
    monkeypatch.setattr(line_blocks, "_BLOCK_BYTES", 700)


def counted(path: Path, text: str) -> MappingCounts:
    path.write_text(text, encoding="utf-8")
    return count_mappings(path, OPTIONS)


def primary_of(lines: list[list[str]]) -> list[list[str]]:
    return [line for line in lines if line[4] != "*" and "tp:A:S" not in line]


@pytest.mark.usefixtures("small_blocks")
def test_reads_and_mappings(tmp_path: Path) -> None:
    lines = paf_lines(1, 400)
    counts = counted(tmp_path / "made.paf", text_of(lines))
    lengths = {line[0]: int(line[1]) for line in lines}
    primary = primary_of(lines)
    assert counts.numbers["lines"] == len(lines)
    assert counts.numbers["reads"] == len(lengths)
    assert counts.numbers["bases"] == sum(lengths.values())
    assert counts.numbers["mapped"] == len({line[0] for line in primary})
    assert counts.numbers["primary"] == len(primary)
    assert counts.numbers["reverse"] == sum(line[4] == "-" for line in primary)
    per_read = Counter(Counter(line[0] for line in primary).values())
    per_read[0] = len(lengths) - len({line[0] for line in primary})
    assert {k: int(n) for k, n in enumerate(counts.per_read.counts) if n} == per_read


@pytest.mark.usefixtures("small_blocks")
def test_identity_and_coverage_of_reads(tmp_path: Path) -> None:
    lines = paf_lines(2, 400)
    counts = counted(tmp_path / "made.paf", text_of(lines))
    identities: Counter[int] = Counter()
    covered = defaultdict(set)
    for line in primary_of(lines):
        tags = {tag[:2]: tag[5:] for tag in line[12:]}
        if "NM" in tags and "cg" in tags:
            operations = re.findall(r"(\d+)([MIDX=])", tags["cg"])
            span = sum(int(length) for length, _ in operations)
            identities[max(10_000 * (span - int(tags["NM"])) // span, 0)] += 1
        covered[line[0], int(line[1])].update(range(int(line[2]), int(line[3])))
    assert {k: int(n) for k, n in enumerate(counts.identities.tally.counts) if n} == identities
    fractions = Counter(len(bases) * 100 // length for (_, length), bases in covered.items())
    assert {k: int(n) for k, n in enumerate(counts.coverages.counts) if n} == fractions
    assert counts.numbers["covered"] == sum(map(len, covered.values()))


def test_no_identity_without_cigar_and_distance(tmp_path: Path) -> None:
    """Divergences are no identities: `dv` is an estimate, and `de` counts a gap once."""
    path = tmp_path / "made.paf"
    path.write_text(f"{LINE}\tdv:f:0.01\n{LINE}\tde:f:0.01\n{LINE}\tNM:i:1\n", encoding="utf-8")
    html = mapping_section(path, "f", OPTIONS).html
    assert "unknown, as no mapping has the tags cg and NM" in html
    path.write_text(f"{LINE}\tdv:f:0.01\tNM:i:2\tcg:Z:5M3D2I\n", encoding="utf-8")
    html = mapping_section(path, "f", OPTIONS).html
    assert "80% for 1 primary mappings" in html


def test_lengths_and_depth(tmp_path: Path) -> None:
    lines = paf_lines(5, 400)
    counts = counted(tmp_path / "made.paf", text_of(lines))
    lengths = sorted({line[0]: int(line[1]) for line in lines}.values(), reverse=True)
    half = sum(lengths) / 2
    n50 = next(n for k, n in enumerate(lengths, 1) if sum(lengths[:k]) >= half)
    assert counts.lengths.n50() == n50
    assert counts.lengths.longest == lengths[0]
    primary = primary_of(lines)
    assert counts.contigs.covered == sum(int(line[8]) - int(line[7]) for line in primary)


@pytest.mark.usefixtures("small_blocks")
def test_depth(tmp_path: Path) -> None:
    lines = paf_lines(3, 400)
    counts = counted(tmp_path / "made.paf", text_of(lines))
    depths = {name: np.zeros(length) for name, length in CONTIGS.items()}
    for line in primary_of(lines):
        depths[line[5]][int(line[7]) : int(line[8])] += 1
    widths = counts.contigs.bin_widths().tolist()
    for name, width, found in zip(
        counts.contigs.names, widths, counts.contigs.depths(), strict=True
    ):
        expected = [depths[name][at : at + width].mean() for at in range(0, CONTIGS[name], width)]
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_drawn_reads_are_every_nth(tmp_path: Path) -> None:
    lines = paf_lines(4, 4 * MAX_SEGMENTS)
    counts = counted(tmp_path / "made.paf", text_of(lines))
    drawn = counts.drawn
    assert MAX_SEGMENTS // 4 < len(drawn.columns) <= MAX_SEGMENTS
    reads = list(dict.fromkeys(line[0] for line in lines))
    kept = set(reads[:: drawn.stride])
    expected = [line[0] for line in lines if line[0] in kept and line[4] != "*"]
    assert list(drawn.names()) == expected
    assert not drawn.is_cut


def test_drawn_mappings_of_one_read_are_the_longest(tmp_path: Path) -> None:
    spans = [100 + number % 1000 for number in range(2 * MAX_SEGMENTS)]
    fields = "read\t5000\t0\t{0}\t+\tchr1\t9000\t0\t{0}\t{0}\t{0}\t60\n"
    text = "".join(fields.format(span) for span in spans)
    drawn = counted(tmp_path / "made.paf", text).drawn
    found = drawn.columns[:, PafColumn.TARGET_STOP].tolist()
    assert sorted(found) == sorted(spans)[-MAX_SEGMENTS:]
    assert set(drawn.names()) == {"read"}
    assert drawn.is_cut


def test_compressed_and_without_the_last_newline(tmp_path: Path) -> None:
    path = tmp_path / "made.paf.gz"
    path.write_bytes(gzip.compress(LINE.encode()))
    assert count_mappings(path, OPTIONS).numbers["mapped"] == 1


@pytest.mark.parametrize(
    "damaged",
    [
        "read\t10\t0",
        LINE.replace("\t10\t+", "\t11\t+"),
        LINE.replace("60", "x"),
        LINE.replace("+", "?"),
        LINE.replace("chr1", ""),
        "",
    ],
)
def test_malformed_lines(tmp_path: Path, damaged: str) -> None:
    with pytest.raises(InputError, match=r"made\.paf, line 2: malformed PAF; write the file again"):
        counted(tmp_path / "made.paf", f"{LINE}\n{damaged}\n{LINE}\n")
