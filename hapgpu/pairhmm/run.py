"""The run of `hapgpu pairhmm` on aligned reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from hapgpu.arrays.batches import split_batches
from hapgpu.errors import InputError
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.alignments.read_selection import ReadSelection
from hapgpu.io.alignments.reader import ReadSource, open_reads
from hapgpu.io.files.text_output import WriteText, open_text
from hapgpu.pairhmm.reads.scorer import ReadLikelihoods, Scorer, ScorerOptions
from hapgpu.pairhmm.reads.tables import MatrixTable, PairTable, Table
from hapgpu.pairhmm.resources import LikelihoodRun
from hapgpu.runtime.devices import CpuDevice, CudaDevice, worker_devices
from hapgpu.runtime.pool import MAX_IO_THREADS
from hapgpu.runtime.statistics import RunStatistics

if TYPE_CHECKING:
    from hapgpu.io.bam.cuda.reader import DeviceReads  # imports CuPy

_CELLS_PER_BATCH: Final = 10_000_000_000
_BASES_PER_BATCH: Final = 4_000_000
_LIKELIHOODS_PER_BATCH: Final = 400_000  # limits the text of a batch
_PIECE_BYTES: Final = 36 << 20  # of a BAM to a GPU; with more, the lines take more memory
_MIN_PIECE_BYTES: Final = 1 << 16
_USUAL_CANDIDATES: Final = 8  # pieces are smaller where a locus has more haplotypes


@dataclass(frozen=True, slots=True)
class _ReadSink:
    """Sink that writes the likelihoods of reads, and counts them."""

    write: WriteText
    table: Table
    statistics: RunStatistics

    def __call__(self, scored: ReadLikelihoods) -> int:
        self.write(self.table.lines(scored).data)
        for name, number in scored.counts.items():
            self.statistics.count(name, number)
        return scored.counts["reads"]


def score_reads(
    run: LikelihoodRun,
    reads: ReadSelection,
    haplotypes: HaplotypeSet,
    options: ScorerOptions,
    *,
    reference: Path | None,
    as_matrix: bool,
) -> None:
    """Compute the likelihoods of aligned reads and write a table.

    Parameters
    ----------
    run
        Resources of the run.
    reads
        The reads.
    haplotypes
        The haplotypes.
    options
        Options of the likelihoods.
    reference
        FASTA with its index, of CRAM and of the flanks of extended haplotypes.
    as_matrix
        Write a line per read, instead of a line per pair.
    """
    table: Table = MatrixTable(haplotypes) if as_matrix else PairTable(haplotypes)
    with _opened(run, reads, haplotypes, reference) as source:
        if source.is_fastq:
            raise InputError(
                f"{reads.path}: FASTQ, but likelihoods need the orientation and mapping quality of"
                " aligned reads; map the reads to BAM first"
            )
        if isinstance(run.devices[0], CpuDevice):
            batches = cast("ReadSource", source).batches()
            scorers = [
                Scorer(haplotypes, source.header, options, device, reads.path, reference)
                for device in worker_devices(run.devices)
            ]
            size = max(1, _LIKELIHOODS_PER_BATCH // (table.columns or haplotypes.max_candidates))
            with open_text(run.output, run.threads) as write:
                write(memoryview(table.header))
                sink = _ReadSink(write, table, run.statistics)
                run.pipe(split_batches(batches, size), scorers, sink, source_name=reads.path)
        else:
            from hapgpu.pairhmm.run_cuda import score_records  # noqa: PLC0415  (imports CuPy)

            records = cast("DeviceReads", source)
            score_records(
                run,
                records,
                haplotypes,
                options,
                table=table,
                source=reads.path,
                reference=reference,
            )


def _opened(
    run: LikelihoodRun, reads: ReadSelection, haplotypes: HaplotypeSet, reference: Path | None
) -> ReadSource | DeviceReads:
    """Open the reads, in GPU memory if GPUs compute and they are not FASTQ."""
    regions = reads.regions.or_else(haplotypes.loci)
    if isinstance(run.devices[0], CpuDevice):
        return open_reads(
            reads.path,
            threads=min(run.threads, MAX_IO_THREADS),
            batch_bases=_bases_per_batch(haplotypes),
            reference=reference,
            regions=regions,
            max_record=reads.max_record,
        )
    from hapgpu.io.alignments.cuda import open_device_reads  # noqa: PLC0415  (imports CuPy)

    return open_device_reads(
        reads.path,
        cast("Sequence[CudaDevice]", run.devices),
        threads=run.threads,
        piece_bytes=_piece_bytes(haplotypes),
        reference=reference,
        regions=regions,
        max_record=reads.max_record,
    )


def _bases_per_batch(haplotypes: HaplotypeSet) -> int:
    """Return the number of read bases per batch, fewer for more and longer haplotypes."""
    index = np.maximum(haplotypes.locus_index, 0)
    columns = np.bincount(index, weights=haplotypes.sequences.lengths).max()
    return max(1, min(_BASES_PER_BATCH, int(_CELLS_PER_BATCH // columns)))


def _piece_bytes(haplotypes: HaplotypeSet) -> int:
    """Return the bytes of a BAM to compute at a time, fewer for more haplotypes."""
    candidates = max(haplotypes.max_candidates, _USUAL_CANDIDATES)
    return max(_USUAL_CANDIDATES * _PIECE_BYTES // candidates, _MIN_PIECE_BYTES)
