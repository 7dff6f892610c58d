"""Parts of a genomic VCF: the same lines, wherever a contig is divided."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.output.gvcf_lines import NO_LINES, item_lines
from hapgpu.calling.output.gvcf_parts import JoinedLines, Records, gvcf_part, no_records
from hapgpu.calling.output.reference_blocks import BlockJoiner, ReferencePositions

SIZE = 6000
START = 500


def made_positions(rng: np.random.Generator, changes: int) -> ReferencePositions:
    """Return positions whose likelihoods change at some of them."""
    runs = np.sort(rng.integers(0, SIZE, changes))
    levels = np.searchsorted(runs, np.arange(SIZE), side="right")
    phreds = rng.integers(0, 4, (changes + 1, 2))[levels]
    depths = rng.integers(0, 9, SIZE)
    bases = rng.choice(np.frombuffer(b"ACGT", dtype=np.uint8), SIZE)
    return ReferencePositions(START, bases, depths.astype(np.int32), phreds.astype(np.int32))


def made_records(rng: np.random.Generator, count: int) -> Records:
    starts = START + np.sort(rng.choice(SIZE, count, replace=False))
    ends = starts + rng.choice([1, 1, 5, 400], count)
    return Records(starts, ends, Ragged.from_sequences([f"record {at}\n" for at in starts]))


def cut(
    positions: ReferencePositions, records: Records, first: int, last: int
) -> tuple[ReferencePositions, Records]:
    own = slice(*np.searchsorted(records.starts, [START + first, START + last]))
    columns = positions.bases, positions.depths, positions.phreds
    return (
        ReferencePositions(START + first, *(column[first:last] for column in columns)),
        Records(records.starts[own], records.ends[own], records.lines[own]),
    )


@pytest.mark.parametrize("changes", [0, 3, 40, 3000])
@pytest.mark.parametrize("count", [0, 4, 300])
@pytest.mark.parametrize("seed", range(3))
def test_any_parts(changes: int, count: int, seed: int) -> None:
    """As all positions joined at once, which have no parts."""
    rng = np.random.default_rng(seed)
    positions, records = made_positions(rng, changes), made_records(rng, count)
    joiner = BlockJoiner()
    items = joiner.add(positions, records.starts, records.ends)
    whole = item_lines("c", items, records.lines) + item_lines("c", joiner.finish(), NO_LINES)
    for cuts in ([], [SIZE // 2], [1, 2, 1500], sorted(rng.integers(0, SIZE, 5).tolist())):
        lines = JoinedLines()
        parts = [
            lines.add(gvcf_part("c", *cut(positions, records, first, last)))
            for first, last in itertools.pairwise([0, *cuts, SIZE])
        ]
        assert b"".join(parts) + lines.finish() == whole


def test_contigs_end_blocks() -> None:
    positions = made_positions(np.random.default_rng(0), 40)
    one, lines = JoinedLines(), JoinedLines()
    expected = one.add(gvcf_part("c", positions, no_records())) + one.finish()
    found = [lines.add(gvcf_part(name, positions, no_records())) for name in ("c", "d")]
    both = b"".join(found) + lines.finish()
    assert both == expected + expected.replace(b"c\t", b"d\t")


def test_a_record_longer_than_the_head_of_the_next_part() -> None:
    positions = made_positions(np.random.default_rng(0), 3000)
    starts = np.array([START])
    long = Records(starts, starts + 5000, Ragged.from_sequences(["record\n"]))
    first, second = (cut(positions, no_records(), *span)[0] for span in ((0, 100), (100, SIZE)))
    lines = JoinedLines()
    lines.add(gvcf_part("c", first, long))
    with pytest.raises(ValueError, match=r"c: a record covers 601 to 16\d\d$"):
        lines.add(gvcf_part("c", second, no_records()))
