"""Lines with base alignments against a reference implementation, on made-up alignments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import TextBlock
from hapgpu.longread.align.batches import MAPPING, AlignedMappings
from hapgpu.longread.options import Difference, LineOptions, MappingOptions
from hapgpu.longread.output.aligned_parts import AlignmentWriter
from hapgpu.longread.output.parts import PART_BYTES, all_lines
from hapgpu.longread.output.rows import AlignedBlock
from tests.longread.output.alignments.reference import Read, Target, paf_lines, sam_lines
from tests.longread.output.alignments.written_lines import (
    Record,
    StandInIndex,
    block_of,
    read_codes,
    target_codes,
)

LETTERS: Final = "ACGTACGTACGTacgtuUNnRKMbw-*."
NUMBERS: Final = ("anchors", "score", "second_score", "first_dp_max", "ambiguous")
OPTIONS: Final = st.builds(
    MappingOptions, prints_secondary=st.booleans(), prints_unmapped=st.booleans()
)
LINE_OPTIONS: Final = st.builds(
    LineOptions,
    has_cigar=st.booleans(),
    difference=st.sampled_from(Difference),
    splits_matches=st.booleans(),
    moves_long_cigars=st.booleans(),
    soft_clips_all=st.booleans(),
    mapped_only=st.booleans(),
    secondary_bases=st.booleans(),
    read_group=st.sampled_from([None, "run1"]),
    copies_comments=st.booleans(),
)


@dataclass(frozen=True)
class MadeLines:
    """Reads, reference sequences, and mappings between them."""

    records: list[Record]
    targets: list[Record]
    aligned: AlignedMappings
    repeats: NDArray[np.int32]

    def written(
        self,
        options: MappingOptions,
        line_options: LineOptions,
        *,
        is_sam: bool,
        most: int = PART_BYTES,
    ) -> TextBlock:
        form = replace(line_options, is_sam=is_sam)
        index = StandInIndex.of(self.targets)
        write = AlignmentWriter(index, target_codes(self.targets), options, form)
        return all_lines(write(self.block(), 0, most))

    def block(self) -> AlignedBlock:
        block, codes = block_of(self.records), read_codes(self.records)
        spans = parse_block(block, LONG_READS)
        return AlignedBlock(block.text, spans, codes, self.aligned, self.repeats)

    def expected(
        self, options: MappingOptions, line_options: LineOptions, *, is_sam: bool
    ) -> list[str]:
        targets = [Target(each.name, each.bases.decode()) for each in self.targets]
        lines = []
        for number, record in enumerate(self.records):
            name, _, comment = record.header.decode().partition(" ")
            read = Read(
                name,
                record.bases.decode(),
                None if record.qualities is None else record.qualities.decode(),
                comment if line_options.copies_comments else "",
                int(self.repeats[number]),
            )
            start, end = self.aligned.offsets[number : number + 2]
            lines += (sam_lines if is_sam else paf_lines)(
                read,
                self.aligned.mappings[start:end],
                self.aligned.operations,
                targets,
                options,
                line_options,
            )
        return lines


def made_cigar(rng: np.random.Generator, longest: int) -> list[tuple[int, int]]:
    """Return operations that start and end with M; gaps may follow one another."""
    operations = [(int(rng.integers(1, longest)), 0)]
    for _ in range(rng.integers(8)):
        kinds = rng.permutation([1, 2])[: rng.integers(1, 3)]
        operations += [(int(rng.integers(1, 1 + min(longest, 12))), int(kind)) for kind in kinds]
        operations.append((int(rng.integers(1, longest)), 0))
    return operations


def made_lines(seed: int, longest: int, letters: str, *, is_fasta: bool) -> MadeLines:
    """Make a few reads from alignments; in some places the reference has other bases."""
    rng = np.random.default_rng(seed)
    choice = np.frombuffer(letters.encode(), dtype=np.uint8)
    records, targets, operations = [], [], []
    mappings: list[tuple[dict[str, int], int]] = []
    offsets = [0]

    def random_bases(size: int) -> bytes:
        return rng.choice(choice, size).tobytes()

    complement = bytes.maketrans(b"ACGTUacgtuKMRBbw", b"TGCAAtgcaaMKYVvw")
    for read in range(rng.integers(1, 4)):
        aligned = bytearray()
        rows = []
        for number in range(rng.integers(4)):
            cigar = made_cigar(rng, longest) if rng.random() < 0.9 else []
            before, after = random_bases(rng.integers(9)), random_bases(rng.integers(9))
            target, query = bytearray(before), bytearray()
            for length, kind in cigar:
                bases = random_bases(length)
                other = bytearray(bases)
                for k in np.flatnonzero(rng.random(length) < 0.2):
                    other[k] = random_bases(1)[0]
                query += bases if kind != 2 else b""
                target += bytes(other) if kind != 1 else b""
            is_reverse = bool(rng.integers(2))
            bases = bytes(query).translate(complement)[::-1] if is_reverse else bytes(query)
            aligned += random_bases(rng.integers(5))
            start = len(aligned)
            aligned += bases
            values = {name: int(rng.integers(2 ** rng.integers(1, 31))) for name in NUMBERS}
            is_primary = rng.random() < 0.7
            rows.append(
                values
                | {
                    "first_operation": sum(len(each) for each in operations),
                    "operations": len(cigar),
                    "read": read,
                    "sequence": len(targets),
                    "is_reverse": is_reverse,
                    "query_start": start,
                    "query_end": len(aligned),
                    "target_start": len(before),
                    "target_end": len(target),
                    "number": number,
                    "parent": number if is_primary else -3,
                    "split": int(rng.integers(4)),
                    "is_inversion": int(rng.random() < 0.2),
                    # As in alignments, no more matches than columns outside gaps.
                    "matches": int(rng.integers(900)),
                    "length": 1000 + int(rng.integers(1000)),
                    "gap_bases": int(rng.integers(100)),
                    "gaps": int(rng.integers(100)),
                    "dp_score": int(rng.integers(-5000, 5000)),
                    "quality": int(rng.integers(61)),
                    "is_first_primary": is_primary and rng.random() < 0.6,
                }
            )
            targets.append(Record(b"target%d" % 10 ** len(targets), bytes(target) + after))
            operations.append(cigar)
        mappings += rows
        offsets.append(len(mappings))
        aligned += random_bases(rng.integers(5))
        qualities = None if is_fasta else rng.integers(33, 127, len(aligned)).astype(np.uint8)
        records.append(
            Record(
                b"read%d%s" % (read, [b"", b" ", b" a comment\tco:Z:x ", b"  b"][rng.integers(4)]),
                bytes(aligned),
                None if qualities is None else qualities.tobytes(),
            )
        )
    table = np.zeros(len(mappings), dtype=MAPPING)
    for row, values in zip(table, mappings, strict=True):
        for name, value in values.items():
            row[name] = value
    words = [length << 4 | kind for cigar in operations for length, kind in cigar]
    aligned_mappings = AlignedMappings(
        table, np.array(words, dtype=np.uint32), np.array(offsets, dtype=np.int64)
    )
    repeats = rng.integers(2**31, size=len(records)).astype(np.int32)
    return MadeLines(records, targets, aligned_mappings, repeats)


@given(
    st.integers(0, 2**32),
    st.booleans(),
    st.booleans(),
    OPTIONS,
    LINE_OPTIONS,
    st.sampled_from([1, 3000, 20_000, PART_BYTES]),
)
@settings(max_examples=300, deadline=None)
def test_lines_equal_the_reference_implementation(
    seed: int,
    is_sam: bool,
    is_fasta: bool,
    options: MappingOptions,
    line_options: LineOptions,
    most: int,
) -> None:
    letters = "ACGTacgtN" if seed % 2 else LETTERS
    longest = (4, 40, 3000)[seed % 3]
    made = made_lines(seed, longest, letters, is_fasta=is_fasta)
    lines = made.written(options, line_options, is_sam=is_sam, most=most)
    expected = made.expected(options, line_options, is_sam=is_sam)
    assert lines.text.tobytes().decode().splitlines() == expected
    mappings = made.aligned.mappings
    is_primary = mappings["number"] == mappings["parent"]
    unmapped = int((np.diff(made.aligned.offsets) == 0).sum())
    assert lines.counts["mapped"] == len(made.records) - unmapped
    secondary = int((~is_primary).sum()) if options.prints_secondary else 0
    assert lines.counts["secondary"] == secondary
    written = int(is_primary.sum()) + secondary
    if is_sam:
        supplementary = int((is_primary & (mappings["is_first_primary"] == 0)).sum())
        assert lines.counts["supplementary"] == supplementary
        written += 0 if line_options.mapped_only else unmapped
    assert lines.counts["records"] == written
    bases = mappings["query_end"] - mappings["query_start"]
    assert lines.counts["aligned_bases"] == int(bases[is_primary].sum())


def test_long_cigar_is_moved_to_a_tag() -> None:
    operations = np.array([2 << 4, 1 << 4 | 1] * 33_000 + [1 << 4], dtype=np.uint32)
    bases = b"ACG" * 33_000 + b"T"
    target = b"AC" * 33_000 + b"T"
    mappings = np.zeros(2, dtype=MAPPING)
    mappings["operations"] = operations.size
    mappings["query_end"], mappings["target_end"] = len(bases), len(target)
    mappings["length"], mappings["matches"] = len(bases), len(target)
    mappings["parent"] = [0, -1]
    mappings["is_first_primary"] = [1, 0]
    aligned = AlignedMappings(mappings, operations, np.array([0, 2]))
    made = MadeLines(
        [Record(b"read", b"GG" + bases)], [Record(b"t", target)], aligned, np.zeros(1, np.int32)
    )
    mappings["query_start"] += 2
    mappings["query_end"] += 2
    for line_options in (
        LineOptions(moves_long_cigars=True),
        LineOptions(moves_long_cigars=True, secondary_bases=True, splits_matches=True),
        LineOptions(secondary_bases=True, difference=Difference.DS),
    ):
        lines = made.written(MappingOptions(), line_options, is_sam=True)
        found = lines.text.tobytes().decode().splitlines()
        assert found == made.expected(MappingOptions(), line_options, is_sam=True)
        assert ("\tCG:B:I," in found[0]) == line_options.moves_long_cigars


def one_mapping(
    read: bytes, target: bytes, query_start: int, target_start: int, operations: list[int]
) -> MadeLines:
    """Return a read with one mapping; the operations are CIGAR words."""
    words = np.array(operations, dtype=np.uint32)
    kinds, lengths = words & 15, (words >> 4).astype(np.int64)
    mappings = np.zeros(1, dtype=MAPPING)
    mappings["operations"] = words.size
    mappings["query_start"], mappings["target_start"] = query_start, target_start
    mappings["query_end"] = query_start + lengths[kinds != 2].sum()
    mappings["target_end"] = target_start + lengths[kinds != 1].sum()
    mappings["length"] = mappings["matches"] = lengths.sum()
    mappings["is_first_primary"] = 1
    aligned = AlignedMappings(mappings, words, np.array([0, 1]))
    records = [Record(b"read", read)], [Record(b"t", target)]
    return MadeLines(*records, aligned, np.zeros(1, np.int32))


@pytest.mark.parametrize(
    ("before", "after", "is_moved"), [(0, 0, False), (2, 0, True), (0, 2, True)]
)
def test_cigar_of_65535_operations_and_clips_is_not_moved(
    before: int, after: int, is_moved: bool
) -> None:
    operations = [1 << 4, 1 << 4 | 1] * 32_767 + [1 << 4]
    read = b"G" * before + b"AC" * 32_767 + b"T" + b"G" * after
    made = one_mapping(read, b"A" * 32_767 + b"T", before, 0, operations)
    lines = made.written(MappingOptions(), LineOptions(moves_long_cigars=True), is_sam=True)
    assert (b"\tCG:B:I," in lines.text.tobytes()) == is_moved


@pytest.mark.parametrize(
    ("made", "text"),
    [
        # One base of the gap moves to the left, the other to the right: all of them do.
        (one_mapping(b"TCACAT", b"TCAT", 0, 0, [2 << 4, 2 << 4 | 1, 2 << 4]), ":2+[ac]:2"),
        # Only one base before the gap is aligned, but those before it are equal, too.
        (one_mapping(b"CCCCA", b"CA", 1, 0, [1 << 4, 2 << 4 | 1, 1 << 4]), ":1+c[c]:1"),
        (one_mapping(b"CA", b"CCCCA", 0, 1, [1 << 4, 2 << 4 | 2, 1 << 4]), ":1-c[c]:1"),
    ],
)
def test_bases_over_which_a_gap_moves_are_in_brackets(made: MadeLines, text: str) -> None:
    line_options = LineOptions(difference=Difference.DS)
    lines = made.written(MappingOptions(), line_options, is_sam=False)
    assert lines.text.tobytes().decode().endswith(f"\tds:Z:{text}\n")
