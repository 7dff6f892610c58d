"""Pieces against the calls of dynamic programming that the `minimap2` on PATH prints.

Run with HAPGPU_TEST_MINIMAP2=1 and version 2.30.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.longread.align.batches import FILL, LEFT, RIGHT
from hapgpu.simulation.long_reads import LongReadModel
from tests.longread.align.pieces.made_plans import compiled_plans
from tests.longread.align.pieces.real_reads import map_reads
from tests.longread.minimap2_options import options_of
from tests.longread.minimap2_program import NEEDS_MINIMAP2
from tests.simulation.made_genomes import made_reads, made_reference

OPTIONS: Final = (
    "-x map-ont",
    "-x map-pb",
    "-x map-hifi",
    "-x lr:hq -g 300",
    "-x map-ont -z 150,60",
    "-x map-ont -r 50,500",
    "-x map-ont -A 4 -B 8 -O 12,60 -E 4,1",
    "-x map-ont --min-dp-len=50",
    "-x map-ont --no-end-flt",
    "-x map-pb -k 12 -w 5 -n 2",
    "-x map-ont -P",
)
BASES: Final = np.frombuffer(b"ACGTN", dtype=np.uint8)
FLAGS: Final = {LEFT: 0xC2, FILL: 0x08, RIGHT: 0x40}
REFILL: Final = 0

pytestmark = NEEDS_MINIMAP2


class Call(NamedTuple):
    """A call of dynamic programming; the drop of a fill has no effect."""

    target: str
    query: str
    band: int
    flags: int
    drop: int | None


def calls_of_minimap2(
    reference: Path, reads: Path, arguments: Sequence[str]
) -> dict[str, list[Call]]:
    command = ["minimap2", *arguments, "-c", "--print-aln-seq", "-t1", str(reference), str(reads)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    calls: dict[str, list[Call]] = {}
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("QR\t"):
            read = calls.setdefault(line.split("\t")[1], [])
        elif line.startswith("===>"):
            numbers = re.search(r"bw=(-?\d+), ksw_flag=(\d+), zdrop=(-?\d+)", line)
            assert numbers is not None
            band, flags, drop = map(int, numbers.groups())
            read.append(
                Call(
                    next(lines),
                    next(lines),
                    band,
                    flags,
                    None if flags == FLAGS[FILL] else drop,
                )
            )
    return calls


def text_of(codes: NDArray[np.uint8], start: int, length: int, *, backwards: bool) -> str:
    bases = codes[start : start + length][:: -1 if backwards else 1]
    return BASES[bases].tobytes().decode()


def planned_calls(
    reference: Path, reads: Path, arguments: Sequence[str]
) -> Iterator[tuple[str, list[Call]]]:
    mapped = map_reads(reference, reads, options_of(arguments))
    batch = mapped.batch
    planned = compiled_plans(mapped, batch)
    pieces = planned.pieces

    def call_of(row: int) -> Call:
        kind = int(pieces.kinds[row])
        spans: Any = (
            (batch.targets.codes, pieces.target_starts[row], pieces.target_lengths[row]),
            (batch.reads.codes, pieces.query_starts[row], pieces.query_lengths[row]),
        )
        target, query = (text_of(*span, backwards=kind == LEFT) for span in spans)
        drop = None if kind == FILL else int(pieces.drops[row])
        return Call(target, query, int(pieces.bands[row]), FLAGS[kind], drop)

    def read_of(plan: Any) -> int:
        return int(batch.mappings["read"][plan["mapping"]])

    for read, plans in groupby(planned.plans, read_of):
        rows = [
            row
            for plan in plans
            for row in [
                plan["left"],
                *range(plan["first_fill"], plan["first_fill"] + plan["fills"]),
                plan["right"],
            ]
            if row >= 0
        ]
        yield mapped.names[read], [call_of(row) for row in rows]


@pytest.mark.parametrize("options", OPTIONS)
def test_calls_equal_minimap2(tmp_path: Path, options: str) -> None:
    """Only reads without a large drop of the score: where that is, minimap2 splits a mapping."""
    rng = np.random.default_rng(230)
    sequences = made_reference(rng, 300_000, 0.3)
    reads = made_reads(rng, sequences, 200_000, LongReadModel(8000, 2000, 0.08))
    reference_path, reads_path = tmp_path / "reference.fa", tmp_path / "reads.fa"
    reference_path.write_bytes(
        b"".join(b">chr%d\n%s\n" % (i, row.tobytes()) for i, row in enumerate(sequences))
    )
    reads_path.write_bytes(
        b"".join(b">read%d\n%s\n" % (i, read) for i, read in enumerate(reads) if read)
    )
    arguments = options.split()
    expected = calls_of_minimap2(reference_path, reads_path, arguments)
    compared = 0
    for name, calls in planned_calls(reference_path, reads_path, arguments):
        if all(call.flags != REFILL for call in expected[name]):
            assert calls == expected[name], name
            compared += len(calls)
    assert compared
