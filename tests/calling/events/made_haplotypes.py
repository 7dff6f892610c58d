"""Haplotypes of active regions for tests: given, or made of random edits of a reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.calling.batches import ActiveRegions, CallSites, Events, RegionHaplotypes
from hapgpu.cigar.encoding import parse_cigar
from hapgpu.haplotypes.batches import ReferenceSlice

Event = tuple[int, str, str]
"""Position, REF, ALT."""

Haplotype = tuple[str, str]
"""Bases and CIGAR."""


def reference_of(bases: str, start: int = 0) -> ReferenceSlice:
    return ReferenceSlice(start, np.frombuffer(bases.encode(), dtype=np.uint8))


def haplotypes_of(
    rows: Sequence[Sequence[Haplotype]],
    references: Sequence[str] = (),
    scores: Sequence[float] | None = None,
) -> RegionHaplotypes:
    """Return haplotypes, region by region; those with the bases of its reference are references."""
    flat = [row for region in rows for row in region]
    is_reference = [
        bool(references) and bases == references[k]
        for k, region in enumerate(rows)
        for bases, _ in region
    ]
    cigars = [parse_cigar(cigar) for _, cigar in flat]
    data = np.concatenate([np.empty(0, dtype=np.uint32), *cigars])
    return RegionHaplotypes(
        offsets_of([len(region) for region in rows]),
        Ragged.from_sequences([bases for bases, _ in flat]),
        Ragged.from_lengths(data, [cigar.size for cigar in cigars]),
        np.array(is_reference, dtype=np.bool_),
        np.array([np.nan] * len(flat) if scores is None else scores, dtype=np.float64),
    )


def regions_of(*rows: tuple[int, int, int, int]) -> ActiveRegions:
    """Return active regions: start, end, padded start, padded end."""
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return ActiveRegions(*(np.ascontiguousarray(column) for column in columns))


def rows_of(events: Events, reference: ReferenceSlice) -> list[list[Event]]:
    """Return the events of each haplotype."""
    text = reference.bases.tobytes().decode()
    flat = [
        (int(start), text[start - reference.start : end - reference.start], _text_of(events, k))
        for k, (start, end) in enumerate(zip(events.starts, events.ends, strict=True))
    ]
    return [
        flat[first:last] for first, last in zip(events.offsets, events.offsets[1:], strict=False)
    ]


def _text_of(events: Events, row: int) -> str:
    return bytes(events.alternates[row]).decode()


def alleles_of(sites: CallSites, site: int) -> list[str]:
    first, last = sites.allele_offsets[[site, site + 1]]
    return [bytes(sites.alleles[k]).decode() for k in range(first, last)]


def random_bases(source: np.random.Generator, length: int) -> str:
    return "".join(source.choice(list("ACGTN"), size=length, p=[0.35, 0.3, 0.18, 0.14, 0.03]))


def random_reference(source: np.random.Generator, length: int) -> str:
    """Return bases of repeats of short units, seldom an N."""
    text = ""
    while len(text) < length:
        text += random_bases(source, int(source.integers(1, 5))) * int(source.integers(1, 6))
    return text[:length]


def random_haplotype(source: np.random.Generator, reference: str, edits: int) -> Haplotype:
    """Return a haplotype of the reference that starts and ends in aligned bases."""
    elements = [["M", 1]]
    bases = reference[0]
    position = 1
    while position < len(reference) - 1:
        room = len(reference) - 1 - position
        weights = np.array([len(reference), edits, edits, edits])
        operation = str(source.choice(list("MXID"), p=weights / weights.sum()))
        length = 1 if operation in "MX" else int(source.integers(1, 7))
        if operation == "I":
            bases += random_bases(source, length)
        elif operation == "D":
            length = min(length, room)
            position += length
        else:
            bases += random_bases(source, 1) if operation == "X" else reference[position]
            operation = "M"
            position += 1
        if operation == elements[-1][0]:
            elements[-1][1] = int(elements[-1][1]) + length
        else:
            elements.append([operation, length])
    bases += reference[-1]
    if elements[-1][0] == "M":
        elements[-1][1] = int(elements[-1][1]) + 1
    else:
        elements.append(["M", 1])
    return bases, "".join(f"{length}{operation}" for operation, length in elements)
