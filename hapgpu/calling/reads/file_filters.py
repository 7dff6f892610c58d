"""Filters of the inputs of a run, whose read groups differ, and the samples that it calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.calling.read_options import MoreFilter, ReadOptions
from hapgpu.calling.reads.filters import CallFilter
from hapgpu.calling.reads.group_masks import FileMasks
from hapgpu.errors import UsageError
from hapgpu.genotyping.reads.filters import AnyReadFilter
from hapgpu.io.bam.header import SamHeader, fields_of
from hapgpu.io.bam.read_groups import SampleTable

_BY_GROUP = frozenset({MoreFilter.SAMPLE, MoreFilter.READ_GROUP, MoreFilter.BLACK_LIST})


class FileFilters:
    """Filters of the reads of each input.

    Parameters
    ----------
    options
        Options on the reads.
    headers
        Headers of the inputs.
    table
        All samples of the inputs.

    Attributes
    ----------
    table
        The samples that are called.

    Raises
    ------
    UsageError
        A sample or a read group of the options is not in the headers.
    """

    def __init__(
        self, options: ReadOptions, headers: Sequence[SamHeader], table: SampleTable
    ) -> None:
        only = options.only_sample
        if only is not None:
            _check_sample("--sample-name", only, table.names)
        for sample in sorted(options.samples):
            _check_sample("--sample", sample, table.names)
        if MoreFilter.READ_GROUP in options.filters:
            _check_group(options.read_group, headers)
        is_one_of_several = only is not None and len(table.names) > 1
        self.table = table.only(only) if only is not None and is_one_of_several else table
        self._masks: list[FileMasks] = []
        if is_one_of_several or not _BY_GROUP.isdisjoint(options.filters):
            files = enumerate(headers)
            self._masks = [FileMasks.of(options, header, table, file) for file, header in files]

    def of(self, read_filter: CallFilter, file: int) -> AnyReadFilter:
        """Return the filter of the reads of an input, by its number; it counts as `read_filter`."""
        return _FileFilter(read_filter, self._masks[file]) if self._masks else read_filter


class _FileFilter:
    """Filter of the reads of one input."""

    def __init__(self, read_filter: CallFilter, masks: FileMasks) -> None:
        self._filter = read_filter
        self._masks = masks

    def keeps(self, reads: ReadBatch, new: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return bool[n]: which reads are kept; those of samples that are not called count not."""
        own, groups = self._masks.own, self._masks.filters
        if own is None:
            return self._filter.keeps_of(reads, new, groups)
        is_own = own.keeps(reads)
        return self._filter.keeps_of(reads, new & is_own, groups) & is_own


def _check_sample(option: str, sample: str, names: Sequence[str]) -> None:
    if sample not in names:
        raise UsageError(
            f"{option} {sample}: no such sample in the reads; choose one of {', '.join(names)}"
        )


def _check_group(group: str, headers: Iterable[SamHeader]) -> None:
    lines = (fields_of(line) for header in headers for line in header.lines_of("@RG"))
    if group not in (names := [fields.get("ID", "") for fields in lines]):
        known = f"choose one of {', '.join(names)}" if names else "the reads have none"
        raise UsageError(f"--keep-read-group {group}: no such read group in the reads; {known}")
