"""`hapgpu.FMIndex`, as callers use it."""

from __future__ import annotations

import inspect
import threading
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hapgpu
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import DeviceError, InputError, UsageError
from hapgpu.shortread import api
from hapgpu.shortread.search.hits import SearchOptions
from tests.shortread.search.reference import find_hits

COMPLEMENTS = str.maketrans("ACGT", "TGCA")


def _contigs() -> dict[str, str]:
    random = Random(9)  # noqa: S311  (reproducible data, not secrets)
    repeat = "".join(random.choices("ACGT", k=80))
    bases = "".join(random.choices("ACGT", k=700))
    return {"one": bases + repeat, "two": repeat + "NNN" + bases[:50] + "R" + repeat, "x": "ACGT"}


CONTIGS = _contigs()
READS = [
    CONTIGS["one"][10:60],
    CONTIGS["one"][100:130] + CONTIGS["one"][131:160],
    CONTIGS["one"][200:230] + "A" + CONTIGS["one"][230:260],
    CONTIGS["two"][:40][::-1].translate(COMPLEMENTS),
    "ACGTN" * 8,
    "",
    "ACGT",
    CONTIGS["two"][60:100],
]


@pytest.fixture(scope="module")
def fasta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reference") / "ref.fa"
    path.write_text("".join(f">{name}\n{bases}\n" for name, bases in CONTIGS.items()))
    return path


@pytest.fixture(scope="module")
def index(fasta: Path) -> hapgpu.FMIndex:
    return hapgpu.FMIndex.build(fasta, device="cpu")


Row = tuple[int, int, int, int, int, int, str]


def expected_rows(reads: list[str], options: SearchOptions) -> list[Row]:
    """Scan the reference, one read after the other."""
    contigs = [bases.encode() for bases in CONTIGS.values()]
    rows: list[Row] = []
    for number, read in enumerate(reads):
        hits = find_hits(contigs, read.encode(), options) if len(read) >= 10 else []
        hits.sort(key=lambda hit: (hit.distance, hit.contig, hit.start, hit.strand, hit.end))
        rows += [
            (number, hit.contig, hit.strand, hit.start, hit.end, hit.distance, hit.cigar)
            for hit in hits
        ]
    return rows


def rows_of(hits: hapgpu.Hits) -> list[Row]:
    columns = (hits.reads, hits.contigs, hits.strands, hits.starts, hits.ends, hits.distances)
    lists = [column.tolist() for column in columns]
    return list(zip(*lists, hits.cigar_strings(), strict=True))


@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(),
        SearchOptions(errors=0),
        SearchOptions(indels=False),
        SearchOptions(forward_only=True),
    ],
)
def test_hits_equal_a_plain_scan(index: hapgpu.FMIndex, options: SearchOptions) -> None:
    hits = index.map(
        READS,
        errors=options.errors,
        indels=options.indels,
        forward_only=options.forward_only,
        device="cpu",
    )
    expected = expected_rows(READS, options)
    assert rows_of(hits) == expected
    assert len(hits) == len(expected) > 0
    assert hits.contig_names == tuple(CONTIGS)


def _mutated(seed: int) -> str:
    random = Random(seed)  # noqa: S311  (reproducible data, not secrets)
    bases = random.choice([*CONTIGS.values()][:2])
    start = random.randrange(len(bases) - 12)
    read = [*bases[start : start + random.randint(10, 90)]]
    for _ in range(random.randint(0, 2)):
        offset = random.randrange(len(read))
        read[offset : offset + random.randint(0, 1)] = random.choice(["", "A", "C", "N"])
    text = "".join(read)
    return text[::-1].translate(COMPLEMENTS) if random.random() < 0.5 else text


@settings(max_examples=60)
@given(st.lists(st.integers(0, 10**9).map(_mutated), max_size=20))
def test_any_reads(index: hapgpu.FMIndex, reads: list[str]) -> None:
    assert rows_of(index.map(reads, device="cpu")) == expected_rows(reads, SearchOptions())


def test_types(index: hapgpu.FMIndex) -> None:
    for reads in (READS, []):
        hits = index.map(reads, device="cpu")
        assert isinstance(hits, hapgpu.Hits)
        assert hits.reads.dtype == hits.starts.dtype == hits.ends.dtype == np.int64
        assert hits.contigs.dtype == np.int32
        assert hits.strands.dtype == hits.distances.dtype == np.uint8
        assert hits.cigars.data.dtype == np.uint32
        assert len(hits.cigars) == len(hits)


def test_text_bytes_and_ragged_are_the_same(index: hapgpu.FMIndex) -> None:
    expected = rows_of(index.map(READS, device="cpu"))
    for reads in (
        [read.encode() for read in READS],
        [read.lower() for read in READS],
        Ragged.from_sequences(READS),
        tuple(READS),
    ):
        assert rows_of(index.map(reads, device="cpu")) == expected


@pytest.mark.parametrize("bases", [1, 50, 120])
def test_pieces_change_nothing(
    index: hapgpu.FMIndex, monkeypatch: pytest.MonkeyPatch, bases: int
) -> None:
    expected = rows_of(index.map(READS, device="cpu"))
    monkeypatch.setattr(api, "_BASES_ON_CPU", bases)
    assert rows_of(index.map(READS, device="cpu")) == expected


@pytest.mark.parametrize("low_memory", [False, True])
def test_saved_and_loaded(
    index: hapgpu.FMIndex, fasta: Path, tmp_path: Path, low_memory: bool
) -> None:
    made = hapgpu.FMIndex.build(str(fasta), device="cpu", low_memory=low_memory)
    made.save(str(tmp_path / "ref.hgx"))
    loaded = hapgpu.FMIndex.load(tmp_path / "ref.hgx")
    assert rows_of(loaded.map(READS, device="cpu")) == rows_of(index.map(READS, device="cpu"))


def test_the_reference_is_not_written_over(index: hapgpu.FMIndex, fasta: Path) -> None:
    before = fasta.read_bytes()
    with pytest.raises(
        UsageError, match=r": exists and is no index; give another file, or remove it$"
    ):
        index.save(fasta)
    assert fasta.read_bytes() == before


@pytest.mark.parametrize(
    ("reads", "options", "error", "message"),
    [
        ("ACGT", {}, UsageError, "reads: not a list; give a list"),
        (["ACGT", 7], {}, UsageError, "read 1: of type int"),
        (["ACGT", "ACGÄ"], {}, InputError, "read 1: contains a non-ASCII character"),
        (["ACGT", "A" * 1_000_001], {}, InputError, "read 1: more than 1,000,000 bases"),
        (Ragged(np.zeros(3, np.int32), np.array([0, 3])), {}, UsageError, "int32"),
        (
            ["ACGT"],
            {"errors": 2},
            UsageError,
            "errors=2: out of range; give a whole number from 0 to 1",
        ),
        (["ACGT"], {"threads": 1.5}, UsageError, r"threads=1\.5: out of range"),
        (["ACGT"], {"errors": -1}, UsageError, "errors=-1"),
        (["ACGT"], {"device": "tpu"}, UsageError, "device 'tpu': unknown"),
        (["ACGT"], {"device": "cuda:4000"}, DeviceError, "cuda:4000"),
    ],
)
def test_arguments_that_are_refused(
    index: hapgpu.FMIndex,
    reads: list[str],
    options: dict[str, object],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        index.map(reads, **{"device": "cpu", **options})


def test_the_longest_read(index: hapgpu.FMIndex) -> None:
    assert len(index.map(["N" * 1_000_000], device="cpu")) == 0


def test_files_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.fa: no such file"):
        hapgpu.FMIndex.build(tmp_path / "absent.fa", device="cpu")
    (tmp_path / "text").write_text("no index\n")
    with pytest.raises(InputError, match="text"):
        hapgpu.FMIndex.load(tmp_path / "text")


def test_signature() -> None:
    parameters = inspect.signature(hapgpu.FMIndex.map).parameters
    assert list(parameters) == [
        *("self", "reads", "errors", "indels", "forward_only"),
        *("device", "threads", "progress"),
    ]
    keywords = [p for p in parameters.values() if p.kind is inspect.Parameter.KEYWORD_ONLY]
    assert [p.default for p in keywords] == [1, True, False, "auto", None, False]


def test_records_are_mapped_as_the_machine_read_them(index: hapgpu.FMIndex) -> None:
    records = []
    for number, read in enumerate(READS):
        record = pysam.AlignedSegment()
        record.is_reverse = number % 2 == 1
        aligned = read[::-1].translate(COMPLEMENTS) if record.is_reverse else read
        record.query_sequence = aligned or "ACGT"
        records.append(record)
    texts = [read or "ACGT" for read in READS]
    expected = rows_of(index.map(texts, device="cpu"))
    assert rows_of(index.map(records, device="cpu")) == expected
    records[3].query_sequence = None
    with pytest.raises(InputError, match="read 3: a record without a sequence; leave it out"):
        index.map(records, device="cpu")


def test_threads_change_nothing(
    index: hapgpu.FMIndex, fasta: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "_BASES_ON_CPU", 50)
    expected = rows_of(index.map(READS, device="cpu", threads=1))
    made = hapgpu.FMIndex.build(fasta, device="cpu", threads=1)
    for threads in (1, 3):
        assert rows_of(made.map(READS, device="cpu", threads=threads)) == expected


def test_one_thread_is_the_calling_thread(
    index: hapgpu.FMIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    given = api.cpu.search

    def search(*arguments: Any) -> Any:
        seen.add(threading.current_thread())
        return given(*arguments)

    monkeypatch.setattr(api, "_BASES_ON_CPU", 50)
    monkeypatch.setattr(api.cpu, "search", search)
    index.map(READS, device="cpu", threads=1)
    assert seen == {threading.current_thread()}


def test_bars(index: hapgpu.FMIndex, fasta: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index.map(READS, device="cpu", progress=True)
    shown = capsys.readouterr().err
    assert "mapping: 100%" in shown
    assert f"{len(READS)}.00/{len(READS)}.00" in shown
    hapgpu.FMIndex.build(fasta, device="cpu", progress=True)
    assert "indexing, built: 100%" in capsys.readouterr().err


def test_table(index: hapgpu.FMIndex) -> None:
    pytest.importorskip("pandas")
    hits = index.map(READS, device="cpu")
    table = hits.to_dataframe()
    assert table.columns.tolist() == [
        *("read", "contig", "strand", "start", "end", "distance", "cigar")
    ]
    rows = [
        (read, [*CONTIGS].index(contig), "+-".index(strand), *rest)
        for read, contig, strand, *rest in table.itertuples(index=False)
    ]
    assert rows == rows_of(hits)
    assert len(index.map([], device="cpu").to_dataframe()) == 0
