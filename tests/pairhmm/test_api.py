"""`hapgpu.pair_hmm` and `hapgpu.pair_hmm_batches`."""

from __future__ import annotations

import inspect
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import repeat
from math import log10
from pathlib import Path
from typing import Any

import numpy as np
import pysam
import pytest
from numpy.typing import NDArray

import hapgpu
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import DeviceError, InputError, UsageError
from hapgpu.pairhmm import api
from hapgpu.pairhmm.batches import HmmBatch, HmmReads
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.runtime.devices import CpuDevice
from tests.pairhmm.forward.reference import likelihood_reference

TOLERANCE = 1e-5
READS = ["ACGTTACG", "ACGNACG", "T", "GGGGACGTACGTTT"]
HAPLOTYPES = ["ACGTTACGTACG", "ACGTACG", "G"]
BASE, INSERTION, DELETION, CONTINUATION = 30, 45, 40, 10
NAMES = ("base_qualities", "insertion_qualities", "deletion_qualities", "gap_continuations")
QUALITIES = dict(zip(NAMES, (BASE, INSERTION, DELETION, CONTINUATION), strict=True))

Text = tuple[list[str], list[NDArray[np.uint8]], list[str]]


def row(quality: int, bases: str) -> NDArray[np.uint8]:
    return np.full(len(bases), quality, dtype=np.uint8)


def flat(reads: list[str], haplotypes: list[str]) -> NDArray[np.float64]:
    return hapgpu.pair_hmm(reads, haplotypes, **QUALITIES, device="cpu")


def batches_of(path: Path) -> Iterator[Text]:
    """Read batches of text: R and H, R reads with four qualities each, H haplotypes."""
    with path.open() as file:
        for line in file:
            reads, haplotypes = map(int, line.split())
            words = [next(file).split() for _ in range(reads)]
            columns = [
                np.frombuffer("".join(w[k] for w in words).encode(), dtype=np.uint8) - 33
                for k in range(1, 5)
            ]
            yield [w[0] for w in words], columns, [next(file).strip() for _ in range(haplotypes)]


def input_of(batch: Text) -> hapgpu.PairHmmInput:
    """Give qualities as one array per read."""
    reads, columns, haplotypes = batch
    cuts = np.cumsum([len(read) for read in reads])[:-1]
    return hapgpu.PairHmmInput(reads, haplotypes, *(np.split(column, cuts) for column in columns))


def computed(given: hapgpu.PairHmmInput) -> NDArray[np.float64]:
    """Call `pair_hmm` with the fields of a batch."""
    arguments = {name: getattr(given, name) for name in ("reads", "haplotypes", *NAMES)}
    return hapgpu.pair_hmm(**arguments, device="cpu")


def hmm_batch_of(batch: Text) -> HmmBatch:
    reads, columns, haplotypes = batch
    return HmmBatch(
        HmmReads(Ragged.from_sequences(reads), *columns),
        Ragged.from_sequences(haplotypes),
        np.array([0, len(reads)]),
        np.array([0, len(haplotypes)]),
    )


@pytest.fixture(scope="module")
def texts(data_dir: Path) -> list[Text]:
    """Return all of tiny.in, and some reads of each text batch of 10s.in."""
    directory = data_dir / "pairhmm"
    thinned = []
    for reads, columns, haplotypes in batches_of(directory / "10s.in"):
        rows = np.arange(0, len(reads), 20)
        lengths = Ragged.from_sequences(reads).offsets
        thin = [Ragged(column, lengths).take(rows).data for column in columns]
        thinned.append(([reads[k] for k in rows], thin, haplotypes))
    return [*batches_of(directory / "tiny.in"), *thinned]


def test_signature() -> None:
    parameters = inspect.signature(hapgpu.pair_hmm).parameters
    options = {
        "base_qualities": None,
        "insertion_qualities": 45,
        "deletion_qualities": 45,
        "gap_continuations": 10,
        "device": "auto",
        "threads": None,
        "progress": False,
    }
    assert list(parameters) == ["reads", "haplotypes", *options]
    keywords = [p for p in parameters.values() if p.kind is inspect.Parameter.KEYWORD_ONLY]
    assert {p.name: p.default for p in keywords} == options


def test_a_batch_has_the_input_of_a_call() -> None:
    parameters = inspect.signature(hapgpu.pair_hmm).parameters
    for name, field in inspect.signature(hapgpu.PairHmmInput).parameters.items():
        assert field.default == parameters[name].default


def test_values_equal_the_reference_implementation() -> None:
    found = flat(READS, HAPLOTYPES)
    assert found.dtype == np.float64
    assert found.shape == (len(READS), len(HAPLOTYPES))
    for r, read in enumerate(READS):
        bases = np.frombuffer(read.encode(), dtype=np.uint8)
        columns = [row(q, read) for q in (BASE, INSERTION, DELETION, CONTINUATION)]
        for h, haplotype in enumerate(HAPLOTYPES):
            letters = np.frombuffer(haplotype.encode(), dtype=np.uint8)
            expected = likelihood_reference(bases, *columns, letters)
            assert found[r, h] == pytest.approx(expected, abs=TOLERANCE)


def test_reads_that_match_all_the_way() -> None:
    """A read of A and a longer haplotype of A: a formula of GATK's unit tests."""
    for length, haplotype in ((1, 1), (2, 5), (5, 10), (10, 10)):
        qualities = dict(zip(NAMES, (20, 100, 100, 100), strict=True))
        found = hapgpu.pair_hmm(["A" * length], ["A" * haplotype], **qualities, device="cpu")
        offsets = (haplotype - length + 1) / haplotype
        assert found[0, 0] == pytest.approx(log10(offsets * 0.99**length), abs=1e-3)


def test_the_least_and_the_largest_quality() -> None:
    """A wrong base is certain, then as good as impossible: 0.9 by 1 / 3, then by 1."""
    found = hapgpu.pair_hmm(["A", "A"], ["A", "C"], base_qualities=[0, 254], device="cpu")
    assert found[0].tolist() == [-np.inf, pytest.approx(log10(0.9 / 3), abs=TOLERANCE)]
    assert found[1, 0] == pytest.approx(log10(0.9), abs=TOLERANCE)
    assert found[1, 1] == pytest.approx(log10(0.9 / 3) - 25.4, abs=TOLERANCE)


def test_every_way_to_give_qualities_is_the_same() -> None:
    numbers = [20 + 5 * k for k in range(len(READS))]
    rows = [row(q, read) for q, read in zip(numbers, READS, strict=True)]
    expected = hapgpu.pair_hmm(READS, HAPLOTYPES, base_qualities=rows, device="cpu")
    assert len(np.unique(expected[:, 0])) == len(READS)
    for given in (
        numbers,
        tuple(numbers),
        np.array(numbers),
        [r.tolist() for r in rows],
        [r.tobytes() for r in rows],
        [r.astype(np.int64) for r in rows],
        [numbers[0], rows[1].tolist(), rows[2].tobytes(), rows[3]],
        Ragged.from_lengths(np.concatenate(rows), [r.size for r in rows]),
        Ragged.from_lengths(np.concatenate(rows).astype(np.int32), [r.size for r in rows]),
    ):
        found = hapgpu.pair_hmm(READS, HAPLOTYPES, base_qualities=given, device="cpu")
        assert found.tolist() == expected.tolist()


def test_a_matrix_of_qualities() -> None:
    reads, matrix = ["ACGT", "ACGA"], np.array([[20, 30, 40, 20], [30, 30, 20, 40]])
    expected = hapgpu.pair_hmm(reads, HAPLOTYPES, base_qualities=list(matrix), device="cpu")
    found = hapgpu.pair_hmm(reads, HAPLOTYPES, base_qualities=matrix, device="cpu")
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("position", range(4))
def test_each_quality_goes_to_its_position(position: int) -> None:
    """A read with an insertion and one with a deletion, and qualities that are all different."""
    read, haplotype = "ACGTTTTACGAC", "ACGTTACGGACT"
    qualities = [30, 40, 45, 10]
    qualities[position] += 7
    given = dict(zip(NAMES, qualities, strict=True))
    found = hapgpu.pair_hmm([read], [haplotype], **given, device="cpu")
    columns = [row(q, read) for q in qualities]
    bases, letters = (np.frombuffer(s.encode(), dtype=np.uint8) for s in (read, haplotype))
    expected = likelihood_reference(bases, *columns, letters)
    assert found[0, 0] == pytest.approx(expected, abs=TOLERANCE)


def test_text_bytes_and_ragged_are_the_same() -> None:
    expected = flat(READS, HAPLOTYPES)
    as_bytes = [read.encode() for read in READS], tuple(h.encode() for h in HAPLOTYPES)
    as_ragged = Ragged.from_sequences(READS), Ragged.from_sequences(HAPLOTYPES)
    for reads, haplotypes in (as_bytes, as_ragged, (READS, as_ragged[1])):
        found = hapgpu.pair_hmm(reads, haplotypes, **QUALITIES, device="cpu")
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(("reads", "haplotypes"), [([], HAPLOTYPES), (READS, []), ([], [])])
def test_no_pairs(reads: list[str], haplotypes: list[str]) -> None:
    found = flat(reads, haplotypes)
    assert found.shape == (len(reads), len(haplotypes))
    assert found.dtype == np.float64


def test_batches_of_text_give_the_results_of_the_whole_batch(texts: list[Text]) -> None:
    """Lists of arrays per read, joined or one by one, against arrays of a batch."""
    batch = HmmBatch.concatenate([hmm_batch_of(text) for text in texts])
    expected = log10_likelihoods(batch, CpuDevice())
    fused = list(hapgpu.pair_hmm_batches(map(input_of, texts), device="cpu"))
    single = [computed(input_of(text)) for text in texts]
    for found in (fused, single):
        shapes = [(len(reads), len(haplotypes)) for reads, _, haplotypes in texts]
        assert [matrix.shape for matrix in found] == shapes
        assert np.concatenate([matrix.ravel() for matrix in found]).tolist() == expected.tolist()


def test_batches_of_text_against_the_reference(texts: list[Text]) -> None:
    found = hapgpu.pair_hmm_batches(map(input_of, texts[:4]), device="cpu")
    for text, matrix in zip(texts, found, strict=False):
        batch = hmm_batch_of(text)
        for read in range(0, len(batch.reads), 20):
            start, end = batch.reads.bases.offsets[read : read + 2]
            expected = likelihood_reference(
                batch.reads.bases[read],
                *(column[start:end] for column in batch.reads.qualities),
                batch.haplotypes[0],
            )
            assert matrix[read, 0] == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize(
    ("reads", "haplotypes", "message"),
    [
        (["AC", ""], ["ACG"], "read 1: no bases"),
        (["AC"], ["ACG", ""], "haplotype 1: no bases"),
    ],
)
def test_a_batch_with_an_empty_sequence(
    reads: list[str], haplotypes: list[str], message: str
) -> None:
    batch = hmm_batch_of((reads, [row(BASE, "AC")] * 4, haplotypes))
    with pytest.raises(InputError, match=message):
        log10_likelihoods(batch, CpuDevice())


@pytest.mark.parametrize("limit", ["_CELLS_PER_CALL", "_BYTES_PER_CALL"])
def test_joining_batches_changes_nothing(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    given = [
        hapgpu.PairHmmInput(READS[k:], HAPLOTYPES[j:], **QUALITIES)
        for k in range(5)
        for j in range(4)
    ]
    expected = [matrix.tolist() for matrix in hapgpu.pair_hmm_batches(given, device="cpu")]
    assert len(expected) == len(given)
    assert expected[0] == flat(READS, HAPLOTYPES).tolist()
    for size in (1, 300):
        monkeypatch.setattr(api, limit, size)
        found = hapgpu.pair_hmm_batches(iter(given), device="cpu")
        assert [matrix.tolist() for matrix in found] == expected


def test_batches_are_taken_as_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The iterable of batches may be endless."""
    monkeypatch.setattr(api, "_CELLS_PER_CALL", 1000)
    batch = hapgpu.PairHmmInput(READS, HAPLOTYPES, **QUALITIES)
    found = hapgpu.pair_hmm_batches(repeat(batch), device="cpu")
    for _ in range(9):
        assert next(found).shape == (len(READS), len(HAPLOTYPES))


def test_batches_before_an_error_are_computed() -> None:
    good = hapgpu.PairHmmInput(READS, HAPLOTYPES, **QUALITIES)
    bad = replace(good, haplotypes=[""])

    def broken() -> Iterator[hapgpu.PairHmmInput]:
        yield from (good, good)
        raise KeyError

    given: list[tuple[Iterable[hapgpu.PairHmmInput], type[Exception]]] = [
        ([good, good, bad, good], InputError),
        (broken(), KeyError),
    ]
    for batches, error in given:
        found = hapgpu.pair_hmm_batches(batches, device="cpu")
        assert [next(found).shape for _ in range(2)] == [(len(READS), len(HAPLOTYPES))] * 2
        with pytest.raises(error):
            next(found)


def test_numbers_of_numpy_of_any_kind() -> None:
    expected = hapgpu.pair_hmm(["ACGT", "AC"], HAPLOTYPES, base_qualities=30, device="cpu")
    for given in ([np.uint64(30), 30], [np.full(4, 30, np.uint64), [30, 30]]):
        found = hapgpu.pair_hmm(["ACGT", "AC"], HAPLOTYPES, base_qualities=given, device="cpu")
        assert found.tolist() == expected.tolist()


def test_no_batches() -> None:
    assert list(hapgpu.pair_hmm_batches([], device="cpu")) == []


GOOD: dict[str, Any] = {
    "reads": ["ACGT", "AC"],
    "base_qualities": 30,
    "insertion_qualities": 45,
    "deletion_qualities": 45,
    "gap_continuations": 10,
    "haplotypes": ["ACGT"],
}

BAD_DATA: dict[str, tuple[dict[str, Any], str]] = {
    "too few": ({"base_qualities": [[30] * 4, [30]]}, "read 1: 2 bases, but 1 base qual"),
    "too many": ({"deletion_qualities": [b"12345", 9]}, "read 0: 4 bases, but 5 deletion"),
    "too large for int64": ({"base_qualities": [np.uint64(255), 9]}, "read 0: 255 among its base"),
    "none": ({"insertion_qualities": [[], 9]}, "read 0: 4 bases, but 0 insertion"),
    "Ragged of another shape": (
        {"gap_continuations": Ragged.from_lengths(row(10, "ACGTAC"), [3, 3])},
        "read 0: 4 bases, but 3 gap continuations",
    ),
    "255": ({"base_qualities": [30, [30, 255]]}, "read 1: 255 among its base qual.* 0 to 254"),
    "255 for all": ({"insertion_qualities": 255}, "read 0: 255 among its insertion"),
    "255 after 254": ({"base_qualities": [254, 255]}, "read 1: 255 among its base qual"),
    "negative": ({"gap_continuations": [10, -1]}, "read 1: -1 among its gap continuations"),
    "negative after 0": ({"gap_continuations": [0, -1]}, "read 1: -1 among its gap"),
    "huge": ({"base_qualities": 2**40}, "read 0: 1099511627776 among"),
    "empty read": ({"reads": ["ACGT", ""]}, "read 1: no bases"),
    "empty haplotype": ({"haplotypes": [b""]}, "haplotype 0: no bases"),
    "text beyond ASCII": ({"reads": ["ACGT", "Aé"]}, "read 1: contains a non-ASCII character"),
    "half a letter": ({"reads": ["ACGT", "A\ud800"]}, "read 1: contains a non-ASCII character"),
    "bytes beyond ASCII": ({"haplotypes": [b"A", b"A\xff"]}, "haplotype 1: contains a non-ASCII"),
}

BAD_KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "a single read": ({"reads": "ACGT"}, "reads: not a list; give a list, even for one read"),
    "a single haplotype": ({"haplotypes": b"ACGT"}, "haplotypes: not a list; give a list"),
    "no list": ({"reads": None}, "reads: not a list; give a list"),
    "an iterator": ({"reads": iter(["ACGT"])}, "reads: not a list; give a list"),
    "numbers for reads": ({"reads": ["ACGT", 5]}, "read 1: of type int; give str, bytes or pysam"),
    "Ragged of numbers": (
        {"haplotypes": Ragged.from_lengths(np.zeros(3), [3])},
        "haplotypes: a Ragged of float64; give a Ragged of uint8",
    ),
    "text for all": (
        {"base_qualities": "IIII"},
        "base qualities: neither a number nor a list; give",
    ),
    "bytes for all": ({"base_qualities": b"IIII"}, "base qualities: neither a number nor a list"),
    "rows in a row": (
        {"base_qualities": [[30, [1]], 30]},
        "read 0: base qualities of unequal rows; give a list of whole numbers",
    ),
    "no dimension": (
        {"base_qualities": np.array(30)},
        "base qualities: neither a number nor a list; give",
    ),
    "a Ragged that starts later": (
        {"base_qualities": Ragged(row(30, "ACGTACGT"), np.array([2, 6, 8]))},
        "base qualities: offsets do not go from 0 to 8; correct them",
    ),
    "a Ragged without its end": (
        {"base_qualities": Ragged(row(30, "ACGT"), np.array([0, 4, 6]))},
        "base qualities: offsets do not go from 0 to 4",
    ),
    "text of a read": (
        {"base_qualities": ["IIII", "II"]},
        "read 0: base qualities of 0 dimensions; give a whole number",
    ),
    "fractions": ({"base_qualities": 30.5}, "base qualities: neither a number nor a list"),
    "fractions of a read": (
        {"base_qualities": [30, [0.5, 1]]},
        "read 1: base qualities of type float64; give whole",
    ),
    "a matrix of fractions": (
        {"base_qualities": np.ones((2, 2))},
        "read 0: base qualities of type",
    ),
    "no qualities": ({"base_qualities": None}, "read 0: no base qualities; give them, or records"),
    "no qualities of a Ragged": (
        {"reads": Ragged.from_sequences(["ACGT", "AC"]), "base_qualities": None},
        "base qualities: not given; give them, or records",
    ),
    "no threads": ({"threads": 0}, "threads=0: out of range; give a whole number from 1, or None"),
    "another number of reads": (
        {"gap_continuations": [10]},
        "gap continuations: 1 entries for 2 reads",
    ),
    "a row too many": (
        {"gap_continuations": [[10]] * 3},
        "gap continuations: 3 entries for 2 reads",
    ),
    "unknown device": ({"device": "tpu"}, "device 'tpu': unknown"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data(case: str) -> None:
    change, message = BAD_DATA[case]
    with pytest.raises(InputError, match=message):
        hapgpu.pair_hmm(**GOOD | {"device": "cpu"} | change)


@pytest.mark.parametrize("case", BAD_KINDS)
def test_bad_kinds(case: str) -> None:
    change, message = BAD_KINDS[case]
    with pytest.raises(UsageError, match=message):
        hapgpu.pair_hmm(**GOOD | {"device": "cpu"} | change)


def test_a_bad_batch_is_named() -> None:
    good = hapgpu.PairHmmInput(**GOOD)
    bad = replace(good, reads=["A", ""])
    with pytest.raises(InputError, match="batch 2, read 1: no bases"):
        list(hapgpu.pair_hmm_batches([good, good, bad], device="cpu"))
    with pytest.raises(UsageError, match="batch 1: of type tuple; give PairHmmInput"):
        list(hapgpu.pair_hmm_batches([good, (["A"], ["A"])], device="cpu"))


def test_an_absent_device_raises_at_once() -> None:
    with pytest.raises(DeviceError, match="cuda:4000"):
        hapgpu.pair_hmm_batches([], device="cuda:4000")


@pytest.mark.gpu
def test_the_gpu_agrees(texts: list[Text]) -> None:
    found = hapgpu.pair_hmm_batches(map(input_of, texts), device="cuda")
    expected = hapgpu.pair_hmm_batches(map(input_of, texts), device="cpu")
    for matrix, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(matrix, other, rtol=0, atol=TOLERANCE)


def records(qualities: list[int | None]) -> list[pysam.AlignedSegment]:
    """Make records of the reads; a quality of None: the record has none."""
    made = []
    for read, quality in zip(READS, qualities, strict=True):
        record = pysam.AlignedSegment()
        record.query_sequence = read
        record.is_reverse = True  # the sequence is used as aligned
        if quality is not None:
            record.query_qualities = array("B", [quality + k for k in range(len(read))])
        made.append(record)
    return made


def test_records_bring_their_qualities() -> None:
    numbers: list[int | None] = [20, 25, 30, 22]
    rows = [[q + k for k in range(len(read))] for q, read in zip(numbers, READS, strict=True)]
    expected = hapgpu.pair_hmm(READS, HAPLOTYPES, base_qualities=rows, device="cpu")
    given = records(numbers)
    assert hapgpu.pair_hmm(given, HAPLOTYPES, device="cpu").tolist() == expected.tolist()
    batch = hapgpu.PairHmmInput(given, HAPLOTYPES)
    (found,) = hapgpu.pair_hmm_batches([batch], device="cpu")
    assert found.tolist() == expected.tolist()
    other = hapgpu.pair_hmm(given, HAPLOTYPES, base_qualities=rows, device="cpu")
    assert other.tolist() == expected.tolist()


def test_records_without_qualities() -> None:
    given = records([20, 20, None, 20])
    with pytest.raises(InputError, match="read 2: a record without base qualities; give base_q"):
        hapgpu.pair_hmm(given, HAPLOTYPES, device="cpu")
    assert flat(given, HAPLOTYPES).tolist() == flat(READS, HAPLOTYPES).tolist()
    mixed: list[Any] = [given[0], "ACGT"]
    with pytest.raises(UsageError, match="read 1: no base qualities; give them, or records"):
        hapgpu.pair_hmm(mixed, HAPLOTYPES, device="cpu")


@pytest.mark.parametrize("cells", [1, 200, 500])
def test_parts_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    expected = flat(READS, HAPLOTYPES).tolist()
    monkeypatch.setattr(api, "_CELLS_PER_CALL", cells)
    for threads in (1, 3):
        found = hapgpu.pair_hmm(READS, HAPLOTYPES, **QUALITIES, device="cpu", threads=threads)
        assert found.tolist() == expected


def test_bars(capsys: pytest.CaptureFixture[str]) -> None:
    hapgpu.pair_hmm(READS, HAPLOTYPES, base_qualities=30, device="cpu", progress=True)
    assert "pair-HMM: 100%" in capsys.readouterr().err
    batches = [hapgpu.PairHmmInput(READS, HAPLOTYPES, base_qualities=30)] * 3
    list(hapgpu.pair_hmm_batches(batches, device="cpu", progress=True))
    assert "3.00 batches" in capsys.readouterr().err
