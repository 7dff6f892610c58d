"""Options of the SAM records of `hapgpu map`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SamOptions:
    """The records to write, and their read group.

    Attributes
    ----------
    best
        Whether to write only the hits of a read with the fewest errors.
    max_hits
        Maximum records per read; None for all.
    unmapped
        Whether to write reads without hits.
    read_group
        Value of the tag RG; None for no tag.
    secondary_seq
        Whether secondary records have SEQ and QUAL.
    """

    best: bool = False
    max_hits: int | None = None
    unmapped: bool = True
    read_group: str | None = None
    secondary_seq: bool = False
