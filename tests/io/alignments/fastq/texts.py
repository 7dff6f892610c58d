"""Text of the reads of files: ours, and from records as pysam reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pysam

from hapgpu.io.alignments.text_pipeline import read_file
from hapgpu.io.fastx.block_workers import ReadSettings, transfer_for
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.runtime.devices import CpuDevice

OF_ALIGNMENTS = "NM MD AS SA CG cs cg ds tp cm s1 s2 de rl ms nn zd"
COMPLEMENTS = str.maketrans("ACMGRSVTWYHKDBN", "TGKCYSBAWRDMHVN")
HEADER = pysam.AlignmentHeader.from_dict(
    {"HD": {"VN": "1.6"}, "SQ": [{"SN": "chr1", "LN": 2**29}, {"SN": "chr2", "LN": 2**30}]}
)


def settings_of(
    block_bytes: int = 1 << 20,
    *,
    max_record: int = MAX_RECORD,
    threads: int = 1,
    with_comments: bool = False,
) -> ReadSettings:
    transfer = transfer_for([CpuDevice(1)], 1, cpu_bytes=block_bytes, gpu_bytes=block_bytes)
    return ReadSettings(transfer, max_record, threads, with_comments)


def blocks_of(path: Path | str, settings: ReadSettings | None = None) -> list[ReadBlock]:
    """Read a file; check that blocks are whole, numbered and not larger than allowed."""
    settings = settings or settings_of()
    blocks = list(read_file(str(path), settings, lambda _: None))
    first = 1
    for block in blocks:
        assert isinstance(block, ReadBlock)
        assert block.first == first
        lines = block.text.tobytes().split(b"\n")
        reads, rest = divmod(len(lines) - 1, 2 if block.is_fasta else 4)
        assert (rest, lines[-1]) == (0, b"")
        assert reads >= 1
        assert block.size <= settings.transfer.size or reads == 1
        first += reads
    return blocks


def text_of(path: Path | str, settings: ReadSettings | None = None) -> str:
    return b"".join(block.text.tobytes() for block in blocks_of(path, settings)).decode()


def expected_reads(
    records: Iterator[pysam.AlignedSegment], *, with_comments: bool
) -> list[tuple[str, str, str | None]]:
    """Return header, bases and qualities of the reads of records."""
    return [
        (
            (record.query_name or "*") + (_comment(record) if with_comments else ""),
            _bases(record),
            _letters(record),
        )
        for record in records
        if not (record.is_secondary or record.is_supplementary)
    ]


def _bases(record: pysam.AlignedSegment) -> str:
    bases = record.query_sequence or ""
    return bases.translate(COMPLEMENTS)[::-1] if record.is_reverse else bases


def _letters(record: pysam.AlignedSegment) -> str | None:
    if not record.query_sequence:
        return ""
    if record.query_qualities is None:
        return None
    letters = [chr(min(quality, 93) + 33) for quality in record.query_qualities]
    return "".join(reversed(letters) if record.is_reverse else letters)


def _comment(record: pysam.AlignedSegment) -> str:
    tags = record.to_string().split("\t")[11:]
    return "".join(f"\t{tag}" for tag in tags if tag[:2] not in OF_ALIGNMENTS.split())


def found_reads(blocks: list[ReadBlock]) -> list[tuple[str, str, str | None]]:
    """Return header, bases and qualities of the reads of blocks."""
    reads: list[tuple[str, str, str | None]] = []
    for block in blocks:
        lines = block.text.tobytes().decode().split("\n")
        if block.is_fasta:
            for header, bases in zip(lines[:-1:2], lines[1::2], strict=True):
                assert header[0] == ">"
                reads.append((header[1:], bases, None if bases else ""))
        else:
            for k in range(0, len(lines) - 1, 4):
                assert (lines[k][0], lines[k + 2]) == ("@", "+")
                reads.append((lines[k][1:], lines[k + 1], lines[k + 3]))
    return reads
