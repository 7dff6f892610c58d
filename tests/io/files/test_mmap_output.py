"""Bytes appended to a file by several threads: all of them, in order, or none."""

from __future__ import annotations

import errno
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from hapgpu.errors import OutputError
from hapgpu.io.alignments.text_pipeline import open_sam_text
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.files import text_output
from hapgpu.io.files.output import OutputFile
from hapgpu.io.files.text_output import MmapOutput

PAGE = os.sysconf("SC_PAGE_SIZE")
HEADER = SamHeader.from_references(["chr1"], [1000], "SO:unsorted")


def made_pieces() -> list[bytes]:
    """Pieces around the sizes of a page and of one thread's copy, in a random order."""
    random = Random(7)  # noqa: S311  (reproducible data, not secrets)
    sizes = [0, 1, 2, 63, *range(PAGE - 1, PAGE + 2), *range(3 * PAGE - 1, 3 * PAGE + 2), 99_999]
    sizes += [random.randrange(30_000) for _ in range(40)]
    random.shuffle(sizes)
    return [random.randbytes(size) for size in sizes]


def write(path: Path, pieces: Sequence[bytes], threads: int) -> None:
    with OutputFile(path) as output, MmapOutput(output, threads) as writer:
        for piece in pieces:
            writer.write(memoryview(piece))


def without_populating(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages not be made, as on a full disk or with an old kernel."""
    monkeypatch.setattr(text_output, "_copy_to_pages", lambda *_: 0)


def disk_with_room(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the reserved size of files."""
    without_populating(monkeypatch)
    reserve = os.posix_fallocate

    def limited(descriptor: int, offset: int, length: int) -> None:
        if offset + length > size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        reserve(descriptor, offset, length)

    monkeypatch.setattr(os, "posix_fallocate", limited)


@pytest.mark.parametrize("threads", [1, 3, 8])
@pytest.mark.parametrize("copied_at_once", [1000, PAGE, 4 << 20])
def test_all_bytes_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, copied_at_once: int
) -> None:
    monkeypatch.setattr(text_output, "_SHARE_BYTES", copied_at_once)
    pieces = made_pieces()
    write(tmp_path / "out", pieces, threads)
    assert (tmp_path / "out").read_bytes() == b"".join(pieces)


@pytest.mark.parametrize("pieces", [[], [b""]])
def test_nothing_written_is_an_empty_file(tmp_path: Path, pieces: list[bytes]) -> None:
    write(tmp_path / "out", pieces, 2)
    assert (tmp_path / "out").read_bytes() == b""


def test_memory_of_earlier_pieces_is_let_go(tmp_path: Path) -> None:
    """At most two pieces are kept."""
    with OutputFile(tmp_path / "out") as output, MmapOutput(output, 3) as writer:
        kept = []
        for letter in b"abc":
            piece = np.full(5 * PAGE, letter, dtype=np.uint8)
            kept.append(weakref.ref(piece))
            writer.write(piece.data)
            del piece
        assert kept[0]() is None
    expected = b"".join(bytes([letter]) * 5 * PAGE for letter in b"abc")
    assert (tmp_path / "out").read_bytes() == expected


def test_without_populating_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_populating(monkeypatch)
    pieces = made_pieces()
    write(tmp_path / "out", pieces, 3)
    assert (tmp_path / "out").read_bytes() == b"".join(pieces)


@pytest.mark.parametrize("kind", [text_output._SMALL_PAGES, text_output._HUGE_PAGES])
def test_either_kind_of_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: int) -> None:
    """Where there are no huge pages, small ones take their place."""
    monkeypatch.setattr(text_output._FasterPages, "kind", lambda _: kind)
    pieces = [*made_pieces(), bytes(range(256)) * 40_000, b"the end"]
    write(tmp_path / "out", pieces, 3)
    assert (tmp_path / "out").read_bytes() == b"".join(pieces)


def test_the_faster_kind_of_pages_is_taken() -> None:
    small, huge = text_output._SMALL_PAGES, text_output._HUGE_PAGES
    for times in ({small: 1.0, huge: 2.0}, {small: 2.0, huge: 1.0}):
        pages = text_output._FasterPages()
        taken = []
        for _ in range(160):
            taken.append(pages.kind())
            pages.note(taken[-1], taken[-1], times[taken[-1]] * 10, 10)
        assert taken[:16] == [huge, small] * 8
        slower = max(times, key=times.__getitem__)
        assert taken[16:].count(slower) == 9
    pages = text_output._FasterPages()
    for _ in range(160):
        taken.append(pages.kind())
        pages.note(taken[-1], small, 1.0, 10)  # as without huge pages
    assert taken[-144:] == [small] * 144


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk_with_room(10 * PAGE, monkeypatch)
    path = tmp_path / "out"
    with pytest.raises(OutputError, match=rf"{path}: cannot be written \(No space left on device"):
        write(path, [bytes(4 * PAGE)] * 3, 2)
    assert not list(tmp_path.iterdir())


def test_a_disk_with_just_enough_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk_with_room(12 * PAGE, monkeypatch)
    pieces = [bytes([letter]) * 4 * PAGE for letter in b"abc"]
    write(tmp_path / "out", pieces, 2)
    assert (tmp_path / "out").read_bytes() == b"".join(pieces)


def test_an_error_discards_the_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"what was there")

    def fail(writer: MmapOutput) -> None:
        writer.write(memoryview(b"some bytes"))
        raise KeyError

    with pytest.raises(KeyError), OutputFile(path) as output, MmapOutput(output, 2) as writer:
        fail(writer)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"what was there"


@pytest.mark.parametrize("threads", [1, 4])
def test_sam_is_the_same_with_any_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    made: list[int] = []

    class Watched(MmapOutput):
        def __init__(self, output: OutputFile, threads: int) -> None:
            made.append(threads)
            super().__init__(output, threads)

    monkeypatch.setattr(text_output, "MmapOutput", Watched)
    lines = [f"r{k}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n".encode() for k in range(500)]
    path = tmp_path / "out.sam"
    with open_sam_text(str(path), HEADER, copying_threads=threads) as sink:
        for line in lines:
            sink.write(memoryview(line))
    assert path.read_bytes() == HEADER.text.encode() + b"".join(lines)
    assert made == [4] * (threads > 1)


def test_a_pipe_is_written_by_one_thread(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with open_sam_text("-", HEADER, copying_threads=4) as sink:
        sink.write(memoryview(b"a line\n"))
    assert capfdbinary.readouterr().out == HEADER.text.encode() + b"a line\n"
