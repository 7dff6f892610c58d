"""Made alignments: CIGARs with all operations, reads that fit them or not, references."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.runtime.pool import Pool
from tests.io.bam.encoded_blocks import encode_block
from tests.io.sam_oracle import Row, batch_of

HEADER = SamHeader.from_references(["one", "two"], [1 << 29, 10_000])
ALL_BYTES = bytes(range(256))
BASES = b"ACGTACGTACGTacgtNn=RU"


class MadeAlignments(NamedTuple):
    """n alignments: bases, CIGARs, int32[n] positions, references and int32[n] their rows."""

    bases: Ragged
    cigars: Ragged
    positions: NDArray[np.int32]
    references: Ragged
    reference_index: NDArray[np.int32]


def rows_of_bytes(rows: list[bytes]) -> Ragged:
    data = np.frombuffer(b"".join(rows), dtype=np.uint8)
    return Ragged.from_lengths(data, [len(row) for row in rows])


def made_cigars(rng: np.random.Generator, count: int, longest: int, unit: int) -> Ragged:
    """Make CIGARs of any operations, mostly matches, with up to `longest` elements."""
    sizes = rng.integers(0, longest + 1, count)
    operations = rng.choice([0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8], sizes.sum())
    lengths = rng.integers(0, unit + 1, sizes.sum())
    return Ragged.from_lengths((lengths << 4 | operations).astype(np.uint32), sizes)


def made_alignments(
    seed: int, count: int = 40, longest: int = 7, unit: int = 50, letters: bytes = BASES
) -> MadeAlignments:
    """Make alignments, most of which fit their reads and references, and none of which must."""
    rng = np.random.default_rng(seed)
    cigars = made_cigars(rng, count, longest, unit)
    alphabet = np.frombuffer(letters, dtype=np.uint8)
    references = [rng.choice(alphabet, rng.integers(0, 400)).tobytes() for _ in range(5)]
    index = rng.integers(-1, 5, count).astype(np.int32)
    positions = rng.integers(-1, 60, count).astype(np.int32)
    reads = []
    for row in range(count):
        reference = references[index[row]]
        at = max(positions[row], 0)
        read = b""
        for element in cigars[row].tolist():
            length, operation = element >> 4, element & 15
            if operation in {0, 7, 8}:
                read += reference[at : at + length].ljust(length, b"A")
            elif operation in {1, 4}:
                read += rng.choice(alphabet, length).tobytes()
            at += length if operation in {0, 2, 3, 7, 8} else 0
        changed = np.frombuffer(read, dtype=np.uint8).copy()
        is_changed = rng.random(changed.size) < rng.choice([0.0, 0.05, 0.5])
        changed[is_changed] = rng.choice(alphabet, int(is_changed.sum()))
        read = changed.tobytes()
        cut = int(rng.choice([0, 0, 0, 1, 20]))
        reads.append(read[: max(len(read) - cut, 0)])
    return MadeAlignments(rows_of_bytes(reads), cigars, positions, rows_of_bytes(references), index)


def made_reads(seed: int, count: int = 40, longest: int = 7, unit: int = 20) -> ReadBatch:
    """Make reads whose bases fit their CIGARs: some unmapped, without bases or without a CIGAR."""
    rng = np.random.default_rng(seed)
    rows = []
    for row, cigar in enumerate(made_cigars(rng, count, longest, unit)):
        elements = tuple((int(element & 15), int(element >> 4)) for element in cigar)
        length = sum(length for operation, length in elements if operation in {0, 1, 4, 7, 8})
        length = length if elements else int(rng.integers(0, 30))
        bases = "" if rng.random() < 0.2 else "".join(rng.choice(list("ACGTN"), length))
        name = f"r{row}" * int(rng.integers(0, 20))
        flag = int(rng.choice([0, 4, 16, 0x904, 0x41]))
        rows.append(Row(name, flag, 0, 10, 0, elements, -1, -1, 0, bases, None, ()))
    return batch_of(rows)


def block_of(reads: ReadBatch) -> RecordBlock:
    with Pool(1) as pool:
        return encode_block(reads, HEADER, pool)


LONG_READ = Row(
    "long",
    0,
    0,
    9,
    0,
    ((5, 3), (4, 2), *((0, 1), (1, 1)) * 40_000, (4, 7)),
    -1,
    -1,
    0,
    "ACGTA" * 16_000 + "A" * 9,
    None,
    (),
)
"""A read whose CIGAR is in the tag CG."""
