"""Cache directory for kernels that CuPy compiles itself; CuPy cannot be imported without one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hapgpu.runtime.cache import cache_path, is_open_to_others, probe


def set_cupy_cache() -> None:
    """Give CuPy a usable cache: its own directory, hapgpu's cache, or memory. Call before import.

    CuPy would fail without a home directory, if it is not writable, and on a full disk.
    """
    if "cupy" in sys.modules or _is_usable(_cupy_default()):
        return
    substitute = cache_path("cupy")
    if substitute is not None and _is_usable(substitute) and not is_open_to_others(substitute):
        os.environ["CUPY_CACHE_DIR"] = str(substitute)
        return
    os.environ["CUPY_CACHE_IN_MEMORY"] = "1"
    os.environ["CUPY_CACHE_DIR"] = "/"  # must exist; is not written to


def _cupy_default() -> Path:
    # Not Path.expanduser, which raises without a home directory; CuPy does not raise.
    default = os.path.expanduser("~/.cupy/kernel_cache")  # noqa: PTH111
    return Path(os.environ.get("CUPY_CACHE_DIR") or default)


def _is_usable(directory: Path) -> bool:
    try:
        if directory.parts[:1] == ("~",):  # not expanded: CuPy would make a directory named "~"
            return False
        probe(directory)
    except OSError:
        return False
    return True
