"""Text in files whose names end in .gz or .bgz is BGZF, complete or absent."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from pathlib import Path

import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import OutputError
from hapgpu.io.bgzf.marks import EOF_BLOCK
from hapgpu.io.files.names import extension_of, is_bgzf_name
from hapgpu.io.files.text_output import open_text, write_json


def write(path: Path, pieces: list[bytes], threads: int, copying_threads: int = 1) -> bytes:
    with open_text(path, threads, copying_threads) as append:
        for piece in pieces:
            append(memoryview(piece))
    return path.read_bytes()


@given(
    pieces=st.lists(st.binary(max_size=20) | st.integers(0, 150_000).map(lambda n: b"acgt\n" * n)),
    threads=st.integers(1, 4),
    copying_threads=st.integers(1, 3),
)
def test_the_name_decides(
    tmp_path: Path, pieces: list[bytes], threads: int, copying_threads: int
) -> None:
    text = b"".join(pieces)
    assert write(tmp_path / "x.sam", pieces, threads, copying_threads) == text
    blocks = write(tmp_path / "x.sam.gz", pieces, threads, copying_threads)
    assert gzip.decompress(blocks) == text
    assert blocks.endswith(EOF_BLOCK)
    # The bytes depend neither on threads nor on the pieces.
    assert write(tmp_path / "x.BGZ", [text], 1) == blocks
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.BGZ", "x.sam", "x.sam.gz"]


@pytest.mark.skipif(not shutil.which("bgzip"), reason="no bgzip")
def test_bgzip_and_samtools_read_it(tmp_path: Path) -> None:
    fasta = b"".join(b">h%d\n%s\n" % (k, b"ACGT" * (k % 90 + 1)) for k in range(3000))
    path = tmp_path / "x.fa.gz"
    write(path, [fasta], 3)
    subprocess.run(["bgzip", "-t", str(path)], check=True)
    assert subprocess.run(["zcat", str(path)], check=True, capture_output=True).stdout == fasta
    pysam.faidx(str(path))
    assert (tmp_path / "x.fa.gz.gzi").exists()
    with pysam.FastaFile(str(path)) as file:
        assert file.fetch("h2999") == "ACGT" * (2999 % 90 + 1)


@pytest.mark.parametrize("name", ["x.tsv", "x.tsv.gz"])
def test_an_error_leaves_the_older_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"older")

    def fail() -> None:
        with open_text(path, 2) as append:
            append(memoryview(b"a\tb\n" * 100_000))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"older"
    assert [*tmp_path.iterdir()] == [path]


def test_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "x.gz").symlink_to("/dev/full")
    with pytest.raises(OutputError, match=r"x\.gz: cannot be written \(No space left on device"):
        write(tmp_path / "x.gz", [b"text"], 2)


def test_json(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json.gz", {"reads": 3})
    assert json.loads(gzip.decompress((tmp_path / "a.json.gz").read_bytes())) == {"reads": 3}


def test_names() -> None:
    names = {
        "a.sam": ("sam", False),
        "a.SAM.GZ": ("sam", True),
        "a.g.vcf.bgz": ("vcf", True),
        "a.gz": ("", True),
        "a.gz/b": ("", False),
        "a": ("", False),
        ".gz": ("", False),
        "a.bam.gz.txt": ("txt", False),
    }
    assert {name: (extension_of(name), is_bgzf_name(name)) for name in names} == names
