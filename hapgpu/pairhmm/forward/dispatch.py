"""Likelihoods of a batch of reads and haplotypes on any device."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.runtime.devices import CpuDevice, Device


def log10_likelihoods(batch: HmmBatch, device: Device) -> NDArray[np.float64]:
    """Compute log10 P(read | haplotype) by GATK's pair-HMM.

    Computed in float32, within 1e-5 of `reference.py`; pairs for which float32 is not that
    accurate are computed in float64. All devices compute the same bits.

    Parameters
    ----------
    batch
        Reads and haplotypes.
    device
        The device that computes.

    Returns
    -------
    float64[batch.pairs], in the order of `HmmBatch`; none is above 0.

    Raises
    ------
    InputError
        A read or haplotype has no bases.
    """
    _check("read", batch.reads.bases)
    _check("haplotype", batch.haplotypes)
    if not batch.pairs:
        return np.empty(0, dtype=np.float64)
    if isinstance(device, CpuDevice):  # only the kernels in use are loaded
        from hapgpu.pairhmm.forward import cpu  # noqa: PLC0415  (loads compiled functions)

        return cpu.log10_likelihoods(batch, device)
    from hapgpu.pairhmm.forward import cuda  # noqa: PLC0415  (imports CuPy)

    return cuda.log10_likelihoods(batch, device)


def _check(kind: str, sequences: Ragged) -> None:
    if not (sequences.offsets[1:] > sequences.offsets[:-1]).all():
        message = f"{kind} {int(sequences.lengths.argmin())}: no bases; give at least one"
        raise InputError(message)
