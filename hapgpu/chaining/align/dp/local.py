"""Temporary."""
from __future__ import annotations
from typing import Any
import numpy as np
from numpy.typing import NDArray
from hapgpu.chaining.align.scoring import AlignScoring
from hapgpu.runtime.jit import njit

@njit
def align_locally(query: NDArray[np.uint8], target: NDArray[np.uint8], scoring: AlignScoring) -> Any:
    n = query.size
    S = (n + 7) // 8
    N = S * 8
    q = scoring.gap_open
    e = scoring.gap_extend
    H = np.zeros(N + 1, np.int32)
    E = np.zeros(N + 1, np.int32)
    best, te, qe = 0, -1, -1
    for i in range(target.size):
        F = 0
        diag = 0
        rowmax = 0
        for p in range(N):
            s = np.int64(scoring.matrix[target[i], query[p]]) if p < n else 0
            h = diag + s
            h = max(h, E[p + 1], F, 0)
            diag = H[p + 1]
            H[p + 1] = h
            rowmax = max(rowmax, h)
            E[p + 1] = max(E[p + 1] - e, h - q - e, 0)
            F = max(F - e, h - q - e, 0)
        if rowmax >= best and rowmax > 0:
            best, te = rowmax, i
            qe = -1
            bs = -1
            for p in range(N):
                if H[p + 1] == rowmax and (p % S >= bs):
                    bs = p % S
                    qe = p
    return best, te, qe
