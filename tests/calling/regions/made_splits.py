"""Made reads with clipped ends that continue elsewhere on the reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hapgpu.calling.batches import Segment, SegmentReads
from hapgpu.haplotypes.batches import ReferenceSlice
from tests.calling.regions.made_reads import batch_of
from tests.calling.regions.reference import PlainRead

QUALITY = 30


def random_text(rng: np.random.Generator, length: int, letters: str = "ACGT") -> str:
    return "".join(rng.choice(list(letters), length))


def changed(rng: np.random.Generator, text: str, rate: float) -> str:
    """Replace a fraction of the bases of a text by random ones."""
    letters = rng.choice(list("ACGTN"), len(text), p=[0.24] * 4 + [0.04])
    is_new = rng.random(len(text)) < rate
    return "".join(np.where(is_new, letters, list(text))) if text else text


def split_read(
    reference: str, left: int, right: int, lengths: tuple[int, int], *, is_left: bool
) -> PlainRead:
    """Return a read that leaves the reference at `left` and goes on at `right`.

    `lengths` are the bases before and after. With `is_left`, those before are clipped, else those
    after; offsets are on the whole contig.
    """
    before, after = lengths
    bases = reference[left - before : left] + reference[right : right + after]
    if is_left:
        return PlainRead(right + 1, [(before, "S"), (after, "M")], bases, [QUALITY] * len(bases))
    return PlainRead(
        left - before + 1, [(before, "M"), (after, "S")], bases, [QUALITY] * len(bases)
    )


def reads_in_segment(
    reads: Sequence[PlainRead], reference: ReferenceSlice, segment: Segment, window: tuple[int, int]
) -> SegmentReads:
    """Return reads, sorted by position, as those of a segment."""
    batch, samples = batch_of(sorted(reads, key=lambda read: read.position))
    return SegmentReads(segment, *window, reference, batch, samples)


def end_of(read: PlainRead) -> int:
    """Return the end of the alignment of a read."""
    return read.position - 1 + sum(n for n, letter in read.cigar if letter in "MDN=X")
