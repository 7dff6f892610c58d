"""Filter of the reads used for calling, against its rules on text."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.calling.options import CallOptions
from hapgpu.calling.reads.filters import CallFilter
from hapgpu.cigar.encoding import OPERATIONS
from hapgpu.io.alignments.reader import open_reads
from tests.calling.reads.made_segments import made_row
from tests.calling.segments import filtered
from tests.example_counts import many
from tests.io.sam_oracle import QUERY_OPERATIONS, Row, batch_of
from tests.pairhmm.made_reads import write_sam

REASONS = (
    "excluded_by_flags",
    "without_alignment",
    "without_mapping_quality",
    "low_mapping_quality",
    "unusable_cigar",
)
VALID = re.compile("H?S?(?P<aligned>[MIDP=X]*)S?H?")


def excluded_by(read: ReadBatch, options: CallOptions | None = None) -> str:
    """Return the reason why the only read of a batch is excluded; empty if it is not."""
    reads = CallFilter(options or CallOptions())
    kept = reads.keeps(read, np.ones(1, dtype=np.bool_))
    reasons = [reason for reason in REASONS if reads.counts[reason]]
    assert kept.tolist() == [not reasons]
    assert reads.counts["reads"] == 1
    return "".join(reasons)


def is_usable(elements: tuple[tuple[int, int], ...], bases: int) -> bool:
    if any(length == 0 for _, length in elements):
        return False
    letters = "".join(OPERATIONS[operation] for operation, _ in elements)
    match = VALID.fullmatch(letters)
    if match is None or not re.search("[MD=X]", letters):
        return False
    aligned = match["aligned"].replace("P", "")
    is_damaged = re.search("[ID][ID]", aligned) or aligned.startswith("D") or aligned.endswith("D")
    return not is_damaged and bases == sum(n for op, n in elements if op in QUERY_OPERATIONS)


CIGARS = st.lists(
    st.tuples(st.sampled_from([0, 0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 7, 8]), st.integers(0, 4)),
    min_size=1,
    max_size=7,
).map(tuple)


@settings(max_examples=many(1000))
@given(CIGARS, st.sampled_from([0, 0, 0, 1, -1]))
def test_cigars(cigar: tuple[tuple[int, int], ...], extra: int) -> None:
    bases = max(sum(n for op, n in cigar if op in QUERY_OPERATIONS) + extra, 1)
    row = replace(made_row("r", 7, "1M", bases="A"), cigar=cigar)
    row = replace(row, bases="A" * bases, qualities=(30,) * bases)
    assert excluded_by(batch_of([row])) == ("" if is_usable(cigar, bases) else "unusable_cigar")


@pytest.mark.parametrize(
    ("cigar", "is_kept"),
    [
        ("2H3S4M1I4M2S1H", True),
        ("2I8M", True),
        ("4=1X4=", True),
        ("2S2I8M", True),
        ("4M2I2D4M", False),
        ("4M2D2I4M", False),
        ("4M2I1P2D4M", False),
        ("2S2D8M", False),
        ("8M2D1S", False),
        ("4M2N4M", False),
        ("4M2S4M", False),
        ("4M2H4M", False),
        ("10S", False),
        ("10I", False),
        ("4S6I", False),
    ],
)
def test_cigars_by_hand(cigar: str, is_kept: bool) -> None:
    reason = excluded_by(batch_of([made_row("r", 7, cigar)]))
    assert reason == ("" if is_kept else "unusable_cigar")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, ""),
        ({"flag": 0x4}, "excluded_by_flags"),
        ({"flag": 0x100}, "excluded_by_flags"),
        ({"flag": 0x200}, "excluded_by_flags"),
        ({"flag": 0x400}, "excluded_by_flags"),
        pytest.param({"flag": 0x800}, "", id="supplementary alignments stay"),
        ({"flag": 0x1 | 0x8}, ""),
        ({"mapping_quality": 255}, "without_mapping_quality"),
        ({"mapping_quality": 19}, "low_mapping_quality"),
        ({"mapping_quality": 20}, ""),
        ({"mapping_quality": 254}, ""),
        ({"bases": "", "qualities": ()}, "without_alignment"),
        ({"reference": -1}, "without_alignment"),
        ({"position": -1}, "without_alignment"),
        ({"cigar": ()}, "without_alignment"),
    ],
)
def test_fields(more: dict[str, object], reason: str) -> None:
    row = replace(made_row("r", 7, "9M"), **more)
    assert excluded_by(batch_of([row])) == reason


def test_the_lowest_mapping_quality_is_an_option() -> None:
    read = batch_of([made_row("r", 7, "9M", mapping_quality=3)])
    assert not excluded_by(read, CallOptions(min_mapping_quality=0))
    assert excluded_by(read, CallOptions(min_mapping_quality=4)) == "low_mapping_quality"


def test_only_new_reads_are_counted() -> None:
    rows: list[Row] = [made_row("r", k, "9M", mapping_quality=10 * k) for k in range(4)]
    reads = CallFilter(CallOptions())
    kept = reads.keeps(batch_of(rows), np.array([True, False, True, False]))
    assert kept.tolist() == [False, False, True, True]
    assert (reads.counts["reads"], reads.counts["low_mapping_quality"]) == (2, 1)
    reads.add({"reads": 5})
    assert reads.counts["reads"] == 7
    assert reads.keeps(batch_of([]), np.empty(0, dtype=np.bool_)).size == 0


def regular_batch(path: Path) -> ReadBatch:
    with open_reads(str(path), regular_bases=True) as source:
        return ReadBatch.concatenate(list(source.batches()))


def test_irregular_bases_become_n(tmp_path: Path) -> None:
    lines = [
        f"r\t0\tchr\t8\t60\t{len(bases)}M\t*\t0\t0\t{bases}\t*"
        for bases in ("=ACMGRSVTWYHKDBN", "AC", "N", "acryt")
    ]
    bases = regular_batch(write_sam(tmp_path / "reads.sam", 200, lines)).bases
    assert bases[0].tobytes() == b"NACNGNNNTNNNNNNN"
    assert bases[1].tobytes() == b"AC"
    assert [row.tobytes() for row in bases[2:]] == [b"N", b"ACNNT"]


def test_real_reads(data_dir: Path) -> None:
    path = data_dir / "illumina_na12878" / "HG002.chr20.dev.bam"
    with open_reads(str(path)) as source:
        reads = ReadBatch.concatenate(list(source.batches()))
    kept = CallFilter(CallOptions()).keeps(reads, np.ones(len(reads), dtype=np.bool_))
    expected = filtered(reads)
    # No CIGAR of these reads has adjacent indels, or deletions at an end.
    bases = regular_batch(path).take(kept).bases
    assert bases.data.tobytes() == expected.bases.data.tobytes()
    assert np.array_equal(bases.offsets, expected.bases.offsets)
