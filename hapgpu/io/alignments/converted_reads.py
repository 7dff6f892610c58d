"""Source of reads in SAM and CRAM, as columnar batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from hapgpu.arrays.batches import ReadBatch
from hapgpu.errors import InputError
from hapgpu.io.alignments.formats import ReadInput
from hapgpu.io.alignments.samtools.convert import ConvertedInput
from hapgpu.io.alignments.source import Closeable, is_sorted
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bam.record_block import RecordBlock
from hapgpu.io.bam.record_reader import RecordReader, piece_reader, to_batch
from hapgpu.io.genome.regions import RegionChoice
from hapgpu.runtime.pool import Pool

_Converted = TypeVar("_Converted")


class ConvertedSource(Closeable):
    """Source of reads in SAM or CRAM, which samtools converts to BAM: a `ReadSource`.

    Parameters
    ----------
    source
        The file or the stream; closed with this source, or if the constructor fails.
    threads
        CPU threads, and as many of samtools.
    batch_bases
        A batch ends with the read that reaches this number of bases.
    reference
        FASTA with which CRAM was compressed, if needed.
    regions
        Yield only records that overlap these regions.
    index
        Index to find the records of regions in a CRAM file; None to read the whole file.

    Raises
    ------
    InputError
        The header is damaged, too long, or lacks the contig of a region.
    """

    is_fastq = False

    def __init__(
        self,
        source: ReadInput,
        threads: int,
        batch_bases: int,
        reference: Path | None,
        regions: RegionChoice,
        index: Path | None,
    ) -> None:
        self._source = source
        self._batch_bases = batch_bases
        self._records = 0
        with ExitStack() as stack:
            self._pool = stack.enter_context(Pool(threads, caller_works=False))
            self._input = ConvertedInput(source, threads, reference, regions, index)
            stack.callback(self._input.close)
            pieces = piece_reader(self._input.stream, source.name, batch_bases).pieces()
            self._reader = RecordReader(pieces, source.name, source.max_record, self._pool)
            with self._explained_by_samtools():
                self.header = self._reader.take_header()
            self._intervals = Intervals.from_choice(regions, self.header, source.name)
            self._stack = stack.pop_all()

    @property
    def is_sorted(self) -> bool:
        """Whether the header, or an index beside the file, says that records are sorted."""
        return is_sorted(self._source, self.header)

    def batches(self) -> Iterator[ReadBatch]:
        """Read the input, once; each batch owns its arrays.

        Raises
        ------
        InputError
            samtools cannot read the input, or it is truncated.
        """
        return self.converted(to_batch)

    def blocks(self) -> Iterator[RecordBlock]:
        """Read the input, once, as records; each block owns its arrays.

        Raises
        ------
        InputError
            samtools cannot read the input, or it is truncated.
        """
        return self.converted(RecordBlock.copied)

    def converted(self, convert: Callable[[RecordBlock], _Converted]) -> Iterator[_Converted]:
        """Read the input, once; yield the results of a function of its records, in order.

        Parameters
        ----------
        convert
            Called in the threads that read. Its result must not share memory with the records.

        Raises
        ------
        InputError
            samtools cannot read the input, or it is truncated.
        """

        def counted(block: RecordBlock) -> tuple[int, _Converted]:
            return len(block), convert(block)

        references = len(self.header.reference_names)
        with self._explained_by_samtools():
            for count, records in self._reader.converted(
                counted, references, self._batch_bases, self._intervals
            ):
                self._records += count
                yield records
        self._input.check(self._records)

    @contextmanager
    def _explained_by_samtools(self) -> Iterator[None]:
        """Replace an InputError by the error of samtools, if samtools has failed."""
        try:
            yield
        except InputError:
            if self._input.has_ended:  # else samtools would wait for this reader
                self._input.check(self._records)
            raise

    def close(self) -> None:
        """End samtools and the threads; close the source."""
        self._stack.close()
