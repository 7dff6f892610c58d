"""Checks of every fault, for all commands."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pysam

from tests.cli.in_process import only_error
from tests.faults.commands import Command
from tests.faults.processes.running import Done


def refused(done: Done, command: Command, status: int, *names: str) -> str:
    """Check the status of a failed run; return its only line, which has one of the names."""
    assert done.status == status, done
    assert not done.out
    line = only_error(command.subcommand, done.err)
    assert any(name in line for name in names), line
    return line


def contents(directory: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a directory, by its name there."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def state(directory: Path) -> dict[str, tuple[int, int, int]]:
    """Return inode, size and time of every file and directory below a directory.

    They change if a file is written. This takes a tenth of the time of `contents`.
    """
    found = {}
    for path, directories, files in os.walk(directory):
        found |= dict.fromkeys((f"{path}/{name}/" for name in directories), (0, 0, 0))
        for name in files:
            status = os.lstat(f"{path}/{name}")
            found[f"{path}/{name}"] = status.st_ino, status.st_size, status.st_mtime_ns
    return found


def plain(path: Path) -> bytes:
    """Return the content of a file, except the command that wrote it, and of a page the time.

    The compression of CRAM, and the slice offsets of its index, differ from run to run.
    """
    if path.suffix in {".bam", ".cram"}:
        reference = path.with_name("reference.fa")
        data = pysam.view("-h", "--no-PG", "-T", str(reference), str(path)).encode()
    elif path.suffix == ".crai":
        lines = gzip.decompress(path.read_bytes()).split(b"\n")
        return b"\n".join(b"\t".join(line.split(b"\t")[:3]) for line in lines)
    else:
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        data = data.partition(b"<footer>")[0] if data.startswith(b"<!DOCTYPE html>") else data
    stamps = b"@PG", b"##hapgpu_genotypeCommand", b"##hapgpu_callCommand"
    return b"\n".join(line for line in data.split(b"\n") if not line.startswith(stamps))
