"""What `hapgpu map` writes of the hits it has found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SamOptions:
    """Which records are written, and with what.

    Attributes
    ----------
    best
        Only hits of the least distance that the read has.
    max_hits
        At most so many records a read; None for all.
    unmapped
        Whether reads without hits are written.
    read_group
        Value of the tag RG, if there is one.
    """

    best: bool = False
    max_hits: int | None = None
    unmapped: bool = True
    read_group: str | None = None
