"""Writers of columnar batches of reads as SAM, BAM or CRAM."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import view_of
from hapgpu.errors import OutputError, UsageError
from hapgpu.io.alignments.formats import output_format
from hapgpu.io.alignments.sam_records import format_records
from hapgpu.io.alignments.samtools_convert import ConvertedOutput, index_alignments
from hapgpu.io.bam.decode import block_of, decode_block
from hapgpu.io.bam.encode import EncodedRecords
from hapgpu.io.bam.header import SamHeader, encode_header
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.io.bgzf.deflater import BgzfWriter
from hapgpu.io.files.htslib import INDEX_DELIMITER, has_index_delimiter
from hapgpu.io.files.output import OutputFile, ThreadedOutput
from hapgpu.io.files.text_output import TextSink


class RecordWriter(ThreadedOutput):
    """Output of reads; an exception in its context discards it."""

    _index_suffixes = (".bai", ".csi", ".crai")

    def __init__(self, path: str, header: SamHeader, threads: int) -> None:
        super().__init__(path, threads)
        self._header = header

    @abstractmethod
    def write(self, batch: ReadBatch) -> None:
        """Append reads; the arrays of the batch must not change later.

        Raises
        ------
        OutputError
            The output cannot be written, or its format cannot represent a read.
        """

    @abstractmethod
    def write_block(self, block: RecordBlock) -> None:
        """Append records, in BAM byte for byte; they must not change later.

        Raises
        ------
        OutputError
            The output cannot be written.
        """

    @abstractmethod
    def write_records(self, records: NDArray[np.uint8]) -> None:
        """Append finished BAM records, uint8, end to end; the bytes must not change later.

        Raises
        ------
        OutputError
            The output cannot be written.
        """


def open_writer(
    path: str,
    header: SamHeader,
    *,
    format: str | None = None,  # noqa: A002 (the name of the option)
    threads: int = 1,
    uncompressed: bool = False,
    reference: Path | None = None,
    write_index: bool = False,
) -> RecordWriter:
    """Open an output for reads.

    Parameters
    ----------
    path
        A file, which appears when it is complete, or `-` for standard output.
    header
        Header of the output.
    format
        `sam`, `bam` or `cram`; by default from `uncompressed` or the extension of the path.
    threads
        CPU threads, the calling thread included.
    uncompressed
        Write BAM without compression, for a pipe; makes BAM the default format.
    reference
        FASTA with which CRAM is compressed.
    write_index
        Write an index beside the file: `.csi` for BAM, `.crai` for CRAM; records must be sorted.

    Raises
    ------
    UsageError
        The format is unknown, or the output cannot be indexed.
    OutputError
        The output cannot be created.
    """
    chosen_format = output_format(path, format, uncompressed=uncompressed)
    if write_index and (chosen_format == "sam" or path == "-"):
        raise UsageError(
            "--write-index: needs a BAM or CRAM file; give -o FILE.bam or -o FILE.cram"
        )
    if write_index and has_index_delimiter(path):
        raise UsageError(
            f"{path}: htslib splits names at '{INDEX_DELIMITER}' and cannot index it; rename it"
        )
    if chosen_format == "sam":
        return _SamWriter(path, header, threads)
    if chosen_format == "bam":
        compressed = not uncompressed
        return _BamWriter(path, header, threads, compressed=compressed, write_index=write_index)
    return _CramWriter(path, header, threads, reference, write_index=write_index)


class _SamWriter(RecordWriter):
    def __init__(self, path: str, header: SamHeader, threads: int) -> None:
        super().__init__(path, header, threads)
        # Made once: there may be more contigs than reads in a batch.
        self._contig_names = view_of(Ragged.from_names(header.reference_names))
        self._sink = TextSink(self._output, self._pool)

    def _start(self) -> None:
        self._sink.write(memoryview(self._header.text.encode("utf-8", "surrogateescape")))

    def write(self, batch: ReadBatch) -> None:
        for lines in format_records(batch, self._header, self._contig_names, self._pool):
            self._sink.write(lines.data)

    def write_block(self, block: RecordBlock) -> None:
        self.write(decode_block(block, self._pool))

    def write_records(self, records: NDArray[np.uint8]) -> None:
        references = len(self._header.reference_names)
        self.write_block(block_of(records, references, self._pool))

    def _finish(self) -> None:
        self._sink.finish()


class _BamWriter(RecordWriter):
    _index_kind = "csi"

    def __init__(
        self, path: str, header: SamHeader, threads: int, *, compressed: bool, write_index: bool
    ) -> None:
        super().__init__(path, header, threads)
        self._blocks = BgzfWriter(self._output, self._pool, compressed=compressed)
        self._write_index = write_index

    def _start(self) -> None:
        if self._write_index:
            self._index = OutputFile(f"{self._path}.{self._index_kind}")
        self._blocks.write(memoryview(encode_header(self._header)))

    def write(self, batch: ReadBatch) -> None:
        records = EncodedRecords(batch, self._header)
        self._blocks.write_made(records.size, records.made)

    def write_block(self, block: RecordBlock) -> None:
        self._blocks.write(block.packed().data)

    def write_records(self, records: NDArray[np.uint8]) -> None:
        self._blocks.write(records)

    def _finish(self) -> None:
        self._blocks.finish()
        self._build_index()

    def _build_index(self) -> None:
        if self._index is None:
            return
        data, index = self._output.staged_path(), self._index.staged_path()
        if failure := index_alignments(data, index, self._index_kind, self._pool.threads):
            raise OutputError(f"{self._index.name}: cannot be written ({failure})")


class _CramWriter(_BamWriter):
    _index_kind = "crai"

    def __init__(
        self,
        path: str,
        header: SamHeader,
        threads: int,
        reference: Path | None,
        *,
        write_index: bool,
    ) -> None:
        super().__init__(path, header, threads, compressed=False, write_index=write_index)
        self._cram = ConvertedOutput(self._output, threads, reference)
        self._blocks = BgzfWriter(self._cram, self._pool, compressed=False)

    def _finish(self) -> None:
        self._blocks.finish()
        self._cram.finish()
        self._build_index()

    def _close(self) -> None:
        self._cram.close()
        super()._close()
