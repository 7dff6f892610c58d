"""Chromosomes with each allele in a population, from INFO."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.haplotypes.batches import Sites
from hapgpu.io.vcf.records import VcfRecord
from hapgpu.runtime.jit import njit, njit_inlined

_CHROMOSOMES_OF_AF: Final = 100.0
_MAX_CHROMOSOMES: Final = 2.0**31 - 1  # an Integer of VCF
_INFO: Final = 7
_SEMICOLON, _COMMA, _POINT, _EQUALS, _ZERO, _NINE = b";,.=09"
_AC, _AF, _AN = (int.from_bytes(key, "little") for key in (b"AC", b"AF", b"AN"))
_KEY_BYTES: Final = 2
_MAX_EXACT: Final = 2**53
_POWERS: Final = np.array([float(f"1e{k}") for k in range(23)])  # exact
_SOUND, _MISSING, _UNUSUAL = range(3)


class _Span(NamedTuple):
    """A value in the text; empty if the item is missing."""

    start: Integer
    end: Integer


def add_chromosomes(sites: Sites, weights: NDArray[np.float64]) -> None:
    """Add to `weights`, float64[a], the chromosomes of each allele that INFO counts.

    They are AC and, for REF, the rest of AN. Without them, they are AF times AN, or times 100
    without AN. Values that are not as many as ALT alleles, or not in their range, do not count.
    """
    columns = sites.records.columns
    unusual = np.zeros(len(sites), dtype=np.bool_)
    _add_counts(
        read_only(sites.records.text),
        read_only(columns),
        read_only(sites.allele_offsets),
        weights,
        unusual,
    )
    for site in np.flatnonzero(unusual).tolist():
        counts = _chromosome_counts(sites.records[site])
        if counts is not None:
            weights[sites.allele_offsets[site] : sites.allele_offsets[site + 1]] += counts


def _chromosome_counts(record: VcfRecord) -> list[float] | None:
    """Return the chromosomes with REF and each ALT; None without them.

    Python reads numbers in any form, such as `1E-310`, for which `_add_counts` has no code.
    """
    items = dict(item.partition("=")[::2] for item in record.columns[_INFO].split(";"))
    alternatives = len(record.alternatives)
    (total,) = _numbers(items.get("AN", ""), 1, _MAX_CHROMOSOMES) or [0.0]
    counts = _numbers(items.get("AC", ""), alternatives, total) if total else []
    if not counts:
        total = total or _CHROMOSOMES_OF_AF
        counts = [total * part for part in _numbers(items.get("AF", ""), alternatives, 1.0)]
    # The sum of `sum` depends on the version of Python.
    return [max(total - reduce(add, counts), 0.0), *counts] if counts else None


def _numbers(text: str, count: int, maximum: float) -> list[float]:
    """Return `count` numbers from 0 to `maximum`; an empty list if the text is something else."""
    try:
        numbers = [float(field) for field in text.split(",")]
    except ValueError:
        return []
    is_sound = len(numbers) == count and all(0.0 <= number <= maximum for number in numbers)
    return numbers if is_sound else []


@njit
def _add_counts(
    text: NDArray[np.uint8],
    columns: NDArray[np.int64],
    allele_offsets: NDArray[np.int64],
    weights: NDArray[np.float64],
    unusual: NDArray[np.bool_],
) -> None:
    """Add the counts of all sites, except those with numbers in an unusual form."""
    longest = np.int64(2)  # REF and AN
    for site in range(unusual.size):
        longest = max(longest, allele_offsets[site + 1] - allele_offsets[site])
    numbers = np.empty(longest, np.float64)
    for site in range(unusual.size):
        start, end = columns[site, _INFO], columns[site, _INFO + 1] - 1
        first = allele_offsets[site]
        alternatives = allele_offsets[site + 1] - first - 1
        state = _counts(text, start, end, alternatives, numbers)
        unusual[site] = state == _UNUSUAL
        if state == _SOUND:
            for k in range(alternatives + 1):
                weights[first + k] += numbers[k]


@njit
def _counts(
    text: NDArray[np.uint8],
    start: Integer,
    end: Integer,
    alternatives: Integer,
    out: NDArray[np.float64],
) -> int:
    """Write the chromosomes with REF and each ALT, as `_chromosome_counts` returns them."""
    counts, frequencies = _item(text, start, end, _AC), _item(text, start, end, _AF)
    if counts.start == counts.end and frequencies.start == frequencies.end:
        return _MISSING
    chromosomes = 0.0
    state = _read_numbers(text, _item(text, start, end, _AN), 1, _MAX_CHROMOSOMES, out)
    if state == _UNUSUAL:
        return state
    if state == _SOUND:
        chromosomes = out[1]
    state = _MISSING
    if chromosomes > 0.0:
        state = _read_numbers(text, counts, alternatives, chromosomes, out)
    if state == _MISSING:
        chromosomes = chromosomes if chromosomes > 0.0 else _CHROMOSOMES_OF_AF
        state = _read_numbers(text, frequencies, alternatives, 1.0, out)
        if state == _SOUND:
            for k in range(1, alternatives + 1):
                out[k] *= chromosomes
    if state != _SOUND:
        return state
    seen = 0.0
    for k in range(1, alternatives + 1):
        seen += out[k]
    out[0] = max(chromosomes - seen, 0.0)
    return state


@njit
def _item(text: NDArray[np.uint8], start: Integer, end: Integer, key: int) -> _Span:
    """Return the value of the last item with a key of two letters."""
    found = _Span(end, end)
    at = start
    while at < end:
        item = at
        while at < end and text[at] != _SEMICOLON:
            at += 1
        value = item + _KEY_BYTES + 1
        if at >= value and text[value - 1] == _EQUALS:
            if np.int64(text[item]) | np.int64(text[item + 1]) << 8 == key:
                found = _Span(value, at)
        elif at == value - 1 and np.int64(text[item]) | np.int64(text[item + 1]) << 8 == key:
            found = _Span(at, at)
        at += 1
    return found


@njit
def _read_numbers(
    text: NDArray[np.uint8], span: _Span, count: Integer, maximum: float, out: NDArray[np.float64]
) -> int:
    """Write `count` numbers from 0 to `maximum`, separated by commas, from `out[1]` on.

    Anything else is unusual, also what `_numbers` rejects.
    """
    at, read = span.start, np.int64(0)
    if at == span.end:
        return _MISSING
    while at <= span.end:
        if read == count:
            return _UNUSUAL
        start = at
        while at < span.end and text[at] != _COMMA:
            at += 1
        number = _number(text, start, at)
        if not 0.0 <= number <= maximum:
            return _UNUSUAL
        read += 1
        out[read] = number
        at += 1
    return _SOUND if read == count else _UNUSUAL


@njit_inlined
def _number(text: NDArray[np.uint8], start: Integer, end: Integer) -> float:
    """Return a decimal number that float64 arithmetic reads exactly; negative for others."""
    mantissa, places, digits, points = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for k in range(start, end):
        if text[k] == _POINT:
            points += 1
        elif _ZERO <= text[k] <= _NINE and mantissa < _MAX_EXACT:
            mantissa = 10 * mantissa + (text[k] - _ZERO)
            digits += 1
            places += points
        else:
            return -1.0
    if digits == 0 or points > 1 or mantissa > _MAX_EXACT or places >= _POWERS.size:
        return -1.0
    return float(mantissa / _POWERS[places])
