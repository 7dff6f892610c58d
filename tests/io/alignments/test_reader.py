"""Columns are as in pysam; damaged and foreign files are refused in one clear line."""

from __future__ import annotations

import gzip
import os
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bgzf.reader import EOF_BLOCK
from hapgpu.io.genome.regions import Region
from tests.io.sam_oracle import Row, batch_of, batch_rows, rows, rows_of_file

HEADER = SamHeader.from_references(["chr1", "chr2"], [2**29, 2**30])
THREADS = pytest.mark.parametrize("threads", [1, 2])


def read(path: Path | str, **options: object) -> list[Row]:
    with open_reads(str(path), **options) as source:
        return batch_rows(source.batches())


def numbered_rows(count: int) -> list[Row]:
    letters = "ACGT" * 10
    return [
        Row(
            name=f"read{k}",
            flag=0,
            reference=0,
            position=10 * k,
            mapping_quality=60,
            cigar=((0, 30),),
            mate_reference=-1,
            mate_position=-1,
            template_length=0,
            bases=letters[k % 10 : k % 10 + 30],
            qualities=tuple((k + j) % 41 for j in range(30)),
            tags=(("XI", "i", k), ("RG", "Z", "sample")),
        )
        for k in range(count)
    ]


@pytest.fixture(scope="module")
def small_bam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a BAM of several blocks, sorted and indexed."""
    path = tmp_path_factory.mktemp("small") / "small.bam"
    with open_writer(str(path), HEADER) as writer:
        writer.write(batch_of(numbered_rows(4000)))
    pysam.samtools.index(str(path))
    return path


Feed = Callable[..., None]


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Feed]:
    """Return a function that makes standard input a pipe through which data come in pieces."""
    with ExitStack() as stack:

        def connect(data: bytes, piece: int = 1 << 16) -> None:
            reading, writing = os.pipe()
            thread = threading.Thread(target=_write, args=(writing, data, piece))
            thread.start()
            stack.callback(thread.join)
            monkeypatch.setattr(sys, "stdin", stack.enter_context(os.fdopen(reading, "r")))

        yield connect


def _write(descriptor: int, data: bytes, piece: int) -> None:
    with os.fdopen(descriptor, "wb", buffering=0) as sink, suppress(BrokenPipeError):
        sink.writelines(data[start : start + piece] for start in range(0, len(data), piece))


@THREADS
@pytest.mark.parametrize("batch_bases", [20_000, 8_000_000])
def test_real_bam_as_pysam_reads_it(data_dir: Path, threads: int, batch_bases: int) -> None:
    paths = sorted(data_dir.glob("**/*.bam"))
    if not paths:
        pytest.skip(f"no BAM files in {data_dir}")
    for path in paths:
        with (
            open_reads(str(path), threads=threads, batch_bases=batch_bases) as source,
            pysam.AlignmentFile(str(path)) as file,
        ):
            assert source.header.reference_names == file.references
            assert source.header.reference_lengths == file.lengths
            assert source.header.text == str(file.header)
            assert not source.is_fastq
            assert batch_rows(source.batches()) == rows_of_file(path)


@settings(max_examples=100)
@given(
    reads=st.lists(rows(), max_size=8),
    threads=st.sampled_from([1, 2]),
    batch_bases=st.integers(1, 100),
)
def test_bam_of_pysam(
    tmp_path_factory: pytest.TempPathFactory, reads: list[Row], threads: int, batch_bases: int
) -> None:
    ours = tmp_path_factory.getbasetemp() / "ours.bam"
    theirs = ours.with_name("theirs.bam")
    with open_writer(str(ours), HEADER) as writer:
        writer.write(batch_of(reads))
    with (
        pysam.AlignmentFile(str(ours)) as source,
        pysam.AlignmentFile(str(theirs), "wb", template=source) as copy,
    ):
        for record in source:
            copy.write(record)
    assert read(theirs, threads=threads, batch_bases=batch_bases) == reads


def test_a_batch_ends_with_the_read_that_fills_it(small_bam: Path) -> None:
    with open_reads(str(small_bam), batch_bases=301) as source:
        sizes = {len(batch) for batch in source.batches()}
    assert sizes == {11, 4000 % 11}


def test_batches_own_their_arrays(small_bam: Path) -> None:
    with open_reads(str(small_bam), batch_bases=3000) as source:
        first, *_ = source.batches()
    assert batch_rows([first]) == numbered_rows(100)


@THREADS
@pytest.mark.parametrize("piece", [3, 1000, 1 << 16])
def test_standard_input(small_bam: Path, feed: Feed, threads: int, piece: int) -> None:
    feed(small_bam.read_bytes(), piece)
    assert read("-", threads=threads) == numbered_rows(4000)


@THREADS
def test_regions_of_standard_input(small_bam: Path, feed: Feed, threads: int) -> None:
    feed(small_bam.read_bytes())
    found = read("-", threads=threads, regions=[Region("chr1", 100, 101)])
    assert [row.name for row in found] == ["read8", "read9", "read10"]


def test_named_pipe(small_bam: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[small_bam.read_bytes()])
    writer.start()
    assert read(pipe) == numbered_rows(4000)
    writer.join()


@THREADS
def test_sam_and_gzipped_sam(small_bam: Path, tmp_path: Path, feed: Feed, threads: int) -> None:
    text = pysam.samtools.view("-h", "--no-PG", str(small_bam)).encode()
    plain, zipped = tmp_path / "a.txt", tmp_path / "b.txt"
    plain.write_bytes(text)
    zipped.write_bytes(gzip.compress(text, mtime=0))
    expected = rows_of_file(plain)
    assert read(plain, threads=threads) == expected
    assert read(zipped, threads=threads) == expected
    feed(text)
    assert read("-", threads=threads) == expected
    regions = [Region("chr1", 100, 101)]
    assert [row.name for row in read(plain, regions=regions)] == ["read8", "read9", "read10"]
    with open_reads(str(plain)) as source:
        assert source.header.text == HEADER.text


FAULTS: dict[str, tuple[int, str, str]] = {
    "flag": (1, "x", "FLAG is 'x', expected a whole number from 0 to 65535"),
    "position": (3, "9" * 30, "POS is '9"),
    "mapping quality": (4, "999", "MAPQ is '999', expected a whole number from 0 to 255"),
    "cigar": (5, "30Q", "CIGAR"),
    "cigar length": (5, "3M", "length"),
    "template": (8, "1x", "TLEN is '1x', expected a whole number"),
    "qualities": (10, "II", "SEQ has 30 bases, but QUAL has 2 qualities"),
    "nul": (0, "a\0b", "contains a NUL byte"),
    "columns": (4, "60\n", "found 5 columns, expected at least 11"),
    "blank": (0, "\nr", "blank line"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_line_of_sam_is_named(
    small_bam: Path, tmp_path: Path, feed: Feed, fault: str
) -> None:
    lines = pysam.samtools.view("-h", "--no-PG", str(small_bam)).splitlines(keepends=True)
    column, value, message = FAULTS[fault]
    number = len(lines) - 1000
    fields = lines[number - 1].split("\t")
    fields[column] = value
    lines[number - 1] = "\t".join(fields)
    plain, packed = tmp_path / "a.sam", tmp_path / "a.sam.gz"
    plain.write_text("".join(lines))
    packed.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    for path, threads in (plain, 1), (plain, 3), (packed, 2):
        with pytest.raises(InputError) as caught:
            read(path, threads=threads)
        error_text = str(caught.value)
        assert error_text.startswith(f"{path}, line {number}: ")
        assert message in error_text
        assert error_text.count(path.name) == 1
        assert error_text.endswith("; correct or remove the line")
    feed(plain.read_bytes())
    with pytest.raises(InputError, match=rf"^standard input, line {number}: "):
        read("-")
    feed(plain.read_bytes())
    with pytest.raises(InputError, match=r"^standard input.*view -c, which names the line$"):
        read("-", threads=2)


@pytest.mark.parametrize("name", ["a##idx##b", "data:,x", "http:x", "file:x"])
@pytest.mark.parametrize("extension", ["sam", "bam", "cram"])
def test_names_that_htslib_would_treat_as_others(
    small_bam: Path,
    cram: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    extension: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(f"{name}.{extension}")
    if extension == "sam":
        path.write_text(pysam.samtools.view("-h", "--no-PG", str(small_bam)))
    else:
        source, index = (small_bam, "bai") if extension == "bam" else (cram[0], "crai")
        path.write_bytes(source.read_bytes())
        Path(f"{path}.{index}").write_bytes(Path(f"{source}.{index}").read_bytes())
    regions = [Region("chr1", 100, 140)]
    for chosen in None, regions:
        expected = read(
            small_bam if extension != "cram" else cram[0], reference=cram[1], regions=chosen
        )
        found = read(path, reference=cram[1], regions=chosen)
        assert [row.name for row in found] == [row.name for row in expected]


@pytest.mark.parametrize("length", ["99999999999999999999", "2147483648", "9" * 5000, "0"])
def test_a_header_with_a_length_that_is_none(tmp_path: Path, length: str) -> None:
    path = tmp_path / "a.sam"
    path.write_text(f"@SQ\tSN:chr1\tLN:{length}\nr\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\n")
    with pytest.raises(InputError, match=r"^[^;]*a\.sam[:,] .*LN") as caught:
        read(path)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_bam_without_bgzip(
    small_bam: Path, tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.bam"
    path.write_bytes(compress(gzip.decompress(small_bam.read_bytes())))
    with pytest.raises(InputError, match=r"a\.bam: BAM .* bgzip; run: samtools view .*a\.bam$"):
        read(path)


def test_truncated_sam_in_blocks(small_bam: Path, tmp_path: Path, feed: Feed) -> None:
    text, packed = tmp_path / "a.sam", tmp_path / "a.sam.gz"
    text.write_text(pysam.samtools.view("-h", "--no-PG", str(small_bam)))
    pysam.tabix_compress(str(text), str(packed))
    assert len(read(packed)) == 4000
    data = packed.read_bytes().removesuffix(EOF_BLOCK)
    packed.write_bytes(data)
    with pytest.raises(InputError, match=r"a\.sam\.gz: truncated"):
        read(packed)
    feed(data)
    with pytest.raises(InputError, match="standard input: truncated"):
        read("-")


def test_leaving_a_conversion_early_ends_it(small_bam: Path, tmp_path: Path) -> None:
    text = tmp_path / "a.sam"
    text.write_text(pysam.samtools.view("-h", "--no-PG", str(small_bam)))
    with open_reads(str(text), batch_bases=100) as source:
        next(source.batches())


def test_damaged_sam_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.sam"
    path.write_text(f"{HEADER.text}read\t0\tchr1\t1\t60\t5M\t*\t0\t0\tACG\t*\n")
    with pytest.raises(InputError, match=r"a\.sam"):
        read(path)


@pytest.fixture(scope="module")
def cram(small_bam: Path) -> tuple[Path, Path]:
    """Return a CRAM with its index, and the reference that it needs."""
    reference = small_bam.with_name("reference.fa")
    random = np.random.default_rng(3)
    for name, length in (("chr1", 50_000), ("chr2", 1000)):
        with reference.open("a") as file:
            bases = "".join(random.choice(list("ACGT"), length))
            file.write(f">{name}\n{bases}\n")
    header = SamHeader.from_references(["chr1", "chr2"], [50_000, 1000])
    path = small_bam.with_suffix(".cram")
    with open_writer(str(path), header, reference=reference) as writer:
        writer.write(batch_of(numbered_rows(4000)))
    pysam.samtools.index(str(path))
    return path, reference


def test_cram(cram: tuple[Path, Path], tmp_path: Path, feed: Feed) -> None:
    path, reference = cram
    expected = [(row.name, row.position, row.bases, row.qualities) for row in numbered_rows(4000)]

    def compared(found: list[Row]) -> list[tuple[object, ...]]:
        return [(row.name, row.position, row.bases, row.qualities) for row in found]

    assert compared(read(path, reference=reference)) == expected
    regions = [Region("chr1", 100, 101), Region("chr1", 30_000, 30_001), Region("chr1", 0, 5)]
    near = compared(read(path, reference=reference, regions=regions))
    assert [row[0] for row in near] == [
        *("read0", "read8", "read9", "read10", "read2998", "read2999", "read3000")
    ]
    feed(path.read_bytes())
    assert compared(read("-", reference=reference)) == expected
    feed(path.read_bytes()[:-38])
    with pytest.raises(InputError, match="standard input"):
        read("-", reference=reference)
    with pytest.raises(InputError, match=r"no contig '1'; found 'chr1' instead"):
        read(path, reference=reference, regions=[Region("1", 0, 5)])
    lonely = tmp_path / "lonely.cram"
    lonely.write_bytes(path.read_bytes())
    with pytest.raises(InputError, match=r"run: samtools index .*lonely\.cram"):
        read(lonely, reference=reference, regions=regions)
    lonely.write_bytes(path.read_bytes()[:-38])
    with pytest.raises(InputError, match=r"lonely\.cram"):
        read(lonely, reference=reference)


@pytest.mark.parametrize("extension", ["bam", "cram"])
def test_files_without_an_index(
    small_bam: Path, cram: tuple[Path, Path], tmp_path: Path, extension: str
) -> None:
    """If no index is needed, the file is read whole; an index proves that it is sorted."""
    path, reference = (small_bam if extension == "bam" else cram[0]), cram[1]
    regions = [Region("chr1", 100, 140), Region("chr1", 30_000, 30_001)]
    options = {"reference": reference, "regions": regions}
    lonely = tmp_path / path.name
    lonely.write_bytes(path.read_bytes())
    expected = read(path, **options)
    assert len(expected) == 9
    assert read(path, **options, needs_index=False) == expected
    assert read(lonely, **options, needs_index=False) == expected
    with pytest.raises(InputError, match="run: samtools index"):
        read(lonely, **options)
    for file, is_sorted in ((path, True), (lonely, False)):
        with open_reads(str(file), reference=reference) as source:
            assert source.is_sorted == is_sorted


def test_the_name_of_an_input(small_bam: Path) -> None:
    lonely = small_bam.with_name("absent.bam")
    with pytest.raises(InputError, match=r"^standard input: cannot be read \("):
        open_reads(str(lonely), name="standard input")


def test_blocks_hold_the_bytes_of_the_file(small_bam: Path) -> None:
    with open_reads(str(small_bam), batch_bases=20_000) as source:
        stored = b"".join(block.packed().data.tobytes() for block in source.blocks())
    assert gzip.decompress(small_bam.read_bytes()).endswith(stored)
    assert len(stored) > 4000 * 80


def test_fastq(tmp_path: Path, feed: Feed) -> None:
    text = b"@a\nACGT\n+\nIIII\n@b\nAC\n+\nI!\n"
    plain, zipped = tmp_path / "reads.x", tmp_path / "reads.y"
    plain.write_bytes(text)
    zipped.write_bytes(gzip.compress(text, mtime=0))
    for path in (plain, zipped):
        with open_reads(str(path)) as source:
            assert source.is_fastq
            assert source.header.reference_names == ()
            found = batch_rows(source.batches())
        assert [(row.name, row.bases, row.qualities) for row in found] == [
            ("a", "ACGT", (40,) * 4),
            ("b", "AC", (40, 0)),
        ]
        feed(path.read_bytes(), 2)
        assert [row.name for row in read("-")] == ["a", "b"]
    with open_reads(str(plain), regions=[Region("chr1", 0, 5)]) as source:
        assert len(batch_rows(source.batches())) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": empty; give"),
        (b">chr1\nACGT\n", "looks like FASTA"),
        (b"##fileformat=VCFv4.2\n", "looks like VCF"),
        (b"chr1\t5\t10\n", "unknown kind"),
        (gzip.compress(b"", mtime=0), ": empty; give"),
        (gzip.compress(b">chr1\nACGT\n", mtime=0), "looks like FASTA"),
        (b"\x1f\x8bxxxxxxxxxxxxxxx", "cannot be inflated"),
        (gzip.compress(b"BAM\1", mtime=0), "bgzip"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "input"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_and_directories(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.bam: cannot be read \(No such file"):
        open_reads(str(tmp_path / "no.bam"))
    with pytest.raises(InputError, match="Is a directory"):
        open_reads(str(tmp_path))


def test_missing_end_marker(small_bam: Path, tmp_path: Path, feed: Feed) -> None:
    data = small_bam.read_bytes().removesuffix(EOF_BLOCK)
    path = tmp_path / "open.bam"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"open\.bam: truncated"):
        read(path)
    feed(data)
    with pytest.raises(InputError, match="standard input: truncated"):
        read("-")


@THREADS
def test_truncation_anywhere_is_noticed(small_bam: Path, feed: Feed, threads: int) -> None:
    data = small_bam.read_bytes()
    cuts = np.random.default_rng(5).integers(1, len(data), 40)
    for cut in [*range(1, 40), *cuts.tolist(), *range(len(data) - 30, len(data))]:
        feed(data[:cut])
        with pytest.raises(InputError):
            read("-", threads=threads)


@settings(max_examples=200)
@given(data=st.data(), threads=st.sampled_from([1, 2]))
def test_flipped_bytes_are_noticed_or_harmless(
    small_bam: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, threads: int
) -> None:
    content = bytearray(small_bam.read_bytes())
    at = data.draw(st.one_of(st.integers(0, 60), st.integers(0, len(content) - 1)))
    content[at] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "flipped.bam"
    path.write_bytes(content)
    try:
        found = read(path, threads=threads)
    except InputError:
        return
    assert found == numbered_rows(4000)


def block(data: bytes) -> bytes:
    """Make a BGZF block with zlib."""
    body = gzip.compress(data, mtime=0)[10:]
    return EOF_BLOCK[:16] + struct.pack("<H", len(body) + 17) + body


@settings(max_examples=300)
@given(data=st.data())
def test_records_with_hostile_fields_never_crash(
    small_bam: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    inflated = bytearray(gzip.decompress(small_bam.read_bytes())[:6000])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(inflated) - 4))
        value = data.draw(st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-2, 300)))
        inflated[at : at + 4] = struct.pack("<i", value)
    path = tmp_path_factory.getbasetemp() / "hostile.bam"
    path.write_bytes(block(bytes(inflated)) + EOF_BLOCK)
    try:
        found = read(path)
    except (InputError, UnicodeDecodeError):  # the latter of a name in the test's own rows
        return
    assert len(found) <= 4000


@pytest.mark.parametrize(
    ("offset", "layout", "value", "message"),
    [
        (0, "<i", 31, "size is impossible"),
        (0, "<i", -5, "size is impossible"),
        (4, "<i", 2, "contig is missing from the header"),
        (4, "<i", -2, "contig is missing from the header"),
        (8, "<i", -2, "position is negative"),
        (12, "<B", 0, "name has no closing NUL"),
        (12, "<B", 5, "name has no closing NUL"),
        (12, "<B", 255, "longer than the record"),
        (16, "<H", 60000, "longer than the record"),
        (20, "<i", -1, "longer than the record"),
        (20, "<i", 2**31 - 1, "size is impossible"),
        (24, "<i", 7, "contig is missing from the header"),
        (28, "<i", -2, "position is negative"),
        (42, "<I", 30 << 4 | 9, "unknown operation"),
        (42, "<I", 29 << 4, "differ in length"),
    ],
)
def test_faulty_records_are_numbered(
    tmp_path: Path, offset: int, layout: str, value: int, message: str
) -> None:
    header = gzip.decompress(_bam(tmp_path, []))
    content = bytearray(gzip.decompress(_bam(tmp_path, numbered_rows(3))))
    second = len(header) + (len(content) - len(header)) // 3
    struct.pack_into(layout, content, second + offset, value)
    path = tmp_path / "faulty.bam"
    path.write_bytes(block(bytes(content)) + EOF_BLOCK)
    with pytest.raises(InputError, match=rf"faulty\.bam, record 2: damaged \(.*{message}"):
        read(path)


@pytest.mark.parametrize(
    "tags",
    [b"XX", b"XXZabc", b"XXi\1\2", b"XXBi\5\0\0\0\1\0\0\0", b"XXBi\xff\xff\xff\xff", b"XXq\1",
     b"XXBA\1\0\0\0a", b"XXBi\xff\xff\xff\x7f"],
)  # fmt: skip
def test_faulty_tags_are_refused(tmp_path: Path, tags: bytes) -> None:
    content = bytearray(gzip.decompress(_bam(tmp_path, numbered_rows(1))))
    header = len(gzip.decompress(_bam(tmp_path, [])))
    content += tags
    struct.pack_into("<i", content, header, len(content) - header - 4)
    path = tmp_path / "faulty.bam"
    path.write_bytes(block(bytes(content)) + EOF_BLOCK)
    with pytest.raises(InputError, match="record 1: damaged \\(a tag"):
        read(path)


def _bam(directory: Path, reads: list[Row]) -> bytes:
    path = directory / "made.bam"
    with open_writer(str(path), HEADER) as writer:
        writer.write(batch_of(reads))
    return path.read_bytes()


def test_header_that_contradicts_its_references(tmp_path: Path) -> None:
    content = gzip.decompress(_bam(tmp_path, [])).replace(b"chr2\0", b"chr3\0")
    path = tmp_path / "contradiction.bam"
    path.write_bytes(block(content) + EOF_BLOCK)
    with pytest.raises(InputError, match=r"contradiction\.bam, header: the @SQ lines"):
        read(path)


def test_references_without_text(tmp_path: Path) -> None:
    content = b"BAM\1" + struct.pack("<iii", 0, 1, 5) + b"chr7\0" + struct.pack("<i", 77)
    path = tmp_path / "bare.bam"
    path.write_bytes(block(content) + EOF_BLOCK)
    with open_reads(str(path)) as source:
        assert source.header.reference_names == ("chr7",)
        assert source.header.reference_lengths == (77,)
        assert list(source.batches()) == []


def test_an_endless_record_does_not_fill_the_memory(tmp_path: Path) -> None:
    content = bytearray(gzip.decompress(_bam(tmp_path, numbered_rows(1))))
    header = len(gzip.decompress(_bam(tmp_path, [])))
    struct.pack_into("<i", content, header, 2**31 - 1)
    path = tmp_path / "endless.bam"
    path.write_bytes(block(bytes(content)) + block(bytes(60_000)) * 20 + EOF_BLOCK)
    with pytest.raises(InputError, match="record 1: longer than 256 MiB; raise --max-record"):
        read(path)


def test_failing_does_not_wait_for_more_of_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = f"{HEADER.text}read\t0\tchr1\t1\t60\t5M\t*\t0\t0\tACG\t*\n".encode()
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as upstream, os.fdopen(reading, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        writer = threading.Thread(target=upstream.write, args=[faulty.ljust((1 << 16) + 1)])
        writer.start()
        with pytest.raises(InputError, match="standard input"):
            read("-")
        writer.join()
        upstream.close()
