"""Suffixes of a text sorted on a GPU, bucket by bucket (`cuda/shortread/suffixes.cu`)."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import DeviceError
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import device_errors, release_memory
from hapgpu.runtime.gpu.kernel import (
    Array,
    Kernel,
    KernelArgument,
    Length,
    Parameter,
    Scalar,
    Struct,
)
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.staging import downloaded, uploaded
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.runtime.pool import Pool
from hapgpu.runtime.progress import Progress
from hapgpu.shortread.index.suffixes.buckets import Buckets, count_buckets
from hapgpu.shortread.index.suffixes.text import KEY_BASES, PackedText
from hapgpu.shortread.index.suffixes.ties import CpuRefiner, Ties, all_heads, mark_ties, resolve

_THREADS: Final = 256
_BLOCK_BASES: Final = _THREADS * KEY_BASES
_ROW_BYTES: Final = 64
"""Peak memory per row of a part, most of it used by a sort."""
_MIN_PART: Final = 1 << 24
_MAX_PART: Final = 1 << 27
_ROUND_BASES: Final = 18
_ROUNDS: Final = 5
_WIDTH: Final = KEY_BASES + _ROUNDS * _ROUND_BASES
"""Bases by which buckets are sorted; ties after them are left to `ties`."""
_MAX_BUCKET: Final = 2**28 - 1
"""Suffixes of a bucket: as many groups of ties have 28 bits in a key."""
_RANK_BYTES: Final = 4

_TEXT = Struct(
    "text",
    (
        Array("words", np.uint64, "spare_words"),
        Length("spare_words"),
        Scalar("size", np.int64),
    ),
)
_BUCKETS = Struct(
    "buckets",
    (
        Scalar("shift", np.int32),
        Scalar("first", np.uint32),
        Scalar("count", np.uint32),
    ),
)
_KEYS = Array("keys", np.uint64, "suffixes")
_OFFSETS = Array("offsets", np.uint32, "suffixes")
_GROUPS = Array("groups", np.uint32, "suffixes")
_SUFFIXES = Scalar("suffixes", np.int32)
_WIDE = Scalar("width", np.int64)
_RANKS = (Array("ranks", np.uint32, "size"), Scalar("size", np.int64))


def _kernel(name: str, *parameters: Parameter) -> Kernel:
    return Kernel("shortread/suffixes.cu", name, parameters)


COUNT = _kernel(
    "count_suffixes",
    _TEXT,
    _BUCKETS,
    Array("counts", np.uint32, "blocks"),
    Length("blocks"),
)
SELECT = _kernel(
    "select_suffixes",
    _TEXT,
    _BUCKETS,
    Array("ends", np.uint32, "blocks"),
    Length("blocks"),
    _KEYS,
    _OFFSETS,
    Length("suffixes"),
)
FOLLOWING_BASES = _kernel("following_bases", _TEXT, _OFFSETS, _GROUPS, _SUFFIXES, _WIDE, _KEYS)
FOLLOWING_RANKS = _kernel("following_ranks", *_RANKS, _OFFSETS, _GROUPS, _SUFFIXES, _WIDE, _KEYS)
RANK_ROWS = _kernel("rank_rows", _OFFSETS, _SUFFIXES, Scalar("first_row", np.int64), *_RANKS)
RANK_GROUPS = _kernel("rank_groups", _OFFSETS, _GROUPS, _SUFFIXES, *_RANKS)


def sort_suffixes(
    text: PackedText, device: CudaDevice, pool: Pool, progress: Progress
) -> NDArray[np.uint32]:
    """Sort the suffixes of a text as `cpu.sort_suffixes` does, on a GPU.

    Ranks are in the memory of the GPU if they fit, or else ties are sorted on the CPU.

    Raises
    ------
    DeviceError
        The GPU has too little memory, or failed.
    """
    budget = device.memory_budget()
    check_memory(text.size, budget, device.name)
    buckets = count_buckets(text, pool)
    check_buckets(buckets, device.name)
    room = budget - _text_bytes(text.size)
    has_ranks = room - _RANK_BYTES * text.size >= _ROW_BYTES * _MIN_PART
    room -= _RANK_BYTES * text.size * has_ranks
    rows = min(max(room // _ROW_BYTES, 1), _MAX_PART)
    suffixes = np.empty(text.size + 1, dtype=np.uint32)
    suffixes[0] = text.size
    with device_errors(device), cupy.cuda.Device(device.index):
        try:
            _sort(buckets, suffixes, _Sorter(text, rows, with_ranks=has_ranks), pool, progress)
        finally:
            release_memory()
    return suffixes


def _sort(
    buckets: Buckets,
    suffixes: NDArray[np.uint32],
    sorter: _Sorter,
    pool: Pool,
    progress: Progress,
) -> None:
    """Fill the rows of a suffix array after the first."""
    heads, has_ties = all_heads(suffixes.size), False
    for first, end in buckets.parts(sorter.rows):
        ties = sorter.sort_part(buckets, first, end, suffixes[1:])
        mark_ties(heads, ties)
        has_ties |= ties.rows.size > 0
        progress.advance(0, float(buckets.bounds[end]) / buckets.bounds[-1])
    if has_ties:
        refiner = sorter if sorter.has_ranks else CpuRefiner(suffixes, heads, pool)
        resolve(suffixes, heads, refiner, _WIDTH, pool, sorter.rows)


def check_memory(bases: int, budget: int, name: str) -> None:
    """Make sure that the suffixes of a text can be sorted within a budget of GPU memory.

    Raises
    ------
    DeviceError
        They cannot.
    """
    needed = _text_bytes(bases) + _ROW_BYTES * min(bases, _MIN_PART)
    if needed > budget:
        message = (
            f"{name}: too little free memory to index {bases:,} bases (about {needed / 1e9:.1f} "
            "GB); use --device cpu"
        )
        raise DeviceError(message)


def check_buckets(buckets: Buckets, name: str) -> None:
    """Make sure that a GPU can sort each bucket.

    Raises
    ------
    DeviceError
        A bucket has too many suffixes: a tenth of the largest reference starts with the same bases.
    """
    largest = int(np.diff(buckets.bounds).max())
    if largest > _MAX_BUCKET:
        message = (
            f"{name}: {largest:,} suffixes start with the same bases, more than the "
            f"{_MAX_BUCKET:,} that it sorts; use --device cpu"
        )
        raise DeviceError(message)


def _text_bytes(bases: int) -> int:
    """Return the bytes of a text and of the counts of its blocks."""
    return bases // 4 + 8 * (bases // _BLOCK_BASES + 2)


class _Sorter:
    """Text, and ranks of its suffixes if they fit, on the current GPU.

    `rows` is the number of rows to sort at a time.
    """

    def __init__(self, text: PackedText, rows: int, *, with_ranks: bool) -> None:
        self._text = uploaded(text.words), text.words.size, text.size
        self._blocks = -(-text.size // _BLOCK_BASES)
        self.rows = rows
        self._ranks = cupy.empty(text.size, dtype=np.uint32) if with_ranks else None

    @property
    def has_ranks(self) -> bool:
        """Whether `refine` can be called."""
        return self._ranks is not None

    def sort_part(self, buckets: Buckets, first: int, end: int, rows: NDArray[np.uint32]) -> Ties:
        """Sort the buckets from `first` to `end` by `_WIDTH` bases; return their ties in order."""
        base, last = int(buckets.bounds[first]), int(buckets.bounds[end])
        keys, offsets = self._selected(buckets.shift, first, end - first, last - base)
        keys, offsets = _sorted(keys, offsets)
        numbers, ties = _tied(keys)
        tied = offsets[ties]
        for round_ in range(_ROUNDS):
            if not ties.size:
                break
            keys = cupy.empty(ties.size, dtype=np.uint64)
            width = KEY_BASES + round_ * _ROUND_BASES
            arguments = (self._text, tied, numbers, ties.size, width, keys)
            _launch(FOLLOWING_BASES, ties.size, arguments)
            keys, tied = _sorted(keys, tied)
            offsets[ties] = tied
            numbers, still = _tied(keys)
            ties, tied = ties[still], tied[still]
        del keys
        downloaded(offsets, rows[base:last])
        groups = _first_of_groups(ties + np.uint32(base + 1), numbers)
        if self._ranks is not None:
            ranking = (offsets, offsets.size, base + 1, self._ranks, self._ranks.size)
            _launch(RANK_ROWS, offsets.size, ranking)
            self._rank(tied, groups)
        return Ties((ties + np.uint32(base + 1)).get(), tied.get(), groups.get())

    def refine(self, ties: Ties, width: int) -> None:
        """Sort groups as `Refiner` says, some at a time: each finds ranks that fit each other."""
        assert self._ranks is not None  # noqa: S101  (otherwise this is not the refiner)
        for start, end in pairwise(ties.cuts(self.rows)):
            rows, offsets, groups = (
                uploaded(column[start:end]) for column in (ties.rows, ties.offsets, ties.groups)
            )
            keys = cupy.empty(rows.size, dtype=np.uint64)
            numbers = cupy.cumsum(rows == groups, dtype=np.uint32)
            arguments = (self._ranks, self._ranks.size, offsets, numbers, rows.size, width, keys)
            _launch(FOLLOWING_RANKS, rows.size, arguments)
            del numbers, groups
            keys, offsets = _sorted(keys, offsets)
            groups = _first_of_groups(rows, cupy.cumsum(_is_first(keys), dtype=np.uint32))
            self._rank(offsets, groups)
            downloaded(offsets, ties.offsets[start:end])
            downloaded(groups, ties.groups[start:end])

    def _selected(
        self, shift: int, first: int, count: int, suffixes: int
    ) -> tuple[GpuArray, GpuArray]:
        """Return keys and offsets of the suffixes of some buckets."""
        counts = cupy.empty(self._blocks, dtype=np.uint32)
        part = (self._text, (shift, first, count))
        _launch(COUNT, self._blocks * _THREADS, (*part, counts, self._blocks))
        ends = cupy.cumsum(counts, dtype=np.uint32)
        keys = cupy.empty(suffixes, dtype=np.uint64)
        offsets = cupy.empty(suffixes, dtype=np.uint32)
        arguments = (*part, ends, self._blocks, keys, offsets, suffixes)
        _launch(SELECT, self._blocks * _THREADS, arguments)
        return keys, offsets

    def _rank(self, offsets: GpuArray, groups: GpuArray) -> None:
        if offsets.size:
            arguments = (offsets, groups, offsets.size, self._ranks, self._text[2])
            _launch(RANK_GROUPS, offsets.size, arguments)


def _launch(kernel: Kernel, threads: int, arguments: tuple[KernelArgument, ...]) -> None:
    """Launch a kernel on the current GPU, a thread per item."""
    if threads:
        loaded = load_kernel(kernel, cupy.cuda.Device().id)
        loaded.launch(-(-threads // _THREADS), _THREADS, arguments)


def _sorted(keys: GpuArray, offsets: GpuArray) -> tuple[GpuArray, GpuArray]:
    order = cupy.argsort(keys)
    return keys[order], offsets[order]


def _is_first(keys: GpuArray) -> GpuArray:
    """Return bool: whether each of some ascending keys differs from the key before."""
    is_first = cupy.ones(keys.size, dtype=np.bool_)
    cupy.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return is_first


def _tied(keys: GpuArray) -> tuple[GpuArray, GpuArray]:
    """Return uint32, uint32: of each key that is not unique, the number of its group, and row."""
    is_first = _is_first(keys)
    is_tied = ~is_first
    is_tied[:-1] |= ~is_first[1:]
    ties = cupy.flatnonzero(is_tied)
    return cupy.cumsum(is_first, dtype=np.uint32)[ties], ties.astype(np.uint32)


def _first_of_groups(rows: GpuArray, numbers: GpuArray) -> GpuArray:
    """Return uint32: the first row of the group of each row; `numbers` of groups ascend."""
    is_first = _is_first(numbers)
    return rows[is_first][cupy.cumsum(is_first, dtype=np.int64) - 1]
