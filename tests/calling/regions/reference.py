"""Reference implementation of activity: one element, one locus, one state at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, floor, lgamma, log, log10, pi, sqrt


@dataclass(frozen=True)
class PlainRead:
    """A read with the columns of SAM; positions are 1-based, as there."""

    position: int
    cigar: Sequence[tuple[int, str]]
    bases: str
    qualities: Sequence[int]
    flags: int = 0
    mate_position: int = 0
    template_length: int = 0
    sample: int = 0

    @property
    def end(self) -> int:
        """Last position."""
        return self.position - 1 + sum(length for length, letter in self.cigar if letter in "MDX=")


@dataclass(frozen=True)
class Element:
    """What a read has at a locus: quality, whether it is alternate, bases of its soft clips."""

    quality: int
    is_alternate: bool
    clipped_bases: int | None


@dataclass(frozen=True)
class Locus:
    """Activity of a locus; `clip` is 0 unless it is a soft-clip locus."""

    probability: float
    clip: int = 0


def adaptor_boundary(read: PlainRead) -> int | None:
    """Return the first position inside the adaptor, in the direction of the read."""
    is_reverse = bool(read.flags & 16)
    if not read.template_length or not read.flags & 1 or read.flags & 8:
        return None
    if read.mate_position < 1:
        return None
    if is_reverse == bool(read.flags & 32):
        return None
    if is_reverse:
        return read.mate_position - 1 if read.end > read.mate_position else None
    if read.position <= read.mate_position + read.template_length:
        return read.position + abs(read.template_length)
    return None


def elements_of(read: PlainRead, reference: str) -> Iterator[tuple[int, Element]]:
    """Yield positions and elements of a read; `reference` is the contig."""
    boundary = adaptor_boundary(read) if read.template_length <= 100 else None
    flat = [
        (k, i == 0, i == length - 1, letter)
        for k, (length, letter) in enumerate(read.cigar)
        for i in range(length)
    ]
    offset, clipped = 0, 0
    for _, _, _, letter in flat:
        clipped += letter == "S" and read.qualities[offset] > 28
        offset += letter in "MIS=X"
    position, offset = read.position, 0
    for k, is_first, is_last, letter in flat:
        if letter in "MD=X":
            neighbours = read.cigar[k - 1][1] if is_first and k > 0 else ""
            neighbours += read.cigar[k + 1][1] if is_last and k + 1 < len(read.cigar) else ""
            if letter == "D":
                element = Element(30, is_alternate=True, clipped_bases=None)
            else:
                element = Element(
                    read.qualities[offset],
                    bool(set(neighbours) & set("DIS"))
                    or read.bases[offset] != reference[position - 1],
                    clipped if "S" in neighbours else None,
                )
            is_reverse = bool(read.flags & 16)
            if boundary is None or (position > boundary if is_reverse else position < boundary):
                yield position, element
            position += 1
        offset += letter in "MIS=X"


def phred_likelihoods(elements: Sequence[Element], min_quality: int = 10) -> list[int]:
    """Return the PL of 0/0, 0/1 and 1/1."""
    sums = [0.0, 0.0, 0.0]
    for element in elements:
        if element.quality > min_quality:
            p = log10(1 - 10 ** (-element.quality / 10))
            e = -element.quality / 10 - log10(3)
            ref, alt = (e, p) if element.is_alternate else (p, e)
            both = _table_sum(ref, alt) - log10(2)
            sums = [sums[0] + ref, sums[1] + both, sums[2] + alt]
    return [floor(-10 * (value - max(sums)) + 0.5) for value in sums]


def _table_sum(a: float, b: float) -> float:
    a, b = min(a, b), max(a, b)
    if b - a >= 8:
        return b
    return b + log10(1 + 10 ** (-floor((b - a) / 1e-4 + 0.5) / 10**4))


def single_probability(phred: Sequence[int], het: float = 0.001, deviation: float = 0.01) -> float:
    """Return the probability of a variant, from one sample."""
    if phred.index(min(phred)) == 0:
        return 0.0
    r = het / deviation**2
    s = het * r
    u = [
        -phred[n] / 10 + (log([1, 2, 1][n]) + lgamma(n + s) + lgamma(2 - n + r)) / log(10)
        for n in range(3)
    ]
    if u.index(max(u)) == 0:
        return 0.0
    return 1 - 10 ** (u[0] - max(u)) / sum(10 ** (x - max(u)) for x in u)


def joint_probability(
    phreds: Sequence[Sequence[int]],
    het: float = 0.001,
    indel_het: float = 1.25e-4,
    deviation: float = 0.01,
    min_confidence: float = 4.0,
) -> float:
    """Return the probability of a variant, from the QUAL of several samples."""
    priors = [het / deviation**2, indel_het * het / deviation**2]
    frequencies, counts = [0.5, 0.5], [0.0, 0.0]
    while True:
        new = [0.0, 0.0]
        for phred in phreds:
            posterior = _posterior(phred, frequencies)
            new = [
                new[0] + 2 * posterior[0] + posterior[1],
                new[1] + posterior[1] + 2 * posterior[2],
            ]
        change = max(abs(new[k] - counts[k]) for k in range(2))
        counts = new
        total = sum(priors) + sum(counts)
        frequencies = [(priors[k] + counts[k]) / total for k in range(2)]
        if change <= 0.1:
            break
    log10_absent = sum(log10(_posterior(phred, frequencies)[0]) for phred in phreds)
    is_kept = log10_absent + 1e-10 < -min_confidence / 10 and -10 * log10_absent >= min_confidence
    return 1 - 10**log10_absent if is_kept else 0.0


def _posterior(phred: Sequence[int], frequencies: Sequence[float]) -> list[float]:
    ref, alt = frequencies
    weights = [
        10 ** (-phred[0] / 10) * ref * ref,
        10 ** (-phred[1] / 10) * 2 * ref * alt,
        10 ** (-phred[2] / 10) * alt * alt,
    ]
    return [weight / sum(weights) for weight in weights]


def locus_of(elements: Sequence[tuple[int, Element]]) -> Locus:
    """Return the activity of a locus, from the samples and elements there."""
    samples = sorted({sample for sample, _ in elements})
    phreds = [phred_likelihoods([e for s, e in elements if s == sample]) for sample in samples]
    if not phreds:
        return Locus(0.0)
    probability = single_probability(phreds[0]) if len(phreds) == 1 else joint_probability(phreds)
    clips = [e.clipped_bases for _, e in elements if e.clipped_bases is not None and e.quality > 10]
    mean = sum(clips) / len(clips) if clips else 0.0
    return Locus(probability, int(mean) if mean > 6 else 0)


def kernel(sigma: float, max_wing: int) -> list[float]:
    """Return the weights of the filter."""

    def weights(wing: int) -> list[float]:
        g = [exp(-(d**2) / (2 * sigma**2)) / (sigma * sqrt(2 * pi)) for d in range(-wing, wing + 1)]
        total = sum(g)
        return [x / total for x in g]

    longest = weights(max_wing)
    wing = 0
    while wing < max_wing and longest[max_wing - wing - 1] >= 1e-5:
        wing += 1
    return weights(wing)


class SerialProfile:
    """The list of states, to which loci are added one by one, as GATK's `ActivityProfile`.

    Parameters
    ----------
    weights
        Weights of the filter; None for the plain profile, which has none.
    contig_length
        Bases of the contig.
    max_run
        A run of active states that covers this number of positions from a multiple of it ends
        there; None, as in GATK, for never.
    """

    def __init__(
        self, weights: Sequence[float] | None, contig_length: int, max_run: int | None = None
    ) -> None:
        self.weights = weights
        self.wing = len(weights) // 2 if weights else 0
        self.reach = 50 + self.wing
        self.contig_length = contig_length
        self.max_run = max_run
        self.start = self.end = self.run = 0
        self.states: list[float] = []

    def add(self, position: int, locus: Locus) -> None:
        """Add the next locus; positions are 0-based."""
        if not self.states:
            self.start = self.run = position
        self.end = position + 1
        clip = min(locus.clip, self.reach)
        for i in range(-clip, clip + 1):
            if not 0 <= position + i < self.contig_length:
                continue
            if self.weights is None:
                self._add(position + i, locus.probability)
            elif locus.probability > 0:
                for d in range(-self.wing, self.wing + 1):
                    if 0 <= position + d < self.contig_length:
                        self._add(position + d, locus.probability * self.weights[d + self.wing])
            else:
                self._add(position, locus.probability)

    def _add(self, position: int, value: float) -> None:
        offset = position - self.start
        if offset == len(self.states):
            self.states.append(0.0)
        if offset >= 0:
            self.states[offset] += value

    def pop(
        self, *, is_end: bool, min_size: int = 50, max_size: int = 300
    ) -> list[tuple[int, int, bool]]:
        """Return start, end and activity of all regions that are ready; all, at an end."""
        regions = []
        if is_end:
            del self.states[self.end - self.start :]
        while self.states and (is_end or len(self.states) >= max_size + self.reach):
            is_active = self.states[0] > 0.002
            size = self._boundary(max_size, is_active=is_active)
            if is_active and size == max_size:
                size = self._best_cut(min_size, max_size)
            regions.append((self.start, self.start + size, is_active))
            del self.states[:size]
            self.start += size
            if not is_active:
                self.run = self.start
        return regions

    def _boundary(self, max_size: int, *, is_active: bool) -> int:
        size = 0
        while size < min(len(self.states), max_size):
            if (self.states[size] > 0.002) != is_active:
                break
            if size and is_active and self._is_long_run(self.start + size):
                break
            size += 1
        return size

    def _is_long_run(self, end: int) -> bool:
        length = self.max_run
        return length is not None and end % length == 0 and end - self.run >= length

    def _best_cut(self, min_size: int, max_size: int) -> int:
        best, lowest = max_size - 1, float("inf")
        for i in range(max_size - 1, min_size - 2, -1):
            if self.states[i] < lowest and self._is_minimum(i):
                best, lowest = i, self.states[i]
        return best + 1

    def _is_minimum(self, i: int) -> bool:
        if i == len(self.states) - 1 or i < 1:
            return False
        return self.states[i] <= self.states[i + 1] and self.states[i] < self.states[i - 1]


def serial_regions(
    loci: Sequence[Locus], start: int, contig_length: int, max_run: int | None = None
) -> list[tuple[int, int]]:
    """Return the active regions of an interval that starts at `start`, 0-based, half-open."""
    profile = SerialProfile(kernel(17.0, 50), contig_length, max_run)
    regions = []
    for position, locus in enumerate(loci, start):
        regions += profile.pop(is_end=False)
        profile.add(position, locus)
    regions += profile.pop(is_end=True)
    return [(first, last) for first, last, is_active in regions if is_active]
