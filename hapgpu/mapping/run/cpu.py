"""Blocks of reads mapped on the CPU, from the text of FASTQ to the text of SAM."""

from __future__ import annotations

from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import SHORT_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.text_block import TextBlock
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.mapping.sam.cpu import format_records
from hapgpu.mapping.sam.options import SamOptions
from hapgpu.mapping.sam.tables import sam_tables
from hapgpu.mapping.search.cpu import search
from hapgpu.mapping.search.hits import SearchOptions
from hapgpu.mapping.search.packed_reads import pack_reads


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

    def __call__(self, block: ReadBlock) -> TextBlock:
        """Map one block.

        Raises
        ------
        InputError
            A record is malformed; the message names the file and the record.
        """
        spans = parse_block(block, SHORT_READS)
        reads = pack_reads(block.text, spans.base_starts, spans.lengths)
        hits = search(self._index, reads, self._options)
        return format_records(self._tables, block.text, spans, hits)
