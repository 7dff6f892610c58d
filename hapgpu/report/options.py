"""Options of a report that its sections share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionOptions:
    """What sections need besides their file.

    Attributes
    ----------
    reads
        Alignments that belong to files of variants.
    reference
        The reference, FASTA, of variants and of CRAM.
    threads
        CPU threads.
    max_record
        Bytes of the longest record that is read.
    advance
        Called with the number of records that were read, for progress.
    """

    reads: Sequence[str]
    reference: Path | None
    threads: int
    max_record: int
    advance: Callable[[int], None]
