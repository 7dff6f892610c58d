"""Readers refuse records longer than a limit, and read all others as without a limit."""

from __future__ import annotations

import gzip
import os
import struct
import subprocess
import sys
import textwrap
import tracemalloc
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from io import BufferedIOBase, BytesIO
from pathlib import Path
from typing import Any, cast

import numpy as np
import pysam.bcftools
import pysam.samtools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.bgzf.marks import EOF_BLOCK
from hapgpu.io.fastx.fastq import read_fastq
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.io.genome.fasta import read_fasta
from hapgpu.io.genome.regions import read_bed
from hapgpu.io.vcf.lines import CheckedBcf
from hapgpu.io.vcf.source import open_vcf
from hapgpu.longread.seed.anchor_files import load_anchors
from hapgpu.pairhmm.text_batches.reader import read_hmm_batches
from tests.io.bgzf_blocks import block

SAM_HEADER = "@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:100000\n"
VCF_HEADER = (
    "##fileformat=VCFv4.2\n##contig=<ID=chr1,length=100000>\n"
    "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
)


@dataclass(frozen=True)
class Reader:
    """A kind of file: how a record of so many bases is written, and how files are read."""

    suffix: str
    header: str
    record: Callable[[int, int], str]
    read: Callable[[str, int], Any]


def _fastq_batches(path: str, limit: int) -> list[tuple[bytes, bytes]]:
    return [
        (bytes(name), bytes(bases))
        for batch in read_fastq(path, 50, limit)
        for name, bases in zip(batch.names, batch.bases, strict=True)
    ]


def _blocks(path: str, limit: int) -> bytes:
    return b"".join(block.text.tobytes() for block in read_blocks(path, 64, max_record=limit))


def _alignments(path: str, limit: int) -> list[bytes]:
    with open_reads(path, max_record=limit) as source:
        return [bytes(bases) for batch in source.batches() for bases in batch.bases]


def _fasta(path: str, limit: int) -> tuple[object, ...]:
    records = read_fasta(path, max_record=limit)
    return records.names, records.sequences.data.tobytes(), records.sequences.offsets.tolist()


def _vcf(path: str, limit: int) -> list[object]:
    with open_vcf(path, limit) as vcf:
        return list(vcf.records())


def _batches(path: str, limit: int) -> list[bytes]:
    return [
        region.reads.bases.data.tobytes() + region.haplotypes.data.tobytes()
        for batch in read_hmm_batches(path, max_record=limit)
        for region in (batch.slice(k, k + 1) for k in range(len(batch)))
    ]


def _sam_line(number: int, bases: int) -> str:
    return (
        f"r{number}\t0\tchr1\t{number + 1}\t60\t{bases}M\t*\t0\t0\t{'A' * bases}\t{'I' * bases}\n"
    )


READERS = {
    "FASTQ batches": Reader(
        "fq", "", lambda k, n: f"@r{k}\n{'A' * n}\n+\n{'I' * n}\n", _fastq_batches
    ),
    "FASTQ blocks": Reader("fq", "", lambda k, n: f"@r{k}\n{'A' * n}\n+\n{'I' * n}\n", _blocks),
    "FASTA blocks": Reader("fa", "", lambda k, n: f">r{k}\n{'A' * n}\n", _blocks),
    "FASTA": Reader("fa", "", lambda k, n: f">r{k}\n{'A' * n}\n", _fasta),
    "SAM": Reader("sam", SAM_HEADER, _sam_line, _alignments),
    "BAM": Reader("bam", SAM_HEADER, _sam_line, _alignments),
    "VCF": Reader(
        "vcf", VCF_HEADER, lambda k, n: f"chr1\t{k + 1}\t.\tA\t{'C' * n}\t.\t.\t.\n", _vcf
    ),
    "BCF": Reader(
        "bcf", VCF_HEADER, lambda k, n: f"chr1\t{k + 1}\t.\tA\t{'C' * n}\t.\t.\t.\n", _vcf
    ),
    "text batches": Reader(
        "in", "", lambda _, n: f"1 1\n{' '.join(['I' * n] * 5)}\n{'A' * n}\n", _batches
    ),
}
WITHOUT_LIMIT = 1 << 28


def write(directory: Path, reader: Reader, sizes: Sequence[int]) -> str:
    """Write a file of records with so many bases."""
    text = reader.header + "".join(map(reader.record, range(len(sizes)), sizes))
    path = directory / f"records.{reader.suffix}"
    if reader.suffix in {"bam", "bcf"}:
        source = directory / ("records.sam" if reader.suffix == "bam" else "records.vcf")
        source.write_text(text)
        view = pysam.samtools.view if reader.suffix == "bam" else pysam.bcftools.view
        kind = "-Ob" if reader.suffix == "bcf" else "-b"
        view(kind, "-o", str(path), str(source), catch_stdout=False)
    else:
        path.write_text(text)
    return str(path)


@pytest.mark.parametrize("kind", READERS)
@given(data=st.data())
@settings(max_examples=12)
def test_a_limit_refuses_or_changes_nothing(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    reader = READERS[kind]
    sizes = data.draw(st.lists(st.integers(1, 400), min_size=1, max_size=9))
    limit = data.draw(st.integers(600, 3000))
    path = write(tmp_path, reader, sizes)
    expected = reader.read(path, WITHOUT_LIMIT)
    longest = max(len(reader.record(k, size)) for k, size in enumerate(sizes))
    try:
        found = reader.read(path, limit)
    except InputError as error:
        assert f"longer than {limit:,} bytes; raise --max-record" in str(error)  # noqa: PT017
        assert longest > limit / 2 or kind in {"VCF", "BCF"}  # (their headers count in memory)
    else:
        assert found == expected
        assert longest < 4 * limit


@pytest.mark.parametrize("kind", READERS)
def test_a_record_beyond_the_limit_is_named(tmp_path: Path, kind: str) -> None:
    reader = READERS[kind]
    path = write(tmp_path, reader, [10, 10, 9000])
    with pytest.raises(InputError) as caught:
        reader.read(path, 3000)
    assert path in str(caught.value)
    assert ": longer than 3,000 bytes; raise --max-record" in str(caught.value)
    if kind not in {"text batches", "VCF"}:
        assert "record 3" in str(caught.value)
    else:
        assert "line " in str(caught.value)


def test_a_bed_is_limited_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.bed"
    path.write_text("chr1\t1\t2\n" * 100)
    assert len(read_bed(path, 900)) == 1
    with pytest.raises(InputError, match=r"x\.bed: longer than 899 bytes; raise --max-record"):
        read_bed(path, 899)
    path.write_text("chr1\t1\t2\t" + "A" * 2000)
    with pytest.raises(InputError, match=r"x\.bed: longer than 900 bytes"):
        read_bed(path, 900)


def bam_with_header(directory: Path, text: bytes, *counts: int) -> Path:
    """Write a BAM that claims so many bytes of text, followed by other bytes."""
    path = directory / "header.bam"
    content = b"BAM\1" + struct.pack("<i", counts[0]) + text + struct.pack("<3i", *counts[1:], 0, 0)
    path.write_bytes(block(content[:60_000]) + EOF_BLOCK)
    return path


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((2**31 - 1, 0), "header.bam, header: longer than 1,000 bytes; raise --max-record"),
        ((4, 2**31 - 1), "its header gives 0 as reference name length"),
        ((4, 1, 1001)[:2], "its header gives 0 as reference name length"),
    ],
)
def test_headers_that_claim_much(tmp_path: Path, counts: tuple[int, int], message: str) -> None:
    path = bam_with_header(tmp_path, b"@CO\n", *counts)
    with pytest.raises(InputError, match=message), open_reads(str(path), max_record=1000):
        pass


def test_references_that_are_many(tmp_path: Path) -> None:
    references = b"".join(
        struct.pack("<i", 5) + b"%04d\0" % k + struct.pack("<i", 9) for k in range(200)
    )
    path = tmp_path / "many.bam"
    content = b"BAM\1" + struct.pack("<ii", 0, 2**31 - 1) + references
    path.write_bytes(block(content) + EOF_BLOCK)
    with (
        pytest.raises(InputError, match=r"many\.bam, header: longer than 2,000 bytes"),
        open_reads(str(path), max_record=2000),
    ):
        pass
    content = b"BAM\1" + struct.pack("<ii", 0, 2**31 - 1) + references[:13] * 9
    path.write_bytes(block(content) + EOF_BLOCK)
    with pytest.raises(InputError, match="lists '0000' twice"), open_reads(str(path)):
        pass


def test_a_header_of_sam_while_samtools_writes(tmp_path: Path) -> None:
    """No deadlock: samtools waits for its reader, and nothing waits for samtools."""
    path = tmp_path / "header.sam"
    path.write_text(SAM_HEADER + "@CO\tnothing\n" * 100_000 + _sam_line(0, 5) * 10_000)
    with (
        pytest.raises(InputError, match=r"header\.sam, header: longer than 1,000 bytes"),
        open_reads(str(path), max_record=1000),
    ):
        pass


@pytest.mark.parametrize("size", [2**31 - 100, 2**32 - 1])
def test_sizes_that_bcf_claims(tmp_path: Path, size: int) -> None:
    path = tmp_path / "claims.bcf"
    header = VCF_HEADER.encode() + b"\0"
    for content, name in {
        b"BCF\2\2" + struct.pack("<I", size): "header",
        b"BCF\2\2" + struct.pack("<I", len(header)) + header + struct.pack("<II24x", 24, size): (
            "record 1"
        ),
    }.items():
        for packed in (block(content) + EOF_BLOCK, gzip.compress(content), content):
            path.write_bytes(packed)
            with (
                pytest.raises(InputError, match=f"claims.bcf, {name}: longer than 256 MiB"),
                open_vcf(path) as vcf,
            ):
                list(vcf.records())


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_samples_that_a_record_of_bcf_claims(piece: int) -> None:
    header = VCF_HEADER.encode()
    content = b"BCF\2\2" + struct.pack("<I", len(header)) + header
    content += 2 * struct.pack("<II20xI", 24, 0, 0) + struct.pack("<II20xI", 24, 0, 2**24 - 1)
    checked = CheckedBcf(cast("BufferedIOBase", BytesIO(content)), "x.bcf", 1 << 20)
    with pytest.raises(InputError, match=r"x.bcf, record 3: claims 16,777,215 samples"):
        deque(iter(partial(checked.read, piece), b""), maxlen=0)


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
@pytest.mark.parametrize("number", [2**20, 2**31 - 1, 10**30])
def test_numbers_that_the_header_of_bcf_claims(number: int, piece: int) -> None:
    header = VCF_HEADER.encode().replace(b"##contig=<ID=chr1", b"##contig=<IDX=%d,ID=chr1" % number)
    assert str(number).encode() in header
    stream = BytesIO(b"BCF\2\2" + struct.pack("<I", len(header)) + header)
    checked = CheckedBcf(cast("BufferedIOBase", stream), "x.bcf", 1 << 20)
    with pytest.raises(InputError, match=r"x.bcf, header: IDX=.* is too large"):
        deque(iter(partial(checked.read, piece), b""), maxlen=0)


def test_the_header_of_a_vcf_counts_as_it_lies_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "lines.vcf"
    path.write_text(VCF_HEADER.replace("#CHROM", "##x\n" * 1000 + "#CHROM"))
    with open_vcf(path) as vcf:
        assert len(vcf.header) == 1002
    with pytest.raises(InputError, match=r"lines\.vcf, header: longer than 9,000 bytes"):
        open_vcf(path, 9000)


def test_arrays_of_anchors(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    zeros = np.zeros(1 << 16, dtype=np.uint64)
    offsets = np.array([0, zeros.size])
    spans = np.full(zeros.size, 15 << 32 | 20, dtype=np.uint64)
    np.savez_compressed(path, x=zeros, y=spans, offsets=offsets)
    assert load_anchors(path).x.size == zeros.size
    with pytest.raises(InputError, match=r"bomb\.npz: array 'x', inflated: longer than 1,000 b"):
        load_anchors(path, 1000)
    np.savez(path, x=zeros, y=spans, offsets=offsets)
    assert load_anchors(path, 1000).x.size == zeros.size


def test_a_sequence_of_a_reference_is_counted_before_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hapgpu.io.genome.fasta._MAX_UNCOUNTED", 100)
    monkeypatch.setattr("hapgpu.io.genome.fasta_text._PIECE_BYTES", 50)
    path = tmp_path / "ref.fa"
    path.write_text(f">one\n{'ACGT' * 40}\n>two\nACGT\n")
    assert read_fasta(path, max_bases=160).sequences.lengths.tolist() == [160, 4]
    path.write_text(f">one\nACGT\n>two\n{'ACGT' * 40}\n")
    with pytest.raises(InputError, match=r"ref\.fa: 'two' has more than 159 bases; split it"):
        read_fasta(path, max_bases=159)


def test_memory_follows_the_content_of_a_record(tmp_path: Path) -> None:
    """A BAM that claims a record of 64 MiB does not take many times this memory."""
    header = b"BAM\1" + struct.pack("<iiii", 0, 1, 5, 0)[:12] + b"chr1\0" + struct.pack("<i", 9)
    path = tmp_path / "long.bam"
    content = header + struct.pack("<i", 1 << 26)
    path.write_bytes(block(content) + block(bytes(65_000)) * 1033 + EOF_BLOCK)
    tracemalloc.start()
    try:
        with pytest.raises(InputError), open_reads(str(path)) as source:
            list(source.batches())
        assert tracemalloc.get_traced_memory()[1] < 6 << 26
    finally:
        tracemalloc.stop()


BOMBS = """
import gzip, resource, struct, sys
from pathlib import Path
import numpy as np
from hapgpu.errors import InputError
from tests.io.test_max_record import READERS, SAM_HEADER, VCF_HEADER
from tests.io.bgzf_blocks import block
from hapgpu.io.vcf.lines import CheckedBcf
from hapgpu.io.files.record_limit import MAX_RECORD

directory = Path(sys.argv[1])
GIGABYTES = 3 << 30
letters = gzip.compress(b"A" * (1 << 24), 1)
filled = letters * (GIGABYTES >> 24)
blocks = block(b"A" * 65_000) * (GIGABYTES // 65_000)
bam = b"BAM\\1" + struct.pack("<iiii", 0, 1, 5, 0)[:12] + b"chr1\\0" + struct.pack("<i", 9)
bcf = VCF_HEADER.encode() + b"\\0"
bcf = b"BCF\\2\\2" + struct.pack("<I", len(bcf)) + bcf
starts = {
    "FASTQ batches": b"@r\\n",
    "FASTQ blocks": b"@r\\n",
    "FASTA blocks": b">r\\n",
    "FASTA": b">r\\n",
    "SAM": (SAM_HEADER + "@CO\\t").encode(),
    "BAM": bam + struct.pack("<i", MAX_RECORD - 8) + bytes(32),
    "VCF": (VCF_HEADER + "chr1\\t1\\t").encode(),
    "BCF": bcf + struct.pack("<II", 2**31 - 100, 0),
    "text batches": b"1 1\\n",
}
for kind, start in starts.items():
    reader = READERS[kind]
    path = directory / f"bomb.{reader.suffix}"
    if kind in ("BAM", "BCF"):
        path.write_bytes(block(start) + blocks + EOF_BLOCK)
    else:
        path.write_bytes(gzip.compress(start) + filled)
    try:
        reader.read(str(path), MAX_RECORD)
        sys.exit(f"{kind} was read")
    except InputError as error:
        print(kind, error)
    path.unlink()
for owner in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
    print(resource.getrusage(owner).ru_maxrss)
"""


@pytest.mark.skipif(
    os.environ.get("HAPGPU_TEST_BOMBS") != "1", reason="takes a minute: HAPGPU_TEST_BOMBS=1 runs it"
)
def test_bombs_of_three_gigabytes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BOMBS), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *errors, own, of_samtools = done.stdout.splitlines()
    assert len(errors) == len(READERS)
    assert max(int(own), int(of_samtools)) < 1 << 20, errors  # KiB
