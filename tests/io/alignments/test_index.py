"""Reading by region returns the records that pysam fetches."""

from __future__ import annotations

import gzip
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.alignments.index_bins import BinIndex
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.genome.regions import Region, RegionChoice
from tests.example_counts import many
from tests.io.sam_oracle import Row, batch_of, batch_rows, pysam_rows

LENGTHS = {"chr1": 2_000_000, "2": 300_000, "empty": 1000}


def read(path: Path, regions: list[Region], **options: object) -> list[Row]:
    with open_reads(str(path), regions=RegionChoice(tuple(regions)), **options) as source:
        return batch_rows(source.batches())


def fetched(path: Path, regions: list[Region]) -> list[Row]:
    """Return the records that pysam fetches for all regions: each once, in file order."""
    with pysam.AlignmentFile(str(path)) as file:
        order = {row: rank for rank, row in enumerate(pysam_rows(file))}
        found = {
            row
            for region in regions
            for row in pysam_rows(file.fetch(region.contig, region.start, region.end))
        }
    return sorted(found, key=order.__getitem__)


def scattered_rows() -> list[Row]:
    """Make sorted reads of all kinds: spliced over bins, unmapped with and without a position."""
    random = np.random.default_rng(9)
    made = []
    for k in range(6000):
        reference = int(random.random() < 0.2)
        length = list(LENGTHS.values())[reference]
        skip = int(random.choice([0, 0, 50, 20_000, 150_000]))
        cigar = ((0, 30), (3, skip), (0, 20)) if skip else ((4, 10), (0, 40))
        unmapped = random.random() < 0.05
        made.append(
            Row(
                name=f"read{k}",
                flag=4 if unmapped else 0,
                reference=reference,
                position=int(random.integers(0, length - skip - 60)),
                mapping_quality=60,
                cigar=() if unmapped else cigar,
                mate_reference=-1,
                mate_position=-1,
                template_length=0,
                bases="A" * 50,
                qualities=None,
                tags=(),
            )
        )
    made.sort(key=lambda row: (row.reference, row.position))
    nowhere = Row("nowhere", 4, -1, -1, 0, (), -1, -1, 0, "ACGT", None, ())
    return [*made, nowhere]


@pytest.fixture(scope="module", params=["bai", "csi"])
def indexed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a sorted BAM with either kind of index."""
    path = tmp_path_factory.mktemp(request.param) / "scattered.bam"
    header = SamHeader.from_references(list(LENGTHS), list(LENGTHS.values()))
    with open_writer(str(path), header) as writer:
        writer.write(batch_of(scattered_rows()))
    pysam.samtools.index("-c" if request.param == "csi" else "-b", str(path))
    return path


@st.composite
def regions(draw: st.DrawFn) -> Region:
    contig = draw(st.sampled_from(list(LENGTHS)))
    start = draw(st.integers(0, LENGTHS[contig] - 1))
    size = draw(st.one_of(st.integers(1, 500), st.integers(1, LENGTHS[contig])))
    return Region(contig, start, min(start + size, LENGTHS[contig]))


@settings(max_examples=many(60))
@given(
    chosen=st.lists(regions(), max_size=5),
    threads=st.sampled_from([1, 2]),
    batch_bases=st.sampled_from([5000, 8_000_000]),
)
def test_regions_return_the_reads_of_pysam(
    indexed: Path, chosen: list[Region], threads: int, batch_bases: int
) -> None:
    found = read(indexed, chosen, threads=threads, batch_bases=batch_bases)
    assert found == fetched(indexed, chosen)


@pytest.fixture(scope="module")
def sets_of_reads(indexed: Path) -> dict[str, Path]:
    """Return the same reads as BAM with an index, as SAM and as CRAM with an index."""
    sam, cram = indexed.with_suffix(".sam"), indexed.with_suffix(".cram")
    pysam.samtools.view("-h", "-o", str(sam), str(indexed), catch_stdout=False)
    options = ["-C", "--output-fmt-option", "no_ref=1", "-o", str(cram)]
    pysam.samtools.view(*options, str(indexed), catch_stdout=False)
    pysam.samtools.index(str(cram))
    return {"bam": indexed, "sam": sam, "cram": cram}


@settings(max_examples=many(40))
@given(
    chosen=st.lists(regions(), min_size=1, max_size=3),
    targets=st.lists(regions(), min_size=1, max_size=40),
    kind=st.sampled_from(["bam", "bam", "sam", "cram"]),
)
def test_reads_overlap_regions_and_targets_as_for_samtools(
    sets_of_reads: dict[str, Path], chosen: list[Region], targets: list[Region], kind: str
) -> None:
    """`samtools view -L BED FILE REGION...`, with texts that have two meanings without a header."""
    bam, path = sets_of_reads["bam"], sets_of_reads[kind]
    bed = path.with_suffix(".bed")
    bed.write_text("".join(f"{r.contig}\t{r.start}\t{r.end}\n" for r in targets))
    texts = tuple(map(str, chosen))
    expected = pysam.samtools.view("-L", str(bed), str(bam), *texts).splitlines()
    with open_reads(str(path), regions=RegionChoice(texts, tuple(targets))) as source:
        found = [row.name for row in batch_rows(source.batches())]
    assert len(found) == len(set(found))
    assert set(found) == {line.split("\t")[0] for line in expected}


def test_a_read_across_the_gap_between_a_region_and_a_target(indexed: Path) -> None:
    """It overlaps both, which have no base in common."""
    row = next(row for row in scattered_rows() if row.cigar == ((4, 10), (0, 40)))
    contig, start = list(LENGTHS)[row.reference], row.position
    choice = RegionChoice(
        (f"{contig}:{start + 1}-{start + 10}",), (Region(contig, start + 20, start + 21),)
    )
    with open_reads(str(indexed), regions=choice) as source:
        assert row.name in {found.name for found in batch_rows(source.batches())}


@pytest.mark.parametrize("threads", [1, 2])
def test_regions_of_real_bam(data_dir: Path, threads: int) -> None:
    path = data_dir / "illumina_na12878" / "HG002.chr20.dev.bam"
    if not path.exists():
        pytest.skip(f"no {path}")
    chosen = [
        Region("chr20", 10_000_000, 10_000_100),
        Region("chr20", 10_005_000, 10_005_001),
        Region("chr20", 10_005_000, 10_005_300),
        Region("chr20", 0, 1000),
    ]
    found = read(path, chosen, threads=threads)
    assert found == fetched(path, chosen)
    assert found


def test_end_of_region_beyond_its_contig(indexed: Path) -> None:
    whole = read(indexed, [Region("2", 0, 2**31 - 1)])
    assert whole == fetched(indexed, [Region("2", 0, LENGTHS["2"])])


def test_unknown_contig_is_named(indexed: Path) -> None:
    with pytest.raises(InputError, match=r"no contig 'chr2'; found '2' instead"):
        read(indexed, [Region("chr2", 0, 5)])
    with pytest.raises(InputError, match=r"no contig '1'; found 'chr1' instead"):
        read(indexed, [Region("1", 0, 5)])
    with pytest.raises(InputError, match=r"scattered\.bam: no contig 'chrUn'$"):
        read(indexed, [Region("chrUn", 0, 5)])


def _alone(indexed: Path, directory: Path) -> tuple[Path, Path, bytes]:
    """Copy a BAM; return it, the path of its index, and the index's content."""
    copy = directory / "copy.bam"
    copy.write_bytes(indexed.read_bytes())
    index = next(indexed.parent.glob("*.bam.?[as]i"))
    return copy, directory / index.name.replace("scattered", "copy"), index.read_bytes()


def test_names_of_indexes(indexed: Path, tmp_path: Path) -> None:
    copy, index, content = _alone(indexed, tmp_path)
    region = [Region("2", 1000, 2000)]
    with pytest.raises(InputError, match=r"run: samtools index .*copy\.bam"):
        read(copy, region)
    for name in (index, copy.with_suffix(index.suffix)):
        name.write_bytes(content)
        assert read(copy, region) == fetched(indexed, region)
        name.unlink()


def test_damaged_indexes_never_crash(indexed: Path, tmp_path: Path) -> None:
    copy, index, content = _alone(indexed, tmp_path)
    random = np.random.default_rng(2)
    region = [Region("chr1", 1000, 700_000)]
    expected = {row.name for row in fetched(indexed, region)}
    for _ in range(150):
        damaged = bytearray(content)
        at = int(random.integers(0, len(content)))
        if random.random() < 0.3:
            damaged = damaged[:at]
        else:
            damaged[at] ^= int(random.integers(1, 256))
        index.write_bytes(damaged)
        try:
            found = read(copy, region)
        except InputError as error:
            assert "copy.bam" in str(error)  # noqa: PT017 (most of the damage is harmless)
        else:
            assert {row.name for row in found} <= expected


def test_a_changed_index_is_read_again(indexed: Path, tmp_path: Path) -> None:
    copy, index, content = _alone(indexed, tmp_path)
    region = [Region("2", 1000, 2000)]
    index.write_bytes(content)
    found = read(copy, region)
    index.write_bytes(content[:100])
    with pytest.raises(InputError, match=rf"{index.name}: (damaged|truncated)"):
        read(copy, region)
    index.write_bytes(content)
    assert read(copy, region) == found
    index.unlink()
    with pytest.raises(InputError, match=": no index"):
        read(copy, region)


def test_a_file_that_changes_has_another_header(tmp_path: Path) -> None:
    path = tmp_path / "reads.bam"
    for contig in ("chr1", "chromosome1"):
        with open_writer(str(path), SamHeader.from_references([contig], [1000])) as writer:
            writer.write(batch_of([]))
        pysam.samtools.index(str(path))
        with open_reads(str(path), regions=RegionChoice((Region(contig, 0, 10),))) as source:
            assert source.header.reference_names == (contig,)


def test_an_index_is_read_once(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    region = [Region("2", 1000, 2000)]
    expected = read(indexed, region)
    monkeypatch.setattr(BinIndex, "__init__", None)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: read(indexed, region), range(8))) == [expected] * 8


@pytest.mark.parametrize("kind", ["bai", "csi"])
def test_no_bit_of_an_index_loses_reads(indexed: Path, tmp_path: Path, kind: str) -> None:
    """If bins and chunks do not match, the index is refused."""
    copy, index = tmp_path / "copy.bam", tmp_path / f"copy.bam.{kind}"
    copy.write_bytes(indexed.read_bytes())
    pysam.samtools.index("-c" if kind == "csi" else "-b", str(copy))
    content = index.read_bytes()
    if kind == "csi":
        content = gzip.decompress(content)
    regions = [[Region("chr1", 0, 10**6)], [Region("2", 1000, 90_000)], [Region("2", 0, 5)]]
    expected = [count(copy, region) for region in regions]
    random = np.random.default_rng(4)
    refused = 0
    for _ in range(300):
        flipped = bytearray(content)
        flipped[random.integers(len(content))] ^= 1 << random.integers(8)
        index.write_bytes(flipped)
        try:
            assert [count(copy, region) for region in regions] == expected
        except InputError as error:
            refused += 1
            assert f"run: samtools index {copy}" in str(error)  # noqa: PT017 (not all is damage)
    assert refused > 150


def count(path: Path, regions: list[Region]) -> int:
    with open_reads(str(path), regions=RegionChoice(tuple(regions))) as source:
        return sum(len(block) for block in source.blocks())


def test_an_older_index_is_reported_once(
    indexed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copy, index, content = _alone(indexed, tmp_path)
    index.write_bytes(content)
    region = [Region("2", 1000, 2000)]
    written = copy.stat().st_mtime
    for age, warnings in (0, 0), (-10, 1):
        os.utime(index, (written + age, written + age))
        caplog.clear()
        assert read(copy, region) == read(copy, region)
        assert len(caplog.messages) == warnings
    assert caplog.messages[0].startswith(f"{index}: older than {copy}; ")
    assert caplog.messages[0].endswith(f"run: samtools index {copy}")


def test_index_of_the_file_before_it_was_sorted(tmp_path: Path) -> None:
    header = SamHeader.from_references(list(LENGTHS), list(LENGTHS.values()))
    rows = scattered_rows()
    before, after = tmp_path / "before.bam", tmp_path / "after.bam"
    for path, written in (before, rows), (after, rows[::3]):
        with open_writer(str(path), header) as writer:
            writer.write(batch_of(written))
    pysam.samtools.index(str(before))
    (tmp_path / "after.bam.bai").write_bytes((tmp_path / "before.bam.bai").read_bytes())
    message = rf"after\.bam\.bai: does not match .*; run: samtools index {after}$"
    for region in ("chr1", 500_000, 700_000), ("2", 0, 300_000):
        with pytest.raises(InputError, match=message):
            read(after, [Region(*region)])


def test_an_index_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    """The region has no reads by the index, but the index is of another file."""
    header = SamHeader.from_references(list(LENGTHS), list(LENGTHS.values()))
    rows = [row for row in scattered_rows() if row.reference == 0]
    many, few = tmp_path / "many.bam", tmp_path / "few.bam"
    for path, written in (many, rows * 3), (few, rows[:3]):
        with open_writer(str(path), header, uncompressed=True) as writer:
            writer.write(batch_of(sorted(written, key=lambda row: row.position)))
        pysam.samtools.index(str(path))
    indexes = [Path(f"{path}.bai") for path in (many, few)]
    contents = [index.read_bytes() for index in indexes]
    for path, index, content in zip((many, few), indexes, contents[::-1], strict=True):
        assert read(path, [Region("2", 0, 100)]) == []
        index.write_bytes(content)
        with pytest.raises(InputError, match=rf"^{index}: does not match .*index {path}$"):
            read(path, [Region("2", 0, 100)])


def test_index_of_another_file(indexed: Path, tmp_path: Path) -> None:
    copy, index, content = _alone(indexed, tmp_path)
    index.write_bytes(content)
    header = SamHeader.from_references(list(LENGTHS), list(LENGTHS.values()))
    with open_writer(str(copy), header) as writer:
        writer.write(batch_of(scattered_rows()[:5]))
    with pytest.raises(InputError, match=r"copy\.bam"):
        read(copy, [Region("chr1", 500_000, 700_000)])
