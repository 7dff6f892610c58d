"""GATK's rule for queries that are substrings of their reference."""

from __future__ import annotations

import numpy as np

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.realign.scoring import Scoring


def with_exact_matches(
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
