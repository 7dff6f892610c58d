"""An FM index in GPU memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.resident import ResidentCopies
from hapgpu.runtime.gpu.staging import uploaded
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.shortread.index.fm_index import FMIndexArrays, SuffixSamples

_THREADS: Final = 256
_BLOCKS_PER_WORD: Final = 32

MARK_OTHER_BLOCKS: Final = Kernel(
    "shortread/other_blocks.cu",
    "mark_other_blocks",
    (
        Array("others", np.uint64, "blocks"),
        Array("words", np.uint32, "count"),
        Scalar("blocks", np.int32),
        Scalar("count", np.int32),
    ),
)


@dataclass(frozen=True, slots=True)
class DeviceIndex:
    """The arrays of `FMIndexArrays` on one GPU, as the structs that kernels take.

    Attributes
    ----------
    bwt
        Blocks of occurrences, number of blocks, and the primary row.
    jump
        Table, k-mer length, number of entries.
    suffixes
        Suffix array or sampled positions, their number, then the marks, their ranks and the
        number of words of marks (0 with a whole suffix array).
    reference
        Planes, others and number of blocks; uint32 words and their number; contig offsets and
        number of contigs. Bit b % 32 of word b // 32 is set if block b of the reference, or one of
        the next two, has letters other than bases.
    letters
        Positions, int64, and letters, uint8, of `ReferenceBases`.
    """

    bwt: tuple[object, ...]
    jump: tuple[object, ...]
    suffixes: tuple[object, ...]
    reference: tuple[object, ...]
    letters: tuple[GpuArray, GpuArray]


def index_bytes(index: FMIndexArrays) -> int:
    """Return the number of bytes that an index takes on a GPU."""
    return sum(array.nbytes for array in index.arrays().values())


def resident_index(index: FMIndexArrays, device: CudaDevice) -> DeviceIndex:
    """Return an index on a GPU, copied there once for as long as the index is in use.

    Raises
    ------
    DeviceError
        The index does not fit.
    """
    return _copies.on(index, device)


def _copied(index: FMIndexArrays) -> DeviceIndex:
    nothing = cupy.empty(2, dtype=np.uint32)
    bases, suffixes = index.bases, index.suffixes
    marks: tuple[object, ...] = (nothing.view(np.uint64), nothing, 0)
    if isinstance(suffixes, SuffixSamples):
        marks = (_on_device(suffixes.marks), _on_device(suffixes.ranks), suffixes.marks.size)
        suffixes = suffixes.positions
    others = _on_device(bases.others)
    return DeviceIndex(
        bwt=(
            _on_device(index.occurrences),
            index.occurrences.size // 8,
            index.primary,
        ),
        jump=(_on_device(index.jump), index.jump_length, index.jump.size),
        suffixes=(_on_device(suffixes), suffixes.size, *marks),
        reference=(
            _on_device(bases.planes),
            others,
            others.size,
            *_other_blocks(others),
            _on_device(index.contigs.offsets),
            index.contigs.offsets.size - 1,
        ),
        letters=(_on_device(bases.letter_positions), _on_device(bases.letters)),
    )


def _other_blocks(others: GpuArray) -> tuple[object, ...]:
    count = others.size // _BLOCKS_PER_WORD + 1
    words = cupy.empty(count, dtype=np.uint32)
    loaded = load_kernel(MARK_OTHER_BLOCKS, others.device.id)
    loaded.launch(-(-count // _THREADS), _THREADS, (others, words, others.size, count))
    return words, count


def _on_device(array: NDArray[Any]) -> GpuArray:
    return uploaded(np.ascontiguousarray(array))


_copies = ResidentCopies(
    "the index", index_bytes, _copied, "build it with --low-memory, or use --device cpu"
)
