"""Global alignments that minimap2's kernels made."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from hapgpu.longread.align.parameters import AlignScoring, align_scoring
from tests.longread.align.fills.made_pairs import Codes


class RecordedFill(NamedTuple):
    """A pair, its scoring, and its alignment by a function of minimap2."""

    name: str
    function: str
    query: Codes
    target: Codes
    scoring: AlignScoring
    score: int
    cigar: str


def recorded_fills(directory: Path) -> list[RecordedFill]:
    """Return the recorded global alignments whose band is the whole matrix."""
    file = directory / "longread" / "aligned" / "ksw2_cases.tsv.gz"
    if not file.is_file():
        pytest.skip(f"no recorded alignments: {file}")
    with gzip.open(file, "rt") as lines:
        names = next(lines).strip("#\n").split("\t")
        rows = [dict(zip(names, line.rstrip("\n").split("\t"), strict=True)) for line in lines]
    return [_fill_of(row) for row in rows if _is_global(row)]


def _is_global(row: dict[str, str]) -> bool:
    longest = max(len(row["query"]), len(row["target"]))
    is_wide = not 0 <= int(row["w"]) < longest
    approximate, generic = 8, 4
    is_plain = not int(row["flag"]) & ~(approximate | generic)
    return row["func"] != "ll" and is_wide and is_plain and row["zdropped"] == "0"


def _fill_of(row: dict[str, str]) -> RecordedFill:
    numbers = {name: int(row[name]) for name in ("a", "b", "ambi", "transition")}
    gaps, long_gaps = (int(row["q"]), int(row["e"])), (int(row["q2"]), int(row["e2"]))
    scoring = align_scoring(
        numbers["a"],
        numbers["b"],
        gaps,
        gaps if row["func"] == "extz2" else long_gaps,
        ambiguous=numbers["ambi"],
        transition=numbers["transition"],
    )
    query, target = (
        np.array(["ACGTN".index(base) for base in row[name]], np.uint8)
        for name in ("query", "target")
    )
    return RecordedFill(
        row["id"], row["func"], query, target, scoring, int(row["score"]), row["cigar"]
    )
