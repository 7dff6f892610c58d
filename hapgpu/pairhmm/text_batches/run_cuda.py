"""Text batches on GPUs: text goes up, and the text of the likelihoods comes down."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, TypeVar

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import DeviceError
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.device_batches import DeviceHmmBatch
from hapgpu.pairhmm.forward.cuda import device_log10_likelihoods, log10_likelihoods
from hapgpu.pairhmm.text_batches.parser import TextPiece, parse_piece
from hapgpu.pairhmm.text_batches.parser_cuda import parse_on_gpu
from hapgpu.pairhmm.text_batches.reader import text_pieces
from hapgpu.pairhmm.text_batches.tables import ScoredText, counts_of, scored_text
from hapgpu.pairhmm.text_batches.tables_cuda import table_text
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import (
    OUT_OF_MEMORY,
    device_errors,
    download_pinned,
    pinned_array,
    release_memory,
    thread_streams,
)
from hapgpu.runtime.gpu.memory_turns import memory_turns
from hapgpu.runtime.relay import Relay

_PIECE_BYTES: Final = 1 << 25
"""Bytes of text per piece: some milliseconds of a GPU."""

_Result = TypeVar("_Result")


class TextBatchScorer:
    """Source and workers of a run.

    Parameters
    ----------
    path
        Text batches; `-` for standard input.
    max_record
        Bytes of the longest text batch that is read.
    as_matrix
        Whether to write a matrix per text batch, instead of a line per pair.
    """

    def __init__(self, path: str, max_record: int, *, as_matrix: bool) -> None:
        self._path = path
        self._max_record = max_record
        self._as_matrix = as_matrix
        self._numbers = Relay(0)  # of the first text batch of each piece

    def pieces(self, threads: int) -> Iterator[TextPiece]:
        """Read the file with a number of threads; see `text_pieces`."""
        pieces = text_pieces(
            self._path, _PIECE_BYTES, _pinned, threads, max_record=self._max_record
        )
        for piece in pieces:
            # A pipeline that stops lets pieces go, for whose successors workers may wait.
            weakref.finalize(piece, self._numbers.abandon, piece.number).atexit = False
            yield piece

    def score(self, device: CudaDevice, piece: TextPiece) -> ScoredText:
        """Compute the likelihoods of a piece on a GPU; pieces must be started in their order.

        Raises
        ------
        InputError
            A line is malformed, or a text batch is not whole.
        AbandonedError
            A piece before has an error, which a pipeline raises.
        DeviceError
            A read with its haplotypes does not fit the memory of the GPU, or the GPU failed.
        """
        index = device.index
        # Other kernels are urgent beside those of the forward algorithm, which fill the GPU.
        stream = thread_streams(index, 1, urgent=True)[0]
        try:
            with device_errors(device), cupy.cuda.Device(index), stream:
                return self._scored(device, piece)
        finally:
            self._numbers.abandon(piece.number)  # without effect after `put`

    def _scored(self, device: CudaDevice, piece: TextPiece) -> ScoredText:
        batch: HmmBatch | DeviceHmmBatch | None
        batch = _if_memory_suffices(device, partial(_parsed, device, piece))
        if batch is None:
            batch = parse_piece(piece)
        first = self._numbers.wait(piece.number)
        self._numbers.put(piece.number, first + len(batch))
        if isinstance(batch, DeviceHmmBatch):
            compute = partial(_device_text, device, first, batch, as_matrix=self._as_matrix)
            text = _if_memory_suffices(device, compute)
            if text is not None:
                return ScoredText(text, counts_of(batch))
            batch = batch.download()
        likelihoods = _likelihoods(batch, device)
        return scored_text(first, batch, likelihoods, as_matrix=self._as_matrix)


def _pinned(size: int) -> NDArray[np.uint8]:
    return pinned_array(size, np.uint8)


def _if_memory_suffices(device: CudaDevice, compute: Callable[[], _Result]) -> _Result | None:
    """Call a function in a turn; return None if the GPU has too little memory for it."""
    try:
        return memory_turns(device).compute(compute)
    except OUT_OF_MEMORY:
        pass
    release_memory()  # not in `except`, where the traceback still holds arrays
    return None


def _parsed(device: CudaDevice, piece: TextPiece) -> DeviceHmmBatch:
    text = cupy.empty(piece.text.size, dtype=np.uint8)
    text.set(piece.text, stream=cupy.cuda.get_current_stream())
    batch = parse_on_gpu(text)
    if batch is None:
        parse_piece(piece)
        message = f"{device.name}: internal error; use --device cpu and report this"
        raise DeviceError(message)
    return batch


def _device_text(
    device: CudaDevice, first_group: int, batch: DeviceHmmBatch, *, as_matrix: bool
) -> NDArray[np.uint8]:
    likelihoods = device_log10_likelihoods(batch, device)
    return download_pinned(table_text(first_group, batch, likelihoods, as_matrix=as_matrix))


def _likelihoods(batch: HmmBatch, device: CudaDevice) -> NDArray[np.float64]:
    return log10_likelihoods(batch, device) if batch.pairs else np.empty(0, dtype=np.float64)
