"""Blocks of reads mapped on the CPU, from the text of FASTQ to the text of SAM.

A block is mapped in steps of limited memory. A step searches reads until it has compared a number
of candidate positions, and writes text of a limited size. What remains is divided into parts, for
any worker: other reads, other records of the same hits, and, of a read with very many hits, later
hits than those kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import SHORT_READS
from hapgpu.io.fastx.read_block import ReadBlock, ReadSpans, TextBlock
from hapgpu.runtime.output import Divided
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.sam.cpu import Place, format_records
from hapgpu.shortread.sam.tables import SamOptions, sam_tables
from hapgpu.shortread.search.cpu import search_step
from hapgpu.shortread.search.hits import KeptHits, SearchLimits, SearchOptions
from hapgpu.shortread.search.packed_reads import PackedReads, pack_reads

_MAX_ROWS: Final = 1 << 20
"""Candidate positions of a step, besides those of its last read."""
_MAX_HITS: Final = 1 << 21
"""Hits of a read that are kept; up to twice as many are held. A search of more is repeated."""
_MAX_TEXT: Final = 32 << 20
_MAX_PARTS: Final = 16
"""Parts of reads into which the rest of a block is divided at a time."""


@dataclass(frozen=True, slots=True)
class ReadsPart:
    """Reads of a block that are not searched yet.

    Attributes
    ----------
    text
        uint8: the text of the spans.
    spans, packed
        The reads.
    after, first
        To search a read again: its last hit that is written, and the number of its next hit.
    """

    text: NDArray[np.uint8]
    spans: ReadSpans
    packed: PackedReads
    after: int = 0
    first: int = 0

    def __len__(self) -> int:
        return len(self.packed)

    def slice(self, start: int, end: int) -> ReadsPart:
        """Return reads start to end."""
        return ReadsPart(self.text, self.spans.slice(start, end), self.packed.slice(start, end))


@dataclass(frozen=True, slots=True)
class RecordsPart:
    """Records that are not written yet: those of the kept hits of some reads, from a place on."""

    reads: ReadsPart
    kept: KeptHits
    start: Place


_Part: TypeAlias = ReadsPart | RecordsPart


class CpuMapper:
    """Mapper of blocks of reads, each in the calling thread.

    Parameters
    ----------
    index
        The index of the reference.
    search_options
        The hits to find.
    sam_options
        The records to write.
    """

    def __init__(
        self, index: FMIndexArrays, search_options: SearchOptions, sam_options: SamOptions
    ) -> None:
        self._index = index
        self._options = search_options
        self._tables = sam_tables(index, sam_options)
        self._max_hits = min(_MAX_HITS, sam_options.max_hits or _MAX_HITS)

    def __call__(
        self, block: ReadBlock | ReadsPart | RecordsPart
    ) -> TextBlock | Divided[ReadsPart | RecordsPart, TextBlock]:
        """Map one block, or a part of one.

        Raises
        ------
        InputError
            A record is malformed; the message names the file and the record.
        """
        if isinstance(block, RecordsPart):
            text, rest = self._write(block)
        else:
            reads = _parsed(block) if isinstance(block, ReadBlock) else block
            limits = SearchLimits(_MAX_ROWS, self._max_hits, reads.after)
            kept = search_step(self._index, reads.packed, self._options, limits)
            text, rest = self._write(RecordsPart(reads, kept, Place(0, reads.first)))
            rest.extend(_parts(reads, len(kept)))
        return Divided(text, rest) if rest else text

    def _write(self, part: RecordsPart) -> tuple[TextBlock, list[_Part]]:
        """Write the first records of a part; return them and the other records."""
        reads, kept = part.reads, part.kept
        text, end = format_records(
            self._tables,
            reads.text,
            reads.spans,
            kept,
            start=part.start,
            first=reads.first,
            max_size=_MAX_TEXT,
        )
        return text, list(_rest(part, end))


def _parsed(block: ReadBlock) -> ReadsPart:
    spans = parse_block(block, SHORT_READS)
    return ReadsPart(block.text, spans, pack_reads(block.text, spans.base_starts, spans.lengths))


def _parts(reads: ReadsPart, done: int) -> Iterator[ReadsPart]:
    """Divide the reads after the first `done` into parts, if possible of as many reads."""
    size = max(done, -(-(len(reads) - done) // _MAX_PARTS), 1)
    for start in range(done, len(reads), size):
        yield reads.slice(start, min(start + size, len(reads)))


def _rest(part: RecordsPart, end: Place) -> Iterator[_Part]:
    """Yield the parts for the records from `end` on."""
    kept, (read, record) = part.kept, end
    if read == len(kept):
        return
    held = int(kept.offsets[read + 1] - kept.offsets[read])
    if record == 0 or record < held + (part.reads.first if read == 0 else 0):
        yield replace(part, start=end)
        return
    if held:
        after = int(kept.hits[kept.offsets[read + 1] - 1])
        yield replace(part.reads.slice(read, read + 1), after=after, first=record)
    if read + 1 < len(kept):
        yield replace(part, start=Place(read + 1, 0))
