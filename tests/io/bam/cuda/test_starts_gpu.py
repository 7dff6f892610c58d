"""Starts of records on a GPU are those of a plain walk, whatever was guessed."""

from __future__ import annotations

import struct

import cupy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.io.bam.cuda.starts import StartLimits, StartSearch

pytestmark = pytest.mark.gpu

CONTIGS = 3
LIMITS = StartLimits(CONTIGS, 1 << 20)
BEGIN = 24
"""Bytes before the records, as a piece has them."""


def record(random: np.random.Generator, size: int) -> bytes:
    """Return a record of about so many bytes; one of fewer than 50 is not plausible."""
    if size < 50:
        return struct.pack("<i", max(size, 36) - 4) + bytes(max(size, 36) - 4)
    bases = (size - 45) * 2 // 3
    name = b"read:1\0"
    contig, position = random.integers(-1, CONTIGS), random.integers(-1, 999)
    fields = (contig, position, len(name), 60, 4680, 0, 0, bases, -1, -1, 0)
    fixed = struct.pack("<iiBBHHHiiii", *fields)
    rest = random.integers(0, 256, (bases + 1) // 2 + bases, dtype=np.uint8).tobytes()
    body = fixed + name + rest
    return struct.pack("<i", len(body)) + body


def true_starts(data: bytes, at: int) -> tuple[list[int], int, bool]:
    """Return the starts of the whole records, the end of the last, and whether the next is bad."""
    starts = []
    while at + 36 <= len(data):
        size, bases = struct.unpack_from("<i16xi", data, at)
        if size < 32 or bases > size or size > LIMITS.max_record:
            return starts, at, True
        if at + 4 + size > len(data):
            break
        starts.append(at)
        at += 4 + size
    return starts, at, False


def search_of(data: bytes, step: int) -> StartSearch:
    padded = np.frombuffer(data + bytes(16), dtype=np.uint8)
    return StartSearch(cupy.asarray(padded), BEGIN, len(data), LIMITS, step)


def found_starts(search: StartSearch, records: int) -> list[int]:
    starts = cupy.empty(records, dtype=np.int64)
    search.list(starts)
    return starts.tolist()


@st.composite
def chains(draw: st.DrawFn) -> bytes:
    """Draw records of mixed sizes, perhaps with a cut end or with damage."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = draw(
        st.lists(
            st.one_of(st.integers(36, 60), st.integers(60, 400), st.integers(400, 9000)),
            max_size=60,
        )
    )
    data = bytearray(b"".join(record(random, size) for size in sizes))
    kind = draw(st.sampled_from(["whole", "whole", "cut", "damaged"]))
    if kind == "cut":
        data = data[: draw(st.integers(0, len(data)))]
    if kind == "damaged" and data:
        at = draw(st.integers(0, len(data) - 1))
        data[at] ^= draw(st.integers(1, 255))
    return bytes(BEGIN) + bytes(data or b"\1")


@settings(max_examples=150, deadline=None)
@given(chains(), st.sampled_from([64, 300, 4096, 1 << 15]))
def test_guessed_starts(data: bytes, step: int) -> None:
    """Where the guesses prove themselves, they are the chain of records from the first guess on."""
    search = search_of(data, step)
    search.guess()
    search.prove()
    proof = search.proof()
    if proof.is_unproved or proof.is_faulty:
        search.repair(BEGIN)
        proof = search.proof()
    first = proof.first if proof.first >= 0 else len(data)
    starts, end, is_faulty = true_starts(data, first)
    assert bool(proof.is_faulty) == is_faulty
    if not is_faulty:
        assert not proof.is_unproved
        assert found_starts(search, proof.records) == starts
        assert proof.exit == end if starts else proof.exit in {-1, first}


@settings(max_examples=150, deadline=None)
@given(chains(), st.sampled_from([64, 300, 4096]), st.data())
def test_forged_guesses_are_repaired(data: bytes, step: int, draws: st.DataObject) -> None:
    starts, end, is_faulty = true_starts(data, BEGIN)
    search = search_of(data, step)
    forged = []
    for k in range(search.guesses.size):
        low = BEGIN + k * step
        high = min(low + step, len(data)) - 1
        right = min((start for start in starts if low <= start <= high), default=-1)
        other = draws.draw(st.sampled_from(["right", "right", "none", "forged"]))
        forged.append({"right": right, "none": -1}.get(other, draws.draw(st.integers(low, high))))
    search.guesses[:] = cupy.asarray(np.array(forged, dtype=np.int64))
    search.prove()
    proof = search.proof()
    is_sure = not proof.is_unproved and not proof.is_faulty and proof.first == BEGIN
    if not is_sure:
        search.repair(BEGIN)
        proof = search.proof()
    assert bool(proof.is_faulty) == is_faulty
    if not is_faulty:
        assert not proof.is_unproved
        assert found_starts(search, proof.records) == starts
        assert proof.exit == end


@pytest.mark.parametrize("entry", ["second", "end"])
def test_repair_from_a_place_behind_the_begin(entry: str) -> None:
    """The piece before says where the first record starts, which may be the end."""
    random = np.random.default_rng(2)
    data = bytes(BEGIN) + b"".join(record(random, 200) for _ in range(400))
    starts, end, _ = true_starts(data, BEGIN)
    search = search_of(data, 1000)
    search.guess()
    search.prove()
    assert search.proof().first == BEGIN
    search.repair(starts[1] if entry == "second" else end)
    proof = search.proof()
    expected = starts[1:] if entry == "second" else []
    assert found_starts(search, proof.records) == expected
    assert proof.first == (expected[0] if expected else -1)


def test_guesses_are_right_on_plausible_records() -> None:
    """Otherwise one thread walks everything again, which is slow."""
    random = np.random.default_rng(1)
    sizes = random.integers(100, 3000, 3000).tolist()
    data = bytes(BEGIN) + b"".join(record(random, size) for size in sizes)
    search = search_of(data + record(random, 5000)[:-1], 1 << 13)
    search.guess()
    search.prove()
    proof = search.proof()
    assert (proof.first, proof.records) == (BEGIN, 3000)
    assert (proof.is_unproved, proof.is_faulty, proof.exit) == (0, 0, len(data))
