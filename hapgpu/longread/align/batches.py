"""Batches: the arrays between the stages of base alignment.

    MAPPING rows, MappedAnchors ──► Pieces ──► PieceAlignments ──► AlignedMappings

Compiled functions take batches as they are; arrays that they only read are read-only there.

A *piece* is one run of dynamic programming: the fill between two cut points of a chain, or the
extension at one of its ends. Positions in a read are on the strand that the mapping has, unless
said otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import columns_of

LONG_JOIN: Final = 1 << 40
"""Bit of `MappedAnchors.y`: the gap before the anchor is long; it is always a cut point."""
IGNORED: Final = 1 << 41
"""Bit of `MappedAnchors.y`: the anchor is no cut point."""

NO_PARENT: Final = -1
TEMPORARY_PRIMARY: Final = -2
"""`parent` of the second part of a primary mapping that was split."""

FILL: Final = 0
"""Kind of a piece: global, between two cut points; the limit on score drops has no effect."""
REFILL: Final = 1
"""A fill again, which ends where its score drops too far."""
LEFT: Final = 2
"""Extension from the first cut point to lower positions: both sequences are read backwards."""
RIGHT: Final = 3
"""Extension from the last cut point to higher positions."""
INVERSION: Final = 4
"""As RIGHT, of an inverted stretch between two parts of a split mapping; without end bonus."""

UNREACHED: Final = -(1 << 30)
"""`PieceAlignments.scores` if the alignment does not reach both ends."""

Row: TypeAlias = Any
"""An element of MAPPING, PLAN or another record array in compiled code; NumPy types no fields."""

MAPPING: Final = np.dtype(
    [
        ("first_anchor", np.int64),
        ("first_operation", np.int64),
        ("read", np.int32),
        ("sequence", np.int32),
        ("is_reverse", np.int32),
        ("query_start", np.int32),
        ("query_end", np.int32),
        ("target_start", np.int32),
        ("target_end", np.int32),
        ("anchors", np.int32),
        ("score", np.int32),
        ("first_score", np.int32),
        ("second_score", np.int32),
        ("n_sub", np.int32),
        ("hash", np.uint32),
        ("number", np.int32),
        ("parent", np.int32),
        ("next", np.int32),
        ("split", np.int32),
        ("is_split_inversion", np.int32),
        ("is_inversion", np.int32),
        ("operations", np.int32),
        ("matches", np.int32),
        ("length", np.int32),
        ("ambiguous", np.int32),
        ("gaps", np.int32),
        ("gap_bases", np.int32),
        ("dp_score", np.int32),
        ("dp_max", np.int32),
        ("first_dp_max", np.int32),
        ("second_dp_max", np.int32),
        ("quality", np.int32),
        ("is_first_primary", np.int32),
    ],
    align=True,
)
"""A mapping with its alignment, in the order of minimap2's `mm_reg1_t` in essence:

- `first_anchor`, `anchors`: rows in `MappedAnchors`, number of rows; 0 for an inversion;
- `first_operation`, `operations`: rows in `AlignedMappings.operations`; 0 without an alignment;
- `read`, `sequence`, `is_reverse`, `target_start`, `target_end`; `query_start` and `query_end` on
  the read's forward strand; all half-open;
- `score`, `first_score`: score of the chain, and before a split (minimap2: score0);
- `second_score`, `n_sub`: best score of the secondaries and their number (subsc, n_sub);
- `hash`: breaks ties;
- `number`, `parent`: within the read; a primary mapping is its own parent;
- `next`: row of the next mapping of the read, -1 after the last;
- `split`: 1 if it continues in another part on the right, 2 if on the left, 3 if on both sides;
- `is_split_inversion`: an inversion may lie between the mapping and the part before it;
- `is_inversion`: the mapping is such an inversion;
- `matches`, `length`: matching bases and alignment length (PAF columns 10 and 11);
- `ambiguous`, `gaps`, `gap_bases`: ambiguous bases, gaps and their bases in the alignment;
- `dp_score`: score of the alignment (tag AS); `dp_max`: score of its best part, rescaled for
  ranking; `first_dp_max`: before that (tag ms); `second_dp_max`: best of the secondaries;
- `quality`; `is_first_primary`: the first primary mapping of the read (SAM: not supplementary).
"""


class ReadCodes(NamedTuple):
    """Bases of n reads and of their reverse complements, as codes: A 0, C 1, G 2, T 3, other 4.

    Attributes
    ----------
    codes
        uint8: of each read the forward strand, directly followed by its reverse complement; a
        few codes of padding before the first read.
    starts
        int64[n]: first code of each read's forward strand.
    lengths
        int32[n]: bases of each read. The reverse complement starts at `starts + lengths`.
    """

    codes: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]


class TargetCodes(NamedTuple):
    """Bases of the reference sequences, as codes: A 0, C 1, G 2, T 3, other 4.

    Attributes
    ----------
    codes
        uint8.
    starts
        int64[s]: first code of each sequence.
    lengths
        int64[s].
    """

    codes: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


class SequenceCodes(NamedTuple):
    """Bases of reads and of the reference sequences, read-only."""

    reads: ReadCodes
    targets: TargetCodes

    @classmethod
    def of(cls, reads: ReadCodes, targets: TargetCodes) -> SequenceCodes:
        """View the bases of reads and of the reference."""
        return cls(columns_of(ReadCodes, reads), columns_of(TargetCodes, targets))


class MappedAnchors(NamedTuple):
    """Anchors of the mappings of n reads, in the order of the chains.

    Attributes
    ----------
    x, y
        uint64[a]: as in `Anchors`; `y` gets the bits `LONG_JOIN` and `IGNORED`.
    offsets
        int64[n + 1]: read i has the rows `offsets[i]` to `offsets[i + 1]`.
    """

    x: NDArray[np.uint64]
    y: NDArray[np.uint64]
    offsets: NDArray[np.int64]


class Pieces(NamedTuple):
    """Pieces of dynamic programming.

    Attributes
    ----------
    kinds
        uint8[p]: `FILL`, `REFILL`, `LEFT`, `RIGHT` or `INVERSION`.
    query_starts
        int64[p], into `ReadCodes.codes`: lowest code, on the strand of the mapping.
    query_lengths
        int32[p].
    target_starts
        int64[p], into `TargetCodes.codes`: lowest code.
    target_lengths
        int32[p].
    bands
        int32[p]: largest distance from the main diagonal.
    drops
        int32[p]: largest drop of the score (minimap2: zdrop).
    """

    kinds: NDArray[np.uint8]
    query_starts: NDArray[np.int64]
    query_lengths: NDArray[np.int32]
    target_starts: NDArray[np.int64]
    target_lengths: NDArray[np.int32]
    bands: NDArray[np.int32]
    drops: NDArray[np.int32]

    def take(self, rows: NDArray[np.int64]) -> Pieces:
        """Return some pieces by `rows`, int64[k], in any order."""
        return Pieces._make(column[rows] for column in self)


class PieceAlignments(NamedTuple):
    """Alignments of p pieces.

    Attributes
    ----------
    scores
        int32[p]: score of the whole of both sequences; `UNREACHED` if not reached.
    max_scores, max_targets, max_queries
        int32[p]: highest score of a cell, and its target and query position in the piece, counted
        in the direction of the extension; 0 and -1 if there is none, as for every `FILL`.
    query_end_targets
        int32[p]: target position of the best cell of the last query base; -1 if none.
    reaches_end
        uint8[p], 0 or 1: the alignment ends at the last query base, thanks to the end bonus.
    is_dropped
        uint8[p], 0 or 1: the score dropped too far, the band is exhausted, or the piece is larger
        than `--cap-sw-mem` allows.
    operations
        uint32[c]: CIGAR operations, length << 4 | code (M 0, I 1, D 2), from low to high
        positions; none if nothing is aligned.
    offsets
        int64[p + 1].
    """

    scores: NDArray[np.int32]
    max_scores: NDArray[np.int32]
    max_targets: NDArray[np.int32]
    max_queries: NDArray[np.int32]
    query_end_targets: NDArray[np.int32]
    reaches_end: NDArray[np.uint8]
    is_dropped: NDArray[np.uint8]
    operations: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> PieceAlignments:
        """Return the alignments of some pieces by `rows`, int64[k], in any order."""
        operations = Ragged(self.operations, self.offsets).take(rows)
        numbers = [column[rows] for column in self[:-2]]
        return PieceAlignments._make([*numbers, operations.data, operations.offsets])

    @classmethod
    def joined(cls, parts: Sequence[PieceAlignments]) -> PieceAlignments:
        """Return alignments of pieces, part by part."""
        operations = Ragged.concatenate([Ragged(each.operations, each.offsets) for each in parts])
        numbers = map(np.concatenate, zip(*(each[:-2] for each in parts), strict=True))
        return cls._make([*numbers, operations.data, operations.offsets])


class AlignedMappings(NamedTuple):
    """Aligned mappings of n reads.

    Attributes
    ----------
    mappings
        `MAPPING`[r].
    operations
        uint32[c]: CIGAR operations of the mappings, length << 4 | code (M 0, I 1, D 2), from low
        to high target positions.
    offsets
        int64[n + 1]: read i has the mappings `offsets[i]` to `offsets[i + 1]`, in order.
    """

    mappings: NDArray[np.void]
    operations: NDArray[np.uint32]
    offsets: NDArray[np.int64]


PLAN: Final = np.dtype(
    [
        ("first_anchor", np.int64),
        ("anchors", np.int32),
        ("mapping", np.int32),
        ("query_start", np.int32),
        ("target_start", np.int32),
        ("left", np.int32),
        ("first_fill", np.int32),
        ("fills", np.int32),
        ("right", np.int32),
    ],
    align=True,
)
"""The pieces of a mapping:

- `mapping`: row of the mapping;
- `first_anchor`, `anchors`: the anchors used: first row in `MappedAnchors`, number of rows;
- `query_start`, `target_start`: the first cut point, on the strand of the mapping;
- `left`, `right`: rows of the extensions in `Pieces`, -1 if there is none;
- `first_fill`, `fills`: the fills are rows `first_fill` to `first_fill + fills` in `Pieces`.
"""


class PlannedPieces(NamedTuple):
    """Pieces of mappings, before their alignment.

    Attributes
    ----------
    pieces
        Pieces of all mappings.
    plans
        `PLAN`[m]: one row per mapping to align.
    end_anchors
        int32[p]: for a fill, the anchor at its end, counted from `first_anchor`; otherwise -1.
    """

    pieces: Pieces
    plans: NDArray[np.void]
    end_anchors: NDArray[np.int32]


class AlignedPieces(NamedTuple):
    """Planned pieces with their final alignments.

    Attributes
    ----------
    planned
        Pieces of mappings.
    alignments
        Their alignments; the second ones of fills whose test found a drop.
    drops
        uint8[p]: results of the tests.
    """

    planned: PlannedPieces
    alignments: PieceAlignments
    drops: NDArray[np.uint8]
