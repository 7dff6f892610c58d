"""Numba's compiler as used by hapgpu: without the GIL, compiled code stored between runs."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar, cast

import numba
from numba import types
from numba.extending import intrinsic

from hapgpu.runtime import cache
from hapgpu.runtime.compiled.cache import VERSIONS, CheckedCache
from hapgpu.runtime.compiled.dispatcher import CompiledFunction
from hapgpu.runtime.machine_code import find_functions

__all__ = ["COMPILED", "intrinsic", "njit", "njit_inlined", "types"]

_PACKAGE = Path(__file__).parents[1]
_Function = TypeVar("_Function", bound=Callable[..., object])


def _sources() -> Iterator[str]:
    for directory, _, names in os.walk(_PACKAGE):
        yield from (f"{directory}/{name}" for name in names if name.endswith((".py", ".json")))


def _digest() -> str:
    """Return a digest of all that compiled functions depend on, which names their directories.

    Of all sources of the package: a changed file would else be noticed for its own functions only,
    not for functions that inline them.
    """
    digest = hashlib.sha256(f"{VERSIONS} {sys.abiflags}".encode())
    for source in sorted(_sources()):
        digest.update(os.fsencode(source.removeprefix(str(_PACKAGE))))
        with open(source, "rb", buffering=0) as file:  # noqa: PTH123  (at each start: twice as fast)
            digest.update(file.read())
    return digest.hexdigest()[:16]


def _cache_directory() -> Path | None:
    """Return the directory of compiled functions, `$NUMBA_CACHE_DIR` if set; None without one."""
    if of_numba := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(of_numba)
    directory = cache.cache_path("numba", DIGEST)
    cache.mark_used(directory)
    return directory


DIGEST: Final = _digest()
"""The digest of all that compiled functions depend on."""

COMPILED: Final = _cache_directory()
"""The directory in which this machine keeps compiled functions; None without one."""

INSTALLED: Final = find_functions(DIGEST)
"""The compiled functions of the package; None in a checkout."""


def njit(function: _Function) -> _Function:
    """Compile `function` on its first call: no Python objects, no GIL, cached on disk."""
    return _compiled(function)


def njit_inlined(function: _Function) -> _Function:
    """Compile as `njit` does, and inline all calls in other compiled functions.

    An array is passed as seven words: a call with several arrays can cost more than its work.
    """
    return _compiled(function, forceinline=True)


def _compiled(function: _Function, **options: object) -> _Function:
    if numba.config.DISABLE_JIT:
        return function
    compiled = CompiledFunction(function, {"nogil": True, **options})
    compiled._cache = CheckedCache(function, COMPILED, INSTALLED)  # noqa: SLF001  (no other way, see `cache`)
    return cast("_Function", compiled)
