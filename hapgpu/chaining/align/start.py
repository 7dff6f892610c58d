"""Start of base alignment: codes of bases, rows of `MAPPING`, and the anchors of their chains.

The anchors are squeezed as by minimap2's `mm_squeeze_a`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.align.batches import MAPPING, MappedAnchors, ReadCodes, TargetCodes
from hapgpu.chaining.batches import Chains, Mappings
from hapgpu.chaining.mappings.cpu import tie_breaker
from hapgpu.chaining.sketch.kmers import CODES
from hapgpu.runtime.jit import njit


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
        uint32[n]: result of `mappings.cpu.name_hashes`.

    Returns
    -------
    MAPPING[m], MappedAnchors
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
    anchor_counts = np.diff(chains.anchor_offsets)
    first_anchors, anchor_total = _squeeze(
        read_only(mapped_chains[rows]), read_only(anchor_counts), chains.scores.size
    )
    started["first_anchor"] = first_anchors
    kept = np.empty((2, anchor_total), dtype=np.uint64)
    _copy_anchors(
        read_only(chains.x),
        read_only(chains.y),
        read_only(chains.anchor_offsets),
        read_only(mapped_chains[rows]),
        read_only(first_anchors),
        kept,
    )
    hashes = np.empty(rows.size, dtype=np.uint32)
    _hash_mappings(kept, read_only(first_anchors), read_only(name_hashes[reads]), hashes)
    started["hash"] = hashes
    read_counts = np.bincount(reads, weights=started["anchors"], minlength=offsets.size - 1).astype(
        np.int64
    )
    return started, MappedAnchors(kept[0], kept[1], offsets_of(read_counts))


_COPIED = {
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
    "rivals": "rivals",
}


def mapping_rows(mappings: Mappings, rows: NDArray[np.int64]) -> NDArray[np.void]:
    """Return MAPPING[m]: the columns of mappings, given int64[m], that a row has; others are 0."""
    chosen = np.zeros(rows.size, dtype=MAPPING)
    for source, target in _COPIED.items():
        chosen[target] = getattr(mappings, source)[rows]
    return chosen


@njit
def _squeeze(
    chains: NDArray[np.int32], anchor_counts: NDArray[np.int64], chain_count: Integer
) -> tuple[NDArray[np.int64], Integer]:
    """Return int64[m], the first anchor of each mapping in the order of chains, and their sum."""
    starts = np.full(chain_count, -1, dtype=np.int64)
    for mapping in range(chains.size):
        starts[chains[mapping]] = 0
    total = np.int64(0)
    for chain in range(chain_count):
        if starts[chain] == 0:
            starts[chain] = total
            total += anchor_counts[chain]
    return starts[chains], total


@njit
def _copy_anchors(
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    anchor_offsets: NDArray[np.int64],
    chains: NDArray[np.int32],
    first_anchors: NDArray[np.int64],
    kept: NDArray[np.uint64],
) -> None:
    """Copy the anchors of the mappings, x and y, to the two rows of `kept`."""
    for mapping in range(chains.size):
        first = anchor_offsets[chains[mapping]]
        count = anchor_offsets[chains[mapping] + 1] - first
        to = first_anchors[mapping]
        for anchor in range(count):
            kept[0, to + anchor] = x[first + anchor]
            kept[1, to + anchor] = y[first + anchor]


@njit
def _hash_mappings(
    kept: NDArray[np.uint64],
    first_anchors: NDArray[np.int64],
    name_hashes: NDArray[np.uint32],
    hashes: NDArray[np.uint32],
) -> None:
    """Set the hashes that break ties; `kept` has rows x and y, `name_hashes` one per mapping."""
    for mapping in range(hashes.size):
        first = first_anchors[mapping]
        hashes[mapping] = tie_breaker(kept[0, first], kept[1, first], name_hashes[mapping])


_PADDING: Final = 16
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
    starts = np.concatenate(([0], ends[:-1])) + _PADDING if lengths.size else ends
    codes = np.empty(_PADDING + (int(ends[-1]) if lengths.size else 0), dtype=np.uint8)
    codes[:_PADDING] = _AMBIGUOUS
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


def code_targets(sequences: Ragged) -> TargetCodes:
    """Return the codes of reference sequences.

    Parameters
    ----------
    sequences
        uint8 text, s rows.
    """
    return TargetCodes(
        read_only(CODES[sequences.data]),
        read_only(sequences.offsets[:-1].copy()),
        read_only(sequences.lengths),
    )
