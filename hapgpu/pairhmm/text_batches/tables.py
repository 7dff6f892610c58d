"""Likelihoods of text batches as text: a line per pair, or a matrix per text batch."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.text.decimals import DECIMAL_WIDTH, put_decimal
from hapgpu.io.text.numbers import put_integer
from hapgpu.pairhmm.batches import HmmBatch, TextOutput
from hapgpu.runtime.jit import njit
from hapgpu.runtime.output import Output

LIKELIHOOD_HEADER: Final = b"batch\tread\thaplotype\tlog10_likelihood\n"
"""The first line of a file of `likelihood_table`."""

_INDEX_WIDTH: Final = 20
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
    """Return the text of a batch, with its counts `batches`, `reads`, `likelihoods`, `cells`."""
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
    """Write uint8 text: `likelihood_matrix` or `likelihood_table`, as in these."""
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
    largest = (first_group + len(batch), reads.max(initial=0), haplotypes.max(initial=0))
    width = sum(len(f"{number}\t") for number in largest) + DECIMAL_WIDTH + 1
    out = np.empty(batch.pairs * width, dtype=np.uint8)
    size = _put_table(first_group, reads, haplotypes, read_only(likelihoods), out)
    return out[:size]


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
    header = len(f"{reads.max(initial=0)} {haplotypes.max(initial=0)}\n")
    max_size = len(batch) * header + batch.pairs * (DECIMAL_WIDTH + 1) + int(reads.sum())
    out = np.empty(max_size, dtype=np.uint8)
    size = _put_matrices(reads, haplotypes, read_only(likelihoods), out)
    return out[:size]


@njit
def _put_table(
    first_group: int,
    reads: NDArray[np.int64],
    haplotypes: NDArray[np.int64],
    likelihoods: NDArray[np.float64],
    out: NDArray[np.uint8],
) -> Integer:
    """Write the lines of groups with these numbers of reads and haplotypes; return the size."""
    prefix = np.empty(2 * _INDEX_WIDTH, dtype=np.uint8)
    at: Integer = 0
    pair = 0
    for group in range(reads.size):
        for read in range(reads[group]):
            prefix_size = _put_index(prefix, 0, first_group + group)
            prefix_size = _put_index(prefix, prefix_size, read)
            for haplotype in range(haplotypes[group]):
                copy_bytes(prefix, 0, out, at, prefix_size)
                at = _put_index(out, at + prefix_size, haplotype)
                at = put_decimal(out, at, likelihoods[pair])
                out[at] = _NEWLINE
                at += 1
                pair += 1
    return at


@njit
def _put_index(out: NDArray[np.uint8], at: Integer, index: Integer) -> Integer:
    at = put_integer(out, at, index)
    out[at] = _TAB
    return at + 1


@njit
def _put_matrices(
    reads: NDArray[np.int64],
    haplotypes: NDArray[np.int64],
    likelihoods: NDArray[np.float64],
    out: NDArray[np.uint8],
) -> Integer:
    """Write the matrices of groups with these numbers of reads and haplotypes; return the size."""
    at: Integer = 0
    pair = 0
    for group in range(reads.size):
        at = put_integer(out, at, reads[group])
        out[at] = _BLANK
        at = put_integer(out, at + 1, haplotypes[group])
        out[at] = _NEWLINE
        at += 1
        for _ in range(reads[group]):
            for haplotype in range(haplotypes[group]):
                if haplotype:
                    out[at] = _BLANK
                    at += 1
                at = put_decimal(out, at, likelihoods[pair])
                pair += 1
            out[at] = _NEWLINE
            at += 1
    return at
