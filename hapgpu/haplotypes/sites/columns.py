"""Sites to be genotyped, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.io.vcf.records import VcfRecord

_BASES: Final = frozenset("ACGT")


class AlleleKind(IntEnum):
    """What is known of an allele."""

    SEQUENCE = 0
    SPANNED = 1
    """`*`: an upstream deletion has taken the site."""
    SYMBOLIC = 2
    """`<DEL>`, a breakend, a missing allele or one with an N: its sequence is not told."""


@dataclass(frozen=True, slots=True)
class Sites:
    """s records of one contig, in the order of their positions.

    Attributes
    ----------
    records
        As they were read.
    starts
        int64[s], 0-based position of the first base of REF.
    alleles
        uint8 text, upper case, a rows: REF and each ALT, site by site; empty where the kind is
        not SEQUENCE.
    kinds
        uint8[a], `AlleleKind`.
    allele_offsets
        int64[s + 1]: the alleles of site i are rows `allele_offsets[i]` (REF) to
        `allele_offsets[i + 1]`.
    """

    records: tuple[VcfRecord, ...]
    starts: NDArray[np.int64]
    alleles: Ragged
    kinds: NDArray[np.uint8]
    allele_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size

    @property
    def ends(self) -> NDArray[np.int64]:
        """int64[s]: where REF ends, half-open."""
        ends: NDArray[np.int64] = self.starts + self.alleles.lengths[self.allele_offsets[:-1]]
        return ends

    @property
    def allele_sites(self) -> NDArray[np.int64]:
        """int64[a]: the site of each allele."""
        return np.repeat(np.arange(len(self)), np.diff(self.allele_offsets))

    def slice(self, start: int, stop: int) -> Sites:
        """Sites start to stop, sharing memory with these."""
        first, last = self.allele_offsets[[start, stop]]
        return Sites(
            self.records[start:stop],
            self.starts[start:stop],
            self.alleles.slice(first, last),
            self.kinds[first:last],
            self.allele_offsets[start : stop + 1] - first,
        )


def sites_of(records: Sequence[VcfRecord]) -> Sites:
    """Put the records of one contig, in the order of their positions, into columns."""
    texts, kinds = [], []
    for record in records:
        texts += [record.reference, *record.alternatives]
        kinds += [AlleleKind.SEQUENCE, *map(_kind, record.alternatives)]
    return Sites(
        tuple(records),
        np.array([record.start for record in records], dtype=np.int64),
        Ragged.from_sequences(
            text if kind is AlleleKind.SEQUENCE else ""
            for text, kind in zip(texts, kinds, strict=True)
        ),
        np.array(kinds, dtype=np.uint8),
        offsets_of([1 + len(record.alternatives) for record in records]),
    )


def has_sequence(alternative: str) -> bool:
    """Tell whether an ALT allele is spelled out: neither `*` nor symbolic, and without N."""
    return _BASES.issuperset(alternative)


def _kind(text: str) -> AlleleKind:
    if has_sequence(text):
        return AlleleKind.SEQUENCE
    return AlleleKind.SPANNED if text == "*" else AlleleKind.SYMBOLIC
