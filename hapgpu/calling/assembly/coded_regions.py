"""Reads and references of active regions, coded for the assembly on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import RegionReads
from hapgpu.runtime.jit import njit

GOOD: Final = 8
"""Bit of a base whose quality suffices for the assembly, and which is not N."""
_LETTERS: Final = b"ACGNT"
_N: Final = _LETTERS.index(b"N")


def _codes() -> NDArray[np.uint8]:
    """Return uint8[256]: the code of each letter; codes have the order of the letters."""
    codes = np.full(256, _N, dtype=np.uint8)
    for code, letter in enumerate(_LETTERS):
        codes[letter] = code
    return read_only(codes)


_CODES: Final = _codes()


@dataclass(frozen=True, slots=True)
class CodedRegions:
    """m reads of r active regions, region by region, and the references of the regions.

    Attributes
    ----------
    region_offsets
        int64[r + 1]: the reads of region k are rows `region_offsets[k]` to `region_offsets[k + 1]`.
    reads
        uint8 codes, m rows: 0 to 4 for A, C, G, N, T, and `GOOD`.
    samples
        int32[m].
    references
        uint8 codes without `GOOD`, r rows: the padded span of each active region.
    """

    region_offsets: NDArray[np.int64]
    reads: Ragged
    samples: NDArray[np.int32]
    references: Ragged

    def __len__(self) -> int:
        return self.region_offsets.size - 1

    def sizes(self) -> NDArray[np.int64]:
        """Return int64[r]: the bases of the reads and the reference of each region."""
        ends = self.reads.offsets[self.region_offsets]
        sizes: NDArray[np.int64] = np.diff(ends) + self.references.lengths
        return sizes

    def __getitem__(self, part: slice) -> CodedRegions:
        """Return some regions side by side, which share memory."""
        start, end, _ = part.indices(len(self))
        first, last = self.region_offsets[[start, end]]
        return CodedRegions(
            self.region_offsets[start : end + 1] - first,
            self.reads[first:last],
            self.samples[first:last],
            self.references[start:end],
        )

    @classmethod
    def concatenate(cls, parts: Sequence[CodedRegions]) -> CodedRegions:
        """Concatenate regions, at least one batch."""
        counts = np.concatenate([np.diff(part.region_offsets) for part in parts])
        return cls(
            offsets_of(counts),
            Ragged.concatenate([part.reads for part in parts]),
            np.concatenate([part.samples for part in parts]),
            Ragged.concatenate([part.references for part in parts]),
        )


def coded_regions(
    bases: Ragged, reads: RegionReads, references: Ragged, min_base_quality: int
) -> CodedRegions:
    """Code the reads of active regions.

    Parameters
    ----------
    bases
        uint8 text: the bases of the reads, A, C, G, T and N.
    reads
        m reads of r active regions.
    references
        uint8 text, r rows: the padded span of each active region.
    min_base_quality
        Bases of lower quality are not assembled.
    """
    codes = np.empty(bases.data.size, dtype=np.uint8)
    _code(view_of(bases), view_of(reads.qualities), _CODES, min_base_quality, codes)
    return CodedRegions(
        reads.offsets,
        Ragged(codes, bases.offsets),
        reads.samples,
        Ragged(_CODES[references.data], references.offsets),
    )


@njit
def _code(
    bases: RaggedView,
    qualities: RaggedView,
    codes: NDArray[np.uint8],
    min_base_quality: Integer,
    out: NDArray[np.uint8],
) -> None:
    """Write the codes of bases; the rows of `qualities` may be elsewhere in their array."""
    for row in range(bases.offsets.size - 1):
        to_quality = qualities.offsets[row] - bases.offsets[row]
        for at in range(bases.offsets[row], bases.offsets[row + 1]):
            code = codes[bases.data[at]]
            is_good = code != _N and qualities.data[at + to_quality] >= min_base_quality
            out[at] = code | (np.uint8(GOOD) if is_good else np.uint8(0))
