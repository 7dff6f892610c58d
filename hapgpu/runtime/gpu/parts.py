"""Computation of a batch in as many parts as the memory of a GPU needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from hapgpu.runtime.gpu.context import OUT_OF_MEMORY, release_memory

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def computed_in_parts(
    batch: Batch,
    compute: Callable[[Batch], Result],
    halves: Callable[[Batch], Sequence[Batch]],
) -> Iterator[Result]:
    """Yield the results of a batch, in order: one, or one per part if GPU memory runs out.

    Parameters
    ----------
    batch
        The batch.
    compute
        Computes a batch or a part of it on the current GPU, and may run out of memory.
    halves
        Divides a batch in two or more parts, in order; returns one at most if it is too small.

    Raises
    ------
    MemoryError
        The smallest part needs more than the memory of the GPU.
    """
    parts = [batch]
    del batch
    while parts:
        part = parts.pop()
        smaller: Sequence[Batch] = ()
        try:
            result = compute(part)
        except OUT_OF_MEMORY:
            smaller = halves(part)
            if len(smaller) <= 1:
                raise
        if smaller:  # the error is gone, and with it the arrays of its frames
            release_memory()
            parts.extend(reversed(smaller))
            continue
        yield result
        del result  # it must not stay alive while the next is computed
