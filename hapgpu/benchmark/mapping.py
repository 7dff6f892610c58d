"""Benchmark of short-read mapping, for `hapgpu bench map`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Final, NamedTuple

from hapgpu.benchmark.backtracking import backtrack
from hapgpu.benchmark.measurement import (
    GPU_REPEATS,
    Measurement,
    measuring,
    plan,
    thread_variants,
    timed_blocks,
)
from hapgpu.benchmark.methods import SearchMethod
from hapgpu.benchmark.whole_runs import (
    WHOLE_RUN,
    CommandRun,
    RunCommand,
    files_of_run,
    measured_run,
)
from hapgpu.errors import InputError
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import SHORT_READS
from hapgpu.io.fastx.read_block import ReadBlock, ReadSpans
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device, usable_cpus
from hapgpu.runtime.pipeline import results_of
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.files import FM_INDEX_FILE, open_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.pipeline import ShortReadOptions, block_transfer, open_workers
from hapgpu.shortread.search import cpu
from hapgpu.shortread.search.hits import SearchOptions
from hapgpu.shortread.search.packed_reads import PackedReads, pack_reads
from hapgpu.simulation.sequences import random_reference
from hapgpu.simulation.short_reads import simulated_blocks

_RANDOM_BASES = 8_000_000
_CPU_READS = 200_000
_GPU_READS = 5_000_000
_SCALING_READS = 5_000_000
_CPU_BACKTRACKED_READS = 50_000
_GPU_BACKTRACKED_READS = 2_000_000  # results take 800 bytes per read

_SEARCH: Final = "pack and search"
_WHOLE_PATH: Final = "text to text"
_OPTIONS: Final = SearchOptions()


class _ParsedBlock(NamedTuple):
    """A block of reads, and their spans."""

    raw: ReadBlock
    spans: ReadSpans


@dataclass(frozen=True, slots=True)
class _Data:
    """The index and the reads of a benchmark."""

    name: str
    index: FMIndexArrays
    blocks: list[_ParsedBlock]

    @property
    def reads(self) -> int:
        return sum(len(block.spans) for block in self.blocks)

    def head(self, reads: int) -> _Data:
        """Return the first blocks: about `reads` reads and less than 2**31 bytes of text."""
        read_ends = accumulate(len(block.spans) for block in self.blocks)
        byte_ends = accumulate(block.raw.text.size for block in self.blocks)
        fitting = takewhile(
            lambda row: row[2] < 2**31 and row[1] - len(row[0].spans) < reads,
            zip(self.blocks, read_ends, byte_ends, strict=True),
        )
        return _Data(self.name, self.index, [block for block, _, _ in fitting])


def benchmark_map(
    device: Device,
    *,
    reference: Path | None = None,
    reads: str | None = None,
    copies: int = 1,
    method: SearchMethod = SearchMethod.FM,
    run: RunCommand | None = None,
) -> Iterator[Measurement]:
    """Measure the search for all hits of reads with at most one error.

    On the CPU, with one thread and with all threads: packing and searching, and the whole path
    from the text of FASTQ to the text of SAM. On a GPU: the kernels that pack and search, with the
    text in GPU memory, and the whole path, from host memory to host memory. At last, if `run` is
    given and the method is that of `hapgpu map`, the command with the reads in a file.

    Parameters
    ----------
    device
        The device.
    reference
        FASTA, whose index is loaded from beside it or built; None for a random reference of 8
        million bases.
    reads
        FASTQ or FASTA; None for reads simulated from the reference.
    copies
        How many times to use the reads of the file, at least once.
    method
        Search algorithm. With `BACKTRACKING`, only some of many reads are searched, and only
        packing and searching are measured.
    run
        Runs `hapgpu map`.

    Raises
    ------
    InputError
        A file cannot be read, or the reference is too short for simulated reads.
    DeviceError
        The index does not fit into the memory of the GPU.
    """
    with files_of_run() as directory:
        name, index = _reference(device, reference, directory)
        count = _CPU_READS if isinstance(device, CpuDevice) else _GPU_READS
        data = _data(device, index, name, reads, count, copies)
        tasks = 2 if method is SearchMethod.FM else 1
        has_run = run is not None and method is SearchMethod.FM
        plan(tasks * len(thread_variants(device)) + has_run)
        for line in _measurements(data, device, method):
            if line.task.startswith(_SEARCH):
                search = line  # at last with all threads
            yield line
        if run is not None and method is SearchMethod.FM:
            measuring(WHOLE_RUN)
            yield _whole_run(data, device, run, directory).compared_with(search)


def map_run(
    directory: Path, reference: Path | None, reads: str | None, copies: int, threads: int
) -> CommandRun:
    """Write an index and reads; return `hapgpu map` of them.

    Parameters
    ----------
    directory
        Output directory.
    reference, reads
        As for `benchmark_map`; 5 million reads are simulated.
    copies
        How many times to use the reads, at least once.
    threads
        CPU threads to prepare with.

    Raises
    ------
    InputError
        A file cannot be read, or the reference is too short for simulated reads.
    """
    device = CpuDevice(threads)
    name, index = _reference(device, reference, directory)
    data = _data(device, index, name, reads, _SCALING_READS, copies)
    return _command_run(data, directory)


def _reference(
    device: Device, reference: Path | None, directory: Path
) -> tuple[str, FMIndexArrays]:
    """Return the name of a reference, or of a random one, and its index."""
    if reference is not None:
        return reference.name, open_index(reference, device, usable_cpus())
    path = directory / "random.fa"
    path.write_bytes(b">random\n" + random_reference(_RANDOM_BASES).tobytes() + b"\n")
    return "random reference", build_index(path, device, usable_cpus())


def _measurements(data: _Data, device: Device, method: SearchMethod) -> Iterator[Measurement]:
    if isinstance(device, CudaDevice):
        return _on_gpu(data, device, method)
    return _on_cpu(data, device, method)


def _command_run(data: _Data, directory: Path) -> CommandRun:
    """Write the index and the reads; return `hapgpu map` of them."""
    index, reads = directory / "reference.hgx", directory / "reads.fq"
    FM_INDEX_FILE.save(data.index, index)
    with reads.open("wb") as file:
        file.writelines(block.raw.text.data for block in data.blocks)
    arguments = (index, reads, "-o", directory / "hits.sam")
    return CommandRun(data=data.name, unit="reads", command="map", arguments=arguments)


def _whole_run(data: _Data, device: Device, run: RunCommand, directory: Path) -> Measurement:
    whole = measured_run(run, _command_run(data, directory), device)
    timing = (whole.counts["hits"], whole.seconds)
    return _measured(device, WHOLE_RUN, data, timing).of_run(whole)


def _data(
    device: Device,
    index: FMIndexArrays,
    reference: str,
    reads: str | None,
    count: int,
    copies: int,
) -> _Data:
    """Return copies of the reads of a file, or of `count` simulated ones."""
    transfer = block_transfer([device], threads=1)
    if reads is None:
        source = simulated_blocks(index, count, transfer.size, transfer.allocate)
        name = "simulated reads" + (f" x{copies}" if copies > 1 else "")
    else:
        source = read_blocks(reads, transfer.size, transfer.allocate)
        name = f"{Path(reads).name} x{copies}"
    blocks = [_ParsedBlock(block, parse_block(block, SHORT_READS)) for block in source]
    if not blocks:
        raise InputError(f"{reference}: no contig has 100 bases in a row; give a longer reference")
    return _Data(f"{reference}, {name}", index, blocks * copies)


def _on_cpu(data: _Data, device: CpuDevice, method: SearchMethod) -> Iterator[Measurement]:
    count_hits = _hits_of_search
    if method is SearchMethod.BACKTRACKING:
        count_hits = _hits_of_backtracking
        data = data.head(_CPU_BACKTRACKED_READS)

    def count(block: _ParsedBlock) -> int:
        reads = pack_reads(block.raw.text, block.spans.base_starts, block.spans.lengths)
        return count_hits(data.index, reads)

    for used in thread_variants(device):
        measuring(f"{_SEARCH}, {used.name}")
        hits, seconds = timed_blocks(count, data.blocks, used.threads)
        yield _measured(used, _SEARCH, data, (sum(hits), seconds))
        if method is SearchMethod.FM:
            yield _text_to_text(data, used)


def _on_gpu(data: _Data, device: CudaDevice, method: SearchMethod) -> Iterator[Measurement]:
    from hapgpu.benchmark.cuda.mapping import time_backtracking, time_search  # noqa: PLC0415  (imports CuPy)

    timed, reads = time_search, data.reads
    if method is SearchMethod.BACKTRACKING:
        timed, reads = time_backtracking, _GPU_BACKTRACKED_READS
    head = data.head(reads)
    texts = [block.raw.text for block in head.blocks]
    spans = [block.spans for block in head.blocks]
    measuring(f"{_SEARCH}, kernels")
    timing = timed(data.index, texts, spans, device, GPU_REPEATS)
    yield _measured(device, f"{_SEARCH}, kernels", head, timing)
    if method is SearchMethod.FM:
        yield _text_to_text(data, device)


def _text_to_text(data: _Data, device: Device) -> Measurement:
    measuring(_WHOLE_PATH)
    mappers = open_workers([device], data.index, ShortReadOptions(search=_OPTIONS))

    def count(block: _ParsedBlock) -> int:
        return sum(part.counts["hits"] for part in results_of(mappers[0], block.raw))

    hits, seconds = timed_blocks(count, data.blocks, len(mappers))
    return _measured(device, _WHOLE_PATH, data, (sum(hits), seconds))


def _hits_of_search(index: FMIndexArrays, reads: PackedReads) -> int:
    return cpu.search(index, reads, _OPTIONS).hits.size


def _hits_of_backtracking(index: FMIndexArrays, reads: PackedReads) -> int:
    return int(backtrack(index, reads).counts.sum())


def _measured(device: Device, task: str, data: _Data, timing: tuple[int, float]) -> Measurement:
    hits, seconds = timing
    return Measurement(
        device=device.name,
        task=task,
        data=data.name,
        unit="reads",
        numbers={"reads": data.reads, "hits": hits},
        seconds=seconds,
    )
