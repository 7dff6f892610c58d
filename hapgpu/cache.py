"""Where compiled kernels are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """Return `$HAPGPU_CACHE_DIR`, or `hapgpu` in the user's cache folder."""
    if chosen := os.environ.get("HAPGPU_CACHE_DIR"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hapgpu"
