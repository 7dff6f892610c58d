"""Hits written as SAM records, against a plain formatter and against pysam's parser."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pysam
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hapgpu.io.fastx.read_block import TextBlock
from hapgpu.shortread.sam.cpu import format_records
from hapgpu.shortread.sam.tables import SamOptions, mapping_qualities, sam_tables
from hapgpu.shortread.search.hits import DELETION, INSERTION, UNGAPPED
from tests.shortread.sam.sam_oracle import (
    Case,
    Hit,
    Read,
    counts,
    index_of,
    kept_hits,
    mapping_quality,
    random_case,
    sam_lines,
    text_of,
)

OPTIONS = st.builds(
    SamOptions,
    best=st.booleans(),
    max_hits=st.none() | st.integers(1, 5),
    unmapped=st.booleans(),
    read_group=st.none() | st.sampled_from(["x", "lane 1"]),
    secondary_seq=st.booleans(),
)
SEEDS = st.integers(0, 2**32 - 1)


def formatted(case: Case, options: SamOptions) -> TextBlock:
    text, spans = text_of(case.reads)
    tables = sam_tables(index_of(case.contigs), options)
    block, end = format_records(tables, text, spans, kept_hits(case.hits))
    assert end == (len(case.reads), 0)
    return block


def counts_of(block: TextBlock, *names: str) -> tuple[int, ...]:
    return tuple(block.counts[name] for name in names)


def lines_of(case: Case, options: SamOptions | None = None) -> list[str]:
    text = formatted(case, options or SamOptions()).text.tobytes().decode()
    assert text == "" or text.endswith("\n")
    return text.split("\n")[:-1]


def one_read(read: Read, *hits: Hit, contig: str = "ACGTACGTACGTACGTACGTRCGTNCGT") -> Case:
    return Case({"c": contig}, [read], [list(hits)], [False])


def tags_of(line: str) -> dict[str, str]:
    return {field[:2]: field[5:] for field in line.split("\t")[11:]}


def parsed(case: Case, lines: list[str]) -> Iterator[pysam.AlignedSegment]:
    contigs = [{"SN": name, "LN": len(bases)} for name, bases in case.contigs.items()]
    header = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6"}, "SQ": contigs})
    return (pysam.AlignedSegment.fromstring(line, header) for line in lines)


@settings(max_examples=60)
@given(seed=SEEDS, options=OPTIONS, has_qualities=st.booleans())
def test_lines_and_counts_equal_a_plain_formatter(
    seed: int, options: SamOptions, has_qualities: bool
) -> None:
    case = random_case(seed, has_qualities=has_qualities)
    block = formatted(case, options)
    lines = block.text.tobytes().decode().splitlines()
    assert lines == sam_lines(case, options)
    assert block.counts == counts(case, options)


@settings(max_examples=40)
@given(seed=SEEDS)
@example(seed=0)
def test_reference_is_read_back_from_records(seed: int) -> None:
    """SEQ, CIGAR and MD together give the reference, and NM the edits between them."""
    case = random_case(seed)
    true_names = {
        read.name for read, is_true in zip(case.reads, case.is_true, strict=True) if is_true
    }
    for record in parsed(case, lines_of(case)):
        if record.is_secondary or record.is_unmapped or record.query_name not in true_names:
            continue
        window = case.contigs[record.reference_name][record.reference_start : record.reference_end]
        assert record.get_reference_sequence().upper() == window.upper()
        assert record.get_tag("NM") == edits(record, window.upper())


def edits(record: pysam.AlignedSegment, window: str) -> int:
    """Count differences; letters other than A, C, G and T equal nothing."""
    found = 0
    for query, reference in record.get_aligned_pairs():
        if query is None or reference is None:
            found += 1
            continue
        letter = window[reference - record.reference_start]
        found += letter not in "ACGT" or record.query_sequence[query] != letter
    return found


@settings(max_examples=20)
@given(seed=SEEDS, options=OPTIONS)
def test_every_line_is_sam(seed: int, options: SamOptions) -> None:
    """Pysam reads each line and writes it unchanged."""
    case = random_case(seed)
    lines = lines_of(case, options)
    names = [record.to_string().split("\t") for record in parsed(case, lines)]
    fields = [line.split("\t") for line in lines]
    for line in fields:
        line[9] = line[9].replace("U", "T")  # BAM has no U
    assert names == fields


@pytest.mark.parametrize(
    ("hit", "cigar", "differences", "score"),
    [
        (Hit(0, 4, 0, UNGAPPED, 0), "10M", "10", "0"),
        (Hit(1, 4, 0, UNGAPPED, 0), "10M", "0A9", "-6"),
        (Hit(1, 4, 0, UNGAPPED, 9), "10M", "9C0", "-6"),
        (Hit(1, 14, 0, UNGAPPED, 6), "10M", "6R3", "-6"),
        (Hit(1, 16, 0, UNGAPPED, 8), "10M", "8N1", "-6"),
        (Hit(1, 0, 0, INSERTION, 0), "1I9M", "9", "-8"),
        (Hit(1, 4, 0, INSERTION, 3), "3M1I6M", "9", "-8"),
        (Hit(1, 19, 0, INSERTION, 9), "9M1I", "9", "-8"),
        (Hit(1, 4, 0, DELETION, 1), "1M1D9M", "1^C9", "-8"),
        (Hit(1, 4, 0, DELETION, 9), "9M1D1M", "9^C1", "-8"),
        (Hit(1, 18, 0, DELETION, 6), "6M1D4M", "6^N4", "-8"),
        (Hit(1, 18, 0, DELETION, 2), "2M1D8M", "2^R8", "-8"),
    ],
)
def test_alignment_of_each_kind(hit: Hit, cigar: str, differences: str, score: str) -> None:
    [line] = lines_of(one_read(Read("r", "ACGTACGTAC", "I" * 10), hit))
    tags = tags_of(line)
    assert line.split("\t")[5] == cigar
    assert (tags["MD"], tags["AS"], tags["NM"]) == (differences, score, str(hit.distance))


def test_every_position_of_a_contig_is_found() -> None:
    contigs = {"a": "A" * 70, "b": "C", "long name": "G" * 57, "d": "T" * 130}
    positions = [(name, k) for name, bases in contigs.items() for k in range(len(bases))]
    reads = [Read("r", "ACGTACGTAC", None)] * len(positions)
    hits = [[Hit(1, start, 0, UNGAPPED, 0)] for start in range(len(positions))]
    lines = lines_of(Case(contigs, reads, hits, [False] * len(positions)))
    fields = [line.split("\t") for line in lines]
    assert [(line[2], int(line[3]) - 1) for line in fields] == positions
    assert [tags_of(line)["MD"][1] for line in lines] == list("".join(contigs.values()))


def test_reverse_hits_turn_bases_and_qualities() -> None:
    read = Read("r", "acgtuRYSWKMBDHVN.", "ABCDEFGHIJKLMNOPQ")
    [forward] = lines_of(one_read(read, Hit(1, 3, 0, UNGAPPED, 0)))
    assert forward.split("\t")[9:11] == ["ACGTURYSWKMBDHVN.", "ABCDEFGHIJKLMNOPQ"]
    [reverse] = lines_of(one_read(read, Hit(1, 3, 1, UNGAPPED, 0)))
    assert reverse.split("\t")[1] == "16"
    assert reverse.split("\t")[9:11] == [".NBDHVKMWSRYAACGT", "QPONMLKJIHGFEDCBA"]


@pytest.mark.parametrize("length", [0, 1, 15, 16, 31, 32, 33, 64, 150, 1000, 100_000])
def test_reads_of_any_length(length: int) -> None:
    bases = "".join(np.random.default_rng(length).choice(list("ACGTN"), length))
    read = Read("r", bases, "".join(chr(33 + k % 90) for k in range(length)))
    case = one_read(read, contig="A" * 100)
    assert lines_of(case) == sam_lines(case, SamOptions())
    if length:
        hits = (Hit(1, 3, 0, DELETION, length // 2), Hit(1, 3, 1, UNGAPPED, length - 1))
        case = one_read(read, *hits, contig="A" * (length + 10))
        assert lines_of(case) == sam_lines(case, SamOptions())


def test_best_counts_the_fewest_errors_only() -> None:
    hits = (Hit(0, 3, 0, UNGAPPED, 0), Hit(0, 5, 1, UNGAPPED, 0), Hit(1, 6, 0, UNGAPPED, 2))
    case = one_read(Read("r", "ACGTACGTAC", "I" * 10), *hits)
    every, best = lines_of(case), lines_of(case, SamOptions(best=True))
    assert [tags_of(line)["NH"] for line in every] == ["3"] * 3
    assert [tags_of(line)["NH"] for line in best] == ["2"] * 2
    assert [tags_of(line)["HI"] for line in best] == ["1", "2"]
    for line in (*every, *best):
        assert (tags_of(line)["X0"], tags_of(line)["X1"]) == ("2", "1")
    assert [line.split("\t")[1] for line in every] == ["0", "272", "256"]


def test_reads_over_max_hits_are_tagged() -> None:
    hits = [Hit(1, start, 0, UNGAPPED, 2) for start in range(4)]
    case = one_read(Read("r", "ACGTACGTAC", "I" * 10), *hits)
    for max_hits in (1, 3):
        block = formatted(case, SamOptions(max_hits=max_hits))
        lines = block.text.tobytes().decode().splitlines()
        assert len(lines) == block.counts["records"] == max_hits
        assert {tags_of(line)["XL"] for line in lines} == {str(max_hits)}
        assert {tags_of(line)["NH"] for line in lines} == {"4"}
        assert counts_of(block, "hits", "reads_over_max_hits") == (4, 1)
    for max_hits in (4, None):
        block = formatted(case, SamOptions(max_hits=max_hits))
        assert b"XL:i" not in block.text.tobytes()
        assert counts_of(block, "records", "reads_over_max_hits") == (4, 0)


def test_limit_applies_after_best() -> None:
    hits = (Hit(0, 3, 0, UNGAPPED, 0), Hit(1, 5, 1, UNGAPPED, 0), Hit(1, 6, 0, UNGAPPED, 2))
    case = one_read(Read("r", "ACGTACGTAC", "I" * 10), *hits)
    block = formatted(case, SamOptions(best=True, max_hits=1))
    assert counts_of(block, "hits", "records", "reads_over_max_hits") == (1, 1, 0)
    assert b"XL:i" not in block.text.tobytes()


def test_unmapped_reads() -> None:
    case = one_read(Read("r", "acgtn", "ABCDE"))
    options = SamOptions(read_group="g")
    assert lines_of(case, options) == ["r\t4\t*\t0\t0\t*\t*\t0\t0\tACGTN\tABCDE\tRG:Z:g"]
    block = formatted(case, SamOptions(unmapped=False))
    assert block.text.size == 0
    assert counts_of(block, "reads", "records", "too_short") == (1, 0, 1)


def test_block_without_reads() -> None:
    block = formatted(Case({"c": "ACGT"}, [], [], []), SamOptions())
    assert (block.text.size, *counts_of(block, "reads", "records")) == (0, 0, 0)


def test_many_hits_of_one_read() -> None:
    hits = [Hit(d, start, 0, UNGAPPED, 0) for d in (0, 1) for start in range(20_000)]
    case = Case({"c": "ACGT" * 6000}, [Read("r", "A" * 20, "I" * 20)], [hits], [False])
    assert lines_of(case) == sam_lines(case, SamOptions())


def test_mapping_qualities() -> None:
    table = mapping_qualities()
    assert table.dtype == np.uint8
    assert table[:4].tolist() == [60, 23, 20, 18]  # as bwa aln gives them
    assert table.tolist() == [mapping_quality(1, n) for n in range(256)]
    assert {mapping_quality(1, n) for n in range(255, 5000)} == {int(table[-1])}


@pytest.mark.parametrize(("best", "second"), [(1, 0), (1, 1), (1, 300), (2, 0), (2, 7), (3, 0)])
def test_mapping_quality_of_records(best: int, second: int) -> None:
    hits = [Hit(d, k, 0, UNGAPPED, 0) for d, n in ((0, best), (1, second)) for k in range(n)]
    case = one_read(Read("r", "ACGTACGTAC", None), *hits, contig="ACGT" * 100)
    qualities = {int(line.split("\t")[4]) for line in lines_of(case)}
    assert qualities == {mapping_quality(best, second)}
