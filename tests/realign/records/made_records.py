"""Made BAM records, as bytes, and new alignments of them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.io.bam.record_layout import (
    SOUND,
    RecordBlock,
    RecordLayout,
    measure_records,
    walk_records,
)
from hapgpu.realign.records.build import NewAlignments

CONTIGS = ("chr20", "a,b", "chrUn_KI270742v1")
OUTPUT_CONTIGS = 5

_NAMES = ("", "r", "read.17/x", "A00684:110:H2TYCDMXY:1:1101:2790:1000", "n" * 254)
_ALIGNMENT_TAGS = ("AS", "XS", "NM", "MD", "SA", "MC", "MQ", "ms", "OC", "OP", "OA", "NM", "OA")
_TAGS = (*_ALIGNMENT_TAGS, "RG", "BC", "X0", "CG", "zz")
_TEXTS = ("", "5", "12^ACG0T5", "chr1,5,+,4M,60,;", "lane 1", "AB" * 40)
_INTEGERS = {"c": "<b", "C": "<B", "s": "<h", "S": "<H", "i": "<i", "I": "<I"}
_PACKED = {**_INTEGERS, "f": "<f"}
_INT32 = (-(2**31), -32769, -32768, -129, -128, -1, 0, 1, 127, 255, 256, 65535, 65536, 2**31 - 1)
_POSITIONS = (-1, 0, 9, 99, 2**14 - 3, 2**17 - 3, 2**20 - 3, 2**23 - 3, 2**26 - 3, 2**31 - 2)
_OPERATIONS_OF_QUERY = (0, 1, 4, 7, 8)


def record_bytes(rng: Random) -> bytes:
    """Return a sound record: any flags, odd numbers of bases, missing parts, any tags."""
    name = rng.choice(_NAMES).encode() + b"\0" * rng.choice([1, 1, 1, 2])
    bases = rng.choice([0, 1, 2, 3, 31, 64, 101, 150])
    cigar = made_cigar(rng, bases)
    tags = [made_tag(rng) for _ in range(rng.randrange(8))]
    if rng.random() < 0.1:
        tags.insert(rng.randrange(len(tags) + 1), b"CGBI" + counted(cigar))
        cigar = [bases << 4 | 4, 77 << 4 | 3]
    return encoded(rng, name[:255], bases, cigar, b"".join(tags))


def long_record_bytes(rng: Random, operations: int) -> bytes:
    """Return a record with a CIGAR of this number of operations, in the tag CG if it is long."""
    cigar = [1 << 4 | k % 2 for k in range(operations)]
    tags = [made_tag(rng) for _ in range(4)]
    if operations > 65535:
        tags.insert(2, b"CGBI" + counted(cigar))
        cigar = [operations << 4 | 4, operations // 2 << 4 | 3]
    return encoded(rng, b"long\0", operations, cigar, b"".join(tags))


def encoded(rng: Random, name: bytes, bases: int, cigar: Sequence[int], tags: bytes) -> bytes:
    """Return a record with these parts, and any other fields."""
    qualities = bytearray(rng.randbytes(bases))
    if bases and rng.random() < 0.3:
        qualities[0] = 255
    reference = rng.randrange(-1, len(CONTIGS))
    body = struct.pack(
        "<iiBBHHHiiii",
        reference,
        rng.choice(_POSITIONS),
        len(name),
        rng.randrange(256),
        rng.randrange(2**16),
        len(cigar),
        rng.choice([0, 4, 16, 20, 77, 99, 147, 256, 2048, 65535]),
        bases,
        rng.randrange(-1, len(CONTIGS)),
        rng.choice(_POSITIONS),
        rng.choice(_INT32),
    )
    body += name + words(cigar) + rng.randbytes((bases + 1) // 2) + qualities + tags
    return struct.pack("<i", len(body)) + body


def made_cigar(rng: Random, bases: int) -> list[int]:
    """Return a CIGAR that fits a number of bases; often none, and any CIGAR for no bases."""
    if rng.random() < 0.2:
        return []
    left, cigar = bases or 12, []
    while left:
        length = min(left, rng.choice([1, 2, 5, 40, 120]))
        cigar.append(length << 4 | rng.choice(_OPERATIONS_OF_QUERY))
        left -= length
        if rng.random() < 0.3:
            cigar.append(rng.choice([1, 10, 100, 2**28 - 1]) << 4 | rng.choice([2, 3, 5, 6]))
    return cigar


def made_tag(rng: Random) -> bytes:
    """Return a field of any name and type."""
    name = rng.choice(_TAGS).encode()
    kind = rng.choice(["A", "Z", "Z", "Z", "H", "B", *_PACKED])
    if kind == "A":
        value = rng.choice([b"!", b"z"])
    elif kind in "ZH":
        value = rng.choice(_TEXTS).encode() + b"\0"
    elif kind == "B":
        element = rng.choice([*_PACKED])
        if name == b"CG" and element == "I":  # it would be the record's CIGAR
            element = "i"
        count = rng.choice([0, 1, 3, 40])
        size = struct.calcsize(_PACKED[element])
        value = element.encode() + struct.pack("<i", count) + rng.randbytes(count * size)
    else:
        value = rng.randbytes(struct.calcsize(_PACKED[kind]))
    return name + kind.encode() + value


def words(values: Sequence[int]) -> bytes:
    return np.array(values, dtype="<u4").tobytes()


def counted(values: Sequence[int]) -> bytes:
    return struct.pack("<i", len(values)) + words(values)


def block_of(records: Sequence[bytes], gap: bytes = b"") -> RecordBlock:
    """Return records as a block, with these bytes before each, its layout measured."""
    data = np.frombuffer(b"".join(gap + record for record in records), dtype=np.uint8)
    sizes = np.array([len(gap) + len(record) for record in records], dtype=np.int64)
    layout = RecordLayout.empty(np.cumsum(sizes) - sizes + len(gap))
    row, fault = measure_records(data, layout, 0, len(records), len(CONTIGS))
    assert (row, fault) == (-1, SOUND)
    return RecordBlock(data, layout)


def split_records(data: bytes) -> list[bytes]:
    """Return the records of end-to-end bytes."""
    array = np.frombuffer(data, dtype=np.uint8)
    starts = np.empty(len(data) // 36 + 1, dtype=np.int64)
    count = walk_records(array, 0, 1 << 62, starts)[0]
    bounds = [*starts[:count].tolist(), len(data)]
    return [data[start:end] for start, end in pairwise(bounds)]


def new_alignments(rng: Random, count: int) -> NewAlignments[Ragged]:
    """Return any new alignments of records."""

    def mask(probability: float) -> NDArray[np.bool_]:
        return np.array([rng.random() < probability for _ in range(count)], dtype=np.bool_)

    def numbers(values: Sequence[int]) -> NDArray[np.int32]:
        return np.array([rng.choice(values) for _ in range(count)], dtype=np.int32)

    mapped = mask(0.6)
    cigars = [made_cigar(rng, 60) if is_mapped else [] for is_mapped in mapped]
    return NewAlignments(
        rows=np.arange(count),
        mapped=mapped,
        kept=~mapped & mask(0.5),
        reference_ids=numbers(range(OUTPUT_CONTIGS)),
        positions=numbers(_POSITIONS[1:]),
        cigars=ragged_words(cigars),
        is_reversed=mapped & mask(0.3),
        is_secondary=mask(0.2),
        scores=numbers(_INT32),
        second_scores=numbers(_INT32),
        has_second_score=mask(0.5),
        edit_distances=numbers(_INT32),
        mismatches=Ragged.from_sequences(rng.choice(_TEXTS) for _ in range(count)),
    )


def ragged_words(rows: Sequence[Sequence[int]]) -> Ragged:
    data = np.array([word for row in rows for word in row], dtype=np.uint32)
    return Ragged.from_lengths(data, [len(row) for row in rows])
