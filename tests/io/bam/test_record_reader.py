"""Records of BAM files whose blocks and pieces are cut anywhere."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.bam import piece_decoder
from hapgpu.io.bam.header import SamHeader, encode_header
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.io.bam.record_reader import RecordReader, take_first_header, to_batch
from hapgpu.io.bgzf.marks import EOF_BLOCK
from hapgpu.io.bgzf.pieces import PieceReader
from hapgpu.runtime.pool import Pool
from tests.example_counts import many
from tests.io.bam.encoded_blocks import encode_records
from tests.io.bgzf_blocks import block
from tests.io.sam_oracle import Row, batch_of, batch_rows

HEADER = SamHeader.from_references(["chr1", "chr2"], [2**29, 2**29])
HEAD = bytes(encode_header(HEADER))
LARGEST = 1 << 28


def record(number: int, bases: int) -> Row:
    cigar = ((0, bases),) if bases else ()
    qualities = tuple(k % 90 for k in range(bases)) or None
    text = "ACGTN" * (bases // 5 + 1)
    tags = (("NM", "C", 1), ("XZ", "Z", "x" * (number % 50)))
    return Row(
        f"r{number}", 0, number % 2, number, 60, cigar, -1, -1, 0, text[:bases], qualities, tags
    )


def encoded(rows: list[Row]) -> bytes:
    with Pool(1) as pool:
        return encode_records(batch_of(rows), HEADER, pool).tobytes()


def packed(content: bytes, cuts: list[int]) -> bytes:
    """Cut content into blocks; an offset that occurs twice makes an empty block."""
    bounds = [0, *sorted(cut % (len(content) + 1) for cut in cuts), len(content)]
    parts = [content[a:b] for a, b in pairwise(bounds)]
    small = (part[at : at + 60_000] for part in parts for at in range(0, max(len(part), 1), 60_000))
    return b"".join(map(block, small)) + EOF_BLOCK


def reader_of(
    raw: bytes,
    pool: Pool,
    inflated_bytes: int,
    max_record: int = LARGEST,
    header: SamHeader = HEADER,
) -> RecordReader:
    pieces = PieceReader(io.BytesIO(raw), "x.bam", packed_bytes=1, inflated_bytes=inflated_bytes)
    found, rest = take_first_header(pieces.pieces(), "x.bam", max_record)
    assert found == header
    return RecordReader(rest, "x.bam", max_record, pool)


def bytes_of(records: RecordBlock) -> bytes:
    return records.packed().data.tobytes()


def stored(raw: bytes, threads: int, inflated_bytes: int) -> Iterator[bytes]:
    with Pool(threads) as pool:
        reader = reader_of(raw, pool, inflated_bytes)
        yield from reader.converted(bytes_of, 2, 1000, None)


SIZES = st.lists(st.sampled_from([0, 1, 30, 31, 500, 3000, 200_000]), max_size=25)
CUTS = st.lists(st.integers(0, 1 << 20), max_size=20)
PIECES = st.sampled_from([1, 1000, 70_000, 1 << 20])
THREADS = st.sampled_from([1, 3])


@settings(max_examples=many(60))
@given(SIZES, CUTS, PIECES, THREADS)
@example([500, 500, 0], [], 1, 1)  # the second read reaches the limit, the third adds nothing
def test_blocks_may_be_cut_anywhere(
    sizes: list[int], cuts: list[int], inflated_bytes: int, threads: int
) -> None:
    rows = [record(number, bases) for number, bases in enumerate(sizes)]
    content = encoded(rows)
    raw = packed(HEAD + content, cuts)
    assert b"".join(stored(raw, threads, inflated_bytes)) == content
    with Pool(threads) as pool:
        reader = reader_of(raw, pool, inflated_bytes)
        batches = list(reader.converted(to_batch, 2, 1000, None))
    assert batch_rows(batches) == rows
    for batch in batches:
        assert int(batch.bases.offsets[-2]) < 1000  # of all reads but the last


@settings(max_examples=many(60))
@given(SIZES, CUTS, PIECES, THREADS, st.randoms(use_true_random=False))
def test_wrong_guesses_change_nothing(
    sizes: list[int], cuts: list[int], inflated_bytes: int, threads: int, random: object
) -> None:
    content = encoded([record(number, bases) for number, bases in enumerate(sizes)])
    raw = packed(HEAD + content, cuts)
    draw = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]

    def guess(data: np.ndarray, _: int, __: int) -> int:
        return int(draw.integers(-1, max(data.size - 40, 0), endpoint=True))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(piece_decoder, "guess_first_record", guess)
        assert b"".join(stored(raw, threads, inflated_bytes)) == content


@settings(max_examples=many(80))
@given(SIZES.filter(bool), CUTS, PIECES, THREADS, st.data())
def test_a_cut_within_a_record_is_named(
    sizes: list[int], cuts: list[int], inflated_bytes: int, threads: int, data: st.DataObject
) -> None:
    parts = [encoded([record(number, bases)]) for number, bases in enumerate(sizes)]
    number = data.draw(st.integers(0, len(parts) - 1))
    kept = data.draw(st.integers(1, len(parts[number]) - 1))
    content = b"".join(parts[:number]) + parts[number][:kept]
    found: list[bytes] = []
    message = rf"^x.bam: truncated \(it ends within record {number + 1}\); copy it again$"
    with pytest.raises(InputError, match=message):
        found.extend(stored(packed(HEAD + content, cuts), threads, inflated_bytes))
    assert b"".join(found) == b"".join(parts[:number])


@settings(max_examples=many(80))
@given(SIZES.filter(bool), CUTS, PIECES, THREADS, st.data())
def test_a_faulty_record_is_numbered(
    sizes: list[int], cuts: list[int], inflated_bytes: int, threads: int, data: st.DataObject
) -> None:
    parts = [encoded([record(number, bases)]) for number, bases in enumerate(sizes)]
    number = data.draw(st.integers(0, len(parts) - 1))
    at, layout, value, fault = data.draw(
        st.sampled_from(
            [
                (0, "<i", 7, "its size is impossible"),
                (4, "<i", 2, "its contig is missing"),
                (28, "<i", -2, "its position is negative"),
                (12, "<B", 0, "its name has no closing NUL"),
            ]
        )
    )
    faulty = bytearray(parts[number])
    struct.pack_into(layout, faulty, at, value)
    content = b"".join([*parts[:number], bytes(faulty), *parts[number + 1 :]])
    found: list[bytes] = []
    message = rf"^x.bam, record {number + 1}: damaged \({re.escape(fault)}.*correct or remove"
    with pytest.raises(InputError, match=message):
        found.extend(stored(packed(HEAD + content, cuts), threads, inflated_bytes))
    assert b"".join(found) == b"".join(parts[:number])


@pytest.mark.parametrize("threads", [1, 3])
def test_records_before_a_damaged_block_come_first(threads: int) -> None:
    parts = [encoded([record(number, 3000)]) for number in range(40)]
    blocks = [block(HEAD), *map(block, parts), EOF_BLOCK]
    starts = [0, *accumulate(map(len, blocks))]
    blocks[31] = blocks[31][:40] + b"?" + blocks[31][41:]
    found: list[bytes] = []
    message = rf"checksum of the BGZF block at byte {starts[31]}\)"
    with pytest.raises(InputError, match=message):
        found.extend(stored(b"".join(blocks), threads, 9000))
    before = b"".join(found)
    assert b"".join(parts).startswith(before)
    assert len(before) >= sum(map(len, parts[:24]))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("inflated_bytes", [1, 1 << 20])
def test_a_faulty_end_is_noticed_before_the_last_records(inflated_bytes: int, threads: int) -> None:
    """Also by a caller that stops when it has the records that it needs."""
    parts = [encoded([record(number, 3000)]) for number in range(40)]
    raw = b"".join(map(block, [HEAD, *parts]))
    found: list[bytes] = []
    with pytest.raises(InputError, match=r"^x.bam: truncated \(no closing EOF block"):
        found.extend(stored(raw, threads, inflated_bytes))
    assert b"".join(parts).startswith(b"".join(found))
    assert sum(map(len, found)) < sum(map(len, parts))
    found.clear()
    with pytest.raises(InputError, match=r"^x.bam: truncated \(within its last block"):
        found.extend(stored(raw[:-1], threads, inflated_bytes))
    assert sum(map(len, found)) < sum(map(len, parts[:-1]))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_record_over_many_pieces(threads: int) -> None:
    rows = [record(0, 30), record(1, 3_000_000), record(2, 30), record(3, 0)]
    content = encoded(rows)
    assert b"".join(stored(packed(HEAD + content, []), threads, 1)) == content
    raw = packed(HEAD + content, [])
    with Pool(threads) as pool:
        reader = reader_of(raw, pool, 1, max_record=4_000_000)
        message = r"^x.bam, record 2: longer than 4,000,000 bytes; raise --max-record$"
        with pytest.raises(InputError, match=message):
            list(reader.converted(to_batch, 2, 1000, None))


@pytest.mark.parametrize("inflated_bytes", [1, 1 << 20])
def test_a_header_over_many_pieces(inflated_bytes: int) -> None:
    names = [f"contig{k}" for k in range(9000)]
    header = SamHeader.from_references(names, [1000] * len(names))
    content = encoded([record(0, 30)])
    with Pool(2) as pool:
        raw = packed(bytes(encode_header(header)) + content, [])
        reader = reader_of(raw, pool, inflated_bytes, header=header)
        assert b"".join(reader.converted(bytes_of, 9000, 99, None)) == content
