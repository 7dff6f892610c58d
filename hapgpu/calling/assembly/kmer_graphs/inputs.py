"""What k-mer graphs are built of, and the rules, for compiled functions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import RaggedView


class AssemblyData(NamedTuple):
    """Reads of active regions, and the reference; all arrays are read-only.

    Attributes
    ----------
    bases, qualities
        uint8 rows of equal lengths, one per read.
    samples
        int32 per read, at least 0.
    reference
        uint8: bases of the contig, or of a part of it.
    """

    bases: RaggedView
    qualities: RaggedView
    samples: NDArray[np.int32]
    reference: NDArray[np.uint8]


class RegionRows(NamedTuple):
    """One active region: reads `first_read` to `end_read`, and a range of `reference`."""

    first_read: int
    end_read: int
    reference_start: int
    reference_end: int


class GraphRules(NamedTuple):
    """Rules of a k-mer graph.

    Attributes
    ----------
    k
        Bases of a k-mer.
    is_last_try
        1 for the largest k, where repeats in the reference and many in reads are accepted, else 0.
    min_pruning
        Chains of edges that fewer reads of each sample support are removed.
    min_base_quality
        Bases of lower quality are not threaded.
    min_matching
        GATK's `--num-matching-bases-in-dangling-end-to-recover`; -1 for its legacy rules.
    min_tail, min_head
        Vertices of a dangling branch, at least; GATK has one option for both,
        `--min-dangling-branch-length`.
    is_unrolled
        1 where GATK's rules do not suffice, else 0: k-mers that a read has twice have one vertex,
        and cycles are unrolled.
    """

    k: int
    is_last_try: int
    min_pruning: int
    min_base_quality: int
    min_matching: int = -1
    min_tail: int = 4
    min_head: int = 4
    is_unrolled: int = 0
