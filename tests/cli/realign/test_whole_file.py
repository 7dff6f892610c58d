"""`hapgpu realign --reference` as a filter: records that do not move keep their bytes."""

from __future__ import annotations

import json
import struct
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pysam
import pytest

from hapgpu.io.alignments.reader import open_reads
from hapgpu.realign import pipeline
from tests.cli.realign.command import body, realign, records, sam_of
from tests.realign.made_pairs import MadePairs, make_pairs
from tests.realign.move_oracle import apart_from_mates
from tests.realign.realign_oracle import Record
from tests.realign.sam_records import Sam, raw_records, read_records

AT_LOCUS = 10_150
NO_QUALITIES = 0xFF
MATCH, SOFT_CLIP, SKIP = 0, 4, 3


@dataclass
class Odd:
    """A record of BAM, part by part; its bin is always wrong."""

    name: str
    flag: int = 0
    contig: int = 0
    position: int = AT_LOCUS
    quality: int = 60
    cigar: Sequence[tuple[int, int]] = ((20, MATCH),)
    mate: tuple[int, int] = (-1, -1)
    template_length: int = 0
    bases: int = 20
    packed: bytes = b"\x12\x48\xf1\x24\x81" * 2
    qualities: bytes = bytes(range(20))
    tags: bytes = field(default=b"NMi\5\0\0\0")

    def stored(self) -> bytes:
        name = self.name.encode() + b"\0"
        elements = [length << 4 | operation for length, operation in self.cigar]
        return (
            struct.pack("<iiBBHHHI", self.contig, self.position, len(name), self.quality, 77,
                        len(elements), self.flag, self.bases)
            + struct.pack("<iii", *self.mate, self.template_length)
            + name + struct.pack(f"<{len(elements)}I", *elements) + self.packed + self.qualities
            + self.tags
        )  # fmt: skip


ALL_TAGS = (
    b"XAAxXcc\xffXCC\xffXss\xff\xffXSS\5\0Xii\5\0\0\0XII\5\0\0\0"
    b"Xff\0\0\x80\x7fXZZ\0XYZa b\0XHH1AE3\0XbBc\2\0\0\0\1\2XBBf\0\0\0\0"
    b"X1BI\1\0\0\0\5\0\0\0X2BS\1\0\0\0\5\0XYZtwice\0"
)  # fmt: skip
LONG_CIGAR = struct.pack("<4sI3I", b"CGBI", 3, 9 << 4, 2 << 4 | 1, 9 << 4)
ODD = [
    Odd("plain"),
    Odd("plain"),
    Odd("tags", tags=ALL_TAGS),
    Odd("no_tags", tags=b""),
    Odd("long_cigar", cigar=((20, SOFT_CLIP), (18, SKIP)), tags=b"XXAx" + LONG_CIGAR + b"XYAy"),
    Odd("no_qualities", qualities=bytes([NO_QUALITIES] * 20)),
    Odd("half_qualities", qualities=bytes([NO_QUALITIES, *range(19)])),
    Odd("no_bases", bases=0, packed=b"", qualities=b""),
    Odd("no_bases_no_cigar", bases=0, packed=b"", qualities=b"", cigar=()),
    Odd("no_cigar", cigar=()),
    Odd("equal", packed=b"\0" * 10),
    Odd("padding", cigar=((19, MATCH),), bases=19, qualities=bytes(19)),
    Odd("skips", cigar=((10, MATCH), (50, SKIP), (10, MATCH))),
    Odd("*"),
    Odd("n" * 254),
    Odd("flags", flag=0xF000),
    Odd("duplicate", flag=0x400 | 1, mate=(0, AT_LOCUS), template_length=-(2**31)),
    Odd("lonely_pair", flag=1 | 0x40, mate=(1, 5), template_length=2**31 - 1, quality=255),
    Odd("unmapped", flag=4 | 1 | 0x40, mate=(0, AT_LOCUS)),
    Odd("mapped_nowhere", contig=-1, position=-1),
    Odd("nowhere", flag=4, contig=-1, position=-1, cigar=()),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> MadePairs:
    return make_pairs(tmp_path_factory.mktemp("pairs"))


@pytest.fixture(scope="module")
def odd(made: MadePairs) -> Path:
    """Write the pairs, sorted, with odd records among them."""

    def coordinates(stored: bytes) -> tuple[int, int]:
        contig, position = struct.unpack_from("<ii", stored)
        return contig & 0xFFFFFFFF, position

    stored = sorted(
        [*raw_records(made.reads["sorted"]), *(x.stored() for x in ODD)], key=coordinates
    )
    path = made.reference.with_name("odd.bam")
    with pysam.AlignmentFile(str(made.reads["sorted"])) as file:
        header, contigs = str(file.header), list(zip(file.references, file.lengths, strict=True))
    with pysam.BGZFile(str(path), "wb") as out:
        out.write(struct.pack("<4si", b"BAM\1", len(header)) + header.encode())
        out.write(struct.pack("<i", len(contigs)))
        for name, length in contigs:
            text = name.encode() + b"\0"
            out.write(struct.pack("<i", len(text)) + text + struct.pack("<i", length))
        for record in stored:
            out.write(struct.pack("<i", len(record)) + record)
    return path


def to_bam(made: MadePairs, reads: str | Path, directory: Path, *options: str | Path) -> Path:
    out = directory / "out.bam"
    realign(reads, made.haplotypes, "--reference", made.reference, "--no-PG", "-o", out, *options)
    return out


@pytest.mark.parametrize("options", [[], ["--always"], ["-F", "0"], ["--loci-only"]])
def test_odd_records_pass_byte_for_byte(
    made: MadePairs, odd: Path, tmp_path: Path, options: list[str]
) -> None:
    out = to_bam(made, odd, tmp_path, *options)
    before, after = Counter(raw_records(odd)), Counter(raw_records(out))
    expected = Counter(x.stored() for x in ODD)
    if options == ["--loci-only"]:
        is_left = (x for x in ODD if x.contig == 0 and not x.flag & 0xF00)
        expected = Counter(x.stored() for x in is_left)
    assert expected <= after
    assert sum(after.values()) == sum(before.values()) or "--loci-only" in options
    assert sum((after - before).values()) > 50


def test_only_moves_change_bytes(made: MadePairs, odd: Path, tmp_path: Path) -> None:
    """The bytes of a record change if it moved, or a record of the same name did."""
    statistics = tmp_path / "run.json"
    out = to_bam(made, odd, tmp_path, "--json", statistics)
    after = read_records(out)
    moved = {record.name for record in after if record.value("OC")}
    known = Counter(raw_records(odd))
    changed = [record for record in after if not known[record.raw or b""]]
    assert {record.name for record in changed} == moved
    counts = json.loads(statistics.read_text())["counts"]
    assert counts["realigned"] == sum(record.value("OC") is not None for record in after)
    assert counts["records"] == len(after)
    assert len(changed) <= counts["changed_records"] < len(after)


class InBatches:
    """Make runs of this process read a few records at a time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch

    def set(self, bases: int, pairs: int) -> None:
        self._patch.setattr(pipeline, "open_reads", partial(open_reads, batch_bases=bases))
        self._patch.setattr(pipeline, "_PAIRS_PER_BATCH", pairs)


@pytest.fixture
def in_batches(monkeypatch: pytest.MonkeyPatch) -> InBatches:
    return InBatches(monkeypatch)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("shuffled", []),
        ("sorted", ["--best-by", "likelihood"]),
        ("sorted", ["--always", "-F", "0"]),
        pytest.param("sorted", [], marks=pytest.mark.exhaustive),
        pytest.param("shuffled", ["--best-by", "likelihood"], marks=pytest.mark.exhaustive),
        pytest.param("shuffled", ["--always", "-F", "0"], marks=pytest.mark.exhaustive),
    ],
)
def test_neither_threads_nor_batches_matter(
    made: MadePairs, tmp_path: Path, in_batches: InBatches, name: str, options: list[str]
) -> None:
    reads = made.reads[name]
    whole = to_bam(made, reads, tmp_path, "-t", "1", *options).read_bytes()
    for bases, pairs, threads in (
        (4_000_000, 400_000, 3),
        (700, 400_000, 2),
        (9_000, 14, 1),
        (1, 1, 2),
    ):
        in_batches.set(bases, pairs)
        out = to_bam(made, reads, tmp_path, "-t", str(threads), *options)
        assert out.read_bytes() == whole


def test_odd_records_in_batches(
    made: MadePairs, odd: Path, tmp_path: Path, in_batches: InBatches
) -> None:
    for options in ([], ["--loci-only"], ["--loci-only", "-f", "0x200"]):
        in_batches.set(4_000_000, 400_000)
        whole = to_bam(made, odd, tmp_path, *options).read_bytes()
        in_batches.set(700, 400_000)
        assert to_bam(made, odd, tmp_path, *options).read_bytes() == whole


def test_no_record_is_chosen(made: MadePairs, tmp_path: Path) -> None:
    out = to_bam(made, made.reads["sorted"], tmp_path, "--loci-only", "-f", "0x200")
    pysam.quickcheck(str(out))
    assert list(raw_records(out)) == []
    out = to_bam(made, made.reads["sorted"], tmp_path, "-f", "0x200")
    assert list(raw_records(out)) == list(raw_records(made.reads["sorted"]))


@pytest.mark.parametrize("name", ["sorted", "sam", "cram", "shuffled"])
@pytest.mark.parametrize("options", [[], ["--loci-only"], ["-r", "one:10100-10250"]])
def test_standard_input(
    made: MadePairs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    options: list[str],
) -> None:
    """Standard input has no index and cannot be read twice, but gives the same output."""
    reads = made.reads[name]
    given = (made.haplotypes, "--reference", made.reference, *options)
    expected = sam_of(tmp_path, reads, *given)
    with reads.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        found = sam_of(tmp_path, "-", *given)
    assert found == expected
    assert len(body(found)) > 50


def overlapping(reads: Sequence[Sam], intervals: Sequence[tuple[str, int, int]]) -> list[Sam]:
    return [record for record in reads if any(record.overlaps(x) for x in intervals)]


def identity(record: Record | Sam) -> tuple[str, int, str]:
    return record.columns[0], int(record.columns[1]) & ~2, record.columns[9]


@pytest.mark.parametrize("as_bed", [False, True])
@pytest.mark.parametrize("loci_only", [False, True])
def test_regions(made: MadePairs, tmp_path: Path, as_bed: bool, loci_only: bool) -> None:
    """Reads in regions are written as from the whole file, except for moves of mates elsewhere."""
    regions = [("one", 10_180, 10_220), ("one", 15_000, 15_250), ("two", 0, 70)]
    if as_bed:
        bed = tmp_path / "targets.bed"
        bed.write_text("".join(f"{c}\t{start}\t{end}\n" for c, start, end in regions))
        options: list[str | Path] = ["-L", bed]
    else:
        options = [o for c, start, end in regions for o in ("-r", f"{c}:{start + 1}-{end}")]
    reads = made.reads["sorted"]
    given = (made.haplotypes, "--reference", made.reference)
    options += ["--loci-only"] * loci_only
    found = records(sam_of(tmp_path, reads, *given, *options))
    expected = overlapping(read_records(reads), regions)
    if loci_only:
        expected = [x for x in overlapping(expected, made.loci) if not x.flag & 0xF00]
    assert Counter(map(identity, found)) == Counter(map(identity, expected))
    assert len(found) > 50
    everything = records(sam_of(tmp_path, reads, *given))
    known = {apart_from_mates(record) for record in everything}
    assert {apart_from_mates(record) for record in found} <= known


def test_index_is_not_needed(made: MadePairs, tmp_path: Path) -> None:
    copy = tmp_path / "no_index.bam"
    copy.write_bytes(made.reads["sorted"].read_bytes())
    for options in ([], ["--loci-only"], ["-r", "one:10100-10250"]):
        expected = to_bam(made, made.reads["sorted"], tmp_path, *options).read_bytes()
        assert to_bam(made, copy, tmp_path, *options).read_bytes() == expected


@pytest.mark.parametrize(("extension", "kind"), [("bam", "csi"), ("cram", "crai")])
def test_written_index(made: MadePairs, tmp_path: Path, extension: str, kind: str) -> None:
    """The index finds the records of a region at their new positions."""
    out = tmp_path / f"out.{extension}"
    given = (made.haplotypes, "--reference", made.reference, "--no-PG", "-o", out)
    realign(made.reads["sorted"], *given, "--write-index", "-t", "2")
    index = tmp_path / f"out.{extension}.{kind}"
    assert sorted(tmp_path.iterdir()) == sorted([out, index])
    everything = read_records(out, made.reference)
    for contig, start, end in [*made.loci, ("one", 1_050_000, 1_050_050), ("two", 0, 5)]:
        region = f"{contig}:{start + 1}-{end}"
        options = ("--no-PG", "-T", str(made.reference), str(out), region)
        lines = pysam.samtools.view(*options).splitlines()
        expected = overlapping(everything, [(contig, start, end)])
        assert [line.split("\t")[:6] for line in lines] == [x.columns[:6] for x in expected]


def test_no_older_index_stays(made: MadePairs, tmp_path: Path) -> None:
    """An older index is removed: other tools would read it instead of the new one."""
    out, older = tmp_path / "out.bam", tmp_path / "out.bam.bai"
    older.write_bytes(b"of an earlier file")
    to_bam(made, made.reads["sorted"], tmp_path, "--write-index")
    assert sorted(tmp_path.iterdir()) == [out, tmp_path / "out.bam.csi"]


def test_index_beside_unsorted_header(made: MadePairs, tmp_path: Path) -> None:
    """Records are sorted if the header says so or the input has an index."""
    reads = tmp_path / "reads.bam"
    header = tmp_path / "header.sam"
    with pysam.AlignmentFile(str(made.reads["sorted"])) as file:
        header.write_text(str(file.header).replace("SO:coordinate", "SO:unknown"))
    reads.write_bytes(pysam.samtools.reheader(str(header), str(made.reads["sorted"]), raw=True))
    pysam.index(str(reads))
    out = to_bam(made, reads, tmp_path, "--write-index")
    assert list(raw_records(out)) == list(raw_records(to_bam(made, made.reads["sorted"], tmp_path)))
