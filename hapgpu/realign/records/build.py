"""SAM records of new alignments."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.realign.records.tags import NewTags, rewrite_tags

_OWN_ALIGNMENT_TAGS = ("AS", "XS", "NM", "MD")
_OTHER_ALIGNMENT_TAGS = ("SA", "MC", "MQ", "ms")  # of supplementary records and of the mate

_PROPER_PAIR, _UNMAPPED, _MATE_UNMAPPED, _REVERSE, _MATE_REVERSE = 0x2, 0x4, 0x8, 0x10, 0x20
_SECONDARY, _SUPPLEMENTARY = 0x100, 0x800
_UNKNOWN_MAPPING_QUALITY = 255


@dataclass(frozen=True, slots=True)
class NewAlignments:
    """New alignments of n records.

    Attributes
    ----------
    mapped
        bool[n]; the other columns are valid only where it is set.
    kept
        bool[n]: records that do not change, except their mate fields.
    reference_ids, positions
        int32[n], 0-based.
    cigars
        uint32 in BAM encoding.
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

    mapped: NDArray[np.bool_]
    kept: NDArray[np.bool_]
    reference_ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    cigars: Ragged
    is_reversed: NDArray[np.bool_]
    is_secondary: NDArray[np.bool_]
    scores: NDArray[np.int32]
    second_scores: NDArray[np.int32]
    has_second_score: NDArray[np.bool_]
    edit_distances: NDArray[np.int32]
    mismatches: Ragged


def realigned_records(
    originals: ReadBatch,
    bases: Ragged,
    qualities: Ragged,
    new: NewAlignments,
    contig_names: Ragged,
    source: str,
) -> ReadBatch:
    """Return records with new alignments, tags of the old alignments, and no mates.

    The mate of a read may have moved too, in another batch: mate fields are cleared, because they
    might be wrong.

    Parameters
    ----------
    originals
        n records as read.
    bases, qualities
        n rows, in the orientation of the alignment.
    new
        The new alignments.
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
    new: NewAlignments, mapped: NDArray[np.int32], kept: NDArray[np.int32], unmapped: int
) -> NDArray[np.int32]:
    values = np.where(new.mapped, mapped, np.where(new.kept, kept, unmapped))
    return values.astype(np.int32)


def _new_flags(flags: NDArray[np.uint16], new: NewAlignments) -> NDArray[np.uint16]:
    mate_flags = _PROPER_PAIR | _MATE_UNMAPPED | _MATE_REVERSE
    own_flags = flags & ~np.uint16(mate_flags)
    mapped = (own_flags & ~np.uint16(_UNMAPPED)) ^ np.where(new.is_reversed, _REVERSE, 0)
    mapped |= np.where(new.is_secondary, _SECONDARY, 0)
    kept = own_flags | np.where(new.is_secondary, _SECONDARY, 0)
    unmapped = (own_flags | _UNMAPPED) & ~np.uint16(_SECONDARY | _SUPPLEMENTARY)
    return np.where(new.mapped, mapped, np.where(new.kept, kept, unmapped)).astype(np.uint16)


def _mapping_qualities(originals: ReadBatch, new: NewAlignments) -> NDArray[np.uint8]:
    was_unmapped = originals.flags & _UNMAPPED > 0
    mapped = np.where(was_unmapped, _UNKNOWN_MAPPING_QUALITY, originals.mapping_qualities)
    kept = np.where(new.kept, originals.mapping_qualities, 0)
    return np.where(new.mapped, mapped, kept).astype(np.uint8)


def _cigars(originals: ReadBatch, new: NewAlignments) -> Ragged:
    """Return the CIGARs of the new alignments; the old CIGARs where records are kept."""
    if not new.kept.any():
        return new.cigars
    count = len(originals)
    both = Ragged.concatenate([new.cigars, originals.cigars])
    rows = np.arange(count)
    return both.take(np.where(new.kept, rows + count, rows))
