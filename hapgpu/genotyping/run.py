"""Genotyping of all sites of a session to a VCF."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hapgpu.genotyping.calls.vcf_lines import call_lines
from hapgpu.genotyping.session import AnyGenotyper, GenotypeSession
from hapgpu.io.vcf.header import genotyped_header
from hapgpu.io.vcf.writer import VcfWriter
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.pool import MAX_IO_THREADS
from hapgpu.runtime.progress import Progress
from hapgpu.runtime.statistics import RunStatistics
from hapgpu.version import __version__

PAIR_HMM: Final = "pairhmm"
"""Name of the pair-HMM stage in the statistics."""


@dataclass(frozen=True, slots=True)
class _Lines:
    """VCF lines of genotyped sites, the number of sites, and named counts of the work."""

    text: bytes
    sites: int
    counts: Mapping[str, int]


class _Worker:
    """Worker that genotypes groups of loci and formats the lines of their sites."""

    def __init__(self, genotyper: AnyGenotyper, statistics: RunStatistics) -> None:
        self._genotyper = genotyper
        self._statistics = statistics
        self._timed_lines = statistics.timed("genotype", self._lines)

    def __call__(self, group: Iterable[Any]) -> _Lines:
        with self._genotyper.active():
            found = self._statistics.timed_source("read", group)
            parts = [part for reads in found for part in self._timed_lines(reads)]
        counts: Counter[str] = Counter()
        for part in parts:
            counts.update(part.counts)
        return _Lines(
            b"".join(part.text for part in parts), sum(part.sites for part in parts), counts
        )

    def _lines(self, reads: Any) -> list[_Lines]:
        return [
            _Lines(call_lines(found.batch, found.calls), len(found.batch.sites), found.counts)
            for found in self._genotyper(reads)
        ]


@dataclass(frozen=True, slots=True)
class _Sink:
    """Writer of lines and counts."""

    output: VcfWriter
    statistics: RunStatistics

    def __call__(self, lines: _Lines) -> int:
        self.output.write(lines.text)
        for name, number in lines.counts.items():
            self.statistics.count(name, number)
        return lines.sites


def write_genotypes(
    session: GenotypeSession,
    output: str,
    statistics: RunStatistics,
    *,
    threads: int,
    command_line: str,
    progress: Progress | None = None,
) -> None:
    """Genotype all sites of a session, and write them as VCF.

    Parameters
    ----------
    session
        The open inputs; all sites are read.
    output
        Name of the VCF, or `-`: see `VcfWriter`.
    statistics
        Receives counts, and the time of each stage.
    threads
        CPU threads; 1: the calling thread does everything.
    command_line
        For the VCF header.
    progress
        Receives the number of sites written.

    Raises
    ------
    InputError
        A site or a read is malformed.
    OutputError
        The VCF cannot be written.
    """
    header = genotyped_header(
        session.header, session.contigs, session.samples, command_line, __version__
    )
    timed = statistics.timed
    lengths = list(session.contigs.values())
    with VcfWriter(output, header, lengths, min(threads, MAX_IO_THREADS)) as writer:
        workers = session.genotypers(timed)
        groups = session.groups(statistics.count, timed)
        run_pipeline(
            statistics.timed_source("read", groups),
            [_Worker(genotyper, statistics) for genotyper in workers],
            timed("write", _Sink(writer, statistics)),
            progress=progress,
            total=session.site_count,
            inputs=session.streamed,
            threaded=threads > 1,
        )
    for name, number in session.read_counts.items():
        statistics.count(name, number)
