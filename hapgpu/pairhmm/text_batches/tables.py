"""Likelihoods of text batches as text: a line per pair, or a matrix per text batch."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from functools import partial
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.text.builder import (
    TextBuilder,
    put_byte,
    put_bytes,
    put_count,
)
from hapgpu.io.text.decimals import put_decimal
from hapgpu.pairhmm.batches import HmmBatch, TextOutput
from hapgpu.runtime.jit import njit
from hapgpu.runtime.output import Output

LIKELIHOOD_HEADER: Final = b"batch\tread\thaplotype\tlog10_likelihood\n"
"""The first line of a file of `likelihood_table`."""

_LINES: Final = TextBuilder(row_bytes=20)
_VALUES: Final = TextBuilder(row_bytes=14)
_TAB, _NEWLINE, _BLANK = b"\t\n "


class _Batch(Sized, Protocol):
    """`HmmBatch`, or `DeviceHmmBatch`."""

    @property
    def reads(self) -> Sized:
        """Reads, group by group."""

    @property
    def pairs(self) -> int:
        """Number of likelihoods."""

    @property
    def cells(self) -> int:
        """Matrix cells of all pairs."""


def text_output(batch: _Batch, text: Iterable[NDArray[np.uint8]]) -> TextOutput:
    """Return `text`, uint8, of a batch, with the counts of the batch.

    These are `batches`, `reads`, `likelihoods` and `cells`.
    """
    counts = {
        "batches": len(batch),
        "reads": len(batch.reads),
        "likelihoods": batch.pairs,
        "cells": batch.cells,
    }
    return Output(text, counts, len(batch.reads))


def likelihood_text(
    first_group: int, batch: HmmBatch, likelihoods: NDArray[np.float64], *, as_matrix: bool
) -> NDArray[np.uint8]:
    """Write uint8 text of `likelihoods`, float64: `likelihood_matrix` or `likelihood_table`."""
    if as_matrix:
        return likelihood_matrix(batch, likelihoods)
    return likelihood_table(first_group, batch, likelihoods)


def likelihood_table(
    first_group: int, batch: HmmBatch, likelihoods: NDArray[np.float64]
) -> NDArray[np.uint8]:
    """Write a line per pair: text batch, read and haplotype, counted from 0, and the likelihood.

    Parameters
    ----------
    first_group
        Number in the file of the first text batch; reads and haplotypes are counted within their
        text batch.
    batch
        The pairs.
    likelihoods
        float64[batch.pairs], in the order of `HmmBatch`.

    Returns
    -------
    uint8 text.
    """
    reads, haplotypes = np.diff(batch.read_offsets), np.diff(batch.haplotype_offsets)
    write = partial(_put_table, first_group, reads, haplotypes, read_only(likelihoods))
    return _LINES(batch.pairs, write)


def likelihood_matrix(batch: HmmBatch, likelihoods: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Write a matrix per text batch: a line `R H`, then R lines of H likelihoods.

    Parameters
    ----------
    batch
        The pairs.
    likelihoods
        float64[batch.pairs], in the order of `HmmBatch`.

    Returns
    -------
    uint8 text.
    """
    reads, haplotypes = np.diff(batch.read_offsets), np.diff(batch.haplotype_offsets)
    write = partial(_put_matrices, reads, haplotypes, read_only(likelihoods))
    return _VALUES(batch.pairs, write)


@njit
def _put_table(
    first_group: int,
    reads: NDArray[np.int64],
    haplotypes: NDArray[np.int64],
    likelihoods: NDArray[np.float64],
    out: NDArray[np.uint8],
) -> Integer:
    """Write the lines of groups with these numbers of reads and haplotypes; return the size."""
    text = memory_of(out)
    at: Integer = np.int64(0)
    pair = 0
    for group in range(reads.size):
        for read in range(reads[group]):
            start, end = at, at
            for haplotype in range(haplotypes[group]):
                if haplotype:
                    at = put_bytes(text, at, text, start, end - start)
                else:
                    at = end = _put_index(text, _put_index(text, at, first_group + group), read)
                at = _put_index(text, at, haplotype)
                at = put_byte(text, put_decimal(text, at, likelihoods[pair]), _NEWLINE)
                pair += 1
    return at


@njit
def _put_index(text: Memory, at: Integer, index: Integer) -> Integer:
    return put_byte(text, put_count(text, at, index), _TAB)


@njit
def _put_matrices(
    reads: NDArray[np.int64],
    haplotypes: NDArray[np.int64],
    likelihoods: NDArray[np.float64],
    out: NDArray[np.uint8],
) -> Integer:
    """Write the matrices of groups with these numbers of reads and haplotypes; return the size."""
    text = memory_of(out)
    at: Integer = np.int64(0)
    pair = 0
    for group in range(reads.size):
        at = put_byte(text, put_count(text, at, reads[group]), _BLANK)
        at = put_byte(text, put_count(text, at, haplotypes[group]), _NEWLINE)
        for _ in range(reads[group]):
            for haplotype in range(haplotypes[group]):
                if haplotype:
                    at = put_byte(text, at, _BLANK)
                at = put_decimal(text, at, likelihoods[pair])
                pair += 1
            at = put_byte(text, at, _NEWLINE)
    return at
