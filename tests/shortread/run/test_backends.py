"""The functions of the CPU and their CUDA counterparts, which take the device in addition."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from hapgpu.shortread.cpu import CpuMapper
from hapgpu.shortread.cuda import CudaMapper
from hapgpu.shortread.search import cpu
from hapgpu.shortread.search.cuda import search as cuda


def parameters_and_result(function: Callable[..., Any]) -> tuple[dict[str, Any], Any]:
    signature = inspect.signature(function)
    annotations = {name: p.annotation for name, p in signature.parameters.items()}
    return annotations, signature.return_annotation


@pytest.mark.parametrize(
    ("on_cpu", "on_gpu"), [(cpu.search, cuda.search), (CpuMapper.__init__, CudaMapper.__init__)]
)
def test_the_gpu_takes_a_device_besides(
    on_cpu: Callable[..., Any], on_gpu: Callable[..., Any]
) -> None:
    parameters, result = parameters_and_result(on_cpu)
    expected = {**parameters, "device": "CudaDevice"}
    assert parameters_and_result(on_gpu) == (expected, result)
    assert list(inspect.signature(on_gpu).parameters) == list(expected)
