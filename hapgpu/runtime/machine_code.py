"""Machine code that a wheel holds, for which no run compiles; a checkout has none.

`hapgpu/machine_code/` of a wheel has the compiled functions of each level of CPUs, in
`x86-64-v4/DIGEST/` where the digest is of all they depend on, and the kernels of each architecture
of GPUs, such as `sm_90/`. `packaging/machine_code.py` writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import llvmlite.binding as llvm
from numba import config

DIRECTORY: Final = Path(__file__).parents[1] / "machine_code"
"""The directory in the package, which may be missing."""


@dataclass(frozen=True, slots=True)
class CpuLevel:
    """A level of the x86-64 psABI, by LLVM's names, and what it has beyond the level below."""

    name: str
    features: frozenset[str]

    @property
    def machine(self) -> tuple[str, str]:
        """Numba's name of the CPU, and no features but those of the name."""
        return self.name, ""


_V3: Final = frozenset(["avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"])
_V4: Final = frozenset(["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"])
LEVELS: Final = (CpuLevel("x86-64-v4", _V3 | _V4), CpuLevel("x86-64-v3", _V3))
"""The levels for which wheels hold functions, the best first."""
_SETTINGS: Final = ("CPU_NAME", "CPU_FEATURES", "BOUNDSCHECK")
"""Settings of Numba by which a user, or a test, asks for other code."""


@dataclass(frozen=True, slots=True)
class InstalledFunctions:
    """The compiled functions of the package that this CPU can run.

    Attributes
    ----------
    directory
        Their directory.
    level
        The level of CPUs that they are for.
    """

    directory: Path
    level: CpuLevel


def find_functions(digest: str, directory: Path = DIRECTORY) -> InstalledFunctions | None:
    """Return the functions of the best level of this CPU; None if there are none.

    Parameters
    ----------
    digest
        The digest of all that the functions depend on.
    directory
        The directory of machine code.
    """
    is_changed = any(getattr(config, setting) is not None for setting in _SETTINGS)
    if is_changed or not directory.is_dir():
        return None
    features = {name for name, is_there in llvm.get_host_cpu_features().items() if is_there}
    for level in LEVELS:
        path = directory / level.name / digest
        if level.features <= features and path.is_dir():
            return InstalledFunctions(path, level)
    return None


def kernel_directory(architecture: str) -> Path:
    """Return the directory of the kernels for an architecture such as `sm_90`."""
    return DIRECTORY / architecture


def kernel_architectures() -> list[str]:
    """Return the architectures whose kernels the package holds, the oldest first."""
    names = [path.name for path in DIRECTORY.glob("sm_*")]
    return sorted(names, key=lambda name: int(name.removeprefix("sm_")))
