"""Kinds of files by their first bytes."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from hapgpu.io.bgzf.marks import EOF_BLOCK
from hapgpu.io.files.file_kind import kind_of_file

HEADS = {
    b"BAM\1\0\0\0\0": "BAM",
    b"CRAM\3\0": "CRAM",
    b"@HD\tVN:1.6\n": "SAM",
    b"##fileformat=VCFv4.2\n": "VCF",
    b"BCF\2\2": "BCF",
    b">chr1 a b\nACGT\n": "FASTA",
    b"@r1\nACGTN\n+\nIIIII\n": "FASTQ",
    b"@r1\r\nACGTN\r\n+r1\r\nIIIII\r\n": "FASTQ",
    b"@r1\n" + b"A" * 10_000: "FASTQ",
    b"@r1 comment\n\n+\n\n": "FASTQ",
    b"@r1\nACGTN\nACGT\n+\n": "FASTQ",  # its reader names the record
    b"\n>chr1\nACGT\n": "FASTA",
    b"r1\t12\t0\t12\t+\tchr1\t100\t0\t12\t12\t12\t60\n": "PAF",
    b"chr1\t0\t10\n": "BED",
    b"# a\ntrack name=x\nchr1\t0\t10\tgene\n": "BED",
    b"2 3\nACGT IIII IIII IIII ++++\n": "text batches",
    b"\n2\t3 \r\n": "text batches",
    b"2 3\n-0.5 -1\n": "likelihoods",
    b"read\tmate\tone\n": "likelihoods",
    b' {"command": "map"}': "JSON",
    b"PK\3\4....": "npz",
    b"\x89HGX\r\n\x1a\n": "hgx",
    b"\x89HGM\r\n\x1a\n": "hgm",
    b"BAI\1\0\0\0\0": "BAI",
    b"CSI\1\0\0\0\0": "CSI",
    b"TBI\1\0\0\0\0": "TBI",
    b"chr1\t1000\t6\t60\t61\n": ".fai",
    b"BZh91AY&SY": "bzip2",
    b"\xfd7zXZ\0\0": "xz",
    b"\x28\xb5\x2f\xfd\0": "Zstandard",
    b"": None,
    b"chr1 0 10\n": None,
    b"ACGT\n": None,
    b"\0\1\2\3": None,
}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(("head", "kind"), HEADS.items())
def test_kinds(tmp_path: Path, head: bytes, kind: str | None, *, compressed: bool) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(gzip.compress(head) if compressed else head)
    assert kind_of_file(path) == kind


def test_members_of_gzip_may_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(EOF_BLOCK + gzip.compress(b"") + gzip.compress(b">chr1\nACGT\n"))
    assert kind_of_file(path) == "FASTA"


def test_what_is_not_looked_at(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "damaged").write_bytes(b"\x1f\x8b" + b"\xff" * 50)
    for path in ("-", tmp_path, tmp_path / "pipe", tmp_path / "absent", tmp_path / "damaged"):
        assert kind_of_file(path) is None
