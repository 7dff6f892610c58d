"""Parameters of chaining that follow from the options."""

from __future__ import annotations

import pytest

from hapgpu.longread.options import ChainOptions
from hapgpu.longread.parameters import join_parameters


@pytest.mark.parametrize(("bandwidth", "joins"), [(499, False), (500, False), (501, True)])
def test_only_a_wider_band_joins(bandwidth: int, joins: bool) -> None:
    """As minimap2's `bw_long > bw`."""
    options = ChainOptions(bandwidth=500, long_bandwidth=bandwidth)
    assert (join_parameters(options, 15) is not None) == joins
