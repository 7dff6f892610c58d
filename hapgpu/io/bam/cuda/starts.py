"""Starts of the records in a piece of BAM on a GPU (`cuda/io/bam/starts.cu`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import cupy
import numpy as np

from hapgpu.runtime.gpu.kernel import Array, Kernel, KernelArgument, Length, Scalar
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu_array import GpuArray

STRETCH_BYTES: Final = 1 << 15
"""Bytes of a stretch. Shorter ones need more guesses, longer ones leave fewer threads to walk."""

_SOURCE: Final = "io/bam/starts.cu"
_WARPS: Final = 4  # kWarps
_WALKERS: Final = 64
_PROVERS: Final = 1024  # kThreads
_RESULTS: Final = 5
_DATA = Array("data", np.uint8, "size")
_SIZE = Length("size")
_GUESSES = Array("guesses", np.int64, "stretches")
_WALKS = (
    Array("counts", np.int32, "stretches"),
    Array("exits", np.int64, "stretches"),
    Array("stops", np.int32, "stretches"),
)
_ROWS = Array("rows", np.int32, "stretches")
_RANGE = (Scalar("begin", np.int64), Scalar("end", np.int64))
_MAX_RECORD = Scalar("max_record", np.int64)
_STRETCHES = (Scalar("stretches", np.int32), Scalar("step", np.int32))

GUESS_STARTS: Final = Kernel(
    _SOURCE,
    "guess_starts",
    (_DATA, _GUESSES, _SIZE, *_RANGE, *_STRETCHES, Scalar("contigs", np.int32)),
)
WALK_STRETCHES: Final = Kernel(
    _SOURCE,
    "walk_stretches",
    (_DATA, _GUESSES, *_WALKS, _SIZE, *_RANGE, _MAX_RECORD, *_STRETCHES),
)
PROVE_STARTS: Final = Kernel(
    _SOURCE,
    "prove_starts",
    (
        _GUESSES,
        *_WALKS,
        _ROWS,
        Array("result", np.int64, "five"),
        *_RANGE,
        *_STRETCHES,
        Length("five"),
    ),
)
REPAIR_STARTS: Final = Kernel(
    _SOURCE,
    "repair_starts",
    (
        _DATA,
        _GUESSES,
        *_WALKS,
        _SIZE,
        *_RANGE,
        _MAX_RECORD,
        Scalar("entry", np.int64),
        *_STRETCHES,
    ),
)
LIST_STARTS: Final = Kernel(
    _SOURCE,
    "list_starts",
    (
        _DATA,
        _GUESSES,
        _ROWS,
        Array("starts", np.int64, "records"),
        _SIZE,
        Length("records"),
        *_RANGE,
        _MAX_RECORD,
        *_STRETCHES,
    ),
)


@dataclass(frozen=True, slots=True)
class StartLimits:
    """What the header and the user say of records.

    Attributes
    ----------
    contigs
        Number of contigs in the header.
    max_record
        Bytes of the longest record.
    """

    contigs: int
    max_record: int


class Proof(NamedTuple):
    """What is known of the guesses of a piece.

    Attributes
    ----------
    first
        The first guess; -1 without one.
    exit
        Offset behind the last whole record, if there is a guess.
    records
        Number of whole records from the first guess on.
    is_unproved
        Whether a guess is not where the walk before comes out.
    is_faulty
        Whether a walk met a record of impossible size.
    """

    first: int
    exit: int
    records: int
    is_unproved: int
    is_faulty: int


class StartSearch:
    """Search for the starts of the records in data[begin:end], on the current GPU.

    Parameters
    ----------
    data
        uint8 on the GPU, with some bytes of any value behind `end`.
    begin, end
        Range of the bytes, not empty.
    limits
        Limits of the records.
    step
        Bytes of a stretch.
    """

    def __init__(
        self, data: GpuArray, begin: int, end: int, limits: StartLimits, step: int = STRETCH_BYTES
    ) -> None:
        self.data, self.begin, self.end = data, begin, end
        self._limits = limits
        self._step = step
        self._stretches = -(-(end - begin) // step)
        self.guesses = cupy.empty(self._stretches, dtype=np.int64)
        self._walks = tuple(
            cupy.empty(self._stretches, dtype=dtype) for dtype in (np.int32, np.int64, np.int32)
        )
        self._rows = cupy.empty(self._stretches, dtype=np.int32)
        self._result = cupy.empty(_RESULTS, dtype=np.int64)

    @property
    def _shape(self) -> tuple[int, int]:
        return self._stretches, self._step

    def guess(self) -> None:
        """Guess the first record of each stretch."""
        scalars = (self.data.size, self.begin, self.end)
        self._launch(
            GUESS_STARTS,
            -(-self._stretches // _WARPS),
            32 * _WARPS,
            (self.data, self.guesses, *scalars, *self._shape, self._limits.contigs),
        )

    def prove(self) -> None:
        """Walk from each guess, and compare where the walks come out with the guesses."""
        arrays = (self.data, self.guesses, *self._walks)
        scalars = (self.data.size, self.begin, self.end, self._limits.max_record, *self._shape)
        self._launch(WALK_STRETCHES, -(-self._stretches // _WALKERS), _WALKERS, (*arrays, *scalars))
        self._compare()

    def repair(self, entry: int) -> None:
        """Walk the true chain of records from `entry` on, and correct wrong guesses; `prove` first.

        Parameters
        ----------
        entry
            Where the first record starts, from `begin` to `end`.
        """
        arrays = (self.data, self.guesses, *self._walks)
        scalars = (self.data.size, self.begin, self.end, self._limits.max_record, entry)
        self._launch(REPAIR_STARTS, 1, 32, (*arrays, *scalars, *self._shape))
        self._compare()

    def proof(self) -> Proof:
        """Return the result of `prove` or `repair`; waits for the stream."""
        return Proof._make(self._result.get().tolist())

    def list(self, starts: GpuArray) -> None:
        """Write the start of each record to `starts`, int64[records], if the guesses are proved."""
        if not starts.size:
            return
        scalars = (self.data.size, starts.size, self.begin, self.end, self._limits.max_record)
        self._launch(
            LIST_STARTS,
            -(-self._stretches // _WALKERS),
            _WALKERS,
            (self.data, self.guesses, self._rows, starts, *scalars, *self._shape),
        )

    def _compare(self) -> None:
        arrays = (self.guesses, *self._walks, self._rows, self._result)
        scalars = (self.begin, self.end, *self._shape, _RESULTS)
        self._launch(PROVE_STARTS, 1, _PROVERS, (*arrays, *scalars))

    @staticmethod
    def _launch(
        kernel: Kernel, blocks: int, threads: int, arguments: tuple[KernelArgument, ...]
    ) -> None:
        load_kernel(kernel, cupy.cuda.Device().id).launch(blocks, threads, arguments)
