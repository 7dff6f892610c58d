"""Alignment files, and standard input."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bam.header import SamHeader
from tests.io.alignments.reading import HEADER, Feed, numbered_rows
from tests.io.sam_oracle import batch_of


@pytest.fixture(scope="module")
def small_bam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a BAM of several blocks, sorted and indexed."""
    path = tmp_path_factory.mktemp("small") / "small.bam"
    with open_writer(str(path), HEADER) as writer:
        writer.write(batch_of(numbered_rows(4000)))
    pysam.samtools.index(str(path))
    return path


@pytest.fixture(scope="module")
def cram(small_bam: Path) -> tuple[Path, Path]:
    """Return a CRAM with its index, and the reference that it needs."""
    reference = small_bam.with_name("reference.fa")
    random = np.random.default_rng(3)
    for name, length in (("chr1", 50_000), ("chr2", 1000)):
        with reference.open("a") as file:
            bases = "".join(random.choice(list("ACGT"), length))
            file.write(f">{name}\n{bases}\n")
    header = SamHeader.from_references(["chr1", "chr2"], [50_000, 1000])
    path = small_bam.with_suffix(".cram")
    with open_writer(str(path), header, reference=reference) as writer:
        writer.write(batch_of(numbered_rows(4000)))
    pysam.samtools.index(str(path))
    return path, reference


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Feed]:
    """Return a function that makes standard input a pipe through which data come in pieces."""
    with ExitStack() as stack:

        def connect(data: bytes, piece: int = 1 << 16) -> None:
            reading, writing = os.pipe()
            thread = threading.Thread(target=_write, args=(writing, data, piece))
            thread.start()
            stack.callback(thread.join)
            monkeypatch.setattr(sys, "stdin", stack.enter_context(os.fdopen(reading, "r")))

        yield connect


def _write(descriptor: int, data: bytes, piece: int) -> None:
    with os.fdopen(descriptor, "wb", buffering=0) as sink, suppress(BrokenPipeError):
        sink.writelines(data[start : start + piece] for start in range(0, len(data), piece))
