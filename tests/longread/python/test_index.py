"""Indexes of `hapgpu.LongReadIndex`: built, saved, and loaded with or without the reference."""

from __future__ import annotations

import gzip
import logging
from pathlib import Path
from typing import Any

import pytest

import hapgpu
from hapgpu.errors import InputError, UsageError
from tests.cli.chain.command import Sample
from tests.cli.in_process import status_of_command
from tests.longread.python.test_reads import columns_of


@pytest.fixture(scope="module")
def saved(index: hapgpu.LongReadIndex, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "reference.hgm"
    index.save(path)
    return path


def test_properties(index: hapgpu.LongReadIndex, sample: Sample) -> None:
    assert index.contig_names == tuple(sample.contigs)
    assert index.contig_lengths == tuple(map(len, sample.contigs.values()))
    assert (index.k, index.w, index.preset) == (15, 10, "map-ont")


def test_saved_file_is_the_command_s(saved: Path, sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "made.hgm"
    assert status_of_command("index", "--minimizers", sample.fasta, "-o", path, "-q") == 0
    assert path.read_bytes() == saved.read_bytes()


def test_loaded_with_the_reference(
    index: hapgpu.LongReadIndex, saved: Path, sample: Sample
) -> None:
    reads = list(sample.reads.values())
    loaded = hapgpu.LongReadIndex.load(saved, reference=sample.fasta, threads=1)
    expected = columns_of(index.align(reads, threads=1))
    assert columns_of(loaded.align(reads, threads=1)) == expected


def test_loaded_without_the_reference(
    index: hapgpu.LongReadIndex, saved: Path, sample: Sample
) -> None:
    reads = list(sample.reads.values())
    loaded = hapgpu.LongReadIndex.load(saved)
    expected = columns_of(index.map(reads, device="cpu", threads=1))
    assert columns_of(loaded.map(reads, device="cpu", threads=1)) == expected
    message = r"^index: has no bases to align; load it with reference=REF\.fa$"
    with pytest.raises(UsageError, match=message):
        loaded.align(reads)


def test_another_preset(saved: Path, sample: Sample, caplog: pytest.LogCaptureFixture) -> None:
    """The minimizers are those of the index; the other options are those of the preset."""
    with caplog.at_level(logging.WARNING):
        loaded = hapgpu.LongReadIndex.load(saved, preset="map-hifi")
    (record,) = caplog.records
    assert record.message == f"{saved}: built with -k 15 -w 10; ignoring -k 19 -w 19"
    assert (loaded.k, loaded.w, loaded.preset) == (15, 10, "map-hifi")
    reads = list(sample.reads.values())
    expected = hapgpu.LongReadIndex.build(sample.fasta, preset="map-hifi", kmer=15, window=10)
    mapped = expected.map(reads, device="cpu", threads=1)
    assert columns_of(loaded.map(reads, device="cpu", threads=1)) == columns_of(mapped)


def test_another_reference(saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.fa"
    other.write_text(">x\nACGT\n")
    with pytest.raises(InputError, match=r"reference\.hgm: "):
        hapgpu.LongReadIndex.load(saved, reference=other)


@pytest.mark.parametrize("preset", ["sr", "", "MAP-ONT"])
def test_unknown_preset(saved: Path, preset: str) -> None:
    with pytest.raises(UsageError, match=f"^preset {preset!r}: unknown; give one of map-ont, "):
        hapgpu.LongReadIndex.load(saved, preset=preset)


def test_files_that_are_no_index(sample: Sample, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        hapgpu.LongReadIndex.load(sample.fasta)
    with pytest.raises(InputError, match="no such file"):
        hapgpu.LongReadIndex.load(tmp_path / "none.hgm")
    with pytest.raises(InputError):
        hapgpu.LongReadIndex.build(tmp_path / "none.fa")


def test_compressed_reference(index: hapgpu.LongReadIndex, sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "reference.fa.gz"
    path.write_bytes(gzip.compress(sample.fasta.read_bytes()))
    built = hapgpu.LongReadIndex.build(path, threads=2)
    reads = list(sample.reads.values())[:5]
    expected = columns_of(index.align(reads, threads=1))
    assert columns_of(built.align(reads, threads=1)) == expected


def test_progress(sample: Sample, capsys: pytest.CaptureFixture[str]) -> None:
    hapgpu.LongReadIndex.build(sample.fasta, threads=1, progress=True)
    last = capsys.readouterr().err.split("\r")[-1]
    assert last.startswith("indexing, built: 100%")


def test_only_an_index_is_written_over(
    saved: Path, sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference is not, however it is named, nor by an index that was loaded without it."""
    monkeypatch.chdir(tmp_path)
    fasta = Path("ref.fa")
    before = sample.fasta.read_bytes()
    fasta.write_bytes(before)
    built = hapgpu.LongReadIndex.build(fasta, threads=1)
    Path("below").mkdir()
    monkeypatch.chdir("below")
    for index in (built, hapgpu.LongReadIndex.load(saved)):
        with pytest.raises(UsageError, match=r"ref\.fa: exists and is no index; give another file"):
            index.save(tmp_path / fasta)
        assert (tmp_path / fasta).read_bytes() == before
    (tmp_path / fasta).unlink()
    for _ in range(2):
        built.save("out.hgm")
        assert Path("out.hgm").read_bytes() == saved.read_bytes()


def test_the_remedy_has_the_minimizers_of_the_index(saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.fa"
    other.write_text(">x\nACGT\n")
    with pytest.raises(InputError, match=r"run: hapgpu index --minimizers [^ ]*other\.fa$"):
        hapgpu.LongReadIndex.load(saved, preset="map-hifi", reference=other)


@pytest.mark.parametrize(
    "given", [{"reference": 5}, {"reference": "r.fa", "preset": ["a"]}], ids=["file", "preset"]
)
def test_arguments_of_a_wrong_type(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"reference: of type int; give str or a path|preset \['a"):
        hapgpu.LongReadIndex.build(**given)
