"""Projection of alignments in GPU memory onto the reference, by the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cupy

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.haplotypes.pairing.extender_cuda import DeviceExtended
from hapgpu.realign.align.device_batches import DeviceAlignments
from hapgpu.realign.projection import project as host
from hapgpu.realign.projection.placement import Placement


@dataclass(frozen=True, slots=True)
class DeviceProjections:
    """The columns of `Projections` on the current GPU."""

    positions: Any
    cigars: DeviceRagged
    ok: Any


class DevicePlacement:
    """`Placement` for haplotypes that were extended on the current GPU."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement

    def place(self, extended: DeviceExtended) -> host.PlacedHaplotypes:
        """Return the alignments of extended haplotypes with their windows."""
        return self._placement.place(extended.download())


def project_alignments(
    reads: DeviceRagged,
    alignments: DeviceAlignments,
    haplotype_index: Any,
    haplotypes: host.PlacedHaplotypes,
    clips: tuple[Any, Any],
    *,
    clip_ends: bool = False,
) -> DeviceProjections:
    """Project alignments as `hapgpu.realign.projection.project.project_alignments`.

    `clips` are int32[n] each, before and after.
    """
    leading, trailing = clips
    projected = host.project_alignments(
        reads.download(),
        alignments.download(),
        haplotype_index.get(),
        haplotypes,
        leading.get(),
        trailing.get(),
        clip_ends=clip_ends,
    )
    return DeviceProjections(
        cupy.asarray(projected.positions),
        DeviceRagged.upload(projected.cigars),
        cupy.asarray(projected.ok),
    )
