"""Written VCF is read by pysam, tabix and bcftools, and is whole or absent."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.errors import OutputError, UsageError
from hapgpu.io.bgzf.marks import EOF_BLOCK, is_bgzf
from hapgpu.io.vcf.writer import VcfWriter

LENGTHS = (64_000_000, 1_000_000)
LONG = 2**31 - 1
HEADER = (
    b"##fileformat=VCFv4.3\n"
    b"##contig=<ID=chr1,length=64000000>\n"
    b"##contig=<ID=chr2,length=1000000>\n"
    b"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
)


def lines_of(contig: str, positions: Sequence[int]) -> bytes:
    return b"".join(b"%s\t%d\t.\tA\tC\t.\t.\t.\n" % (contig.encode(), at) for at in positions)


def random_lines(count: int = 20_000) -> bytes:
    positions = np.sort(np.random.default_rng(1).integers(1, LENGTHS[1], (2, count)))
    return lines_of("chr1", positions[0] * 64) + lines_of("chr2", positions[1])


def write(
    path: Path | str, *pieces: bytes, lengths: Sequence[int] = LENGTHS, threads: int = 1
) -> None:
    with VcfWriter(str(path), HEADER, lengths, threads) as writer:
        for piece in pieces:
            writer.write(piece)


def fetched(path: Path, contig: str, start: int, end: int) -> list[str]:
    (index,) = path.parent.glob(f"{path.name}.*")
    with pysam.TabixFile(str(path), index=str(index)) as file:
        return list(file.fetch(contig, start, end))


def files_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("name", ["calls.vcf", "calls", "calls.txt"])
def test_text(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, b"one\n", b"two\n")
    assert (tmp_path / name).read_bytes() == HEADER + b"one\ntwo\n"
    assert files_in(tmp_path) == [name]


def test_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write("-", b"one\n")
    assert capfdbinary.readouterr().out == HEADER + b"one\n"


@pytest.mark.parametrize("name", ["calls.vcf.gz", "calls.vcf.bgz", "calls.gz", "CALLS.VCF.GZ"])
def test_bgzf_and_its_index(tmp_path: Path, name: str) -> None:
    path, lines = tmp_path / name, random_lines()
    write(path, lines)
    assert files_in(tmp_path) == [name, f"{name}.tbi"]
    data = path.read_bytes()
    assert is_bgzf(data)
    assert data.endswith(EOF_BLOCK)
    assert gzip.decompress(data) == HEADER + lines
    for contig, start, end in (("chr1", 0, 100_000), ("chr1", 16_383, 16_384 * 5), ("chr2", 5, 99)):
        assert fetched(path, contig, start, end) == [
            line
            for line in lines.decode().splitlines()
            if line.startswith(f"{contig}\t") and start < int(line.split("\t")[1]) <= end
        ]


def test_tools_accept_it_without_messages(tmp_path: Path) -> None:
    path, lines = tmp_path / "calls.vcf.gz", random_lines()
    write(path, lines)
    expected = [line for line in lines.splitlines() if line.startswith(b"chr2\t")]
    for tool in (["tabix"], ["bcftools", "view", "-H", "-r"]):
        if not shutil.which(tool[0]):
            continue
        arguments = [*tool, str(path), "chr2"] if len(tool) == 1 else [*tool, "chr2", str(path)]
        run = subprocess.run(arguments, capture_output=True, check=True)
        assert run.stdout.splitlines() == expected
        assert run.stderr == b""


@pytest.mark.parametrize("lengths", [LENGTHS, (LONG,), ()])
def test_a_header_alone_is_indexed(tmp_path: Path, lengths: Sequence[int]) -> None:
    path = tmp_path / "empty.vcf.gz"
    write(path, lengths=lengths)
    with pysam.VariantFile(str(path)) as file:
        assert file.index is not None
        assert list(file.header.contigs) == ["chr1", "chr2"]
        assert list(file) == []


def test_a_long_contig_is_indexed_by_csi(tmp_path: Path) -> None:
    path = tmp_path / "wheat.vcf.gz"
    positions = [1, 2**29, 2**29 + 1, LONG - 1, LONG]
    write(path, lines_of("chr1", positions), lengths=[1000, LONG])
    assert files_in(tmp_path) == ["wheat.vcf.gz", "wheat.vcf.gz.csi"]
    for at in positions:
        assert fetched(path, "chr1", at - 1, at) == [lines_of("chr1", [at]).decode().rstrip()]


def test_the_longest_contig_of_a_tbi(tmp_path: Path) -> None:
    path = tmp_path / "calls.vcf.gz"
    write(path, lines_of("chr1", [2**29]), lengths=[2**29])
    assert files_in(tmp_path) == ["calls.vcf.gz", "calls.vcf.gz.tbi"]
    assert len(fetched(path, "chr1", 2**29 - 1, 2**29)) == 1


def test_output_depends_neither_on_threads_nor_on_pieces(tmp_path: Path) -> None:
    lines = random_lines()
    write(tmp_path / "a.vcf.gz", lines)
    write(tmp_path / "b.vcf.gz", *lines.splitlines(keepends=True), threads=3)
    for suffix in ("", ".tbi"):
        first, second = (tmp_path / f"{name}.vcf.gz{suffix}" for name in "ab")
        assert first.read_bytes() == second.read_bytes()


def test_an_index_of_an_earlier_file_is_not_left(tmp_path: Path) -> None:
    path = tmp_path / "calls.vcf.gz"
    write(path, lines_of("chr1", [LONG]), lengths=[LONG])
    write(path, lines_of("chr1", [7]))
    assert files_in(tmp_path) == ["calls.vcf.gz", "calls.vcf.gz.tbi"]
    assert len(fetched(path, "chr1", 0, 10)) == 1
    write(path, lines_of("chr1", [LONG]), lengths=[LONG])
    assert files_in(tmp_path) == ["calls.vcf.gz", "calls.vcf.gz.csi"]


def test_the_index_is_no_older_than_its_file(tmp_path: Path) -> None:
    path = tmp_path / "calls.vcf.gz"
    write(path, random_lines())
    index = tmp_path / "calls.vcf.gz.tbi"
    assert index.stat().st_mtime_ns >= path.stat().st_mtime_ns


def _contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def _fail_within(path: Path) -> None:
    with VcfWriter(str(path), HEADER, LENGTHS, 2) as writer:
        writer.write(random_lines())
        raise ZeroDivisionError


@pytest.mark.parametrize("name", ["calls.vcf.gz", "calls.vcf"])
def test_an_exception_keeps_the_old_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(ZeroDivisionError):
        _fail_within(path)
    assert files_in(tmp_path) == []
    write(path, b"chr1\t5\t.\tA\tC\t.\t.\t.\n")
    before = _contents(tmp_path)
    with pytest.raises(ZeroDivisionError):
        _fail_within(path)
    assert _contents(tmp_path) == before


def test_output_that_cannot_be_indexed_does_not_appear(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "calls.vcf.gz"
    write(path, lines_of("chr1", [7]))
    before = _contents(tmp_path)
    with pytest.raises(OutputError, match=r"calls\.vcf\.gz\.tbi: .* END"):
        write(path, b"chr1\t5\t.\tA\t<DEL>\t.\t.\tEND=700000000\n")
    assert _contents(tmp_path) == before
    assert capfd.readouterr().err == ""


def test_an_index_that_cannot_be_made_is_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "calls.vcf.gz.tbi").mkdir()
    writer = VcfWriter(str(tmp_path / "calls.vcf.gz"), HEADER, LENGTHS, 1)
    with (
        pytest.raises(OutputError, match=r"calls\.vcf\.gz\.tbi: is a directory"),
        writer,
    ):
        pytest.fail("no error before the first record")
    assert files_in(tmp_path) == ["calls.vcf.gz.tbi"]


def test_no_index_remains_beside_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rename = tmp_path / "calls.vcf.gz", Path.replace
    write(path, lines_of("chr1", [7]))

    def fail_on_index(self: Path, target: Path) -> Path:
        if target.suffix == ".tbi":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", fail_on_index)
    with pytest.raises(OutputError, match="No space left"):
        write(path, lines_of("chr1", [8]))
    assert files_in(tmp_path) == ["calls.vcf.gz"]
    assert gzip.decompress(path.read_bytes()) == HEADER + lines_of("chr1", [8])


def test_a_link_keeps_its_target(tmp_path: Path) -> None:
    target, link = tmp_path / "there" / "old.vcf.gz", tmp_path / "here" / "calls.vcf.gz"
    target.parent.mkdir()
    link.parent.mkdir()
    write(target, lines_of("chr1", [7]))
    link.symlink_to(target)
    write(link, lines_of("chr1", [8]))
    assert link.is_symlink()
    assert files_in(target.parent) == ["old.vcf.gz"]
    assert files_in(link.parent) == ["calls.vcf.gz", "calls.vcf.gz.tbi"]
    assert len(fetched(link, "chr1", 7, 8)) == 1


def test_links_instead_of_indexes(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "calls.vcf.gz", tmp_path / "elsewhere"
    elsewhere.mkdir()
    for suffix in ("tbi", "csi"):
        (elsewhere / suffix).write_text("old")
        (tmp_path / f"calls.vcf.gz.{suffix}").symlink_to(elsewhere / suffix)
    write(path, lines_of("chr1", [8]))
    assert files_in(tmp_path) == ["calls.vcf.gz", "calls.vcf.gz.tbi", "elsewhere"]
    assert (tmp_path / "calls.vcf.gz.tbi").is_symlink()
    assert len(fetched(path, "chr1", 7, 8)) == 1
    assert (elsewhere / "csi").read_text() == "old"


def test_a_device_instead_of_the_index(tmp_path: Path) -> None:
    (tmp_path / "calls.vcf.gz.tbi").symlink_to("/dev/null")
    with pytest.raises(OutputError, match=r"calls\.vcf\.gz\.tbi: not a regular file"):
        write(tmp_path / "calls.vcf.gz", lines_of("chr1", [8]))
    assert files_in(tmp_path) == ["calls.vcf.gz.tbi"]
    assert Path("/dev/null").is_char_device()


def test_a_pipe_is_compressed_but_not_indexed(tmp_path: Path) -> None:
    pipe, lines = tmp_path / "pipe.vcf.gz", random_lines()
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write(pipe, lines)
    reader.join()
    assert gzip.decompress(received[0]) == HEADER + lines
    assert files_in(tmp_path) == ["pipe.vcf.gz"]


def test_a_broken_pipe_is_propagated(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.vcf.gz"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def write_on() -> None:
        with VcfWriter(str(pipe), HEADER, LENGTHS, 2) as writer:
            os.close(reading)
            writer.write(os.urandom(1 << 22))

    with pytest.raises(BrokenPipeError):
        write_on()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("name", ["calls.vcf.gz", "calls.vcf"])
def test_a_full_disk_is_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("/dev/full")
    with pytest.raises(OutputError, match=rf"{name}: cannot be written \(No space left on device"):
        write(tmp_path / name, random_lines())
    assert files_in(tmp_path) == [name]


def test_a_name_that_htslib_splits_cannot_be_indexed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"splits names at '##idx##'.*; rename it$"):
        VcfWriter(str(tmp_path / "a##idx##b.vcf.gz"), b"", [], 1)
    assert not list(tmp_path.iterdir())
