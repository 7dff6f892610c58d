"""Indexes that match their files are accepted from any program; damage loses no reads."""

from __future__ import annotations

import gzip
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.errors import InputError
from hapgpu.io.alignments.index_files import has_entries
from hapgpu.io.alignments.reader import contigs_with_records, open_reads
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.genome.regions import Region, RegionChoice
from tests.io.sam_oracle import Row, batch_of, batch_rows

LEAF = 1 << 14


def read(path: Path, regions: list[Region]) -> list[Row]:
    with open_reads(str(path), regions=RegionChoice(tuple(regions))) as source:
        return batch_rows(source.batches())


def read_at(name: str, position: int, *, is_mapped: bool) -> Row:
    """Make a read of 20 bases at a position."""
    cigar = ((0, 20),) if is_mapped else ()
    flag = 0 if is_mapped else 4
    return Row(name, flag, 0, position, 60, cigar, -1, -1, 0, "A" * 20, None, ())


def linear_by_rule(path: Path, rule: str) -> list[int]:
    """Compute a linear index as htsjdk does, or as htslib did before 1.10."""
    floors: dict[int, int] = {}
    with pysam.AlignmentFile(str(path)) as file:
        start = file.tell()
        for read in file:
            first = last = read.reference_start >> 14
            if not read.is_unmapped:
                last = (read.reference_end - 1) >> 14
            elif rule == "htsjdk":  # the base before, by its 1-based numbers
                first = last = max(read.reference_start - 1, 0) >> 14
            else:
                last = -1
            for leaf in range(first, last + 1):
                floors.setdefault(leaf, start)
            start = file.tell()
    filled = [0]
    for leaf in range(max(floors) + 1):
        filled.append(floors.get(leaf, filled[-1]))
    return filled[1:]


UNMAPPED_FIRST = {
    "opens a leaf": [(LEAF - 900, 1), (LEAF, 0), (LEAF + 500, 1), (5 * LEAF, 1)],
    "last": [(LEAF - 900, 1), (2 * LEAF, 0)],
    "alone, then spanning": [(50, 1), (2 * LEAF, 0), (3 * LEAF - 10, 1), (3 * LEAF + 9, 1)],
    "first": [(0, 0), (70, 1)],
}


@pytest.mark.parametrize("rule", ["htsjdk", "old htslib"])
@pytest.mark.parametrize("reads", UNMAPPED_FIRST.values(), ids=UNMAPPED_FIRST)
def test_linear_indexes_that_omit_unmapped_reads(
    tmp_path: Path, rule: str, reads: list[tuple[int, int]]
) -> None:
    """One bin for each leaf, or two, as htsjdk writes them."""
    path = tmp_path / "placed.bam"
    rows = [read_at(f"r{k}", at, is_mapped=bool(mapped)) for k, (at, mapped) in enumerate(reads)]
    with open_writer(str(path), SamHeader.from_references(["c"], [100 * LEAF])) as writer:
        writer.write(batch_of(rows))
    linear = linear_by_rule(path, rule)
    Path(f"{path}.bai").write_bytes(index_of(path, linear))
    for row in rows:
        assert row in read(path, [Region("c", row.position, row.position + 5)])


def index_of(path: Path, linear: list[int]) -> bytes:
    """Make a BAI of one contig with the bins that the format describes, not joined."""
    bins: dict[int, list[int]] = {}
    with pysam.AlignmentFile(str(path)) as file:
        start = file.tell()
        for read_ in file:
            first = read_.reference_start
            end = read_.reference_end or first + 1
            levels = [
                level for level in range(6) if first >> 29 - 3 * level == end - 1 >> 29 - 3 * level
            ]
            number = (8 ** levels[-1] - 1) // 7 + (first >> 29 - 3 * levels[-1])
            chunks = bins.setdefault(number, [])
            if chunks[-1:] == [start]:
                chunks.pop()
            else:
                chunks.append(start)
            start = file.tell()
            chunks.append(start)
    head = struct.pack("<4sii", b"BAI\1", 1, len(bins))
    parts = [
        struct.pack(f"<Ii{len(chunks)}Q", number, len(chunks) // 2, *chunks)
        for number, chunks in bins.items()
    ]
    return b"".join([head, *parts, struct.pack(f"<i{len(linear)}Q", len(linear), *linear)])


def test_no_floor_of_a_leaf_loses_reads(tmp_path: Path) -> None:
    """A floor that is wrong, but rises, and is the offset of a record."""
    path = tmp_path / "placed.bam"
    positions = [LEAF - 900, LEAF - 10, LEAF + 50, LEAF + 500, LEAF + 900, 2 * LEAF + 5]
    rows = [read_at(f"r{k}", at, is_mapped=True) for k, at in enumerate(positions)]
    with open_writer(str(path), SamHeader.from_references(["c"], [100 * LEAF])) as writer:
        writer.write(batch_of(rows))
    right = linear_by_rule(path, "htsjdk")
    region = [Region("c", LEAF, LEAF + 1000)]
    for floor in range(right[1], right[2] + 1):
        Path(f"{path}.bai").write_bytes(index_of(path, [right[0], floor, right[2]]))
        assert read(path, region) == rows[1:5]


@pytest.mark.parametrize("lines", [0, 3000])
def test_a_header_without_records_is_of_any_size(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "none.bam"
    comments = np.random.default_rng(3).integers(0, 10**18, (lines, 5)).tolist()
    text = "@SQ\tSN:c\tLN:1000\n" + "".join(f"@CO\t{row}\n" for row in comments)
    (tmp_path / "none.sam").write_text(text)
    pysam.view("-b", "-o", str(path), str(tmp_path / "none.sam"), catch_stdout=False)
    pysam.samtools.index(str(path))
    assert (path.stat().st_size > 1 << 17) == bool(lines)
    assert read(path, [Region("c", 0, 10)]) == []


@pytest.mark.parametrize("field", range(6))
@pytest.mark.parametrize("text", ["--5", "9" * 5000, "", "+5", "5 ", "1.5", "\u0663"])
def test_a_crai_with_a_field_that_is_no_number(tmp_path: Path, field: int, text: str) -> None:
    index, path = tmp_path / "r.cram.crai", tmp_path / "r.cram"
    path.write_bytes(bytes(400))
    fields = ["-1", "0", "0", "26", "100", "200"]
    index.write_bytes(gzip.compress("\t".join(fields).encode()))
    assert has_entries(index, path)
    fields[field] = text
    index.write_bytes(gzip.compress("\t".join(fields).encode()))
    with pytest.raises(InputError, match=rf"^{index}: damaged, or not .crai; run: samtools index"):
        has_entries(index, path)


@pytest.mark.parametrize("kind", ["bai", "csi", "crai"])
def test_contigs_with_records(tmp_path: Path, kind: str) -> None:
    """An unmapped read with a position is a record of its contig; one without is of none."""
    reference = tmp_path / "reference.fa"
    reference.write_text("".join(f">c{number}\n{'ACGT' * 200}\n" for number in range(9)))
    pysam.faidx(str(reference))
    path = tmp_path / f"reads.{'cram' if kind == 'crai' else 'bam'}"
    contigs = [(1, 0), (1, 0), (4, 4), (7, 0), (-1, 4)]
    rows = [
        replace(read_at(f"r{k}", at, is_mapped=not flag), reference=number, flag=flag)
        for k, (number, flag) in enumerate(contigs)
        for at in [5 * k if number >= 0 else -1]
    ]
    header = SamHeader.from_references([f"c{number}" for number in range(9)], [800] * 9)
    with open_writer(str(path), header, reference=reference) as writer:
        writer.write(batch_of(rows))
    pysam.index(*(["-c"] if kind == "csi" else []), str(path))
    found = contigs_with_records(str(path), 9)
    assert found is not None
    assert found - {-1} == {1, 4, 7}
    with pytest.raises(InputError, match=r"reads\.(bam|cram)\..*damaged"):
        contigs_with_records(str(path), 5)


def test_a_pseudo_bin_holds_no_records(tmp_path: Path) -> None:
    """Some programs write it for contigs without records."""
    path = tmp_path / "none.bam"
    with open_writer(str(path), SamHeader.from_references(["a", "b"], [100, 100])) as writer:
        writer.write(batch_of([]))
    pseudo = struct.pack("<iIi4Qi", 1, 37450, 2, 0, 0, 0, 0, 0)
    Path(f"{path}.bai").write_bytes(struct.pack("<4si", b"BAI\1", 2) + 2 * pseudo)
    assert contigs_with_records(str(path), 2) == frozenset()
