"""Lines of PAF without alignments, of extreme sizes, against Python's formatting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hapgpu.longread.batches import NamedReads
from hapgpu.longread.options import MappingOptions
from hapgpu.longread.output.paf import first_paf_lines
from hapgpu.longread.output.parts import all_lines
from hapgpu.longread.output.rows import LineTargets
from tests.longread.output.test_paf import INDEX, Row, mappings_of, plain_line

NAME = "n" * 100_000
READS = NamedReads(
    text=np.frombuffer(f"@{NAME}\n{NAME}".encode(), dtype=np.uint8),
    name_starts=np.array([1, len(NAME) + 2], dtype=np.int32),
    name_lengths=np.array([len(NAME)] * 2, dtype=np.int32),
    lengths=np.array([2**31 - 1, 0], dtype=np.int32),
)
TARGETS = ("t" * 100_000, "u")
LENGTHS = np.array([2**63 - 1, 0])
LARGEST = 2**31 - 1
ALL = replace(MappingOptions(), prints_secondary=True, prints_unmapped=True)


def row(score: int, *, is_primary: bool) -> Row:
    largest = dict.fromkeys(Row._fields, LARGEST)
    changed: dict[str, Any] = {
        "scores": score,
        "counts": score,
        "second_scores": score,
        "quality": 255,
    }
    changed |= {"sequences": 0, "is_reverse": True, "is_primary": is_primary, "divergence": 1.0}
    return Row(**largest | changed)


@pytest.mark.parametrize("score", [LARGEST, -LARGEST - 1])
@pytest.mark.parametrize("most", [0, 1 << 20])
def test_long_names_and_numbers_of_32_bits(
    score: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no room for a line, each line is written again to memory of its size."""
    monkeypatch.setattr(
        "tests.longread.output.test_paf.INDEX", INDEX._replace(names=TARGETS, lengths=LENGTHS)
    )
    rows = [row(score, is_primary=k % 2 == 0) for k in range(5)]
    targets = LineTargets.of(TARGETS, LENGTHS)
    lines = all_lines(first_paf_lines(READS, mappings_of([rows, []]), targets, ALL, 3, most))
    expected = [plain_line(NAME, LARGEST, each, 17) for each in rows]
    expected.append(f"{NAME}\t0\t0\t0\t*\t*\t0\t0\t0\t0\t0\t0\trl:i:0")
    assert lines.text.tobytes().decode().splitlines() == expected
    assert (lines.counts["records"], lines.counts["secondary"]) == (5, 2)
    assert (lines.counts["mapped"], lines.counts["reads"]) == (1, 2)
