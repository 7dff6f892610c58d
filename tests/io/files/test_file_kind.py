"""Kinds of files by their first bytes."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

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
    b"r1\t12\t0\t12\t+\tchr1\t100\t0\t12\t12\t12\t60\n": "PAF",
    b"chr1\t0\t10\n": "BED",
    b"# a\ntrack name=x\nchr1\t0\t10\tgene\n": "BED",
    b"2 3\nACGT IIII IIII IIII ++++\n": "text batches",
    b"PK\3\4....": "npz",
    b"\x89HGX\r\n\x1a\n": "hgx",
    b"\x89HGM\r\n\x1a\n": "hgm",
    # Not known: left to the readers.
    b"": None,
    b"chr1\t1000\t6\t60\t61\n": None,  # .fai
    b"chr1 0 10\n": None,
    b"ACGT\n": None,
    b"@r1\nACGTN\nACGT\n+\n": None,
    b"\0\1\2\3": None,
}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(("head", "kind"), HEADS.items())
def test_kinds(tmp_path: Path, head: bytes, kind: str | None, *, compressed: bool) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(gzip.compress(head) if compressed else head)
    assert kind_of_file(path) == kind


def test_what_is_not_looked_at(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "damaged").write_bytes(b"\x1f\x8b" + b"\xff" * 50)
    for path in ("-", tmp_path, tmp_path / "pipe", tmp_path / "absent", tmp_path / "damaged"):
        assert kind_of_file(path) is None
