"""A folder for the kernels that CuPy compiles itself, without which it cannot even be imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hapgpu.runtime.cache import cache_path, is_open_to_others, probe


def settle_cupy_cache() -> None:
    """Let CuPy use hapgpu's cache where its own folder is of no use, or else none; before import.

    CuPy would fail without a home, with one that cannot be written and on a full disk.
    """
    if "cupy" in sys.modules or _is_usable(_chosen_by_cupy()):
        return
    substitute = cache_path("cupy")
    if substitute is not None and _is_usable(substitute) and not is_open_to_others(substitute):
        os.environ["CUPY_CACHE_DIR"] = str(substitute)
        return
    os.environ["CUPY_CACHE_IN_MEMORY"] = "1"
    os.environ["CUPY_CACHE_DIR"] = "/"  # it has to be there, and is not written to


def _chosen_by_cupy() -> Path:
    # Not Path.expanduser, which raises where there is no home; CuPy does not either.
    default = os.path.expanduser("~/.cupy/kernel_cache")  # noqa: PTH111
    return Path(os.environ.get("CUPY_CACHE_DIR") or default)


def _is_usable(folder: Path) -> bool:
    try:
        if folder.parts[:1] == ("~",):  # nobody's home: CuPy would make a folder of this name
            return False
        probe(folder)
    except OSError:
        return False
    return True
