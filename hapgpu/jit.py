"""Numba's compiler as hapgpu uses it: no GIL, compiled code kept between runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar, cast

from hapgpu.cache import cache_directory

_PACKAGE = Path(__file__).parent
_Function = TypeVar("_Function", bound=Callable[..., object])


def _sources_digest() -> str:
    """Digest of all package sources.

    Numba notices a change in the file of a cached function by its time and size, but not in the
    files of the functions inlined into it; a folder per state of the package does.
    """
    digest = hashlib.sha256()
    for source in sorted(_PACKAGE.rglob("*.py")):
        digest.update(str(source).encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


# Numba reads this at import; without it a read-only site-packages makes caching fail.
os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_directory() / "numba" / _sources_digest()))

_CACHE = Path(os.environ["NUMBA_CACHE_DIR"])

import numba  # noqa: E402  (the cache folder has to be set first)
from numba import types  # noqa: E402  (as above)
from numba.extending import intrinsic  # noqa: E402  (as above)

__all__ = ["intrinsic", "is_first_run", "njit", "njit_contracting", "njit_inlined", "types"]


def njit(function: _Function) -> _Function:
    """Compile `function` on its first call: no Python objects, no GIL, result cached on disk."""
    return cast("_Function", numba.njit(nogil=True, cache=True)(function))


def njit_contracting(function: _Function) -> _Function:
    """Compile as `njit` does, and let a * b + c be rounded once where the CPU can do so."""
    compiled = numba.njit(nogil=True, cache=True, fastmath={"contract"})(function)
    return cast("_Function", compiled)


def njit_inlined(function: _Function) -> _Function:
    """Compile as `njit` does, never to be left as a call within other compiled functions.

    Arrays are passed as seven words each: a call with a few of them can cost more than its work.
    """
    return cast("_Function", numba.njit(nogil=True, cache=True, forceinline=True)(function))


def is_first_run(command: str) -> bool:
    """Tell, once, that a command was not run before: its first calls will take seconds."""
    mark = _CACHE / f"{command}.ran"
    if mark.exists():
        return False
    with suppress(OSError):  # it is told again then
        _CACHE.mkdir(parents=True, exist_ok=True)
        mark.touch()
    return True
