"""CUDA kernels run on the CPU, with NumPy in place of CuPy.

So kernels, and the code that launches them, are tested where there is no GPU, but with a C++
compiler. The threads of a block take turns (`cuda_on_cpu.h`): races are found on a GPU only.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.runtime.gpu.kernel import (
    Array,
    Kernel,
    Length,
    Parameter,
    Scalar,
    Struct,
    length_name,
    named_fields,
)
from hapgpu.runtime.gpu.launch import read_source

_HEADER: Final = Path(__file__).with_name("cuda_on_cpu.h")
_MOST_BLOCKS: Final = 2
_C_TYPES: Final = {
    np.int32: ("int", ctypes.c_int32),
    np.uint32: ("unsigned", ctypes.c_uint32),
    np.int64: ("long long", ctypes.c_int64),
    np.uint64: ("unsigned long long", ctypes.c_uint64),
    np.float32: ("float", ctypes.c_float),
    np.float64: ("double", ctypes.c_double),
}


_OPTIONS: Final = ("-std=c++17", "-O1", "-w", "-fPIC", "-ffp-contract=off")
_COMPILED: Final[dict[Kernel, Callable[..., None]]] = {}


def compiled(kernel: Kernel) -> Callable[..., None]:
    """Compile a kernel with the C++ compiler; skip the test if there is none."""
    if kernel not in _COMPILED:
        kernels = _compiled_together(kernel)
        entries = "".join(_entry(number, each) for number, each in enumerate(kernels))
        library = _library(_kernel_text(kernel.source) + entries)
        functions = (getattr(library, f"run{number}") for number in range(len(kernels)))
        _COMPILED.update(zip(kernels, functions, strict=True))
    return _COMPILED[kernel]


def _compiled_together(kernel: Kernel) -> list[Kernel]:
    """Return all kernels of a source that modules have, except templates: each takes long."""
    if "<" in kernel.expression:
        return [kernel]
    modules = [module for name, module in sys.modules.items() if name.startswith("hapgpu.")]
    values = (value for module in modules for value in vars(module).values())
    others = (value for value in values if isinstance(value, Kernel))
    alike = (each for each in others if each.source == kernel.source and "<" not in each.expression)
    return list(dict.fromkeys([kernel, *alike]))


def _kernel_text(source: str) -> str:
    text = read_source(source).replace('extern "C" __global__', "__global__")
    return f'#include "{_compiled_header()}"\n{text}\n'


def _entry(number: int, kernel: Kernel) -> str:
    """Return the function that launches a kernel."""
    parameters, arguments = [], []
    for position, parameter in enumerate(kernel.parameters):
        if isinstance(parameter, Length):
            continue
        is_scalar = isinstance(parameter, Scalar)
        parameters.append(f"{_C_TYPES[parameter.dtype][0] if is_scalar else 'void*'} a{position}")
        wrapper = {Array: "Pointer", Struct: "Value", Scalar: ""}[type(parameter)]
        arguments.append(f"{wrapper}{{a{position}}}")
    call = f"{kernel.expression}({', '.join(arguments)})"
    launch = "launch_flushing" if kernel.flushes_subnormals else "launch"
    return f"""extern "C" void run{number}(int blocks, int threads, {", ".join(parameters)}) {{
    {launch}(blocks, threads, [=] {{ {call}; }});
}}
"""


def _library(text: str) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory) / "kernel.so"
        command = [_compiler(), *_OPTIONS, "-shared", "-x", "c++", "-", "-o", os.fspath(library)]
        subprocess.run(command, input=text.encode(), check=True)
        return ctypes.CDLL(os.fspath(library))


@functools.cache
def _compiled_header() -> Path:
    """Copy the header to where it is compiled beforehand: most of a compilation is its time."""
    directory = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, directory)
    header = Path(shutil.copy(_HEADER, directory))
    command = [_compiler(), *_OPTIONS, "-x", "c++-header", header, "-o", f"{header}.gch"]
    subprocess.run(command, check=True)
    return header


def _compiler() -> str:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler (g++)")
    return compiler


class EmulatedKernel:
    """Stand-in of `LoadedKernel`, with its checks of arguments."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def launch(self, blocks: int, threads: int, arguments: Sequence[Any]) -> None:
        """Run the kernel."""
        parameters = self._kernel.parameters
        fields = named_fields(parameters)
        named = dict(zip(fields, _values(parameters, arguments), strict=True))
        for name, field in fields.items():
            if isinstance(field, Array):
                _check(named[name], field, int(named[length_name(name, field, named)]))
        values = [
            _passed(parameter, value)
            for parameter, value in zip(parameters, arguments, strict=True)
            if not isinstance(parameter, Length)
        ]
        compiled(self._kernel)(blocks, threads, *map(_by_reference, values))


def _values(parameters: tuple[Parameter, ...], arguments: Sequence[Any]) -> Iterator[Any]:
    """Yield the arguments of all fields, in the order of `named_fields`."""
    for parameter, value in zip(parameters, arguments, strict=True):
        if isinstance(parameter, Struct):
            yield from _values(parameter.fields, value)
        else:
            yield value


def _check(array: NDArray[Any], parameter: Array, length: int) -> None:
    assert array.dtype == parameter.dtype, parameter.name
    assert array.size >= (length + parameter.extra) * parameter.width, parameter.name
    assert array.flags.c_contiguous, parameter.name


def _passed(parameter: Array | Scalar | Struct, value: Any) -> Any:
    """Return an argument as `ctypes` has it."""
    if isinstance(parameter, Array):
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(parameter, Scalar):
        return _C_TYPES[parameter.dtype][1](parameter.dtype(value).item())
    members = [
        (field.name, _passed(field, member))
        for field, member in zip(parameter.fields, value, strict=True)
        if not isinstance(field, Length)
    ]
    fields = [(name, type(member)) for name, member in members]
    struct = type(parameter.name, (ctypes.Structure,), {"_fields_": fields})
    return struct(**dict(members))


def _by_reference(value: Any) -> Any:
    """Return an argument as `run` takes it: a pointer to a struct."""
    return ctypes.byref(value) if isinstance(value, ctypes.Structure) else value


def _launch_threads(kernel: Kernel, threads: int, items: int, arguments: Sequence[Any]) -> None:
    blocks = min(max(-(-items // threads), 1), _MOST_BLOCKS)
    EmulatedKernel(kernel).launch(blocks, threads, arguments)


def _last_values(*arrays: NDArray[Any]) -> tuple[int, ...]:
    return tuple(int(array[-1]) for array in arrays)


class _Stream:
    """Stream of kernels that have run when their launch returns."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def synchronize(self) -> None:
        """Do nothing."""


class _NumpyAsCupy(ModuleType):
    """The functions of CuPy that the launch code calls."""

    def __init__(self) -> None:
        super().__init__("cupy")
        self.cuda = SimpleNamespace(
            Device=lambda: SimpleNamespace(id=0),
            get_current_stream=_Stream,
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def asnumpy(values: NDArray[Any]) -> NDArray[Any]:
        """Copy nothing: the array is in host memory."""
        return values

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
        "side_stream": lambda: nullcontext(_Stream()),
    }
    for module in modules:
        for name, stand_in in stand_ins.items():
            if hasattr(module, name):
                monkeypatch.setattr(module, name, stand_in)
