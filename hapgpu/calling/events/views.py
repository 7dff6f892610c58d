"""Views of events and of the reference for compiled functions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import Events
from hapgpu.haplotypes.batches import ReferenceSlice


class EventsView(NamedTuple):
    """The columns of `Events`, read-only."""

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    alternates: RaggedView

    @classmethod
    def of(cls, events: Events) -> EventsView:
        """View the columns."""
        return cls(
            read_only(events.offsets),
            read_only(events.starts),
            read_only(events.ends),
            view_of(events.alternates),
        )


class ReferenceView(NamedTuple):
    """The bases of a `ReferenceSlice`, read-only, from position `start` on."""

    bases: NDArray[np.uint8]
    start: Integer

    @classmethod
    def of(cls, reference: ReferenceSlice) -> ReferenceView:
        """View the bases."""
        return cls(read_only(reference.bases), int(reference.start))
