"""Values that SAM records need from the index and the options, as arrays."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.mapping.sam.mapping_quality import mapping_qualities
from hapgpu.mapping.sam.options import SamOptions

_NO_LIMIT: Final = 2**62


class RecordFilter(NamedTuple):
    """The records to write: as in `SamOptions`, with a huge `max_hits` instead of None."""

    best: bool
    max_hits: int
    unmapped: bool
    secondary_seq: bool


class SamTables(NamedTuple):
    """Tables of an index and options, for compiled code; all arrays are read-only.

    Attributes
    ----------
    contig_offsets
        int64[c + 1]: the position of the first base of each contig, and the number of all bases.
    names, name_offsets
        uint8 contig names, end to end, and int64[c + 1].
    planes, others, letter_positions, letters
        As in `ReferenceBases`.
    mapping_qualities
        uint8[256]: `hapgpu.mapping.sam.mapping_quality.mapping_qualities`.
    read_group
        uint8: the tag RG with the tab before it; empty without a read group.
    record_filter
        The records to write.
    """

    contig_offsets: NDArray[np.int64]
    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    planes: NDArray[np.uint64]
    others: NDArray[np.uint64]
    letter_positions: NDArray[np.int64]
    letters: NDArray[np.uint8]
    mapping_qualities: NDArray[np.uint8]
    read_group: NDArray[np.uint8]
    record_filter: RecordFilter

    @property
    def longest_name(self) -> int:
        """The length of the longest contig name, in characters."""
        return int(np.diff(self.name_offsets).max(initial=1))


def sam_tables(index: FMIndexArrays, options: SamOptions) -> SamTables:
    """Return the tables of an index and options, shared by all blocks of reads."""
    names = Ragged.from_sequences(
        name.encode("utf-8", "surrogateescape") for name in index.contigs.names
    )
    bases = index.bases
    return SamTables(
        contig_offsets=_plain(index.contigs.offsets),
        names=_plain(names.data),
        name_offsets=_plain(names.offsets),
        planes=_plain(bases.planes),
        others=_plain(bases.others),
        letter_positions=_plain(bases.letter_positions),
        letters=_plain(bases.letters),
        mapping_qualities=_plain(mapping_qualities()),
        read_group=_plain(_read_group_text(options)),
        record_filter=RecordFilter(
            best=options.best,
            max_hits=_NO_LIMIT if options.max_hits is None else options.max_hits,
            unmapped=options.unmapped,
            secondary_seq=options.secondary_seq,
        ),
    )


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """View an array, memory-mapped or not, as the one type that functions are compiled for."""
    return read_only(np.asarray(array))


def _read_group_text(options: SamOptions) -> NDArray[np.uint8]:
    text = "" if options.read_group is None else f"\tRG:Z:{options.read_group}"
    return np.frombuffer(text.encode("utf-8", "surrogateescape"), dtype=np.uint8)
