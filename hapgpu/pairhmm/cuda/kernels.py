"""The kernels of the CUDA pair-HMM (`cuda/pairhmm/*.cu`) and their parameters."""

from __future__ import annotations

import functools
from typing import Final

import numpy as np

from hapgpu.pairhmm.cuda.batches import READ_COLUMNS
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Parameter, Scalar, Struct

_SHARED_PERCENT = 100  # the largest need of any kernel, for all, so that they can run together

LENGTH_BINS = 1024
"""Bins of read lengths per layout; pairs are sorted by bin."""

_READS: Final = Struct(
    "reads",
    (
        READ_COLUMNS,
        Array("gap_continuations", np.uint8, "continuations"),
        Array("offsets", np.int32, "count", 1),
        *(Scalar("continuations", np.int32), Scalar("count", np.int32)),
    ),
)
_HAPLOTYPES: Final = Struct(
    "haplotypes",
    (
        *(Array("bases", np.uint8, "base_count"), Length("base_count")),
        Array("offsets", np.int32, "count", 1),
        Array("layouts", np.int32, "count"),
        Array("mask_starts", np.int32, "count"),
        Scalar("count", np.int32),
    ),
)
_GROUPS: Final = Struct(
    "groups",
    (
        Array("reads", np.int32, "count", 1),
        Array("haplotypes", np.int32, "count", 1),
        Array("pairs", np.int32, "count"),
        Scalar("count", np.int32),
    ),
)
_LAYOUTS: Final = Struct(
    "layouts",
    (
        *(Array("columns", np.int32, "count"), Array("lanes", np.int32, "count")),
        *(Array("starts", np.int32, "count"), Array("pairs", np.int32, "count")),
        Scalar("count", np.int32),
    ),
)
_COEFFICIENTS: Final = Struct(
    "coefficients",
    (
        Array("rows", np.float32, "row_count", width=4),
        Array("emissions", np.float32, "row_count", width=2),
        Array("products", np.float64, "read_count"),
        Array("thresholds", np.float64, "read_count"),
        Array("last_insertions", np.float32, "read_count"),
        *(Length("row_count"), Length("read_count")),
    ),
)
_PROBABILITIES: Final = (Array("probabilities", np.float64, "byte_values"), Length("byte_values"))
_MASKS: Final = (Array("masks", np.uint32, "mask_words"), Length("mask_words"))
_BINS: Final = (Array("bins", np.int32, "bin_count"), Length("bin_count"))
_PAIRS: Final = Array("pairs", np.int32, "pair_count", width=8)
_LIKELIHOODS: Final = Array("likelihoods", np.float64, "pair_count")
_EXACT_PAIRS: Final = Struct(
    "exact_pairs",
    (Array("pairs", np.int32, "pair_count"), Array("count", np.int32, "one"), Length("one")),
)
_PAIR_COUNT: Final = Length("pair_count")


def _sizes(*names: str) -> tuple[Scalar, ...]:
    return tuple(Scalar(name, np.int32) for name in names)


PREPARE_HAPLOTYPES = Kernel(
    "pairhmm/prepare.cu",
    "prepare_haplotypes",
    (_HAPLOTYPES, _LAYOUTS, *_MASKS),
    _SHARED_PERCENT,
)

PREPARE_READS = Kernel(
    "pairhmm/prepare.cu",
    "prepare_reads",
    (
        *(_READS, *_PROBABILITIES, _COEFFICIENTS),
        *_sizes("longest_read"),
        *(Scalar("threshold", np.float64), Scalar("trusted_growth", np.float64)),
    ),
    _SHARED_PERCENT,
)

COUNT_PAIRS = Kernel(
    "pairhmm/prepare.cu",
    "count_pairs",
    (
        *(_READS, _HAPLOTYPES, _GROUPS, *_BINS),
        *_sizes("longest_read", "exact_layout"),
    ),
    _SHARED_PERCENT,
)

SCAN_BINS = Kernel(
    "pairhmm/prepare.cu",
    "scan_bins",
    (*_BINS, _LAYOUTS),
    _SHARED_PERCENT,
)

LIST_PAIRS = Kernel(
    "pairhmm/prepare.cu",
    "list_pairs",
    (
        *(_READS, _HAPLOTYPES, _GROUPS, *_BINS, _PAIRS, _EXACT_PAIRS, _PAIR_COUNT),
        *_sizes("longest_read", "exact_layout"),
    ),
    _SHARED_PERCENT,
)

EXACT = Kernel(
    "pairhmm/exact.cu",
    "exact",
    (
        *(_READS, _HAPLOTYPES, *_PROBABILITIES, _PAIRS, _EXACT_PAIRS),
        *(Array("scratch", np.float64, "scratch_size"), Length("scratch_size")),
        *(_LIKELIHOODS, _PAIR_COUNT),
        *(Array("too_small", np.int32, "one"), Array("taken", np.int32, "one"), Length("one")),
        *_sizes("longest"),
    ),
    _SHARED_PERCENT,
)


_FORWARD_PARAMETERS: tuple[Parameter, ...] = (
    *(_COEFFICIENTS, *_MASKS, _PAIRS, _LAYOUTS, _LIKELIHOODS, _EXACT_PAIRS, _PAIR_COUNT),
    *(*_sizes("layout", "lanes"), Scalar("uniform_extend", np.float32)),
    *(Scalar("start", np.float32), *_sizes("start_exponent")),
)


@functools.cache
def forward_kernel(columns: int, *, is_uniform: bool) -> Kernel:
    """Return the forward kernel for a number of columns per lane; all have the same parameters.

    `is_uniform`: one gap continuation for all bases of all reads.
    """
    expression = f"forward<{columns}, {str(is_uniform).lower()}>"
    return Kernel(
        "pairhmm/forward.cu",
        expression,
        _FORWARD_PARAMETERS,
        _SHARED_PERCENT,
        flushes_subnormals=True,  # as the CPU does
    )
