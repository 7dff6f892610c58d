"""Checks of inputs and outputs by htslib, and of reads written again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np
import pysam

from hapgpu.arrays.batches import ReadBatch
from hapgpu.io.files.htslib import silent_htslib
from tests.fuzz.sandbox import Sandbox

_REFUSED: Final = (OSError, ValueError, NotImplementedError)
"""Raised by pysam."""
_HEADER_LINE: Final = re.compile(rb"@[A-Z][A-Z]\t")  # unlike a read named @


def records_in(path: Path) -> int | None:
    """Return the number of alignments that htslib reads from a file; None if it refuses it."""
    try:
        with silent_htslib(), pysam.AlignmentFile(str(path), check_sq=False) as file:
            return sum(1 for _ in file)
    except _REFUSED:
        return None


def variants_in(path: Path) -> int | None:
    """Return the number of variants that htslib reads from a file; None if it refuses it."""
    try:
        with silent_htslib(), pysam.VariantFile(str(path)) as file:
            return sum(1 for _ in file)
    except _REFUSED:
        return None


def can_be_text(path: Path, sandbox: Sandbox) -> bool:
    """Return whether alignments can be text; oddities in headers, names and tags are passed on."""
    with silent_htslib():
        try:
            with pysam.AlignmentFile(str(path), check_sq=False) as file:
                lines = [record.to_string() for record in file]
                text = "\n".join([str(file.header) + "\n".join(lines), ""])
        except _REFUSED:
            return False
    with sandbox.file(text.encode("utf-8", "surrogateescape"), "sam") as copy:
        return records_in(copy) == len(lines)


def can_be_vcf(path: Path, sandbox: Sandbox) -> bool:
    """Return whether variants can be text, too."""
    with silent_htslib():
        try:
            with pysam.VariantFile(str(path)) as file:
                lines = [str(record) for record in file]
                text = str(file.header) + "".join(lines)
        except _REFUSED:
            return False
    with sandbox.file(text.encode("utf-8", "surrogateescape"), "vcf") as copy:
        return variants_in(copy) == len(lines)


def check_records(data: bytes, sandbox: Sandbox) -> None:
    """Check that htslib reads an output of alignments."""
    with sandbox.file(data, "sam") as path:
        found = records_in(path)
    expected = sum(not _HEADER_LINE.match(line) for line in data.split(b"\n") if line)
    assert found == expected, f"{expected} records written, htslib reads {found}"


def check_variants(data: bytes, sandbox: Sandbox) -> None:
    """Check that htslib reads an output of genotypes."""
    with sandbox.file(data, "vcf") as path:
        found = variants_in(path)
    expected = sum(not line.startswith(b"#") for line in data.split(b"\n") if line)
    assert found == expected, f"{expected} records written, htslib reads {found}"


def as_fastq(batch: ReadBatch) -> bytes:
    """Write reads."""
    lines = []
    for row in range(len(batch)):
        qualities = (batch.qualities[row] + np.uint8(33)).tobytes()
        lines += [b"@" + batch.names[row].tobytes(), batch.bases[row].tobytes(), b"+", qualities]
    return b"".join(line + b"\n" for line in lines)


def columns_of(batches: list[ReadBatch]) -> list[bytes]:
    """Return names, bases and qualities, regardless of batches."""
    columns = ("names", "bases", "qualities")
    return [
        getattr(batch, column)[row].tobytes()
        for batch in batches
        for row in range(len(batch))
        for column in columns
    ]
