"""Blocks of lines of VCF, from text or converted from BCF."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import BufferedIOBase, BufferedReader, RawIOBase
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import pysam

from hapgpu.errors import InputError
from hapgpu.io.bgzf.marks import is_bgzf
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.htslib import silent_htslib
from hapgpu.io.files.record_limit import MAX_RECORD, too_long
from hapgpu.io.files.reread import unnamed_copy
from hapgpu.runtime.inputs import note_position

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


FIRST_LINE_BYTES: Final = 1 << 16

_BCF: Final = b"BCF"
_BGZF_HEAD_BYTES: Final = 18
_CHECKED_BYTES: Final = 1 << 20
_RECORDS_AT_ONCE: Final = 1000
_TEXT_BYTES: Final = 1 << 18

_MAGIC: Final = b"BCF\2"
_HEADER_SIZE: Final = struct.Struct("<5xI")  # after magic and version
_INDEX: Final = re.compile(rb"IDX=(\d{1,20})")
_INDEX_BYTES: Final = 24  # of the longest match
_USUAL_INDEX: Final = 1 << 20
"""IDX up to which any header is accepted: htslib allocates as many entries as the largest IDX."""
_RECORD_SIZES: Final = struct.Struct("<II20xI")
"""Sizes of the shared and the per-sample data and, after five other fields, the samples."""
_RECORD_PRELUDE: Final = 8
_SAMPLES: Final = (1 << 24) - 1


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
        with unnamed_copy(inflated, name) as copy:
            yield copy
        return
    with Path(path).open("rb") as file:
        if is_bgzf(file.read(_BGZF_HEAD_BYTES)):
            file.seek(0)
            while inflated.read(_CHECKED_BYTES):
                pass
            yield file
            return
    with unnamed_copy(inflated, name) as copy:
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


class CheckedBcf(RawIOBase):
    """Stream of inflated BCF that raises an error before a header or record that is too long.

    Parameters
    ----------
    stream
        The BCF, at its start.
    name
        Name of the file, for messages.
    max_record
        Bytes of the longest record, and of the longest header.
    """

    def __init__(self, stream: BufferedIOBase, name: str, max_record: int) -> None:
        self._stream = stream
        self._name = name
        self._max_record = max_record
        self._pending = b""
        self._skipped = 0  # bytes until the next sizes
        self._records = -1  # the header comes first
        self._header_bytes = self._header_left = 0
        self._header_tail = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read bytes; raise an InputError that names a record that is too long."""
        view = memoryview(buffer)
        got = self._stream.readinto(view)
        self._check(bytes(view[:got]))
        return got

    def _check(self, text: bytes) -> None:
        text = self._pending + text
        at = self._skipped
        if self._records < 0 and not _MAGIC.startswith(text[: len(_MAGIC)]):
            self._skipped = sys.maxsize  # htslib raises the error
            return
        if self._records < 0 and len(text) >= _HEADER_SIZE.size:
            size = _HEADER_SIZE.unpack_from(text)[0]
            self._check_size(size, "header")
            self._records = 0
            at = self._header_bytes = self._header_left = _HEADER_SIZE.size + size
        while self._records >= 0 and at + _RECORD_SIZES.size <= len(text):
            shared, own, samples = _RECORD_SIZES.unpack_from(text, at)
            self._records += 1
            self._check_size(shared + own, f"record {self._records}")
            if samples & _SAMPLES > self._header_bytes:  # the header names each sample
                raise InputError(
                    f"{self._name}, record {self._records}: claims {samples & _SAMPLES:,} samples,"
                    " more than the header names; copy the file again"
                )
            at += _RECORD_PRELUDE + shared + own
        if self._header_left:
            self._check_indexes(text)
        self._pending = text[at:]
        self._skipped = max(at - len(text), 0)

    def _check_size(self, size: int, what: str) -> None:
        if size > self._max_record:
            raise too_long(f"{self._name}, {what}", self._max_record)

    def _check_indexes(self, text: bytes) -> None:
        """Check the numbers (IDX) of contigs and tags in the header."""
        part = self._header_tail + text[: self._header_left]
        limit = max(self._header_bytes, _USUAL_INDEX)
        for found in _INDEX.finditer(part):
            if int(found[1]) >= limit:
                raise InputError(
                    f"{self._name}, header: IDX={found[1].decode()} of a contig or tag is too"
                    " large; run: bcftools reheader"
                )
        self._header_left -= min(len(text), self._header_left)
        self._header_tail = part[-_INDEX_BYTES:]
