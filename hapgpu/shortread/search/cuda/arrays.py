"""Packed reads and hits in GPU memory."""

from __future__ import annotations

from dataclasses import dataclass

import cupy
import numpy as np

from hapgpu.runtime.gpu_array import GpuArray


@dataclass(frozen=True, slots=True)
class DevicePackedReads:
    """`PackedReads` of n reads on a GPU.

    Attributes
    ----------
    words
        uint64[6 total_words].
    word_offsets
        int32[n + 1].
    lengths
        int32[n], in bases.
    total_words
        The last of the offsets.
    """

    words: GpuArray
    word_offsets: GpuArray
    lengths: GpuArray
    total_words: int

    def __len__(self) -> int:
        return int(self.lengths.size)

    @property
    def fields(self) -> tuple[GpuArray | int, ...]:
        """Words, uint64, offsets and lengths, int32, and numbers: fields of `kernels.READS`."""
        return self.words, self.word_offsets, self.lengths, self.total_words, len(self)


@dataclass(frozen=True, slots=True)
class DeviceTextReads:
    """Letters of n reads in a text on a GPU.

    Attributes
    ----------
    text
        uint8.
    starts, lengths
        int32[n] each: where the letters of each read start in the text, and their number.
    """

    text: GpuArray
    starts: GpuArray
    lengths: GpuArray

    def __len__(self) -> int:
        return int(self.lengths.size)

    def take(self, rows: GpuArray) -> DeviceTextReads:
        """Return the reads of numbers `rows`, int32[r] or int64[r]."""
        return DeviceTextReads(self.text, self.starts[rows], self.lengths[rows])


@dataclass(frozen=True, slots=True)
class DeviceHits:
    """`KeptHits` of n reads on a GPU.

    Attributes
    ----------
    offsets, hits
        int64[n + 1], uint64. Read i may have fewer hits than there is room for; others follow them.
        Of one read, its first offset may be negative: hits before these are not held.
    exact, inexact
        int32[n]: number of all hits without an error, and with one.
    """

    offsets: GpuArray
    hits: GpuArray
    exact: GpuArray
    inexact: GpuArray

    @property
    def fields(self) -> tuple[GpuArray | int, ...]:
        """Offsets, int64, hits, uint64, and counts, int32: the fields of the struct `hits`."""
        return self.offsets, self.hits, self.exact, self.inexact, self.hits.size

    @classmethod
    def of_one(cls, hits: GpuArray, first: int, exact: int, inexact: int) -> DeviceHits:
        """Return successive `hits`, uint64, of one read, from number `first` on."""
        offsets = cupy.asarray(np.array([-first, hits.size], dtype=np.int64))
        return cls(offsets, hits, *(cupy.full(1, count, np.int32) for count in (exact, inexact)))


@dataclass(frozen=True, slots=True)
class DeviceKeptHits:
    """Successive hits of one read on a GPU.

    Attributes
    ----------
    hits
        uint64, ascending.
    exact, inexact
        Number of all hits without an error, and with one.
    """

    hits: GpuArray
    exact: int
    inexact: int
