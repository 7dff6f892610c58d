"""SAM records of hits in plain Python, and random reads with hits to write."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass

import numpy as np

from hapgpu.io.fastx.read_block import ReadSpans
from hapgpu.shortread.index.fm_index import Contigs, FMIndexArrays, ReferenceBases
from hapgpu.shortread.sam.tables import SamOptions
from hapgpu.shortread.search.hits import DELETION, INSERTION, UNGAPPED, KeptHits

MIN_READ_BASES = 10  # docs/methods/map.md

COMPLEMENT = dict(zip("ACGTURYSWKMBDHVN", "TGCAAYRSWMKVHDBN", strict=True))
IUPAC = "RYSWKMBDHVN"


@dataclass(frozen=True)
class Read:
    name: str
    bases: str
    qualities: str | None


@dataclass(frozen=True, order=True)
class Hit:
    """Fields in the order by which hits are sorted."""

    distance: int
    start: int
    strand: int
    kind: int
    error: int

    @property
    def number(self) -> int:
        high = self.distance << 62 | self.start << 30
        return high | self.strand << 29 | self.kind << 27 | self.error


@dataclass(frozen=True)
class Case:
    """A reference, reads and their hits; reads with `is_true` fit their first hit."""

    contigs: dict[str, str]
    reads: list[Read]
    hits: list[list[Hit]]
    is_true: list[bool]


def index_of(contigs: dict[str, str]) -> FMIndexArrays:
    """Return an index that has only the reference."""
    reference = "".join(contigs.values()).upper()
    blocks = len(reference) // 64 + 4
    planes, others = [0] * (2 * blocks), [2**64 - 1] * blocks
    listed = []
    for position, letter in enumerate(reference):
        block, bit = position // 64 + 1, 1 << position % 64
        if letter in "ACGT":
            code = "ACGT".index(letter)
            others[block] ^= bit
            planes[2 * block] |= bit * (code & 1)
            planes[2 * block + 1] |= bit * (code >> 1)
        elif letter != "N":
            listed.append((position, ord(letter)))
    bases = ReferenceBases(
        np.array(planes, dtype=np.uint64),
        np.array(others, dtype=np.uint64),
        np.array([position for position, _ in listed], dtype=np.int64),
        np.array([letter for _, letter in listed], dtype=np.uint8),
    )
    offsets = np.cumsum([0, *map(len, contigs.values())], dtype=np.int64)
    nothing = np.empty(0, dtype=np.uint32)
    return FMIndexArrays(
        Contigs(tuple(contigs), offsets), bases, nothing, 0, nothing, 0, nothing, 0, b""
    )


def text_of(reads: list[Read]) -> tuple[np.ndarray, ReadSpans]:
    """Return reads as FASTQ or FASTA text, with their spans."""
    text = bytearray()
    columns: list[tuple[int, int, int, int, int]] = []
    for read in reads:
        name = len(text) + 1
        bases = name + len(read.name) + 1
        qualities = bases + len(read.bases) + 3
        columns.append((name, len(read.name), bases, qualities, len(read.bases)))
        if read.qualities is None:
            text += f">{read.name}\n{read.bases}\n".encode()
        else:
            text += f"@{read.name}\n{read.bases}\n+\n{read.qualities}\n".encode()
    spans = np.array(columns, dtype=np.int32).reshape(-1, 5).T.copy()
    has_qualities = any(read.qualities is not None for read in reads)
    return np.frombuffer(bytes(text), dtype=np.uint8), ReadSpans(*spans, has_qualities)


def kept_hits(hits: list[list[Hit]], most: int | None = None) -> KeptHits:
    """Return the first `most` hits of each read, and the counts of all."""
    kept = [row[:most] for row in hits]
    offsets = np.cumsum([0, *map(len, kept)], dtype=np.int64)
    numbers = [hit.number for row in kept for hit in row]
    exact = np.array([sum(hit.distance == 0 for hit in row) for row in hits], dtype=np.int64)
    totals = np.array([len(row) for row in hits], dtype=np.int64)
    return KeptHits(offsets, np.array(numbers, dtype=np.uint64), exact, totals - exact)


def mapping_quality(best: int, second: int) -> int:
    if best > 1:
        return 3 if best == 2 else 0
    return 60 if second == 0 else max(1, 23 - int(4.343 * math.log(second) + 0.5))


def sam_lines(case: Case, options: SamOptions) -> list[str]:
    """Write all records, without the newline."""
    lines = []
    for read, hits in zip(case.reads, case.hits, strict=True):
        if hits:
            lines += _hit_lines(case.contigs, read, hits, options)
        elif options.unmapped:
            fields = [read.name or "*", "4", "*", "0", "0", "*", "*", "0", "0"]
            fields += [read.bases.upper() or "*", read.qualities or "*", *_read_group(options)]
            lines.append("\t".join(fields))
    return lines


def counts(case: Case, options: SamOptions) -> dict[str, int]:
    """Return the counts of a mapped block."""
    reported = [_reported_hits(hits, options) for hits in case.hits]
    max_hits = options.max_hits
    return {
        "reads": len(case.reads),
        "mapped": sum(bool(hits) for hits in reported),
        "hits": sum(map(len, reported)),
        "records": len(sam_lines(case, options)),
        "reads_over_max_hits": 0
        if max_hits is None
        else sum(len(hits) > max_hits for hits in reported),
        "too_short": sum(len(read.bases) < MIN_READ_BASES for read in case.reads),
    }


def _read_group(options: SamOptions) -> list[str]:
    return [] if options.read_group is None else [f"RG:Z:{options.read_group}"]


def _reported_hits(hits: list[Hit], options: SamOptions) -> list[Hit]:
    return [hit for hit in hits if not options.best or hit.distance == hits[0].distance]


def _hit_lines(
    contigs: dict[str, str], read: Read, hits: list[Hit], options: SamOptions
) -> list[str]:
    min_distance = hits[0].distance
    best = sum(hit.distance == min_distance for hit in hits)
    second = sum(hit.distance == min_distance + 1 for hit in hits)
    reported = _reported_hits(hits, options)
    written = reported[: options.max_hits]
    lines = []
    for number, hit in enumerate(written, start=1):
        contig, contig_start = _contig_at(contigs, hit.start)
        fields = [read.name or "*", str(16 * hit.strand + 256 * (number > 1)), contig]
        fields += [str(hit.start - contig_start + 1), str(mapping_quality(best, second))]
        fields += [_cigar(hit, len(read.bases)), "*", "0", "0"]
        fields += _sequence(read, hit) if number == 1 or options.secondary_seq else ["*", "*"]
        fields += [f"NM:i:{hit.distance}", f"MD:Z:{_differences(contigs, hit, len(read.bases))}"]
        penalty = 0 if hit.distance == 0 else -6 if hit.kind == UNGAPPED else -8
        fields += [f"AS:i:{penalty}", f"NH:i:{len(reported)}", f"HI:i:{number}"]
        fields += [f"X0:i:{best}", f"X1:i:{second}"]
        if len(written) < len(reported):
            fields.append(f"XL:i:{options.max_hits}")
        lines.append("\t".join([*fields, *_read_group(options)]))
    return lines


def _contig_at(contigs: dict[str, str], position: int) -> tuple[str, int]:
    contig_start = 0
    for name, bases in contigs.items():
        if position < contig_start + len(bases):
            return name, contig_start
        contig_start += len(bases)
    raise AssertionError


def _cigar(hit: Hit, length: int) -> str:
    if hit.kind == UNGAPPED:
        return f"{length}M"
    after = length - hit.error - (hit.kind == INSERTION)
    runs = [(hit.error, "M"), (1, "I" if hit.kind == INSERTION else "D"), (after, "M")]
    return "".join(f"{size}{letter}" for size, letter in runs if size)


def _differences(contigs: dict[str, str], hit: Hit, length: int) -> str:
    reference = "".join(contigs.values()).upper()
    if hit.distance == 0:
        return f"{length}"
    if hit.kind == INSERTION:
        return f"{length - 1}"
    letter = reference[hit.start + hit.error]
    if hit.kind == DELETION:
        return f"{hit.error}^{letter}{length - hit.error}"
    return f"{hit.error}{letter}{length - 1 - hit.error}"


def _sequence(read: Read, hit: Hit) -> list[str]:
    bases, qualities = read.bases.upper(), read.qualities
    if hit.strand:
        bases = reverse_complement(bases)
        qualities = qualities and qualities[::-1]
    return [bases, qualities or "*"]


def reverse_complement(bases: str) -> str:
    return "".join(COMPLEMENT[letter] for letter in reversed(bases))


def random_case(seed: int, *, read_count: int = 12, has_qualities: bool = True) -> Case:
    """Make a small reference with N runs and IUPAC letters, and reads of all kinds."""
    rng = random.Random(seed)  # noqa: S311  (not for secrets)
    contigs = {
        f"contig{k}" * rng.randint(1, 3): _random_contig(rng) for k in range(rng.randint(1, 4))
    }
    reads, hits, is_true = [], [], []
    for number in range(read_count):
        first = _random_true_hit(rng, contigs) if rng.random() < 0.7 else None
        if first is None:
            bases = "".join(rng.choices("ACGTacgtU" + IUPAC, k=rng.randint(0, 40)))
            own = []
        else:
            own, bases = [first[0]], first[1]
            more = [_random_hit(rng, contigs, len(bases)) for _ in range(_hit_count(rng))]
            own += sorted({hit for hit in more if hit > own[0]})
        qualities = "".join(chr(rng.randint(33, 126)) for _ in bases)
        name = f"r{number}" + "x" * rng.randint(0, 20) if rng.random() < 0.95 else ""
        reads.append(Read(name, bases, qualities if has_qualities else None))
        hits.append(own)
        is_true.append(first is not None)
    return Case(contigs, reads, hits, is_true)


def _hit_count(rng: random.Random) -> int:
    return rng.choice([0, 0, 1, 2, 3, 12, 300])


def _random_contig(rng: random.Random) -> str:
    parts = []
    for _ in range(rng.randint(1, 6)):
        parts.append("".join(rng.choices("ACGTacgt", k=rng.randint(30, 150))))
        parts.append(rng.choice(["", "N" * rng.randint(1, 90), rng.choice(IUPAC + "ry")]))
    return "".join(parts)


def _random_hit(rng: random.Random, contigs: dict[str, str], length: int) -> Hit:
    """Make a hit within the reference that need not be one of the read."""
    end = sum(map(len, contigs.values())) - length - 1
    start, strand = rng.randint(0, max(end, 0)), rng.randint(0, 1)
    distance = rng.randint(0, 1)
    if distance == 0:
        return Hit(0, start, strand, UNGAPPED, 0)
    kind = rng.choice([INSERTION, UNGAPPED, DELETION])
    return Hit(1, start, strand, kind, rng.randint(0, length - (kind != DELETION)))


def _random_true_hit(rng: random.Random, contigs: dict[str, str]) -> tuple[Hit, str] | None:
    """Choose an interval of a contig with at most one odd letter, and a read that fits it."""
    name = rng.choice(list(contigs))
    before = itertools.takewhile(lambda other: other != name, contigs)
    contig_start = sum(len(contigs[other]) for other in before)
    contig = contigs[name].upper()
    size = rng.randint(11, min(len(contig), 120)) if len(contig) > 11 else 0
    start = rng.randint(0, len(contig) - size)
    window = contig[start : start + size]
    odd = [k for k, letter in enumerate(window) if letter not in "ACGT"]
    if size == 0 or len(odd) > 1:
        return None
    strand = rng.randint(0, 1)
    kind = rng.choice([INSERTION, UNGAPPED, UNGAPPED, DELETION]) if not odd else UNGAPPED
    distance = 1 if odd or kind != UNGAPPED else rng.randint(0, 1)
    error = odd[0] if odd else rng.randrange(size + (kind == INSERTION)) if distance else 0
    if distance == 0:
        read = window
    elif kind == INSERTION:
        read = window[:error] + rng.choice("ACGT") + window[error:]
    elif kind == DELETION:
        read = window[:error] + window[error + 1 :]
    else:
        other = rng.choice([c for c in "ACGT" + IUPAC if c != window[error] or odd])
        read = window[:error] + other + window[error + 1 :]
    if strand:
        read = reverse_complement(read)
    read = "".join(rng.choice([c, c.lower()]) for c in read)
    return Hit(distance, contig_start + start, strand, kind, error), read
