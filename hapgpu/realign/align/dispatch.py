"""Alignment of batches of pairs on any device, with GATK's rule for exact matches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.devices import CpuDevice, Device


def align_pairs(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: Device
) -> AlignmentBatch:
    """Align pairs exactly as GATK's SmithWatermanJavaAligner does.

    Parameters
    ----------
    pairs
        n pairs.
    scoring, overhang
        Weights, and the treatment of query bases outside the reference.
    device
        The device that computes; the result does not depend on it.

    Returns
    -------
    n alignments in the order of the pairs.

    Raises
    ------
    InputError
        A sequence is empty, or scores would not fit 32 bits.
    """
    if not len(pairs):
        none = np.empty(0, dtype=np.int32)
        return AlignmentBatch(none, none, Ragged.from_lengths(none.view(np.uint32), none))
    _check(pairs, scoring, overhang)
    alignments = _computed(pairs, scoring, overhang, device)
    if scoring.prefers_exact_match or not overhang.has_free_ends:
        return alignments
    return _with_exact_matches(pairs, scoring, alignments)


def score_pairs(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: Device
) -> NDArray[np.int32]:
    """Return only the scores, int32[n], of `align_pairs`, in less time."""
    if not len(pairs) or (not scoring.prefers_exact_match and overhang.has_free_ends):
        return align_pairs(pairs, scoring, overhang, device).scores
    _check(pairs, scoring, overhang)
    return _computed_scores(pairs, scoring, overhang, device)


def _computed(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: Device
) -> AlignmentBatch:
    if isinstance(device, CpuDevice):
        from hapgpu.realign.align import cpu  # noqa: PLC0415  (only the kernels in use are loaded)

        return cpu.align_pairs(pairs, scoring, overhang, device)
    from hapgpu.realign.align.cuda import aligner  # noqa: PLC0415  (imports CuPy)

    return aligner.align_pairs(pairs, scoring, overhang, device)


def _computed_scores(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: Device
) -> NDArray[np.int32]:
    if isinstance(device, CpuDevice):
        from hapgpu.realign.align import cpu  # noqa: PLC0415  (only the kernels in use are loaded)

        return cpu.score_pairs(pairs, scoring, overhang, device)
    from hapgpu.realign.align.cuda import aligner  # noqa: PLC0415  (imports CuPy)

    return aligner.score_pairs(pairs, scoring, overhang, device)


def _check(pairs: PairBatch, scoring: Scoring, overhang: Overhang) -> None:
    if _are_all_fit(pairs, scoring, overhang):
        return
    reference_lengths, query_lengths = pairs.reference_lengths, pairs.query_lengths
    for kind, lengths in (("reference", reference_lengths), ("query", query_lengths)):
        if not lengths.min():
            message = f"pair {int(lengths.argmin())}: empty {kind}; give at least one base"
            raise InputError(message)
    scoring.check_range(int(reference_lengths.max()), int(query_lengths.max()), overhang)


def _are_all_fit(pairs: PairBatch, scoring: Scoring, overhang: Overhang) -> bool:
    """Tell whether any pair of the sequences can be aligned, without looking up those of a pair."""
    references, queries = pairs.references.lengths, pairs.queries.lengths
    if not (references.min() and queries.min()):
        return False
    try:
        scoring.check_range(int(references.max()), int(queries.max()), overhang)
    except InputError:
        return False
    return True


def _with_exact_matches(
    pairs: PairBatch, scoring: Scoring, alignments: AlignmentBatch
) -> AlignmentBatch:
    """Replace alignments of queries that are substrings of their reference, as GATK does.

    With unusual weights (no gain by a match, or a gain by a gap) they are not the best.
    """
    scores, offsets = alignments.scores.copy(), alignments.offsets.copy()
    cigars = list(alignments.cigars)
    for row in range(len(pairs)):
        reference = pairs.references[pairs.reference_index[row]].tobytes()
        query = pairs.queries[pairs.query_index[row]].tobytes()
        if (start := reference.rfind(query)) >= 0:
            scores[row], offsets[row] = scoring.match * len(query), start
            cigars[row] = np.array([len(query) << 4], dtype=np.uint32)
    lengths = [cigar.size for cigar in cigars]
    return AlignmentBatch(scores, offsets, Ragged.from_lengths(np.concatenate(cigars), lengths))
