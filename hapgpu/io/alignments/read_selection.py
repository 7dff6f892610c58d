"""The reads that a run uses."""

from __future__ import annotations

from dataclasses import dataclass

from hapgpu.io.genome.regions import RegionChoice


@dataclass(frozen=True, slots=True)
class ReadSelection:
    """A file of reads and the regions whose reads are used.

    Attributes
    ----------
    path
        A file, or `-` for standard input.
    regions
        The regions, if the user gave any.
    max_record
        Bytes of the longest record, and of the longest header, that is read.
    """

    path: str
    regions: RegionChoice
    max_record: int
