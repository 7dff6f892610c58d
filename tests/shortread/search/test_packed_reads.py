"""Reads packed into bit planes, against their letters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.shortread.search.packed_reads import PackedReads, pack_reads
from tests.emulation.emulator import emulate

COMPLEMENT = str.maketrans("ACGT", "TGCA")
READS = st.lists(st.text("ACGTacgtNRx", max_size=200), min_size=1, max_size=5)


def letters(reads: PackedReads, read: int, strand: int) -> str:
    """Read the planes of one strand base by base."""
    first, end = reads.word_offsets[read : read + 2].tolist()
    words = reads.words.reshape(-1, 3)[2 * first + strand * (end - first) :]
    length = int(reads.lengths[read])
    bases = []
    for base in range(64 * (end - first)):
        low, high, other = ((int(word) >> base % 64) & 1 for word in words[base // 64])
        assert base < length or low == high == other == 0
        bases.append("N" if other else "ACGT"[2 * high + low])
    return "".join(bases[:length])


def in_text(
    reads: Sequence[str], between: str
) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32]]:
    """Return a text with the reads in it, and the starts and lengths of the reads."""
    starts, text = [], ""
    for read in reads:
        text += between
        starts.append(len(text))
        text += read
    lengths = np.array([len(read) for read in reads], dtype=np.int32)
    return np.frombuffer(text.encode(), np.uint8), np.array(starts, np.int32), lengths


def expected(read: str, strand: int) -> str:
    bases = "".join(base if base in "ACGT" else "N" for base in read.upper())
    return bases.translate(COMPLEMENT)[::-1] if strand else bases


@given(READS, st.sampled_from(["", "A", "\n", "NNNNNNNNN"]))
def test_both_strands(reads: list[str], between: str) -> None:
    packed = pack_reads(*in_text(reads, between))
    for number, read in enumerate(reads):
        for strand in (0, 1):
            assert letters(packed, number, strand) == expected(read, strand)


@pytest.mark.parametrize("length", [1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 1000])
def test_ends_of_words_and_of_the_text(length: int) -> None:
    read = ("ACGGTTTTCA" * 100)[:length]
    packed = pack_reads(*in_text([read, read + "C"], ""))
    assert letters(packed, 0, 1) == expected(read, 1)
    assert letters(packed, 1, 0) == read + "C"


def made_reads() -> list[str]:
    """Return reads of all lengths around those of words and passes, with all kinds of letters."""
    rng = np.random.default_rng(1)
    lengths = [0, 1, 15, 16, 17, 63, 64, 65, 112, 113, 127, 128, 129, 500]
    return [
        "".join(rng.choice(list(letters), length))
        for length in [*lengths, *rng.integers(0, 300, 500).tolist()]
        for letters in ("ACGT", "ACGTacgtNR.")
    ]


def every_byte() -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32]]:
    """Return a text with each byte, packed as reads from each offset of 16."""
    text = np.arange(512).astype(np.uint8)
    starts = np.arange(32, dtype=np.int32)
    return text, starts, np.full(32, 480, dtype=np.int32)


@pytest.mark.parametrize("offset", [0, 1, 5, 15])
def test_emulated(offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from hapgpu.shortread.search.cuda import packing  # noqa: PLC0415  (imports CuPy)
    from hapgpu.shortread.search.cuda.arrays import DeviceTextReads  # noqa: PLC0415  (as above)

    emulate(monkeypatch, packing)
    for text, starts, sizes in (in_text(made_reads(), "@"), every_byte(), in_text(["AC"], "")):
        moved = np.concatenate([np.zeros(offset, np.uint8), text])[offset:]
        expected = pack_reads(text, starts, sizes)
        found = packing.pack_on_device(DeviceTextReads(moved, starts, sizes), 0)
        np.testing.assert_array_equal(found.words, expected.words)
        np.testing.assert_array_equal(found.word_offsets, expected.word_offsets)


@pytest.mark.gpu
@pytest.mark.parametrize("offset", [0, 1, 5, 15])
def test_on_the_gpu(offset: int) -> None:
    import cupy  # noqa: PLC0415  (only where there is a GPU)

    from hapgpu.shortread.search.cuda.arrays import DeviceTextReads  # noqa: PLC0415  (as above)
    from hapgpu.shortread.search.cuda.packing import pack_on_device  # noqa: PLC0415  (as above)

    for text, starts, sizes in (in_text(made_reads(), "@"), every_byte(), in_text(["AC"], "")):
        moved = cupy.asarray(np.concatenate([np.zeros(offset, np.uint8), text]))[offset:]
        expected = pack_reads(text, starts, sizes)
        reads = DeviceTextReads(moved, cupy.asarray(starts), cupy.asarray(sizes))
        found = pack_on_device(reads, 0)
        np.testing.assert_array_equal(cupy.asnumpy(found.words), expected.words)
        np.testing.assert_array_equal(cupy.asnumpy(found.word_offsets), expected.word_offsets)
