"""Every array of a small index by its definition, and references to make indexes of."""

from __future__ import annotations

import dataclasses
import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from hapgpu.runtime.devices import CpuDevice, Device
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.fm_index import FMIndexArrays, SuffixSamples

BASES = "ACGT"

CONTIGS = st.sampled_from(["A", "AC", "ACGT", "ACGTN", "acgTNnRyUk"]).flatmap(
    lambda letters: st.lists(st.text(letters, min_size=1, max_size=150), min_size=1, max_size=5)
)
REPEATS = st.builds(
    lambda unit, count, tail: [unit * count + tail],
    st.text(BASES, min_size=1, max_size=7),
    st.integers(1, 60),
    st.text(BASES, max_size=5),
)
REFERENCES = st.one_of(CONTIGS, REPEATS).filter(
    lambda contigs: any(letter in BASES for letter in "".join(contigs).upper())
)


def write_fasta(path: Path, contigs: Sequence[str]) -> Path:
    records = (f">contig{number} of a test\n{text}\n" for number, text in enumerate(contigs))
    path.write_text("".join(records), encoding="ascii")
    return path


def index_of(
    contigs: Sequence[str],
    device: Device | None = None,
    *,
    low_memory: bool = False,
    threads: int = 1,
) -> FMIndexArrays:
    with tempfile.TemporaryDirectory() as directory:
        fasta = write_fasta(Path(directory) / "made.fa", contigs)
        return build_index(fasta, device or CpuDevice(), threads, low_memory=low_memory)


def assert_same(first: object, second: object) -> None:
    """Compare two indexes, or parts of them, field by field: types, shapes and values."""
    assert type(first) is type(second)
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)
    elif dataclasses.is_dataclass(first):
        for field in dataclasses.fields(first):
            assert_same(getattr(first, field.name), getattr(second, field.name))
    else:
        assert first == second


class Oracle:
    """Expected values of all arrays of an index, letter by letter."""

    def __init__(self, contigs: Sequence[str]) -> None:
        self.contigs = contigs
        self.whole = "".join(contigs).upper()
        self.positions = [p for p, letter in enumerate(self.whole) if letter in BASES]
        self.text = "".join(self.whole[p] for p in self.positions)
        self.order = sorted(range(len(self.text) + 1), key=lambda offset: self.text[offset:])
        ends = [*self.positions, len(self.whole)]
        self.suffixes = [ends[offset] for offset in self.order]

    def check(self, index: FMIndexArrays) -> None:
        names = [f"contig{number}" for number in range(len(self.contigs))]
        assert index.contigs.names == tuple(names)
        assert index.contigs.lengths.tolist() == [len(text) for text in self.contigs]
        self._check_bases(index)
        self._check_transform(index)
        self._check_jump(index)
        if isinstance(index.suffixes, SuffixSamples):
            self._check_samples(index.suffixes)
        else:
            assert index.suffixes.dtype == np.uint32
            assert index.suffixes.tolist() == self.suffixes

    def _check_bases(self, index: FMIndexArrays) -> None:
        planes, others = index.bases.planes, index.bases.others
        assert planes.dtype == others.dtype == np.uint64
        assert others.size == (len(self.whole) - 1) // 64 + 4
        letters = {offset + 64: letter for offset, letter in enumerate(self.whole)}
        for offset in range(64 * others.size):
            block, bit = divmod(offset, 64)
            low, high, other = (
                int(word) >> bit & 1
                for word in (planes[2 * block], planes[2 * block + 1], others[block])
            )
            letter = letters.get(offset, "-")
            assert other == (letter not in BASES)
            assert low + 2 * high == max(BASES.find(letter), 0)
        named = [(p, ord(c)) for p, c in enumerate(self.whole) if c not in "ACGTN"]
        found = zip(index.bases.letter_positions, index.bases.letters, strict=True)
        assert [(int(p), int(c)) for p, c in found] == named
        assert (index.bases.letter_positions.dtype, index.bases.letters.dtype) == (
            np.int64,
            np.uint8,
        )

    def _check_transform(self, index: FMIndexArrays) -> None:
        assert index.primary == self.order.index(0)
        symbols = [self.text[offset - 1] for offset in self.order if offset]
        assert index.occurrences.dtype == np.uint32
        blocks = index.occurrences.reshape(-1, 8)
        assert len(blocks) == len(symbols) // 64 + 1
        firsts = [1 + sum(letter < base for letter in symbols) for base in BASES]
        for number, block in enumerate(blocks):
            counts = [symbols[: 64 * number].count(base) for base in BASES]
            assert block[:4].tolist() == [f + c for f, c in zip(firsts, counts, strict=True)]
            low, high = (int(word) for word in block[4:].copy().view("<u8"))
            here = [BASES.index(letter) for letter in symbols[64 * number : 64 * number + 64]]
            assert low == sum((code & 1) << bit for bit, code in enumerate(here))
            assert high == sum((code >> 1) << bit for bit, code in enumerate(here))

    def _check_jump(self, index: FMIndexArrays) -> None:
        length = index.jump_length
        filled = [self.text[offset : offset + length].ljust(length, "A") for offset in self.order]
        words = ("".join(word) for word in itertools.product(BASES, repeat=length))
        assert index.jump.dtype == np.uint32
        assert index.jump.tolist() == [
            *(sum(suffix < word for suffix in filled) for word in words),
            len(self.text) + 1,
        ]

    def _check_samples(self, samples: SuffixSamples) -> None:
        after_gap = {
            offset
            for offset in range(1, len(self.text))
            if self.positions[offset] != self.positions[offset - 1] + 1
        }
        kept = [
            row == 0 or offset % 8 == 0 or offset in after_gap
            for row, offset in enumerate(self.order)
        ]
        assert samples.marks.size == (len(kept) + 63) // 64
        for word, (marks, rank) in enumerate(zip(samples.marks, samples.ranks, strict=True)):
            here = kept[64 * word : 64 * word + 64]
            assert int(marks) == sum(is_kept << bit for bit, is_kept in enumerate(here))
            assert rank == sum(kept[: 64 * word])
        assert samples.positions.tolist() == list(itertools.compress(self.suffixes, kept))
        assert (samples.marks.dtype, samples.ranks.dtype) == (np.uint64, np.uint32)
        assert samples.positions.dtype == np.uint32
