"""Alleles of sites that records keep because they are given, and those that got lost."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import lengths_of
from hapgpu.arrays.ragged_view import RaggedView, columns_of, read_only, view_of
from hapgpu.calling.batches import CallSites, ForcedEvents, VariantCalls
from hapgpu.calling.genotypes.kept_alleles import is_symbolic
from hapgpu.runtime.jit import njit


class _Forced(NamedTuple):
    """The columns of `ForcedEvents`, read-only."""

    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    alternates: RaggedView
    is_given: NDArray[np.bool_]


class _Sites(NamedTuple):
    """Columns of `CallSites`, and which alleles are neither `*` nor `<NON_REF>`."""

    regions: NDArray[np.int64]
    starts: NDArray[np.int64]
    offsets: NDArray[np.int64]
    alleles: RaggedView
    is_sequence: NDArray[np.bool_]


def with_forced_alleles(sites: CallSites, forced: ForcedEvents) -> CallSites:
    """Mark the alleles of sites that agree with a given one, by GATK's rule.

    An allele agrees with any given allele of its active region whose ALT is by as much longer or
    shorter than REF, if one ALT is a prefix of the other. GATK compares neither REF nor the
    position, so an allele at another position may be kept, too.

    Parameters
    ----------
    sites
        s sites with a alleles.
    forced
        The given alleles of their active regions. Other events that stand for them agree only with
        the same event.
    """
    is_forced = np.zeros(len(sites.alleles), dtype=np.bool_)
    _mark_forced(_columns(sites), columns_of(_Forced, forced), is_forced)
    return replace(sites, is_forced=is_forced)


def called_given(
    sites: CallSites, calls: VariantCalls, rows: NDArray[np.bool_], forced: ForcedEvents
) -> int:
    """Return how many given alleles have records: as they are, or all events instead of them.

    Parameters
    ----------
    sites
        Sites.
    calls
        v records of these sites.
    rows
        bool[v]: records that count.
    forced
        The given alleles of their active regions.
    """
    is_called = np.zeros(len(sites.alleles), dtype=np.bool_)
    counts = np.diff(calls.allele_offsets)
    alleles = np.repeat(sites.allele_offsets[calls.sites], counts) + calls.site_alleles
    is_called[alleles[np.repeat(rows, counts)]] = True
    is_found = np.zeros(forced.rows.size, dtype=np.bool_)
    _mark_called(_columns(sites), columns_of(_Forced, forced), is_called, is_found)
    regions = np.repeat(np.arange(forced.offsets.size - 1), lengths_of(forced.offsets))
    pairs, owners = np.unique((regions, forced.rows), axis=1, return_inverse=True)
    others = np.bincount(owners, ~forced.is_given, minlength=pairs.shape[1])
    missing = np.bincount(owners, ~forced.is_given & ~is_found, minlength=pairs.shape[1])
    are_whole = np.bincount(owners, forced.is_given & is_found, minlength=pairs.shape[1]) > 0
    return np.unique(pairs[1][are_whole | ((others > 0) & (missing == 0))]).size


def _columns(sites: CallSites) -> _Sites:
    return _Sites(
        read_only(sites.regions),
        read_only(sites.starts),
        read_only(sites.allele_offsets),
        view_of(sites.alleles),
        read_only(~is_symbolic(sites.alleles)),
    )


@njit
def _mark_forced(sites: _Sites, forced: _Forced, is_forced: NDArray[np.bool_]) -> None:
    for site in range(sites.starts.size):
        region = sites.regions[site]
        for allele in range(sites.offsets[site] + 1, sites.offsets[site + 1]):
            for event in range(forced.offsets[region], forced.offsets[region + 1]):
                if sites.is_sequence[allele] and (
                    forced.is_given[event] or _is_event(sites, site, allele, forced, event)
                ):
                    is_forced[allele] |= _agree(sites, sites.offsets[site], allele, forced, event)


@njit
def _mark_called(
    sites: _Sites, forced: _Forced, is_called: NDArray[np.bool_], is_found: NDArray[np.bool_]
) -> None:
    for site in range(sites.starts.size):
        region = sites.regions[site]
        for allele in range(sites.offsets[site] + 1, sites.offsets[site + 1]):
            for event in range(forced.offsets[region], forced.offsets[region + 1]):
                if is_called[allele] and sites.is_sequence[allele]:
                    is_found[event] |= _is_event(sites, site, allele, forced, event)


@njit
def _is_event(
    sites: _Sites, site: Integer, allele: Integer, forced: _Forced, event: Integer
) -> bool:
    """Tell whether an allele is an event, but for bases of REF at its end."""
    reference, texts = sites.offsets[site], sites.alleles
    length = forced.alternates.offsets[event + 1] - forced.alternates.offsets[event]
    at = texts.offsets[allele] + length
    other_end = texts.offsets[reference + 1]
    other = texts.offsets[reference] + forced.ends[event] - forced.starts[event]
    if (
        forced.starts[event] != sites.starts[site]
        or other > other_end
        or not _agree(sites, reference, allele, forced, event)
    ):
        return False
    while other < other_end and texts.data[at] == texts.data[other]:
        at += 1
        other += 1
    return bool(other == other_end)


@njit
def _agree(
    sites: _Sites, reference: Integer, allele: Integer, forced: _Forced, event: Integer
) -> bool:
    """Tell whether ALT of an event and of a site add as many bases, and one is a prefix."""
    texts, others = sites.alleles, forced.alternates
    start, other_start = texts.offsets[allele], others.offsets[event]
    length = texts.offsets[allele + 1] - start
    other_length = others.offsets[event + 1] - other_start
    added = length - (texts.offsets[reference + 1] - texts.offsets[reference])
    if added != other_length - (forced.ends[event] - forced.starts[event]):
        return False
    common, k = min(length, other_length), 0
    while k < common and texts.data[start + k] == others.data[other_start + k]:
        k += 1
    return bool(k == common)
