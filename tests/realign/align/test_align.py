"""All backends against the reference implementation, and against themselves with other batches."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Sequence
from itertools import product

import cupy
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.errors import InputError
from hapgpu.realign.align import cpu
from hapgpu.realign.align.cuda import aligner
from hapgpu.realign.align.dispatch import align_pairs, score_pairs
from hapgpu.realign.scoring import LARGEST_WEIGHT, PRESETS, Overhang, Scoring
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device
from tests.example_counts import many
from tests.gpu_memory import own_pool
from tests.realign.align.gatk_aligner_cases import CASES
from tests.realign.align.reference import align_reference

Sequences = Sequence[tuple[bytes, bytes]]

READ = PRESETS["read-to-haplotype"]
HAPLOTYPE = PRESETS["haplotype-to-reference"]
SOFTCLIP, INDEL, LEADING_INDEL, IGNORE = Overhang

ODD_SCORINGS = [
    Scoring(0, 0, 0, 0),
    Scoring(0, -1, -1, -1),
    Scoring(-3, 2, -4, -1),
    Scoring(1, -1, 0, -1),
    Scoring(2, -3, -1, -4),
    Scoring(1, -2, 1, -3),
    Scoring(1, -2, -3, 2),
    Scoring(5, -50, -1, -1),
]
LARGE_SCORINGS = [
    Scoring(1000, -1500, -3000, -500),
    Scoring(99_991, -150_001, -300_007, -50_021),
    Scoring(1_000_000, -10_000_000, -30_000_000, -1_000_000),
    Scoring(7, -60_000_000, -90_000_000, -50_000_001),
]
SCORINGS = [*PRESETS.values(), *ODD_SCORINGS, *LARGE_SCORINGS]


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    if request.param == "cpu":
        return CpuDevice(threads=2)
    return CudaDevice(index=0)


@pytest.fixture(scope="module")
def gpu() -> CudaDevice:
    return CudaDevice(index=0)


def batch_of(sequences: Sequences) -> PairBatch:
    rows = np.arange(len(sequences), dtype=np.int32)
    return PairBatch(
        Ragged.from_sequences(reference for reference, _ in sequences),
        Ragged.from_sequences(query for _, query in sequences),
        rows,
        rows,
    )


Rows = list[tuple[int, int, str]]


def rows_of(alignments: AlignmentBatch) -> Rows:
    """Return score, offset and CIGAR of each pair."""
    assert alignments.scores.dtype == alignments.offsets.dtype == np.int32
    assert alignments.cigars.data.dtype == np.uint32
    scores, offsets = alignments.scores.tolist(), alignments.offsets.tolist()
    return list(zip(scores, offsets, cigar_strings(alignments.cigars), strict=True))


@functools.cache  # all backends are compared with the same results
def expected_row(
    reference: bytes, query: bytes, scoring: Scoring, overhang: Overhang
) -> tuple[int, int, str]:
    score, offset, cigar = align_reference(reference, query, scoring, overhang)
    return score, offset, "".join(f"{length}{operation}" for length, operation in cigar)


def expected_rows(sequences: Sequences, scoring: Scoring, overhang: Overhang) -> Rows:
    return [expected_row(*pair, scoring, overhang) for pair in sequences]


def assert_as_reference(
    sequences: Sequences, scoring: Scoring, overhang: Overhang, device: Device
) -> None:
    pairs = batch_of(sequences)
    expected = expected_rows(sequences, scoring, overhang)
    assert rows_of(align_pairs(pairs, scoring, overhang, device)) == expected
    scores = score_pairs(pairs, scoring, overhang, device)
    assert scores.dtype == np.int32
    assert scores.tolist() == [score for score, _, _ in expected]


class Sampler:
    """Random sequences and pairs from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, inclusive."""
        return int(self._random.integers(low, high, endpoint=True))

    def sequence(self, length: int, alphabet: bytes = b"ACGT") -> bytes:
        letters = np.frombuffer(alphabet, dtype=np.uint8)
        return self._random.choice(letters, length).tobytes()

    def mutated(self, sequence: bytes, rate: float) -> bytes:
        """Substitute, delete or insert (at most 12 bases), at a rate per base."""
        parts = []
        for base in sequence:
            kind = self._random.random() / rate
            if kind < 0.6:
                parts.append(self.sequence(1))
            elif kind < 0.8:
                parts.append(bytes([base]) + self.sequence(self.integer(1, 12)))
            elif kind >= 1:
                parts.append(bytes([base]))
        return b"".join(parts) or sequence

    def read_pair(self, reads: tuple[int, int], haplotypes: tuple[int, int]) -> tuple[bytes, bytes]:
        """Draw a haplotype, and a read of it that may extend beyond its ends."""
        haplotype = self.sequence(self.integer(*haplotypes))
        length = self.integer(*reads)
        around = self.sequence(15) + haplotype + self.sequence(15)
        start = self.integer(0, max(0, len(around) - length))
        read = self.mutated(around[start : start + length], 0.02)
        if self.integer(0, 4) == 0:  # a deletion too long to occur by chance
            middle = len(read) // 2
            read = read[:middle] + read[middle + self.integer(5, 40) :]
        return haplotype, read or haplotype

    def small_pair(self) -> tuple[bytes, bytes]:
        alphabet = (b"AC", b"A", b"ACGT", b"ACGTN", b"ACGTacgtn")[self.integer(0, 4)]
        reference = self.sequence(self.integer(1, 40), alphabet)
        if self.integer(0, 1):
            return reference, self.sequence(self.integer(1, 40), alphabet)
        return reference, self.mutated(reference, 0.15)[:40]


@functools.cache
def small_pairs(count: int, seed: int) -> tuple[tuple[bytes, bytes], ...]:
    sampler = Sampler(seed)
    return tuple(sampler.small_pair() for _ in range(count))


@functools.cache
def read_pairs(count: int, seed: int) -> tuple[tuple[bytes, bytes], ...]:
    sampler = Sampler(seed)
    return tuple(sampler.read_pair((30, 250), (100, 600)) for _ in range(count))


def random_pair(reference_length: int, query_length: int, seed: int) -> tuple[bytes, bytes]:
    """Draw a pair that is similar over the length of the shorter sequence."""
    sampler = Sampler(seed)
    reference = sampler.sequence(max(reference_length, query_length))
    query = sampler.mutated(reference, 0.03) + sampler.sequence(query_length)
    return reference[:reference_length], query[:query_length]


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
def test_small_pairs(scoring: Scoring, overhang: Overhang, device: Device) -> None:
    seed = 4 * SCORINGS.index(scoring) + int(overhang)
    assert_as_reference(small_pairs(150, seed), scoring, overhang, device)


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
def test_every_pair_of_tiny_sequences(overhang: Overhang, device: Device) -> None:
    tiny = [bytes(letters) for length in (1, 2, 3, 4) for letters in product(b"AC", repeat=length)]
    sequences = list(product(tiny, tiny))
    for scoring in (READ, PRESETS["original"]):
        assert_as_reference(sequences, scoring, overhang, device)


BASES = st.sampled_from([b"A", b"AC", b"ACGTN"]).flatmap(
    lambda letters: st.lists(st.sampled_from(list(letters)), min_size=1, max_size=24).map(bytes)
)
WEIGHT = st.integers(-6, 6) | st.integers(-3000, 3000)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(BASES, BASES), min_size=1, max_size=8),
    st.builds(Scoring, WEIGHT, WEIGHT, WEIGHT, WEIGHT) | st.sampled_from(SCORINGS),
    st.sampled_from(list(Overhang)),
)
def test_any_pairs(
    device: Device, sequences: Sequences, scoring: Scoring, overhang: Overhang
) -> None:
    assert_as_reference(sequences, scoring, overhang, device)


LARGE_WEIGHT = st.integers(-LARGEST_WEIGHT, LARGEST_WEIGHT) | st.sampled_from(
    [-LARGEST_WEIGHT, -1, 1, LARGEST_WEIGHT]
)


@settings(max_examples=many(200))
@given(
    st.tuples(BASES, BASES),
    st.builds(Scoring, LARGE_WEIGHT, LARGE_WEIGHT, LARGE_WEIGHT, LARGE_WEIGHT),
    st.sampled_from(list(Overhang)),
)
@example((b"AC" * 11, b"AC" * 11), Scoring(-97_612_894, 0, 0, 0), SOFTCLIP)
def test_large_weights_are_right_or_refused(
    device: Device, pair: tuple[bytes, bytes], scoring: Scoring, overhang: Overhang
) -> None:
    try:
        alignments = align_pairs(batch_of([pair]), scoring, overhang, device)
    except InputError as error:
        assert "32 bits" in str(error)  # noqa: PT017  (both outcomes are right)
    else:
        assert rows_of(alignments) == expected_rows([pair], scoring, overhang)


def test_gatk_unit_tests(device: Device) -> None:
    for case in CASES:
        pairs = batch_of([(case.reference.encode(), case.query.encode())])
        _, *row = rows_of(align_pairs(pairs, case.scoring, case.overhang, device))[0]
        assert row == [case.offset, case.cigar], case.name


@pytest.mark.parametrize(
    ("name", "overhang"),
    [
        ("read-to-haplotype", SOFTCLIP),
        ("haplotype-to-reference", SOFTCLIP),
        ("standard-ngs", LEADING_INDEL),
        ("original", INDEL),
        ("read-to-haplotype", IGNORE),
    ],
)
def test_reads_and_haplotypes(name: str, overhang: Overhang, device: Device) -> None:
    assert_as_reference(read_pairs(10, 1), PRESETS[name], overhang, device)


def test_queries_too_long_for_the_registers_of_a_warp(device: Device) -> None:
    sequences = [random_pair(700, 900, 2), random_pair(300, 1400, 3)]
    assert_as_reference(sequences, HAPLOTYPE, INDEL, device)


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
def test_order_of_pairs_does_not_matter(overhang: Overhang, device: Device) -> None:
    pairs = batch_of(small_pairs(300, 5))
    order = np.random.default_rng(6).permutation(len(pairs))
    shuffled = rows_of(align_pairs(pairs.take(order), READ, overhang, device))
    rows = rows_of(align_pairs(pairs, READ, overhang, device))
    assert shuffled == [rows[row] for row in order]


def test_split_of_the_batch_does_not_matter(device: Device) -> None:
    pairs = batch_of(small_pairs(300, 7))
    numbers = np.arange(len(pairs))
    parts = [
        align_pairs(pairs.take(part), READ, SOFTCLIP, device)
        for part in np.split(numbers, [1, 2, 130, 259])
    ]
    whole = align_pairs(pairs, READ, SOFTCLIP, device)
    assert rows_of(AlignmentBatch.concatenate(parts)) == rows_of(whole)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_number_of_threads_does_not_matter(threads: int) -> None:
    sequences = small_pairs(700, 8)  # six groups
    assert_as_reference(sequences, READ, SOFTCLIP, CpuDevice(threads))


def test_sequences_may_be_shared_and_unused(device: Device) -> None:
    sampler = Sampler(9)
    references = [sampler.sequence(60) for _ in range(3)]
    queries = [sampler.mutated(references[k % 3], 0.05)[5:45] for k in range(20)]
    index = np.array([(0, q) for q in range(20)] + [(2, q) for q in range(0, 20, 3)], np.int32)
    pairs = PairBatch(
        Ragged.from_sequences(references),
        Ragged.from_sequences(queries),
        np.ascontiguousarray(index[:, 0]),
        np.ascontiguousarray(index[:, 1]),
    )
    sequences = [(references[r], queries[q]) for r, q in index]
    expected = expected_rows(sequences, READ, SOFTCLIP)
    assert rows_of(align_pairs(pairs, READ, SOFTCLIP, device)) == expected


@pytest.mark.parametrize("overhang", [SOFTCLIP, INDEL])
@pytest.mark.parametrize("scoring", [READ, ODD_SCORINGS[0]], ids=str)
def test_no_pairs(scoring: Scoring, overhang: Overhang, device: Device) -> None:
    pairs = batch_of([])
    alignments = align_pairs(pairs, scoring, overhang, device)
    assert rows_of(alignments) == []
    assert len(alignments.cigars) == 0
    scores = score_pairs(pairs, scoring, overhang, device)
    assert scores.dtype == np.int32
    assert scores.size == 0


@pytest.mark.parametrize(
    ("sequences", "where"),
    [
        ([(b"A", b"A"), (b"", b"A")], "pair 1: empty reference"),
        ([(b"A", b"A"), (b"A", b"A"), (b"C", b"")], "pair 2: empty query"),
    ],
)
def test_empty_sequences_are_refused(sequences: Sequences, where: str, device: Device) -> None:
    for function in (align_pairs, score_pairs):
        with pytest.raises(InputError, match=where):
            function(batch_of(sequences), READ, SOFTCLIP, device)


@pytest.mark.parametrize(
    ("scoring", "overhang", "pair"),
    [
        # 30 matches are 3,000,000,000.
        (Scoring(LARGEST_WEIGHT, -1, -1, -1), SOFTCLIP, (b"A" * 30, b"A" * 29 + b"C")),
        # An alignment from end to end starts with 29 deletions: -2,900,000,000.
        (Scoring(1, -1, -LARGEST_WEIGHT, -LARGEST_WEIGHT), INDEL, (b"A" * 30, b"A")),
    ],
)
def test_scores_beyond_32_bits_are_refused(
    scoring: Scoring, overhang: Overhang, pair: tuple[bytes, bytes], device: Device
) -> None:
    for function in (align_pairs, score_pairs):
        with pytest.raises(InputError, match="32 bits"):
            function(batch_of([pair]), scoring, overhang, device)


def test_backends_have_the_same_functions() -> None:
    for name in ("align_pairs", "score_pairs"):
        signatures = [inspect.signature(getattr(backend, name)) for backend in (cpu, aligner)]
        assert list(signatures[0].parameters) == list(signatures[1].parameters)
        assert signatures[0].return_annotation == signatures[1].return_annotation


# The CPU with little memory: directions are filled block by block, from the last to the first.


def tall_pairs(count: int, seed: int) -> list[tuple[bytes, bytes]]:
    """Return long references and short queries, some with most of the reference deleted."""
    sampler = Sampler(seed)
    pairs = []
    for _ in range(count):
        reference = sampler.sequence(sampler.integer(150, 400))
        query = sampler.sequence(sampler.integer(5, 40), b"AC")
        if sampler.integer(0, 1):
            query = reference[: sampler.integer(5, 20)] + reference[-sampler.integer(5, 20) :]
        pairs.append((reference, query))
    return pairs


@pytest.mark.parametrize("workspace_bytes", [1, 30_000])
@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
def test_blocks_of_rows(
    workspace_bytes: int, overhang: Overhang, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu, "WORKSPACE_BYTES", workspace_bytes)
    assert_as_reference(tall_pairs(30, 10), HAPLOTYPE, overhang, CpuDevice())


@pytest.mark.parametrize("scoring", [READ, HAPLOTYPE], ids=str)
@pytest.mark.parametrize("overhang", [SOFTCLIP, INDEL])
def test_blocks_of_rows_of_a_long_pair(
    scoring: Scoring, overhang: Overhang, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = batch_of([random_pair(3000, 3000, 11)])
    whole = align_pairs(pairs, scoring, overhang, CpuDevice())
    monkeypatch.setattr(cpu, "WORKSPACE_BYTES", 1 << 18)
    assert rows_of(align_pairs(pairs, scoring, overhang, CpuDevice())) == rows_of(whole)


# Layouts, launches and memory of the GPU, against the CPU, which is tested above.

CPU = CpuDevice(threads=2)


def assert_as_cpu(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CudaDevice
) -> None:
    expected = align_pairs(pairs, scoring, overhang, CPU)
    assert rows_of(align_pairs(pairs, scoring, overhang, device)) == rows_of(expected)
    scores = score_pairs(pairs, scoring, overhang, device)
    assert scores.tolist() == expected.scores.tolist()


@pytest.mark.gpu
@pytest.mark.parametrize(
    "scoring", [READ, Scoring(99_991, -150_001, -300_007, -50_021)], ids=["int32", "int64"]
)
def test_every_layout_of_the_gpu(scoring: Scoring, gpu: CudaDevice) -> None:
    sampler = Sampler(12)
    sequences = [
        random_pair(sampler.integer(*rows), length, sampler.integer(0, 10**9))
        for length in range(1, 681)
        for rows in ((1, 60), (200, 700))
    ]
    assert_as_cpu(batch_of(sequences), scoring, SOFTCLIP, gpu)


@pytest.mark.gpu
@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("name", PRESETS)
def test_many_pairs_on_the_gpu(name: str, overhang: Overhang, gpu: CudaDevice) -> None:
    pairs = batch_of(read_pairs(400, 13) + small_pairs(400, 14))
    assert_as_cpu(pairs, PRESETS[name], overhang, gpu)


@pytest.mark.gpu
@pytest.mark.parametrize("overhang", [SOFTCLIP, INDEL])
def test_long_pairs_on_the_gpu(overhang: Overhang, gpu: CudaDevice) -> None:
    sequences = [random_pair(3000, 3000, 15), random_pair(5000, 800, 16), random_pair(40, 4000, 17)]
    assert_as_cpu(batch_of(sequences), HAPLOTYPE, overhang, gpu)
    assert_as_cpu(batch_of(sequences), READ, overhang, gpu)


@pytest.mark.gpu
def test_cigars_of_more_runs_than_expected(gpu: CudaDevice) -> None:
    sampler = Sampler(18)
    sequences = [(sampler.sequence(300), sampler.sequence(300)) for _ in range(100)]
    pairs = batch_of(sequences)
    scoring = Scoring(5, -50, -1, -1)
    runs = align_pairs(pairs, scoring, INDEL, CPU).cigars.data.size
    assert runs > 100 * len(pairs)  # far more than the 8 per pair that are allocated
    assert_as_cpu(pairs, scoring, INDEL, gpu)


@pytest.mark.gpu
@pytest.mark.parametrize("memory_limit", [100_000, 3_000_000])
def test_a_memory_limit_of_the_gpu_changes_nothing(memory_limit: int, gpu: CudaDevice) -> None:
    pairs = batch_of(read_pairs(400, 13) * 20)
    limited = CudaDevice(index=gpu.index, memory_limit=memory_limit)
    assert_as_cpu(pairs, READ, SOFTCLIP, limited)


@pytest.mark.gpu
def test_few_pairs_out_of_many_sequences_in_little_memory(gpu: CudaDevice) -> None:
    pairs = batch_of(read_pairs(400, 13) * 20).take(np.array([3, 5, 7]))
    limited = CudaDevice(index=gpu.index, memory_limit=100_000)
    assert_as_cpu(pairs, READ, SOFTCLIP, limited)


@pytest.fixture
def tight_gpu_memory(gpu: CudaDevice) -> Iterator[CudaDevice]:
    """Return a GPU on which allocations above 4 MB fail."""
    with cupy.cuda.Device(gpu.index), own_pool(4_000_000):
        yield gpu


@pytest.mark.gpu
def test_batches_are_split_if_memory_runs_out(
    tight_gpu_memory: CudaDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces: list[int] = []
    compute = aligner._compute
    monkeypatch.setattr(
        aligner, "_compute", lambda pairs, task: pieces.append(len(pairs)) or compute(pairs, task)
    )
    pairs = batch_of(read_pairs(400, 13) * 10)
    assert_as_cpu(pairs, READ, SOFTCLIP, tight_gpu_memory)
    assert min(pieces) < max(pieces) == len(pairs)
