"""Fragments of chromosome copies, with the slips of PCR in their tandem repeats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.simulation.sequences import LONGEST_UNIT, tandem_repeats

_MIN_UNITS: Final = 4
"""Shorter repeats are copied without slips."""
_LOSSES: Final = 2 / 3
"""Fraction of slips that remove a unit; the others add one."""
_MAX_SLIPS: Final = 0.2
_SHORTEST_READ: Final = 30
_MAX_DEVIATIONS: Final = 5


@dataclass(frozen=True, slots=True)
class PairedReadModel:
    """Lengths, depth and errors of simulated fragments and paired reads.

    Attributes
    ----------
    depth
        Mean number of reads per base of the reference; every chromosome copy has the same part.
    read_length
        Bases of each read, at least 30.
    fragment_mean, fragment_deviation
        Mean and standard deviation of the normally distributed lengths of fragments: at least
        `shortest_fragment`, and at most five deviations above the mean.
    error_factor
        The rate of errors is this times the error probability of the base quality: 1 for true
        qualities, 0 for reads without errors.
    slip_rate
        A tandem repeat of n > 3 units has lost or gained a unit in this fraction of the fragments,
        times (n - 3)**2; at most in a fifth.
    """

    depth: float = 30.0
    read_length: int = 148
    fragment_mean: float = 420.0
    fragment_deviation: float = 80.0
    error_factor: float = 1.0
    slip_rate: float = 1e-4

    def __post_init__(self) -> None:
        if self.read_length < _SHORTEST_READ:
            raise ValueError(f"read_length={self.read_length}: must be at least {_SHORTEST_READ}")
        if self.depth <= 0 or self.fragment_deviation < 0:
            raise ValueError("depth must be above 0, and fragment_deviation not negative")
        if self.error_factor < 0 or self.slip_rate < 0:
            raise ValueError("error_factor and slip_rate must not be negative")

    @property
    def shortest_fragment(self) -> int:
        """Bases of a fragment, at least, before it may lose a unit of a repeat."""
        return self.read_length + LONGEST_UNIT

    @property
    def longest_fragment(self) -> int:
        """Bases of a fragment, at most, before it may gain a unit of a repeat."""
        longest = int(self.fragment_mean + _MAX_DEVIATIONS * self.fragment_deviation)
        return max(longest, self.shortest_fragment)


@dataclass(frozen=True, slots=True)
class Fragments:
    """f fragments of a chromosome copy.

    Attributes
    ----------
    starts, lengths
        int64[f]: the bases of the copy that each fragment comes from.
    slips
        int64[f]: bases gained at `slip_starts`, or lost from there if negative; mostly 0.
    slip_starts
        int64[f], offset in the fragment.
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
    last: int,
    ploidy: int,
    model: PairedReadModel,
    rng: np.random.Generator,
) -> Fragments:
    """Draw the fragments that start within part of a chromosome copy.

    Parameters
    ----------
    bases
        uint8 text of the copy; fragments that would leave it are excluded.
    first, last
        The part, half-open.
    ploidy
        Number of copies.
    model
        Depth and lengths.
    rng
        Source of random numbers.
    """
    expected = model.depth / ploidy * (last - first) / (2 * model.read_length)
    count = int(rng.poisson(expected))
    starts = rng.integers(first, max(last, first + 1), count)
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
    """Change one repeat that lies wholly within a fragment by a unit, or none.

    One number between 0 and 1 is drawn per fragment: the rates of its repeats are laid end to end
    from 0 on, and the number lies on one of them or after all.
    """
    chances, is_lost = rng.random(starts.size), rng.random(starts.size) < _LOSSES
    repeats = tandem_repeats(bases, _MIN_UNITS)
    rates = np.minimum(rate * (repeats.counts - (_MIN_UNITS - 1.0)) ** 2, _MAX_SLIPS)
    sums = np.append(0.0, np.cumsum(rates))
    first = np.searchsorted(repeats.starts, starts + 1)
    drawn = np.searchsorted(sums, sums[first] + chances, side="right") - 1
    has_slip = drawn < repeats.starts.size
    drawn[~has_slip] = 0
    slips, slip_starts = np.zeros_like(starts), np.zeros_like(starts)
    if repeats.starts.size:
        has_slip &= repeats.ends[drawn] < starts + lengths
        slips = np.where(has_slip, np.where(is_lost, -1, 1) * repeats.units[drawn], 0)
        slip_starts = np.where(has_slip, repeats.starts[drawn] - starts, 0)
    return Fragments(starts, lengths, slips, slip_starts)
