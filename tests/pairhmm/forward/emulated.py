"""Launches of the CUDA pair-HMM with emulated kernels, on a CPU (`tests/emulation/`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.cuda.layouts import LaneLayout, LayoutPlan, plan_layouts
from hapgpu.pairhmm.model import ERROR_PROBABILITIES
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.kernel import Kernel, Length, Struct
from tests.emulation.emulator import EmulatedKernel


class _Array(np.ndarray[Any, np.dtype[Any]]):
    """NumPy's array with CuPy's copy to the host."""

    def get(self, stream: object, out: NDArray[Any], *, blocking: bool) -> None:
        del stream, blocking
        out[:] = self


class _Arrays:
    """Stand-in of `PieceArrays`: all arrays are in host memory."""

    def __init__(self, sizes: Any) -> None:
        fields = [*sizes.uploaded_fields(), *sizes.computed_fields()]
        # Structs of 16 bytes need aligned memory, as `np.zeros` gives for large arrays only.
        self.device = {name: _aligned(dtype, count) for name, dtype, count in fields}
        self.host = self.device
        self.host["probabilities"][:] = ERROR_PROBABILITIES

    def arguments(
        self, kernel: EmulatedPieceKernel, scalars: Mapping[str, float], given: object
    ) -> list[Any]:
        del given
        values = {**scalars, **self.device}
        return [_argument(parameter, values) for parameter in kernel.parameters]


def _aligned(dtype: Any, count: int) -> _Array:
    size = count * np.dtype(dtype).itemsize
    memory = np.zeros(size + 16, dtype=np.uint8)
    start = -memory.ctypes.data % 16
    return memory[start : start + size].view(dtype).view(_Array)


def _argument(parameter: Any, values: Mapping[str, Any], prefix: str = "") -> Any:
    name = f"{prefix}{parameter.name}"
    if isinstance(parameter, Struct):
        return tuple(_argument(field, values, f"{name}.") for field in parameter.fields)
    if isinstance(parameter, Length) and name not in values:
        return values[parameter.name]
    return values[name]


class _Store:
    """Stand-in of `ArrayStore`."""

    def arrays(self, sizes: Any) -> _Arrays:
        return _Arrays(sizes)

    def upload(self, arrays: _Arrays, stream: object) -> None:
        del arrays, stream


class _Stream(nullcontext[Any]):
    """Stand-in of a stream, on which everything is done at once."""

    def record(self) -> None:
        return None

    def wait_event(self, event: None) -> None:
        del event


class EmulatedPieceKernel(EmulatedKernel):
    """Stand-in of a kernel whose arguments are checked before."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.parameters = kernel.parameters

    def launch_checked(
        self, blocks: int, threads: int, checked: Sequence[Any], scalars: Mapping[str, float]
    ) -> None:
        del scalars
        self.launch(blocks, threads, checked)


def emulated_likelihoods(
    monkeypatch: pytest.MonkeyPatch, batch: HmmBatch, layout: LaneLayout | None = None
) -> NDArray[np.float64]:
    """Return float64[batch.pairs]: log10 likelihoods by the kernels; NaN where the CPU is needed.

    All haplotypes have `layout`, if it is given and they fit.
    """
    pytest.importorskip("cupy")
    from hapgpu.pairhmm.cuda import piece_run  # noqa: PLC0415  (imports CuPy)

    def plan(lengths: NDArray[np.int64], pairs: NDArray[np.int64], min_warps: int) -> LayoutPlan:
        if layout is None:
            return plan_layouts(lengths, pairs, min_warps)
        return LayoutPlan((layout,), np.where(lengths <= layout.width, 0, 1).astype(np.int32))

    monkeypatch.setattr(piece_run, "plan_layouts", plan)
    monkeypatch.setattr(piece_run, "multiprocessors", lambda _device: 1)
    monkeypatch.setattr(piece_run, "pinned_array", np.zeros)
    monkeypatch.setattr(piece_run, "load_kernel", lambda kernel, _: EmulatedPieceKernel(kernel))
    stream: Any = _Stream()
    store: Any = _Store()
    likelihoods: NDArray[np.float64] = np.empty(batch.pairs)
    run = piece_run.PieceRun(batch, batch.pairs, CudaDevice(0), (stream, [stream] * 2), store)
    run.launch(likelihoods, lambda: 1 << 30)
    return likelihoods
