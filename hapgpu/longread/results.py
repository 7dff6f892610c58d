"""Mappings of long reads as columns, for the Python API."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.tables import Columns, data_frame, names_column
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.longread.output.columns import MappingTable

if TYPE_CHECKING:
    import pandas as pd

_NONE: Final = -1
_PER_READ_OR_CONTIG: Final = frozenset({"read_lengths", "read_names", "contig_names"})
_SINGULAR: Final = {
    **{f"{name}s": name for name in ("read", "contig", "strand", "start", "end", "split", "cigar")},
    **{f"{name}s": name for name in ("read_start", "read_end", "block_length", "repeat_length")},
    **{f"{name}s": name for name in ("chain_score", "second_score", "best_score", "divergence")},
    **{f"{name}s": name for name in ("alignment_score", "anchor_count", "edit_distance")},
    "mapping_qualities": "mapping_quality",
}
"""Names of columns in a table, by attribute, where these are plural."""


class MappedReads(NamedTuple):
    """What was mapped, and to what.

    Attributes
    ----------
    lengths
        int64[n]: bases of the reads.
    names
        Names of the reads, if given.
    contig_names
        Names of the contigs.
    """

    lengths: NDArray[np.int64]
    names: tuple[str, ...] | None
    contig_names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ReadMappings(Columns):
    """m mappings of n long reads, in the order of the lines of `hapgpu chain --paf`.

    Intervals are 0-based and half-open. Reads without mappings have no row.

    Attributes
    ----------
    reads
        int64[m], the number of the read, from 0.
    contigs
        int32[m], into `contig_names`.
    strands
        uint8[m]: 0 forward, 1 reverse.
    read_starts, read_ends
        int64[m]: the interval on the read, on its forward strand.
    starts, ends
        int64[m]: the interval on the contig.
    matches, block_lengths
        int32[m]: columns 10 and 11 of PAF, matching bases and bases with gaps.
    mapping_qualities
        uint8[m]: 0 to 60.
    is_primary
        bool[m]: whether the mapping is not secondary (tp).
    anchor_counts
        int32[m]: minimizers of the chain (cm).
    chain_scores
        int32[m]: score of the chain (s1).
    second_scores
        int32[m]: score of the best secondary chain (s2); -1 for secondary mappings.
    divergences
        float64[m]: fraction of different bases, estimated from the minimizers (dv); with base
        alignment counted, a gap of any length as one (de), and NaN if alignment failed.
    repeat_lengths
        int32[m]: bases of the read in repetitive minimizers (rl).
    read_lengths
        int64[n]: bases of the reads.
    read_names
        The n names, as given; None without names.
    contig_names
        As in the FASTA file.
    """

    reads: NDArray[np.int64]
    contigs: NDArray[np.int32]
    strands: NDArray[np.uint8]
    read_starts: NDArray[np.int64]
    read_ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    matches: NDArray[np.int32]
    block_lengths: NDArray[np.int32]
    mapping_qualities: NDArray[np.uint8]
    is_primary: NDArray[np.bool_]
    anchor_counts: NDArray[np.int32]
    chain_scores: NDArray[np.int32]
    second_scores: NDArray[np.int32]
    divergences: NDArray[np.float64]
    repeat_lengths: NDArray[np.int32]
    read_lengths: NDArray[np.int64]
    read_names: tuple[str, ...] | None
    contig_names: tuple[str, ...]

    def __len__(self) -> int:
        return self.reads.size

    def to_dataframe(self) -> pd.DataFrame:
        """Return a table of pandas with a row per mapping.

        Its columns are the attributes with m entries, their names in the singular: `read`,
        `contig` (name), `strand` (`+` or `-`), `mapping_quality`, and `cigar` (text). Named reads
        have `read_name`, too.

        Raises
        ------
        UsageError
            pandas is not installed.
        """
        return data_frame(_frame_columns(self))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ReadAlignments(ReadMappings):
    """m base alignments of n long reads, in the order of the lines of `hapgpu chain -c`.

    A mapping whose alignment failed has no CIGAR, and -1 as edit distance, scores and ambiguous
    bases.

    Attributes
    ----------
    reads, contigs, strands, read_starts, read_ends, starts, ends, matches, block_lengths
        As in `ReadMappings`.
    mapping_qualities, is_primary, anchor_counts, chain_scores, second_scores, divergences
        As in `ReadMappings`.
    repeat_lengths, read_lengths, read_names, contig_names
        As in `ReadMappings`.
    is_supplementary
        bool[m]: whether it is a further part of the read, as in FLAG of SAM.
    is_inversion
        bool[m]: whether it lies inverted between two parts of a mapping (tp I or i).
    splits
        uint8[m]: whether it is a part of a split mapping: 1 if another part follows on the contig,
        2 if one precedes, 3 for both (zd).
    edit_distances
        int32[m]: mismatches, ambiguous bases, and bases in gaps (NM).
    best_scores
        int32[m]: score of the best part of the alignment (ms).
    alignment_scores
        int32[m]: score of the alignment (AS).
    ambiguous_bases
        int32[m]: ambiguous bases in the alignment (nn).
    cigars
        Ragged uint32, m rows, in BAM encoding (length << 4 | operation), of the aligned interval
        of the read, without clips, on the forward strand of the contig.
    """

    is_supplementary: NDArray[np.bool_]
    is_inversion: NDArray[np.bool_]
    splits: NDArray[np.uint8]
    edit_distances: NDArray[np.int32]
    best_scores: NDArray[np.int32]
    alignment_scores: NDArray[np.int32]
    ambiguous_bases: NDArray[np.int32]
    cigars: Ragged

    def cigar_strings(self) -> list[str]:
        """Return the CIGARs as text; `*` if alignment failed."""
        return cigar_strings(self.cigars)


def _frame_columns(mappings: ReadMappings) -> dict[str, Any]:
    """Return the columns of m rows, with text instead of numbers where there is some."""
    names = [each.name for each in fields(mappings) if each.name not in _PER_READ_OR_CONTIG]
    columns = {_SINGULAR.get(name, name): getattr(mappings, name) for name in names}
    columns["contig"] = names_column(mappings.contigs, mappings.contig_names)
    columns["strand"] = names_column(mappings.strands, "+-")
    if mappings.read_names is not None:
        columns["read_name"] = np.array(mappings.read_names, dtype=np.object_)[mappings.reads]
    if isinstance(mappings, ReadAlignments):
        columns["cigar"] = mappings.cigar_strings()
    return columns


def read_mappings(table: MappingTable, reads: MappedReads) -> ReadMappings:
    """Return the columns of a table of mappings without base alignment."""
    return ReadMappings(**_columns(table, reads))


def read_alignments(table: MappingTable, reads: MappedReads) -> ReadAlignments:
    """Return the columns of a table of mappings with base alignment."""
    mappings = table.mappings
    is_primary = mappings["number"] == mappings["parent"]
    is_aligned = mappings["operations"] > 0

    def scores(field: str) -> NDArray[np.int32]:
        return np.where(is_aligned, mappings[field], np.int32(_NONE))

    return ReadAlignments(
        **_columns(table, reads),
        is_supplementary=is_primary & (mappings["is_first_primary"] == 0),
        is_inversion=mappings["is_inversion"] != 0,
        splits=mappings["split"].astype(np.uint8),
        edit_distances=table.edit_distances,
        best_scores=scores("first_dp_max"),
        alignment_scores=scores("dp_score"),
        ambiguous_bases=scores("ambiguous"),
        cigars=table.operations,
    )


def _columns(table: MappingTable, reads: MappedReads) -> dict[str, Any]:
    mappings = table.mappings
    is_primary = mappings["number"] == mappings["parent"]
    return {
        "reads": mappings["read"].astype(np.int64),
        "contigs": mappings["sequence"].copy(),
        "strands": mappings["is_reverse"].astype(np.uint8),
        "read_starts": mappings["query_start"].astype(np.int64),
        "read_ends": mappings["query_end"].astype(np.int64),
        "starts": mappings["target_start"].astype(np.int64),
        "ends": mappings["target_end"].astype(np.int64),
        "matches": mappings["matches"].copy(),
        "block_lengths": mappings["length"].copy(),
        "mapping_qualities": mappings["quality"].astype(np.uint8),
        "is_primary": is_primary,
        "anchor_counts": mappings["anchors"].copy(),
        "chain_scores": mappings["score"].copy(),
        "second_scores": np.where(is_primary, mappings["second_score"], np.int32(_NONE)),
        "divergences": table.divergences,
        "repeat_lengths": table.repeat_lengths[mappings["read"]],
        "read_lengths": reads.lengths,
        "read_names": reads.names,
        "contig_names": reads.contig_names,
    }
