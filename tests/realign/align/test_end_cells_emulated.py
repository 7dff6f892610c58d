"""End cells by the kernel for two pairs at a time, run on the CPU, against the reference."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from tests.emulation.emulator import emulate
from tests.example_counts import many
from tests.realign.align.end_cell_cases import SCORINGS, UNCERTIFIED, Ends, check_ends, made_pairs

Find = Callable[[PairBatch, Scoring, Overhang], Ends]


class HostArray(np.ndarray[Any, Any]):
    """Array of NumPy with the method of CuPy that copies to the host."""

    def get(self) -> NDArray[Any]:
        return np.asarray(self)


class HostArrays(ModuleType):
    """Functions of CuPy that make arrays."""

    asnumpy = staticmethod(np.asarray)

    def __getattr__(self, name: str) -> Any:
        def on_host(*args: Any, **kwargs: Any) -> Any:
            made = getattr(np, name)(*args, **kwargs)
            if isinstance(made, tuple):
                return tuple(array.view(HostArray) for array in made)
            return made.view(HostArray)

        return on_host


@pytest.fixture(params=[1, 2, 3])
def find(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Find:
    """Return a function that finds the end cells; a parameter has the columns per lane."""
    pytest.importorskip("cupy")
    from hapgpu.realign.align.cuda import (  # noqa: PLC0415  (imports CuPy)
        batches,
        buckets,
        layouts,
        packed,
        packed_layouts,
    )

    modules = (buckets, packed, packed_layouts)
    emulate(monkeypatch, *modules)
    arrays = HostArrays("cupy")
    for module in modules:
        monkeypatch.setattr(module, "cupy", arrays)
    monkeypatch.setattr(packed_layouts, "MAX_COLUMNS", request.param)
    monkeypatch.setattr(packed, "_grid", lambda *_: layouts.Grid(1, 2))

    def found(pairs: PairBatch, scoring: Scoring, overhang: Overhang) -> Ends:
        device = SimpleNamespace(index=0, memory_budget=lambda: 1 << 30)
        assert packed.fits_packed(scoring, overhang)
        on_device = batches.DevicePairs(
            *(_on_host(rows) for rows in (pairs.references, pairs.queries)),
            *(index.view(HostArray) for index in (pairs.reference_index, pairs.query_index)),
        )
        lengths = buckets.PairLengths.of(on_device)
        ends = packed.packed_end_cells(on_device, lengths, scoring, overhang, device)
        return list(zip(*(array.tolist() for array in ends), strict=True))

    return found


def _on_host(rows: Any) -> Any:
    from hapgpu.arrays.cuda import DeviceRagged  # noqa: PLC0415  (imports CuPy)

    return DeviceRagged(rows.data.view(HostArray), rows.offsets.view(HostArray))


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
def test_as_the_reference(scoring: Scoring, overhang: Overhang, find: Find) -> None:
    pairs = made_pairs(1, 41, (1, 40), 30)
    check_ends(find(pairs, scoring, overhang), pairs, scoring, overhang)


@st.composite
def scorings(draw: st.DrawFn, lowest_match: int) -> Scoring:
    """Draw small weights, which lead to many ties, of all signs that the kernel takes."""
    match = draw(st.integers(lowest_match, 3))
    mismatch = draw(st.integers(-4, match))
    gap_open, gap_extend = (draw(st.integers(-4, min(match, 0))) for _ in range(2))
    return Scoring(match, mismatch, gap_open, gap_extend)


TEXTS = st.text("AC", min_size=1, max_size=12)


@settings(
    deadline=None,
    max_examples=many(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=9),
    st.sampled_from(Overhang),
    st.data(),
)
def test_ties(
    find: Find, texts: list[tuple[str, str]], overhang: Overhang, data: st.DataObject
) -> None:
    rows = np.arange(len(texts), dtype=np.int32)
    sequences = (Ragged.from_sequences(column) for column in zip(*texts, strict=True))
    pairs = PairBatch(*sequences, rows, rows)
    scoring = data.draw(scorings(0 if overhang.has_free_ends else -3))
    check_ends(find(pairs, scoring, overhang), pairs, scoring, overhang)


@pytest.mark.parametrize(
    ("scoring", "overhang", "fits"),
    [
        (PRESETS["read-to-haplotype"], Overhang.SOFTCLIP, True),
        (PRESETS["haplotype-to-reference"], Overhang.INDEL, True),
        (Scoring(10**6, -(10**6), -(2 * 10**6), -(10**6)), Overhang.SOFTCLIP, True),  # divided
        (Scoring(1, 2, -1, -1), Overhang.SOFTCLIP, False),  # a mismatch is better than a match
        (Scoring(1, -1, 1, -1), Overhang.SOFTCLIP, False),
        (Scoring(1, -1, -1, 1), Overhang.SOFTCLIP, False),
        (Scoring(-1, -2, -3, -1), Overhang.INDEL, True),
        (Scoring(-1, -2, -3, -1), Overhang.IGNORE, False),
        (Scoring(0, 0, 0, 0), Overhang.IGNORE, True),
        (Scoring(1, -2046, -1, -1), Overhang.SOFTCLIP, True),
        (Scoring(1, -2047, -1, -1), Overhang.SOFTCLIP, False),
        (Scoring(1, -1, -2047, -1), Overhang.SOFTCLIP, False),
    ],
    ids=str,
)
def test_which_weights_fit(scoring: Scoring, overhang: Overhang, fits: bool) -> None:
    pytest.importorskip("cupy")
    from hapgpu.realign.align.cuda.packed import fits_packed  # noqa: PLC0415  (imports CuPy)

    assert fits_packed(scoring, overhang) is fits


def test_bounds_of_scores_and_long_sequences(find: Find) -> None:
    """Other kernels align what GATK's lowest score may change, and very long sequences."""
    pairs = PairBatch(
        Ragged.from_sequences(["ACCA"]),
        Ragged.from_sequences(["ACA", "A" * 70_000]),
        np.zeros(2, dtype=np.int32),
        np.arange(2, dtype=np.int32),
    )
    scoring = Scoring(2, -3, -6, -1)
    assert [row for _, row, _ in find(pairs, scoring, Overhang.INDEL)] == [4, UNCERTIFIED]
    scoring = Scoring(2 * 10**7, -3 * 10**7, -6 * 10**7, -(10**7))
    assert [row for _, row, _ in find(pairs, scoring, Overhang.INDEL)] == [UNCERTIFIED] * 2


@pytest.mark.parametrize("max_columns", [1, 3, 25])
def test_layouts(max_columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slot has `columns` bases or one less; pairs of a bucket are alike, the longest first."""
    pytest.importorskip("cupy")
    from hapgpu.realign.align.cuda import packed_layouts  # noqa: PLC0415  (imports CuPy)
    from hapgpu.realign.align.cuda.buckets import Extremes, PairLengths  # noqa: PLC0415

    emulate(monkeypatch, packed_layouts)
    monkeypatch.setattr(packed_layouts, "cupy", HostArrays("cupy"))
    monkeypatch.setattr(packed_layouts, "MAX_COLUMNS", max_columns)
    rng = np.random.default_rng(3)
    columns = np.append(np.arange(1, 900), rng.integers(1, 65_000, 100))
    rows = rng.integers(1, 500, columns.size).astype(np.int32)
    classes = np.array([int(length).bit_length() for length in rows])
    keys = (64 * columns + classes).view(HostArray)
    lengths = PairLengths(keys, rows.view(HostArray), Extremes(500, 65_000, 1, 1))
    order, buckets = packed_layouts.sort_packed(lengths, 50_000)
    assert sorted(order.tolist()) == list(range(columns.size))
    too_long, starts = order[: buckets[0].first], [bucket.first for bucket in buckets]
    assert set(too_long.tolist()) == set(np.flatnonzero(columns + rows > 50_000).tolist())
    assert [bucket.last for bucket in buckets] == [*starts[1:], columns.size]
    for bucket in buckets:
        layout, members = bucket.layout, order[bucket.first : bucket.last]
        slots = layout.lanes * layout.stripes
        assert 1 <= layout.columns <= max_columns
        assert layout.lanes in {1, 2, 4, 8, 16, 32}
        assert slots * (layout.columns - 1) < columns[members].min()
        assert columns[members].max() <= slots * layout.columns == bucket.max_columns
        assert (
            layout.stripes == 1 or layout.lanes == 32 or layout.lanes * 2 > columns[members].min()
        )
        assert rows[members].tolist() == sorted(rows[members], reverse=True)
        assert bucket.rows == rows[members[0]]
        assert len(set(classes[members])) == 1
