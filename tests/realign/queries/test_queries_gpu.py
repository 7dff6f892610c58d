"""Queries of records in GPU memory, against those of columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.io.bam.decode import decode_block
from hapgpu.io.bam.header import SamHeader
from hapgpu.realign.selection.queries import queries_of
from hapgpu.runtime.pool import Pool
from tests.io.bam.encoded_blocks import encode_block
from tests.io.sam_oracle import Row, batch_of, rows

pytestmark = pytest.mark.gpu

HEADER = SamHeader.from_references(("a", "b"), (2**30, 2**30))


@given(st.lists(rows(), max_size=20), st.booleans())
def test_queries_of_any_records(drawn: list[Row], is_mapped: bool) -> None:
    pytest.importorskip("cupy")
    from hapgpu.io.bam.cuda.device_records import DeviceRecords, download_records  # noqa: PLC0415  (needs CuPy)
    from hapgpu.realign.selection.cuda import device_queries  # noqa: PLC0415  (needs CuPy)

    reads = batch_of(drawn)
    if is_mapped:
        reads.flags[:] &= np.uint16(0xFFFF - 4)
    with Pool(1) as pool:
        block = encode_block(reads, HEADER, pool)
        order = np.random.default_rng(1).permutation(len(reads))
        expected = decode_block(block.take(order), pool)
        records = DeviceRecords.upload(block).take(np_to_gpu(order))
        packed = decode_block(download_records(records), pool)
    for column, other in ((packed.bases, expected.bases), (packed.tags, expected.tags)):
        assert column.offsets.tolist() == other.offsets.tolist()
        assert column.data.tolist() == other.data.tolist()
    queries = queries_of(expected)
    found = device_queries(records)
    assert found.bases.download().offsets.tolist() == queries.bases.offsets.tolist()
    assert found.bases.data.get().tobytes() == queries.bases.data.tobytes()
    assert found.reversed_row.get().tolist() == queries.reversed_row.tolist()
    assert found.reads.get().tolist() == queries.reads.tolist()
    assert found.has_reversed == queries.has_reversed


def np_to_gpu(values: np.ndarray) -> object:
    import cupy  # noqa: PLC0415  (not installed everywhere)

    return cupy.asarray(values)
