"""Pairs to align and their alignments in GPU memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.cuda import DeviceRagged, rows_struct
from hapgpu.arrays.ragged import Ragged
from hapgpu.runtime.gpu.kernel import Array, KernelArgument, Scalar, Struct
from hapgpu.runtime.gpu.transfers import downloaded_together, uploaded_together
from hapgpu.runtime.gpu_array import GpuArray

PAIRS: Final = Struct(
    "pairs",
    (
        rows_struct("references", np.uint8),
        rows_struct("queries", np.uint8),
        Array("reference_index", np.int32, "count"),
        Array("query_index", np.int32, "count"),
        Scalar("count", np.int32),
    ),
)


@dataclass(frozen=True, slots=True)
class DevicePairs:
    """Pairs to be aligned, as in `PairBatch`, on the current GPU.

    Attributes
    ----------
    references, queries
        uint8 text; each sequence is stored once, however many pairs use it.
    reference_index, query_index
        int32[n]: the rows of the sequences of each pair.
    """

    references: DeviceRagged
    queries: DeviceRagged
    reference_index: GpuArray
    query_index: GpuArray

    def __len__(self) -> int:
        return int(self.reference_index.size)

    @property
    def fields(self) -> tuple[KernelArgument, ...]:
        """The fields of `PAIRS`."""
        sequences = (self.references.fields, self.queries.fields)
        return (*sequences, self.reference_index, self.query_index, len(self))

    @classmethod
    def upload(cls, pairs: PairBatch) -> DevicePairs:
        """Copy pairs to the current GPU, on the current stream.

        Pinned arrays must not change before the stream is done.
        """
        references, queries = pairs.references, pairs.queries
        copies = uploaded_together(
            [
                *(references.data, references.offsets, queries.data, queries.offsets),
                *(pairs.reference_index, pairs.query_index),
            ]
        )
        return cls(DeviceRagged(*copies[:2]), DeviceRagged(*copies[2:4]), *copies[4:])

    def download(self) -> PairBatch:
        """Copy pairs, with all sequences, to host memory."""
        return PairBatch(
            self.references.download(),
            self.queries.download(),
            self.reference_index.get(),
            self.query_index.get(),
        )

    def slice(self, start: int, end: int) -> DevicePairs:
        """Return pairs `start` to `end`; all arrays are shared."""
        return DevicePairs(
            self.references,
            self.queries,
            self.reference_index[start:end],
            self.query_index[start:end],
        )

    def take(self, rows: GpuArray) -> DevicePairs:
        """Gather the pairs of numbers `rows`, int64; the sequences are shared."""
        return DevicePairs(
            self.references, self.queries, self.reference_index[rows], self.query_index[rows]
        )

    def compact(self) -> DevicePairs:
        """Drop the sequences that no pair uses."""
        references, reference_index = cupy.unique(self.reference_index, return_inverse=True)
        queries, query_index = cupy.unique(self.query_index, return_inverse=True)
        return DevicePairs(
            self.references.take(references),
            self.queries.take(queries),
            reference_index.astype(np.int32),
            query_index.astype(np.int32),
        )


@dataclass(frozen=True, slots=True)
class DeviceAlignments:
    """Alignments of n pairs, as in `AlignmentBatch`, on the current GPU.

    Attributes
    ----------
    scores, offsets
        int32[n].
    cigars
        uint32 in BAM encoding.
    """

    scores: GpuArray
    offsets: GpuArray
    cigars: DeviceRagged

    def __len__(self) -> int:
        return int(self.scores.size)

    @classmethod
    def none(cls) -> DeviceAlignments:
        """Return no alignments."""
        scores = cupy.empty(0, dtype=np.int32)
        cigars = DeviceRagged(cupy.empty(0, dtype=np.uint32), cupy.zeros(1, dtype=np.int64))
        return cls(scores, scores, cigars)

    @classmethod
    def upload(cls, alignments: AlignmentBatch) -> DeviceAlignments:
        """Copy alignments to the current GPU."""
        return cls(
            cupy.asarray(alignments.scores),
            cupy.asarray(alignments.offsets),
            DeviceRagged.upload(alignments.cigars),
        )

    def download(self) -> AlignmentBatch:
        """Copy alignments to host memory."""
        scores, offsets, *cigars = downloaded_together(
            [self.scores, self.offsets, self.cigars.data, self.cigars.offsets]
        )
        return AlignmentBatch(scores, offsets, Ragged(*cigars))

    @classmethod
    def concatenate(cls, parts: Sequence[DeviceAlignments]) -> DeviceAlignments:
        """Concatenate alignments, at least one batch; a single batch is returned as it is."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            cupy.concatenate([part.scores for part in parts]),
            cupy.concatenate([part.offsets for part in parts]),
            DeviceRagged.concatenate([part.cigars for part in parts]),
        )
