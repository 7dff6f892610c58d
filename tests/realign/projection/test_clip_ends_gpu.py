"""Ends and comparison of alignments on the GPU against the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.realign.projection import clip_ends as on_cpu
from tests.cigar.made_alignments import made_cigars
from tests.realign.projection.test_clip_ends import DIFFERENT, END_CASES, SAME, cigars_of

pytestmark = pytest.mark.gpu


def check_ends(cigars: Ragged) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.arrays.cuda import DeviceRagged  # noqa: PLC0415  (needs CuPy)
    from hapgpu.realign.projection.cuda import (  # noqa: PLC0415  (as above)
        clip_end_insertions,
    )

    positions = np.arange(len(cigars), dtype=np.int64) - 3
    expected, starts = on_cpu.clip_end_insertions(cigars, positions)
    found, found_starts = clip_end_insertions(DeviceRagged.upload(cigars), cupy.asarray(positions))
    np.testing.assert_array_equal(found.download().offsets, expected.offsets)
    np.testing.assert_array_equal(found.download().data, expected.data)
    np.testing.assert_array_equal(found_starts.get(), starts)


def check_same(one: Ragged, other: Ragged) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.arrays.cuda import DeviceRagged  # noqa: PLC0415  (needs CuPy)
    from hapgpu.realign.projection.cuda import (  # noqa: PLC0415  (as above)
        are_same_alignments,
    )

    starts = np.arange(len(one), dtype=np.int32)
    for others in (starts, starts + (starts % 3 == 0).astype(np.int32)):
        found = are_same_alignments(
            *(DeviceRagged.upload(one), cupy.asarray(starts)),
            *(DeviceRagged.upload(other), cupy.asarray(others)),
        )
        assert found.dtype == np.bool_
        expected = on_cpu.are_same_alignments(one, starts, other, others)
        np.testing.assert_array_equal(found.get(), expected)


def test_literal_cases() -> None:
    check_ends(cigars_of(*END_CASES))
    one, other = (cigars_of(*column) for column in zip(*SAME, *DIFFERENT, strict=True))
    check_same(one, other)
    check_same(other, one)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    count=st.sampled_from([0, 1, 33, 200]),
    longest=st.sampled_from([1, 3, 9]),
)
def test_made_cigars(seed: int, count: int, longest: int) -> None:
    rng = np.random.default_rng(seed)
    cigars = made_cigars(rng, count, longest, 3)
    check_ends(cigars)
    check_same(cigars, cigars)
    check_same(cigars, made_cigars(rng, count, longest, 3))
