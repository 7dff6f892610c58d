"""CIGARs of extended haplotypes on the GPU against the CPU."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.haplotypes.pairing.extended_haplotypes import ExtendedHaplotypes
from hapgpu.realign.projection.placement import Placement
from tests.cigar.made_alignments import made_cigars

pytestmark = pytest.mark.gpu


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    haplotypes=st.sampled_from([1, 3, 40]),
    count=st.sampled_from([0, 1, 33, 200]),
    most=st.sampled_from([0, 1, 500]),
)
def test_made_haplotypes(seed: int, haplotypes: int, count: int, most: int) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.arrays.cuda import DeviceRagged  # noqa: PLC0415  (needs CuPy)
    from hapgpu.haplotypes.pairing.cuda import DeviceExtended  # noqa: PLC0415  (as above)
    from hapgpu.realign.projection.cuda import DevicePlacement  # noqa: PLC0415  (as above)

    rng = np.random.default_rng(seed)
    flanks = rng.integers(0, 65, (2, haplotypes))
    cigars = made_cigars(rng, haplotypes, 6, 30)
    # Only its CIGARs and flanks matter here.
    placement = Placement(None, Path(), cigars, flanks)  # type: ignore[arg-type]
    rows = rng.integers(0, haplotypes, count).astype(np.int32)
    extended = ExtendedHaplotypes(
        rows,
        Ragged.from_sequences([]),
        np.zeros(count, dtype=np.int64),
        flanks[:, rows] + rng.integers(0, most + 1, (2, count)),
        rng.integers(0, 2, count).astype(np.int32),
        Ragged.from_sequences(["ACGT", "AC"]),
        np.array([7, 5]),
        np.zeros(2, dtype=np.int32),
    )
    expected = placement.place(extended)
    columns = [
        DeviceRagged.upload(column) if isinstance(column, Ragged) else cupy.asarray(column)
        for column in (getattr(extended, field.name) for field in fields(ExtendedHaplotypes))
    ]
    found = DevicePlacement(placement).place(DeviceExtended(*columns))
    np.testing.assert_array_equal(found.cigars.offsets.get(), expected.cigars.offsets)
    np.testing.assert_array_equal(found.cigars.data.get(), expected.cigars.data)
    for column in ("starts", "reference_index", "reference_starts"):
        np.testing.assert_array_equal(getattr(found, column).get(), getattr(expected, column))
