"""Fragments of chromosome copies, with what amplification did to the repeats in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.simulation.tandem_repeats import LONGEST_UNIT, tandem_runs

_MIN_UNITS: Final = 4
"""Shorter repeats are copied without slips."""
_CONTRACTIONS: Final = 2 / 3
"""Share of the slips that lose a unit; the others add one."""
_MAX_SLIPS: Final = 0.2
_SHORTEST_READ: Final = 30
_MAX_DEVIATIONS: Final = 5


@dataclass(frozen=True, slots=True)
class PairedReadModel:
    """What simulated fragments and reads are like.

    Attributes
    ----------
    depth
        Reads over each base of the reference, on average; each copy has its part of them.
    read_length
        Bases of each read, at least 30.
    fragment_mean, fragment_deviation
        Of the lengths of fragments, which are distributed normally; never below `read_length`,
        and never further from the mean than five deviations.
    error_factor
        How often a base is wrong in units of what its quality says: 1 for qualities that are
        true, 0 for reads without errors.
    slip_rate
        A tandem repeat of n > 3 units has lost or won a unit in this share of the fragments,
        times (n - 3)**2; at most a fifth.
    """

    depth: float = 30.0
    read_length: int = 148
    fragment_mean: float = 420.0
    fragment_deviation: float = 80.0
    error_factor: float = 1.0
    slip_rate: float = 1e-4

    def __post_init__(self) -> None:
        if self.read_length < _SHORTEST_READ:
            raise ValueError(f"reads of {self.read_length} bases: at least {_SHORTEST_READ} needed")
        if self.depth <= 0 or self.fragment_deviation < 0:
            raise ValueError("depth has to be above 0, and the deviation of lengths not below")
        if self.error_factor < 0 or self.slip_rate < 0:
            raise ValueError("rates cannot be negative")

    @property
    def shortest_fragment(self) -> int:
        """Bases that a fragment has at least, before it may lose a unit of a repeat."""
        return self.read_length + LONGEST_UNIT

    @property
    def longest_fragment(self) -> int:
        """Bases that a fragment has at most, before it may win a unit of a repeat."""
        longest = int(self.fragment_mean + _MAX_DEVIATIONS * self.fragment_deviation)
        return max(longest, self.shortest_fragment)


@dataclass(frozen=True, slots=True)
class Fragments:
    """f fragments of a chromosome copy.

    Attributes
    ----------
    starts, lengths
        int64[f]: the bases of the copy that a fragment comes from.
    slips
        int64[f]: how many bases it has won at `slip_starts`, or lost from there; mostly 0.
    slip_starts
        int64[f], counted from the start of the fragment.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    slips: NDArray[np.int64]
    slip_starts: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size


def drawn_fragments(
    bases: NDArray[np.uint8],
    first: int,
    behind: int,
    ploidy: int,
    model: PairedReadModel,
    rng: np.random.Generator,
) -> Fragments:
    """Draw the fragments that begin within part of a chromosome copy.

    Parameters
    ----------
    bases
        uint8 text of the copy; fragments that would leave it are not drawn.
    first, behind
        The part, half-open.
    ploidy
        How many copies there are.
    model
        What fragments are like.
    rng
        Source of chance.
    """
    expected = model.depth / ploidy * (behind - first) / (2 * model.read_length)
    count = int(rng.poisson(expected))
    starts = rng.integers(first, max(behind, first + 1), count)
    drawn = rng.normal(model.fragment_mean, model.fragment_deviation, count)
    lengths = drawn.round().astype(np.int64)
    lengths = lengths.clip(model.shortest_fragment, model.longest_fragment)
    fits = starts + lengths <= bases.size
    starts, lengths = starts[fits], lengths[fits]
    return _with_slips(bases, starts, lengths, model.slip_rate, rng)


def _with_slips(
    bases: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    rate: float,
    rng: np.random.Generator,
) -> Fragments:
    """Let repeats that lie wholly within a fragment lose or win a unit, at most one of them.

    One number is drawn for a fragment: the rates of its repeats lie end to end on the way from
    0 to 1, and the number falls on one of them or beyond all.
    """
    chances, is_lost = rng.random(starts.size), rng.random(starts.size) < _CONTRACTIONS
    runs = tandem_runs(bases, _MIN_UNITS)
    slipping = np.minimum(rate * (runs.counts - (_MIN_UNITS - 1.0)) ** 2, _MAX_SLIPS)
    rates = np.append(0.0, np.cumsum(slipping))
    nearest = np.searchsorted(runs.starts, starts + 1)
    drawn = np.searchsorted(rates, rates[nearest] + chances, side="right") - 1
    is_run = drawn < runs.starts.size
    drawn[~is_run] = 0
    slips, slip_starts = np.zeros_like(starts), np.zeros_like(starts)
    if runs.starts.size:
        is_run &= runs.ends[drawn] < starts + lengths
        slips = np.where(is_run, np.where(is_lost, -1, 1) * runs.units[drawn], 0)
        slip_starts = np.where(is_run, runs.starts[drawn] - starts, 0)
    return Fragments(starts, lengths, slips, slip_starts)
