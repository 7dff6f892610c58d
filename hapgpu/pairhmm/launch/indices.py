"""Index arrays of a piece, filled in by a compiled function."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.jit import njit


class PieceIndices(NamedTuple):
    """Index arrays to fill in, int32; each may be longer than needed.

    Attributes
    ----------
    group_reads, group_haplotypes, group_pairs
        Offsets of the rows and of the likelihoods of each group, from 0.
    haplotype_offsets
        Offsets of the haplotypes, from 0.
    layouts
        Number of the layout of each haplotype.
    mask_starts
        Offset of the masks of each haplotype.
    """

    group_reads: NDArray[np.int32]
    group_haplotypes: NDArray[np.int32]
    group_pairs: NDArray[np.int32]
    haplotype_offsets: NDArray[np.int32]
    layouts: NDArray[np.int32]
    mask_starts: NDArray[np.int32]


@njit
def fill_indices(
    read_rows: NDArray[np.int64],
    haplotype_rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    layouts: NDArray[np.int32],
    words: NDArray[np.int64],
    out: PieceIndices,
) -> None:
    """Fill in the indices of groups.

    Parameters
    ----------
    read_rows, haplotype_rows
        int64[b + 1]: the rows of each group, from any number on.
    offsets
        int64[h + 1]: offsets of the haplotypes, from any offset on.
    layouts
        int32[h]: the layout of each haplotype.
    words
        int64[layouts]: words of the masks of a haplotype of each layout.
    out
        The arrays.
    """
    pairs = 0
    for group in range(read_rows.size):
        out.group_reads[group] = read_rows[group] - read_rows[0]
        out.group_haplotypes[group] = haplotype_rows[group] - haplotype_rows[0]
        out.group_pairs[group] = pairs
        if group + 1 < read_rows.size:
            reads = read_rows[group + 1] - read_rows[group]
            pairs += reads * (haplotype_rows[group + 1] - haplotype_rows[group])
    start = 0
    for haplotype in range(layouts.size):
        out.haplotype_offsets[haplotype] = offsets[haplotype] - offsets[0]
        out.layouts[haplotype] = layouts[haplotype]
        out.mask_starts[haplotype] = start
        start += words[layouts[haplotype]]
    out.haplotype_offsets[layouts.size] = offsets[layouts.size] - offsets[0]
