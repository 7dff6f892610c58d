"""Records of an indexed VCF by their positions: large files, and files that do not fit."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from hapgpu.calling.known import indexed_vcf
from hapgpu.calling.known.indexed_vcf import IndexedVcf, warn_of_old_index
from hapgpu.errors import InputError
from tests.calling.known.made_known import compress, known_file

EVERY = 7


@pytest.fixture(scope="module", params=[False, True], ids=["tbi", "csi"])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of two contigs whose records fill many blocks."""
    lines = [
        f"{contig} {at} {contig}_{at} A C . . {'x' * (at % 90)}"
        for contig in ("a", "HLA*1:2")
        for at in range(1, 200_000, EVERY)
    ]
    path = tmp_path_factory.mktemp("many") / "many.vcf.gz"
    return known_file(path, lines, is_csi=request.param)


@pytest.mark.parametrize("read_bytes", [1 << 18, 100])
@pytest.mark.parametrize("contig", ["a", "HLA*1:2"])
@pytest.mark.parametrize("step", [1, 50, 20_000, 150_000])
def test_all_records_at_some_positions(
    many: Path, contig: str, step: int, read_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the gaps between them, and the pieces of text."""
    monkeypatch.setattr(indexed_vcf, "_READ_BYTES", read_bytes)
    positions = np.arange(step // 2, 2000 if step == 1 else 210_000, step)
    with IndexedVcf(many) as source:
        found = list(source.lines_at(contig, positions))
    expected = [
        (number, f"{contig}_{position + 1}")
        for number, position in enumerate(positions.tolist())
        if position % EVERY == 0 and position < 200_000
    ]
    assert [(number, line.split("\t")[2]) for number, line in found] == expected


def test_a_last_line_without_newline(tmp_path: Path) -> None:
    path = known_file(tmp_path / "x.vcf.gz", [])
    plain = path.with_suffix("")
    plain.write_text(plain.read_text() + "1\t5\tx\tA\tC\t.\t.\t.")
    compress(plain, path)
    with IndexedVcf(path) as source:
        assert [line.split("\t")[2] for _, line in source.lines_at("1", np.array([4, 9]))] == ["x"]


def test_an_index_of_another_file(many: Path, tmp_path: Path) -> None:
    lines = [f"{contig} {at} . A C . . ." for contig in ("b", "a") for at in range(1, 90_000, 9)]
    other = known_file(tmp_path / "other.vcf.gz", lines)
    for suffix in (".tbi", ".csi"):
        other.with_name(f"other.vcf.gz{suffix}").unlink(missing_ok=True)
    (index,) = many.parent.glob("*.?*i")
    shutil.copy(index, other.with_name(f"other.vcf.gz{index.suffix}"))
    with IndexedVcf(other) as source, pytest.raises(InputError, match="run: tabix -f -p vcf"):
        list(source.lines_at("a", np.array([90_000 // 2])))


def test_a_process_of_its_own(many: Path) -> None:
    """A file that is opened before a fork has its own position after it."""
    with IndexedVcf(many) as source:
        assert next(source.lines_at("a", np.array([0])))[0] == 0
        shared = source._file
        source._process = 0
        assert len(list(source.lines_at("a", np.array([7, 14])))) == 2
        assert source._file is not shared


def test_an_old_index_is_a_warning(many: Path, caplog: pytest.LogCaptureFixture) -> None:
    index = indexed_vcf.index_beside(many, indexed_vcf.VCF_INDEXES)
    assert index is not None
    os.utime(index, (1, 1))
    warn_of_old_index(many)
    assert f"{index}: older than {many}; if the file has changed since" in caplog.text
