"""Comparison of called with true alleles by the haplotypes that they give, however written.

The largest sets of true and of called alleles are searched that give the same haplotypes, as in
vcfeval (Cleary et al. 2015, doi:10.1101/023754): first both haplotypes with the copies of every
allele, the true alleles in their phase and the called ones in any; then, of the rest, any one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pysam

MAX_GAP = 30
"""Bases between alleles that are compared together, at most."""
MAX_STATES = 3000
"""States kept after each allele: those with the most alleles."""


class Placed(NamedTuple):
    """An allele without the bases that it shares with REF, and the haplotypes that may have it."""

    start: int
    end: int
    text: str
    choices: tuple[tuple[int, ...], ...]
    is_true: bool = False


@dataclass(frozen=True, slots=True)
class Matched:
    """Alleles of truth and calls that agree.

    Attributes
    ----------
    right
        True alleles that are called with the right number of copies.
    found
        Further true alleles that are called.
    missed
        Other true alleles.
    false
        Called alleles that belong to no true allele.
    """

    right: frozenset[Placed]
    found: frozenset[Placed]
    missed: frozenset[Placed]
    false: frozenset[Placed]


class _Side(NamedTuple):
    """A haplotype up to `at`: what it has more than the other side, and its last insertion."""

    text: str
    at: int
    inserted_at: int


_State: TypeAlias = tuple[tuple[_Side, _Side], ...]
"""Truth and calls of each haplotype."""


def placed_alleles(path: Path, contig: str, *, is_true: bool, sample: int = 0) -> list[Placed]:
    """Return the alleles of a sample of a VCF file, by default of the first.

    Those of the truth keep their phase if they have one; calls are taken as unphased.
    """
    found: dict[tuple[int, int, str], set[int]] = {}
    phased = set()
    with pysam.VariantFile(str(path)) as file:
        for record in file:
            if record.contig != contig:
                continue
            genotype = record.samples[sample]["GT"]
            for number, alternative in enumerate(record.alts or (), 1):
                copies = {copy for copy, allele in enumerate(genotype) if allele == number}
                if copies and alternative != "*":
                    key = trimmed(record.start, record.ref.upper(), alternative.upper())
                    found[key] = found.get(key, set()) | copies
                    if is_true and record.samples[sample].phased:
                        phased.add(key)
    return sorted(
        Placed(
            *key,
            (tuple(sorted(copies)),) if key in phased else tuple(combinations((0, 1), len(copies))),
            is_true,
        )
        for key, copies in found.items()
    )


def trimmed(start: int, reference: str, alternative: str) -> tuple[int, int, str]:
    """Return start, end and text of an allele without shared bases: first those at its end."""
    end = start + len(reference)
    while reference and alternative and reference[-1] == alternative[-1]:
        reference, alternative, end = reference[:-1], alternative[:-1], end - 1
    while reference and alternative and reference[0] == alternative[0]:
        reference, alternative, start = reference[1:], alternative[1:], start + 1
    return start, end, alternative


def matched(truth: Iterable[Placed], calls: Iterable[Placed], reference: str) -> Matched:
    """Compare the alleles of one contig."""
    right: set[Placed] = set()
    found: set[Placed] = set()
    missed: set[Placed] = set()
    false: set[Placed] = set()
    for cluster in _clusters([*truth, *calls], reference):
        same = agreeing(cluster, reference, 2)
        right |= {allele for allele in same if allele.is_true}
        rest = [allele for allele in cluster if allele not in same]
        for _ in range(2):  # one haplotype, then the other
            same = agreeing(rest, reference, 1)
            found |= {allele for allele in same if allele.is_true}
            rest = [allele for allele in rest if allele not in same]
        missed |= {allele for allele in rest if allele.is_true}
        false |= {allele for allele in rest if not allele.is_true}
    return Matched(frozenset(right), frozenset(found), frozenset(missed), frozenset(false))


def _clusters(alleles: Sequence[Placed], reference: str) -> Iterator[list[Placed]]:
    """Yield alleles whose shift ranges are near each other."""
    ranges = sorted((*_shift_range(allele, reference), allele) for allele in alleles)
    cluster: list[Placed] = []
    last = 0
    for start, end, allele in ranges:
        if cluster and start > last + MAX_GAP:
            yield sorted(cluster)
            cluster = []
        cluster.append(allele)
        last = max(last, end)
    if cluster:
        yield sorted(cluster)


def _shift_range(allele: Placed, reference: str) -> tuple[int, int]:
    start, end, text = allele.start, allele.end, allele.text
    if text and start < end:
        return start, end
    unit = text or reference[start:end]
    low = high = 0
    while start - low > 0 and reference[start - low - 1] == unit[-1 - low % len(unit)]:
        low += 1
    while end + high < len(reference) and reference[end + high] == unit[high % len(unit)]:
        high += 1
    return start - low, end + high


def agreeing(alleles: Sequence[Placed], reference: str, haplotypes: int) -> set[Placed]:
    """Return the most alleles of truth and calls that give the same haplotypes."""
    if len({allele.is_true for allele in alleles}) < 2:
        return set()
    first = min(allele.start for allele in alleles)
    states: dict[_State, int] = {((_Side("", first, -1),) * 2,) * haplotypes: 0}
    for row, allele in enumerate(alleles):
        choices = allele.choices if haplotypes == 2 else ((0,),)
        following: dict[_State, int] = {}
        for state, used in _until(states, allele.start, reference):
            _keep(following, state, used)
            for copies in choices:
                changed = _with_allele(state, allele, copies)
                if changed is not None:
                    _keep(following, changed, used | 1 << row)
        best = sorted(following.items(), key=lambda item: -item[1].bit_count())
        states = dict(best[:MAX_STATES])
    last = max(allele.end for allele in alleles)
    complete = {used for state, used in _until(states, last, reference) if _is_equal(state)}
    chosen = max(complete, key=int.bit_count, default=0)
    return {allele for row, allele in enumerate(alleles) if chosen >> row & 1}


def _keep(states: dict[_State, int], state: _State, used: int) -> None:
    if used.bit_count() >= states.get(state, 0).bit_count():
        states[state] = used


def _until(
    states: Mapping[_State, int], position: int, reference: str
) -> Iterator[tuple[_State, int]]:
    """Continue with the reference; leave out states whose haplotypes differ."""
    for state, used in states.items():
        sides = []
        for true, called in state:
            texts = [
                side.text + reference[side.at : position] if side.at < position else side.text
                for side in (true, called)
            ]
            shared = min(map(len, texts))
            if texts[0][:shared] != texts[1][:shared]:
                break
            sides.append(
                tuple(
                    _Side(text[shared:], max(side.at, position), side.inserted_at)
                    for text, side in zip(texts, (true, called), strict=True)
                )
            )
        else:
            yield tuple((true, called) for true, called in sides), used


def _with_allele(state: _State, allele: Placed, copies: Iterable[int]) -> _State | None:
    """Put an allele on haplotypes; None if one has another allele there."""
    haplotypes = list(state)
    for copy in copies:
        true, called = haplotypes[copy]
        side = true if allele.is_true else called
        is_insertion = allele.start == allele.end
        if side.at > allele.start or (is_insertion and side.inserted_at == allele.start):
            return None
        inserted_at = allele.start if is_insertion else side.inserted_at
        side = _Side(side.text + allele.text, allele.end, inserted_at)
        haplotypes[copy] = (side, called) if allele.is_true else (true, side)
    return tuple(haplotypes)


def _is_equal(state: _State) -> bool:
    return all(not true.text and not called.text for true, called in state)
