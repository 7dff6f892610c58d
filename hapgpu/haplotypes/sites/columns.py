"""Columns of sites from VCF records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.haplotypes.batches import AlleleKind, Sites
from hapgpu.io.vcf.records import VcfRecord

_BASES: Final = frozenset("ACGT")


def sites_of(records: Sequence[VcfRecord]) -> Sites:
    """Return the sites of the records of one contig, sorted by position."""
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
    """Return whether an ALT allele has a sequence: neither `*` nor symbolic, and without N."""
    return _BASES.issuperset(alternative)


def _kind(text: str) -> AlleleKind:
    if has_sequence(text):
        return AlleleKind.SEQUENCE
    return AlleleKind.SPANNED if text == "*" else AlleleKind.SYMBOLIC
