"""Blocks of reads computed on the CPU in groups: the anchors of a group decide on its memory.

The anchors of a read are counted before they are made: a minimizer has as many as occurrences in
the reference. In a reference of repeats, one read of 20 kb has 16 million.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock, ReadSpans
from hapgpu.longread.batches import Seeds
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import LARGEST_READ
from hapgpu.longread.stages import MappingFinder
from hapgpu.runtime.output import Divided
from hapgpu.runtime.processes.in_run import InRun

GROUP_ANCHORS: Final = 1 << 21
"""Most anchors of a group of several reads; each worker computes one group at a time."""

_TRY_SECONDS: Final = 0.02
"""Between two attempts to hold the anchors of a large read."""


@dataclass(frozen=True, slots=True)
class SeededReads:
    """Successive reads of a block, with their seeds.

    Attributes
    ----------
    block
        The block.
    first
        Number of the first read in the block.
    spans
        Spans of the n reads in the text of the block.
    seeds
        Their seeds.
    anchors
        int64[n]: number of anchors of each read.
    """

    block: ReadBlock
    first: int
    spans: ReadSpans
    seeds: Seeds
    anchors: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.spans)

    def part(self, first: int, end: int) -> SeededReads:
        """Return the reads from `first` to `end`, sharing memory."""
        return SeededReads(
            self.block,
            self.first + first,
            self.spans.slice(first, end),
            self.seeds.part(first, end),
            self.anchors[first:end],
        )

    def halves(self) -> list[SeededReads]:
        """Split the group of several reads in two."""
        middle = len(self) // 2
        return [self.part(0, middle), self.part(middle, len(self))]


Result = TypeVar("Result")

ResultPart: TypeAlias = Callable[[], "Result | Divided[Any, Result]"]
"""Makes a part of the result of a group, such as some of its lines; if there are more parts, the
functions that make them are the rest."""

Outcome: TypeAlias = "Result | Divided[ReadBlock | SeededReads | ResultPart[Result], Result]"


class GroupWorker(Generic[Result]):
    """Worker that computes lines, or other results, from blocks of reads, group by group.

    Parameters
    ----------
    finder
        Finds the seeds of a block.
    compute
        Computes a group: returns the function that makes the first part of its result.
    max_anchors
        Most anchors of a read, besides one per base.
    """

    def __init__(
        self,
        finder: MappingFinder[MinimizerIndex, NDArray[Any]],
        compute: Callable[[SeededReads], ResultPart[Result]],
        max_anchors: int,
    ) -> None:
        self._finder = finder
        self._compute = compute
        self._max_anchors = max_anchors
        self._large_reads = _AnchorBudget(LARGEST_READ)

    def __call__(self, batch: ReadBlock | SeededReads | ResultPart[Result]) -> Outcome[Result]:
        """Compute a block, a group of its reads, or a part of the result of a group.

        Raises
        ------
        InputError
            A record is malformed, or a read needs too much memory; the message names the file and
            the record.
        """
        if isinstance(batch, ReadBlock):
            first, *rest = self._groups(batch)
            return self._computed(first, rest)
        if isinstance(batch, SeededReads):
            return self._computed(batch, [])
        return _followed(batch(), [])

    def _computed(self, group: SeededReads, rest: Sequence[SeededReads]) -> Outcome[Result]:
        """Compute a group, or as much of it as fits the memory; the others follow it."""
        make = self._first_part_of(group)
        while make is None:
            group, second = group.halves()
            rest = [second, *rest]
            make = self._first_part_of(group)
        return _followed(make(), rest)

    def _first_part_of(self, group: SeededReads) -> ResultPart[Result] | None:
        """Compute a group; return None if memory runs out, but may suffice for half of it."""
        try:
            with self._large_reads.holding(int(group.anchors.sum())):
                return self._compute(group)
        except MemoryError:
            if len(group) > 1:
                return None
        place = _place_of(group.block, group.spans, 0, group.first)
        raise InputError(
            f"{place}: out of memory; drop frequent minimizers (-f 1000), use fewer threads (-t)"
            " or remove the read"
        )

    def _groups(self, block: ReadBlock) -> list[SeededReads]:
        """Split a block between reads."""
        spans = parse_block(block, LONG_READS)
        seeds = self._finder.find_seeds(block.text, spans)
        group = SeededReads(block, 0, spans, seeds, _anchors_per_read(seeds))
        check_anchors(block, spans, group.anchors, self._max_anchors)
        cuts = group_cuts(group.anchors, GROUP_ANCHORS)
        return [group.part(*span) for span in pairwise(cuts)] if len(cuts) > 2 else [group]


def check_anchors(
    block: ReadBlock, spans: ReadSpans, anchors: NDArray[np.int64], most: int
) -> None:
    """Refuse a block if a read has too many anchors.

    Parameters
    ----------
    block, spans
        A block of n reads, and its spans.
    anchors
        int64[n]: number of anchors of each read.
    most
        Most anchors of a read, besides one per base.

    Raises
    ------
    InputError
        The message names the first such read.
    """
    limits = most + spans.lengths.astype(np.int64)
    too_many = np.flatnonzero(anchors > limits)
    if too_many.size:
        read = int(too_many[0])
        raise InputError(
            f"{_place_of(block, spans, read, read)}: has {anchors[read]:,} anchors, more than"
            f" {limits[read]:,}; drop frequent minimizers (-f 1000), remove the read or raise"
            " --max-record"
        )


def _place_of(block: ReadBlock, spans: ReadSpans, row: int, read: int) -> str:
    """Return file, record and name of the read in a row of spans, for messages."""
    start = spans.name_starts[row]
    name = block.text[start : start + spans.name_lengths[row]].tobytes()
    return f"{block.name}, record {block.first + read}, read {name.decode(errors='replace')}"


def group_cuts(anchors: NDArray[np.int64], most: int) -> list[int]:
    """Return the first read of each group, and the number of reads.

    Parameters
    ----------
    anchors
        int64[n]: number of anchors of each read.
    most
        Most anchors of a group of several reads.
    """
    ends = np.cumsum(anchors)
    cuts = [0]
    while cuts[-1] < anchors.size:
        first = cuts[-1]
        before = int(ends[first - 1]) if first else 0
        cuts.append(max(first + 1, int(np.searchsorted(ends, before + most, side="right"))))
    return cuts if anchors.size else [0, 0]


def _anchors_per_read(seeds: Seeds) -> NDArray[np.int64]:
    ends = np.zeros(seeds.occurrence_counts.size + 1, dtype=np.int64)
    np.cumsum(seeds.occurrence_counts, out=ends[1:])
    return np.diff(ends[seeds.offsets])


def _followed(
    part: Result | Divided[ResultPart[Result], Result], rest: Sequence[SeededReads]
) -> Outcome[Result]:
    """Return a part of a result with all that follows it."""
    if isinstance(part, Divided):
        return Divided(part.result, [*part.rest, *rest])
    return Divided(part, rest) if rest else part


class _AnchorBudget:
    """Anchors of reads that are groups of their own: their sum is limited over all workers.

    Parameters
    ----------
    most
        Most anchors of several such reads; a read of more is computed alone.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._lock = Lock()
        self._try, self._give_back = InRun(self._added), InRun(self._subtract)

    @contextmanager
    def holding(self, anchors: int) -> Iterator[None]:
        """Hold the anchors of a group in a `with` block; wait until there is room for them."""
        if anchors <= GROUP_ANCHORS:
            yield
            return
        while not self._try(anchors):
            time.sleep(_TRY_SECONDS)
        try:
            yield
        finally:
            self._give_back(anchors)

    def _added(self, anchors: int) -> bool:
        """Hold anchors if there is room; nobody waits here for a process that may have ended."""
        with self._lock:
            if not self._has_room(anchors):
                return False
            self._held += anchors
            return True

    def _subtract(self, anchors: int) -> None:
        with self._lock:
            self._held -= anchors

    def _has_room(self, anchors: int) -> bool:
        return not self._held or self._held + anchors <= self._most
