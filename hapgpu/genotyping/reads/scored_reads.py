"""Clipped reads with their likelihoods and without their bases, kept until a locus is complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import FNV_BASIS, FNV_PRIME, Integer
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.genotyping.batches import ClippedReads
from hapgpu.genotyping.reads.fragments import by_fragment, is_unnamed
from hapgpu.runtime.jit import njit, njit_inlined

_DIGEST: Final = 2
"""Words of a digest: names are equal if their 128 bits are."""
_FACTORS: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_30, _27, _31, _29 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(29)
_ROW_BYTES: Final = 6 * 4 + 8 * _DIGEST
_VALUE_BYTES: Final = 8
_Rows: TypeAlias = slice | NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ScoredReads:
    """w clipped reads of a batch of loci, ordered by locus, then in the order of the reads.

    A row takes 40 bytes, and 8 for each haplotype of its locus.

    Attributes
    ----------
    loci
        int32[w], ascending.
    samples, files
        int32[w], sample and input.
    lengths
        int32[w], bases.
    starts, ends
        int32[w], as in `ClippedReads`.
    digests
        uint64[w, 2]: hashes of the name; a read without a name has one of its own.
    likelihoods
        float64, row by row, a value for each haplotype of the locus.
    """

    loci: NDArray[np.int32]
    samples: NDArray[np.int32]
    files: NDArray[np.int32]
    lengths: NDArray[np.int32]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    digests: NDArray[np.uint64]
    likelihoods: NDArray[np.float64]

    def __len__(self) -> int:
        return self.loci.size

    def rows(self, start: int, end: int) -> slice:
        """Return the rows of the loci start to end."""
        return slice(*np.searchsorted(self.loci, [start, end]).tolist())

    def slice(self, start: int, end: int, counts: NDArray[np.int64]) -> ScoredReads:
        """Return the rows of the loci start to end, sharing memory; locus `start` becomes 0.

        `counts`, int64[l], are the haplotypes of each locus.
        """
        rows = self.rows(start, end)
        before = int(counts[self.loci[: rows.start]].sum())
        size = int(counts[self.loci[rows]].sum())
        taken = self._rows(rows, self.likelihoods[before : before + size])
        return replace(taken, loci=taken.loci - np.int32(start))

    def take(self, rows: NDArray[np.int64], counts: NDArray[np.int64]) -> ScoredReads:
        """Gather rows, int64[k]; `counts`, int64[l], are the haplotypes of each locus."""
        lengths = counts[self.loci]
        gathered = Ragged.gather(self.likelihoods, offsets_of(lengths)[rows], lengths[rows])
        return self._rows(rows, gathered.data)

    def _rows(self, rows: _Rows, likelihoods: NDArray[np.float64]) -> ScoredReads:
        return ScoredReads(
            self.loci[rows],
            self.samples[rows],
            self.files[rows],
            self.lengths[rows],
            self.starts[rows],
            self.ends[rows],
            self.digests[rows],
            likelihoods,
        )

    @classmethod
    def concatenate(cls, pieces: Sequence[ScoredReads]) -> ScoredReads:
        """Concatenate at least one piece; the loci need not ascend from piece to piece."""
        names = [column.name for column in fields(cls)]
        return cls(*(np.concatenate([getattr(piece, name) for piece in pieces]) for name in names))


def row_bytes(haplotypes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[l]: bytes of a row at loci with these numbers of haplotypes, int64[l]."""
    return _ROW_BYTES + _VALUE_BYTES * haplotypes


def name_digests(names: Ragged, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return uint64[n, 2]: two independent hashes of some names; 0 and 0 without a name.

    `names` are uint8 text; `rows` is int64[n].
    """
    digests = np.zeros((rows.size, _DIGEST), dtype=np.uint64)
    _digest(view_of(names), read_only(rows), digests)
    return digests


def fragments_of(
    scored: ScoredReads, haplotype_counts: NDArray[np.int64]
) -> tuple[ClippedReads, NDArray[np.float64]]:
    """Order clipped reads by fragment, as `clipped_reads_of` does for all reads at once.

    Parameters
    ----------
    scored
        In any order of the loci, but at each locus in the order of the reads.
    haplotype_counts
        int64[l], the haplotypes of each locus.

    Returns
    -------
    The clipped reads, without rows of reads and with the bases from 0 on, and float64: their
    likelihoods, one per haplotype of the locus, end to end.
    """
    names = Ragged(
        scored.digests.view(np.uint8).reshape(-1), 8 * _DIGEST * np.arange(len(scored) + 1)
    )
    loci = scored.loci.astype(np.int64)
    origins = scored.samples * (scored.files.max(initial=0) + 1) + scored.files
    order, fragments = by_fragment(names, origins, np.arange(len(scored)), loci)
    counts = haplotype_counts[loci]
    likelihoods = Ragged.gather(scored.likelihoods, offsets_of(counts)[order], counts[order]).data
    nothing = np.broadcast_to(np.int64(0), order.shape)
    clipped = ClippedReads(
        nothing,
        loci[order],
        scored.samples[order],
        np.zeros(order.size, dtype=np.int64),
        scored.lengths[order].astype(np.int64),
        scored.starts[order].astype(np.int64),
        scored.ends[order].astype(np.int64),
        fragments,
    )
    return clipped, likelihoods


@njit
def _digest(names: RaggedView, rows: NDArray[np.int64], out: NDArray[np.uint64]) -> None:
    for k in range(rows.size):
        row = rows[k]
        if is_unnamed(names.data, names.offsets, row):
            continue
        one, other = FNV_BASIS, _ODD
        for at in range(names.offsets[row], names.offsets[row + 1]):
            letter = np.uint64(names.data[at])
            one = (one ^ letter) * FNV_PRIME
            other = (other + letter + np.uint64(1)) * _ODD
            other ^= other >> _29
        out[k, 0], out[k, 1] = _mixed(one), _mixed(other)


@njit_inlined
def _mixed(value: Integer) -> Integer:
    """Return SplitMix64 of a number: its order is independent of the text."""
    value = (value ^ value >> _30) * _FACTORS[0]
    value = (value ^ value >> _27) * _FACTORS[1]
    return value ^ value >> _31
