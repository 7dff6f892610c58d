"""Formats of reads: recognition by the first bytes, and choice of the output format.

The header of a CRAM file names its references, which are inputs, too.
"""

from __future__ import annotations

import re
import sys
import zlib
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from io import BufferedReader, RawIOBase
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

import pysam

from hapgpu.errors import InputError, UsageError
from hapgpu.io.bgzf.marks import has_closing_bytes, is_bgzf, missing_eof_block
from hapgpu.io.fastx.limits import warn_of_old_qualities
from hapgpu.io.files.compressed import standard_input
from hapgpu.io.files.file_kind import HEAD_BYTES, closing_bytes, guess_kind, inflated_head
from hapgpu.io.files.htslib import release_freed_memory, silent_htslib
from hapgpu.io.files.record_limit import MAX_RECORD

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


_MAGIC: Final = b"CRAM"
_SCHEME: Final = "file://"
_UR: Final = re.compile(r"^@SQ\t(?:.*\t)?UR:([^\t\n]+)", re.MULTILINE)
"""Read from the text: dictionaries of half a million contigs take many times its memory."""

_GZIP = b"\x1f\x8b"
OUTPUT_FORMATS: Final = ("sam", "bam", "cram")


def named_references(path: Path) -> set[str]:
    """Return the files that the header of a CRAM file names (UR of @SQ).

    The set is empty for a file of another kind and for a file that cannot be read.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return set()
        header = _header_text(path)
    except (OSError, ValueError):
        return set()
    release_freed_memory()
    return {name.removeprefix(_SCHEME) for name in _UR.findall(header)}


def _header_text(path: Path) -> str:
    with silent_htslib(), path.open("rb") as file:
        return str(pysam.AlignmentFile(file, "rc", check_sq=False).header)


class ReadFormat(Enum):
    """Format of a file of reads."""

    BAM = auto()
    CRAM = auto()
    SAM = auto()
    FASTQ = auto()


@dataclass(frozen=True, slots=True)
class ReadInput:
    """Input that has been opened and recognised.

    Attributes
    ----------
    name
        Name for messages.
    path
        None for standard input and pipes.
    stream
        At the first byte; seekable if there is a path.
    format
        Format of the reads.
    closing
        Last bytes of a complete file; empty if the format has no such mark.
    max_record
        Bytes of the longest record, and of the longest header, that is read.
    """

    name: str
    path: Path | None
    stream: BufferedReader
    format: ReadFormat
    closing: bytes
    max_record: int

    def truncated(self) -> InputError:
        """Return the error for an input without its closing bytes."""
        return missing_eof_block(self.name)


class _Rejoined(RawIOBase):
    """Stream that starts again with the bytes that were already read from it."""

    def __init__(self, head: bytes, rest: BufferedReader, name: str) -> None:
        self._head = memoryview(head)
        self._rest = rest
        self.name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        if not self._head:
            return self._rest.readinto(view)
        data = self._head[: len(view)]
        view[: len(data)] = data
        self._head = self._head[len(data) :]
        return len(data)

    def close(self) -> None:
        if self._rest is not sys.stdin.buffer:
            self._rest.close()
        super().close()


@dataclass(frozen=True, slots=True)
class OpenedInput:
    """Input of which the first bytes have been read.

    Attributes
    ----------
    name
        Name for messages.
    path
        None for standard input and pipes.
    stream
        After the head.
    head
        The first bytes.
    """

    name: str
    path: Path | None
    stream: BufferedReader
    head: bytes

    @property
    def has_records(self) -> bool:
        """Whether it looks like BAM, CRAM or SAM."""
        try:
            return guess_kind(inflated_head(self.head)) in {"BAM", "CRAM", "SAM"}
        except zlib.error:
            return False

    def warn_of_old_qualities(self) -> None:
        """Warn if it is FASTQ whose qualities look like Phred+64."""
        with suppress(zlib.error):
            warn_of_old_qualities(self.name, inflated_head(self.head))

    def rejoined(self) -> BufferedReader:
        """Return a stream of the whole input."""
        return BufferedReader(_Rejoined(self.head, self.stream, self.name), HEAD_BYTES)

    def close(self) -> None:
        """Close the stream, but not standard input."""
        if self.stream is not sys.stdin.buffer:
            self.stream.close()


def open_head(path: str, name: str | None = None) -> OpenedInput:
    """Open a file, or standard input if `path` is `-`, and read its first bytes.

    Raises
    ------
    InputError
        It cannot be opened or read.
    """
    if path == "-":
        return _with_head("standard input", None, standard_input())
    name = name or path
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 (closed by the caller)
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error})") from error
    try:
        return _with_head(name, Path(path) if stream.seekable() else None, stream)
    except BaseException:
        stream.close()
        raise


def _with_head(name: str, path: Path | None, stream: BufferedReader) -> OpenedInput:
    try:
        return OpenedInput(name, path, stream, stream.read(HEAD_BYTES))
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error})") from error


def recognised(
    opened: OpenedInput, max_record: int = MAX_RECORD, *, takes_empty: bool = False
) -> ReadInput:
    """Recognise the format of an input; `max_record` is for the reader.

    With `takes_empty`, FASTQ is of use, and an empty input is FASTQ without reads.

    Raises
    ------
    InputError
        The input is empty, has no reads, or is a truncated file; it has been closed.
    """
    try:
        return _recognised(opened, max_record, takes_empty=takes_empty)
    except BaseException:
        opened.close()
        raise


def _recognised(opened: OpenedInput, max_record: int, *, takes_empty: bool) -> ReadInput:
    name, stream = opened.name, opened.stream
    found = _recognise(opened.head, name, takes_empty=takes_empty)
    if found is ReadFormat.FASTQ:
        opened.warn_of_old_qualities()
    closing = closing_bytes(opened.head)
    if opened.path is None:
        return ReadInput(name, None, opened.rejoined(), found, closing, max_record)
    source = ReadInput(name, opened.path, stream, found, closing, max_record)
    if not has_closing_bytes(stream, closing):
        raise source.truncated()
    stream.seek(0)
    return source


def open_input(
    path: str,
    name: str | None = None,
    max_record: int = MAX_RECORD,
    *,
    takes_empty: bool = False,
) -> ReadInput:
    """Open a file of reads, or standard input if `path` is `-`, and recognise its format.

    `name`, by default the path, is for messages; `max_record` is for the reader; `takes_empty` as
    in `recognised`.

    Raises
    ------
    InputError
        It cannot be opened, is empty, has no reads, or is a truncated file.
    """
    return recognised(open_head(path, name), max_record, takes_empty=takes_empty)


def _recognise(head: bytes, name: str, *, takes_empty: bool) -> ReadFormat:
    needed = "BAM, CRAM, SAM or FASTQ" if takes_empty else "BAM, CRAM or SAM"
    if not head and not takes_empty:
        raise InputError(f"{name}: empty; give {needed}")
    try:
        text = inflated_head(head)
    except zlib.error:
        raise InputError(
            f"{name}: damaged (starts as gzip, but cannot be inflated); copy it again"
        ) from None
    kind = guess_kind(text)
    if kind == "BAM":
        if not is_bgzf(head):
            raise InputError(
                f"{name}: BAM not compressed by bgzip; run: samtools view -b -o OUT.bam {name}"
            )
        return ReadFormat.BAM
    if kind == "CRAM" and not head.startswith(_GZIP):
        return ReadFormat.CRAM
    if kind == "SAM":
        return ReadFormat.SAM
    if text.startswith(b"@") or (takes_empty and not text):
        return ReadFormat.FASTQ
    raise InputError(f"{name}: {_guess(text, kind)}; give {needed}")


def _guess(text: bytes, kind: str | None) -> str:
    if not text:
        return "empty"
    if text.startswith(b">"):
        return "looks like FASTA"
    return f"looks like {kind}" if kind in {"VCF", "BCF"} else "unknown kind of file"


def output_format(
    path: str,
    format: str | None = None,  # noqa: A002 (the name of the option)
    *,
    uncompressed: bool = False,
) -> str:
    """Return `format` if given, else the format by the other arguments of `open_writer`.

    Raises
    ------
    UsageError
        The format is unknown.
    """
    if format is not None and format not in OUTPUT_FORMATS:
        raise UsageError(
            f"output format {format}: unknown; give one of {', '.join(OUTPUT_FORMATS)}"
        )
    extension = "bam" if uncompressed else PurePath(path).suffix.lstrip(".").lower()
    return format or (extension if extension in OUTPUT_FORMATS else "sam")
