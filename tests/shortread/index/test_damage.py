"""Index files with correct checksums and wrong values: refused, or without false hits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.runtime.devices import CudaDevice
from hapgpu.shortread.index import files
from hapgpu.shortread.index.files import FM_INDEX_FILE
from hapgpu.shortread.index.fm_index import Contigs, FMIndexArrays, ReferenceBases
from hapgpu.shortread.search import cpu
from hapgpu.shortread.search.hits import SearchOptions
from tests.example_counts import many
from tests.shortread.index.made_damage import Change, arrays_of, put, with_array, with_random_rows
from tests.shortread.index_oracle import assert_same, index_of
from tests.shortread.made_reads import make_contigs, reverse_complement
from tests.shortread.search_oracle import pack

CONTIGS = ["ACGTRTGCANNTTAGCAACG" * 9, "N", "CCGATTAGGCA" * 3, make_contigs()[0][:900]]
READS = [
    read
    for start in range(0, 860, 43)
    for read in (CONTIGS[3][start : start + 40], reverse_complement(CONTIGS[0][start % 140 :][:30]))
]
FULL, SAMPLED = (index_of(CONTIGS, low_memory=low_memory) for low_memory in (False, True))
ANYWHERE = {"suffixes", "positions"}  # the hits found with them are compared with the reads
REFERENCE = {"offsets", "planes", "others"}


def reloaded(index: FMIndexArrays, directory: Path) -> FMIndexArrays:
    FM_INDEX_FILE.save(index, directory / "made.hgx")
    return FM_INDEX_FILE.load(directory / "made.hgx")


def hits_of(index: FMIndexArrays) -> list[set[int]]:
    found = cpu.search(index, pack(READS), SearchOptions())
    return [set(row.tolist()) for row in np.split(found.hits, found.offsets[1:-1])]


def assert_no_false_hit(index: FMIndexArrays) -> None:
    for found, true in zip(hits_of(index), hits_of(FULL), strict=True):
        assert found <= true


def flipped(offset: int, bits: int) -> Change:
    return lambda array: put(offset, int(array[offset]) ^ bits)(array)


WRONG: list[tuple[str, Change]] = [
    ("offsets", put(0, 1)),
    ("offsets", put(1, 0)),
    ("offsets", put(1, 2**63 - 1)),
    ("offsets", put(2, -(2**63))),
    ("letter_positions", put(0, -1)),
    ("letter_positions", put(1, 4)),
    ("letter_positions", put(-1, sum(map(len, CONTIGS)))),
    ("letter_positions", put(-1, 2**62)),
    ("letters", put(0, ord("\n"))),
    ("occurrences", lambda array: np.full_like(array, 2**32 - 1)),
    ("occurrences", np.zeros_like),
    ("occurrences", put(0, 0)),
    ("occurrences", put(3, 2**32 - 1)),
    ("occurrences", flipped(17, 1)),
    ("occurrences", flipped(4, 1 << 9)),
    ("occurrences", flipped(-1, 1 << 31)),
    ("jump", put(0, 1)),
    ("jump", put(-1, 0)),
    ("jump", put(-1, 2**32 - 1)),
    ("marks", flipped(0, 1)),
    ("marks", flipped(3, 1 << 60)),
    ("marks", np.zeros_like),
    ("ranks", put(0, 1)),
    ("ranks", flipped(-1, 2)),
    ("ranks", put(2, 2**32 - 1)),
    ("positions", lambda array: array[:-1]),
    ("suffixes", lambda array: array[:-1]),
]


@pytest.mark.parametrize("index", [FULL, SAMPLED], ids=["full", "low memory"])
def test_one_wrong_value(index: FMIndexArrays, tmp_path: Path) -> None:
    present = arrays_of(index)
    assert {name for name, _ in WRONG} >= set(present) - ANYWHERE - REFERENCE
    for name, change in WRONG:
        if name in present:
            with pytest.raises(InputError, match=r"damaged \(its arrays do not fit each other\)"):
                reloaded(with_array(index, name, change), tmp_path)


@pytest.mark.parametrize("primary", [0, int(FULL.jump[-1])])
def test_a_row_of_the_whole_text_that_is_none(primary: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="damaged"):
        reloaded(replace(FULL, primary=primary), tmp_path)


def test_no_contigs(tmp_path: Path) -> None:
    padding = np.full(3, 2**64 - 1, dtype=np.uint64)
    nothing = np.empty(0, dtype=np.int64)
    made = replace(
        FULL,
        contigs=Contigs((), np.zeros(1, dtype=np.int64)),
        bases=ReferenceBases(np.repeat(padding, 2), padding, nothing, nothing.astype(np.uint8)),
    )
    with pytest.raises(InputError, match="damaged"):
        reloaded(made, tmp_path)


def test_no_rows(tmp_path: Path) -> None:
    made = replace(FULL, jump=np.zeros_like(FULL.jump), occurrences=FULL.occurrences[:0])
    with pytest.raises(InputError, match="damaged"):
        reloaded(made, tmp_path)


def test_a_letter_at_the_first_position(tmp_path: Path) -> None:
    made = index_of(["R" + CONTIGS[0]])
    assert made.bases.letter_positions[0] == 0
    assert_same(reloaded(made, tmp_path), made)


def test_a_jump_table_of_single_bases(tmp_path: Path) -> None:
    jump = FULL.jump[:: 4 ** (FULL.jump_length - 1)].copy()
    made = replace(FULL, jump=jump, jump_length=1)
    assert hits_of(reloaded(made, tmp_path)) == hits_of(FULL)


@pytest.mark.parametrize(
    ("limit", "most"),
    [
        ("MAX_BASES", sum(map(len, CONTIGS))),
        ("LAST_POSITION", max(map(len, CONTIGS))),
        ("MAX_JUMP", FULL.jump_length),
    ],
)
def test_an_index_as_large_as_allowed(
    limit: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, limit, most)
    assert files.is_sound(FULL)
    monkeypatch.setattr(files, limit, most - 1)
    assert not files.is_sound(FULL)


def test_every_count_and_every_rank(tmp_path: Path) -> None:
    for name in ("occurrences", "ranks"):
        array = getattr(SAMPLED if name == "occurrences" else SAMPLED.suffixes, name)
        for offset in range(array.size):
            with pytest.raises(InputError, match="damaged"):
                reloaded(with_array(SAMPLED, name, flipped(offset, 1)), tmp_path)


@settings(max_examples=many(150))
@given(data=st.data(), index=st.sampled_from([FULL, SAMPLED]))
def test_any_values(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, index: FMIndexArrays
) -> None:
    name = data.draw(st.sampled_from(arrays_of(index)))

    def changed(array: np.ndarray) -> np.ndarray:
        offsets = st.integers(0, array.size - 1)
        values = st.integers(0, 2 ** (8 * array.itemsize) - 1) | st.integers(0, array.size)
        for offset, value in data.draw(
            st.lists(st.tuples(offsets, values), min_size=1, max_size=5)
        ):
            array.view(f"u{array.itemsize}")[offset] = value
        return array

    directory = tmp_path_factory.mktemp("index", numbered=True)
    try:
        loaded = reloaded(with_array(index, name, changed), directory)
    except InputError as error:
        assert "damaged" in str(error)  # noqa: PT017  (it may also be loaded)
        return
    if name in REFERENCE:
        hits_of(loaded)
    else:
        assert_no_false_hit(loaded)


@pytest.mark.parametrize("index", [FULL, SAMPLED], ids=["full", "low memory"])
@pytest.mark.parametrize("seed", range(3))
def test_rows_that_lead_anywhere(index: FMIndexArrays, seed: int, tmp_path: Path) -> None:
    made = with_random_rows(index, seed)
    loaded = reloaded(made, tmp_path)
    assert_same(loaded, made)
    assert_no_false_hit(loaded)


@pytest.mark.gpu
@pytest.mark.parametrize("index", [FULL, SAMPLED], ids=["full", "low memory"])
@pytest.mark.parametrize("seed", range(3))
def test_rows_that_lead_anywhere_on_the_gpu(index: FMIndexArrays, seed: int) -> None:
    from hapgpu.shortread.search.cuda import search as cuda  # noqa: PLC0415  (only where there is a GPU)

    made, reads = with_random_rows(index, seed), pack(READS)
    found = cuda.search(made, reads, SearchOptions(), CudaDevice(0))
    expected = cpu.search(made, reads, SearchOptions())
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.hits, expected.hits)
