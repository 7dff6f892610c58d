"""Whether GPUs get processes, where workers are opened, and on which cores they run."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from hapgpu.runtime import affinity, gpu_processes
from hapgpu.runtime.affinity import bind_near
from hapgpu.runtime.devices import CpuDevice, CudaDevice, GpuReport
from hapgpu.runtime.pipeline import run_pipeline
from tests.runtime.processes.running import results_of_run

GPUS = [CudaDevice(number) for number in range(3)]


@pytest.mark.parametrize(
    ("numbers", "wanted", "is_started", "expected"),
    [
        ([], None, False, 1),
        ([0], None, False, 1),
        ([1, 1, 1], 8, False, 1),
        ([0, 1], None, False, 2),
        ([0, 0, 2, 2], 2, False, 2),
        ([0, 1, 2], 16, False, 3),
        ([0, 1], 1, False, 1),
        ([0, 1], None, True, 1),
    ],
)
def test_number_of_processes(
    numbers: list[int],
    wanted: int | None,
    is_started: bool,
    expected: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gpu_processes, "is_cuda_started", lambda: is_started)
    found = gpu_processes.gpu_processes([GPUS[number] for number in numbers], wanted)
    assert found == expected


def opening(opened: list[int]) -> Callable[[CudaDevice], Callable[[int], tuple[int, int, int]]]:
    """Return a function that notes which workers it opens."""

    def open_worker(gpu: CudaDevice) -> Callable[[int], tuple[int, int, int]]:
        opened.append(gpu.index)
        return lambda batch: (batch, gpu.index, os.getpid())

    return open_worker


def test_workers_are_opened_at_once_in_one_process() -> None:
    opened: list[int] = []
    workers = gpu_processes.opened_workers(GPUS, opening(opened), 1)
    assert sorted(opened) == [0, 1, 2]
    assert [worker(7)[:2] for worker in workers] == [(7, 0), (7, 1), (7, 2)]


def test_workers_are_opened_in_their_processes() -> None:
    opened: list[int] = []
    each = gpu_processes.opened_workers(GPUS, opening(opened), 3)
    workers = [worker for worker in each for _ in range(2)]
    found = results_of_run(range(60), workers, 3)
    assert not opened
    assert [batch for batch, _, _ in found] == list(range(60))
    gpus_of_processes: dict[int, set[int]] = {}
    for _, gpu, process in found:
        gpus_of_processes.setdefault(process, set()).add(gpu)
    assert all(len(gpus) == 1 for gpus in gpus_of_processes.values())
    assert os.getpid() not in gpus_of_processes


def test_workers_for_few_batches_are_opened_in_the_run() -> None:
    opened: list[int] = []
    each = gpu_processes.opened_workers(GPUS[:2], opening(opened), 2)
    found = results_of_run([1], [worker for worker in each for _ in range(2)], 2)
    assert len(opened) == 1
    assert found[0][2] == os.getpid()


def on_bus(bus: str | None) -> CudaDevice:
    return CudaDevice(0, found=GpuReport(0, "GPU", (9, 0), 2, 1, bus))


@pytest.fixture
def bind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], set[int] | None]:
    """Return a function that binds to a list of cores, and returns those that were chosen."""
    monkeypatch.setattr(affinity, "_PCI_DEVICES", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 2, 3, 9})
    chosen: list[set[int]] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: chosen.append(cores))

    def bound(text: str) -> set[int] | None:
        (tmp_path / "0000:01:00.0").mkdir(exist_ok=True)
        (tmp_path / "0000:01:00.0" / "local_cpulist").write_text(text)
        bind_near(on_bus("0000:01:00.0"))
        return chosen.pop() if chosen else None

    return bound


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-31\n", {1, 2, 3, 9}),
        ("2-8,9,40-50\n", {2, 3, 9}),
        ("3\n", {3}),
        ("10-20\n", None),
        ("\n", None),
        ("all\n", None),
    ],
)
def test_cores_near_a_gpu(
    text: str, expected: set[int] | None, bind: Callable[[str], set[int] | None]
) -> None:
    assert bind(text) == expected


@pytest.mark.parametrize(("wanted", "expected"), [(None, 1), (1, 1), (5, 5)])
def test_processes_of_cpus(wanted: int | None, expected: int) -> None:
    found = gpu_processes.processes_for([CpuDevice(3)] * 2, wanted)
    assert (found.count, list(found.starts)) == (expected, [])


def test_processes_are_bound_to_their_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of their threads, which workers make, too."""
    cores = sorted(os.sched_getaffinity(0))
    near = [{cores[0]}, {cores[-1]}]
    monkeypatch.setattr(affinity, "_near_cores", lambda gpu: near[gpu.index])
    monkeypatch.setattr(gpu_processes, "is_cuda_started", lambda: False)

    def work(_: int) -> list[int]:
        with ThreadPoolExecutor(1) as pool:
            return [os.getpid(), *pool.submit(os.sched_getaffinity, 0).result()]

    found: list[list[int]] = []
    processes = gpu_processes.processes_for(GPUS[:2], None)
    run_pipeline(range(40), [work] * 4, lambda each: found.append(each) or 1, processes=processes)
    assert len(found) == 40
    assert {process for process, *_ in found} != {os.getpid()}
    assert all(each in ([cores[0]], [cores[-1]]) for _, *each in found)
    assert os.sched_getaffinity(0) == set(cores)


def test_a_system_that_refuses(
    bind: Callable[[str], set[int] | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    assert bind("0-31\n") is None


def test_unknown_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: pytest.fail("bound"))
    for device in (CudaDevice(0), on_bus(None), on_bus("ffff:ff:ff.f")):
        bind_near(device)


def test_memory_for_input_is_shared() -> None:
    array = gpu_processes.input_memory(2)(1000)
    array[:] = 3
    assert results_of_run([array] * 8, [np.sum] * 2, 2) == [3000] * 8
    gpu_processes.release_input_memory(2)
