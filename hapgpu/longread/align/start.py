"""Start of base alignment: codes of bases, rows of `MAPPING`, and the anchors of their chains.

The anchors are squeezed as by minimap2's `mm_squeeze_a`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.longread.align.batches import MAPPING, MappedAnchors, ReadCodes, TargetCodes
from hapgpu.longread.batches import Chains, Mappings
from hapgpu.longread.index.kmers import CODES
from hapgpu.longread.mappings.mappings import tie_breaker
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool


def start_mappings(
    mappings: Mappings,
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    chains: Chains,
    mapped_chains: NDArray[np.int32],
    name_hashes: NDArray[np.uint32],
) -> tuple[NDArray[np.void], MappedAnchors]:
    """Return the mappings to align and their anchors, which keep the order of the chains.

    Parameters
    ----------
    mappings
        Mappings of n reads.
    rows
        int64[m]: the mappings to align, ascending.
    offsets
        int64[n + 1]: offsets of the reads in `rows`.
    chains
        Chains of the reads.
    mapped_chains
        int32[r]: chain of each row of `mappings`.
    name_hashes
        uint32[n]: result of `mappings.mappings.name_hashes`.

    Returns
    -------
    `MAPPING`[m], MappedAnchors
        `number` is the mapping's position within its read, `parent` as in `mappings`.
    """
    started = mapping_rows(mappings, rows)
    reads = np.repeat(np.arange(offsets.size - 1, dtype=np.int32), np.diff(offsets))
    started["read"] = reads
    started["first_score"] = started["score"]
    started["number"] = np.arange(rows.size) - offsets[reads]
    started["next"] = np.where(
        np.arange(1, rows.size + 1) < offsets[reads + 1], np.arange(1, rows.size + 1), -1
    )
    chosen, numbers = np.unique(mapped_chains[rows], return_inverse=True)
    starts, counts = chains.anchor_offsets[chosen], lengths_of(chains.anchor_offsets)[chosen]
    x, y = (Ragged.gather(words, starts, counts) for words in (chains.x, chains.y))
    started["first_anchor"] = x.offsets[:-1][numbers]
    _set_hashes(started, x.data, y.data, read_only(name_hashes[reads]))
    read_counts = np.bincount(reads, weights=started["anchors"], minlength=offsets.size - 1)
    return started, MappedAnchors(x.data, y.data, offsets_of(read_counts.astype(np.int64)))


COPIED: Final = {
    "scores": "score",
    "counts": "anchors",
    "sequences": "sequence",
    "is_reverse": "is_reverse",
    "query_starts": "query_start",
    "query_ends": "query_end",
    "target_starts": "target_start",
    "target_ends": "target_end",
    "matches": "matches",
    "lengths": "length",
    "parents": "parent",
    "second_scores": "second_score",
    "n_sub": "n_sub",
}


def mapping_rows(mappings: Mappings, rows: NDArray[np.int64]) -> NDArray[np.void]:
    """Return `MAPPING`[m]: the columns of `rows`, int64[m], of mappings; other columns are 0."""
    chosen = np.zeros(rows.size, dtype=MAPPING)
    for source, target in COPIED.items():
        chosen[target] = getattr(mappings, source)[rows]
    return chosen


@njit
def _set_hashes(
    started: NDArray[np.void],
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    name_hashes: NDArray[np.uint32],
) -> None:
    """Set the hashes that break ties; `name_hashes` has one per mapping."""
    for row in range(started.size):
        first = started[row].first_anchor
        started[row].hash = tie_breaker(x[first], y[first], name_hashes[row])


PADDING: Final = 16
"""Codes before the first read: an inversion may reach a few bases before its window."""
_AMBIGUOUS: Final = 4
_LAST_BASE: Final = 3


def code_reads(
    text: NDArray[np.uint8], base_starts: NDArray[np.int32], lengths: NDArray[np.int32]
) -> ReadCodes:
    """Return the codes of n reads and of their reverse complements.

    Parameters
    ----------
    text
        uint8: text with the bases.
    base_starts, lengths
        int32[n]: first base in the text, and number of bases, of each read.
    """
    ends = np.cumsum(2 * lengths.astype(np.int64))
    starts = np.concatenate(([0], ends[:-1])) + PADDING if lengths.size else ends
    codes = np.empty(PADDING + (int(ends[-1]) if lengths.size else 0), dtype=np.uint8)
    codes[:PADDING] = _AMBIGUOUS
    _code_strands(
        read_only(text), read_only(base_starts), read_only(lengths), CODES, read_only(starts), codes
    )
    return ReadCodes(codes, starts, lengths)


@njit
def _code_strands(
    text: NDArray[np.uint8],
    base_starts: NDArray[np.int32],
    lengths: NDArray[np.int32],
    table: NDArray[np.uint8],
    starts: NDArray[np.int64],
    codes: NDArray[np.uint8],
) -> None:
    for read in range(lengths.size):
        length = np.int64(lengths[read])
        bases = text[base_starts[read] : base_starts[read] + length]
        forward = codes[starts[read] : starts[read] + length]
        reverse = codes[starts[read] + length : starts[read] + 2 * length]
        for k in range(length):
            forward[k] = table[bases[k]]
        for k in range(length):
            code = forward[length - 1 - k]
            reverse[k] = np.uint8(_LAST_BASE - code) if code < _AMBIGUOUS else code


def code_targets(sequences: Ragged, threads: int = 1) -> TargetCodes:
    """Return the codes of reference sequences.

    Parameters
    ----------
    sequences
        uint8 text, s rows.
    threads
        CPU threads to use.
    """
    text, codes = read_only(sequences.data), np.empty(sequences.data.size, dtype=np.uint8)
    with Pool(threads) as pool:
        pool.over_rows(partial(_code, text, CODES, codes), text.size)
    return TargetCodes(
        read_only(codes), read_only(sequences.offsets[:-1].copy()), read_only(sequences.lengths)
    )


@njit
def _code(
    text: NDArray[np.uint8],
    table: NDArray[np.uint8],
    codes: NDArray[np.uint8],
    start: Integer,
    end: Integer,
) -> None:
    for k in range(start, end):
        codes[k] = table[text[k]]
