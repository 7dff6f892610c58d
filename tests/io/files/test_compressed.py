"""Text inflated from gzip and bgzip: whole, or refused with its fault."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.bgzf.marks import EOF_BLOCK
from hapgpu.io.fastx.fastq import read_fastq
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.genome.regions import read_bed
from tests.io.bgzf_blocks import block

TEXT = b"".join(b"@r%d\nACGTTGCATT\n+\nIIIIIIIIII\n" % k for k in range(3000))
BGZF = b"".join(block(TEXT[at : at + 20_000]) for at in range(0, len(TEXT), 20_000)) + EOF_BLOCK
PACKED = {
    "gzip": gzip.compress(TEXT),
    "members": gzip.compress(TEXT[:999]) + gzip.compress(TEXT[999:]),
    "bgzip": BGZF,
}
FOLLOWED = "bytes that are not gzip follow the compressed data; remove them or copy it again"


class Pipe(io.BytesIO):
    """A stream that does not seek."""

    def seekable(self) -> bool:
        return False


def inflate(content: bytes, kind: Callable[[bytes], io.BytesIO] = io.BytesIO) -> bytes:
    with open_inflated(io.BufferedReader(kind(content)), "x.gz") as stream:
        return stream.read()


@pytest.mark.parametrize("kind", [io.BytesIO, Pipe])
@pytest.mark.parametrize("packed", PACKED.values(), ids=PACKED)
@pytest.mark.parametrize("zeros", [0, 1, 9, 512, 1 << 19])
def test_zeros_after_the_data_are_ignored(
    packed: bytes, zeros: int, kind: Callable[[bytes], io.BytesIO]
) -> None:
    assert inflate(packed + bytes(zeros), kind) == TEXT


@pytest.mark.parametrize("kind", [io.BytesIO, Pipe])
@pytest.mark.parametrize("packed", PACKED.values(), ids=PACKED)
@pytest.mark.parametrize("trailing", [b"x" * 10, b"garbage of some length", b"\0" * 99 + b"x" * 10])
def test_bytes_after_the_data_are_reported(
    packed: bytes, trailing: bytes, kind: Callable[[bytes], io.BytesIO]
) -> None:
    with pytest.raises(InputError, match=f"x.gz: {FOLLOWED}"):
        inflate(packed + trailing, kind)


@pytest.mark.parametrize("kind", [io.BytesIO, Pipe])
@pytest.mark.parametrize("packed", ["gzip", "bgzip"])
@pytest.mark.parametrize("count", range(1, 10))
def test_few_bytes_after_the_data_are_no_truncation(
    packed: str, count: int, kind: Callable[[bytes], io.BytesIO]
) -> None:
    with pytest.raises(InputError, match=FOLLOWED):
        inflate(PACKED[packed] + b"g" * count, kind)


@given(st.sampled_from(list(PACKED)), st.data())
def test_every_cut_is_a_cut(packed: str, data: st.DataObject) -> None:
    whole = PACKED[packed]
    size = data.draw(st.integers(3, len(whole) - 1))
    if packed == "members" and size == len(gzip.compress(TEXT[:999])):
        size += 1
    if packed == "bgzip" and inflates_without_closing(whole[:size]):
        size -= 1
    with pytest.raises(InputError, match="truncated compressed file; copy it again"):
        inflate(whole[:size], Pipe)
    if packed == "bgzip" and size > 18:
        with pytest.raises(InputError, match="truncated \\(no closing EOF block"):
            inflate(whole[:size])


def inflates_without_closing(content: bytes) -> bool:
    """Return whether a cut lies between blocks, which is not noticed in a pipe."""
    try:
        gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile):  # the latter for a single byte of a header
        return False
    return True


def test_no_flipped_bit_loses_data_silently() -> None:
    """The start of a later block, too: the bytes after it then look random."""
    for at in range(len(block(TEXT[:20_000])), len(block(TEXT[:20_000])) + 12):
        content = bytearray(BGZF)
        content[at] ^= 1
        for kind in (io.BytesIO, Pipe):
            try:
                assert inflate(bytes(content), kind) == TEXT
            except InputError as error:
                assert "x.gz" in str(error)  # noqa: PT017


@pytest.mark.parametrize("packing", ["gzip", "bgzip"])
def test_all_readers_follow(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "r.fq.gz"
    bed = tmp_path / "r.bed.gz"
    for trailing, is_refused in {b"\0" * 600: False, b"some garbage": True}.items():
        path.write_bytes(PACKED[packing] + trailing)
        region = b"chr1\t1\t9\n"
        bed.write_bytes(
            (block(region) + EOF_BLOCK if packing == "bgzip" else gzip.compress(region)) + trailing
        )
        for read in (
            lambda: sum(map(len, read_fastq(path))),
            lambda: sum(part.text.size for part in read_blocks(path, 1 << 20)),
            lambda: reads_of(path),
            lambda: len(read_bed(bed)),
        ):
            if is_refused:
                with pytest.raises(InputError, match=FOLLOWED):
                    read()
            else:
                assert read()


def reads_of(path: Path) -> int:
    with open_reads(str(path)) as source:
        return sum(map(len, source.batches()))


def test_data_after_a_bam(tmp_path: Path) -> None:
    path = tmp_path / "x.bam"
    whole = block(b"BAM\1" + bytes(8)) + EOF_BLOCK
    path.write_bytes(whole + bytes(1000))
    with open_reads(str(path)) as source:
        assert list(source.batches()) == []
    for trailing in (b"x", b"\0" * 100 + b"some garbage", b"garbage"):
        path.write_bytes(whole + trailing)
        with pytest.raises(InputError, match=FOLLOWED), open_reads(str(path)) as source:
            list(source.batches())
    path.write_bytes(whole + whole[:-30])
    with pytest.raises(InputError, match="truncated"):
        open_reads(str(path))
