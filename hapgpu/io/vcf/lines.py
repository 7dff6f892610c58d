"""Blocks of lines of VCF, from text or converted from BCF."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, cast

import pysam

from hapgpu.errors import InputError
from hapgpu.io.bgzf.reader import is_bgzf
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.htslib import silent_htslib
from hapgpu.io.files.record_limit import MAX_RECORD, too_long
from hapgpu.io.files.reread import unnamed_copy
from hapgpu.io.vcf.bcf_sizes import CheckedBcf
from hapgpu.runtime.inputs import note_position

FIRST_LINE_BYTES: Final = 1 << 16

_BCF: Final = b"BCF"
_BGZF_HEAD_BYTES: Final = 18
_CHECKED_BYTES: Final = 1 << 20
_RECORDS_AT_ONCE: Final = 1000
_TEXT_BYTES: Final = 1 << 18


def vcf_blocks(path: str | Path, name: str, max_record: int = MAX_RECORD) -> Generator[bytes]:
    """Yield the format, `VCF` or `BCF`, then blocks of whole lines; BCF is converted to VCF.

    The last line may lack its newline. The first block of VCF is the first line, cut after
    `FIRST_LINE_BYTES`: it may be very long in a file of another kind.

    Parameters
    ----------
    path
        A file, plain or compressed, or `-` for standard input.
    name
        Name of the file, for messages.
    max_record
        Bytes of the longest record, and of the header of BCF, that is read.

    Raises
    ------
    InputError
        The file cannot be opened, is damaged or truncated, or a record is too long.
    """
    with open_inflated(path, name) as stream:
        if _is_bcf(stream):
            yield b"BCF"
            with _bcf_file(path, CheckedBcf(stream, name, max_record), name) as file:
                yield from _bcf_blocks(file, name)
        else:
            yield b"VCF"
            yield from _text_blocks(stream, name, max_record)


def _is_bcf(stream: BufferedReader) -> bool:
    # A pipe may hold fewer bytes yet; no VCF starts with any of them.
    head = stream.peek(len(_BCF))[: len(_BCF)]
    return bool(head) and _BCF.startswith(head)


def _text_blocks(stream: BufferedReader, name: str, max_record: int) -> Generator[bytes]:
    yield stream.readline(FIRST_LINE_BYTES)
    number = 2
    while part := stream.read1(min(_TEXT_BYTES, max_record)):
        size = part.rfind(b"\n") + 1
        number += part.count(b"\n")
        if size:
            yield part[:size]
        if size < len(part):
            line = part[size:] + stream.readline(max_record + 1 - (len(part) - size))
            if len(line) > max_record:
                raise too_long(f"{name}, line {number}", max_record)
            number += 1
            yield line


@contextmanager
def _bcf_file(path: str | Path, inflated: CheckedBcf, name: str) -> Iterator[BinaryIO]:
    """Yield a checked file for htslib: the file itself if it is BGZF, else an inflated copy.

    htslib gets the descriptor, never the name: it would treat some names as URLs, and split others.
    """
    if str(path) == "-" or not Path(path).is_file():
        with unnamed_copy(cast("BinaryIO", inflated), name) as copy:
            yield copy
        return
    with Path(path).open("rb") as file:
        if is_bgzf(file.read(_BGZF_HEAD_BYTES)):
            file.seek(0)
            while inflated.read(_CHECKED_BYTES):
                pass
            yield cast("BinaryIO", file)
            return
    with unnamed_copy(cast("BinaryIO", inflated), name) as copy:
        yield copy


def _bcf_blocks(stream: BinaryIO, name: str) -> Generator[bytes]:
    try:
        with silent_htslib():
            file = pysam.VariantFile(f"/proc/self/fd/{stream.fileno()}")
        with file:
            yield _bytes(str(file.header))
            while text := _next_records(file):
                note_position(name, file.tell() >> 16)
                yield _bytes(text)
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: damaged, or not BCF; copy it again") from error


def _next_records(file: pysam.VariantFile) -> str:
    with silent_htslib():
        return "".join(str(record) for record in islice(file, _RECORDS_AT_ONCE))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
