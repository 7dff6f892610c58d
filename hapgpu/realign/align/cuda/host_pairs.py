"""Large batches of host memory, in pieces: the copies of a piece run beside the kernels of others.

To copy pairs takes about as long as to align them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.realign.align.cuda.batches import DeviceAlignments, DevicePairs
from hapgpu.runtime.gpu.context import thread_streams

PIECE_PAIRS: Final = 1 << 17
"""Pairs of a piece: enough for the largest GPU."""


def aligned_in_pieces(
    pairs: PairBatch, align: Callable[[DevicePairs], DeviceAlignments]
) -> AlignmentBatch | None:
    """Align a batch on the current GPU and stream; another thread uploads the next piece meanwhile.

    Parameters
    ----------
    pairs
        n pairs.
    align
        Aligns pairs on the current GPU and stream.

    Returns
    -------
    n alignments in the order of the pairs; None if the batch is small, or if pairs share sequences:
    then it is uploaded as it is.

    Raises
    ------
    MemoryError
        The memory of the GPU is too small for two pieces.
    """
    if len(pairs) <= PIECE_PAIRS or not _is_row_by_row(pairs):
        return None
    found = _Found(len(pairs))
    for start, piece in _uploaded_pieces(pairs):
        found.add(start, align(piece).download())
    return found.alignments()


def _is_row_by_row(pairs: PairBatch) -> bool:
    """Return whether pair i is row i of the references with row i of the queries."""
    rows = np.arange(len(pairs), dtype=np.int32)
    return (
        len(pairs.references) == len(pairs.queries) == len(pairs)
        and np.array_equal(pairs.reference_index, rows)
        and np.array_equal(pairs.query_index, rows)
    )


def _uploaded_pieces(pairs: PairBatch) -> Iterator[tuple[int, DevicePairs]]:
    """Yield pieces with the numbers of their first pairs.

    The kernels of a piece must be done at the next step: the other thread uses its memory again,
    on another stream.
    """
    device = cupy.cuda.Device().id

    def upload(start: int) -> tuple[int, DevicePairs]:
        rows = slice(start, start + PIECE_PAIRS)
        references, queries = pairs.references[rows], pairs.queries[rows]
        index = pairs.reference_index[: len(references)]
        with cupy.cuda.Device(device), thread_streams(device, 1)[0] as stream:
            piece = DevicePairs.upload(PairBatch(references, queries, index, index))
            stream.synchronize()
        return start, piece

    with ThreadPoolExecutor(1) as executor:
        following = executor.submit(upload, 0)
        for start in range(PIECE_PAIRS, len(pairs), PIECE_PAIRS):
            piece = following.result()
            following = executor.submit(upload, start)
            yield piece
            del piece
        yield following.result()


class _Found:
    """Alignments of n pairs, added piece by piece, in order."""

    def __init__(self, pairs: int) -> None:
        self._scores = np.empty(pairs, dtype=np.int32)
        self._offsets = np.empty(pairs, dtype=np.int32)
        self._cigar_offsets = np.zeros(pairs + 1, dtype=np.int64)
        self._cigars: list[NDArray[np.uint32]] = []

    def add(self, start: int, found: AlignmentBatch) -> None:
        """Add the alignments of the pairs from `start` on."""
        end = start + len(found)
        self._scores[start:end] = found.scores
        self._offsets[start:end] = found.offsets
        before = self._cigar_offsets[start]
        np.add(found.cigars.offsets[1:], before, out=self._cigar_offsets[start + 1 : end + 1])
        self._cigars.append(found.cigars.data)

    def alignments(self) -> AlignmentBatch:
        """Return all alignments."""
        cigars = Ragged(np.concatenate(self._cigars), self._cigar_offsets)
        return AlignmentBatch(self._scores, self._offsets, cigars)
