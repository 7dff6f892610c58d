"""Counts of alignments, beside a loop over the records by pysam."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.bam.read_groups import has_haplotypes
from hapgpu.report.alignments import AlignmentCounts
from hapgpu.report.line_blocks import digests_of
from hapgpu.report.tally import Tally

CONTIGS = ("first", "second")
CIGARS = ("20M", "5S15M", "8M2I10M", "8M3D12M", "10M4N10M")
TAGS = ("NM", "AS", "XS", "NH", "X0", "X1")


def records(seed: int, count: int) -> list[pysam.AlignedSegment]:
    """Return records with any tags and flags, some moved by `hapgpu realign`."""
    chance = random.Random(seed)  # noqa: S311  (data for a test)
    header = pysam.AlignmentHeader.from_references(CONTIGS, [10_000, 500])
    made = []
    for number in range(count):
        record = pysam.AlignedSegment(header)
        record.query_name = f"read{number}"
        record.flag = chance.choice([0, 0, 16, 4, 256, 2048, 1024])
        record.query_sequence = "ACGTACGTACGTACGTACGT"
        record.mapping_quality = chance.choice([0, 30, 60])
        if not record.is_unmapped:
            record.reference_id = chance.randrange(2)
            record.reference_start = chance.randrange(400)
            record.cigarstring = chance.choice(CIGARS)
        for tag in chance.sample(TAGS, chance.randrange(len(TAGS) + 1)):
            record.set_tag(tag, chance.randrange(-300 if tag in {"AS", "XS"} else 0, 70_000))
        if not record.is_unmapped and chance.random() < 0.4:
            place = record.reference_start + 1 + chance.randrange(-5, 6)
            contig = record.reference_name if chance.random() < 0.8 else "elsewhere"
            old = chance.choice(CIGARS)
            distance = chance.choice(["", "3", "12"])
            record.set_tag("OC", old)
            record.set_tag("OP", place, "i")
            older = "x,5,+,20M,60,7;" * chance.randrange(2)
            record.set_tag("OA", f"{older}{contig},{place},+,{old},60,{distance};")
        made.append(record)
    return made


def counted(path: Path) -> AlignmentCounts:
    with open_reads(str(path), batch_bases=1000) as source:
        contigs = digests_of(source.header.reference_names)
        total = AlignmentCounts.empty(contigs.size)
        with_haplotypes = has_haplotypes(source.header)
        count = partial(AlignmentCounts.of, contigs, without_haplotypes=with_haplotypes)
        for part in source.converted(count):
            total.merge(part)
    return total


def values_of(tally: Tally, low: int) -> Counter[int]:
    return Counter({low + int(k): int(tally.counts[k]) for k in np.flatnonzero(tally.counts)})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[AlignmentCounts, list]:
    path = tmp_path_factory.mktemp("counts") / "made.bam"
    rows = records(1, 500)
    with pysam.AlignmentFile(path, "wb", header=rows[0].header) as file:
        for row in rows:
            file.write(row)
    return counted(path), rows


def test_numbers_of_records(made: tuple[AlignmentCounts, list]) -> None:
    counts, rows = made
    primary = [row for row in rows if not row.is_secondary and not row.is_supplementary]
    mapped = [row for row in primary if not row.is_unmapped]
    assert counts.numbers["records"] == len(rows)
    assert counts.numbers["reads"] == len(primary)
    assert counts.numbers["bases"] == 20 * len(primary)
    assert counts.numbers["mapped"] == len(mapped)
    assert counts.numbers["reverse"] == sum(row.is_reverse for row in mapped)
    assert counts.numbers["duplicates"] == sum(row.is_duplicate for row in rows)
    contigs = Counter(row.reference_id for row in mapped)
    assert counts.contigs.tolist() == [contigs[0], contigs[1]]


def test_called_haplotypes_are_no_reads(tmp_path: Path) -> None:
    """They count as records, and as what they are; the other counts are those of the reads."""
    rows = records(2, 200)
    header = {**rows[0].header.to_dict(), "RG": [{"ID": "ArtificialHaplotypeRG", "SM": "HC"}]}
    for number, row in enumerate(rows):
        row.set_tag("RG", "ArtificialHaplotypeRG" if number % 3 == 0 else "other")
    both, alone = tmp_path / "both.bam", tmp_path / "alone.bam"
    for path, kept in ((both, rows), (alone, [row for k, row in enumerate(rows) if k % 3])):
        with pysam.AlignmentFile(path, "wb", header=header) as file:
            for row in kept:
                file.write(row)
    found, expected = counted(both), counted(alone)
    assert found.numbers == {
        **expected.numbers,
        "records": len(rows),
        "called haplotypes": len(range(0, len(rows), 3)),
    }
    assert expected.numbers["called haplotypes"] == 0
    assert found.contigs.tolist() == expected.contigs.tolist()
    assert found.moved_changes.tolist() == expected.moved_changes.tolist()
    for name in ("distances", "scores", "qualities"):
        assert getattr(found, name).counts.tolist() == getattr(expected, name).counts.tolist()


def test_tags(made: tuple[AlignmentCounts, list]) -> None:
    counts, rows = made
    mapped = [
        row for row in rows if not (row.is_secondary or row.is_supplementary or row.is_unmapped)
    ]
    distances = Counter(min(row.get_tag("NM"), 1000) for row in mapped if row.has_tag("NM"))
    assert values_of(counts.distances, 0) == distances
    margins = [
        row.get_tag("AS") - row.get_tag("XS")
        for row in mapped
        if row.has_tag("AS") and row.has_tag("XS")
    ]
    assert values_of(counts.margins, -1000) == Counter(
        max(min(margin, 10_000), -1000) for margin in margins
    )
    best = Counter(
        2 if row.get_tag("X0") > 1 else int(row.has_tag("X1") and row.get_tag("X1") > 0)
        for row in mapped
        if row.has_tag("X0")
    )
    assert counts.best.tolist() == [best[0], best[1], best[2]]


def test_identities_and_depth(made: tuple[AlignmentCounts, list]) -> None:
    counts, rows = made
    mapped = [
        row for row in rows if not (row.is_secondary or row.is_supplementary or row.is_unmapped)
    ]
    identities: Counter[int] = Counter()
    for row in mapped:
        bases, _ = row.get_cigar_stats()
        span = int(bases[0] + bases[1] + bases[2] + bases[7] + bases[8])
        if row.has_tag("NM"):
            identity = 10_000 * (span - row.get_tag("NM")) // span
            identities[max(identity, 0)] += 1
    assert values_of(counts.identities.tally, 0) == identities
    aligned = [0, 0]
    for row in mapped:
        aligned[row.reference_id] += len(row.get_aligned_pairs(matches_only=True))
    assert counts.aligned.tolist() == aligned


def test_moved_records(made: tuple[AlignmentCounts, list]) -> None:
    counts, rows = made
    moved = [row for row in rows if row.has_tag("OC")]
    assert counts.numbers["moved"] == len(moved)
    expected = [
        [sum(letter in text for text in texts) for texts in zip(*pairs, strict=True)]
        for letter, pairs in (
            (letter, [(row.get_tag("OC"), row.cigarstring) for row in moved]) for letter in "IDS"
        )
    ]
    assert counts.moved_changes.tolist() == expected
    same = [row for row in moved if f"{row.reference_name}," in row.get_tag("OA").split(";")[-2]]
    shifts = Counter(row.reference_start + 1 - row.get_tag("OP") for row in same)
    assert values_of(counts.shifts, -1000) == shifts
    old = [
        (row.get_tag("OA").split(";")[-2].split(",")[5], row.get_tag("NM"))
        for row in moved
        if row.has_tag("NM")
    ]
    assert len(counts.old_distances) == sum(bool(before) for before, _ in old)
    assert values_of(counts.old_distances, 0) == Counter(int(before) for before, _ in old if before)
