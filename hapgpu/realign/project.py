"""From alignments to haplotypes to alignments to the reference, as GATK HaplotypeCaller goes.

Follows AlignmentUtils.createReadAlignedToRef and CigarUtils.calculateCigar of GATK 4, of which
every rule is kept, the odd ones too; where GATK raises an error, a row is marked as not aligned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import AlignmentBatch, PairBatch, Ragged
from hapgpu.errors import InputError
from hapgpu.jit import njit
from hapgpu.realign.api import align
from hapgpu.realign.cigar import (
    COUNT,
    DELETION,
    INSERTION,
    LARGEST_LENGTH,
    LEADING_REMOVED,
    MATCH,
    SOFT_CLIP,
    TRAILING_REMOVED,
    CigarBuilder,
    add_element,
    add_elements,
    built,
    cigar_strings,
    consumes_query,
    consumes_reference,
    finish_cigar,
    is_alignment,
    new_builder,
    parse_cigar,
    query_length,
    query_lengths,
    reference_length,
    start_cigar,
    start_pinned_cigar,
)
from hapgpu.realign.scoring import Overhang, Scoring

_PAD = b"N" * 10
_HAPLOTYPE_OVERHANG = 1000
"""GATK lets reads run this far over the end of a haplotype."""

_OTHER = -1
