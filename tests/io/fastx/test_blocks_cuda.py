"""Blocks of reads that do not fit into the memory of a GPU, which a stand-in replaces."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import numpy as np
import pytest

from hapgpu.errors import DeviceError
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import NO_LINES, ReadBlock, TextBlock
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.memory_turns import MemoryTurns
from hapgpu.runtime.pipeline import results_of

GPU = CudaDevice(0, "stand-in")
RECORDS = [b">r%d\n%b\n" % (number, b"ACGT" * number) for number in range(11)]
Parts = list[tuple[int, bytes]]


def block_of(records: Sequence[bytes]) -> ReadBlock:
    text = np.frombuffer(b"".join(records), dtype=np.uint8)
    return ReadBlock(text, is_fasta=True, first=1, name="made.fa")


def in_parts_of(max_bytes: int, monkeypatch: pytest.MonkeyPatch, block: ReadBlock) -> Parts:
    """Parse on a device that fails above a size; return first record and text of each part."""
    cupy: Any = pytest.importorskip("cupy")
    from hapgpu.io.fastx import cuda as blocks_cuda  # noqa: PLC0415  (imports CuPy)

    parts = []

    class StandIn(blocks_cuda.GpuWorker[TextBlock]):
        def _result_of(self, *_: object) -> TextBlock:
            raise NotImplementedError

        def _computed(self, block: ReadBlock) -> TextBlock:
            if block.text.size > max_bytes:
                raise cupy.cuda.memory.OutOfMemoryError(1, 1)
            parts.append((block.first, block.text.tobytes()))
            return TextBlock(block.text, {"reads": int((block.text == ord(">")).sum())})

    monkeypatch.setattr(blocks_cuda, "memory_turns", lambda _: MemoryTurns(lambda: None))
    worker = StandIn(GPU, LONG_READS, NO_LINES)
    whole = TextBlock.joined(list(results_of(worker._divided, block)))
    assert whole.text.tobytes() == block.text.tobytes()
    assert whole.counts == {"reads": len(RECORDS)}
    return parts


@pytest.mark.parametrize("max_bytes", [len(RECORDS[-1]), 60, 100, 1000])
def test_blocks_are_split_until_they_fit(monkeypatch: pytest.MonkeyPatch, max_bytes: int) -> None:
    parts = in_parts_of(max_bytes, monkeypatch, block_of(RECORDS))
    assert all(len(text) <= max_bytes for _, text in parts)
    assert b"".join(text for _, text in parts) == b"".join(RECORDS)
    for first, text in parts:
        assert text.startswith(b">r%d\n" % (first - 1))


def test_a_record_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeviceError, match=r"made.fa, record 11: .*stand-in.*--gpu-mem"):
        in_parts_of(len(RECORDS[-1]) - 1, monkeypatch, block_of(RECORDS))


def test_the_first_block_is_computed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from hapgpu.io.fastx import cuda as blocks_cuda  # noqa: PLC0415  (imports CuPy)

    has_begun, may_end, others = Event(), Event(), Barrier(3)
    alone = []

    class StandIn(blocks_cuda.GpuWorker[TextBlock]):
        def _result_of(self, *_: object) -> TextBlock:
            raise NotImplementedError

        def _divided(self, block: ReadBlock) -> TextBlock:
            if not has_begun.is_set():
                has_begun.set()
                may_end.wait(60)
                alone.append(others.n_waiting == 0)
            else:
                others.wait(60)  # fails unless all three come at the same time
            return TextBlock(block.text, {})

    monkeypatch.setattr(blocks_cuda, "memory_turns", lambda _: MemoryTurns(lambda: None))
    worker, block = StandIn(GPU, LONG_READS, NO_LINES), block_of(RECORDS)
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(worker._started, block)
        assert has_begun.wait(60)
        later = [threads.submit(worker._started, block) for _ in range(3)]
        may_end.set()
        assert all(each.result(60).text is block.text for each in (first, *later))
    assert alone == [True]
