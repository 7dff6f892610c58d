"""Recipe of `hapgpu call`: workers call one segment after the other, the output joins them.

The order of the records is that of the reference.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from functools import partial
from typing import Final, NamedTuple

from hapgpu.calling.batches import (
    Segment,
)
from hapgpu.calling.known.names import flags_of
from hapgpu.calling.output.call_lines import calls_header
from hapgpu.calling.output.gvcf_parts import GvcfPart, JoinedLines
from hapgpu.calling.output.realigned_records import (
    RealignedOutput,
)
from hapgpu.calling.reads.segments import (
    EmptyIntervals,
)
from hapgpu.calling.segment_calls import (
    VariantsOnly,
    call_mode,
    no_counts,
)
from hapgpu.calling.session import CallSession
from hapgpu.calling.worker import CALLED_GIVEN, SegmentWorker, Work
from hapgpu.io.alignments.record_order import RecordRun
from hapgpu.io.vcf.writer import VcfWriter
from hapgpu.runtime import leftovers
from hapgpu.runtime.output import CountingSink, Output
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.pool import MAX_IO_THREADS
from hapgpu.runtime.processes.allocator import keep_freed_memory
from hapgpu.runtime.progress import Progress
from hapgpu.runtime.statistics import RunStatistics
from hapgpu.version import __version__

GIVEN: Final = "given_alleles"
LOST_GIVEN: Final = "given_alleles_lost"
"""Counts of all given alleles, and of those without a record."""


class CalledParts(NamedTuple):
    """Formatted records of segments, and their realigned reads if they are wanted."""

    lines: list[bytes | GvcfPart | EmptyIntervals]
    realigned: list[tuple[Segment, RecordRun]]


def formatted(
    worker: SegmentWorker,
    mode: VariantsOnly,
    work: Work,
) -> Output[CalledParts]:
    """Call segments with a worker, and format their records."""
    counts: Counter[str] = Counter()
    parts = CalledParts([], [])
    for part in worker(work):
        if isinstance(part, EmptyIntervals):
            counts.update(no_counts(part.size))
            if part.bases.size:
                parts.lines.append(part)
            continue
        parts.lines.append(mode.lines(part))
        counts.update(part.counts)
        if part.realigned is not None:
            parts.realigned.append((part.segment, part.realigned))
    return Output(parts, counts, counts["bases"])


class _Writer:
    """Writer of lines, and of realigned reads if they are wanted."""

    def __init__(
        self, output: VcfWriter, joined: JoinedLines, realigned: RealignedOutput | None
    ) -> None:
        self._output = output
        self._joined = joined
        self._realigned = realigned

    def __call__(self, parts: CalledParts) -> None:
        self._output.write(b"".join(map(self._joined.add, parts.lines)))
        if self._realigned is not None:
            for segment, run in parts.realigned:
                self._realigned.write(segment, run)

    def finish(self) -> None:
        if self._realigned is not None:
            self._realigned.finish()
        self._output.write(self._joined.finish())
        self._output.finish()


def write_calls(
    session: CallSession,
    output: str,
    statistics: RunStatistics,
    *,
    threads: int,
    processes: int = 1,
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
    processes
        Number of processes that they are divided into.
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
    keep_freed_memory()
    timed = statistics.timed
    mode = call_mode(
        session.options,
        timed,
        flags=flags_of(session.known),
        has_given=session.given_alleles is not None,
    )
    header = calls_header(
        session.contigs,
        session.samples,
        command_line,
        __version__,
        fields=mode.fields,
        genomic=session.options.genomic_vcf,
    )
    lengths = list(session.contigs.values())
    io_threads = min(threads, MAX_IO_THREADS)
    with ExitStack() as stack:
        calls = stack.enter_context(VcfWriter(output, header, lengths, io_threads))
        records, realigned = None, None
        if bam_out is not None:
            records = session.realigned_records(command_line)
            realigned = RealignedOutput(bam_out, records, session.reference, io_threads)
            stack.enter_context(realigned)
        joined = JoinedLines(session.options.genomic, session.options.genotyping.ploidies)
        writer = _Writer(calls, joined, realigned)
        run_pipeline(
            statistics.timed_source("read", session.segments()),
            [partial(formatted, worker, mode) for worker in session.workers(timed, records)],
            timed("write", CountingSink(writer, statistics)),
            progress=progress,
            extent=session.bases,
            threaded=threads > 1,
            processes=session.processes(processes, [statistics]),
        )
        writer.finish()
        with leftovers.steady():
            stack.close()
    statistics.add(session.read_counts)
    if (given := session.given_alleles) is not None:
        called = statistics.counts.get(CALLED_GIVEN, 0)
        statistics.add({GIVEN: given, LOST_GIVEN: given - called})
