"""Contigs of a PAF file, and how often their bases are covered."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

MAX_CONTIGS: Final = 1000
OTHER: Final = -1
_BINS: Final = 2000


class Contigs:
    """The first 1,000 contigs of a file, in bins; others are only counted.

    Attributes
    ----------
    names, lengths
        Of each contig, in the order of the file.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.lengths: list[int] = []
        self._digests = np.empty(0, dtype=np.int64)
        self._sorted = np.empty(0, dtype=np.int64)
        self._partial = np.zeros((0, _BINS + 1), dtype=np.float64)
        self._changes = np.zeros((0, _BINS + 1), dtype=np.float64)

    def numbers_of(
        self, text: NDArray[np.uint8], names: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the numbers of the contigs of some lines, new ones included; -1 for others.

        Parameters
        ----------
        text
            The lines.
        names
            int64[n, 3]: start, end and digest of each name.
        lengths
            int64[n]: length of each contig.
        """
        found, first = np.unique(names[:, 2], return_index=True)
        is_new = ~np.isin(found, self._digests)
        for row in np.sort(first[is_new])[: MAX_CONTIGS - len(self.names)].tolist():
            start, end, digest = names[row].tolist()
            self.names.append(text[start:end].tobytes().decode("utf-8", "replace"))
            self.lengths.append(int(lengths[row]))
            self._digests = np.append(self._digests, digest)
        self._sorted = np.argsort(self._digests)
        more = len(self.names) - len(self._partial)
        added = np.zeros((more, _BINS + 1), dtype=np.float64)
        self._partial = np.concatenate([self._partial, added])
        self._changes = np.concatenate([self._changes, added])
        return self._look_up(names[:, 2])

    def _look_up(self, digests: NDArray[np.int64]) -> NDArray[np.int64]:
        if not self._digests.size:
            return np.full(digests.size, OTHER)
        ranks = np.searchsorted(self._digests, digests, sorter=self._sorted)
        numbers = self._sorted[np.minimum(ranks, self._sorted.size - 1)]
        return np.where(self._digests[numbers] == digests, numbers, OTHER)

    def cover(
        self, numbers: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> None:
        """Count the bases from `starts` to `ends` as covered once more."""
        is_known = numbers != OTHER
        numbers, starts, ends = numbers[is_known], starts[is_known], ends[is_known]
        widths = self.bin_widths()[numbers]
        shape = self._partial.shape
        for positions, sign in ((starts, -1.0), (ends, 1.0)):
            bins = np.minimum(positions // widths, _BINS)
            flat = numbers * shape[1] + bins
            self._partial += sign * _summed(flat, positions - bins * widths, shape)
            self._changes -= sign * _summed(flat, widths, shape)

    def bin_widths(self) -> NDArray[np.int64]:
        """Return int64[contigs]: bases per bin."""
        return np.maximum(-(-np.array(self.lengths, dtype=np.int64) // _BINS), 1)

    def depths(self) -> list[NDArray[np.float64]]:
        """Return the mean depth of each bin of each contig."""
        bases: NDArray[np.float64] = self._partial + np.cumsum(
            self._changes, axis=1, dtype=np.float64
        )
        depths: list[NDArray[np.float64]] = []
        for row, (length, width) in enumerate(
            zip(self.lengths, self.bin_widths().tolist(), strict=True)
        ):
            used = max(-(-length // width), 1)
            sizes = np.full(used, float(width))
            sizes[-1] = max(length - (used - 1) * width, 1)
            depths.append(bases[row, :used] / sizes)
        return depths


def _summed(
    flat: NDArray[np.int64], weights: NDArray[Any], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return sums of weights in an array of a shape."""
    sums = np.bincount(flat, weights, int(np.prod(shape)))
    return sums.astype(np.float64).reshape(shape)
