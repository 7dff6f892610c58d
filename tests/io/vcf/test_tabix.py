"""The tabix index of written lines has the content of htslib's."""

from __future__ import annotations

import gzip
import itertools
import shutil
import struct
from array import array
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.io.vcf import writer
from hapgpu.io.vcf.tabix import TabixIndex
from hapgpu.io.vcf.writer import VcfWriter

HEADER = b"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tx\n"
MAX_END = 2**29
BLOCK = "\t.\tA\t<NON_REF>\t.\t.\tEND={end}\tGT:DP\t0/0:9\n"


def parsed(path: Path) -> tuple[object, ...]:
    """Return the content of an index: bins, whose order means nothing, and windows per contig."""
    data = gzip.decompress(path.read_bytes())
    head = struct.unpack_from("<4s8i", data)
    at = 36 + head[8]
    contigs: list[object] = [head, data[36:at]]
    for _ in range(head[1]):
        (count,) = struct.unpack_from("<i", data, at)
        at += 4
        bins = {}
        for _ in range(count):
            number, size = struct.unpack_from("<Ii", data, at)
            bins[number] = struct.unpack_from(f"<{2 * size}Q", data, at + 8)
            at += 8 + 16 * size
        (count,) = struct.unpack_from("<i", data, at)
        contigs += [bins, struct.unpack_from(f"<{count}Q", data, at + 4)]
        at += 4 + 8 * count
    return (*contigs, data[at:])


def indexes(tmp_path: Path, pieces: list[bytes], monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the index of the writer, which htslib has no part in, and the index of htslib."""
    path, copy = tmp_path / "calls.vcf.gz", tmp_path / "copy.vcf.gz"
    with monkeypatch.context() as context:
        context.setattr(writer, "_build_index", lambda *_, **__: pytest.fail("by htslib"))
        with VcfWriter(str(path), HEADER, [MAX_END], 1) as output:
            for piece in pieces:
                output.write(piece)
    shutil.copy(path, copy)
    pysam.tabix_index(str(copy), preset="vcf", force=True)
    return [parsed(tmp_path / f"{name}.vcf.gz.tbi") for name in ("calls", "copy")]


def random_lines(rng: np.random.Generator, contig: str, count: int, room: int) -> list[bytes]:
    """Return records and blocks; text that cannot be deflated makes bins of many BGZF blocks."""
    lines = []
    for position in np.sort(rng.integers(1, room, count)).tolist():
        noise = rng.integers(97, 123, rng.integers(1, 300)).astype(np.uint8).tobytes().decode()
        kind = rng.integers(0, 4)
        if kind == 0:
            end = min(position + int(rng.integers(0, 5 ** rng.integers(1, 12))), MAX_END)
            line = f"{contig}\t{position}" + BLOCK.format(end=end)
        elif kind == 1:
            line = (
                f"{contig}\t{position}\t.\t{'A' * int(rng.integers(1, 99))}\tC,*\t.\t.\t{noise}\n"
            )
        elif kind == 2:
            end = position + 200
            line = f"{contig}\t{position}\trs1\tA\tC\t.\t.\t{noise};END={end};SVLEN=3\tGT\t0/1\n"
        else:
            line = f"{contig}\t{position}\t.\tA\tC,<NON_REF>\t.\t.\tXEND=3;DP={noise}\tGT\t0/1\n"
        lines.append(line.encode())
    return lines


@pytest.mark.parametrize("count", [1, 5, 3000])
@pytest.mark.parametrize("room", [2, 20_000, 3_000_000, MAX_END - 400])
def test_the_content_of_the_index_of_htslib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, room: int
) -> None:
    rng = np.random.default_rng(count)
    lines = [line for name in ("1", "11", "chrX") for line in random_lines(rng, name, count, room)]
    cuts = [0, *sorted(rng.integers(0, len(lines), 3).tolist()), len(lines)]
    pieces = [b"".join(lines[a:b]) for a, b in itertools.pairwise(cuts)]
    found, expected = indexes(tmp_path, pieces, monkeypatch)
    assert found == expected


@pytest.mark.parametrize("left", [-1, 0, 1, 100])
def test_lines_that_end_with_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    start = b"c\t7\t.\tA\tC\t.\t.\t"
    size = 0xFF00 - len(HEADER) - len(start) - 1 - left
    pieces = [start + b"x" * size + b"\n"]
    if left == 100:
        pieces.append(b"c\t9\t.\tA\tC\t.\t.\t.\n")
    found, expected = indexes(tmp_path, pieces, monkeypatch)
    assert found == expected


@pytest.mark.parametrize("count", [4096, 4097])
def test_htslib_indexes_more_contigs_with_lines(count: int) -> None:
    """The time per contig is that of Python, so their number has a limit."""
    index = TabixIndex(100)
    for number in range(count):
        index.add(f"c{number}\t5\t.\tA\tC\t.\t.\t.\n".encode())
    assert (index.content(array("q", [0, 28])) is None) == (count > 4096)


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "c\t5\t.\tA\tC\t.\t.\t.",
        "one\n",
        "#c\t5\t.\tA\tC\t.\t.\t.\n",
        "one\nc\t5\t.\tA\tC\t.\t.\t.\n",
        "c\t5\t.\tA\tC\t.\t.\t.\none\n",
        "\t5\t.\tA\tC\t.\t.\t.\n",
        "c\n",
        "c\t5\n",
        "c\t5\t.\tA\tC\t.\t.\n",
        "\n",
        "c\t0\t.\tA\tC\t.\t.\t.\n",
        "c\t\t.\tA\tC\t.\t.\t.\n",
        "c\t-5\t.\tA\tC\t.\t.\t.\n",
        "c\t5x\t.\tA\tC\t.\t.\t.\n",
        "c\t5\t.\tA\t<DEL>\t.\t.\tEND=9\n",
        "c\t5\t.\tA\t<NON_REF>\t.\t.\tSVLEN=9\n",
        "c\t5\t.\tA\t<NON_REF>\t.\t.\tEND=9\tGT:LEN\t0/0:7\n",
        "c\t5\t.\tA\tC\t.\t.\tEND=4\n",
        "c\t5\t.\tA\tC\t.\t.\tEND=\n",
        "c\t5\t.\tA\tC\t.\t.\tEND=.\n",
        "c\t5\t.\tAAAA\tC\t.\t.\tEND=7\n",
        f"c\t5\t.\tA\tC\t.\t.\tEND={MAX_END + 1}\n",
        "c\t5\t.\tA\tC\t.\t.\tEND=12345678901234567890\n",
        f"c\t{MAX_END + 1}\t.\tA\tC\t.\t.\t.\n",
        "c\t5\t.\tA\tC\t.\t.\t.\nc\t4\t.\tA\tC\t.\t.\t.\n",
        "c\t5\t.\tA\tC\t.\t.\t.\nd\t5\t.\tA\tC\t.\t.\t.\nc\t9\t.\tA\tC\t.\t.\t.\n",
    ],
)
def test_lines_about_which_htslib_decides(lines: str) -> None:
    index = TabixIndex(100)
    index.add(lines.encode())
    index.add(b"e\t5\t.\tA\tC\t.\t.\t.\n" if lines else b"")
    starts = array("q")
    assert index.content(starts) is None
