"""The kernels of the CUDA pair-HMM (`cuda/pairhmm/*.cu`) and their parameters."""

from __future__ import annotations

import functools

import numpy as np

from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar

_SHARED_PERCENT = 100  # the largest need of any kernel, for all, so that they can run together

LENGTH_BINS = 1024
"""Bins of read lengths per layout; pairs are sorted by bin."""

_READ_COLUMNS = (
    *(
        Array(name, np.uint8, "read_bases")
        for name in ("bases", "base_qualities", "insertion_qualities", "deletion_qualities")
    ),
    Array("gap_continuations", np.uint8, "continuations"),  # one for all, or one per base
)
_READ_OFFSETS = Array("read_offsets", np.int32, "reads", 1)
_PROBABILITIES = Array("probabilities", np.float64, "byte_values")
_ROWS = (
    Array("coefficients", np.float32, "read_bases", width=4),
    Array("emissions", np.float32, "read_bases", width=2),
)
_READ_VALUES = (
    Array("log10_matching", np.float64, "reads"),
    Array("last_insertions", np.float32, "reads"),
    Array("thresholds", np.float32, "reads"),
)
_GROUPS = (
    Array("group_reads", np.int32, "groups", 1),
    Array("group_haplotypes", np.int32, "groups", 1),
)
_LAYOUTS = Array("layouts", np.int32, "haplotypes")
_BINS = Array("bins", np.int32, "bin_count")
_LAYOUT_PAIRS = (
    Array("layout_starts", np.int32, "layout_count"),
    Array("layout_pairs", np.int32, "layout_count"),
)
_PAIRS = Array("pairs", np.int32, "pair_count", width=8)
_EXACT = (Array("exact_pairs", np.int32, "pair_count"), Array("exact_count", np.int32, "one"))


def _sizes(*names: str) -> tuple[Scalar, ...]:
    return tuple(Scalar(name, np.int32) for name in names)


PREPARE_HAPLOTYPES = Kernel(
    "pairhmm/prepare.cu",
    "prepare_haplotypes",
    (
        Array("haplotype_bases", np.uint8, "haplotype_base_count"),
        Array("haplotype_offsets", np.int32, "haplotypes", 1),
        _LAYOUTS,
        Array("mask_starts", np.int32, "haplotypes"),
        Array("layout_columns", np.int32, "layout_count"),
        Array("layout_lanes", np.int32, "layout_count"),
        Array("masks", np.uint32, "mask_words"),
        *_sizes("haplotype_base_count", "haplotypes", "layout_count", "mask_words"),
    ),
    _SHARED_PERCENT,
)

PREPARE_READS = Kernel(
    "pairhmm/prepare.cu",
    "prepare_reads",
    (
        *_READ_COLUMNS,
        _READ_OFFSETS,
        _PROBABILITIES,
        *_ROWS,
        *_READ_VALUES,
        *_sizes("read_bases", "continuations", "reads", "byte_values", "longest_read"),
        Scalar("threshold", np.float32),
        Scalar("trusted_growth", np.float32),
    ),
    _SHARED_PERCENT,
)

COUNT_PAIRS = Kernel(
    "pairhmm/prepare.cu",
    "count_pairs",
    (
        _READ_OFFSETS,
        *_GROUPS,
        _LAYOUTS,
        Array("log10_matching", np.float64, "reads"),
        _BINS,
        *_sizes("reads", "groups", "haplotypes", "bin_count", "longest_read", "exact_layout"),
    ),
    _SHARED_PERCENT,
)

SCAN_BINS = Kernel(
    "pairhmm/prepare.cu",
    "scan_bins",
    (
        _BINS,
        *_LAYOUT_PAIRS,
        *_sizes("layout_count", "bin_count"),
    ),
    _SHARED_PERCENT,
)

LIST_PAIRS = Kernel(
    "pairhmm/prepare.cu",
    "list_pairs",
    (
        _READ_OFFSETS,
        *_GROUPS,
        Array("group_pairs", np.int32, "groups"),
        _LAYOUTS,
        Array("mask_starts", np.int32, "haplotypes"),
        Array("haplotype_offsets", np.int32, "haplotypes", 1),
        _BINS,
        _PAIRS,
        *_EXACT,
        *_sizes("reads", "groups", "haplotypes", "bin_count", "pair_count", "one"),
        *_sizes("longest_read", "exact_layout"),
    ),
    _SHARED_PERCENT,
)

EXACT = Kernel(
    "pairhmm/exact.cu",
    "exact",
    (
        *_READ_COLUMNS,
        _READ_OFFSETS,
        Array("haplotype_bases", np.uint8, "haplotype_base_count"),
        Array("haplotype_offsets", np.int32, "haplotypes", 1),
        _PROBABILITIES,
        _PAIRS,
        *_EXACT,
        Array("scratch", np.float64, "scratch_size"),
        Array("likelihoods", np.float64, "pair_count"),
        Array("too_small", np.int32, "one"),
        *_sizes("read_bases", "continuations", "reads", "haplotype_base_count", "haplotypes"),
        *_sizes("byte_values"),
        *_sizes("pair_count", "one"),
        Scalar("scratch_size", np.int64),
        *_sizes("widest"),
    ),
    _SHARED_PERCENT,
)


_FORWARD_PARAMETERS: tuple[Array | Scalar, ...] = (
    *_ROWS,
    *_READ_VALUES,
    Array("masks", np.uint32, "mask_words"),
    _PAIRS,
    *_LAYOUT_PAIRS,
    Array("likelihoods", np.float64, "pair_count"),
    *_EXACT,
    *_sizes("read_bases", "reads", "mask_words", "pair_count", "layout_count", "one"),
    *_sizes("layout", "lanes"),
    Scalar("uniform_extend", np.float32),
    Scalar("start", np.float32),
    Scalar("log10_start", np.float64),
)


@functools.cache
def forward_kernel(columns: int, *, is_uniform: bool) -> Kernel:
    """Return the forward kernel for a number of columns per lane; all have the same parameters.

    `is_uniform`: one gap continuation for all bases of all reads.
    """
    expression = f"forward<{columns}, {str(is_uniform).lower()}>"
    return Kernel("pairhmm/forward.cu", expression, _FORWARD_PARAMETERS, _SHARED_PERCENT)
