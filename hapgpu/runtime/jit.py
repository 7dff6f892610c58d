"""Numba's compiler as hapgpu uses it: no GIL, compiled code kept between runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.extending import intrinsic

from hapgpu.runtime import cache
from hapgpu.runtime.compiled_cache import CheckedCache

__all__ = ["intrinsic", "is_first_run", "njit", "njit_contracting", "njit_inlined", "types"]

_PACKAGE = Path(__file__).parents[1]
_Function = TypeVar("_Function", bound=Callable[..., object])


def _sources_digest() -> str:
    """Digest of all package sources.

    A change in the file of a kept function is noticed by itself, but not one in the files of the
    functions inlined into it; a folder per state of the package does.
    """
    digest = hashlib.sha256()
    for source in sorted(_PACKAGE.rglob("*.py")):
        digest.update(os.fsencode(source))
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _folder() -> Path | None:
    """Return the folder of compiled functions, Numba's if the user has set one; None for none."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    folder = cache.cache_path("numba", _sources_digest())
    cache.mark_used(folder)
    return folder


_CACHE = _folder()


def njit(function: _Function) -> _Function:
    """Compile `function` on its first call: no Python objects, no GIL, result cached on disk."""
    return _compiled(function)


def njit_contracting(function: _Function) -> _Function:
    """Compile as `njit` does, and let a * b + c be rounded once where the CPU can do so."""
    return _compiled(function, fastmath={"contract"})


def njit_inlined(function: _Function) -> _Function:
    """Compile as `njit` does, never to be left as a call within other compiled functions.

    Arrays are passed as seven words each: a call with a few of them can cost more than its work.
    """
    return _compiled(function, forceinline=True)


def _compiled(function: _Function, **options: Any) -> _Function:
    compiled = numba.njit(nogil=True, **options)(function)
    if compiled is not function:  # as with NUMBA_DISABLE_JIT
        compiled._cache = CheckedCache(function, _CACHE)  # noqa: SLF001  (no other way, see there)
    return cast("_Function", compiled)


def is_first_run(command: str) -> bool:
    """Tell, once, that a command was not run before: its first calls will take seconds."""
    mark = _CACHE and _CACHE / f"{command}.ran"
    if cache.take(mark, command) is not None:
        return False
    cache.keep(mark, command, b"")
    return True
