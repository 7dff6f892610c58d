"""Likelihoods of a batch of reads and haplotypes on any device."""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.runtime.devices import CpuDevice, Device


def log10_likelihoods(batch: HmmBatch, device: Device) -> NDArray[np.float64]:
    """Compute log10 P(read | haplotype) by GATK's pair-HMM.

    Computed in float32, within 1e-5 of `reference.py`, and once more in float64 where that does
    not hold.

    Parameters
    ----------
    batch
        Reads and haplotypes.
    device
        Where to compute.

    Returns
    -------
    float64[batch.pairs], in the order of `HmmBatch`; none is above 0.

    Raises
    ------
    InputError
        If a read or haplotype has no bases.
    """
    _check("read", batch.reads.bases)
    _check("haplotype", batch.haplotypes)
    if not batch.pairs:
        return np.empty(0, dtype=np.float64)
    likelihoods: NDArray[np.float64] = _backend(device).log10_likelihoods(batch, device)
    return likelihoods


def _backend(device: Device) -> ModuleType:
    if isinstance(device, CpuDevice):
        from hapgpu.pairhmm.forward import cpu  # noqa: PLC0415  (only the kernels in use are loaded)

        return cpu
    from hapgpu.pairhmm.forward import cuda  # noqa: PLC0415  (as above)

    return cuda


def _check(what: str, sequences: Ragged) -> None:
    if not (sequences.offsets[1:] > sequences.offsets[:-1]).all():
        message = f"{what} {int(sequences.lengths.argmin())} has no bases"
        raise InputError(message)
