"""Records of VCF and BCF, against pysam, from files and streams."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.io.vcf.source import open_vcf
from tests.io.vcf.vcf_files import (
    COLUMNS,
    HEADER,
    RECORD,
    compressed_forms,
    fault_of,
    many_records,
    records_of,
    vcf_text,
    write_bcf,
)


def test_a_record_has_the_values_of_its_line(written: Callable[[str], Path]) -> None:
    lines = [
        "chr1\t1\trs1;rs2\taCn\tg,<DEL>,*,A[chr2:7[,.C\t50.5\tq10;s50\tDP=3;H2\tGT:PS\t0|1:5\t./.",
        "chr1\t1\t.\tA\t.\t.\t.\t.\tGT\t0\t0/0",
        "chr2\t1000\t.\tr\ty\t.\tPASS\tDP=1\tGT\t1|1\t.",
    ]
    path = written(vcf_text(*lines, samples=("mother", "child")))
    with open_vcf(path) as source:
        assert source.header == HEADER
        assert source.samples == ("mother", "child")
        records = list(source.records())
    assert [record.label for record in records] == ["line 9", "line 10", "line 11"]
    assert [record.contig for record in records] == ["chr1", "chr1", "chr2"]
    assert [record.start for record in records] == [0, 0, 999]
    assert [record.reference for record in records] == ["ACN", "A", "R"]
    assert [record.alternatives for record in records] == [
        ("G", "<DEL>", "*", "A[chr2:7[", ".C"),
        (),
        ("Y",),
    ]
    assert ["\t".join([*record.columns, record.genotypes]) for record in records] == lines


def test_without_samples_there_are_no_genotypes(written: Callable[[str], Path]) -> None:
    announced = written(vcf_text(f"{RECORD}\tGT").replace(COLUMNS, f"{COLUMNS}\tFORMAT"))
    assert [record.genotypes for record in records_of(announced)] == [""]
    surplus = written(vcf_text(f"{RECORD}\tGT\t0/1"))
    assert [record.genotypes for record in records_of(surplus)] == [""]


def test_a_header_alone_has_no_records(written: Callable[[str], Path]) -> None:
    assert records_of(written(vcf_text())) == []


def test_line_ends_of_other_systems_and_at_the_end(written: Callable[[str], Path]) -> None:
    text = vcf_text(f"{RECORD}\tGT\t0/1", samples=("s",))
    expected = records_of(written(text))
    with open_vcf(written(text.replace("\n", "\r\n"))) as source:
        assert (source.header, source.samples) == (HEADER, ("s",))
        assert list(source.records()) == expected
    assert records_of(written(text + "\n\r\n\n")) == expected
    assert records_of(written(text.rstrip("\n"))) == expected


def test_bytes_that_are_no_utf_8_survive(written: Callable[[bytes], Path]) -> None:
    line = b"##source=caf\xe9\xe2\x80\xa8"  # Latin 1, and a line separator of Unicode
    text = vcf_text().encode() + b"chr1\t5\tcaf\xe9\tA\tC\t.\t.\tX=\xc3\xa9\xc2\x85\n"
    path = written(text.replace(COLUMNS.encode(), line + b"\n" + COLUMNS.encode()))
    with open_vcf(path) as source:
        assert source.header[-1].encode("utf-8", "surrogateescape") == line
        (record,) = source.records()
    assert "\t".join(record.columns).encode("utf-8", "surrogateescape") == text.splitlines()[-1]


BASES = st.text("ACGTNacgtn", min_size=1, max_size=5)


ALTERNATIVES = st.one_of(
    st.just("."),
    st.lists(st.one_of(BASES, st.sampled_from(["*", "<DEL>", "]chr2:5]A"])), min_size=1).map(
        ",".join
    ),
)


@st.composite
def sorted_lines(draw: st.DrawFn) -> list[str]:
    lines = []
    for contig, most in (("chr1", 2**31 - 1), ("chr2", 1000)):
        for position in sorted(draw(st.lists(st.integers(1, most), max_size=4))):
            alternatives = draw(ALTERNATIVES)
            genotype = draw(st.sampled_from(["0/0", "0|0", "./.", "."]))
            lines.append(
                f"{contig}\t{position}\t.\t{draw(BASES)}\t{alternatives}\t.\tPASS\tDP=1\tGT\t{genotype}"
            )
    return lines


@settings(max_examples=60)
@given(sorted_lines())
def test_any_records_equal_pysam_in_every_form(tmp_path: Path, lines: list[str]) -> None:
    text = vcf_text(*lines, samples=("s",))
    plain, zipped, bcf = (tmp_path / name for name in ("plain.vcf", "zipped.vcf.gz", "b.bcf"))
    plain.write_text(text)
    zipped.write_bytes(gzip.compress(text.encode(), mtime=0))
    with pysam.VariantFile(str(plain)) as file:
        expected = [
            (r.contig, r.start, r.ref.upper(), tuple(a.upper() for a in r.alts or ())) for r in file
        ]
    records = records_of(plain)
    assert [
        (r.contig, r.start, r.reference, tuple(a.upper() for a in r.alternatives)) for r in records
    ] == expected
    assert records_of(zipped) == records
    write_bcf(plain, bcf)
    with open_vcf(bcf) as source:
        assert source.header == HEADER
        assert source.samples == ("s",)
        found = list(source.records())
    assert [r.label for r in found] == [f"record {k + 1}" for k in range(len(lines))]
    assert ["\t".join([*r.columns, r.genotypes]) for r in found] == lines


def test_real_files_line_by_line(data_dir: Path) -> None:
    for path in data_dir.glob("illumina_*/*.vcf.gz"):
        with gzip.open(path, "rt") as stream:
            lines = stream.read().splitlines()
        with open_vcf(path) as source:
            assert list(source.header) == [line for line in lines if line.startswith("##")]
            records = list(source.records())
        numbers = [k for k, line in enumerate(lines, 1) if not line.startswith("#")]
        assert [record.label for record in records] == [f"line {number}" for number in numbers]
        with pysam.VariantFile(str(path)) as file:
            assert source.samples == tuple(file.header.samples)
            for record, theirs in zip(records, file, strict=True):
                assert (record.contig, record.start, record.reference, record.alternatives) == (
                    (theirs.contig, theirs.start, theirs.ref, theirs.alts or ())
                )
        for record, number in zip(records, numbers, strict=True):
            columns = [*record.columns, *([record.genotypes] if record.genotypes else [])]
            assert "\t".join(columns) == lines[number - 1]


def test_telomeres(written: Callable[[str], Path]) -> None:
    zero = RECORD.replace("\t5\t", "\t0\t")
    assert [record.start for record in records_of(written(vcf_text(zero, zero, RECORD)))] == [
        *(-1, -1, 4)
    ]


def test_the_last_position(written: Callable[[str], Path]) -> None:
    (record,) = records_of(written(vcf_text(RECORD.replace("\t5\t", "\t2147483647\t"))))
    assert record.start == 2**31 - 2


def test_a_file_may_be_left_half_read(tmp_path: Path, written: Callable[[str], Path]) -> None:
    for path in compressed_forms(tmp_path, written).values():
        with open_vcf(path) as source:
            batches = source.batches()
            assert next(batches)[0].start == 4
        assert list(batches) == []


def test_errors_of_the_caller_are_not_changed(written: Callable[[str], Path]) -> None:
    def consume() -> None:
        with open_vcf(written(vcf_text(RECORD))) as source:
            for _ in source.records():
                raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        consume()


READ_STDIN = """
import sys
from hapgpu.errors import InputError
from hapgpu.io.vcf.source import open_vcf
try:
    with open_vcf("-") as source:
        print(len(source.header), sum(1 for _ in source.records()))
except InputError as error:
    print(error)
"""


def read_stdin(data: bytes) -> str:
    run = subprocess.run(
        [sys.executable, "-c", READ_STDIN], input=data, capture_output=True, check=True
    )
    assert run.stderr == b""
    return run.stdout.decode().strip()


def test_standard_input(tmp_path: Path, written: Callable[[str], Path]) -> None:
    forms = compressed_forms(tmp_path, written)
    text = vcf_text(*many_records(9000))
    assert read_stdin(text.encode()) == f"{len(HEADER)} 9000"
    assert read_stdin(forms["bgzf"].read_bytes()) == f"{len(HEADER)} 9000"
    assert read_stdin(forms["bcf"].read_bytes()) == f"{len(HEADER)} 9000"
    assert read_stdin(b"") == "standard input: empty; give VCF or BCF"
    assert read_stdin((text + "chr1\n").encode()).startswith("standard input, line 9009: ")


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("name", ["inflated.bcf", "a##idx##b.bcf", "data:,x.bcf", "http:x.bcf"])
def test_bcf_without_bgzip_and_under_names_that_htslib_would_split(
    tmp_path: Path,
    written: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    compress: Callable[[bytes], bytes],
    name: str,
) -> None:
    inflated = gzip.decompress(compressed_forms(tmp_path, written)["bcf"].read_bytes())
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(compress(inflated))
    expected = records_of("calls.vcf")
    assert [record.columns for record in records_of(name)] == [each.columns for each in expected]
    Path(name).write_bytes(compress(inflated)[: len(compress(inflated)) // 2])
    assert "copy it again" in fault_of(name)


def test_any_bcf_from_standard_input(tmp_path: Path, written: Callable[[str], Path]) -> None:
    data = gzip.decompress(compressed_forms(tmp_path, written)["bcf"].read_bytes())
    assert read_stdin(data) == f"{len(HEADER)} 9000"
    assert read_stdin(gzip.compress(data, mtime=0)) == f"{len(HEADER)} 9000"
    assert read_stdin(gzip.compress(data, mtime=0)[:-12]).startswith(
        "standard input: truncated compressed file"
    )


def test_a_named_pipe(tmp_path: Path, written: Callable[[str], Path]) -> None:
    plain, pipe = written(vcf_text(RECORD)), tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(f"cat {plain} > {pipe}", shell=True):  # noqa: S602 (our own paths)
        assert [record.start for record in records_of(pipe)] == [4]


READ_FIRST = """
from hapgpu.io.vcf.source import open_vcf
with open_vcf("-") as source:
    print(next(source.records()).start, flush=True)
"""


def test_records_come_before_the_end_of_the_input() -> None:
    command = [sys.executable, "-c", READ_FIRST]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdin
        assert run.stdout
        run.stdin.write(vcf_text(RECORD).encode())
        run.stdin.flush()
        assert run.stdout.readline() == b"4\n"


def test_messages_of_htslib_are_enabled_again(
    tmp_path: Path, written: Callable[[str], Path]
) -> None:
    before = pysam.set_verbosity(2)
    try:
        records_of(compressed_forms(tmp_path, written)["bcf"])
        assert pysam.get_verbosity() == 2
    finally:
        pysam.set_verbosity(before)


@pytest.mark.parametrize("name", ["a,b", "x y"])
def test_names_of_samples_are_taken_as_they_are(written: Callable[[str], Path], name: str) -> None:
    with open_vcf(written(vcf_text(samples=(name, "other")))) as source:
        assert source.samples == (name, "other")
