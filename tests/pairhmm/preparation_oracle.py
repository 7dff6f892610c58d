"""GATK's preparation of reads for the pair-HMM, read by read in plain Python: an oracle for tests.

From PairHMMLikelihoodCalculationEngine.java, ReadUtils.java and GATKVariantContextUtils.java of
broadinstitute/gatk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pysam

from tests.pairhmm.hmm_oracle import plain_likelihood

# Gap-open quality by the number of repeat copies, 0 to 20, from GATK's formula.
LIMITS = {
    "conservative": "40 40 40 40 39 39 39 39 39 38 38 38 37 37 37 36 36 35 34 33 33",
    "aggressive": "40 40 40 39 39 39 38 38 37 37 36 35 34 33 32 30 28 26 23 20 17",
    "hostile": "40 40 39 38 37 36 34 32 28 23 17 10 10 10 10 10 10 10 10 10 10",
}


@dataclass(frozen=True)
class Rules:
    """The options of the preparation, with the names of the command line."""

    gap_open: int = 45
    gap_continuation: int = 10
    pcr_model: str = "conservative"
    cap: bool = True
    threshold: int = 18


@dataclass(frozen=True)
class Prepared:
    """A read and its base, insertion, deletion and continuation qualities."""

    bases: str
    qualities: tuple[list[int], list[int], list[int], list[int]]

    def likelihood(self, haplotype: str) -> float:
        columns = [np.array(column, dtype=np.uint8) for column in self.qualities]
        return plain_likelihood(array_of(self.bases), columns, array_of(haplotype))


def array_of(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def leading_copies(unit: str, text: str) -> int:
    copies = 0
    while text[copies * len(unit) : (copies + 1) * len(unit)] == unit:
        copies += 1
    return copies


def trailing_copies(unit: str, text: str) -> int:
    return leading_copies(unit[::-1], text[::-1])


def repeat_count(read: str, offset: int) -> int:
    """Count the copies of the repeat around a base that is not the last of its read.

    The backward unit ends at the base, the forward unit starts after it; each is the shortest
    repeated unit of 1 to 8 bases, or else a single base. If the units are equal, the copies of
    both are added; else the copies of the forward unit on both sides.
    """
    before, after = read[: offset + 1], read[offset + 1 :]
    backward, copies_backward = before[-1], 1
    for length in range(1, min(8, len(before)) + 1):
        if trailing_copies(before[-length:], before) > 1:
            backward = before[-length:]
            copies_backward = trailing_copies(backward, before)
            break
    forward, copies_forward = after[0], 1
    for length in range(1, min(8, len(after)) + 1):
        if leading_copies(after[:length], after) > 1:
            forward = after[:length]
            copies_forward = leading_copies(forward, after)
            break
    if forward != backward:
        copies_backward = trailing_copies(forward, before)
    return min(20, copies_forward + copies_backward)


def prepare(
    bases: str,
    qualities: Sequence[int],
    mapping_quality: int,
    indel_qualities: tuple[str | None, str | None],
    rules: Rules,
) -> Prepared:
    """Prepare a read, given the text of its tags BI and BD."""
    columns = []
    for text in indel_qualities:
        column = [ord(c) - 33 for c in text] if text else [rules.gap_open] * len(bases)
        if rules.pcr_model != "none":
            limits = [int(word) for word in LIMITS[rules.pcr_model].split()]
            for at in range(len(bases) - 1):
                column[at] = min(column[at], limits[repeat_count(bases, at)])
        columns.append([max(quality, 6) for quality in column])
    kept = [min(q, mapping_quality) if rules.cap else q for q in qualities]
    kept = [q if q >= rules.threshold else 6 for q in kept]
    return Prepared(bases, (kept, *columns, [rules.gap_continuation] * len(bases)))


def prepare_record(record: pysam.AlignedSegment, rules: Rules) -> Prepared:
    """Prepare a read of a file."""
    texts = tuple(record.get_tag(name) if record.has_tag(name) else None for name in ("BI", "BD"))
    return prepare(
        record.query_sequence, record.query_qualities, record.mapping_quality, texts, rules
    )


def is_well_modelled(likelihoods: Sequence[float], length: int) -> bool:
    return max(likelihoods) >= -4.0 * min(2, math.ceil(length / 50))


def normalized(likelihoods: Sequence[float]) -> list[float]:
    return [max(likelihood, max(likelihoods) - 4.5) for likelihood in likelihoods]
