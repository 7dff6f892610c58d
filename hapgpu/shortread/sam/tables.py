"""Options and counts of SAM records, and tables that the records need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.fastx.read_block import TextBlock
from hapgpu.shortread.index.fm_index import FMIndexArrays

MAX_COUNTED: Final = 255
"""Number of second-best hits above which the mapping quality does not change."""

UNIQUE: Final = 60
TWO_BEST: Final = 3
_FEW: Final = 23
_PHRED: Final = 4.343  # 10 / ln(10)


def mapping_qualities() -> NDArray[np.uint8]:
    """Tabulate the mapping qualities of reads with one best hit, as in `bwa aln`.

    The mapping quality of two best hits is `TWO_BEST`; of more, 0.

    Returns
    -------
    numpy.ndarray
        uint8[MAX_COUNTED + 1], by the number of second-best hits.
    """
    fewer = [max(1, _FEW - int(_PHRED * math.log(n) + 0.5)) for n in range(1, MAX_COUNTED + 1)]
    return np.array([UNIQUE, *fewer], dtype=np.uint8)


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


class RecordCounts(NamedTuple):
    """Counts of the reads of a block and of their records.

    Attributes
    ----------
    mapped, hits
        Reads with a hit, and the hits of all reads (after `best`, before `max_hits`).
    records
        Lines written.
    reads_over_max_hits
        Reads with more hits than `max_hits`.
    too_short
        Reads of fewer than `MIN_READ_BASES` bases, which are not mapped.
    """

    mapped: int
    hits: int
    records: int
    reads_over_max_hits: int
    too_short: int


def sam_block(text: NDArray[np.uint8], reads: int, counts: RecordCounts) -> TextBlock:
    """Return the SAM records of a block of reads, uint8 text, with their counts."""
    return TextBlock(text, {"reads": reads, **counts._asdict()})


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
        uint8[256]: result of `mapping_qualities`.
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


def sam_tables(index: FMIndexArrays, options: SamOptions) -> SamTables:
    """Return the tables of an index and options, shared by all blocks of reads."""
    names = Ragged.from_names(index.contigs.names)
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
