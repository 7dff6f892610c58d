"""All CUDA kernels, for compilation before a run."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

import numpy as np

import hapgpu
from hapgpu.benchmark.cuda import ren2019
from hapgpu.pairhmm.cuda.kernels import forward_kernel
from hapgpu.pairhmm.cuda.layouts import COLUMNS
from hapgpu.realign.align.cuda.kernels import MAX_COLUMNS, kernel_for
from hapgpu.realign.align.cuda.packed import end_cells_kernel
from hapgpu.realign.align.cuda.packed_layouts import MAX_COLUMNS as MAX_PACKED_COLUMNS
from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.shortread.search import kernels as fmindex


def all_kernels() -> list[Kernel]:
    """Return every kernel that hapgpu can launch, each once."""
    return list(dict.fromkeys([*named_kernels(), *templated_kernels()]))


def named_kernels() -> Iterator[Kernel]:
    """Yield the kernels that a module has under a name."""
    for module in pkgutil.walk_packages(hapgpu.__path__, "hapgpu."):
        if module.name.startswith("hapgpu.report."):  # needs optional libraries, has no kernels
            continue
        for value in vars(import_module(module.name)).values():
            if isinstance(value, Kernel):
                yield value


def templated_kernels() -> Iterator[Kernel]:
    """Yield the kernels that a function returns."""
    for score_type in (np.int32, np.int64):
        for columns in range(1, MAX_COLUMNS[score_type] + 1):
            for with_trace in (True, False):
                yield kernel_for(columns, score_type, with_trace=with_trace)
    for columns in range(1, MAX_PACKED_COLUMNS + 1):
        for is_wide in (False, True):
            yield end_cells_kernel(columns, is_wide=is_wide)
    for columns in COLUMNS:
        for is_uniform in (True, False):
            yield forward_kernel(columns, is_uniform=is_uniform)
    yield from fmindex.all_kernels()
    yield from ren2019.fill_kernels()
