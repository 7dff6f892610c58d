"""Records of FASTA in GPU memory: their starts, and their lines joined (`fasta_lines.cu`)."""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from hapgpu.io.fastx.cuda import newlines_of
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.launch import load_kernel

_SOURCE: Final = "io/fastx/fasta_lines.cu"
_THREADS: Final = 256
_WARPS_PER_BLOCK: Final = _THREADS // 32
_TILE_BYTES: Final = 1024  # kTileBytes in the source

_TEXT: Final = (Array("text", np.uint8, "size"), Array("newlines", np.int32, "newline_count"))
_SIZES: Final = (Scalar("size", np.int32), Scalar("newline_count", np.int32))

FIND_RECORD_STARTS: Final = Kernel(
    _SOURCE,
    "find_record_starts",
    (*_TEXT, Array("starts", np.int32, "two"), *_SIZES, Scalar("two", np.int32)),
)
MEASURE_FASTA_LINES: Final = Kernel(
    _SOURCE,
    "measure_fasta_lines",
    (*_TEXT, Array("sizes", np.int32, "newline_count", 1), *_SIZES),
)
JOIN_FASTA_LINES: Final = Kernel(
    _SOURCE,
    "join_fasta_lines",
    (
        *_TEXT,
        Array("offsets", np.int32, "newline_count", 1),
        Array("joined", np.uint8, "joined_size"),
        *_SIZES,
        Scalar("joined_size", np.int32),
    ),
)


def record_starts(text: Any, newlines: Any) -> tuple[int, int]:
    """Return how many records start after a newline, and where the last does; 0 without one.

    Waits for the stream.

    Parameters
    ----------
    text, newlines
        uint8 on the GPU, and the offsets of its newlines.
    """
    starts = cupy.zeros(2, dtype=np.int32)
    count = int(newlines.size)
    if count:
        _launch(FIND_RECORD_STARTS, count, (text, newlines, starts, text.size, count, 2))
    records, last = starts.get().tolist()
    return records, last


def join_lines(text: Any) -> Any:
    """Return records with a line for the header and a line for the sequence, as `LineJoiner` does.

    Waits for the stream.

    Parameters
    ----------
    text
        uint8 on the GPU: whole records, which end with a newline. The result must have less than
        2**31 bytes.
    """
    newlines = newlines_of(text)
    count = int(newlines.size)
    sizes = cupy.empty(count + 1, dtype=np.int32)
    _launch(MEASURE_FASTA_LINES, count, (text, newlines, sizes, text.size, count))
    offsets = cupy.cumsum(sizes, dtype=np.int32)
    joined = cupy.empty(int(offsets[-1]) + 1, dtype=np.uint8)
    tiles = -(-text.size // _TILE_BYTES)
    arguments = (text, newlines, offsets, joined, text.size, count, joined.size)
    load_kernel(JOIN_FASTA_LINES, text.device.id).launch(
        -(-tiles // _WARPS_PER_BLOCK), _THREADS, arguments
    )
    return joined


def _launch(kernel: Kernel, threads: int, arguments: tuple[Any, ...]) -> None:
    """Launch a kernel with at least `threads` threads."""
    load_kernel(kernel, arguments[0].device.id).launch(-(-threads // _THREADS), _THREADS, arguments)
