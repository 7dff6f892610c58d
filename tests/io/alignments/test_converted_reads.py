"""Sources of reads that cannot be opened: they release all resources, and no process waits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hapgpu.errors import InputError
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.alignments.samtools_convert import Samtools
from hapgpu.io.genome.regions import Region, RegionChoice

BAD_HEADER = "@SQ\tSN:chr1\tLN:x\n"
READ_STDIN = """
import os
from hapgpu.errors import InputError
from hapgpu.io.alignments.reader import open_reads
try:
    open_reads("-", threads=3)
except InputError as error:
    print(error, flush=True)
os._exit(1)
"""


def open_files() -> set[str]:
    """Return the targets of the descriptors of this process."""
    descriptors = sorted(Path("/proc/self/fd").iterdir())
    return {os.path.realpath(descriptor) for descriptor in descriptors if descriptor.exists()}


def test_a_fault_of_a_pipe_is_reported_before_the_pipe_ends() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", READ_STDIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with child:
        assert child.stdin
        assert child.stdout
        child.stdin.write(BAD_HEADER.encode() + b"r" * 100_000)
        child.stdin.flush()
        assert b"chr1" in child.stdout.readline()  # while the pipe is open


def test_resources_of_a_file_of_bad_sam_are_released(tmp_path: Path) -> None:
    path = tmp_path / "reads.sam"
    path.write_text(BAD_HEADER)
    before = open_files()
    with pytest.raises(InputError, match="chr1"):
        open_reads(str(path), threads=3)
    assert open_files() == before


def test_a_samtools_that_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(Samtools, "__init__", refuse)
    path = tmp_path / "reads.sam"
    path.write_text("@SQ\tSN:chr1\tLN:9\n")
    before = open_files()
    with pytest.raises(OSError, match="no more processes") as caught:
        open_reads(str(path), regions=RegionChoice((Region("chr1", 0, 5),)))
    assert open_files() == before
    del caught
