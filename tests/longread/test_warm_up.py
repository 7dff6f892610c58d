"""Start of GPUs beside the index, with the workers of the CPU."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import DeviceError
from hapgpu.io.fastx.block_workers import BlockWorker
from hapgpu.io.fastx.read_block import NO_LINES, ReadBlock, TextBlock
from hapgpu.longread import warm_up
from hapgpu.longread.align.start import code_targets
from hapgpu.longread.cpu import CpuAligner
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import LineOptions, preset
from hapgpu.longread.warm_up import warming_up
from hapgpu.runtime.devices import CudaDevice
from tests.longread.stage_runs import computed

SAM = LineOptions(is_sam=True)


@pytest.mark.parametrize("name", ["map-ont", "map-pb", "map-hifi", "lr:hq"])
def test_the_made_read_is_aligned(name: str) -> None:
    options, found = preset(name), []

    def open_worker(index: MinimizerIndex, sequences: Ragged, _gpu: CudaDevice) -> BlockWorker:
        aligner = CpuAligner(index, code_targets(sequences), options, SAM)

        def aligned(block: ReadBlock) -> TextBlock:
            found.append(computed(aligner, block))
            return NO_LINES

        return aligned

    with warming_up([CudaDevice(0)], options.sketch, open_worker):
        pass
    (lines,) = found
    assert lines.counts["mapped"] == lines.counts["records"] == 1
    _, flag, name_of_target, *_ = lines.text.tobytes().split(b"\t")
    assert (flag, name_of_target) == (b"0", b"made")


@pytest.mark.parametrize("error", [DeviceError("cuda:0: failed"), MemoryError(), OSError("full")])
def test_the_run_goes_on_after_a_failure(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: Any) -> BlockWorker:
        raise error

    with warming_up([CudaDevice(0)], preset("map-ont").sketch, fail):
        pass
    assert not capsys.readouterr().err


def test_each_gpu_is_started_once_and_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    threads: list[Thread] = []

    def open_worker(_index: MinimizerIndex, _sequences: Ragged, gpu: CudaDevice) -> BlockWorker:
        started.append(gpu.index)
        return lambda _block: NO_LINES

    class Noted(Thread):
        def start(self) -> None:
            threads.append(self)
            super().start()

    monkeypatch.setattr(warm_up, "Thread", Noted)
    gpus = [CudaDevice(0), CudaDevice(1), CudaDevice(0)]
    with (
        pytest.raises(ZeroDivisionError),
        warming_up(gpus, preset("map-ont").sketch, open_worker),
    ):
        raise ZeroDivisionError
    assert sorted(started) == [0, 1]
    assert not any(thread.is_alive() for thread in threads)
    with warming_up([], preset("map-ont").sketch, open_worker):
        assert len(threads) == 2
