"""Minimizers one base at a time, every rule of minimap2 as it is told, for small sequences."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hapgpu.batch import Ragged
from hapgpu.chaining import minimizers
from hapgpu.chaining.options import SketchOptions

CODES = {letter: code for code, pair in enumerate(("Aa", "Cc", "Gg", "TtUu")) for letter in pair}
INFINITE = 2**64 - 1


class Minimizer(NamedTuple):
    """`hash << 8 | span` and `position << 1 | strand`, None where there is no k-mer."""

    key: int
    place: int | None


NOTHING = Minimizer(INFINITE, None)


def hash_of(kmer: int, k: int) -> int:
    mask = 4**k - 1
    mixed = (~kmer + (kmer << 21)) & mask
    mixed ^= mixed >> 24
    mixed = mixed * 265 & mask
    mixed ^= mixed >> 14
    mixed = mixed * 21 & mask
    mixed ^= mixed >> 28
    return (mixed + (mixed << 31)) & mask


def slots_of(sequence: str, options: SketchOptions) -> list[tuple[Minimizer, int]]:
    """Each slot with the number of slots since the last ambiguous base, this one included."""
    k = options.k
    forward = reverse = length = 0
    runs: list[int] = []
    slots = []
    position = 0
    while position < len(sequence):
        code = CODES.get(sequence[position])
        if code is None:
            length, runs = 0, []
            slots.append((NOTHING, 0))
            position += 1
            continue
        first = position
        if options.is_hpc:
            while CODES.get(sequence[position + 1 : position + 2]) == code:
                position += 1
        runs.append(position - first + 1)
        forward = (forward * 4 + code) % 4**k
        reverse = reverse // 4 + (3 - code) * 4 ** (k - 1)
        if forward != reverse:
            length += 1
            span = sum(runs[-k:]) if options.is_hpc else k
            key = hash_of(min(forward, reverse), k) << 8 | span
            place = position << 1 | (reverse < forward)
            is_valid = length >= k and span < 256
            slots.append((Minimizer(key, place) if is_valid else NOTHING, length))
        position += 1
    return slots


@dataclass
class Window:
    """The last w slots, oldest first."""

    slots: list[Minimizer]
    minimum: Minimizer = NOTHING
    age: int = 0  # of the minimum, in slots

    def others(self) -> list[Minimizer]:
        """Those equal to the minimum."""
        return [
            slot
            for slot in self.slots
            if slot.key == self.minimum.key and slot.place not in {None, self.minimum.place}
        ]

    def find_minimum(self) -> None:
        for age, slot in zip(reversed(range(len(self.slots))), self.slots, strict=True):
            if slot.key <= self.minimum.key:
                self.minimum, self.age = slot, age


def minimizers_of(sequence: str, options: SketchOptions) -> list[Minimizer]:
    """Find minimizers."""
    full = options.w + options.k - 1
    window = Window([NOTHING] * options.w)
    found: list[Minimizer] = []
    for slot, length in slots_of(sequence, options):
        window.slots = window.slots[1:]
        window.age += 1
        if length == full:
            found += window.others()
        window.slots.append(slot)
        if slot.key <= window.minimum.key:
            if length > full:
                found.append(window.minimum)
            window.minimum, window.age = slot, 0
        elif window.age == options.w:
            if length >= full:
                found.append(window.minimum)
            window.minimum = NOTHING
            window.find_minimum()
            if length >= full:
                found += window.others()
    return [minimizer for minimizer in [*found, window.minimum] if minimizer != NOTHING]


def sketch_all(sequences: list[str], options: SketchOptions) -> list[list[Minimizer]]:
    """Find the minimizers of each sequence by hapgpu."""
    rows = Ragged.from_sequences(sequences)
    starts, lengths = rows.offsets[:-1].astype(np.int32), rows.lengths.astype(np.int32)
    found = minimizers.sketch(rows.data, starts, lengths, options)
    assert found.keys.size == found.places.size == found.offsets[-1]
    pairs = list(map(Minimizer, found.keys.tolist(), found.places.tolist()))
    bounds = found.offsets.tolist()
    return [pairs[begin:end] for begin, end in pairwise(bounds)]
