"""Inputs are checked before a command imports what computes, and before anything is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hapgpu.cli.catalogue import COMMANDS, METHODS, command_module

HEAVY = {"numpy", "cupy", "numba", "pysam", "isal", "deflate", "tqdm", "hapgpu.cli.run"}
REPORTED = """
import os, sys
leave = os._exit
def end(status):
    print(*sorted(sys.modules))
    sys.stdout.flush()
    leave(status)
os._exit = end
from hapgpu.cli.app import main
main()
"""
"""Runs a command and prints the modules that it has imported at its end."""

FAULTS = [
    ("realign none.bam ref.fa", "none.bam: no such file"),
    ("realign reads.fq absent.fa", "absent.fa: no such file"),
    ("pairhmm reads.fq ref.fa", "reads.fq: looks like FASTQ; give BAM, CRAM or SAM"),
    ("pairhmm --batches folder", "folder: is a directory; give a file"),
    ("haplotypes ref.fa none.vcf", "ref.fa: no index ref.fa.fai; run: samtools faidx ref.fa"),
    ("call empty ref.fa", "empty: empty; give BAM, CRAM or SAM"),
    ("genotype text ref.fa none.vcf", "text: unknown kind of file; give BAM, CRAM or SAM"),
    ("index reads.fq", "reads.fq: looks like FASTQ; give FASTA (the reference)"),
    ("index --minimizers text", "text: unknown kind of file; give FASTA (the reference)"),
    ("map reads.fq reads.fq", "reads.fq: looks like FASTQ; give FASTA (the reference)"),
    ("map indexed.fa reads.fq", "indexed.fa.hgx: looks like FASTQ, expected the index of hapgpu"),
    ("chain indexed.fa reads.fq", "indexed.fa.k15w10.hgm: looks like FASTQ, expected the index"),
    ("chain -a ref.hgm reads.fq", "ref.hgm: looks like the index of hapgpu chain; give FASTA"),
    ("chain --anchors text", "text: unknown kind of file; give NumPy arrays"),
    ("report reads.fq", "reads.fq: looks like FASTQ; give VCF, BCF, PAF, BAM, SAM, CRAM"),
    ("bench map --reference reads.fq", "reads.fq: looks like FASTQ; give FASTA"),
]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    inputs = tmp_path / "inputs"
    (inputs / "folder").mkdir(parents=True)
    for name, content in {
        "ref.fa": b">one chr1:5-8\nACGT\n",
        "indexed.fa": b">one\nACGT\n",
        "indexed.fa.hgx": b"@r\nACGT\n+\nIIII\n",
        "indexed.fa.k15w10.hgm": b"@r\nACGT\n+\nIIII\n",
        "reads.fq": b"@r\nACGT\n+\nIIII\n",
        "ref.hgm": b"\x89HGM\r\n\x1a\n",
        "text": b"lorem ipsum\n",
        "empty": b"",
    }.items():
        (inputs / name).write_bytes(content)
    return inputs


@pytest.mark.parametrize(("line", "message"), FAULTS)
def test_nothing_is_imported_or_compiled_before(
    directory: Path, tmp_path: Path, line: str, message: str
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    words = line.split()
    done = subprocess.run(
        [sys.executable, "-c", REPORTED, *words],
        cwd=directory,
        env={**os.environ, "HAPGPU_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.startswith(f"hapgpu {words[0]}: error: {message}")
    assert done.stderr.count("\n") == 1
    assert done.returncode == 1
    assert not HEAVY & {*done.stdout.split()}
    assert not [*cache.iterdir()]


def test_every_command_with_inputs_is_among_them() -> None:
    commands = [name for name in COMMANDS if name != "bench" and command_module(name).FILES.reads]
    assert {*commands, "bench"} == {line.split()[0] for line, _ in FAULTS}


def test_every_input_has_its_kinds() -> None:
    names = [*((name,) for name in COMMANDS if name != "bench"), *(("bench", m) for m in METHODS)]
    for words in names:
        for read in command_module(*words).FILES.reads:
            assert read.expected is not None, (words, read.parameter)
