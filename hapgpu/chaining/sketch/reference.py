"""Minimizers: of every w consecutive k-mers of a sequence, the one with the smallest hash.

Of a k-mer and its reverse complement, the smaller one counts, so that both strands of a sequence
have the same minimizers (Roberts et al. 2004, Bioinformatics 20:3363; Li 2018).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from hapgpu.chaining.options import SketchOptions

LONGEST_SPAN: Final = 255
"""Bases that a k-mer may span; where homopolymers count as one base, some span more."""

_CODES: Final = {
    letter: code
    for code, letters in enumerate((b"Aa", b"Cc", b"Gg", b"TtUu"))
    for letter in letters
}
"""All other letters are ambiguous."""


class Minimizer(NamedTuple):
    """A k-mer of a sequence.

    Attributes
    ----------
    hash
        Of the smaller one of the k-mer and its reverse complement.
    span
        Bases that it takes of the sequence.
    position
        Of its last base, from 0.
    strand
        1 if the reverse complement is the smaller one.
    """

    hash: int
    span: int
    position: int
    strand: int


class _Slot(NamedTuple):
    """What a window has at a place: a k-mer, or an ambiguous or an early base.

    Attributes
    ----------
    minimizer
        None if there is no k-mer.
    length
        Bases up to here since the last ambiguous one; runs of equal ones count as one base.
    """

    minimizer: Minimizer | None
    length: int

    @property
    def key(self) -> float:
        """By which slots are compared; as in minimap2, the span decides between equal hashes."""
        if self.minimizer is None:
            return float("inf")
        return self.minimizer.hash << 8 | self.minimizer.span


def minimizers_of(sequence: bytes, options: SketchOptions) -> list[Minimizer]:
    """Find the minimizers of a sequence, in ascending order of position (minimap2's `mm_sketch`).

    The smallest k-mer of the window is told when it leaves the window or is replaced by one as
    small or smaller. Others that are as small as it are told too. Windows that are not full, at
    the beginning or behind an ambiguous base, tell nothing unless the sequence ends with them.
    """
    full = options.w + options.k - 1
    smallest = _Slot(None, 0)
    window = deque([smallest] * options.w)
    told: list[_Slot] = []
    for slot in _slots(sequence, options):
        oldest = window.popleft()
        if slot.length == full:
            told += _equals(window, smallest)
        window.append(slot)
        if slot.key <= smallest.key:
            if slot.length > full:
                told.append(smallest)
            smallest = slot
        elif oldest is smallest:
            last_first = reversed(window)
            replacement = min(last_first, key=lambda each: each.key)
            if slot.length >= full:
                told += [smallest, *_equals(window, replacement)]
            smallest = replacement
    told.append(smallest)
    return [slot.minimizer for slot in told if slot.minimizer is not None]


def _equals(window: Iterable[_Slot], smallest: _Slot) -> list[_Slot]:
    """Return the others that are as small as the smallest one, the oldest first."""
    return [slot for slot in window if slot.key == smallest.key and slot is not smallest]


def _slots(sequence: bytes, options: SketchOptions) -> Iterator[_Slot]:
    """Go through a sequence, base by base or run by run.

    The k-mer goes on over an ambiguous base: only its length begins anew. A k-mer that is its own
    reverse complement has no strand, and takes no place in the window.
    """
    k = options.k
    forward = reverse = length = 0
    runs: deque[int] = deque(maxlen=k)
    for code, run, position in _runs(sequence, is_hpc=options.is_hpc):
        if code is None:
            length = 0
            runs.clear()
            yield _Slot(None, 0)
            continue
        runs.append(run)
        forward = (forward << 2 | code) & (4**k - 1)
        reverse = reverse >> 2 | (3 - code) << 2 * (k - 1)
        if forward == reverse:
            continue
        length += 1
        span = sum(runs) if options.is_hpc else k
        if length < k or span > LONGEST_SPAN:
            yield _Slot(None, length)
        else:
            hashed = mix(min(forward, reverse), 2 * k)
            yield _Slot(Minimizer(hashed, span, position, int(reverse < forward)), length)


def _runs(sequence: bytes, *, is_hpc: bool) -> Iterator[tuple[int | None, int, int]]:
    """Cut a sequence into bases, or runs of one, each as (code, bases, position of the last)."""
    run = 0
    for position, letter in enumerate(sequence):
        code = _CODES.get(letter)
        run += 1
        follows = sequence[position + 1 : position + 2]
        if is_hpc and code is not None and follows and _CODES.get(follows[0]) == code:
            continue
        yield code, run, position
        run = 0


def mix(value: int, bits: int) -> int:
    """Mix the bits of a number; different ones stay different (T. Wang's 64-bit hash, cut)."""
    mask = (1 << bits) - 1
    value = ~value + (value << 21) & mask
    value ^= value >> 24
    value = value * 265 & mask
    value ^= value >> 14
    value = value * 21 & mask
    value ^= value >> 28
    return value + (value << 31) & mask
