"""Reads that `hapgpu.LongReadIndex` takes and refuses, and the columns of the result."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
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
from hapgpu.errors import InputError, UsageError
from hapgpu.longread import index_api, pipeline
from hapgpu.longread.options import PRESETS
from tests.cli.chain.command import Sample, complement, letters, with_errors
from tests.longread.python.rows import command_lines, paf_lines
from tests.shortread.made_reads import reverse_complement

DTYPES = {
    "reads": np.int64,
    "contigs": np.int32,
    "strands": np.uint8,
    "read_starts": np.int64,
    "read_ends": np.int64,
    "starts": np.int64,
    "ends": np.int64,
    "matches": np.int32,
    "block_lengths": np.int32,
    "mapping_qualities": np.uint8,
    "is_primary": np.bool_,
    "anchor_counts": np.int32,
    "chain_scores": np.int32,
    "second_scores": np.int32,
    "divergences": np.float64,
    "repeat_lengths": np.int32,
}
ALIGNED_DTYPES = {
    "is_supplementary": np.bool_,
    "is_inversion": np.bool_,
    "splits": np.uint8,
    "edit_distances": np.int32,
    "best_scores": np.int32,
    "alignment_scores": np.int32,
    "ambiguous_bases": np.int32,
}


def columns_of(mappings: hapgpu.ReadMappings) -> list[tuple[str, Any]]:
    """Return all columns as comparable values; NaN as None."""
    values = [(each.name, getattr(mappings, each.name)) for each in fields(mappings)]
    return [(name, _plain(value)) for name, value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, Ragged):
        return value.data.tolist(), value.offsets.tolist()
    if isinstance(value, np.ndarray):
        return [None if number != number else number for number in value.tolist()]  # noqa: PLR0124  (NaN)
    return value


@pytest.fixture(scope="module")
def reads(sample: Sample) -> list[str]:
    return list(sample.reads.values())


def test_columns_of_mappings(index: hapgpu.LongReadIndex, reads: list[str]) -> None:
    for given_reads in (reads, []):
        mappings = index.map(given_reads, device="cpu", threads=1)
        assert isinstance(mappings, hapgpu.ReadMappings)
        assert {name: getattr(mappings, name).dtype for name in DTYPES} == DTYPES
        assert {getattr(mappings, name).size for name in DTYPES} == {len(mappings)}
        assert mappings.read_lengths.tolist() == [len(read) for read in given_reads]
        assert mappings.read_names is None
        assert mappings.contig_names == ("chr1", "chr2", "chr3")
        assert (len(mappings) > len(reads) - 10) == bool(given_reads)


def test_columns_of_alignments(index: hapgpu.LongReadIndex, reads: list[str]) -> None:
    for given_reads in (reads, []):
        alignments = index.align(given_reads, threads=1)
        assert isinstance(alignments, hapgpu.ReadAlignments)
        dtypes = DTYPES | ALIGNED_DTYPES
        assert {name: getattr(alignments, name).dtype for name in dtypes} == dtypes
        assert {getattr(alignments, name).size for name in dtypes} == {len(alignments)}
        assert alignments.cigars.data.dtype == np.uint32
        assert len(alignments.cigars) == len(alignments.cigar_strings()) == len(alignments)


def test_cigars_cover_their_intervals(index: hapgpu.LongReadIndex, reads: list[str]) -> None:
    alignments = index.align(reads, threads=1, eqx=True)
    rows = np.repeat(np.arange(len(alignments)), alignments.cigars.lengths)
    lengths, operations = alignments.cigars.data >> 4, alignments.cigars.data & 15

    def bases_of(*of: int) -> list[int]:
        weights = np.where(np.isin(operations, of), lengths, 0)
        counts = np.bincount(rows, weights=weights, minlength=len(alignments))
        return counts.astype(int).tolist()

    insertion, deletion, equal, different = 1, 2, 7, 8
    read_bases = (alignments.read_ends - alignments.read_starts).tolist()
    contig_bases = (alignments.ends - alignments.starts).tolist()
    assert bases_of(insertion, equal, different) == read_bases
    assert bases_of(deletion, equal, different) == contig_bases
    assert bases_of(equal) == alignments.matches.tolist()
    assert bases_of(insertion, deletion, different) == alignments.edit_distances.tolist()


def test_text_bytes_and_ragged_are_the_same(index: hapgpu.LongReadIndex, reads: list[str]) -> None:
    expected = columns_of(index.map(reads, device="cpu", threads=1))
    as_bytes = [read.encode() for read in reads]
    for others in (as_bytes, Ragged.from_sequences(reads), [*as_bytes[:5], *reads[5:]]):
        assert columns_of(index.map(others, device="cpu", threads=1)) == expected


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("block", [1, 20_000])
def test_neither_threads_nor_blocks_change_the_rows(
    index: hapgpu.LongReadIndex,
    reads: list[str],
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    block: int,
) -> None:
    mappings = columns_of(index.map(reads, device="cpu", threads=1))
    alignments = columns_of(index.align(reads, threads=1))
    monkeypatch.setattr(pipeline, "_CPU_BLOCK", block)
    assert columns_of(index.map(reads, device="cpu", threads=threads)) == mappings
    assert columns_of(index.align(reads, threads=threads)) == alignments


_PIECES = st.tuples(
    st.sampled_from(["chr1", "chr2", "chr3"]),
    st.integers(0, 11_000),
    st.integers(0, 1500),
    st.booleans(),
    st.sampled_from([str, str.lower, str.swapcase]),
    st.sampled_from(["", "N", "n" * 40, "RYKM", "-*.", "ACGU"]),
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["a", "a", "b/1", "7"]), _PIECES)),
    st.sampled_from([str.upper, lambda read: read.upper().replace("T", "U")]),
)
def test_any_reads(
    index: hapgpu.LongReadIndex,
    sample: Sample,
    tmp_path_factory: pytest.TempPathFactory,
    pieces: list[tuple[str, Any]],
    written: Any,
) -> None:
    """Empty reads, letters other than A, C, G and T, RNA, and names that repeat."""
    pytest.importorskip("pandas")
    names, reads = [], []
    for name, (contig, start, length, is_reverse, case, insert) in pieces:
        bases = sample.contigs[contig][start : start + length]
        read = written(complement(bases) if is_reverse else bases)
        names.append(name)
        reads.append(case(read[: length // 2]) + insert + read[length // 2 :])
    directory = tmp_path_factory.mktemp("any")
    path = directory / "reads.fa"
    path.write_text("".join(f">{name}\n{read}\n" for name, read in zip(names, reads, strict=True)))
    mappings = index.map(reads, names=names, device="cpu", threads=1)
    assert paf_lines(index, mappings) == command_lines(directory / "out", sample.fasta, path)
    alignments = index.align(reads, names=names, threads=1)
    expected = command_lines(directory / "out", sample.fasta, path, "-c")
    assert paf_lines(index, alignments) == expected


def test_a_read_of_a_megabase(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    random = Random(4)  # noqa: S311  (reproducible data, not secrets)
    bases = letters(random, 1_050_000)
    fasta, path = tmp_path / "ref.fa", tmp_path / "reads.fa"
    fasta.write_text(f">long\n{bases}\n")
    reads = [bases[:300], with_errors(random, bases[20_000:1_020_000]), bases[500:900]]
    path.write_text("".join(f">{row}\n{read}\n" for row, read in enumerate(reads)))
    index = hapgpu.LongReadIndex.build(fasta, threads=2)
    mappings = index.map(reads, device="cpu", threads=2)
    assert paf_lines(index, mappings) == command_lines(tmp_path / "out", fasta, path)
    alignments = index.align(reads, threads=2)
    assert paf_lines(index, alignments) == command_lines(tmp_path / "out", fasta, path, "-c")
    assert alignments.read_ends.max() > 990_000


@pytest.mark.parametrize(
    ("reads", "message"),
    [
        (["ACGT", "AC!T"], "reads, record 1 '1': invalid character '!' in its sequence"),
        (["ACGT", "AC T"], "reads, record 1 '1': invalid character ' ' in its sequence"),
        (["ACGT", "AC\0T"], r"reads, record 1 '1': invalid character '\x00' in its sequence"),
        (["ACGT", "AC\nT"], "read 1: contains a line break; remove it"),
        (["ACGT\r"], "read 0: contains a line break; remove it"),
        (["ACGT", "ACGTé"], "read 1: contains a non-ASCII character; give ASCII text"),
        (
            Ragged.from_lengths(np.full(100_000_003, ord("A"), np.uint8), [2, 100_000_001]),
            "read 1: more than 100,000,000 bases; give shorter reads",
        ),
    ],
    ids=["other", "blank", "null", "newline", "return", "not ASCII", "long"],
)
def test_bad_reads(index: hapgpu.LongReadIndex, reads: list[str] | Ragged, message: str) -> None:
    with pytest.raises(InputError) as raised:
        index.map(reads, device="cpu", threads=1)
    assert str(raised.value).startswith(message)
    with pytest.raises(InputError) as raised:
        index.align(reads, threads=2)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", ""], "reads, record 1: it has no name; add one"),
        (["a", " b"], "reads, record 1 'b': it has no name; add one"),
        (["a\nb", "c"], "name 0: contains a line break; remove it"),
        (["a", "b\x01"], r"reads, record 1 'b\x01': invalid character '\x01' in its name"),
        (["a", "é"], "name 1: contains a non-ASCII character; give ASCII text"),
    ],
)
def test_bad_names(index: hapgpu.LongReadIndex, names: list[str], message: str) -> None:
    with pytest.raises(InputError) as raised:
        index.map(["ACGT", "ACGT"], names=names, device="cpu", threads=1)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("reads", "names", "message"),
    [
        ("ACGT", None, "reads: not a list; give a list, even for one read"),
        (["ACGT", 5], None, "read 1: of type int; give str, bytes or pysam"),
        (Ragged.from_lengths(np.arange(3), [3]), None, "reads: a Ragged of int64; give"),
        (["ACGT"], ["a", "b"], "names: 2 for 1 reads; give one per read"),
        (["ACGT"], "a", "names: not a list; give a list, even for one name"),
    ],
    ids=["text", "number", "numbers", "more names", "name"],
)
def test_wrong_types(index: hapgpu.LongReadIndex, reads: Any, names: Any, message: str) -> None:
    with pytest.raises(UsageError, match="^" + message):
        index.map(reads, names=names, device="cpu")


def test_too_many_anchors(
    index: hapgpu.LongReadIndex, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the read; `max_record` raises the limit."""
    few = replace(PRESETS["map-ont"], max_anchors=0)
    monkeypatch.setattr(index_api, "_options_of", lambda _: few)
    reads = ["ACGT", sample.reads["unit"]]
    message = r"^reads, record 1, read 1: has [0-9,]+ anchors, more than 300; drop frequent"
    for call in (index.map, index.align):
        with pytest.raises(InputError, match=message):
            call(reads, device="cpu", threads=1)
        assert len(call(reads, device="cpu", threads=1, max_record=16 * 5000)) >= 1


def test_names_are_kept(index: hapgpu.LongReadIndex, reads: list[str]) -> None:
    names = [f"r{row}".encode() if row % 2 else f"r{row}" for row in range(len(reads))]
    mappings = index.map(reads, names=names, device="cpu", threads=1)
    assert mappings.read_names == tuple(f"r{row}" for row in range(len(reads)))


def test_data_frame(index: hapgpu.LongReadIndex, reads: list[str]) -> None:
    pytest.importorskip("pandas")
    names = [f"read{row}" for row in range(len(reads))]
    alignments = index.align(reads, names=names, threads=1)
    frame = alignments.to_dataframe()
    for name in ("read", "start", "end", "read_start", "edit_distance", "anchor_count"):
        assert frame[name].tolist() == getattr(alignments, f"{name}s").tolist()
    assert frame["mapping_quality"].tolist() == alignments.mapping_qualities.tolist()
    contigs = [alignments.contig_names[number] for number in alignments.contigs]
    assert frame["contig"].tolist() == contigs
    assert frame["strand"].tolist() == ["+-"[strand] for strand in alignments.strands]
    assert frame["read_name"].tolist() == [names[read] for read in alignments.reads]
    assert frame["cigar"].tolist() == alignments.cigar_strings()
    plural = {name for name in frame.columns if name.endswith("s") and not name.startswith("is_")}
    assert plural == {"matches", "ambiguous_bases"}
    assert len(index.map([], device="cpu").to_dataframe()) == 0


def test_data_frame_without_pandas(
    index: hapgpu.LongReadIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        UsageError, match=r"^to_dataframe: pandas is missing; run: pip install pandas$"
    ):
        index.map([], device="cpu").to_dataframe()


def test_progress(
    index: hapgpu.LongReadIndex, reads: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    index.map(reads, device="cpu", threads=1, progress=True)
    index.align(reads[:3], threads=1)
    shown = capsys.readouterr()
    assert f"{len(reads)}/{len(reads)}" in shown.err.replace(".0", "")
    assert "3/3" not in shown.err
    assert not shown.out


def test_records_of_pysam(index: hapgpu.LongReadIndex, reads: list[str]) -> None:
    """A record gives its bases as sequenced, and its name."""
    header = pysam.AlignmentHeader.from_references(["c"], [10])
    records = []
    for number, read in enumerate(reads):
        record = pysam.AlignedSegment(header)
        record.query_name, record.is_reverse = f"r{number}", bool(number % 2)
        record.query_sequence = reverse_complement(read) if number % 2 else read
        records.append(record)
    names = [f"r{number}" for number in range(len(reads))]
    expected = columns_of(index.map(reads, names=names, device="cpu", threads=1))
    assert columns_of(index.map(records, device="cpu", threads=1)) == expected


def test_rows_of_errors_count_all_reads(index: hapgpu.LongReadIndex) -> None:
    """Text is made piece by piece; messages and names have the row among all reads."""
    reads: list[Any] = ["ACGTTGCA" * 300_000] * 3
    with pytest.raises(UsageError, match=r"^read 3: of type int;"):
        index.map([*reads, 5], device="cpu", threads=1)
    with pytest.raises(InputError, match=r"^read 3: contains a line break;"):
        index.map([*reads, "A\nC"], device="cpu", threads=1)
    assert index.map([*reads, "A"], device="cpu", threads=1).read_lengths.tolist()[3] == 1


def test_an_array_of_text_is_a_list(index: hapgpu.LongReadIndex, reads: list[str]) -> None:
    array: Any = np.array(reads, dtype=np.object_)
    expected = columns_of(index.map(reads, device="cpu", threads=1))
    assert columns_of(index.map(array, device="cpu", threads=1)) == expected
    assert len(index.map(array[:0], device="cpu", threads=1)) == 0
