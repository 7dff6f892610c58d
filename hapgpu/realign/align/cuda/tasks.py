"""Arguments that all pairs of a call share."""

from __future__ import annotations

from dataclasses import dataclass

from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.devices import CudaDevice


@dataclass(frozen=True, slots=True)
class AlignTask:
    """Weights, treatment of query bases outside the reference, GPU; alignments or only scores."""

    scoring: Scoring
    overhang: Overhang
    device: CudaDevice
    with_trace: bool
