"""Write the machine code that a wheel holds, with the versions of Numba and NVRTC installed here.

    python packaging/machine_code.py DIRECTORY
    HAPGPU_MACHINE_CODE=DIRECTORY python -m build --wheel

Needs no GPU; x86-64 with AVX-512 is not needed either. All of it takes some twelve minutes of a
core for functions and ten for each architecture of GPUs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from hapgpu.cli.kernels import all_kernels
from hapgpu.runtime.compiled.signatures import Version, all_versions
from hapgpu.runtime.devices import usable_cpus
from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.gpu.launch import install_kernel
from hapgpu.runtime.machine_code import LEVELS, CpuLevel

ARCHITECTURES: Final = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
"""GPUs whose kernels a wheel holds; others compile them at the first run."""

_COMPILE: Final = (
    "import sys; from hapgpu.runtime.compiled.side_by_side import compile_ahead; "
    "from hapgpu.runtime.compiled.signatures import all_versions; "
    "compile_ahead([all_versions()[int(number)] for number in sys.argv[2:]], int(sys.argv[1]))"
)


def write_functions(directory: Path, level: CpuLevel, versions: Sequence[Version]) -> None:
    """Compile functions for a level of CPUs, and keep what a run on such a machine would store.

    Parameters
    ----------
    directory
        The directory of machine code.
    level
        The level.
    versions
        The functions, of `all_versions`.
    """
    numbers = [str(number) for number, each in enumerate(all_versions()) if each in {*versions}]
    with TemporaryDirectory(prefix="hapgpu-functions-") as cache:
        cpu, features = level.machine
        own = {"HAPGPU_CACHE_DIR": cache, "NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": features}
        inherited = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
        subprocess.run(
            [sys.executable, "-c", _COMPILE, str(usable_cpus()), *numbers],
            env={**inherited, **own},
            check=True,
        )
        (functions,) = Path(cache, "numba").iterdir()
        found = len([*functions.glob("*.compiled")])
        if found != len(numbers):
            message = f"{level.name}: {found} of {len(numbers)} functions were compiled"
            raise SystemExit(message)
        shutil.copytree(functions, directory / level.name / functions.name)


def write_kernels(directory: Path, kernels: Sequence[Kernel], architectures: Sequence[str]) -> None:
    """Compile kernels for architectures of GPUs, side by side."""

    def write(job: tuple[Kernel, str]) -> None:
        kernel, architecture = job
        install_kernel(kernel, architecture, directory / architecture)

    with ThreadPoolExecutor(usable_cpus()) as pool:
        for _ in pool.map(write, product(kernels, architectures)):
            pass


def main(directory: Path) -> None:
    """Write all machine code to a directory, which must be new or empty."""
    if directory.is_dir() and any(directory.iterdir()):
        message = f"{directory}: is not empty; give another directory"
        raise SystemExit(message)
    for level in LEVELS:
        write_functions(directory, level, all_versions())
    write_kernels(directory, all_kernels(), ARCHITECTURES)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
