"""Output of realigned reads: sorted across segments, and indexed."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from hapgpu.calling.batches import PADDING, Segment
from hapgpu.calling.output.realigned_records import RealignedRecords
from hapgpu.io.alignments.formats import output_format
from hapgpu.io.alignments.record_order import OldOrder, OrderKeeper, RecordRun
from hapgpu.io.alignments.writer import open_writer


class RealignedOutput:
    """Output of realigned reads, in the order of segments; a context manager.

    Parameters
    ----------
    path
        A file; its extension sets the format. Regular files of BAM and CRAM get an index.
    records
        The maker of the records.
    reference
        FASTA with which CRAM is compressed.
    threads
        CPU threads, the calling thread included.

    Raises
    ------
    UsageError
        htslib cannot index a file of this name.
    OutputError
        The output cannot be created or written.
    """

    def __init__(self, path: str, records: RealignedRecords, reference: Path, threads: int) -> None:
        is_regular = Path(path).is_file() or not Path(path).exists()
        self._records = records
        self._writer = open_writer(
            path,
            records.header,
            threads=threads,
            reference=reference,
            write_index=is_regular and output_format(path) != "sam",
        )
        self._order = OrderKeeper(PADDING, path)

    def write(self, segment: Segment, run: RecordRun) -> None:
        """Append the records of a segment.

        Raises
        ------
        OutputError
            The output cannot be written.
        """
        # Records of later segments start at most `PADDING` bases before the end of this one.
        end = self._records.key_at(segment.contig, segment.end)
        for part in self._order.put(OldOrder(end, end, is_sorted=True), run):
            self._writer.write_records(part)

    def finish(self) -> None:
        """Write everything, so that the end of the context only gives the file its name.

        Raises
        ------
        OutputError
            The output cannot be written.
        """
        for part in self._order.rest():
            self._writer.write_records(part)
        self._writer.finish()

    def __enter__(self) -> Self:
        self._writer.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.__exit__(kind, error, trace)
