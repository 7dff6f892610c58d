"""Hits, each packed into a number; hits are reported in ascending order of these numbers.

From the highest bit: distance (2 bits), start (32 bits, a position of the index), strand (1 bit),
kind (2 bits) and the offset of the error in the read as aligned to the forward strand (27 bits).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of

DISTANCE_SHIFT: Final = 62
START_SHIFT: Final = 30
STRAND_SHIFT: Final = 29
KIND_SHIFT: Final = 27
START_MASK: Final = 2**32 - 1
KIND_MASK: Final = 3
ERROR_MASK: Final = 2**27 - 1

INSERTION, UNGAPPED, DELETION = range(3)
"""Kinds: the hit spans one reference base less than the read has, as many, or one more.

`error` is the offset, from 0 in the read as aligned to the forward strand, of the mismatch or of
the inserted read base (the leftmost of equivalent ones), or the number of read bases before the
deleted reference base (the least possible). It is 0 for an exact hit.
"""

MIN_READ_BASES: Final = 10
"""Shorter reads would have hits nearly everywhere: they are not mapped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The hits to find.

    Attributes
    ----------
    errors
        0 or 1.
    indels
        Whether the error may be a gap.
    forward_only
        Whether to search the forward strand only.
    """

    errors: int = 1
    indels: bool = True
    forward_only: bool = False


_NO_LIMIT: Final = 2**60


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Limits that bound the memory and the time of one step of a search.

    Attributes
    ----------
    rows
        Candidate positions: the step ends with the read that reaches this number.
    hits
        Hits to keep of each read, at least 1: the least ones.
    after
        Exclude hits up to this one from those kept, but count them; 0 excludes none.
    """

    rows: int = _NO_LIMIT
    hits: int = _NO_LIMIT
    after: int = 0


@dataclass(frozen=True, slots=True)
class KeptHits:
    """The least hits of n reads, and the counts of all their hits.

    Attributes
    ----------
    offsets
        int64[n + 1]: the kept hits of read i are `hits[offsets[i]:offsets[i + 1]]`, ascending.
    hits
        uint64, packed hits.
    exact, inexact
        int64[n]: number of all hits without an error, and with one.
    """

    offsets: NDArray[np.int64]
    hits: NDArray[np.uint64]
    exact: NDArray[np.int64]
    inexact: NDArray[np.int64]

    def __len__(self) -> int:
        return self.exact.size


@dataclass(frozen=True, slots=True)
class HitBatch:
    """The hits of n reads.

    Attributes
    ----------
    offsets
        int64[n + 1]: the hits of read i are `hits[offsets[i]:offsets[i + 1]]`, ascending.
    hits
        uint64, packed hits.
    """

    offsets: NDArray[np.int64]
    hits: NDArray[np.uint64]

    @classmethod
    def concatenate(cls, parts: Sequence[HitBatch]) -> HitBatch:
        """Concatenate batches; no batches give no reads."""
        nothing = cls(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint64))
        counts = [np.diff(part.offsets) for part in (nothing, *parts)]
        hits = [part.hits for part in (nothing, *parts)]
        return cls(offsets_of(np.concatenate(counts)), np.concatenate(hits))

    @property
    def distances(self) -> NDArray[np.uint8]:
        """uint8, 0 or 1."""
        return (self.hits >> np.uint64(DISTANCE_SHIFT)).astype(np.uint8)

    @property
    def starts(self) -> NDArray[np.int64]:
        """int64: the first position of each hit."""
        return ((self.hits >> np.uint64(START_SHIFT)) & np.uint64(START_MASK)).astype(np.int64)

    @property
    def strands(self) -> NDArray[np.uint8]:
        """uint8: 0 forward, 1 reverse."""
        return ((self.hits >> np.uint64(STRAND_SHIFT)) & np.uint64(1)).astype(np.uint8)

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """uint8: INSERTION, UNGAPPED or DELETION; a hit spans read length + kind - 1 bases."""
        return ((self.hits >> np.uint64(KIND_SHIFT)) & np.uint64(KIND_MASK)).astype(np.uint8)

    @property
    def errors(self) -> NDArray[np.int64]:
        """int64: the offset of the error in the read."""
        return (self.hits & np.uint64(ERROR_MASK)).astype(np.int64)
