"""The checks of realigned records find the errors made here, and no others."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from random import Random

import pysam
import pytest

from tests.realign.mate_claims import fixmate_changes, new_fixmate_changes
from tests.realign.record_claims import Rules, cigar_faults, compare, findings
from tests.realign.sam_records import (
    Bases,
    edits_of,
    raw_records,
    read_records,
    sam_of,
    terminal_insertion,
)

Lines = list[list[str]]
BASES = "".join(Random(3).choices("ACGT", k=600))  # noqa: S311 - the same on every run
HEADER = ["@HD\tVN:1.6\tSO:coordinate", "@SQ\tSN:c\tLN:600", "@SQ\tSN:d\tLN:600"]


def line(name: str, flag: int, coordinates: str, cigar: str, bases: str, *tags: str) -> list[str]:
    contig, position = coordinates.split(":")
    columns = [name, str(flag), contig, position, "40", cigar, "*", "0", "0"]
    return [*columns, bases, "I" * len(bases), *tags]


def deleted(start: int, length: int = 60) -> str:
    """Return bases of a sample without the five after the first 200."""
    sample = BASES[:200] + BASES[205:]
    return sample[start : start + length]


def before_lines() -> Lines:
    """Return reads over a deletion, aligned without the deletion, or clipped, with mates."""
    elsewhere = BASES[500:530]
    return [
        line("moved", 99, "c:161", "60M", deleted(160), "X0:i:5"),
        line("moved", 147, "c:301", "60M", BASES[300:360], "X0:i:7"),
        line("other", 99, "c:171", "30M30S", deleted(170)),
        line("other", 147, "c:181", "60M", deleted(180)),
        line("still", 99, "c:11", "60M", BASES[10:70], "X0:i:5", "X1:f:1.5"),
        line("still", 147, "c:101", "60M", BASES[100:160]),
        line("lone", 73, "c:151", "60M", deleted(150)),
        line("lone", 133, "c:151", "*", "ACGT" * 10),
        line(
            "two", 99, "c:176", "30M30S", deleted(175, 30) + elsewhere, "SA:Z:c,501,+,30S30M,40,0;"
        ),
        line("two", 2147, "c:501", "30H30M", elsewhere, "SA:Z:c,176,+,30M30S,40,#;"),
        line("two", 147, "c:401", "60M", BASES[400:460]),
    ]


MOVES = {
    ("moved", 64): ("40M5D20M", 161),
    ("other", 64): ("30M5D30M", 171),
    ("other", 128): ("20M5D40M", 181),
    ("lone", 64): ("50M5D10M", 151),
    ("two", 64): ("25M5D5M30S", 176),
}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reference") / "reference.fa"
    path.write_text(f">c\n{BASES}\n>d\n{BASES[::-1]}\n")
    return path


@pytest.fixture(scope="module")
def before(reference: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("before")
    lines = before_lines()
    for columns in lines:
        if columns[5] != "*":
            columns.extend(measured(columns, reference))
    distance = next(x[5:] for x in lines[8] if x.startswith("NM:"))
    lines[9] = [x.replace("#", distance) for x in lines[9]]
    return written(lines, directory / "before.bam")


def measured(columns: list[str], reference: Path) -> list[str]:
    edits = edits_of(sam_of("\t".join(columns)), Bases(reference))
    return [f"NM:i:{edits.distance}", f"MD:Z:{edits.md}"]


def written(lines: Lines, out: Path) -> Path:
    """Write lines, with mate fields by fixmate, as sorted BAM."""
    sam, fixed = out.with_suffix(".sam"), out.with_suffix(".fixed.bam")
    write_sam(lines, sam, "@HD\tVN:1.6\tSO:unsorted")
    pysam.samtools.fixmate("--no-PG", str(sam), str(fixed))
    # Through text, because fixmate stores MQ in more bytes than text is parsed into.
    pysam.sort("--no-PG", "-O", "sam", "-o", str(sam), str(fixed))
    pysam.view("-b", "--no-PG", "-o", str(out), str(sam), catch_stdout=False)
    return out


def write_sam(lines: Lines, path: Path, first: str = HEADER[0]) -> None:
    texts = [first, *HEADER[1:], *("\t".join(columns) for columns in lines)]
    path.write_text("".join(f"{text}\n" for text in texts))


@pytest.fixture(scope="module")
def right(before: Path, reference: Path, tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """Return the lines of a realigned file without errors."""
    lines = [list(record.columns) for record in read_records(before)]
    group = {"two": "#"}
    for columns in lines:
        move = MOVES.get((columns[0], int(columns[1]) & 0xC0))
        if move and not int(columns[1]) & 0x800:
            move_to(columns, *move, reference)
            group[columns[0]] = next(x[5:] for x in columns if x.startswith("NM:"))
    for columns in lines:
        if int(columns[1]) & 0x800:
            row = next(n for n, x in enumerate(columns) if x.startswith("SA:"))
            columns[row] = f"SA:Z:c,176,+,25M5D5M30S,40,{group['two']};"
    out = written(by_name(lines), tmp_path_factory.mktemp("right") / "right.bam")
    return [list(record.columns) for record in read_records(out)]


def by_name(lines: Lines) -> Lines:
    return sorted(lines, key=lambda columns: (columns[0], int(columns[1]) & 0xC0))


def move_to(columns: list[str], cigar: str, position: int, reference: Path) -> None:
    old = [columns[2], columns[3], "+-"[bool(int(columns[1]) & 16)], columns[5], columns[4]]
    distance = next(x[5:] for x in columns if x.startswith("NM:"))
    tags = [f"OC:Z:{columns[5]}", f"OP:i:{columns[3]}", f"OA:Z:{','.join([*old, distance])};"]
    kept = [x for x in columns[11:] if x[:2] not in {"NM", "MD"}]
    columns[3], columns[5] = str(position), cigar
    columns[11:] = [*kept, *measured(columns, reference), *tags, "AS:i:600", "XS:i:300"]


@pytest.fixture
def check(before: Path, reference: Path, tmp_path: Path) -> Callable[[Lines], set[str]]:
    """Return the kinds of errors of lines."""

    def kinds(lines: Lines) -> set[str]:
        sam, bam = tmp_path / "after.sam", tmp_path / "after.bam"
        write_sam(lines, sam)
        pysam.view("-b", "--no-PG", "-o", str(bam), str(sam), catch_stdout=False)
        return {finding.kind for finding in findings(before, bam, reference)}

    return kinds


def one(lines: Lines, name: str, segment: int = 64, extra: int = 0) -> list[str]:
    """Find a line by name, segment and whether it is supplementary."""
    return next(
        columns
        for columns in lines
        if columns[0] == name and int(columns[1]) & 0x8C0 == segment | extra
    )


def test_a_right_file_has_no_findings(
    right: Lines, before: Path, reference: Path, check: Callable[[Lines], set[str]]
) -> None:
    assert check(right) == set()
    assert findings(before, before, reference) == []


def test_moves_are_counted(right: Lines, before: Path, reference: Path, tmp_path: Path) -> None:
    write_sam(right, tmp_path / "after.sam")
    found = compare(before, tmp_path / "after.sam", reference)
    assert len(found.moved) == len(MOVES)
    for match in found.moved:
        old, new = found.edits(match)
        assert new.score > old.score
        assert new.burden < old.burden or match.before.name == "two"


@pytest.mark.parametrize(
    ("name", "segment", "column", "value", "kinds"),
    [
        ("moved", 128, 7, "162", {"PNEXT"}),
        ("moved", 128, 6, "d", {"RNEXT"}),
        ("moved", 64, 7, "302", {"PNEXT"}),
        ("moved", 64, 8, "205", {"TLEN"}),
        ("moved", 128, 8, "200", {"TLEN"}),
        ("moved", 128, 1, "145", {"flag 0x2"}),
        ("moved", 128, 1, "179", {"flag 0x20"}),
        ("moved", 128, 1, "155", {"flag 0x8"}),
        ("moved", 64, 1, "1123", {"flag"}),
        ("moved", 64, 4, "41", {"MAPQ", "MQ"}),
        ("moved", 64, 9, "A" * 60, {"SEQ", "NM", "MD"}),
        ("moved", 64, 10, "H" * 60, {"QUAL"}),
        ("moved", 64, 5, "40M500D20M", {"CIGAR", "MC"}),
        ("moved", 64, 5, "20M20M5D20M", {"CIGAR", "MC"}),
        ("moved", 64, 5, "60M5D", {"CIGAR", "MC"}),
        ("moved", 64, 5, "0M40M5D20M", {"CIGAR", "MC"}),
        ("moved", 64, 5, "30M5D30M", {"NM", "MD", "MC"}),
        ("still", 64, 8, "140", {"TLEN", "unmoved but changed"}),
        ("still", 64, 7, "102", {"PNEXT", "unmoved but changed"}),
        ("still", 64, 1, "97", {"flag 0x2", "unmoved but changed"}),
        ("still", 64, 11, "X0:i:6", {"unmoved but changed"}),
        ("still", 64, 11, "X0:Z:5", {"unmoved but changed"}),
        ("lone", 128, 7, "152", {"PNEXT"}),
        ("lone", 128, 3, "155", {"position of unmapped", "order", "PNEXT"}),
    ],
)
def test_wrong_columns(
    right: Lines,
    check: Callable[[Lines], set[str]],
    name: str,
    segment: int,
    column: int,
    value: str,
    kinds: set[str],
) -> None:
    lines = [list(columns) for columns in right]
    one(lines, name, segment)[column] = value
    assert check(lines) - {"order"} == kinds - {"order"}


@pytest.mark.parametrize(
    ("name", "segment", "tag", "value", "kinds"),
    [
        ("moved", 64, "NM", "i:6", {"NM"}),
        ("moved", 64, "MD", "Z:40^ACGTA21", {"MD"}),
        ("moved", 64, "OC", "Z:61M", {"OC"}),
        ("moved", 64, "OC", None, {"OC"}),
        ("moved", 64, "OP", "i:160", {"OP"}),
        ("moved", 64, "OA", "Z:c,160,+,60M,40,1;", {"OA"}),
        ("moved", 64, "AS", "i:-900", {"score"}),
        ("moved", 64, "AS", None, {"AS"}),
        ("moved", 128, "MC", "Z:60M", {"MC"}),
        ("moved", 128, "MQ", "i:41", {"MQ"}),
        ("other", 64, "MC", "Z:60M", {"MC"}),
        ("still", 128, "MC", "Z:61M", {"MC", "unmoved but changed"}),
        ("still", 64, "X1", None, {"unmoved but changed"}),
        ("two", 0x840, "SA", "Z:c,176,+,30M30S,40,4;", {"SA"}),
        ("two", 128, "MC", "Z:30M30S", {"MC"}),
    ],
)
def test_wrong_tags(
    right: Lines,
    check: Callable[[Lines], set[str]],
    name: str,
    segment: int,
    tag: str,
    value: str | None,
    kinds: set[str],
) -> None:
    lines = [list(columns) for columns in right]
    columns = one(lines, name, segment & 0xC0, segment & 0x800)
    row = next(n for n, text in enumerate(columns) if n > 10 and text.startswith(f"{tag}:"))
    columns[row : row + 1] = [f"{tag}:{value}"] if value else []
    assert check(lines) == kinds


def test_lost_and_doubled_records(right: Lines, check: Callable[[Lines], set[str]]) -> None:
    assert check(right[:-1]) == {"lost record"}
    assert check([*right, right[-1]]) == {"extra record"}


def test_order_of_records_and_tags(right: Lines, check: Callable[[Lines], set[str]]) -> None:
    assert check(right[::-1]) == {"order"}
    lines = [list(columns) for columns in right]
    columns = one(lines, "still")
    columns[11:] = columns[:10:-1]
    assert check(lines) == {"unmoved but changed"}


def test_unsorted_files_keep_their_order(
    right: Lines, before: Path, reference: Path, tmp_path: Path
) -> None:
    paths = [tmp_path / name for name in ("before.sam", "after.sam", "turned.sam")]
    order = [(columns[0], columns[1]) for columns in right]
    inputs = [list(record.columns) for record in read_records(before)]
    inputs.sort(key=lambda columns: order.index((columns[0], columns[1])))
    for path, lines in zip(paths, (inputs, right, right[::-1]), strict=True):
        write_sam(lines, path, "@HD\tVN:1.6\tSO:unsorted")
    assert findings(paths[0], paths[1], reference) == []
    assert {x.kind for x in findings(paths[0], paths[2], reference)} == {"order"}


def test_header(right: Lines, before: Path, reference: Path, tmp_path: Path) -> None:
    path = tmp_path / "after.sam"
    write_sam(right, path, "@HD\tVN:1.6\tSO:unsorted")
    assert {x.kind for x in findings(before, path, reference)} == {"header"}


def test_stored_bytes_of_unmoved_records(before: Path, reference: Path, tmp_path: Path) -> None:
    """Two fields of different types may have the same text."""
    with gzip.open(before) as file:
        data = file.read()
    out = tmp_path / "after.bam"
    with pysam.BGZFile(str(out), "wb") as file:
        file.write(data.replace(b"X0C\x07", b"X0c\x07"))
    assert [x.columns for x in read_records(out)] == [x.columns for x in read_records(before)]
    assert list(raw_records(out)) != list(raw_records(before))
    found = findings(before, out, reference)
    assert [(x.kind, x.detail) for x in found] == [("unmoved but changed", "stored bytes")]


def test_moves_to_worse_alignments_on_request(
    right: Lines, before: Path, reference: Path, tmp_path: Path
) -> None:
    lines = [[x.replace("AS:i:600", "AS:i:-900") for x in columns] for columns in right]
    write_sam(lines, tmp_path / "after.sam")
    assert findings(before, tmp_path / "after.sam", reference, Rules(always=True)) == []


def test_reads_at_loci_only(right: Lines, before: Path, reference: Path, tmp_path: Path) -> None:
    """Mates outside the output keep their alignment; all reads at loci must be in the output."""
    rules = Rules(loci=[("c", 190, 215)], loci_only=True)
    at_locus = [x for x in right if x[5] != "*" and 130 < int(x[3]) < 300]
    paths = [tmp_path / "at_locus.sam", tmp_path / "less.sam", tmp_path / "more.sam"]
    for path, lines in zip(paths, (at_locus, at_locus[1:], right), strict=True):
        write_sam(lines, path)
    kinds = [{x.kind for x in findings(before, path, reference, rules)} for path in paths]
    assert kinds == [set(), {"lost record"}, {"not at a locus"}]


def test_faults_of_the_input_are_not_reported(
    right: Lines, before: Path, reference: Path, tmp_path: Path
) -> None:
    paths = tmp_path / "before.sam", tmp_path / "after.sam"
    inputs = [list(record.columns) for record in read_records(before)]
    for path, lines in zip(paths, (inputs, [list(x) for x in right]), strict=True):
        one(lines, "moved", 128)[7] = "15"
        one(lines, "still", 128)[8] = "1"
        write_sam(lines, path)
    assert findings(*paths, reference) == []


def test_changes_of_fixmate(right: Lines, before: Path, tmp_path: Path) -> None:
    lines = [list(columns) for columns in right]
    one(lines, "moved", 128)[7] = "15"
    write_sam(right, tmp_path / "right.sam")
    write_sam(lines, tmp_path / "wrong.sam")
    assert fixmate_changes(before, tmp_path) == {}
    assert fixmate_changes(tmp_path / "right.sam", tmp_path) == {}
    changes = fixmate_changes(tmp_path / "wrong.sam", tmp_path)
    assert [(key[:2], fields) for key, fields in changes.items()] == [
        (("moved", 128), {"PNEXT": "15 -> 161"})
    ]
    assert new_fixmate_changes(changes, changes) == {}


@pytest.mark.parametrize(
    ("position", "cigar", "is_right"),
    [
        (1, "10M", True),
        (591, "2H1S9M", True),
        (592, "10M", False),
        (0, "10M", False),
        (1, "9M", False),
        (1, "5M0D5M", False),
        (1, "5M5M", False),
        (1, "1D10M", False),
        (1, "2S1D8M", False),
        (1, "10M3D2H", False),
        (1, "5M3S2M", False),
        (1, "2S3H8M", False),
        (1, "10S", False),
        (1, "5M3I2M", True),
        (1, "*", False),
    ],
)
def test_cigars(reference: Path, position: int, cigar: str, is_right: bool) -> None:
    record = sam_of("\t".join(line("r", 0, f"c:{position}", cigar, "A" * 10)))
    assert (list(cigar_faults(record, Bases(reference))) == []) == is_right


@pytest.mark.parametrize(
    ("cigar", "length"),
    [("5I10M", 5), ("3S5I10M7I2S1H", 7), ("10M5I10M", 0), ("4S", 0), ("12I", 12)],
)
def test_terminal_insertions(cigar: str, length: int) -> None:
    assert terminal_insertion(sam_of(f"r\t0\tc\t1\t9\t{cigar}\t*\t0\t0\t*\t*").cigar) == length


def test_edits_as_samtools_counts_them(before: Path, reference: Path, right: Lines) -> None:
    """NM and MD agree with calmd for every record, moved or not."""
    bases = Bases(reference)
    for columns in right:
        record = sam_of("\t".join(columns))
        if not record.is_unmapped:
            assert record.value("MD") == edits_of(record, bases).md
    text = pysam.samtools.calmd("--no-PG", str(before), str(reference))
    for row in text.splitlines():
        if not row.startswith("@"):
            record = sam_of(row)
            if not record.is_unmapped:
                edits = edits_of(record, bases)
                assert record.value("NM") == str(edits.distance)
                assert record.value("MD") == edits.md
