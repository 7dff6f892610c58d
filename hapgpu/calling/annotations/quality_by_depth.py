"""QUAL per read of the samples with a variant."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import VariantCalls
from hapgpu.runtime.jit import njit

_MAX_RATIO: Final = 35.0
_IDEAL_RATIO: Final = 30.0
"""From `_MAX_RATIO` on, GATK draws QD from a normal distribution around this value."""


class _Genotyped(NamedTuple):
    genotypes: NDArray[np.int16]
    qualities: NDArray[np.float64]


def quality_by_depth(
    calls: VariantCalls, allele_depths: Ragged, depths: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return QD, float64[v]: QUAL per read of the samples with a variant.

    Parameters
    ----------
    calls
        v records of n samples.
    allele_depths
        int32 rows, v * n of them. A sample with at most one ALT read counts only if all such
        samples do. A sample without any read that supports an allele counts with all its reads.
    depths
        int64[v, n]: all reads.

    Returns
    -------
    NaN without reads; 30 for a ratio of at least 35.
    """
    called = _Genotyped(read_only(calls.genotypes), read_only(calls.qualities))
    ratios = np.empty(calls.qualities.size, dtype=np.float64)
    _divide(called, view_of(allele_depths), read_only(depths), ratios)
    return ratios


@njit
def _divide(
    called: _Genotyped,
    allele_depths: RaggedView,
    depths: NDArray[np.int64],
    ratios: NDArray[np.float64],
) -> None:
    samples = depths.shape[1]
    for record in range(ratios.size):
        depth, supported = np.int64(0), np.int64(0)
        for sample in range(samples):
            if not _has_variant(called.genotypes, record, sample):
                continue
            first = allele_depths.offsets[record * samples + sample]
            end = allele_depths.offsets[record * samples + sample + 1]
            total = np.int64(0)
            for k in range(first, end):
                total += allele_depths.data[k]
            if total == 0:
                depth += depths[record, sample]
                continue
            depth += total
            if total - allele_depths.data[first] > 1:
                supported += total
        depth = supported if supported > 0 else depth
        ratio = called.qualities[record] / depth if depth > 0 else np.nan
        ratios[record] = _IDEAL_RATIO if ratio >= _MAX_RATIO else ratio


@njit
def _has_variant(genotypes: NDArray[np.int16], record: Integer, sample: Integer) -> bool:
    one, other = genotypes[record, sample, 0], genotypes[record, sample, 1]
    return bool(one >= 0 and other >= 0 and one + other > 0)
