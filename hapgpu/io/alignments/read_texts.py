"""Blocks of text of the reads of BAM, CRAM and SAM."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.alignments.formats import OpenedInput
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.alignments.record_texts import (
    BAD_NAME,
    BAD_TAG,
    EXCLUDED,
    FASTA,
    SOUND,
    TOO_LONG,
    TextPart,
    cut_texts,
    measure_texts,
    write_texts,
)
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.io.fastx.block_workers import ReadSettings
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.files.record_limit import too_long
from hapgpu.io.text.builder import built_text

_BYTES_PER_BASE: Final = 2  # of FASTQ: the base and its quality
_FAULTS: Final = {
    BAD_NAME: "its name has a blank or a control character",
    BAD_TAG: "a tag has a control character",
}


@dataclass(frozen=True, slots=True)
class _Text:
    """Text of so many reads."""

    text: NDArray[np.uint8]
    is_fasta: bool
    reads: int


@dataclass(frozen=True, slots=True)
class _Texts:
    """Texts of the reads of so many records, up to the first record with a fault."""

    texts: deque[_Text]
    records: int
    excluded: int
    fault: int


def read_texts(
    opened: OpenedInput, settings: ReadSettings, count_excluded: Callable[[int], object]
) -> Iterator[ReadBlock]:
    """Read BAM, CRAM or SAM in blocks of text, in the order of the file.

    Secondary and supplementary records are excluded; pairs are read as single reads. A block is
    FASTQ, or FASTA if the reads in it have no qualities.

    Parameters
    ----------
    opened
        The file, which is closed at the end.
    settings
        How to read it.
    count_excluded
        Receives numbers of excluded records.

    Raises
    ------
    InputError
        The file is not what its first bytes promise, or damaged or truncated; or a record is too
        long, or its text would end a line.
    """
    convert = partial(_texts_of, settings=settings)
    first, done = 1, 0
    with open_reads(
        opened,
        threads=settings.threads,
        batch_bases=max(settings.transfer.size // _BYTES_PER_BASE, 1),
        max_record=settings.max_record,
    ) as source:
        for part in source.converted(convert):
            count_excluded(part.excluded)
            while part.texts:  # a block must not stay alive while the next is made
                text = part.texts.popleft()
                number, first = first, first + text.reads
                yield ReadBlock(text.text, text.is_fasta, number, opened.name)
                del text
            done += part.records
            if part.fault != SOUND:
                raise _fault(f"{opened.name}, record {done + 1}", part.fault, settings.max_record)


def _fault(record: str, fault: int, max_record: int) -> InputError:
    if fault == TOO_LONG:
        return too_long(record, max_record)
    return InputError(f"{record}: {_FAULTS[fault]}; correct or remove the record")


class _Writer:
    """Writer of the text of a part of the records of a block.

    Attributes
    ----------
    reads, end, fault
        Results of `write_texts`: the reads in the text, the end of the sound rows, and the fault of
        the next row.
    """

    def __init__(self, block: RecordBlock, kinds: NDArray[np.uint8], part: TextPart) -> None:
        self.reads = self.end = 0
        self.fault = SOUND
        self._arguments = block.data, block.layout, kinds, part

    def __call__(self, out: NDArray[np.uint8]) -> int:
        """Write the text to memory; see `built_text`."""
        end, self.reads, self.end, self.fault = map(int, write_texts(*self._arguments, out))
        return end


def _texts_of(block: RecordBlock, settings: ReadSettings) -> _Texts:
    """Convert records to texts."""
    rows = len(block)
    kinds, forms = np.empty((2, rows), dtype=np.uint8)
    sizes, ends = np.empty((2, rows), dtype=np.int64)
    measure_texts(block.data, block.layout, settings.with_comments, kinds, sizes)
    max_bytes = min(settings.transfer.size, settings.max_record)
    count = cut_texts(kinds, sizes, max_bytes, forms, ends)
    texts: deque[_Text] = deque()
    start, fault = 0, SOUND
    for form, end in zip(forms[:count].tolist(), ends[:count].tolist(), strict=True):
        part = TextPart(start, end, form, settings.with_comments, settings.max_record)
        writer = _Writer(block, kinds, part)
        text = built_text(writer, int(sizes[start:end].sum()))
        start, fault = writer.end, writer.fault
        if writer.reads:
            texts.append(_Text(text, form == FASTA, writer.reads))
        if fault != SOUND:
            return _Texts(texts, start, 0, fault)
    return _Texts(texts, rows, int(np.count_nonzero(kinds == EXCLUDED)), SOUND)
