"""Queue of calls of the aligner, against a call of `align` for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu import (
    AlignmentQueue,
    Alignments,
    DeviceError,
    HapgpuError,
    InputError,
    Ragged,
    Scoring,
    UsageError,
    align,
)
from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.realign import queue as module
from hapgpu.realign import waiting_pairs
from hapgpu.realign.align.dispatch import align_pairs
from tests.example_counts import many

Call = tuple[Any, ...]

MAX_PAIRS: Final = 7
MAX_BYTES: Final = 40


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def small() -> Iterator[None]:
    """Let few pairs wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waiting_pairs, "MAX_PAIRS", MAX_PAIRS)
        patch.setattr(waiting_pairs, "MAX_BYTES", MAX_BYTES)
        yield


def rows_of(alignments: Alignments) -> list[tuple[int, int, str]]:
    assert isinstance(alignments, Alignments)
    assert alignments.scores.dtype == alignments.offsets.dtype == np.int32
    assert alignments.cigars.data.dtype == np.uint32
    assert alignments.cigars.offsets.dtype == np.int64
    columns = alignments.scores.tolist(), alignments.offsets.tolist(), alignments.cigar_strings()
    return list(zip(*columns, strict=True))


def outcome(call: Callable[[], Alignments]) -> list[tuple[int, int, str]] | str:
    """Return the rows of a result, or its error as text."""
    try:
        return rows_of(call())
    except HapgpuError as error:
        return f"{type(error).__name__}: {error}"


def as_text(sequences: Sequence[bytes]) -> list[str]:
    return [each.decode("latin-1") for each in sequences]


def as_mixed(sequences: Sequence[bytes]) -> tuple[str | bytes, ...]:
    return tuple(each if row % 2 else each.decode() for row, each in enumerate(sequences))


def as_strided(sequences: Sequence[bytes]) -> Ragged:
    rows = Ragged.from_sequences(sequences)
    return Ragged(np.repeat(rows.data, 2)[::2], np.repeat(rows.offsets, 3)[::3])


def with_other_offsets(sequences: Sequence[bytes]) -> Ragged:
    rows = Ragged.from_sequences(sequences)
    return Ragged(rows.data, rows.offsets.astype(">i4"))


FORMS: Final = (
    *(list, as_text, as_mixed),
    *(Ragged.from_sequences, as_strided, with_other_offsets),
)

SEQUENCES = st.lists(
    st.tuples(
        st.text("AC", min_size=1, max_size=12).map(str.encode),
        st.text("AC", min_size=1, max_size=7).map(str.encode),
    ),
    max_size=4,
)
BAD: Final = (
    ([b"ACGT", b""], [b"A", b"C"]),
    ([b"ACGT"], [b""]),
    (Ragged.from_sequences([b"A\xff", b"C"]), Ragged.from_sequences([b"A", b"C"])),
    (Ragged(np.frombuffer(b"ACGT", np.uint8), np.array([0, 3, 2, 4])), [b"A", b"C", b"A"]),
    (Ragged(np.frombuffer(b"ACGT", np.uint8), np.array([0, -(2**63), 2, 4])), [b"A"] * 3),
    (Ragged(np.frombuffer(b"ACGT", np.uint8), np.array([0, 2**63 - 1, 2, 4])), [b"A"] * 3),
)
CALLS = st.tuples(SEQUENCES, st.sampled_from(FORMS), st.sampled_from(FORMS)).map(
    lambda made: (made[1]([one for one, _ in made[0]]), made[2]([one for _, one in made[0]]))
)


NUMBERS: Final = (list, tuple, np.array, partial(np.array, dtype=np.int8))
SHARED = st.tuples(
    st.lists(st.text("AC", min_size=1, max_size=12), min_size=1, max_size=3),
    st.lists(st.tuples(st.text("AC", min_size=1, max_size=7), st.integers(0, 3)), max_size=4),
    st.sampled_from(FORMS),
    st.sampled_from(NUMBERS),
).map(
    lambda made: (
        made[2]([each.encode() for each in made[0]]),
        [query for query, _ in made[1]],
        made[3]([row for _, row in made[1]]),
    )
)


@dataclass
class Asked:
    """A step of a test: ask for the result of a call of the past, as a fraction of them."""

    fraction: float


STEPS = st.lists(
    st.one_of(
        CALLS,
        SHARED,
        st.sampled_from(BAD),
        st.floats(0, 1, exclude_max=True).map(Asked),
        st.just("close"),
    ),
    max_size=20,
)


def aligned(references: Any, queries: Any, rows: Any = None, **options: Any) -> Alignments:
    """Align a call; with a reference of its own for each query."""
    if rows is None:
        return align(references, queries, **options)
    numbers = [int(row) for row in rows]
    for number, row in enumerate(numbers):
        if row >= len(references):
            text = f"reference row {number}: {row}; give numbers up to {len(references) - 1}"
            raise UsageError(text)
    texts = [bytes(each.encode() if isinstance(each, str) else each) for each in references]
    return align([texts[row] for row in numbers], queries, **options)


@settings(max_examples=many(300))
@given(steps=STEPS, scoring=st.sampled_from(["original", Scoring(0, -1, -1, -1)]))
@pytest.mark.usefixtures("small")
def test_any_order_of_calls_and_results(steps: list[Any], scoring: Any, device: str) -> None:
    direct = partial(aligned, scoring=scoring, device=device, threads=1)
    submitted: list[tuple[Call, Callable[[], Alignments]]] = []
    with AlignmentQueue(scoring=scoring, device=device, threads=1) as queue:
        for step in steps:
            if isinstance(step, Asked) and submitted:
                call, result = submitted[int(step.fraction * len(submitted))]
                assert outcome(result) == outcome(partial(direct, *call))
            elif isinstance(step, tuple):
                submitted.append((step, queue.submit(*step).result))
            elif step == "close":
                queue.close()
    for call, result in reversed(submitted):
        assert outcome(result) == outcome(partial(direct, *call))
        assert outcome(result) == outcome(result)


def test_errors_are_of_their_own_call(device: str) -> None:
    with AlignmentQueue(device=device) as queue:
        pending = [queue.submit(*call) for call in [(["ACGT"], ["ACG"]), *BAD, (["TTG"], ["TG"])]]
    assert rows_of(pending[0].result()) == [(30, 0, "3M")]
    assert rows_of(pending[-1].result()) == [(20, 1, "2M")]
    with pytest.raises(InputError, match="reference 1: no bases; give at least one"):
        pending[1].result()
    with pytest.raises(InputError, match="query 0: no bases; give at least one"):
        pending[2].result()
    with pytest.raises(InputError, match="reference 0: contains a non-ASCII character"):
        pending[3].result()
    with pytest.raises(UsageError, match="references: row 1 ends before it starts"):
        pending[4].result()


@pytest.mark.parametrize(
    ("references", "queries", "message"),
    [
        (["ACGT"], [], "references: 1 for 0 queries; give as many"),
        ("ACGT", ["ACGT"], "references: not a list"),
        (["ACGT"], [7], "query 0: of type int"),
        (["ACGT"], [bytearray(b"A")], "query 0: of type bytearray"),
        (["ACGT"], ["Ä"], "query 0: contains a non-ASCII"),
        (["ACGT"], [b"A", "Ä"], "query 1: contains a non-ASCII"),
        (["A"], Ragged(np.zeros(1, np.int8), np.array([0, 1])), "a Ragged of int8"),
        (["A"], Ragged(np.zeros(1, np.uint8), np.array([0, 2])), "offsets do not go"),
        (["A"], Ragged(np.zeros(1, np.uint8), np.array([])), "a Ragged without offsets"),
        (["A"], Ragged([65], [0, 1]), "a Ragged without data"),  # type: ignore[arg-type]
    ],
)
def test_wrong_calls_are_refused_at_once(references: Any, queries: Any, message: str) -> None:
    with AlignmentQueue(device="cpu") as queue:
        good = queue.submit(["ACGT"], ["ACG"])
        for call in (queue.submit, partial(align, device="cpu")):
            with pytest.raises(HapgpuError, match=message):
                call(references, queries)
        assert rows_of(good.result()) == [(30, 0, "3M")]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0], "reference_rows: 1 for 2 query"),
        (np.zeros((2, 1), np.int64), "reference rows: of type int64"),
        ([0.0, 1.0], "reference rows: of type float64; give whole numbers"),
        (1, "reference rows: not a list"),
        ([0, 2**31], "reference row 1: 2147483648; give numbers up to"),
    ],
)
def test_wrong_rows_are_refused_at_once(rows: Any, message: str) -> None:
    with AlignmentQueue(device="cpu") as queue, pytest.raises(UsageError, match=message):
        queue.submit(["ACGT", "AC"], ["ACG", "C"], rows)


@pytest.mark.parametrize("row", [-1, 2, 2**62, -(2**63)])
def test_wrong_rows_are_of_their_own_call(row: int, device: str) -> None:
    with AlignmentQueue(device=device) as queue:
        before = queue.submit(["ACGT"] * 3, ["ACG"] * 3)
        wrong = queue.submit(["ACGT", "AC"], ["ACG", "C"], np.array([1, row]))
        after = queue.submit(["ACGT"] * 3, ["CGT"] * 3)
    assert rows_of(before.result()) == [(30, 0, "3M")] * 3
    assert rows_of(after.result()) == [(30, 1, "3M")] * 3
    with pytest.raises(UsageError, match=f"reference row 1: {row}; give numbers up to 1"):
        wrong.result()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"scoring": "best"}, UsageError),
        ({"overhang": "cut"}, UsageError),
        ({"device": "tpu"}, UsageError),
        ({"device": "cpu", "threads": 0}, UsageError),
        ({"device": "cuda:99"}, DeviceError),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        AlignmentQueue(**arguments)


def test_sequences_may_change_after_the_call(device: str) -> None:
    references, queries = ["ACGTACGT"], Ragged.from_lengths(np.full(4, ord("A"), np.uint8), [4])
    with AlignmentQueue(device=device) as queue:
        pending = queue.submit(references, queries)
        references[0] = "T"
        queries.data[:] = ord("T")
        queries.offsets[:] = 0
        assert rows_of(pending.result()) == rows_of(align(["ACGTACGT"], ["AAAA"], device="cpu"))


def test_lengths_that_fit_32_bits_alone(device: str) -> None:
    scoring = Scoring(100_000_000, -1, -1, -1)
    with AlignmentQueue(scoring=scoring, device=device) as queue:
        pending = [queue.submit(["A" * k], ["A" * (21 - k)]) for k in range(1, 21)]
        too_long = queue.submit(["A" * 20], ["A" * 20])
        scores = [int(each.result().scores[0]) for each in pending]
        with pytest.raises(InputError, match="do not fit 32 bits"):
            too_long.result()
    assert scores == [100_000_000 * min(k, 21 - k) for k in range(1, 21)]


@pytest.mark.usefixtures("small")
def test_a_call_above_the_limits_is_computed_at_once(device: str) -> None:
    with AlignmentQueue(device=device) as queue:
        before = queue.submit(["ACGT"], ["ACG"])
        many_pairs = queue.submit(["AC"] * 30, ["C"] * 30)
        long = queue.submit(["AC" * 30], ["C"])
        with pytest.raises(InputError, match="query 1: no bases"):
            queue.submit(["AC" * 30, "A"], ["C", ""])
        after = queue.submit(["ACGT"], ["CGT"])
    assert rows_of(before.result()) == [(30, 0, "3M")]
    assert rows_of(many_pairs.result()) == [(10, 1, "1M")] * 30
    assert rows_of(long.result()) == [(10, 59, "1M")]
    assert rows_of(after.result()) == [(30, 1, "3M")]


@pytest.mark.parametrize("error", [DeviceError, MemoryError, RuntimeError])
def test_errors_of_some_calls(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(pairs: PairBatch, *others: Any) -> AlignmentBatch:
        if pairs.query_lengths.max() > 5:
            raise error("too little memory")
        return align_pairs(pairs, *others)

    monkeypatch.setattr(module, "align_pairs", failing)
    with AlignmentQueue(device="cpu") as queue:
        pending = [queue.submit(["A" * 9], ["A" * k]) for k in range(1, 8)]
    for each in pending[:5]:
        assert len(each.result()) == 1
    for each in pending[5:]:
        with pytest.raises(error, match="too little memory"):
            each.result()


def test_an_interrupted_computation_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> AlignmentBatch:
        raise KeyboardInterrupt

    with AlignmentQueue(device="cpu") as queue:
        pending = queue.submit(["ACGT"], ["ACG"])
        with monkeypatch.context() as patch:
            patch.setattr(module, "align_pairs", interrupted)
            with pytest.raises(KeyboardInterrupt):
                pending.result()
        other = queue.submit(["ACGT"], ["CGT"])
        assert rows_of(pending.result()) == [(30, 0, "3M")]
        assert rows_of(other.result()) == [(30, 1, "3M")]


@pytest.mark.usefixtures("small")
def test_threads_share_a_queue(device: str) -> None:
    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        calls = []
        for _ in range(60):
            count = int(rng.integers(0, 5))
            call = tuple(
                ["".join(rng.choice(["A", "C"], rng.integers(1, 9))) for _ in range(count)]
                for _ in range(2)
            )
            calls.append((call, queue.submit(*call)))
            chosen, pending = calls[int(rng.integers(len(calls)))]
            assert rows_of(pending.result()) == rows_of(align(*chosen, device="cpu", threads=1))

    with AlignmentQueue(device=device, threads=1) as queue, ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))


@pytest.mark.gpu
def test_a_gpu_finds_the_call_that_is_not_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MANY_PAIRS", 2)
    with AlignmentQueue(device="cuda") as queue:
        pending = [queue.submit(["ACGTACGT"] * k, ["GTAC"] * k) for k in range(9)]
        wrong = queue.submit(*BAD[2])
        pending += [queue.submit(["ACGTACGT"] * k, ["GTAC"] * k) for k in range(9)]
    assert [rows_of(each.result()) for each in pending] == [
        [(40, 2, "4M")] * k for k in (*range(9), *range(9))
    ]
    with pytest.raises(InputError, match="reference 0: contains a non-ASCII character"):
        wrong.result()


def test_many_calls_of_a_hundred_pairs(device: str) -> None:
    rng = np.random.default_rng(3)
    references = rng.choice(np.frombuffer(b"ACGT", np.uint8), (700, 100, 40))
    queries = references[:, :, 7:31].copy()
    queries[rng.random(queries.shape) < 0.05] = ord("A")
    calls = [
        tuple(Ragged.from_lengths(each.ravel(), [each.shape[1]] * 100) for each in call)
        for call in zip(references, queries, strict=True)
    ]
    with AlignmentQueue(device=device) as queue:
        pending = [queue.submit(*call) for call in calls]
    whole = align(*(Ragged.concatenate(side) for side in zip(*calls, strict=True)), device="cpu")
    results = [each.result() for each in pending]
    np.testing.assert_array_equal(np.concatenate([each.scores for each in results]), whole.scores)
    np.testing.assert_array_equal(np.concatenate([each.offsets for each in results]), whole.offsets)
    cigars = Ragged.concatenate([each.cigars for each in results])
    np.testing.assert_array_equal(cigars.data, whole.cigars.data)
    np.testing.assert_array_equal(cigars.offsets, whole.cigars.offsets)
