"""Qualities of reads, prepared for the pair-HMM as GATK HaplotypeCaller prepares them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.errors import InputError
from hapgpu.io.bam.constants import MISSING_QUALITY
from hapgpu.pairhmm.batches import HmmReads
from hapgpu.pairhmm.options import MIN_QUALITY, QualityOptions
from hapgpu.pairhmm.reads.pcr_model import limit_gap_opens
from hapgpu.pairhmm.reads.quality_tags import tag_qualities
from hapgpu.runtime.jit import njit

_NO_CAP: Final = 255


def prepared_parts(
    reads: ReadBatch,
    parts: ReadParts,
    options: QualityOptions,
    source: str,
    base_qualities: Ragged | None = None,
) -> HmmReads:
    """Return parts of reads, in order, each prepared as if it were a whole read.

    The qualities follow the rules of GATK HaplotypeCaller. Soft-clipped bases are kept. Repeats end
    where a part ends, and the last base of a part keeps its gap-open qualities, as in GATK, which
    clips reads before it prepares them.

    Parameters
    ----------
    reads
        Reads with bases and base qualities.
    parts
        Parts of the reads, each with bases.
    options, source
        Options of the preparation, and the name of the input, for errors.
    base_qualities
        uint8 Phred, a row per part, a value per base: used instead of the qualities of the records.

    Raises
    ------
    InputError
        A tag `BI` or `BD` of a read does not hold one quality per base.
    """
    starts, lengths = reads.bases.offsets[parts.reads] + parts.starts, parts.lengths
    bases = Ragged.gather(reads.bases.data, starts, lengths)
    gap_opens = [
        Ragged.gather(tag_qualities(reads, name, options.gap_open, source), starts, lengths).data
        for name in ("BI", "BD")
    ]
    if base_qualities is None:
        base_qualities = Ragged.gather(reads.qualities.data, starts, lengths)
    caps = reads.mapping_qualities[parts.reads]
    if not options.cap_by_mapping_quality:
        caps = np.full_like(caps, _NO_CAP)
    limit_gap_opens(gap_opens, bases, options.pcr_model)
    insertions, deletions = (np.maximum(column, MIN_QUALITY) for column in gap_opens)
    prepared = np.empty(bases.data.size, dtype=np.uint8)
    _cap_and_floor(
        view_of(base_qualities), read_only(caps), options.base_quality_threshold, prepared
    )
    continuations = np.broadcast_to(np.uint8(options.gap_continuation), bases.data.shape)
    return HmmReads(bases, prepared, insertions, deletions, continuations)


def check_base_qualities(reads: ReadBatch, source: str, remedy: str) -> None:
    """Raise an error for reads without base qualities.

    Parameters
    ----------
    reads
        Reads with bases.
    source
        Name of the input, for the error.
    remedy
        An imperative, for the error.

    Raises
    ------
    InputError
        A read has no base qualities.
    """
    first = reads.qualities.data[reads.qualities.offsets[:-1]]
    missing = np.flatnonzero(first == MISSING_QUALITY)
    if missing.size:
        name = reads.names[missing[0]].tobytes().decode("ascii", errors="replace")
        raise InputError(
            f"{source}, read '{name}': no base qualities, which likelihoods need; {remedy}"
        )


@njit
def _cap_and_floor(
    qualities: RaggedView, caps: NDArray[np.uint8], threshold: int, out: NDArray[np.uint8]
) -> None:
    """Cap the base qualities of each read; set qualities below the threshold to `MIN_QUALITY`."""
    data, offsets = qualities.data, qualities.offsets
    for row in range(offsets.size - 1):
        cap = caps[row]
        for k in range(offsets[row], offsets[row + 1]):
            quality = min(data[k], cap)
            out[k] = quality if quality >= threshold else MIN_QUALITY
