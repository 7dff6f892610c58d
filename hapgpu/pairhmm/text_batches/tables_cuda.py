"""Likelihoods of text batches as text, written on a GPU (`cuda/pairhmm/text_batches/tables.cu`)."""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from hapgpu.arrays.ragged import offsets_of
from hapgpu.io.text.decimals import POWERS_OF_TEN
from hapgpu.pairhmm.device_batches import DeviceHmmBatch
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads

_THREADS: Final = 256

_INPUTS: Final = (
    Array("items", np.int64, "groups", 1),
    Array("pairs", np.int64, "groups", 1),
    Array("reads", np.int64, "groups"),
    Array("haplotypes", np.int64, "groups"),
    Array("likelihoods", np.float64, "pair_count"),
    Array("powers", np.float64, "power_count"),
)
_SIZES: Final = (
    Scalar("groups", np.int32),
    Scalar("pair_count", np.int64),
    Scalar("power_count", np.int32),
    Scalar("item_count", np.int64),
    Scalar("first_group", np.int64),
    Scalar("as_matrix", np.int32),
)
MEASURE_TABLE: Final = Kernel(
    "pairhmm/text_batches/tables.cu",
    "measure_table",
    (*_INPUTS, Array("sizes", np.int64, "item_count"), *_SIZES),
)
WRITE_TABLE: Final = Kernel(
    "pairhmm/text_batches/tables.cu",
    "write_table",
    (
        *_INPUTS,
        Array("ends", np.int64, "item_count"),
        Array("text", np.uint8, "text_size"),
        *_SIZES,
        Scalar("text_size", np.int64),
    ),
)


def table_text(
    first_group: int, batch: DeviceHmmBatch, likelihoods: Any, *, as_matrix: bool
) -> Any:
    """Write a line per pair, or a matrix per text batch; waits for the GPU.

    Parameters
    ----------
    first_group
        Number in the file of the first text batch.
    batch
        The pairs.
    likelihoods
        float64[batch.pairs] on the current GPU, in the order of `HmmBatch`.
    as_matrix
        Whether to write `likelihood_matrix`; otherwise `likelihood_table`.

    Returns
    -------
    uint8 text on the GPU, the same as on the CPU.
    """
    reads, haplotypes = np.diff(batch.read_offsets), np.diff(batch.haplotype_offsets)
    items = offsets_of(np.maximum(reads * haplotypes, 1))
    if not (count := int(items[-1])):
        return cupy.empty(0, dtype=np.uint8)
    columns = (items, batch.pair_offsets, reads, haplotypes)
    table = cupy.asarray(np.concatenate([*columns, POWERS_OF_TEN.view(np.int64)]))
    cuts = np.cumsum([column.size for column in columns]).tolist()
    *groups, powers = (
        table[start:end] for start, end in zip([0, *cuts], [*cuts, table.size], strict=True)
    )
    inputs = (*groups, likelihoods, powers.view(np.float64))
    sizes = (reads.size, likelihoods.size, powers.size, count, first_group, as_matrix)
    item_sizes = cupy.empty(count, dtype=np.int64)
    launch_threads(MEASURE_TABLE, _THREADS, count, (*inputs, item_sizes, *sizes))
    ends = cupy.cumsum(item_sizes)
    text = cupy.empty(int(ends[-1]), dtype=np.uint8)
    if text.size:
        launch_threads(WRITE_TABLE, _THREADS, count, (*inputs, ends, text, *sizes, text.size))
    return text
