"""BAM files of very many reads at one place, made fast: a few reads again and again."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pysam
from numpy.typing import NDArray

CONTIG: Final = "deep"
LENGTH: Final = 20_000
READ: Final = 100
SITE: Final = 10_000
"""0-based position of the SNV that half of the reads have."""

_NAME_DIGITS: Final = 12
_TEMPLATES: Final = 512
_CHUNK: Final = 100_000
_BLOCK: Final = 60_000
_PAIRED: Final = (0x63, 0x93)  # first forward, second reverse; both mapped, properly
_CODES: Final = np.zeros(256, dtype=np.uint8)
_CODES[list(b"ACGT")] = 1, 2, 4, 8
_EOF: Final = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def made_reference(path: Path, seed: int = 5) -> NDArray[np.uint8]:
    """Write a random contig and its index; return its bases."""
    bases = np.frombuffer(b"ACGT", dtype=np.uint8)[
        np.random.default_rng(seed).integers(0, 4, LENGTH)
    ]
    path.write_bytes(b">" + CONTIG.encode() + b"\n" + bases.tobytes() + b"\n")
    pysam.faidx(str(path))
    return bases


def alternative(base: int) -> int:
    """Return another base."""
    return b"CGTA"[b"ACGT".index(base)]


def made_sites(path: Path, bases: NDArray[np.uint8], positions: list[int]) -> None:
    """Write a VCF of SNVs."""
    lines = [
        f"{CONTIG}\t{at + 1}\t.\t{chr(bases[at])}\t{chr(alternative(bases[at]))}\t.\t.\t.\n"
        for at in positions
    ]
    head = "##fileformat=VCFv4.3\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    path.write_text(head + "".join(lines))


def made_reads(
    path: Path, bases: NDArray[np.uint8], reads: int, starts: int = 40, seed: int = 6
) -> None:
    """Write an indexed BAM of read pairs across the site, half of them with its SNV.

    Parameters
    ----------
    path
        The BAM.
    bases
        The reference.
    reads
        Number of reads, two per fragment.
    starts
        Positions at which first reads start, at most `READ` before the site; second reads start up
        to 50 bases later, so that mates overlap.
    seed
        Of the random numbers.
    """
    random = np.random.default_rng(seed)
    fragments = reads // 2
    first = SITE - READ + 10 + random.integers(0, starts, fragments)
    second = first + random.integers(0, 50, fragments)
    positions = np.concatenate((first, second))
    order = np.argsort(positions, kind="stable")
    kinds = random.integers(0, _TEMPLATES, fragments) * 2 + random.integers(0, 2, fragments)
    fragment, mate = order % fragments, order // fragments
    templates = _templates(random)
    with path.open("wb") as out:
        out.write(_compressed(_header()))
        for start in range(0, order.size, _CHUNK):
            rows = slice(start, start + _CHUNK)
            number, side = fragment[rows], mate[rows]
            ends = np.column_stack((first[number], second[number]))
            records = _records(bases, templates, number, side, ends, kinds[number])
            for block in _blocks(records.tobytes()):
                out.write(_compressed(block))
        out.write(_EOF)
    pysam.index(str(path))


def _templates(random: np.random.Generator) -> tuple[NDArray[np.bool_], NDArray[np.uint8]]:
    """Return the wrong bases and the qualities of some reads."""
    wrong = random.random((_TEMPLATES, READ)) < 0.003
    return wrong, random.integers(20, 41, (_TEMPLATES, READ)).astype(np.uint8)


def _records(
    bases: NDArray[np.uint8],
    templates: tuple[NDArray[np.bool_], NDArray[np.uint8]],
    number: NDArray[np.int64],
    side: NDArray[np.int64],
    ends: NDArray[np.int64],
    kinds: NDArray[np.int64],
) -> NDArray[np.uint8]:
    """Return uint8[n, record size]: BAM records of equal size."""
    count, name_bytes = number.size, _NAME_DIGITS + 1
    own, other = ends[np.arange(count), side], ends[np.arange(count), 1 - side]
    head = np.zeros(count, dtype=_FIXED)
    head["size"] = _FIXED.itemsize - 4 + name_bytes + 4 + READ // 2 + READ + len(_TAGS)
    head["position"], head["mate_position"] = own, other
    head["name_bytes"], head["mapq"], head["cigars"], head["bases"] = name_bytes, 60, 1, READ
    head["flag"] = np.array(_PAIRED)[side]
    span = ends[:, 1] + READ - ends[:, 0]
    head["length"] = np.where(side == 0, span, -span)
    digits = number[:, None] // 10 ** np.arange(_NAME_DIGITS - 1, -1, -1) % 10 + ord("0")
    names = np.column_stack((digits, np.zeros(count, dtype=np.int64))).astype(np.uint8)
    cigars = np.tile(np.frombuffer(struct.pack("<I", READ << 4), np.uint8), (count, 1))
    text = bases[own[:, None] + np.arange(READ)]
    carries = (kinds & 1 == 1) & (own <= SITE) & (own + READ > SITE)
    text[np.flatnonzero(carries), SITE - own[carries]] = alternative(bases[SITE])
    wrong, qualities = templates
    shown = (kinds >> 1) ^ side
    text = np.where(wrong[shown], ord("T"), text)
    codes = _CODES[text]
    packed = codes[:, ::2] << 4 | codes[:, 1::2]
    tags = np.tile(np.frombuffer(_TAGS, np.uint8), (count, 1))
    fixed = head.view(np.uint8).reshape(count, -1)
    return np.concatenate((fixed, names, cigars, packed, qualities[shown], tags), axis=1)


_FIXED: Final = np.dtype(
    [
        ("size", "<i4"),
        ("contig", "<i4"),
        ("position", "<i4"),
        ("name_bytes", "u1"),
        ("mapq", "u1"),
        ("bin", "<u2"),
        ("cigars", "<u2"),
        ("flag", "<u2"),
        ("bases", "<i4"),
        ("mate_contig", "<i4"),
        ("mate_position", "<i4"),
        ("length", "<i4"),
    ]
)
_TAGS: Final = b"RGZone\0"


def _header() -> bytes:
    text = f"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:{CONTIG}\tLN:{LENGTH}\n@RG\tID:one\tSM:one\n"
    name = CONTIG.encode() + b"\0"
    size = struct.pack("<I", len(text))
    contig = struct.pack("<II", 1, len(name)) + name + struct.pack("<I", LENGTH)
    return b"BAM\1" + size + text.encode() + contig


def _blocks(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), _BLOCK):
        yield data[start : start + _BLOCK]


def _compressed(data: bytes) -> bytes:
    """Return a BGZF block."""
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    body = packer.compress(data) + packer.flush()
    head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(body) + 25)
    return head + body + struct.pack("<II", zlib.crc32(data), len(data))


def made_files(directory: Path, positions: list[int], reads: int) -> Path:
    """Write a reference, sites, and reads as BAM and SAM; return the directory."""
    bases = made_reference(directory / "ref.fa")
    made_sites(directory / "sites.vcf", bases, positions)
    made_reads(directory / "deep.bam", bases, reads)
    sam = ("-o", str(directory / "deep.sam"), "-h", str(directory / "deep.bam"))
    pysam.view(*sam, catch_stdout=False)
    return directory
