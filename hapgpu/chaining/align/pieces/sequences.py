"""Bases of reads and of the reference in compiled functions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.align.batches import ReadCodes, TargetCodes
from hapgpu.runtime.jit import njit


class CodeArrays(NamedTuple):
    """`ReadCodes` or `TargetCodes` for compiled code."""

    codes: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[Any]


class Sequences(NamedTuple):
    """Reads and reference sequences."""

    reads: CodeArrays
    targets: CodeArrays


def sequences_of(reads: ReadCodes, targets: TargetCodes) -> Sequences:
    """Return views for compiled code."""
    return Sequences(_arrays(reads), _arrays(targets))


def _arrays(codes: ReadCodes | TargetCodes) -> CodeArrays:
    return CodeArrays(read_only(codes.codes), read_only(codes.starts), read_only(codes.lengths))


@njit
def query_start(sequences: Sequences, mapping: Any) -> Any:
    """Return the first code of the read, on the strand of the mapping."""
    reads, read = sequences.reads, mapping["read"]
    start = reads.starts[read]
    return start + reads.lengths[read] if mapping["is_reverse"] else start


@njit
def target_start(sequences: Sequences, mapping: Any) -> Any:
    """Return the first code of the reference sequence of the mapping."""
    return sequences.targets.starts[mapping["sequence"]]


@njit
def lengths(sequences: Sequences, mapping: Any) -> tuple[Any, Any]:
    """Return the lengths of the read and of the reference sequence of a mapping."""
    query_length = np.int64(sequences.reads.lengths[mapping["read"]])
    return query_length, np.int64(sequences.targets.lengths[mapping["sequence"]])
