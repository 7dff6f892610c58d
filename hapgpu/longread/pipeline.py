"""Long-read mapping: reads to lines of PAF or SAM.

Workers take blocks of reads through the stages in this order (`stages`):

1. `io.fastx`: the text of a block to the spans of its reads,
2. `index.sketch`, `seed`: bases to minimizers, to seeds, to sorted anchors,
3. `chain`: anchors to chains, joined over long gaps,
4. `mappings`: chains to mappings, their divergences and mapping qualities,
5. `align`: base alignments of the mappings, if they are wanted (`cpu.CpuAligner`),
6. `output`: lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Final

import numpy as np

from hapgpu.arrays.ragged import Ragged
from hapgpu.io.alignments.text_pipeline import (
    ReadFiles,
    SamOutput,
    open_lines,
    process_reads,
)
from hapgpu.io.fastx.block_workers import BlockTransfer, BlockWorker, transfer_for, workers_for
from hapgpu.io.files.output import OutputFile
from hapgpu.io.files.text_output import open_text
from hapgpu.longread.align.batches import TargetCodes
from hapgpu.longread.align.start import code_targets
from hapgpu.longread.anchor_chains import chains_of_anchors
from hapgpu.longread.batches import AnchorChains, Chains
from hapgpu.longread.cpu import CpuAligner, CpuChainer
from hapgpu.longread.index.files import open_index, open_index_with_bases
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import LineOptions, LongReadOptions
from hapgpu.longread.parameters import chain_parameters
from hapgpu.longread.seed.anchor_files import load_anchors
from hapgpu.longread.seed.predecessor_ranges import range_statistics
from hapgpu.longread.warm_up import warming_up
from hapgpu.runtime.devices import CudaDevice, Device, gpus_of
from hapgpu.runtime.gpu_processes import gpu_processes
from hapgpu.runtime.run_context import RunContext

_CPU_BLOCK: Final = 4 << 20
_GPU_BLOCK: Final = 64 << 20  # pinned memory takes long to get: there are several blocks of it
WORKERS_PER_GPU: Final = 8  # the longest reads of a block leave warps for other blocks
ALIGNERS_PER_GPU: Final = 4  # more are slower, and a block takes some 3 GB
_READ, _CHAINED, _COUNTED = 0.5, 0.75, 0.93
"""Fraction of the time at the end of each phase of anchors: 20 million on four cores."""


def map_long_reads(
    run: RunContext,
    reference: Path,
    files: ReadFiles,
    options: LongReadOptions,
    output: Path | None,
) -> None:
    """Map the reads of all files, one file after the other, to PAF without base alignments.

    Parameters
    ----------
    run
        Devices and threads; receives counts, times and progress.
    reference
        FASTA, or an index; the index of a FASTA file is built if there is none.
    files
        The reads.
    options
        Options of long-read mapping.
    output
        The file; None is standard output.

    Raises
    ------
    InputError
        A file cannot be read, or a record is malformed.
    OutputError
        The output cannot be written.
    DeviceError
        The index does not fit into the memory of a GPU.
    """
    gpus = gpus_of(run.devices)
    processes = gpu_processes(gpus, run.processes)

    def open_made(index: MinimizerIndex, _sequences: Ragged, gpu: CudaDevice) -> BlockWorker:
        return open_worker(options, index, gpu)

    with open_text(output, run.threads) as write:
        with (
            warming_up(gpus if processes == 1 else [], options.sketch, open_made),
            run.showing("bases", "index") as progress,
        ):
            index = run.statistics.timed("index", open_index)(
                reference, options.sketch, run.threads, progress
            )
        workers = open_workers(run.devices, index, options, processes)
        transfer = block_transfer(run.devices, run.threads, processes)
        process_reads(run, "chain", files, transfer, workers, write)


def align_long_reads(
    run: RunContext,
    reference: Path,
    files: ReadFiles,
    options: LongReadOptions,
    lines: LineOptions,
    output: Path | SamOutput | None,
) -> None:
    """Map and align the reads of all files, one file after the other.

    Parameters
    ----------
    run, files, options
        As for `map_long_reads`.
    reference
        FASTA.
    lines
        Options for the lines.
    output
        The file of PAF, None for standard output; or the output of SAM.

    Raises
    ------
    InputError
        A file cannot be read, or a record is malformed.
    OutputError
        The output cannot be written.
    DeviceError
        The index or the bases of the reference do not fit into the memory of a GPU.
    """
    gpus = gpus_of(run.devices)
    processes = gpu_processes(gpus, run.processes)
    open_here = partial(open_aligner, options=options, lines=lines)

    def open_made(index: MinimizerIndex, sequences: Ragged, gpu: CudaDevice) -> BlockWorker:
        return open_here(index, code_targets(sequences), gpu)

    with (
        warming_up(gpus if processes == 1 else [], options.sketch, open_made),
        run.showing("bases", "index") as progress,
    ):
        index, records = run.statistics.timed("index", open_index_with_bases)(
            reference, options.sketch, run.threads, progress
        )
        targets = code_targets(records.sequences, run.threads)
        del records
    workers = workers_for(
        run.devices,
        partial(open_here, index, targets),
        per_gpu=ALIGNERS_PER_GPU,
        processes=processes,
    )
    transfer = block_transfer(run.devices, run.threads, processes)
    copying_threads = transfer.writing_threads
    contigs = index.names, index.lengths.tolist()
    with (
        output.opened(*contigs, reference, run.threads, copying_threads)
        if isinstance(output, SamOutput)
        else open_lines(output, run.threads)
    ) as opened:
        process_reads(run, "align", files, transfer, opened.wrapped(workers), opened.write)


def chain_anchor_file(
    run: RunContext, path: Path, options: LongReadOptions, max_record: int, output: Path | None
) -> None:
    """Chain the anchors of a file, and write their scores and chains as arrays of NumPy.

    Parameters
    ----------
    run
        Its first device computes; receives the counts, the predecessor ranges, and progress.
    path
        A .npz file that `load_anchors` reads.
    options
        Only the options on chains and the length of k-mers apply.
    max_record
        See `load_anchors`.
    output
        Becomes a .npz file, None for standard output: `f` and `p` are the columns of
        `ChainScores`, `chain_…` those of `Chains`.

    Raises
    ------
    InputError
        The file cannot be read, or does not contain anchors.
    OutputError
        The output cannot be written.
    DeviceError
        A single read does not fit the device, or the device failed.
    """
    statistics = run.statistics
    parameters = chain_parameters(options.chains, options.sketch.k)
    with OutputFile(output) as file, run.showing("anchors") as progress:
        progress.phase("reading", _READ)
        anchors = statistics.timed("read", load_anchors)(path, max_record)
        progress.phase("chaining", _CHAINED, anchors.x.size)
        result = statistics.timed("chain", chains_of_anchors)(anchors, parameters, run.devices[0])
        chains = result.chains.scores.size
        statistics.add({"reads": len(anchors), "anchors": anchors.x.size, "chains": chains})
        progress.phase("counting predecessors", _COUNTED)
        statistics.describe("predecessor_ranges", asdict(range_statistics(anchors, parameters)))
        progress.phase("writing", 1.0)
        file.write(_as_npz(result))


def _as_npz(result: AnchorChains) -> memoryview:
    file = BytesIO()
    chains = {f"chain_{each.name}": getattr(result.chains, each.name) for each in fields(Chains)}
    np.savez(file, f=result.scores, p=result.predecessors, **chains)
    return file.getbuffer()


def open_workers(
    devices: Sequence[Device], index: MinimizerIndex, options: LongReadOptions, processes: int = 1
) -> list[BlockWorker]:
    """Return one chainer per worker: one per CPU thread, or several per GPU.

    `processes` is the result of `gpu_processes`.

    Raises
    ------
    DeviceError
        The index does not fit into the memory of a GPU.
    """
    return workers_for(
        devices,
        partial(open_worker, options, index),
        per_gpu=WORKERS_PER_GPU,
        processes=processes,
    )


def open_worker(options: LongReadOptions, index: MinimizerIndex, device: Device) -> BlockWorker:
    """Return a chainer of blocks of reads on a device."""
    if isinstance(device, CudaDevice):
        from hapgpu.longread.cuda.stages import CudaChainer  # noqa: PLC0415  (imports CuPy)

        return CudaChainer(index, options, device)
    return CpuChainer(index, options)


def open_aligner(
    index: MinimizerIndex,
    targets: TargetCodes,
    device: Device,
    *,
    options: LongReadOptions,
    lines: LineOptions,
) -> BlockWorker:
    """Return an aligner of blocks of reads on a device."""
    if isinstance(device, CudaDevice):
        from hapgpu.longread.cuda.aligners import CudaAligner  # noqa: PLC0415  (imports CuPy)

        return CudaAligner(index, targets, options, lines, device)
    return CpuAligner(index, targets, options, lines)


def block_transfer(devices: Sequence[Device], threads: int, processes: int = 1) -> BlockTransfer:
    """Return the block transfer for the devices, which are all CPUs or all GPUs.

    `processes` is the result of `gpu_processes`.
    """
    return transfer_for(
        devices, threads, cpu_bytes=_CPU_BLOCK, gpu_bytes=_GPU_BLOCK, processes=processes
    )
