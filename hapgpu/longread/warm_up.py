"""Start of a GPU while the index is built: CUDA, kernels, and memory, by aligning a made read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Final, TypeAlias

import numpy as np

from hapgpu.arrays.ragged import Ragged
from hapgpu.io.fastx.block_workers import BlockWorker
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.genome.fasta import FastaRecords
from hapgpu.longread.index.build import index_of_records
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import SketchOptions
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.pool import Pool

logger = logging.getLogger(__name__)

_BASES: Final = np.frombuffer(b"ACGT", dtype=np.uint8)
_REFERENCE_BASES: Final = 20_000
_READ: Final = slice(3_000, 15_000)
_EVERY: Final = 40
"""A base of so many is left out of the read."""

OpenWorker: TypeAlias = Callable[[MinimizerIndex, Ragged, CudaDevice], BlockWorker]
"""Opens a worker for a reference: its index, and the uint8 text of its sequences."""


@contextmanager
def warming_up(
    gpus: Sequence[CudaDevice], sketch: SketchOptions, open_worker: OpenWorker
) -> Iterator[None]:
    """Start GPUs in threads during the context, whose end waits for them.

    A GPU that fails here fails again in the run, which tells the user.

    Parameters
    ----------
    gpus
        GPUs that this process uses.
    sketch
        Minimizers of the run.
    open_worker
        Opens a worker of the run, for another reference.
    """
    threads = [
        Thread(target=_warm_up, args=(gpu, sketch, open_worker), name="hapgpu-start", daemon=True)
        for gpu in {gpu.index: gpu for gpu in gpus}.values()
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


def _warm_up(gpu: CudaDevice, sketch: SketchOptions, open_worker: OpenWorker) -> None:
    try:
        records, block = _made_data()
        with Pool(1) as pool:
            index = index_of_records(records, sketch, pool)
        open_worker(index, records.sequences, gpu)(block)
    except Exception as error:  # noqa: BLE001  (the run fails in the same way, and says so)
        logger.info("%s: %s", gpu.name, error)


def _made_data() -> tuple[FastaRecords, ReadBlock]:
    """Return a random sequence, and a read of it with deletions."""
    draws = np.random.default_rng(1)
    sequence = _BASES[draws.integers(0, _BASES.size, _REFERENCE_BASES)]
    read = np.delete(sequence[_READ], np.s_[::_EVERY])
    lines = b"@read", read.tobytes(), b"+", b"5" * read.size, b""
    text = np.frombuffer(b"\n".join(lines), dtype=np.uint8)
    records = FastaRecords(("made",), ("",), Ragged.from_sequences([sequence.tobytes()]))
    return records, ReadBlock(text, is_fasta=False, first=1, name="made")
