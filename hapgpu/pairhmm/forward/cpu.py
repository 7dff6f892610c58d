"""Pair-HMM on the CPU: pairs of similar size in lanes, slices of pairs in threads.

Pairs that the normalised recurrence cannot compute are computed one at a time by GATK's
recurrence, in float64 with an exponent per column, so that no likelihood is too small. The
probabilities of a column are multiples of 2**(1000 e), and e is lowered when the larger falls below
2**-500. Before two are added, the one with the lower e is converted to the exponent of the other,
usually to 0; the loss is 2**-500 of a probability at the same cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_view import RaggedView, row_of, view_of
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.forward.coefficients import (
    Coefficients,
    ReadArrays,
    new_coefficients,
    read_arrays_of,
    set_coefficients,
)
from hapgpu.pairhmm.forward.lanes import LANES, PairRows, lane_likelihoods, new_lane_arrays
from hapgpu.pairhmm.model import (
    ANY_BASE,
    DOUBLE,
    ERROR_PROBABILITIES,
    FLOAT,
    FLOAT_LONGEST_READ,
    Precision,
)
from hapgpu.runtime.devices import CpuDevice
from hapgpu.runtime.jit import njit

_STEP = 1000
_UP, _DOWN = 2.0**_STEP, 2.0**-_STEP
_MIN_PROBABILITY = 2.0 ** (-_STEP // 2)
_LOG10_STEP = _STEP * np.log10(2.0)
_ZERO_EXPONENT = -(1 << 40)
"""The exponent of 0, below all others."""

_LENGTH_BIN = 8
"""Bin width of read lengths; within a bin, pairs are sorted by haplotype length."""
_SLICES = 8
"""Slices of work per thread, so that no thread waits long for the last slice."""
_MIN_READS = 64
"""Smallest number of reads in a slice of coefficients."""
_MAX_BYTES: Final = 150_000_000
"""Memory of pairs that are computed together, at most, except for those of a single read."""
_PAIR_BYTES: Final = 150
_BASE_BYTES: Final = 54  # of a read: mostly its coefficients


class Columns(NamedTuple):
    """M and I of the last filled row, for haplotypes of at most c bases.

    Attributes
    ----------
    matches, insertions
        float64[c]: multiples of 2**(1000 e).
    exponents
        int64[c]: e.
    """

    matches: NDArray[np.float64]
    insertions: NDArray[np.float64]
    exponents: NDArray[np.int64]


def new_columns(capacity: int) -> Columns:
    """Allocate for haplotypes of up to `capacity` bases."""
    return Columns(np.empty(capacity), np.empty(capacity), np.empty(capacity, dtype=np.int64))


@njit
def exact_likelihoods(
    reads: ReadArrays,
    haplotypes: RaggedView,
    pair_reads: NDArray[np.int64],
    pair_haplotypes: NDArray[np.int64],
    columns: Columns,
) -> NDArray[np.float64]:
    """Return float64[n]: log10 likelihoods of pairs, given as rows of reads and haplotypes.

    Parameters
    ----------
    reads
        The reads.
    haplotypes
        uint8 text.
    pair_reads, pair_haplotypes
        int64[n]: the pairs.
    columns
        Work space for the longest haplotype.
    """
    likelihoods = np.empty(pair_reads.shape[0])
    for pair in range(pair_reads.shape[0]):
        start, end = reads.offsets[pair_reads[pair]], reads.offsets[pair_reads[pair] + 1]
        haplotype = row_of(haplotypes, pair_haplotypes[pair])
        for j in range(haplotype.shape[0]):
            columns.matches[j] = 0.0
            columns.insertions[j] = 0.0
            columns.exponents[j] = _ZERO_EXPONENT
        for k in range(start, end):
            _fill_row(reads, start, k, haplotype, columns)
        likelihoods[pair] = _log10_sum(columns, haplotype.shape[0])
    return likelihoods


@njit
def _fill_row(
    reads: ReadArrays, start: int, k: int, haplotype: NDArray[np.uint8], columns: Columns
) -> None:
    """Replace the row before base `k`, of the read that starts at `start`, by the row of `k`.

    Two values are carried from column to column: D of the previous row, and the sum from which
    the next M is computed.
    """
    base = reads.bases[k]
    error = ERROR_PROBABILITIES[reads.base_qualities[k]]
    matching, differing = 1.0 - error, error / 3.0
    if base == ANY_BASE:
        differing = matching
    insertion_open = ERROR_PROBABILITIES[reads.insertion_qualities[k]]
    extend = ERROR_PROBABILITIES[reads.gap_continuations[k]]
    close = 1.0 - extend
    stay = 1.0 - (insertion_open + ERROR_PROBABILITIES[reads.deletion_qualities[k]])
    stay = max(stay, 0.0)
    deletion_open, deletion_extend = 0.0, 1.0
    deletion, carried_exponent = 1.0 / haplotype.shape[0], 0
    if k > start:
        deletion_open = ERROR_PROBABILITIES[reads.deletion_qualities[k - 1]]
        deletion_extend = ERROR_PROBABILITIES[reads.gap_continuations[k - 1]]
        deletion, carried_exponent = 0.0, _ZERO_EXPONENT
    diagonal = close * deletion
    for j in range(haplotype.shape[0]):
        letter = haplotype[j]
        agrees = (letter == base) | (letter == ANY_BASE)
        above, above_insertion = columns.matches[j], columns.insertions[j]
        above_exponent, exponent = columns.exponents[j], carried_exponent
        match = diagonal * (matching if agrees else differing)
        insertion = insertion_open * above + extend * above_insertion
        if exponent != above_exponent:
            match_shift, shift, exponent = _to_common_exponent(exponent, above_exponent)
            match *= match_shift
            insertion *= shift
            above *= shift
            above_insertion *= shift
            deletion *= match_shift
            carried_exponent = exponent
        diagonal = stay * above + close * (above_insertion + deletion)
        deletion = deletion_open * above + deletion_extend * deletion
        if diagonal < _MIN_PROBABILITY and deletion < _MIN_PROBABILITY:
            shift, carried_exponent = _raised(diagonal + deletion, carried_exponent)
            diagonal *= shift
            deletion *= shift
        if match < _MIN_PROBABILITY and insertion < _MIN_PROBABILITY:
            shift, exponent = _raised(match + insertion, exponent)
            match *= shift
            insertion *= shift
        columns.matches[j] = match
        columns.insertions[j] = insertion
        columns.exponents[j] = exponent


@njit
def _to_common_exponent(first: int, second: int) -> tuple[float, float, int]:
    """Return the factors that bring two numbers to a common exponent, and this exponent."""
    if first > second:
        return 1.0, _DOWN if first == second + 1 else 0.0, first
    return _DOWN if second == first + 1 else 0.0, 1.0, second


@njit
def _raised(total: float, exponent: int) -> tuple[float, int]:
    """Return the factor that raises small probabilities, and their new exponent."""
    if total == 0.0:
        return 0.0, _ZERO_EXPONENT
    return _UP, exponent - 1


@njit
def _log10_sum(columns: Columns, size: int) -> float:
    exponent = _ZERO_EXPONENT
    for j in range(size):
        exponent = max(exponent, columns.exponents[j])
    if exponent == _ZERO_EXPONENT:
        return -np.inf
    total = 0.0
    for j in range(size):
        if columns.exponents[j] >= exponent - 1:
            shift = 1.0 if columns.exponents[j] == exponent else _DOWN
            total += shift * (columns.matches[j] + columns.insertions[j])
    return float(np.log10(total) + exponent * _LOG10_STEP)


def log10_likelihoods(batch: HmmBatch, device: CpuDevice) -> NDArray[np.float64]:
    """Compute log10 P(read | haplotype) by GATK's pair-HMM.

    Each pair is computed by the normalised recurrence, in float32 or for long reads in float64.
    Pairs for which it is not accurate are recomputed with an unbounded exponent (`exact.py`).

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
    is_long = forward.read_lengths > FLOAT_LONGEST_READ
    forward.fill_lanes(np.flatnonzero(forward.is_normal & is_long), DOUBLE)
    forward.fill_lanes(np.flatnonzero(forward.is_normal & ~is_long), FLOAT)
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

    All [pairs]: `is_normal`, whether the read can be normalised; `read_lengths`; `likelihoods`,
    log10, NaN until computed.
    """

    def __init__(self, batch: HmmBatch, threads: int) -> None:
        self._threads = threads
        self._reads = read_arrays_of(batch.reads)
        self._haplotypes = view_of(batch.haplotypes)
        self._coefficients = _coefficients(self._reads, threads)
        self._pairs = _pairs(batch)
        self._haplotype_lengths = batch.haplotypes.lengths_of(self._pairs.haplotypes)
        self.read_lengths = batch.reads.bases.lengths_of(self._pairs.reads)
        self.is_normal = np.isfinite(self._coefficients.growths)[self._pairs.reads]
        self.likelihoods = np.full(self._pairs.reads.size, np.nan)

    def fill_lanes(self, rows: NDArray[np.int64], precision: Precision) -> None:
        """Compute rows by the normalised recurrence; likelihoods that are not accurate stay NaN."""
        length_bins = self.read_lengths[rows] // _LENGTH_BIN
        rows = rows[np.lexsort((self._haplotype_lengths[rows], length_bins))[::-1]]

        def fill(first: int, last: int) -> None:
            slice_rows = rows[first:last]
            self.likelihoods[slice_rows] = lane_likelihoods(
                self._coefficients,
                self._reads.offsets,
                self._haplotypes,
                self._pairs.take(slice_rows),
                new_lane_arrays(
                    int(self.read_lengths[slice_rows].max()),
                    int(self._haplotype_lengths[slice_rows].max()),
                    precision.dtype,
                ),
                precision.scale,
                precision.threshold,
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
