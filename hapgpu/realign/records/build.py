"""SAM records of new alignments, and their optional fields."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import copy_bytes, load_u16
from hapgpu.arrays.kinds import AnyArray, Rows
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.cigar.encoding import cigar_text
from hapgpu.errors import InputError
from hapgpu.io.bam.tags import HEAD_BYTES, field_bytes, find_field, name_number
from hapgpu.io.text.columns import number_text, repeated, side_by_side, spread
from hapgpu.runtime.jit import njit

_OWN_ALIGNMENT_TAGS = ("AS", "XS", "NM", "MD")
_OTHER_ALIGNMENT_TAGS = ("SA", "MC", "MQ", "ms")  # of supplementary records and of the mate

_PROPER_PAIR, _UNMAPPED, _MATE_UNMAPPED, _REVERSE, _MATE_REVERSE = 0x2, 0x4, 0x8, 0x10, 0x20
_SECONDARY, _SUPPLEMENTARY = 0x100, 0x800
_UNKNOWN_MAPPING_QUALITY = 255


@dataclass(frozen=True, slots=True)
class NewAlignments(Generic[Rows]):
    """New alignments of n records, in host memory or on one GPU.

    Attributes
    ----------
    rows
        int64[n]: the row of the read that each alignment is of, never decreasing. A row repeats
        for secondary alignments.
    mapped
        bool[n]; the other columns of the alignment are valid only where it is set.
    kept
        bool[n]: records that do not change, except their mate fields.
    reference_ids, positions
        int32[n], 0-based.
    cigars
        uint32 in BAM encoding, n rows; empty where records are not mapped.
    is_reversed
        bool[n]: whether the stored read was reversed for its alignment.
    is_secondary
        bool[n]: whether another record of the same read is better.
    scores, second_scores
        int32[n], for AS and XS.
    has_second_score
        bool[n].
    edit_distances, mismatches
        int32[n] and uint8 text, for NM and MD.
    """

    rows: AnyArray
    mapped: AnyArray
    kept: AnyArray
    reference_ids: AnyArray
    positions: AnyArray
    cigars: Rows
    is_reversed: AnyArray
    is_secondary: AnyArray
    scores: AnyArray
    second_scores: AnyArray
    has_second_score: AnyArray
    edit_distances: AnyArray
    mismatches: Rows

    def __len__(self) -> int:
        return int(self.rows.size)


def realigned_records(
    originals: ReadBatch,
    bases: Ragged,
    qualities: Ragged,
    new: NewAlignments[Ragged],
    contig_names: Ragged,
    source: str,
) -> ReadBatch:
    """Return records with new alignments, tags of the old alignments, and no mates.

    The mate of a read may have moved too, in another batch: mate fields are cleared, because they
    might be wrong.

    Parameters
    ----------
    originals
        n records as read, one per new alignment.
    bases, qualities
        uint8, n rows, in the orientation of the alignment.
    new
        The new alignments: uint32 CIGARs, uint8 text for MD, and others.
    contig_names
        uint8 text, one row per @SQ line of the input.
    source
        Name of the input, for errors.

    Raises
    ------
    InputError
        The optional fields of a record are malformed.
    """
    changed = ~new.kept
    tags, malformed = rewrite_tags(
        originals,
        _OWN_ALIGNMENT_TAGS,
        _OTHER_ALIGNMENT_TAGS,
        NewTags(
            changed=changed,
            has_score=new.mapped,
            scores=new.scores,
            has_second_score=new.mapped & new.has_second_score,
            second_scores=new.second_scores,
            has_mismatches=new.mapped & (new.mismatches.lengths > 0),
            edit_distances=new.edit_distances,
            mismatches=new.mismatches,
            has_original=changed,
        ),
        contig_names,
    )
    if malformed.any():
        name = originals.names[int(np.argmax(malformed))].tobytes().decode(errors="replace")
        message = f"{source}, read '{name}': malformed optional fields; copy the file again"
        raise InputError(message)
    return replace(
        originals,
        flags=_new_flags(originals.flags, new),
        reference_ids=_where(new, new.reference_ids, originals.reference_ids, -1),
        positions=_where(new, new.positions, originals.positions, -1),
        mapping_qualities=_mapping_qualities(originals, new),
        cigars=_cigars(originals, new),
        mate_reference_ids=np.full(len(originals), -1, dtype=np.int32),
        mate_positions=np.full(len(originals), -1, dtype=np.int32),
        template_lengths=np.zeros(len(originals), dtype=np.int32),
        bases=bases,
        qualities=qualities,
        tags=tags,
    )


def _where(
    new: NewAlignments[Ragged], mapped: NDArray[np.int32], kept: NDArray[np.int32], unmapped: int
) -> NDArray[np.int32]:
    values = np.where(new.mapped, mapped, np.where(new.kept, kept, unmapped))
    return values.astype(np.int32)


def _new_flags(flags: NDArray[np.uint16], new: NewAlignments[Ragged]) -> NDArray[np.uint16]:
    mate_flags = _PROPER_PAIR | _MATE_UNMAPPED | _MATE_REVERSE
    own_flags = flags & ~np.uint16(mate_flags)
    mapped = (own_flags & ~np.uint16(_UNMAPPED)) ^ np.where(new.is_reversed, _REVERSE, 0)
    mapped |= np.where(new.is_secondary, _SECONDARY, 0)
    kept = own_flags | np.where(new.is_secondary, _SECONDARY, 0)
    unmapped = (own_flags | _UNMAPPED) & ~np.uint16(_SECONDARY | _SUPPLEMENTARY)
    return np.where(new.mapped, mapped, np.where(new.kept, kept, unmapped)).astype(np.uint16)


def _mapping_qualities(originals: ReadBatch, new: NewAlignments[Ragged]) -> NDArray[np.uint8]:
    was_unmapped = originals.flags & _UNMAPPED > 0
    mapped = np.where(was_unmapped, _UNKNOWN_MAPPING_QUALITY, originals.mapping_qualities)
    kept = np.where(new.kept, originals.mapping_qualities, 0)
    return np.where(new.mapped, mapped, kept).astype(np.uint8)


def _cigars(originals: ReadBatch, new: NewAlignments[Ragged]) -> Ragged:
    """Return the CIGARs of the new alignments; the old CIGARs where records are kept."""
    if not new.kept.any():
        return new.cigars
    count = len(originals)
    both = Ragged.concatenate([new.cigars, originals.cigars])
    rows = np.arange(count)
    return both.take(np.where(new.kept, rows + count, rows))


_TEXT = ord("Z")
_INTEGERS = {"c": "<i1", "C": "<u1", "s": "<i2", "S": "<u2", "i": "<i4", "I": "<u4"}

# The type at each index is samtools' type of integers between two bounds.
_BOUNDS = np.array([-(2**15), -(2**7), 0, 2**8, 2**16])
_TYPES = np.frombuffer(b"iscCSI", dtype=np.uint8)
_WIDTHS = np.array([4, 2, 1, 1, 2, 4])


@dataclass(frozen=True, slots=True)
class NewTags:
    """New values of the tags of n records.

    Attributes
    ----------
    changed
        bool[n]: the records to rewrite; the others keep these fields.
    has_score, scores
        bool[n] and int32[n], for AS.
    has_second_score, second_scores
        bool[n] and int32[n], for XS.
    has_mismatches, edit_distances, mismatches
        bool[n], int32[n] and uint8 text, for NM and MD.
    has_original
        bool[n]: whether to write the old alignment to OC, OP and OA; only records that were
        mapped get them.
    """

    changed: NDArray[np.bool_]
    has_score: NDArray[np.bool_]
    scores: NDArray[np.int32]
    has_second_score: NDArray[np.bool_]
    second_scores: NDArray[np.int32]
    has_mismatches: NDArray[np.bool_]
    edit_distances: NDArray[np.int32]
    mismatches: Ragged
    has_original: NDArray[np.bool_]


def rewrite_tags(
    reads: ReadBatch,
    removed: Collection[str],
    removed_everywhere: Collection[str],
    new: NewTags,
    contig_names: Ragged,
) -> tuple[Ragged, NDArray[np.bool_]]:
    """Remove fields from records and append new ones.

    Old values of the new fields are removed. The old alignment is appended to OA, as the SAM tags
    specification allows; integers have the smallest type that holds them.

    Parameters
    ----------
    reads
        n records as read.
    removed, removed_everywhere
        Two-letter names of the fields to remove from changed records, and from all records.
    new
        The new values.
    contig_names
        uint8 text, one row per @SQ line of the header of `reads`.

    Returns
    -------
    The fields in BAM encoding, uint8, n rows; and bool[n]: whether the fields of a record were
    malformed; such a record has no fields.
    """
    has_original = new.has_original & _were_mapped(reads, len(contig_names))
    kept, malformed = _kept_fields(
        reads.tags,
        (
            (removed_everywhere, np.full(len(reads), len(removed_everywhere) > 0)),
            (removed, new.changed),
            (("AS",), new.changed & new.has_score),
            (("XS",), new.changed & new.has_second_score),
            (("NM", "MD"), new.changed & new.has_mismatches),
            (("OC", "OP", "OA"), new.changed & has_original),
        ),
    )
    written = new.changed & ~malformed
    has_mismatches = written & new.has_mismatches
    fields = [
        kept,
        integer_fields("AS", new.scores, written & new.has_score),
        integer_fields("XS", new.second_scores, written & new.has_second_score),
        integer_fields("NM", new.edit_distances, has_mismatches),
        text_fields("MD", new.mismatches.take(has_mismatches), has_mismatches),
        *_original_fields(reads, contig_names, written & has_original),
    ]
    return side_by_side(fields), malformed


def text_values(tags: Ragged, name: str) -> Ragged:
    """Return uint8 text: the values of a text field in `tags`, uint8, well-formed rows.

    The values of rows without the field are empty.
    """
    starts, ends = _field_ranges(tags, name)
    found = np.flatnonzero(starts >= 0)
    found = found[tags.data[starts[found] + 2] == _TEXT]
    lengths = np.zeros(len(tags), dtype=np.int64)
    lengths[found] = ends[found] - starts[found] - HEAD_BYTES - 1
    return Ragged.gather(tags.data, starts + HEAD_BYTES, lengths)


def _were_mapped(reads: ReadBatch, references: int) -> NDArray[np.bool_]:
    has_reference = (reads.reference_ids >= 0) & (reads.reference_ids < references)
    mapped: NDArray[np.bool_] = (
        (reads.flags & _UNMAPPED == 0) & has_reference & (reads.positions >= 0)
    )
    return mapped


def _kept_fields(
    tags: Ragged,
    removals: Iterable[tuple[Iterable[str], NDArray[np.bool_]]],
) -> tuple[Ragged, NDArray[np.bool_]]:
    """Remove fields by names and rows of a mask; return also which rows are malformed.

    `removals` are pairs of names and a mask; each pair has a bit of the names and of the rows.
    """
    name_bits = np.zeros(2**16, dtype=np.uint8)
    row_bits = np.zeros(len(tags), dtype=np.uint8)
    for number, (names, rows) in enumerate(removals):
        name_bits[np.array([name_number(name) for name in names], dtype=np.int64)] |= 1 << number
        row_bits[rows] |= 1 << number
    data = np.empty(tags.data.size, dtype=np.uint8)
    ends = np.empty(len(tags), dtype=np.int64)
    _keep_fields(view_of(tags), row_bits, name_bits, data, ends)
    malformed = ends < 0
    offsets = np.zeros(len(tags) + 1, dtype=np.int64)
    np.maximum.accumulate(ends, out=offsets[1:])
    return Ragged(data[: offsets[-1]], np.maximum(offsets, 0)), malformed


def integer_fields(
    name: str, numbers: NDArray[np.signedinteger[Any]], rows: NDArray[np.bool_]
) -> Ragged:
    """Return uint8: fields of `numbers`, any integer dtype[n], in the rows of a mask.

    The mask is `rows`, bool[n]. The numbers fit in 32 bits.
    """
    values = numbers[rows].astype("<i8")
    types = np.searchsorted(_BOUNDS, values, side="right")
    fields = np.empty((values.size, HEAD_BYTES + 4), dtype=np.uint8)
    fields[:, :2] = list(name.encode())
    fields[:, 2] = _TYPES[types]
    fields[:, HEAD_BYTES:] = values.view(np.uint8).reshape(-1, 8)[:, :4]
    lengths = HEAD_BYTES + _WIDTHS[types]
    data = fields[np.arange(HEAD_BYTES + 4) < lengths[:, None]]
    return spread(Ragged.from_lengths(data, lengths), rows)


def text_fields(name: str, texts: Ragged, rows: NDArray[np.bool_]) -> Ragged:
    """Return uint8: text fields in the rows of a mask, `rows`, bool[n].

    `texts`, uint8, has a row for each row of the mask that is set.
    """
    head, end = repeated(f"{name}Z", len(texts)), repeated("\0", len(texts))
    return spread(side_by_side([head, texts, end]), rows)


def _original_fields(
    reads: ReadBatch, contig_names: Ragged, rows: NDArray[np.bool_]
) -> list[Ragged]:
    """Return OC, OP and OA in the rows of a mask."""
    tags, cigars = reads.tags.take(rows), cigar_text(reads.cigars.take(rows))
    positions = reads.positions.astype(np.int64) + 1
    comma, semicolon = repeated(",", len(tags)), repeated(";", len(tags))
    strands = repeated(",+,", len(tags))
    strands.data[1::3][reads.flags[rows] & _REVERSE > 0] = ord("-")
    alignments = side_by_side(
        [
            text_values(tags, "OA"),
            contig_names.take(reads.reference_ids[rows]),
            comma,
            number_text(positions[rows]),
            strands,
            cigars,
            comma,
            number_text(reads.mapping_qualities[rows].astype(np.int64)),
            comma,
            _integer_texts(tags, "NM"),
            semicolon,
        ]
    )
    return [
        text_fields("OC", cigars, rows),
        integer_fields("OP", positions, rows),
        text_fields("OA", alignments, rows),
    ]


def _integer_texts(tags: Ragged, name: str) -> Ragged:
    """Return the values of an integer field in well-formed rows, as text; empty for none."""
    starts, _ = _field_ranges(tags, name)
    found = np.flatnonzero(starts >= 0)
    types = tags.data[starts[found] + 2]
    is_integer = np.zeros(len(tags), dtype=np.bool_)
    values = np.zeros(len(tags), dtype=np.int64)
    for letter, dtype in _INTEGERS.items():
        rows = found[types == ord(letter)]
        is_integer[rows] = True
        offsets = starts[rows, None] + HEAD_BYTES + np.arange(np.dtype(dtype).itemsize)
        values[rows] = tags.data[offsets].view(dtype)[:, 0]
    return spread(number_text(values[is_integer]), is_integer)


def _field_ranges(tags: Ragged, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return start and end of the first field of a name in each well-formed row; -1 for none."""
    starts, ends = (np.full(len(tags), -1, dtype=np.int64) for _ in range(2))
    _find_fields(view_of(tags), name_number(name), starts, ends)
    return starts, ends


@njit
def _keep_fields(
    tags: RaggedView,
    row_bits: NDArray[np.uint8],
    name_bits: NDArray[np.uint8],
    out: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> None:
    """Copy the fields whose names share no bit with their row.

    A malformed row ends at -1.
    """
    data, end = tags.data, np.int64(0)
    for row in range(ends.size):
        at, tags_end, row_start = tags.offsets[row], tags.offsets[row + 1], end
        if row_bits[row] == 0:
            copy_bytes(data, at, out, end, tags_end - at)
            at, end = tags_end, end + tags_end - at
        while at < tags_end:
            size = field_bytes(data, at, tags_end)
            if size == 0:
                break
            if name_bits[load_u16(data, at)] & row_bits[row] == 0:
                copy_bytes(data, at, out, end, size)
                end += size
            at += size
        if at < tags_end:
            end = row_start
        ends[row] = end if at == tags_end else -1


@njit
def _find_fields(
    tags: RaggedView, name: int, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> None:
    """Set start and end of the first field of a name in each well-formed row that has one."""
    for row in range(starts.size):
        tags_end = tags.offsets[row + 1]
        at = find_field(tags.data, tags.offsets[row], tags_end, name)
        if at >= 0:
            starts[row], ends[row] = at, at + field_bytes(tags.data, at, tags_end)
