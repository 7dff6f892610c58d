"""Benchmark of base alignment: whole reads, each stage on the CPU, `hapgpu chain -a`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from hapgpu.benchmark.long_read_data import LongReadData
from hapgpu.benchmark.measurement import Measurement, measuring, thread_variants, timed_blocks
from hapgpu.benchmark.stages import StageClock
from hapgpu.benchmark.whole_runs import CommandRun, RunCommand, files_of_run, measured_run
from hapgpu.io.fastx.block_workers import BlockWorker, workers_for
from hapgpu.io.fastx.read_block import ReadBlock, TextBlock
from hapgpu.longread.align.batches import FILL, PieceAlignments, Pieces, SequenceCodes, TargetCodes
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.longread.align.pipeline import AlignStages
from hapgpu.longread.align.start import code_targets
from hapgpu.longread.cpu import CPU_RUN, CpuAligner, RunStages
from hapgpu.longread.index.files import MINIMIZER_FILE
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.index.names import default_index_path
from hapgpu.longread.options import LineOptions, LongReadOptions
from hapgpu.longread.output.parts import all_lines
from hapgpu.longread.pipeline import ALIGNERS_PER_GPU, open_aligner
from hapgpu.runtime.devices import CpuDevice, Device, usable_cpus
from hapgpu.runtime.pipeline import results_of

ALIGN_STAGES: Final = (
    *("codes", "pieces", "fills", "other pieces"),
    *("drops", "assembly", "cigars", "ranking", "SAM lines"),
)
"""The stages after chaining, in order."""

WHOLE_ALIGNMENT: Final = "whole run, SAM"
"""Task of a measurement of `hapgpu chain -a`, from its files to its output."""

_WHOLE_PATH: Final = "text to SAM"
_SAM: Final = LineOptions(is_sam=True)


def alignment_measurements(device: Device, *, runs: bool) -> int:
    """Return the number of measurements of `benchmark_alignments`."""
    stages = len(ALIGN_STAGES) if isinstance(device, CpuDevice) else 0
    return len(thread_variants(device)) + stages + runs


def benchmark_alignments(
    device: Device, data: LongReadData, options: LongReadOptions, run: RunCommand | None
) -> Iterator[Measurement]:
    """Measure base alignment, from memory to memory, and `hapgpu chain -a`.

    Parameters
    ----------
    device
        A GPU, or the CPU: measured with one thread and with all, and stage by stage.
    data
        Reference and reads.
    options
        Options of long-read mapping.
    run
        Runs `hapgpu chain` with these options; None: no whole run.
    """
    targets = code_targets(data.records.sequences, usable_cpus())
    open_worker = partial(open_aligner, data.index, targets, options=options, lines=_SAM)
    for variant in thread_variants(device):
        measuring(f"{_WHOLE_PATH}, {variant.name}")
        aligners = workers_for([variant], open_worker, per_gpu=ALIGNERS_PER_GPU)
        compute = partial(compute_all, aligners[0])
        _, seconds = timed_blocks(compute, data.blocks, len(aligners))
        in_memory = data.measured(variant, _WHOLE_PATH, seconds)
        yield in_memory
    if isinstance(device, CpuDevice):
        measuring("stages of base alignment")
        staged = StagedAligner(data.index, targets, options)
        for stage, seconds in staged.seconds_of(data.blocks).items():
            yield data.measured(CpuDevice(1), stage, seconds)
    if run is not None:
        measuring(WHOLE_ALIGNMENT)
        yield _whole_run(data, device, run).compared_with(in_memory)


def compute_all(worker: BlockWorker, block: ReadBlock) -> None:
    """Compute a block, with all the parts into which the worker divides it."""
    for _ in results_of(worker, block):
        pass


class StagedAligner(StageClock):
    """Aligner of blocks that adds up the time of each stage.

    Parameters
    ----------
    index, targets
        Index of the reference, built with `options.sketch`, and its bases.
    options
        Options of long-read mapping.

    """

    def __init__(
        self, index: MinimizerIndex, targets: TargetCodes, options: LongReadOptions
    ) -> None:
        super().__init__(ALIGN_STAGES)
        stages = self._timed_stages(CPU_RUN)
        self._align: BlockWorker = CpuAligner(index, targets, options, _SAM, stages)

    def __call__(self, block: ReadBlock) -> TextBlock:
        """Return the lines of a block."""
        return TextBlock.joined(list(results_of(self._align, block)))

    def _timed_stages(self, stages: RunStages) -> RunStages:
        def writer(*arguments: Any) -> Callable[..., Callable[[], TextBlock]]:
            first_lines = self.timed("SAM lines", stages.writer(*arguments))
            write = self.timed("SAM lines", all_lines)
            return lambda *mappings: partial(write, first_lines(*mappings))

        align = stages.align
        return RunStages(
            code_reads=self.timed("codes", stages.code_reads),
            align=AlignStages(
                plan_pieces=self.timed("pieces", align.plan_pieces),
                align_pieces=self._align_kinds,
                find_drops=self.timed("drops", align.find_drops),
                assemble=self.timed("assembly", align.assemble),
                finish_alignments=self.timed("cigars", align.finish_alignments),
                rank=self.timed("ranking", align.rank),
            ),
            writer=writer,
        )

    def _align_kinds(
        self,
        pieces: Pieces,
        sequences: SequenceCodes,
        scoring: AlignScoring,
        parameters: AlignParameters,
    ) -> PieceAlignments:
        """Align the fills, then all other pieces."""
        is_fill = pieces.kinds == FILL
        rows, parts = [], []
        for stage, chosen in (("fills", is_fill), ("other pieces", ~is_fill)):
            align = self.timed(stage, CPU_RUN.align.align_pieces)
            rows.append(np.flatnonzero(chosen))
            parts.append(align(pieces.take(rows[-1]), sequences, scoring, parameters))
        return PieceAlignments.joined(parts).take(np.argsort(np.concatenate(rows)))


def alignment_run(data: LongReadData, directory: Path) -> CommandRun:
    """Write the index and the reads; return `hapgpu chain -a` of them."""
    reference = directory / data.reference.name
    reference.symlink_to(data.reference.resolve())
    MINIMIZER_FILE.save(data.index, default_index_path(reference, data.index.sketch))
    reads, output = data.written_reads(directory), directory / "alignments.sam"
    return CommandRun(
        task=WHOLE_ALIGNMENT,
        data=data.name,
        unit="bases",
        command="chain",
        arguments=("-a", reference, reads, "-o", output),
    )


def _whole_run(data: LongReadData, device: Device, run: RunCommand) -> Measurement:
    with files_of_run() as directory:
        whole = measured_run(run, alignment_run(data, directory), device)
    return data.measured(device, WHOLE_ALIGNMENT, whole.seconds).of_run(whole)
