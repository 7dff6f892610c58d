"""Warnings before a run, on made files; each finding alone, and none for ordinary files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pysam
import pytest

from hapgpu.calling.checks import batch, first_reads
from hapgpu.calling.checks.alt_mapping import warn_of_alt_mapping
from hapgpu.calling.checks.first_reads import warn_of_first_reads
from hapgpu.calling.checks.headers import check_sequences, warn_of_missing_samples
from hapgpu.calling.options import CallOptions
from hapgpu.calling.read_options import ReadOptions
from hapgpu.errors import InputError
from hapgpu.io.alignments.alt_contigs import AlignedFile
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.read_groups import SampleTable

Change = Callable[[int, pysam.AlignedSegment], None]
PROGRAM = {"ID": "bwa", "PN": "bwa", "CL": "bwa mem -R @RG\\tID:g\\tSM:s\\tPL:ILLUMINA"}
GROUP = {"ID": "g", "SM": "s"}
MARKED = "no duplicate among the first 6000 reads, none marked"


def nothing(_number: int, _read: pysam.AlignedSegment) -> None:
    """Keep an ordinary read."""


def make(
    path: Path,
    change: Change = nothing,
    *,
    reads: int = 6000,
    length: int = 50,
    programs: Sequence[dict[str, str]] = (PROGRAM,),
    groups: Sequence[dict[str, str]] = (GROUP,),
) -> AlignedFile:
    """Write ordinary reads, 1 % of them duplicates, that a function changes."""
    random = np.random.default_rng(1)
    qualities = random.integers(20, 40, (reads, length)).astype("B")
    header = {
        "HD": {"VN": "1.6", "SO": "coordinate"},
        "SQ": [{"SN": "c", "LN": 10**6}],
        "PG": list(programs),
        "RG": list(groups),
    }
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for number in range(reads):
            read = pysam.AlignedSegment(out.header)
            read.query_name, read.reference_id, read.reference_start = f"r{number}", 0, number
            read.query_sequence, read.cigarstring = "ACGTA" * (length // 5), f"{length}M"
            read.query_qualities = pysam.qualitystring_to_array(
                (qualities[number] + 33).tobytes().decode()
            )
            read.mapping_quality, read.flag = 60, 0x400 if number % 100 == 7 else 0
            read.set_tag("RG", "g")
            change(number, read)
            out.write(read)
    return file_of(path)


def file_of(path: Path) -> AlignedFile:
    with open_reads(str(path)) as source:
        return AlignedFile(path.name, str(path), source.header)


@pytest.fixture
def warnings_of(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[..., list[str]]]:
    def found(
        file: AlignedFile, options: CallOptions | None = None, reference: Path = Path("r.fa")
    ) -> list[str]:
        caplog.clear()
        table = SampleTable.of([file.header], [file.path])
        warn_of_first_reads([file], table, options or CallOptions(), reference, 1 << 28)
        return [record.getMessage() for record in caplog.records]

    with caplog.at_level(logging.WARNING):
        yield found


Warnings = Callable[..., list[str]]


def test_ordinary_reads(tmp_path: Path, warnings_of: Warnings) -> None:
    assert not warnings_of(make(tmp_path / "x.bam"))
    assert not warnings_of(make(tmp_path / "few.bam", reads=0))
    assert not warnings_of(make(tmp_path / "x.bam")._replace(path="-"))
    assert not warnings_of(make(tmp_path / "x.bam")._replace(path="/dev/null"))


def test_real_reads(data_dir: Path, warnings_of: Warnings) -> None:
    for name in ("NA12878", "HG002"):
        assert not warnings_of(file_of(data_dir / "illumina_na12878" / f"{name}.chr20.dev.bam"))


def test_damaged_files_are_left_to_the_run(tmp_path: Path, warnings_of: Warnings) -> None:
    file = make(tmp_path / "x.bam", without_duplicates)
    data = bytearray(Path(file.path).read_bytes())
    data[500:600] = b"x" * 100
    Path(file.path).write_bytes(data)
    assert not warnings_of(file)


def test_quiet_runs_read_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warnings_of: Warnings
) -> None:
    file = make(tmp_path / "x.bam", lambda _, read: setattr(read, "flag", 0))
    assert len(warnings_of(file)) == 1
    monkeypatch.setattr(first_reads.logger, "level", logging.ERROR)
    monkeypatch.setattr(first_reads, "first_batch", None)
    first_reads.logger.manager._clear_cache()  # type: ignore[attr-defined]
    assert not warnings_of(file)


def without_duplicates(_number: int, read: pysam.AlignedSegment) -> None:
    read.flag = 0


@pytest.mark.parametrize(
    ("more", "is_found"),
    [
        ({}, True),
        ({"reads": 4999}, False),
        ({"programs": [PROGRAM, {"ID": "m", "PN": "MarkDuplicates"}]}, False),
        ({"programs": [{"ID": "m", "CL": "samtools markdup -r x y"}]}, False),
        ({"programs": [{"ID": "s", "PN": "samblaster"}]}, False),
        ({"programs": [{"ID": "u", "CL": "UMI-tools"}]}, True),
    ],
)
def test_no_duplicates(
    tmp_path: Path, warnings_of: Warnings, more: dict[str, Any], *, is_found: bool
) -> None:
    file = make(tmp_path / "x.bam", without_duplicates, **more)
    found = warnings_of(file)
    assert [MARKED in text for text in found] == [True] * is_found
    taken = CallOptions(reads=ReadOptions(exclude_flags=0x304))
    assert not warnings_of(file, taken)


def test_unmapped_and_secondary_reads_are_not_awaited_to_have_duplicates(
    tmp_path: Path, warnings_of: Warnings
) -> None:
    def changed(number: int, read: pysam.AlignedSegment) -> None:
        read.flag = [0, 0x4, 0x100, 0x800][number % 4]

    assert not warnings_of(make(tmp_path / "x.bam", changed))


def with_qualities(*values: int) -> Change:
    def changed(number: int, read: pysam.AlignedSegment) -> None:
        read.query_qualities = pysam.qualitystring_to_array(
            chr(33 + values[number % len(values)]) * len(read.query_sequence or "")
        )

    return changed


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((40,), "all bases of the first 6000 reads have quality 40: errors cannot be told"),
        ((62, 93), "all bases of the first 6000 reads have a quality above 60; check their"),
        ((60, 93), ""),
        ((2, 40), ""),
    ],
)
def test_qualities(
    tmp_path: Path, warnings_of: Warnings, values: tuple[int, ...], words: str
) -> None:
    found = warnings_of(make(tmp_path / "x.bam", with_qualities(*values)))
    assert [text[: len(words) + 7] for text in found] == [f"x.bam: {words}"] * bool(words)
    few = make(tmp_path / "few.bam", with_qualities(*values), reads=999)
    assert not warnings_of(few)


def test_missing_qualities_are_no_constant(tmp_path: Path, warnings_of: Warnings) -> None:
    def missing(number: int, read: pysam.AlignedSegment) -> None:
        if number % 2:
            read.query_qualities = None

    assert not warnings_of(make(tmp_path / "x.bam", missing))
    assert not warnings_of(make(tmp_path / "y.bam", lambda _, read: missing(1, read)))


def test_long_reads(tmp_path: Path, warnings_of: Warnings) -> None:
    found = warnings_of(make(tmp_path / "x.bam", reads=40, length=1005))
    words = "median length 1005 of the first 40 reads; the method is made for short reads"
    assert found == [f"x.bam: {words}"]
    assert not warnings_of(make(tmp_path / "y.bam", reads=40, length=1000))
    assert not warnings_of(make(tmp_path / "z.bam", reads=19, length=1005))


def test_reads_without_a_group(tmp_path: Path, warnings_of: Warnings) -> None:
    def changed(number: int, read: pysam.AlignedSegment) -> None:
        if number % 3 == 0:
            read.set_tag("RG", None)

    words = "2000 of the first 6000 reads have no read group (RG), and count for its only sample"
    assert warnings_of(make(tmp_path / "x.bam", changed)) == [f"x.bam: {words}"]
    # Of several samples, it is an error; without any, all reads are of one sample.
    several = make(tmp_path / "y.bam", changed, groups=[GROUP, {"ID": "h", "SM": "t"}])
    assert not warnings_of(several)
    assert not warnings_of(make(tmp_path / "z.bam", changed, groups=[]))


@pytest.mark.parametrize("suffix", [".sam", ".cram"])
def test_formats_that_samtools_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warnings_of: Warnings, suffix: str
) -> None:
    """Small files are not looked at."""
    bam = make(tmp_path / "x.bam", without_duplicates)
    path = tmp_path / f"x{suffix}"
    words = ["-h"] if suffix == ".sam" else ["-C", "--output-fmt-option", "no_ref=1"]
    pysam.view(*words, "--no-PG", "-o", str(path), bam.path, catch_stdout=False)
    other = bam._replace(name=path.name, path=str(path))
    assert not warnings_of(other)
    monkeypatch.setattr(batch, "_MIN_CONVERTED", 1)
    (tmp_path / "r.fa").write_text(f">c\n{'A' * 10**6}\n")
    found = warnings_of(other, reference=tmp_path / "r.fa")
    assert [MARKED in text for text in found] == [True]
    damaged = other.path[:-4] + "damaged"
    Path(damaged).write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert len(warnings_of(bam._replace(path=damaged), reference=tmp_path / "r.fa")) <= 1


SUMS = {"a": "0" * 32, "b": "1" * 31 + "f"}


def header_of(sums: dict[str, str], name: str = "x.bam") -> AlignedFile:
    lines = [f"@SQ\tSN:{contig}\tLN:9\tAS:z\tM5:{total}\tUR:u\n" for contig, total in sums.items()]
    return AlignedFile(name, name, SamHeader.from_text("".join(lines) + "@SQ\tSN:n\tLN:9\n"))


@pytest.mark.parametrize("name", ["ref.dict", "ref.fa.dict", "ref.fa.gz.dict"])
def test_sequences_of_the_dictionary(tmp_path: Path, name: str) -> None:
    reference = tmp_path / "ref.fa.gz"
    (tmp_path / name).write_text(header_of({"a": "0" * 32, "b": "1" * 31 + "F"}).header.text)
    check_sequences([header_of(SUMS)], ["a", "b", "n", "z"], reference)
    other = header_of(SUMS | {"b": "2" * 32})
    check_sequences([other], ["a", "n"], reference)
    message = f"x.bam: b has another sequence .M5. than in {tmp_path / name}; give reads"
    with pytest.raises(InputError, match=message):
        check_sequences([header_of(SUMS), other], ["a", "b"], reference)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\x00\x80" * 100, b"@SQ\tSN:a\tLN:9\tM5:zz\n", b"@SQ\tM5:" + b"2" * 40]
)
def test_hostile_dictionaries(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ref.dict").write_bytes(content)
    check_sequences([header_of(SUMS)], ["a", "b"], tmp_path / "ref.fa")


def test_sequences_of_two_inputs(tmp_path: Path) -> None:
    files = [header_of(SUMS), header_of(SUMS | {"a": "3" * 32}, "y.bam")]
    check_sequences(files, ["b"], tmp_path / "ref.fa")
    with pytest.raises(InputError, match=r"y.bam: a has another sequence .M5. than in x.bam"):
        check_sequences(files, ["a"], tmp_path / "ref.fa")


def test_headers_without_samples(caplog: pytest.LogCaptureFixture) -> None:
    texts = ["@RG\tID:g\tSM:s\n", "@RG\tID:g\n", ""]
    headers = [SamHeader.from_text(text) for text in texts]
    names = ["x/a.bam", "x/b.bam", "-"]
    files = [AlignedFile(name, name, header) for name, header in zip(names, headers, strict=True)]
    warn_of_missing_samples(files, SampleTable.of(headers, names))
    assert [record.getMessage() for record in caplog.records] == [
        "x/b.bam: no sample (SM of an @RG line) in its header; called as sample 'b'",
        "-: no sample (SM of an @RG line) in its header; called as sample 'sample'",
    ]


def mhc_file(
    path: Path, *, lost: int, reads: int, contig: str = "chr6", more: int = 0
) -> AlignedFile:
    """Write reads in the MHC, so many of MAPQ 0, and one at an ALT contig."""
    names = [(contig, 170_805_979 + more), ("chr6_GL000250v2_alt", 4_672_374)]
    header = {
        "HD": {"VN": "1.6", "SO": "coordinate"},
        "SQ": [{"SN": name, "LN": length} for name, length in names],
    }
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for number in range(reads + 1):
            read = pysam.AlignedSegment(out.header)
            window = 28_800_000 + 400_000 * (11 * number // (reads + 1))
            read.query_name, read.query_sequence, read.cigarstring = "r", "ACGTACGTAC", "10M"
            read.reference_id, read.reference_start = (0, window) if number < reads else (1, 5)
            read.mapping_quality = 0 if number % reads < lost else 60
            out.write(read)
            if number < reads:  # other alignments do not count
                read.flag, read.mapping_quality = 0x100, 0
                out.write(read)
    pysam.index(str(path))
    return file_of(path)


@pytest.mark.parametrize(
    ("made", "has_list", "words"),
    [
        ({"lost": 151, "reads": 300}, True, "151 of 300 reads in the MHC have mapping quality 0"),
        ({"lost": 151, "reads": 300}, False, "151 of 300 reads in the MHC have mapping quality 0"),
        ({"lost": 151, "reads": 300, "contig": "6"}, True, "151 of 300 reads in the MHC have"),
        ({"lost": 150, "reads": 300}, False, ""),
        ({"lost": 199, "reads": 199}, True, ""),
        ({"lost": 199, "reads": 199}, False, "1 ALT contigs found, but no "),
        ({"lost": 300, "reads": 300, "more": 1}, True, ""),
        ({"lost": 300, "reads": 300, "more": 1}, False, "1 ALT contigs found, but no "),
    ],
)
def test_reads_split_among_alt_contigs(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    made: dict[str, Any],
    words: str,
    *,
    has_list: bool,
) -> None:
    file = mhc_file(tmp_path / "x.bam", **made)
    if has_list:
        (tmp_path / "ref.fa.alt").touch()
    warn_of_alt_mapping([file, file], tmp_path / "ref.fa")
    found = [record.getMessage()[: 7 + len(words)] for record in caplog.records]
    assert found == [f"x.bam: {words}"] * bool(words)


def test_streams_with_alt_contigs_are_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = mhc_file(tmp_path / "x.bam", lost=300, reads=300)._replace(path="-")
    warn_of_alt_mapping([file], tmp_path / "ref.fa")
    assert ["but no" in record.getMessage() for record in caplog.records] == [True]
