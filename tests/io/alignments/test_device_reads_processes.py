"""Pieces of BAM in several processes, each decoded after the piece before; on the CPU here."""

from __future__ import annotations

from pathlib import Path

import pysam
import pytest

from hapgpu.errors import InputError
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.processes.blocks import shared_blocks
from tests.runtime.processes.running import results_of_run

pytest.importorskip("cupy")

from hapgpu.io.alignments.cuda import open_device_reads
from hapgpu.io.bam.cuda import decoder, reader
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from tests.io.alignments.device_reading import contents, host_records, joined

GPU = CudaDevice(0, memory_limit=1 << 30)


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where GPUs are too small for any piece; records stay in host memory."""
    monkeypatch.setattr(decoder, "retried_or_none", lambda _: None)
    monkeypatch.setattr(decoder, "retried", lambda compute: compute())
    monkeypatch.setattr(DeviceRecords, "upload", staticmethod(RecordBlock.packed))
    monkeypatch.setattr(decoder, "no_records", lambda: None)
    monkeypatch.setattr(reader, "no_records", lambda: None)


def in_processes(path: Path, piece_bytes: int, processes: int) -> list[bytes] | str:
    blocks: list[RecordBlock | None] = []
    allocate = shared_blocks().allocate
    try:
        with open_device_reads(
            str(path), [GPU], threads=2, piece_bytes=piece_bytes, allocate=allocate
        ) as reads:
            assert isinstance(reads, reader.DeviceReads)
            results_of_run(reads.pieces(), [reads.records] * 4, processes, results=blocks)
    except InputError as error:
        return str(error)
    found = [block for block in blocks if block is not None and len(block)]
    return contents(joined(found))


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("piece_bytes", [1, 70_000, 1 << 24])
def test_records(small_bam: Path, piece_bytes: int, processes: int) -> None:
    expected = contents(host_records(small_bam))
    assert in_processes(small_bam, piece_bytes, processes) == expected


@pytest.mark.parametrize("processes", [1, 3])
@pytest.mark.parametrize("suffix", ["bam", "sam"])
def test_errors(small_bam: Path, tmp_path: Path, suffix: str, processes: int) -> None:
    """Of a file that is cut off, and of samtools, which is a process of the run."""
    path = tmp_path / f"cut.{suffix}"
    if suffix == "bam":
        path.write_bytes(small_bam.read_bytes()[:-5000])
    else:
        path.write_text(pysam.view("-h", str(small_bam)) + "bad\t0\tchr1\n")
    with pytest.raises(InputError) as caught:
        host_records(path)
    assert in_processes(path, 1, processes) == str(caught.value)
