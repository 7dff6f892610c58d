"""Start of base alignment on a GPU; the same as `longread/align/start.py`.

The sources are `start.cu` and `read_codes.cu` in `cuda/longread/align/`.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, fields
from threading import Lock
from typing import Any, Final, cast

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.align.batches import MappedAnchors, ReadCodes, TargetCodes
from hapgpu.longread.align.start import COPIED, PADDING
from hapgpu.longread.batches import Chains, Mappings
from hapgpu.longread.cuda.align.rows import MAPPING_WORDS, align_kernel, mapping_array
from hapgpu.longread.kernels import CHAINS, LENGTHS, READS, chain_fields, sizes
from hapgpu.longread.mappings.quality import reported_rows
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.kernel import Array, Length, Parameter, Scalar, Struct
from hapgpu.runtime.gpu.resident import ResidentCopies
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.staging import uploaded
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # per block, as in the source
_STORED: Final = 16  # codes per thread of `code_strands`

_ROWS = Array("rows", np.int64, "count")
_MAPPED_CHAINS: Final[tuple[Parameter, ...]] = (
    Array("mapped_chains", np.int32, "all_mappings"),
    Length("all_mappings"),
)
_SQUEEZED = Array("squeezed", np.int64, "chains.count", 1)

MARK_CHAINS: Final = align_kernel(
    "start.cu",
    "mark_chains",
    (
        *(_ROWS, *_MAPPED_CHAINS, Array("counts", np.int32, "all_mappings")),
        Array("is_retained", np.uint8, "all_mappings"),
        *(Array("chain_sizes", np.int64, "chains", 1), Length("chains")),
        *(Array("has_retained", np.int32, "one"), Length("one")),
        *sizes("count"),
    ),
)
FILL_MAPPINGS: Final = align_kernel(
    "start.cu",
    "fill_mappings",
    (
        Struct(
            "columns",
            tuple(
                Array(name, np.uint8 if name == "is_reverse" else np.int32, "all_mappings")
                for name in COPIED
            ),
        ),
        *(_ROWS, Array("offsets", np.int64, "chains.reads", 1), *_MAPPED_CHAINS, CHAINS),
        *(_SQUEEZED, Array("name_hashes", np.uint32, "chains.reads")),
        mapping_array("mappings", "count"),
        *sizes("count"),
    ),
)
SQUEEZE_ANCHORS: Final = align_kernel(
    "start.cu",
    "squeeze_anchors",
    (
        *(CHAINS, _SQUEEZED, Array("x", np.uint64, "anchors"), Array("y", np.uint64, "anchors")),
        Scalar("anchors", np.int64),
    ),
)
CODE_STRANDS: Final = align_kernel(
    "read_codes.cu",
    "code_strands",
    (
        Struct(
            "texts",
            (
                Array("text", np.uint8, "text_bytes"),
                *(Array("base_starts", np.int32, "reads"), LENGTHS),
                Array("ends", np.int64, "reads"),
                *(Length("text_bytes"), READS),
            ),
        ),
        Array("starts", np.int64, "texts.reads"),
        *(Array("codes", np.uint8, "size"), Scalar("size", np.int64)),
    ),
)


def start_mappings(
    mappings: Mappings, chains: Chains, mapped_chains: GpuArray, name_hashes: GpuArray
) -> tuple[GpuArray, MappedAnchors]:
    """Return the mappings to align and their anchors, which keep the order of the chains.

    Works on the current stream of the current GPU, and waits for it once. If mappings are retained,
    the host selects the rows to report, as `reported_rows`, because its powers are the C library's.

    Parameters
    ----------
    mappings
        Mappings of n reads.
    chains
        Chains of the reads.
    mapped_chains
        int32[r]: chain of each mapping; no two mappings have the same.
    name_hashes
        uint32[n]: result of `cuda.mappings.name_hashes`.

    Returns
    -------
    int64[m, MAPPING_WORDS], MappedAnchors
        As the result of `align.start.start_mappings` for the rows of `reported_rows`.
    """
    rows, offsets = cupy.arange(mappings.scores.size), mappings.offsets
    squeezed, has_retained = _squeezed(mappings, rows, mapped_chains, chains)
    anchors, selects = last_values(squeezed, has_retained)
    if selects:
        rows, offsets = map(cupy.asarray, reported_rows(_on_host(mappings))[:2])
        squeezed, _ = _squeezed(mappings, rows, mapped_chains, chains)
        (anchors,) = last_values(squeezed)
    started = cupy.empty((rows.size, MAPPING_WORDS), dtype=np.int64)
    columns = tuple(getattr(mappings, name) for name in COPIED)
    filling = (
        *(columns, rows, offsets, mapped_chains, mapped_chains.size, chain_fields(chains)),
        *(squeezed, name_hashes, started, rows.size),
    )
    launch_threads(FILL_MAPPINGS, _THREADS, rows.size, filling)
    x, y = (cupy.empty(anchors, dtype=np.uint64) for _ in range(2))
    copying = (chain_fields(chains), squeezed, x, y, anchors)
    launch_threads(SQUEEZE_ANCHORS, _THREADS, anchors, copying)
    return started, MappedAnchors(x, y, squeezed[chains.offsets])


def _squeezed(
    mappings: Mappings, rows: GpuArray, mapped_chains: GpuArray, chains: Chains
) -> tuple[GpuArray, GpuArray]:
    """Return int64[c + 1] and int32[1]: offsets of the chains with a mapping, and a flag.

    The flag is 1 if any of the mappings is retained. `rows` are int64[m], `mapped_chains` int32[r].
    """
    count = chains.scores.size
    chain_sizes = cupy.zeros(count + 1, dtype=np.int64)
    has_retained = cupy.zeros(1, dtype=np.int32)
    arguments = (
        *(rows, mapped_chains, mapped_chains.size, mappings.counts, mappings.is_retained),
        *(chain_sizes, count, has_retained, 1, rows.size),
    )
    launch_threads(MARK_CHAINS, _THREADS, rows.size, arguments)
    return cupy.cumsum(chain_sizes), has_retained


_OF_REPORT: Final = frozenset(
    ("parents", "is_retained", "seeds_matched", "seeds_expected", "offsets", "mean_spans")
)


def _on_host(mappings: Mappings) -> Mappings:
    """Copy what `reported_rows` reads to host memory, with zeros for the other columns."""
    columns = {field.name: getattr(mappings, field.name) for field in fields(mappings)}
    return Mappings(
        **{
            name: cupy.asnumpy(column)
            if name in _OF_REPORT
            else np.zeros(column.shape, dtype=column.dtype)
            for name, column in columns.items()
        }
    )


def code_reads(text: GpuArray, base_starts: GpuArray, lengths: GpuArray) -> ReadCodes:
    """Return the codes of n reads and of their reverse complements, on the current GPU.

    Works on the current stream, and waits for it once.

    Parameters
    ----------
    text, base_starts, lengths
        As in `align.start.code_reads`, on the GPU.
    """
    ends, reads = cupy.cumsum(lengths, dtype=np.int64), lengths.size
    size = PADDING + 2 * (last_values(ends)[0] if reads else 0)
    starts, codes = cupy.empty(reads, dtype=np.int64), cupy.empty(size, dtype=np.uint8)
    texts = (text, base_starts, lengths, ends, text.size, reads)
    launch_threads(CODE_STRANDS, _THREADS, -(-size // _STORED), (texts, starts, codes, size))
    return ReadCodes(codes, starts, lengths)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class _HostTargets:
    """`TargetCodes` in host memory, for as long as they are in use elsewhere.

    Attributes
    ----------
    codes
        Weak reference to the codes, uint8.
    starts, lengths
        int64[s].
    """

    codes: weakref.ref[NDArray[np.uint8]]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


_lock: Final = Lock()
_host_targets: Final[dict[int, _HostTargets]] = {}


def resident_targets(targets: TargetCodes, device: CudaDevice) -> TargetCodes:
    """Return the codes of the reference on a device; they stay while `targets.codes` is in use.

    Raises
    ------
    DeviceError
        The codes do not fit the device.
    """
    return _copies.on(_held(targets), device)


def _held(targets: TargetCodes) -> _HostTargets:
    """Return the same object for the same codes. An array is no key of a dictionary."""
    number = id(targets.codes)
    with _lock:
        if number not in _host_targets:
            codes = weakref.ref(targets.codes)
            _host_targets[number] = _HostTargets(codes, targets.starts, targets.lengths)
            weakref.finalize(targets.codes, _host_targets.pop, number, None).atexit = False
        return _host_targets[number]


def _byte_count(targets: _HostTargets) -> int:
    return _codes_of(targets).nbytes + targets.starts.nbytes + targets.lengths.nbytes


def _copied(targets: _HostTargets) -> TargetCodes:
    return TargetCodes(
        _on_device(_codes_of(targets)), _on_device(targets.starts), _on_device(targets.lengths)
    )


def _codes_of(targets: _HostTargets) -> NDArray[np.uint8]:
    """Return the codes, which the caller of `resident_targets` holds."""
    return cast("NDArray[np.uint8]", targets.codes())


def _on_device(array: NDArray[Any]) -> GpuArray:
    return uploaded(np.ascontiguousarray(array))


_copies = ResidentCopies("the reference", _byte_count, _copied, "use --device cpu")
