"""Conversion of lines of SAM to BAM records; samtools converts unusual lines."""

from __future__ import annotations

import gzip
import tempfile
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import OutputError
from hapgpu.io.alignments.samtools import Samtools, SamtoolsFailure
from hapgpu.io.bam.header import SamHeader, encode_header
from hapgpu.io.bam.sam_lines import encode_lines
from hapgpu.io.text.builder import TextBuilder
from hapgpu.io.text.name_table import NameTable, name_table
from hapgpu.io.text.values import excerpt

_NEWLINE: Final = np.uint8(ord("\n"))
_FIRST_LINE: Final = b"*\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\n"
"""A record before the others: samtools treats a first name that starts with @ as a header line."""
_SIZE_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class BamLines:
    """Converter of lines of SAM to BAM records, which samtools would make of them, byte for byte.

    It can be pickled, and be called in several threads.

    Parameters
    ----------
    header
        Header of the output.
    output
        Name of the output, for messages.
    """

    header: SamHeader
    output: str
    _contigs: NameTable = field(init=False, repr=False, compare=False)
    _build: TextBuilder = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_contigs", name_table(self.header.reference_names))
        object.__setattr__(self, "_build", TextBuilder(row_bytes=1))  # a row is a byte of a line

    def __call__(self, text: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return uint8: the records of whole lines, end to end.

        Raises
        ------
        OutputError
            A line is not a record, such as one with a malformed tag.
        """
        if text.size == 0:
            return text
        text = read_only(text if text[-1] == _NEWLINE else np.append(text, _NEWLINE))
        unusual: list[tuple[int, bytes]] = []

        def write(out: NDArray[np.uint8]) -> int:
            unusual.clear()
            at = end = 0
            while at < text.size:
                next_line, stop = encode_lines(text, self._contigs, at, out, end)
                at, end = int(next_line), int(stop)
                if at < text.size:
                    size = int(np.argmax(text[at:] == _NEWLINE)) + 1
                    unusual.append((end, text[at : at + size].tobytes()))
                    at += size
            return end

        records = self._build(text.size, write)
        return self._with_unusual(records, unusual) if unusual else records

    def _with_unusual(
        self, records: NDArray[np.uint8], unusual: list[tuple[int, bytes]]
    ) -> NDArray[np.uint8]:
        """Insert the records of lines, given by their offset in the other records."""
        made = self._made_by_samtools([line for _, line in unusual])
        ends = [0, *(offset for offset, _ in unusual), records.size]
        parts = [records[start:end] for start, end in pairwise(ends)]
        pieces = [parts[0]]
        for record, part in zip(made, parts[1:], strict=True):
            pieces += [np.frombuffer(record, dtype=np.uint8), part]
        return np.concatenate(pieces)

    def _made_by_samtools(self, lines: list[bytes]) -> list[bytes]:
        """Return the record of each line."""
        references = SamHeader.from_references(
            self.header.reference_names, self.header.reference_lengths
        )
        head = references.text.encode("utf-8", "surrogateescape") + _FIRST_LINE
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
            source.write(head + b"".join(lines))
            source.seek(0)
            samtools = Samtools(["view", "-u", "--no-PG", "-"], source.fileno(), target.fileno())
            try:
                failure = samtools.failure()
            finally:
                samtools.close()
            target.seek(0)
            if failure is not None:
                raise self._refused(failure, lines, head.count(b"\n"))
            data = gzip.decompress(target.read())
        records = _cut_records(data, len(encode_header(references)))[1:]
        if len(records) != len(lines):
            raise self._error(f"samtools made {len(records)} records of {len(lines)} lines")
        return records

    def _refused(self, failure: SamtoolsFailure, lines: list[bytes], before: int) -> OutputError:
        """Return the error of samtools, with the name of the read if the line is known."""
        reason = failure.reason or "not a SAM record"
        line = (failure.line or 0) - before - 1
        if not 0 <= line < len(lines):
            return self._error(reason)
        name = lines[line].split(b"\t")[0].rstrip(b"\n").decode("utf-8", "replace")
        return self._error(f"read '{excerpt(name)}': {reason}")

    def _error(self, reason: str) -> OutputError:
        return OutputError(f"{self.output}: cannot be written as BAM ({reason})")


def _cut_records(data: bytes, start: int) -> list[bytes]:
    """Cut the records, each after its size."""
    records = []
    while start < len(data):
        size = int.from_bytes(data[start : start + _SIZE_BYTES], "little")
        end = start + _SIZE_BYTES + size
        records.append(data[start:end])
        start = end
    return records
