"""Masks of the reads of some read groups, by their tag RG."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.read_options import MoreFilter, ReadOptions
from hapgpu.io.bam.header import SamHeader, fields_of
from hapgpu.io.bam.read_groups import SampleTable, group_numbers

_IDENTIFIER: Final = ("ID", "RG")
"""Names of the ID of a read group in GATK's black list."""


@dataclass(frozen=True, slots=True)
class GroupMask:
    """Read groups whose reads are kept.

    Attributes
    ----------
    identifiers
        uint8 text, g rows, ascending.
    kept
        bool[g + 2]: of each group; then of reads without a group, and of reads of other groups.
    """

    identifiers: Ragged
    kept: NDArray[np.bool_]

    @classmethod
    def of(cls, kept: Mapping[str, bool], *, without_group: bool, others: bool) -> GroupMask:
        """Return the mask, given whether the reads of each group are kept."""
        rows = sorted((name.encode("utf-8", "surrogateescape"), kept[name]) for name in kept)
        flags = [*(flag for _, flag in rows), without_group, others]
        return cls(Ragged.from_sequences(text for text, _ in rows), np.array(flags, dtype=np.bool_))

    def keeps(self, reads: ReadBatch) -> NDArray[np.bool_]:
        """Return bool[n]: which reads are kept."""
        # NO_GROUP and UNKNOWN count from the end.
        return self.kept[group_numbers(reads, self.identifiers)]


@dataclass(frozen=True, slots=True)
class FileMasks:
    """Masks of one input.

    Attributes
    ----------
    own
        Of the reads of the only sample that is called; None: all are called.
    filters
        Of the filters by read group.
    """

    own: GroupMask | None
    filters: Mapping[MoreFilter, GroupMask]

    @classmethod
    def of(
        cls, options: ReadOptions, header: SamHeader, table: SampleTable, file: int
    ) -> FileMasks:
        """Return the masks of an input, given its header and its number in the table of samples."""
        own = None
        if options.only_sample is not None:
            own = _of_samples({options.only_sample}, header, table, file)
        filters: dict[MoreFilter, GroupMask] = {}
        for name in options.filters:
            if name is MoreFilter.SAMPLE:
                filters[name] = _of_samples(options.samples, header, table, file)
            elif name is MoreFilter.READ_GROUP:
                kept = {options.read_group: True}
                filters[name] = GroupMask.of(kept, without_group=False, others=False)
            elif name is MoreFilter.BLACK_LIST:
                filters[name] = _without_listed(options.black_list, header)
        return cls(own, filters)


def _of_samples(
    samples: Container[str], header: SamHeader, table: SampleTable, file: int
) -> GroupMask:
    """Return the mask of samples; reads of no sample pass, and are then errors."""
    only = table.files[file].only_sample
    is_only = only < 0 or table.names[only] in samples
    if not len(table.files[file].identifiers):  # all reads are of the sample of the file
        return GroupMask.of({}, without_group=is_only, others=is_only)
    kept = _by_group(header, lambda fields: not (sample := fields.get("SM")) or sample in samples)
    return GroupMask.of(kept, without_group=is_only, others=True)


def _without_listed(listed: tuple[tuple[str, str], ...], header: SamHeader) -> GroupMask:
    def is_kept(fields: Mapping[str, str]) -> bool:
        values = {(name, text) for name, text in fields.items() if name != "RG"}
        values |= {(name, fields.get("ID", "")) for name in _IDENTIFIER}
        return values.isdisjoint(listed)

    return GroupMask.of(_by_group(header, is_kept), without_group=True, others=True)


def _by_group(header: SamHeader, is_kept: Callable[[Mapping[str, str]], bool]) -> dict[str, bool]:
    """Return the result of a function of the fields of each @RG line, by the ID."""
    groups = map(fields_of, header.lines_of("@RG"))
    return {fields.get("ID", ""): is_kept(fields) for fields in groups}
