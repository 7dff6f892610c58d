"""VCF records at telomeres: before the first base of a contig, or after its last base."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.vcf.batches import VcfBatch

_NS = b"Nn"


def are_telomeres(records: VcfBatch, length: int) -> NDArray[np.bool_]:
    """Return bool[n]: whether records are at POS 0 or, on a contig of N bases, at N + 1.

    See VCF 4.3, 1.6.1. A record at N + 1 whose REF is a base is not at a telomere: it belongs to
    another reference.

    Parameters
    ----------
    records
        Records of one contig.
    length
        Length of the contig; negative if it is unknown.
    """
    are: NDArray[np.bool_] = records.starts < 0
    if length >= 0:
        for row in np.flatnonzero(records.starts == length).tolist():
            start, end = records.columns[row, 3:5]
            are[row] = not records.text[start : end - 1].tobytes().strip(_NS)
    return are
