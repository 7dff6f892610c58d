"""Plain reference of informative reads, confidence, blocks and phasing, after GATK's rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_PLAUSIBLE_QUALITY = 45


def informative_bases(
    read: str, qualities: Sequence[int], reference: str, max_size: int
) -> list[bool]:
    """Return, for a read that starts at the reference's first base, what one position tells alone.

    True if no insertion or deletion of up to `max_size` bases there makes the sum of the qualities
    of mismatches, from there to the end, as small as without it.
    """
    found = []
    for at in range(min(len(read), len(reference))):
        if len(read) - at < max_size or len(reference) - at < max_size:
            found.append(False)
            continue
        plain = _mismatches(read, qualities, at, reference, at)
        shifted = [
            _mismatches(read, qualities, at + inserted, reference, at + deleted)
            for size in range(1, max_size + 1)
            for inserted, deleted in ((size, 0), (0, size))
        ]
        found.append(plain < min(shifted))
    return found


def _mismatches(read: str, qualities: Sequence[int], first: int, reference: str, at: int) -> int:
    pairs = zip(read[first:], qualities[first:], reference[at:], strict=False)
    return sum(
        quality for base, quality, other in pairs if base != other and "N" not in base + other
    )


def base_likelihoods(elements: Sequence[tuple[bool, int]], ploidy: int) -> list[float]:
    """Return log10 likelihoods of 0 to `ploidy` copies of ALT.

    Elements are pairs of (whether equal to REF, quality).
    """
    sums = [0.0] * (ploidy + 1)
    for is_same, quality in elements:
        error = 10.0 ** (-quality / 10)
        reference, alternate = (1 - error, error / 3) if is_same else (error / 3, 1 - error)
        for copies in range(ploidy + 1):
            mean = ((ploidy - copies) * reference + copies * alternate) / ploidy
            sums[copies] += math.log10(mean)
    return sums


def confidence(
    elements: Sequence[tuple[bool, int]], informative: int, ploidy: int = 2
) -> tuple[int, ...]:
    """Return PL of 0 to `ploidy` copies of ALT at one position; elements as above."""
    sums = base_likelihoods(elements, ploidy)
    bases = [min(value, sums[0]) for value in sums]
    error = 10.0 ** (-_PLAUSIBLE_QUALITY / 10)
    count = min(informative, 40)
    indels = [
        count * math.log10(((ploidy - copies) * (1 - error) + copies * error) / ploidy)
        for copies in range(ploidy + 1)
    ]
    chosen = min(bases, indels, key=lambda values: values[0] - max(values[1:]))
    return tuple(math.floor(-10 * (value - chosen[0]) + 0.5) for value in chosen)


@dataclass(frozen=True, slots=True)
class Block:
    """Block of positions, 0-based, half-open."""

    start: int
    end: int
    depth: int
    min_depth: int
    phreds: tuple[int, ...]

    @property
    def quality(self) -> int:
        """GQ."""
        return min(*self.phreds, 99)


def blocks_of(
    start: int,
    depths: Sequence[int],
    phreds: Sequence[tuple[int, ...]],
    records: Sequence[tuple[int, int]],
    bands: Sequence[int],
) -> list[Block]:
    """Return the blocks of consecutive positions; `records` are starts and ends of variants.

    Each position has as many PL as copies, PL of no copy being 0.
    """
    blocks: list[Block] = []
    rows: list[int] = []
    ends = dict(records)
    covered = -1

    def flush() -> None:
        if rows:
            found = sorted(depths[row] for row in rows)
            middle = (found[(len(found) - 1) // 2] + found[len(found) // 2]) / 2
            lowest = tuple(map(min, zip(*(phreds[row] for row in rows), strict=True)))
            blocks.append(
                Block(
                    start + rows[0],
                    start + rows[-1] + 1,
                    math.floor(middle + 0.5),
                    found[0],
                    lowest,
                )
            )
            rows.clear()

    def band(row: int) -> tuple[int, int]:
        return len(phreds[row]), sum(limit <= min(*phreds[row], 99) for limit in bands)

    for row in range(len(depths)):
        if start + row in ends:
            flush()
            covered = ends[start + row]
        elif start + row >= covered:
            if rows and band(rows[0]) != band(row):
                flush()
            rows.append(row)
    flush()
    return blocks


def phase_sets(carriers: Sequence[frozenset[str]]) -> list[tuple[int, bool] | None]:
    """Return the first record of the group of each record, and whether it is flipped; or None."""
    everywhere = frozenset().union(*carriers)
    found: dict[int, tuple[int, bool]] = {}
    for i, one in enumerate(carriers):
        left = one
        for j in range(i + 1, len(carriers)):
            other = carriers[j]
            if not one or not other:
                continue
            is_same = other in (one, everywhere)
            is_same = is_same or (one == everywhere and other <= left)
            is_opposite = not one & other and len(one) + len(other) == len(everywhere)
            if not is_same and not is_opposite:
                continue
            if i in found:
                found.setdefault(j, (found[i][0], found[i][1] == is_same))
            elif j in found:
                return [None] * len(carriers)
            else:
                found[i], found[j] = (i, False), (i, not is_same)
                left = left & other if is_same else left
    return [found.get(k) for k in range(len(carriers))]
