"""CUDA kernels loaded from the cache or the compiler, and launched with checked arguments."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from hapgpu.runtime import cache
from hapgpu.runtime.gpu.compiler import OPTIONS, compile_kernel, read_source
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar


@functools.cache
def load_kernel(kernel: Kernel, device: int) -> LoadedKernel:
    """Get a kernel ready on a device, from the cache on disk where it was compiled before."""
    import cupy  # noqa: PLC0415  (slow, and not installed everywhere)

    with cupy.cuda.Device(device) as current:
        cubin, lowered_name = _cached_cubin(kernel, f"sm_{current.compute_capability}")
        module = cupy.cuda.function.Module()
        module.load(cubin)
        function = module.get_function(lowered_name)
        if kernel.shared_percent is not None:
            attribute = cupy.cuda.driver.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
            cupy.cuda.driver.funcSetAttribute(function.ptr, attribute, kernel.shared_percent)
        return LoadedKernel(kernel, function, device)


def _cached_cubin(kernel: Kernel, architecture: str) -> tuple[bytes, str]:
    """Return a compiled kernel and its name in it, compiling where it is not in the cache."""
    from cupy.cuda import nvrtc  # noqa: PLC0415  (as above)

    key = repr((read_source(kernel.source), kernel.expression, OPTIONS, architecture))
    label = hashlib.sha256(f"{key}{nvrtc.getVersion()}".encode()).hexdigest()[:32]
    path = cache.cache_path("kernels", f"{label}.kernel")
    cache.mark_used(path)
    if kept := cache.take(path, label):
        name, _, cubin = kept.partition(b"\0")
        return cubin, name.decode()
    compiled = compile_kernel(kernel, architecture)
    cache.keep(path, label, compiled.lowered_name.encode() + b"\0" + compiled.cubin)
    return compiled.cubin, compiled.lowered_name


@dataclass(frozen=True, slots=True)
class Checked:
    """Arguments that were checked against the parameters of a kernel."""

    parameters: tuple[Array | Scalar, ...]
    values: tuple[Any, ...]


class LoadedKernel:
    """A kernel on a device. CuPy would take any array for any pointer; this does not."""

    def __init__(self, kernel: Kernel, function: Any, device: int) -> None:
        self._kernel = kernel
        self._function = function
        self._device = device
        places = {parameter.name: place for place, parameter in enumerate(kernel.parameters)}
        self._scalars = [
            (place, parameter.dtype)
            for place, parameter in enumerate(kernel.parameters)
            if isinstance(parameter, Scalar)
        ]
        lengths = {array.length for array in kernel.parameters if isinstance(array, Array)}
        self._free_scalars = {
            kernel.parameters[place].name: (place, dtype)
            for place, dtype in self._scalars
            if kernel.parameters[place].name not in lengths
        }
        self._arrays = [
            (place, np.dtype(parameter.dtype), places[parameter.length], parameter)
            for place, parameter in enumerate(kernel.parameters)
            if isinstance(parameter, Array)
        ]

    def blocks_per_multiprocessor(self, threads: int) -> int:
        """Blocks of `threads` threads that one multiprocessor holds at a time."""
        from cupy.cuda import driver  # noqa: PLC0415  (as above)

        function = self._function.ptr
        return int(driver.occupancyMaxActiveBlocksPerMultiprocessor(function, threads, 0))

    def launch(
        self, blocks: int, threads: int, arguments: Sequence[Any] | Checked, **scalars: float
    ) -> None:
        """Launch on the current stream, after checking every argument against its parameter.

        `scalars` replace, by name, arguments that were checked before and are the length of no
        array.

        Raises
        ------
        TypeError, ValueError
            If an array has another type, device or layout than declared, or is too short.
        """
        checked = arguments if isinstance(arguments, Checked) else self.check(arguments)
        if checked.parameters is not self._kernel.parameters:
            message = f"{self._kernel.expression} has other parameters than were checked"
            raise TypeError(message)
        values = checked.values
        if scalars:
            replaced = list(values)
            for name, scalar in scalars.items():
                place, dtype = self._free_scalars[name]
                replaced[place] = dtype(scalar)
            values = tuple(replaced)
        self._function((blocks,), (threads,), values)

    def check(self, arguments: Sequence[Any]) -> Checked:
        """Check arguments; for several kernels with the same parameters once is enough.

        Raises
        ------
        TypeError, ValueError
            As `launch`.
        """
        values = list(arguments)
        if len(values) != len(self._kernel.parameters):
            message = f"{self._kernel.expression} takes {len(self._kernel.parameters)} arguments"
            raise ValueError(f"{message}, not {len(values)}")
        for place, dtype in self._scalars:
            values[place] = dtype(values[place])
        for place, array_dtype, length_place, parameter in self._arrays:
            array = values[place]
            needed = (int(values[length_place]) + parameter.extra) * parameter.width
            if (
                array.dtype != array_dtype
                or array.size < needed
                or not array.flags.c_contiguous
                or array.data.device_id != self._device
            ):
                self._refuse(parameter, array, needed)
        return Checked(self._kernel.parameters, tuple(values))

    def _refuse(self, parameter: Array, array: Any, needed: int) -> NoReturn:
        where = f"{self._kernel.expression}: {parameter.name}"
        if array.dtype != np.dtype(parameter.dtype):
            message = f"{where} has type {array.dtype}, not {np.dtype(parameter.dtype)}"
            raise TypeError(message)
        if array.size < needed:
            message = f"{where} has {array.size} elements, not {needed}"
            raise ValueError(message)
        message = f"{where} is not contiguous, or not on device {self._device}"
        raise ValueError(message)


SMOKE = Kernel(
    "common/smoke.cu", "double_all", (Array("values", np.int32, "n"), Scalar("n", np.int32))
)


def smoke_test(device: int) -> str | None:
    """Compile and run a trivial kernel; None, or what went wrong."""
    try:
        import cupy  # noqa: PLC0415  (as above)

        with cupy.cuda.Device(device):
            values = cupy.arange(1000, dtype=np.int32)
            load_kernel(SMOKE, device).launch(4, 256, (values, values.size))
            right = bool((values == 2 * cupy.arange(1000)).all())
    except Exception as error:  # noqa: BLE001  (whatever fails is the answer)
        return str(error).strip().split("\n")[0]
    return None if right else "a trivial kernel computed the wrong result"
