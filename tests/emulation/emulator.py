"""CUDA kernels run on the CPU, with NumPy in place of CuPy.

So kernels, and the code that launches them, are tested where there is no GPU, but with a C++
compiler. The threads of a block take turns (`cuda_on_cpu.h`): races are found on a GPU only.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.runtime.gpu.kernel import Array, Kernel
from hapgpu.runtime.gpu.launch import read_source

_HEADER: Final = Path(__file__).with_name("cuda_on_cpu.h")
_MOST_BLOCKS: Final = 2
_C_TYPES: Final = {
    np.int32: ("int", ctypes.c_int32),
    np.uint32: ("unsigned", ctypes.c_uint32),
    np.int64: ("long long", ctypes.c_int64),
    np.uint64: ("unsigned long long", ctypes.c_uint64),
    np.float64: ("double", ctypes.c_double),
}


@functools.cache
def compiled(kernel: Kernel) -> Callable[..., None]:
    """Compile a kernel with the C++ compiler; skip the test if there is none."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler (g++)")
    parameters, arguments = [], []
    for number, parameter in enumerate(kernel.parameters):
        is_array = isinstance(parameter, Array)
        parameters.append(f"{'void*' if is_array else _C_TYPES[parameter.dtype][0]} a{number}")
        arguments.append(f"Pointer{{a{number}}}" if is_array else f"a{number}")
    call = f"{kernel.expression}({', '.join(arguments)})"
    source = f"""#include "{_HEADER}"
{read_source(kernel.source).replace('extern "C" __global__', "__global__")}
extern "C" void run(int blocks, int threads, {", ".join(parameters)}) {{
    launch(blocks, threads, [=] {{ {call}; }});
}}
"""
    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory) / "kernel.so"
        options = ["-std=c++20", "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off", "-x", "c++"]
        command = [compiler, *options, "-", "-o", os.fspath(library)]
        subprocess.run(command, input=source.encode(), check=True)
        return ctypes.CDLL(os.fspath(library)).run  # type: ignore[no-any-return]


class EmulatedKernel:
    """Stand-in of `LoadedKernel`, with its checks of arguments."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def launch(self, blocks: int, threads: int, arguments: Sequence[Any]) -> None:
        """Run the kernel."""
        parameters = self._kernel.parameters
        named = {each.name: value for each, value in zip(parameters, arguments, strict=True)}
        values: list[object] = []
        for parameter, value in zip(parameters, arguments, strict=True):
            if isinstance(parameter, Array):
                needed = (int(named[parameter.length]) + parameter.extra) * parameter.width
                assert value.dtype == parameter.dtype, parameter.name
                assert value.size >= needed, parameter.name
                assert value.flags.c_contiguous, parameter.name
                values.append(ctypes.c_void_p(value.ctypes.data))
            else:
                values.append(_C_TYPES[parameter.dtype][1](parameter.dtype(value).item()))
        compiled(self._kernel)(blocks, threads, *values)


def _launch_threads(kernel: Kernel, threads: int, items: int, arguments: Sequence[Any]) -> None:
    blocks = min(max(-(-items // threads), 1), _MOST_BLOCKS)
    EmulatedKernel(kernel).launch(blocks, threads, arguments)


def _last_values(*arrays: NDArray[Any]) -> tuple[int, ...]:
    return tuple(int(array[-1]) for array in arrays)


class _NumpyAsCupy(ModuleType):
    """The functions of CuPy that the launch code calls."""

    def __init__(self) -> None:
        super().__init__("cupy")
        self.cuda = SimpleNamespace(Device=lambda: SimpleNamespace(id=0))

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def argsort(values: NDArray[Any]) -> NDArray[np.intp]:
        """Sort stably, as CuPy does."""
        return np.argsort(values, kind="stable")


def emulate(monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
    """Let modules that launch kernels run them on the CPU, with NumPy's arrays."""
    stand_ins = {
        "cupy": _NumpyAsCupy(),
        "launch_threads": _launch_threads,
        "load_kernel": lambda kernel, _device: EmulatedKernel(kernel),
        "last_values": _last_values,
    }
    for module in modules:
        for name, stand_in in stand_ins.items():
            if hasattr(module, name):
                monkeypatch.setattr(module, name, stand_in)
