"""Reference implementation of minimizers: the smallest hash in every w consecutive k-mers.

The hash of a k-mer is the hash of the smaller of the k-mer and its reverse complement, so that both
strands of a sequence have the same minimizers (Roberts et al. 2004, Bioinformatics 20:3363; Li
2018).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from hapgpu.longread.options import SketchOptions

LONGEST_SPAN: Final = 255
"""Largest span of a k-mer in bases; longer spans occur with homopolymer compression."""

_CODES: Final = {
    letter: code
    for code, letters in enumerate((b"Aa", b"Cc", b"Gg", b"TtUu"))
    for letter in letters
}
"""Codes of the bases; all other letters are ambiguous."""


class Minimizer(NamedTuple):
    """A k-mer of a sequence.

    Attributes
    ----------
    hash
        Hash of the smaller of the k-mer and its reverse complement.
    span
        Number of bases in the sequence.
    position
        0-based position of the last base.
    strand
        1 if the reverse complement is smaller.
    """

    hash: int
    span: int
    position: int
    strand: int


class _KmerSlot(NamedTuple):
    """One element of a window: a k-mer, or a base that ends no k-mer.

    Attributes
    ----------
    minimizer
        None if no k-mer ends here.
    length
        Bases since the last ambiguous base; with compression, a run of equal bases counts as one.
    """

    minimizer: Minimizer | None
    length: int

    @property
    def key(self) -> float:
        """The sort key of slots; as in minimap2, the span breaks ties between hashes."""
        if self.minimizer is None:
            return float("inf")
        return self.minimizer.hash << 8 | self.minimizer.span


def minimizers_of(sequence: bytes, options: SketchOptions) -> list[Minimizer]:
    """Find the minimizers of a sequence, in ascending order of position (minimap2's `mm_sketch`).

    The smallest k-mer of the window is emitted when it leaves the window, or when a k-mer as small
    or smaller replaces it; its ties are emitted as well. An incomplete window, at the start or
    after an ambiguous base, emits nothing unless the sequence ends with it.
    """
    full = options.w + options.k - 1
    smallest = _KmerSlot(None, 0)
    window = deque([smallest] * options.w)
    emitted: list[_KmerSlot] = []
    for slot in _slots(sequence, options):
        oldest = window.popleft()
        if slot.length == full:
            emitted += _ties(window, smallest)
        window.append(slot)
        if slot.key <= smallest.key:
            if slot.length > full:
                emitted.append(smallest)
            smallest = slot
        elif oldest is smallest:
            last_first = reversed(window)
            replacement = min(last_first, key=lambda each: each.key)
            if slot.length >= full:
                emitted += [smallest, *_ties(window, replacement)]
            smallest = replacement
    emitted.append(smallest)
    return [slot.minimizer for slot in emitted if slot.minimizer is not None]


def _ties(window: Iterable[_KmerSlot], smallest: _KmerSlot) -> list[_KmerSlot]:
    """Return the other slots with the smallest key, the oldest first."""
    return [slot for slot in window if slot.key == smallest.key and slot is not smallest]


def _slots(sequence: bytes, options: SketchOptions) -> Iterator[_KmerSlot]:
    """Yield the slots of a sequence, per base or per run of equal bases.

    An ambiguous base resets the length, but not the bases of the k-mer. A k-mer that is its own
    reverse complement has no strand and no slot.
    """
    k = options.k
    forward = reverse = length = 0
    runs: deque[int] = deque(maxlen=k)
    for code, run, position in _runs(sequence, is_hpc=options.is_hpc):
        if code is None:
            length = 0
            runs.clear()
            yield _KmerSlot(None, 0)
            continue
        runs.append(run)
        forward = (forward << 2 | code) & (4**k - 1)
        reverse = reverse >> 2 | (3 - code) << 2 * (k - 1)
        if forward == reverse:
            continue
        length += 1
        span = sum(runs) if options.is_hpc else k
        if length < k or span > LONGEST_SPAN:
            yield _KmerSlot(None, length)
        else:
            hashed = mix(min(forward, reverse), 2 * k)
            yield _KmerSlot(Minimizer(hashed, span, position, int(reverse < forward)), length)


def _runs(sequence: bytes, *, is_hpc: bool) -> Iterator[tuple[int | None, int, int]]:
    """Yield the bases or runs of equal bases as (code, number of bases, position of the last)."""
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
    """Mix the lowest bits of a number, invertibly (T. Wang's 64-bit hash, truncated)."""
    mask = (1 << bits) - 1
    value = ~value + (value << 21) & mask
    value ^= value >> 24
    value = value * 265 & mask
    value ^= value >> 14
    value = value * 21 & mask
    value ^= value >> 28
    return value + (value << 31) & mask
