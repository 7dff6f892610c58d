"""Haplotypes on a GPU: one copy for all workers of a run, with one text where case allows it."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.genome.regions import Region
from hapgpu.runtime.devices import CudaDevice

pytestmark = pytest.mark.gpu

TEXTS = ("ACGTN" * 400, "", "GATTACA")
LOCI = (Region("c", 10, 50), Region("d", 0, 7))


def made(texts: tuple[str, ...]) -> HaplotypeSet:
    data = np.frombuffer("".join(texts).encode(), np.uint8)
    sequences = Ragged.from_lengths(data, [len(text) for text in texts])
    names = tuple(f"h{number}" for number in range(len(texts)))
    return HaplotypeSet(names, sequences, LOCI, np.array([1, 0, 1], dtype=np.int32))


@pytest.mark.parametrize("is_upper", [True, False])
def test_workers_share_the_haplotypes(*, is_upper: bool) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.realign.cuda import TARGETS  # noqa: PLC0415  (needs CuPy)

    haplotypes = made(TEXTS if is_upper else tuple(text.lower() for text in TEXTS))
    device = CudaDevice(0)
    with cupy.cuda.Device(0):
        first, second = TARGETS.on(haplotypes, device), TARGETS.on(haplotypes, device)
        assert second is first
        assert TARGETS.on(made(TEXTS), device) is not first
        by_locus = first.by_locus
        assert (by_locus.sequences is first.sequences) == is_upper
        assert first.sequences.data.get().tobytes() == haplotypes.sequences.data.tobytes()
        assert by_locus.sequences.data.get().tobytes().decode() == "".join(TEXTS)
        assert by_locus.members.get().tolist() == [1, 0, 2]
        for rows in (first.sequences, by_locus.sequences):
            assert rows.offsets.get().tolist() == haplotypes.sequences.offsets.tolist()
