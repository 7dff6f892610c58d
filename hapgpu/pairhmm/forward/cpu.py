"""Pair-HMM on the CPU: pairs of similar size in lanes, slices of pairs in threads.

Pairs are computed in float32 (`lanes.py`) if it is accurate, else in float64 (`double_lanes.py`) if
it has the range, else one at a time with an exponent per column (`exact.py`). The last two give
the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_view import view_of
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.forward.coefficients import (
    FIELDS,
    Coefficients,
    ReadArrays,
    new_coefficients,
    read_arrays_of,
    set_coefficients,
)
from hapgpu.pairhmm.forward.double_lanes import DOUBLE_FIELDS, double_lane_likelihoods
from hapgpu.pairhmm.forward.exact import exact_likelihoods, new_columns
from hapgpu.pairhmm.forward.lanes import (
    LANES,
    PairRows,
    lane_likelihoods,
    new_lane_arrays,
)
from hapgpu.pairhmm.model import FLOAT_LONGEST_HAPLOTYPE
from hapgpu.runtime.devices import CpuDevice

_LENGTH_BIN = 8
"""Bin width of read lengths; within a bin, pairs are sorted by haplotype length."""
_SLICES = 8
"""Slices of work per thread, so that no thread waits long for the last slice."""
_MIN_READS = 64
"""Smallest number of reads in a slice of coefficients."""
_MAX_BYTES: Final = 150_000_000
"""Memory of pairs that are computed together, at most, except for those of a single read."""
_PAIR_BYTES: Final = 150
_BASE_BYTES: Final = 30  # of a read: mostly its coefficients


def log10_likelihoods(batch: HmmBatch, device: CpuDevice) -> NDArray[np.float64]:
    """Compute log10 P(read | haplotype) by GATK's pair-HMM.

    Each pair is computed in float32 if the read can be normalised and it is accurate, else in
    float64, with an unbounded exponent if necessary.

    Parameters
    ----------
    batch
        Reads and haplotypes, none of them empty.
    device
        The CPU threads to use; the result does not depend on them.

    Returns
    -------
    float64[batch.pairs], in the order of `HmmBatch`; none is above 0, -inf is probability 0.
    """
    likelihoods = np.empty(batch.pairs)
    at = 0
    for part in _parts(batch):
        end = at + part.pairs
        likelihoods[at:end] = _likelihoods(part, device.threads)
        at = end
    return likelihoods


def _parts(batch: HmmBatch) -> Iterator[HmmBatch]:
    """Yield parts of at most `_MAX_BYTES`: whole groups, or some reads of a group."""
    sizes = _read_bytes(batch)
    offsets = offsets_of(sizes)
    of_groups, first = offsets[batch.read_offsets], 0
    while first < len(batch):
        within = _end_within(of_groups, first)
        if within > first:
            yield batch.slice(first, within)
        else:
            rows = slice(*batch.read_offsets[[first, first + 1]])
            yield from _parts_of_group(batch.slice(first, first + 1), offsets_of(sizes[rows]))
        first = max(within, first + 1)


def _parts_of_group(group: HmmBatch, offsets: NDArray[np.int64]) -> Iterator[HmmBatch]:
    """Yield parts of one group; `offsets` are those of the bytes of its reads."""
    start = 0
    while start < len(group.reads):
        end = max(_end_within(offsets, start), start + 1)
        yield group.some_reads(start, end)
        start = end


def _read_bytes(batch: HmmBatch) -> NDArray[np.int64]:
    """Return int64[n]: the memory of each read with its pairs."""
    haplotypes = np.repeat(np.diff(batch.haplotype_offsets), np.diff(batch.read_offsets))
    return _PAIR_BYTES * haplotypes + _BASE_BYTES * batch.read_lengths()


def _end_within(offsets: NDArray[np.int64], start: int) -> int:
    """Return the last row up to which `_MAX_BYTES` suffice."""
    return int(np.searchsorted(offsets, offsets[start] + _MAX_BYTES, side="right")) - 1


def _likelihoods(batch: HmmBatch, threads: int) -> NDArray[np.float64]:
    forward = _Forward(batch, threads)
    forward.fill_float_lanes()
    forward.fill_double_lanes(np.flatnonzero(np.isnan(forward.likelihoods)))
    forward.fill_exactly(np.flatnonzero(np.isnan(forward.likelihoods)))
    likelihoods: NDArray[np.float64] = np.minimum(forward.likelihoods, 0.0)
    return likelihoods


def exact_log10_likelihoods(
    batch: HmmBatch, rows: NDArray[np.int64], threads: int
) -> NDArray[np.float64]:
    """Return float64[k]: log10 likelihoods of pairs of any size, `rows`, int64[k], of a batch."""
    forward = _Forward(batch, threads)
    forward.fill_exactly(rows)
    likelihoods: NDArray[np.float64] = np.minimum(forward.likelihoods[rows], 0.0)
    return likelihoods


class _Forward:
    """The forward algorithm over the pairs of a batch.

    `likelihoods` [pairs], log10, are NaN until computed.
    """

    def __init__(self, batch: HmmBatch, threads: int) -> None:
        self._threads = threads
        self._reads = read_arrays_of(batch.reads)
        self._haplotypes = view_of(batch.haplotypes)
        self._pairs = _pairs(batch)
        self._haplotype_lengths = batch.haplotypes.lengths_of(self._pairs.haplotypes)
        self._read_lengths = batch.reads.bases.lengths_of(self._pairs.reads)
        self.likelihoods = np.full(self._pairs.reads.size, np.nan)

    def fill_float_lanes(self) -> None:
        """Compute pairs in float32; likelihoods that are not accurate stay NaN."""
        coefficients = _coefficients(self._reads, self._threads)
        fits = np.isfinite(coefficients.thresholds)[self._pairs.reads]
        fits &= self._haplotype_lengths <= FLOAT_LONGEST_HAPLOTYPE

        def fill(pairs: PairRows, rows: int, columns: int) -> NDArray[np.float64]:
            arrays = new_lane_arrays(rows, columns, FIELDS, np.float32)
            offsets = self._reads.offsets
            return lane_likelihoods(coefficients, offsets, self._haplotypes, pairs, arrays)

        self._fill_lanes(np.flatnonzero(fits), fill)

    def fill_double_lanes(self, rows: NDArray[np.int64]) -> None:
        """Compute rows in float64; likelihoods that are too small for it stay NaN."""

        def fill(pairs: PairRows, rows: int, columns: int) -> NDArray[np.float64]:
            arrays = new_lane_arrays(rows, columns, DOUBLE_FIELDS, np.float64)
            return double_lane_likelihoods(self._reads, self._haplotypes, pairs, arrays)

        self._fill_lanes(rows, fill)

    def _fill_lanes(
        self,
        rows: NDArray[np.int64],
        lanes: Callable[[PairRows, int, int], NDArray[np.float64]],
    ) -> None:
        """Compute rows in lanes: pairs of reads and haplotypes of at most so many bases."""
        length_bins = self._read_lengths[rows] // _LENGTH_BIN
        rows = rows[np.lexsort((self._haplotype_lengths[rows], length_bins))[::-1]]

        def fill(first: int, last: int) -> None:
            slice_rows = rows[first:last]
            self.likelihoods[slice_rows] = lanes(
                self._pairs.take(slice_rows),
                int(self._read_lengths[slice_rows].max()),
                int(self._haplotype_lengths[slice_rows].max()),
            )

        _run_slices(fill, rows.size, LANES, self._threads)

    def fill_exactly(self, rows: NDArray[np.int64]) -> None:
        """Compute rows with an unbounded exponent."""

        def fill(first: int, last: int) -> None:
            slice_rows = rows[first:last]
            columns = new_columns(int(self._haplotype_lengths[slice_rows].max()))
            self.likelihoods[slice_rows] = exact_likelihoods(
                self._reads, self._haplotypes, *self._pairs.take(slice_rows), columns
            )

        _run_slices(fill, rows.size, 1, self._threads)


def _coefficients(reads: ReadArrays, threads: int) -> Coefficients:
    count = reads.offsets.size - 1
    coefficients = new_coefficients(count, reads.bases.size)

    def fill(first: int, last: int) -> None:
        set_coefficients(reads, first, last, coefficients)

    _run_slices(fill, count, _MIN_READS, threads)
    return coefficients


def _pairs(batch: HmmBatch) -> PairRows:
    """Return the row numbers of the read and the haplotype of each pair."""
    reads = np.diff(batch.read_offsets)
    per_read = np.repeat(np.diff(batch.haplotype_offsets), reads)
    read = np.repeat(np.arange(len(batch.reads)), per_read)
    first_haplotypes = np.repeat(batch.haplotype_offsets[:-1], reads)
    within = np.arange(read.size) - (np.cumsum(per_read) - per_read)[read]
    return PairRows(read, first_haplotypes[read] + within)


def _run_slices(task: Callable[[int, int], None], count: int, unit: int, threads: int) -> None:
    """Run a task on rows 0 to `count` in slices, multiples of `unit`; threads take the next one."""
    slices = threads * _SLICES if threads > 1 else 1
    size = max(-(-count // (slices * unit)), 1) * unit
    firsts = range(0, count, size)
    if len(firsts) <= 1:
        for first in firsts:
            task(first, count)
        return
    with ThreadPoolExecutor(min(threads, len(firsts))) as pool:
        for future in [pool.submit(task, first, min(first + size, count)) for first in firsts]:
            future.result()
