"""Memory of a GPU in tests, apart from what other tests and processes hold of it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def own_pool(limit: int = 0) -> Iterator[Any]:
    """Allocate arrays from a new pool of CuPy within the context.

    The pool of the process holds arrays of other tests and parts of freed blocks, and its limit
    counts both.

    Parameters
    ----------
    limit
        Bytes that the pool may take from the current GPU, at most; 0 for no limit.
    """
    import cupy  # noqa: PLC0415  (only where there is a GPU)

    usual, pool = cupy.get_default_memory_pool(), cupy.cuda.MemoryPool()
    usual.free_all_blocks()
    pool.set_limit(size=limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cupy, "get_default_memory_pool", lambda: pool)
        cupy.cuda.set_allocator(pool.malloc)
        try:
            yield pool
        finally:
            cupy.cuda.set_allocator(usual.malloc)


@contextmanager
def turn_on_gpus(*, alone: bool) -> Iterator[None]:
    """Wait until no other process tests alone or, to test alone, until no other one tests.

    Who waits to test alone goes before those that come later.
    """
    directory, user = Path(tempfile.gettempdir()), os.getuid()
    gate, turn = (directory / f"hapgpu-gpu-tests-{user}.{name}" for name in ("gate", "turn"))
    with gate.open("w") as at_gate, turn.open("w") as in_turn:
        fcntl.flock(at_gate, fcntl.LOCK_EX)
        fcntl.flock(in_turn, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        if not alone:
            fcntl.flock(at_gate, fcntl.LOCK_UN)
        yield
