"""Records gathered on the GPU, against the same rows on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hapgpu.io.bam.record_layout import RecordLayout
from tests.cigar.made_alignments import block_of
from tests.realign.batches.made_reads import made_reads

pytestmark = pytest.mark.gpu

ROWS = 60


def columns_of(records: Any) -> list[Any]:
    fields = ("flags", "reference_ids", "positions", "mapping_qualities")
    return [*records.layout, *(getattr(records, name) for name in fields)]


@pytest.mark.parametrize(
    "rows",
    [
        np.array([], dtype=np.int64),
        np.array([5, 3, 3, 59, 0]),
        np.arange(ROWS) % 3 == 0,
        np.zeros(ROWS, dtype=np.bool_),
        slice(7, 30),
    ],
    ids=["none", "numbers", "mask", "empty mask", "slice"],
)
def test_take(rows: Any) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (needs CuPy)

    records = DeviceRecords.upload(block_of(made_reads(7, ROWS).reads))
    taken = records.take(rows if isinstance(rows, slice) else cupy.asarray(rows))
    assert taken.data is records.data
    assert isinstance(taken.layout, RecordLayout)
    for found, whole in zip(columns_of(taken), columns_of(records), strict=True):
        assert found.dtype == whole.dtype
        np.testing.assert_array_equal(found.get(), whole.get()[rows])
