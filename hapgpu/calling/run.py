"""Calling of all segments of a session to a VCF."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from hapgpu.calling.batches import Segment
from hapgpu.calling.caller import no_counts
from hapgpu.calling.gvcf.header import gvcf_header
from hapgpu.calling.gvcf.joined_lines import GvcfPart, JoinedLines, gvcf_part
from hapgpu.calling.output.header import calls_header
from hapgpu.calling.output.lines import call_lines
from hapgpu.calling.output.realigned_output import RealignedOutput
from hapgpu.calling.reads.segments import EmptyIntervals, SegmentSource
from hapgpu.calling.session import CallSession, SegmentWorker
from hapgpu.io.alignments.record_order import RecordRun
from hapgpu.io.vcf.writer import VcfWriter
from hapgpu.runtime import leftovers
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.pool import MAX_IO_THREADS
from hapgpu.runtime.progress import Progress
from hapgpu.runtime.statistics import RunStatistics
from hapgpu.version import __version__


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines of segments, their bases, named counts of the work, and realigned reads.

    `text` is of VCF, `parts` are of genomic VCF.
    """

    text: bytes
    parts: Sequence[GvcfPart | EmptyIntervals]
    bases: int
    counts: Mapping[str, int]
    realigned: Sequence[tuple[Segment, RecordRun]]


@dataclass(frozen=True, slots=True)
class _Worker:
    """Worker that calls segments and formats the lines of their records."""

    worker: SegmentWorker

    def __call__(self, group: Sequence[SegmentSource | EmptyIntervals]) -> _Lines:
        counts: Counter[str] = Counter()
        texts: list[bytes] = []
        parts: list[GvcfPart | EmptyIntervals] = []
        realigned: list[tuple[Segment, RecordRun]] = []
        for part in self.worker(group):
            if isinstance(part, EmptyIntervals):
                counts.update(no_counts(part.size))
                if part.bases.size:
                    parts.append(part)
                continue
            records = part.segment.contig, part.calls, part.annotations, part.rows
            if part.reference is None:
                texts.append(call_lines(*records))
            else:
                parts.append(gvcf_part(*records, part.reference))
            counts.update(part.counts)
            if part.realigned is not None:
                realigned.append((part.segment, part.realigned))
        return _Lines(b"".join(texts), parts, counts["bases"], counts, realigned)


@dataclass(frozen=True, slots=True)
class _Sink:
    """Writer of lines, of realigned reads if they are wanted, and of counts."""

    output: VcfWriter
    joined: JoinedLines
    realigned: RealignedOutput | None
    statistics: RunStatistics

    def __call__(self, lines: _Lines) -> int:
        self.output.write(lines.text)
        for part in lines.parts:
            self.output.write(self.joined.add(part))
        for name, number in lines.counts.items():
            self.statistics.count(name, number)
        if self.realigned is not None:
            for segment, run in lines.realigned:
                self.realigned.write(segment, run)
        return lines.bases


def write_calls(
    session: CallSession,
    output: str,
    statistics: RunStatistics,
    *,
    threads: int,
    command_line: str,
    bam_out: str | None = None,
    progress: Progress | None = None,
) -> None:
    """Call all segments of a session, and write the variants as VCF, and the realigned reads.

    Both files get their names when both are complete.

    Parameters
    ----------
    session
        The open inputs; all segments are read.
    output
        Name of the VCF, or `-`: see `VcfWriter`.
    statistics
        Receives counts, and the time of each stage.
    threads
        CPU threads; 1: the calling thread does everything.
    command_line
        For the headers.
    bam_out
        Name of the file of realigned reads, if it is wanted.
    progress
        Receives the number of bases of the calling intervals that are done.

    Raises
    ------
    InputError
        A read is malformed.
    OutputError
        An output cannot be written.
    UsageError
        htslib cannot index a file of such a name.
    """
    make_header = gvcf_header if session.is_gvcf else calls_header
    header = make_header(session.contigs, session.samples, command_line, __version__)
    timed = statistics.timed
    lengths = list(session.contigs.values())
    io_threads = min(threads, MAX_IO_THREADS)
    with ExitStack() as stack:
        writer = stack.enter_context(VcfWriter(output, header, lengths, io_threads))
        joined = JoinedLines()
        records, realigned = None, None
        if bam_out is not None:
            records = session.realigned_records(command_line)
            realigned = RealignedOutput(bam_out, records, session.reference, io_threads)
            stack.enter_context(realigned)
        run_pipeline(
            statistics.timed_source("read", session.segments()),
            [_Worker(worker) for worker in session.workers(timed, records)],
            timed("write", _Sink(writer, joined, realigned, statistics)),
            progress=progress,
            total=session.bases,
            threaded=threads > 1,
        )
        if realigned is not None:
            realigned.finish()
        writer.write(joined.finish())
        writer.finish()
        with leftovers.steady():
            stack.close()
    for name, number in session.read_counts.items():
        statistics.count(name, number)
