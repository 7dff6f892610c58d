"""The look at the GPUs by a forked process: what it sees, and how it ends."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from hapgpu.runtime import driver, leftovers, scout
from hapgpu.runtime.devices import DeviceReport, GpuReport, discover, resolve_devices
from hapgpu.runtime.scout import Scout, SeenGpu, SeenGpus

FREE, TOTAL = 3 << 30, 4 << 30
GPUS = [SeenGpu(k, f"Model {k}", 9, k, TOTAL, FREE, f"0000:0{k}:00.0") for k in range(3)]


class FakeDriver:
    """libcuda with three GPUs; `fails` names a function that fails."""

    def __init__(self, fails: str = "") -> None:
        self._fails = fails

    def __getattr__(self, name: str) -> Callable[..., int]:
        def function(*arguments: Any) -> int:
            if name == self._fails:
                return 1
            ANSWERS.get(name, lambda *_: None)(*arguments)
            return 0

        function.__name__ = name
        return function


def set_memory(free: Any, total: Any) -> None:
    set_to(free, ctypes.c_size_t, FREE)
    set_to(total, ctypes.c_size_t, TOTAL)


def set_text(text: Any, value: str) -> None:
    text.value = value.encode()


ANSWERS: dict[str, Callable[..., None]] = {
    "cuDriverGetVersion": lambda version: set_to(version, ctypes.c_int, 13000),
    "cuDeviceGetCount": lambda count: set_to(count, ctypes.c_int, 3),
    "cuDeviceGet": lambda device, index: set_to(device, ctypes.c_int, index),
    "cuDeviceGetName": lambda name, _, device: set_text(name, f"Model {device.value}"),
    "cuDeviceGetPCIBusId": lambda bus, _, device: set_text(bus, f"0000:0{device.value}:00.0"),
    "cuDeviceGetAttribute": lambda value, attribute, device: set_to(
        value, ctypes.c_int, {75: 9, 76: device.value}[attribute]
    ),
    "cuMemGetInfo_v2": set_memory,
}


def set_to(reference: Any, kind: Any, value: int) -> None:
    ctypes.cast(reference, ctypes.POINTER(kind))[0] = value


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Return a function that replaces libcuda."""
    load = ctypes.CDLL

    def replace(library: Any) -> None:
        def loaded(name: str | None) -> Any:
            return library if name == "libcuda.so.1" else load(name)

        monkeypatch.setattr(ctypes, "CDLL", loaded)

    return replace


@pytest.mark.parametrize(("indices", "seen"), [([], [0, 1, 2]), ([2, 0], [0, 2]), ([7], [])])
def test_what_it_sees(use: Callable[[Any], None], indices: list[int], seen: list[int]) -> None:
    use(FakeDriver())
    assert Scout(indices).report() == SeenGpus(13000, 3, [GPUS[k] for k in seen])


@pytest.mark.parametrize("fails", ["cuInit", "cuDeviceGetCount", "cuMemGetInfo_v2"])
def test_a_driver_that_fails(use: Callable[[Any], None], fails: str) -> None:
    use(FakeDriver(fails))
    assert Scout([]).report() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_signals_end_it_silently(
    use: Callable[[Any], None],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    number: int,
) -> None:
    use(FakeDriver())
    monkeypatch.setattr(scout, "_seen", lambda _: time.sleep(60))
    sent = Scout([])
    os.kill(sent._number, number)
    assert sent.report() is None
    assert capfd.readouterr() == ("", "")


def test_a_run_that_ends_early_ends_it(
    use: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "_registered", {})
    use(FakeDriver())
    assert Scout([]).report()
    assert not leftovers._registered
    monkeypatch.setattr(scout, "_seen", lambda _: time.sleep(60))
    sent = Scout([])
    leftovers.clear_up()
    with pytest.raises(ProcessLookupError):
        os.kill(sent._number, 0)


def test_devices_are_those_that_it_saw(
    use: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cupy")
    use(FakeDriver())
    monkeypatch.setattr(driver, "_scouts", [Scout([1, 2])])
    monkeypatch.setattr("hapgpu.runtime.devices._nvrtc_version", lambda _: ("12.9", None))
    devices, line = resolve_devices("cuda:1,2")
    assert line == "device: cuda:1 (Model 1), cuda:2 (Model 2)"
    assert [gpu.architecture for gpu in devices] == ["sm_91", "sm_92"]  # type: ignore[union-attr]
    assert [gpu.expected_budget() for gpu in devices] == [int(FREE * 0.8)] * 2  # type: ignore[union-attr]
    assert not driver._scouts


def test_discovery_without_a_scout_looks_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_scouts", [])
    assert driver.scouted() is None
    assert isinstance(discover(), DeviceReport)


def test_whether_cuda_is_started(use: Callable[[Any], None]) -> None:
    use(FakeDriver())
    assert scout.is_cuda_started()
    not_yet = FakeDriver()
    not_yet.cuDeviceGetCount = lambda _: 3  # type: ignore[method-assign]
    use(not_yet)
    assert not scout.is_cuda_started()


def test_a_report_has_the_address_of_the_gpu() -> None:
    assert GpuReport(0, "GPU", (9, 0), 2, 1).bus is None
