"""How fast reads are mapped: what `hapgpu bench map` measures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from hapgpu.benchmark.baselines.backtracking import backtrack
from hapgpu.errors import InputError
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import SHORT_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.io.fastx.spans import ReadSpans
from hapgpu.mapping.index.build import build_index
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.mapping.index.open import open_index
from hapgpu.mapping.run.workers import block_transfer, mappers_for
from hapgpu.mapping.sam.options import SamOptions
from hapgpu.mapping.search import cpu
from hapgpu.mapping.search.hits import SearchOptions
from hapgpu.mapping.search.packed_reads import PackedReads, pack_reads
from hapgpu.runtime import leftovers
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device
from hapgpu.simulation.sequences import random_reference
from hapgpu.simulation.short_reads import simulated_blocks

_RANDOM_BASES = 8_000_000
_CPU_READS = 200_000
_GPU_READS = 5_000_000
_CPU_BACKTRACKED_READS = 50_000
_GPU_BACKTRACKED_READS = 2_000_000  # results take 800 bytes a read
_GPU_REPEATS: Final = 9
_CPU_REPEATS: Final = 3

_OPTIONS: Final = SearchOptions()


class Method(StrEnum):
    """How hits are searched."""

    FM = "fm"
    BACKTRACKING = "backtracking"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One line of the benchmark: `seconds` for all reads; `hits` of them, or results."""

    device: str
    what: str
    data: str
    reads: int
    hits: int
    seconds: float

    @property
    def reads_per_second(self) -> float:
        """Reads, both strands of each."""
        return self.reads / self.seconds


class _Part(NamedTuple):
    """A block of reads, and where they lie in it."""

    block: ReadBlock
    spans: ReadSpans


@dataclass(frozen=True, slots=True)
class _Data:
    """What is mapped."""

    name: str
    index: FMIndexArrays
    parts: list[_Part]

    @property
    def reads(self) -> int:
        return sum(len(part.spans) for part in self.parts)

    def beginning(self, reads: int) -> _Data:
        """Return the first parts, with about so many reads and less than 2**31 bytes of text."""
        read_ends = accumulate(len(part.spans) for part in self.parts)
        byte_ends = accumulate(part.block.text.size for part in self.parts)
        fitting = takewhile(
            lambda row: row[2] < 2**31 and row[1] - len(row[0].spans) < reads,
            zip(self.parts, read_ends, byte_ends, strict=True),
        )
        return _Data(self.name, self.index, [part for part, _, _ in fitting])


def benchmark_map(
    device: Device,
    *,
    reference: Path | None = None,
    reads: str | None = None,
    copies: int = 1,
    method: Method = Method.FM,
) -> Iterator[Measurement]:
    """Measure how fast all hits of reads with at most one error are found.

    On the CPU, with one thread and with all: packing and searching, and the whole way from the
    text of FASTQ to the text of SAM. On a GPU the kernels that pack and search, the text being
    there, and the whole way, from memory to memory.

    Parameters
    ----------
    device
        Where to compute.
    reference
        FASTA, whose index is taken from beside it or built; None for a random one of 8 million
        bases.
    reads
        FASTQ or FASTA; None for simulated ones out of the reference.
    copies
        How often all reads of the file are repeated, at least once.
    method
        Of searching. With `BACKTRACKING`, only some of many reads are searched, and nothing is
        measured but packing and searching.

    Raises
    ------
    InputError
        A file cannot be read, or the reference has no room for simulated reads.
    DeviceError
        The index does not fit into the memory of the GPU.
    """
    data = _data(device, reference, reads, copies)
    if isinstance(device, CudaDevice):
        return _on_gpu(data, device, method)
    return _on_cpu(data, device, method)


def _data(device: Device, reference: Path | None, reads: str | None, copies: int) -> _Data:
    index = _random_index(device) if reference is None else open_index(reference, device)
    reading = block_transfer([device], threads=1)
    if reads is None:
        count = _CPU_READS if isinstance(device, CpuDevice) else _GPU_READS
        source = simulated_blocks(index, count, reading.size, reading.allocate)
        name = "simulated reads"
    else:
        source = read_blocks(reads, reading.size, reading.allocate)
        name = f"{Path(reads).name} x{copies}"
    parts = [_Part(block, parse_block(block, SHORT_READS)) for block in source]
    if not parts:
        raise InputError(f"{reference}: no contig has 100 bases in a row to make reads of")
    place = "random reference" if reference is None else reference.name
    return _Data(f"{place}, {name}", index, parts * copies)


def _random_index(device: Device) -> FMIndexArrays:
    with leftovers.temporary_folder() as folder:
        path = Path(folder, "random.fa")
        path.write_bytes(b">random\n" + random_reference(_RANDOM_BASES).tobytes() + b"\n")
        return build_index(path, device)


def _on_cpu(data: _Data, device: CpuDevice, method: Method) -> Iterator[Measurement]:
    find = _found_by_search
    if method is Method.BACKTRACKING:
        find = _found_by_backtracking
        data = data.beginning(_CPU_BACKTRACKED_READS)

    def count(part: _Part) -> int:
        reads = pack_reads(part.block.text, part.spans.base_starts, part.spans.lengths)
        return find(data.index, reads)

    for threads in sorted({1, device.threads}):
        used = CpuDevice(threads)
        yield _measured(used, "pack and search", data, _timed(count, data.parts, threads))
        if method is Method.FM:
            yield _text_to_text(data, used)


def _on_gpu(data: _Data, device: CudaDevice, method: Method) -> Iterator[Measurement]:
    from hapgpu.benchmark.mapping_cuda import time_backtracking, time_search  # noqa: PLC0415  (imports CuPy)

    timed, reads = time_search, data.reads
    if method is Method.BACKTRACKING:
        timed, reads = time_backtracking, _GPU_BACKTRACKED_READS
    some = data.beginning(reads)
    texts = [part.block.text for part in some.parts]
    spans = [part.spans for part in some.parts]
    timing = timed(data.index, texts, spans, device, _GPU_REPEATS)
    yield _measured(device, "pack and search, kernels", some, timing)
    if method is Method.FM:
        yield _text_to_text(data, device)


def _text_to_text(data: _Data, device: Device) -> Measurement:
    mappers = mappers_for([device], data.index, _OPTIONS, SamOptions())

    def count(part: _Part) -> int:
        return mappers[0](part.block).counts["hits"]

    return _measured(device, "text to text", data, _timed(count, data.parts, len(mappers)))


def _found_by_search(index: FMIndexArrays, reads: PackedReads) -> int:
    return cpu.search(index, reads, _OPTIONS).hits.size


def _found_by_backtracking(index: FMIndexArrays, reads: PackedReads) -> int:
    return int(backtrack(index, reads).counts.sum())


def _timed(
    count: Callable[[_Part], int], parts: Sequence[_Part], threads: int
) -> tuple[int, float]:
    """Return the hits of all parts, and the seconds for them: the median of several runs."""
    count(parts[0])  # compiles
    seconds = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(_CPU_REPEATS):
            begin = time.perf_counter()
            hits = sum(pool.map(count, parts))
            seconds.append(time.perf_counter() - begin)
    return hits, float(np.median(seconds))


def _measured(device: Device, what: str, data: _Data, timing: tuple[int, float]) -> Measurement:
    return Measurement(device.name, what, data.name, data.reads, *timing)
