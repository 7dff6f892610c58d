"""Recorded alignments of single pairs by minimap2 2.30."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hapgpu.longread.align.dp.results import PairOptions
from hapgpu.longread.align.parameters import AlignScoring, align_scoring

_GENERIC = 4  # implied by the cost of transitions
_RESULTS = ("score", "max", "max_t", "max_q", "mqe", "mqe_t", "mte", "mte_q")


@dataclass(frozen=True, slots=True)
class RecordedCase:
    """A pair of sequences as codes, its options, and its result as text."""

    name: str
    function: str
    query: bytes
    target: bytes
    options: PairOptions
    scoring: AlignScoring
    expected: list[str]

    @property
    def cells(self) -> int:
        return len(self.query) * len(self.target)


def recorded_cases(data_dir: Path) -> Iterator[RecordedCase]:
    """Read the cases; the results are in the order of the columns of `results`, then the CIGAR."""
    codes = bytes.maketrans(b"ACGTN", bytes(range(5)))
    with gzip.open(data_dir / "longread" / "aligned" / "ksw2_cases.tsv.gz", "rt") as file:
        header = next(file)[1:].split()
        for line in file:
            case = dict(zip(header, line.rstrip("\n").split("\t"), strict=True))
            gaps = int(case["q"]), int(case["e"])
            long_gaps = int(case["q2"]), int(case["e2"])
            columns = [*_RESULTS, "zdropped", "reach_end", "cigar"]
            yield RecordedCase(
                case["id"],
                case["func"],
                case["query"].encode().translate(codes),
                case["target"].encode().translate(codes),
                PairOptions(
                    int(case["flag"]) & ~_GENERIC,
                    int(case["w"]),
                    int(case["zdrop"]),
                    int(case["end_bonus"]),
                ),
                align_scoring(
                    int(case["a"]),
                    int(case["b"]),
                    gaps,
                    long_gaps if case["func"] == "extd2" else gaps,
                    ambiguous=int(case["ambi"]),
                    transition=int(case["transition"]),
                ),
                [case[column] for column in columns],
            )
