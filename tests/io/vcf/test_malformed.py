"""Refused records, headers and files: the error names the line or record."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

from hapgpu.errors import InputError
from hapgpu.io.vcf.source import open_vcf
from tests.io.vcf.vcf_files import (
    COLUMNS,
    HEADER,
    RECORD,
    compressed_forms,
    fault_of,
    records_of,
    vcf_text,
    write_bcf,
)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("chr1\t5\t.\tA\tC\t.\t.", "columns CHROM to INFO, separated by tabs"),
        (RECORD.replace("\t", " "), "columns CHROM to INFO, separated by tabs"),
        ("chr1\t5\t\tA\tC\t.\t.\t.\tGT\t0/1", "none empty"),
        (RECORD, "found 8 columns, expected 10 by the header"),
        (f"{RECORD}\tGT", "found 9 columns, expected 10 by the header"),
        (f"{RECORD}\tGT\t0/1\t0/1", "found 11 columns, expected 10 by the header"),
    ],
)  # fmt: skip
def test_lines_with_the_wrong_columns(
    written: Callable[[str], Path], line: str, message: str
) -> None:
    path = written(vcf_text(f"{RECORD}\tGT\t0/1", line, samples=("s",)))
    found = fault_of(path)
    assert found.startswith(f"{path}, line 10: ")
    assert message in found


@pytest.mark.parametrize(
    "position", ["-5", "+5", "5.0", "1_0", " 5", "x", "\u0665", "2147483648", "1" * 5000]
)
def test_positions_that_are_none(written: Callable[[str], Path], position: str) -> None:
    message = fault_of(written(vcf_text(RECORD.replace("\t5\t", f"\t{position}\t"))))
    assert "line 9: POS " in message
    assert ", expected a whole number from 0 to 2147483647" in message
    assert len(message) < 300


@pytest.mark.parametrize("reference", [".", "*", "<DEL>", "A,C", "AxC", "A C", "\u00c4", "A*"])
def test_references_that_are_no_sequence(written: Callable[[str], Path], reference: str) -> None:
    message = fault_of(written(vcf_text(RECORD.replace("\tA\t", f"\t{reference}\t"))))
    assert f"line 9: REF {reference!r} is not a sequence of bases" in message


@pytest.mark.parametrize(
    ("alternatives", "message"),
    [
        ("C,", "ALT has an empty allele"),
        (",C", "ALT has an empty allele"),
        ("C,,G", "ALT has an empty allele"),
        ("AxC", "'AxC' is not a sequence of bases"),
        ("C,A C", "'A C' is not a sequence of bases"),
        ("**", "'**' is not a sequence of bases"),
        ("<DEL", "'<DEL' is not a sequence of bases"),
        ("<>", "'<>' is not a sequence of bases"),
        ("DEL>", "'DEL>' is not a sequence of bases"),
        ("\u00c4", "'\u00c4' is not a sequence of bases"),
    ],
)
def test_alternatives_that_are_no_alleles(
    written: Callable[[str], Path], alternatives: str, message: str
) -> None:
    found = fault_of(written(vcf_text(RECORD.replace("\tC\t", f"\t{alternatives}\t"))))
    assert f"line 9: {message}" in found or f"line 9: ALT {message}" in found


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        (["chr1\t5", "chr1\t5", "chr1\t4"], "line 11: records not sorted (POS 4 after 5)"),
        (["chr1\t5", "chr2\t1", "chr1\t6"], "line 11: records not sorted ('chr1' again after"),
    ],
)
def test_unsorted_records(
    written: Callable[[str], Path], positions: list[str], message: str
) -> None:
    path = written(vcf_text(*(f"{position}\t.\tA\tC\t.\t.\t." for position in positions)))
    found = fault_of(path)
    assert message in found
    assert "run: bcftools sort" in found


def test_unsorted_bcf_names_the_record(tmp_path: Path, written: Callable[[str], Path]) -> None:
    plain = written(vcf_text(RECORD, RECORD.replace("\t5\t", "\t4\t")))
    bcf = tmp_path / "unsorted.bcf"
    write_bcf(plain, bcf)
    assert fault_of(bcf).startswith(f"{bcf}, record 2: records not sorted (POS 4 after 5)")


def test_records_before_a_fault_are_yielded(written: Callable[[str], Path]) -> None:
    with open_vcf(written(vcf_text(RECORD, "chr1"))) as source:
        records = source.records()
        assert next(records).start == 4
        with pytest.raises(InputError, match="line 10"):
            next(records)


def test_a_blank_line_among_the_records(written: Callable[[str], Path]) -> None:
    assert "line 10: blank line" in fault_of(written(vcf_text(RECORD, "", RECORD)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((COLUMNS, COLUMNS.replace("\t", " ")), "line 8: ... expected a ## line, or #CHROM"),
        ((COLUMNS, COLUMNS.replace("\t", ",")), "line 8: ... expected a ## line, or #CHROM"),
        ((COLUMNS, COLUMNS.replace("ALT\t", "")), "line 8: ... expected a ## line, or #CHROM"),
        ((COLUMNS, f"{COLUMNS}\ts"), "line 8: ... expected a ## line, or #CHROM"),
        ((HEADER[3], HEADER[3][2:]), "line 4: ... expected a ## line, or #CHROM"),
        ((HEADER[3], ""), "line 4: ... expected a ## line, or #CHROM"),
        ((COLUMNS, f"{COLUMNS}\tFORMAT\ta\tb\ta"), "line 8: two samples are named 'a'"),
        ((COLUMNS, f"{COLUMNS}\tFORMAT\ta\t"), "line 8: empty sample name"),
        ((f"{COLUMNS}\n", ""), ": truncated (no #CHROM line)"),
        (("VCFv4.2", "VCFv3.3"), "line 1: found '##fileformat=VCFv3.3', expected VCFv4"),
        ((f"{HEADER[0]}\n", ""), "does not start with ##fileformat=VCFv4"),
    ],
)
def test_malformed_headers(
    written: Callable[[str], Path], change: tuple[str, str], message: str
) -> None:
    fault = fault_of(written(vcf_text().replace(*change)))
    assert all(part in fault for part in message.split(" ... ")), fault


@pytest.mark.parametrize("contig", ["<1", "chr,1", "*1", "=1", "chr(1)", "chr 1", '"1"'])
def test_contigs_that_vcf_does_not_allow(written: Callable[[str], Path], contig: str) -> None:
    path = written(vcf_text(RECORD, RECORD.replace("chr1", contig)))
    assert len(records_of(path)) == 2
    with (
        open_vcf(path) as source,
        pytest.raises(InputError, match=r"line 10: CHROM .* is a name that VCF does not allow"),
    ):
        list(source.batches(for_vcf=True))


def bam_bytes() -> bytes:
    header = pysam.AlignmentHeader.from_references(["chr1"], [100])
    stream = io.BytesIO()
    stream.write(b"BAM\1")
    stream.write(len(str(header)).to_bytes(4, "little") + str(header).encode())
    return gzip.compress(stream.getvalue(), mtime=0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": empty; give"),
        (gzip.compress(b"", mtime=0), ": empty; give"),
        (b">chr1\nACGT\n", "looks like FASTA"),
        (b"@HD\tVN:1.6\n", "looks like SAM"),
        (bam_bytes(), "looks like BAM"),
        (b"CRAM\3\0", "looks like CRAM"),
        (b"chr1\t5\t9\n", "does not start with ##fileformat=VCFv4"),
        (b"A" * 1_000_000, "does not start with ##fileformat=VCFv4"),
        (b"##fileformat=VCFv4.2" + b"A" * 1_000_000, "expected VCFv4"),
        (b"BCF, said the text\n", ": damaged, or not BCF; copy it again"),
        (gzip.compress(vcf_text(RECORD).encode())[:-12], "truncated"),
        (gzip.compress(vcf_text(RECORD).encode()) + b"\x1f\x8bxxxxxxxxxxxxxxxxxxx", "damaged"),
    ],
)
def test_files_of_another_kind_or_damaged(
    written: Callable[[bytes], Path], content: bytes, message: str
) -> None:
    found = fault_of(written(content))
    assert message in found
    assert len(found) < 300


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    assert "no such file" in fault_of(tmp_path / "absent.vcf")
    assert "cannot be read" in fault_of(tmp_path)


@pytest.mark.parametrize("form", ["bgzf", "bcf"])
def test_damage_within_a_compressed_file(
    tmp_path: Path,
    written: Callable[[str], Path],
    capfd: pytest.CaptureFixture[str],
    form: str,
) -> None:
    whole = compressed_forms(tmp_path, written)[form]
    assert len(records_of(whole)) == 9000
    data, closing = whole.read_bytes(), whole.read_bytes()[-28:]
    assert len(data) > 40_000
    path = tmp_path / "damaged"
    path.write_bytes(data[: len(data) // 2])
    assert "truncated" in fault_of(path)
    path.write_bytes(data[: len(data) // 2] + closing)
    assert "damaged" in fault_of(path)
    path.write_bytes(data[:-28])
    assert "truncated" in fault_of(path)
    changed = bytearray(data)
    changed[len(data) // 2] ^= 0xFF
    path.write_bytes(changed)
    assert "damaged" in fault_of(path)
    assert capfd.readouterr().err == ""


def test_messages_are_short(written: Callable[[str], Path]) -> None:
    message = fault_of(written(vcf_text(RECORD.replace("\tA\t", f"\t{'A' * 9999}x\t"))))
    assert re.search(r"REF 'A{40}\.\.\.' is not a sequence of bases", message)
