"""Calling of all segments of a session to a VCF."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from hapgpu.calling.output.header import calls_header
from hapgpu.calling.output.lines import call_lines
from hapgpu.calling.reads.segment_reader import SegmentSource
from hapgpu.calling.session import CallSession, SegmentWorker
from hapgpu.io.vcf.writer import VcfWriter
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.pool import MAX_IO_THREADS
from hapgpu.runtime.progress import Progress
from hapgpu.runtime.statistics import RunStatistics
from hapgpu.version import __version__


@dataclass(frozen=True, slots=True)
class _Lines:
    """VCF lines of a segment, its bases, and named counts of the work."""

    text: bytes
    bases: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Worker:
    """Worker that calls segments and formats the lines of their records."""

    worker: SegmentWorker

    def __call__(self, source: SegmentSource) -> _Lines:
        counts: Counter[str] = Counter()
        texts = []
        for part in self.worker(source):
            contig = part.segment.contig
            texts.append(call_lines(contig, part.calls, part.annotations, part.rows))
            counts.update(part.counts)
        segment = source.segment
        return _Lines(b"".join(texts), segment.end - segment.start, counts)


@dataclass(frozen=True, slots=True)
class _Sink:
    """Writer of lines and counts."""

    output: VcfWriter
    statistics: RunStatistics

    def __call__(self, lines: _Lines) -> int:
        self.output.write(lines.text)
        for name, number in lines.counts.items():
            self.statistics.count(name, number)
        return lines.bases


def write_calls(
    session: CallSession,
    output: str,
    statistics: RunStatistics,
    *,
    threads: int,
    command_line: str,
    progress: Progress | None = None,
) -> None:
    """Call all segments of a session, and write the variants as VCF.

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
        For the VCF header.
    progress
        Receives the number of bases of the calling intervals that are done.

    Raises
    ------
    InputError
        A read is malformed.
    OutputError
        The VCF cannot be written.
    """
    header = calls_header(session.contigs, session.samples, command_line, __version__)
    timed = statistics.timed
    lengths = list(session.contigs.values())
    with VcfWriter(output, header, lengths, min(threads, MAX_IO_THREADS)) as writer:
        run_pipeline(
            statistics.timed_source("read", session.segments()),
            [_Worker(worker) for worker in session.workers(timed)],
            timed("write", _Sink(writer, statistics)),
            progress=progress,
            total=session.bases,
            threaded=threads > 1,
        )
    for name, number in session.read_counts.items():
        statistics.count(name, number)
