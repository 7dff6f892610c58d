"""Indexes against their definition, and built on the GPU against built on the CPU."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from hapgpu.shortread.index import build, bwt
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.files import FM_INDEX_FILE
from hapgpu.shortread.index.fm_index import FMIndexArrays
from tests.shortread.index_oracle import (
    REFERENCES,
    Oracle,
    assert_same,
    index_of,
    write_fasta,
)

CASES = {
    "one base": ["G"],
    "contigs of one base": list("ACGTNACGGT"),
    "leading and trailing N": ["NNNNACGTTGCANNN", "NNN", "nACn"],
    "lower case": ["acgtnACGTN", "ttga"],
    "IUPAC and uracil": ["ACRYSWKMBDHVNGTU", "uACGT"],
    "homopolymer": ["A" * 300],
    "last base in the alphabet": ["T" * 130],
    "tandem repeat": ["ACGTT" * 70],
    "a whole block": ["ACGTTGCA" * 8],
    "one more than a block": ["ACGTTGCA" * 8 + "C"],
    "one less than a block": ["ACGTTGCA" * 7 + "ACGTTGC"],
    "bases at every other position": ["ANCNGNTN" * 30],
}
ECOLI = Path("genomes", "ecoli.NC_000913.2.fa.gz")


@pytest.fixture(scope="module")
def ecoli(data_dir: Path) -> Path:
    return data_dir / ECOLI


@pytest.fixture(scope="module")
def ecoli_index(ecoli: Path) -> FMIndexArrays:
    return build_index(ecoli, CpuDevice())


def ecoli_text(fasta: Path) -> NDArray[np.uint8]:
    """Codes of the bases, read in the simplest way."""
    lines = gzip.decompress(fasta.read_bytes()).split(b"\n")[1:]
    return np.frombuffer(b"".join(lines).translate(bytes.maketrans(b"ACGT", bytes(range(4)))), "u1")


@pytest.mark.parametrize("low_memory", [False, True])
@pytest.mark.parametrize("contigs", CASES.values(), ids=CASES.keys())
def test_arrays_are_as_defined(contigs: list[str], low_memory: bool) -> None:
    Oracle(contigs).check(index_of(contigs, low_memory=low_memory))


@settings(max_examples=60)
@given(contigs=REFERENCES, low_memory=st.booleans(), threads=st.integers(1, 5))
def test_arrays_of_any_reference_with_any_number_of_threads(
    contigs: list[str], low_memory: bool, threads: int
) -> None:
    Oracle(contigs).check(index_of(contigs, low_memory=low_memory, threads=threads))


def test_suffixes_of_ecoli_are_sorted(ecoli: Path, ecoli_index: FMIndexArrays) -> None:
    text, suffixes = ecoli_text(ecoli), ecoli_index.suffixes
    assert isinstance(suffixes, np.ndarray)
    np.testing.assert_array_equal(np.bincount(suffixes, minlength=text.size + 1), 1)
    rank = np.empty(text.size + 1, dtype=np.int64)
    rank[suffixes] = np.arange(text.size + 1)
    assert rank[text.size] == 0
    # Suffixes compare by their first base, and if it is the same, by the suffixes that follow it.
    offsets = suffixes[1:].astype(np.int64)
    keys = text[offsets] * np.int64(text.size + 1) + rank[offsets + 1]
    assert (np.diff(keys) > 0).all()


def test_words_of_ecoli_start_at_the_rows_of_the_jump_table(
    ecoli: Path, ecoli_index: FMIndexArrays
) -> None:
    text, suffixes, length = ecoli_text(ecoli), ecoli_index.suffixes, ecoli_index.jump_length
    assert isinstance(suffixes, np.ndarray)
    assert length == 11
    filled = np.concatenate([text, np.zeros(length, dtype=np.uint8)]).astype(np.int64)
    words = sum(filled[suffixes + k] << 2 * (length - 1 - k) for k in range(length))
    bounds = np.searchsorted(words, np.arange(4**length + 1))
    np.testing.assert_array_equal(ecoli_index.jump, bounds)


def test_counts_of_ecoli(ecoli: Path, ecoli_index: FMIndexArrays) -> None:
    text, suffixes = ecoli_text(ecoli), ecoli_index.suffixes
    assert isinstance(suffixes, np.ndarray)
    assert suffixes[ecoli_index.primary] == 0
    symbols = text[suffixes[suffixes > 0] - 1]
    blocks = ecoli_index.occurrences.reshape(-1, 8)
    for base in range(4):
        first = 1 + np.count_nonzero(text < base)
        counts = np.concatenate([[0], np.cumsum(symbols == base)])[::64]
        np.testing.assert_array_equal(blocks[:, base], first + counts)


def test_the_fasta_file_is_identified_by_its_bytes_on_disk(
    ecoli: Path, ecoli_index: FMIndexArrays
) -> None:
    content = ecoli.read_bytes()
    assert ecoli_index.fasta_bytes == len(content)
    pieces = [content[at : at + (1 << 24)] for at in range(0, len(content), 1 << 24)]
    digests = b"".join(hashlib.sha256(piece).digest() for piece in pieces)
    assert ecoli_index.fasta_digest == hashlib.sha256(digests).digest()


def test_arrays_are_read_only(ecoli_index: FMIndexArrays) -> None:
    bases = ecoli_index.bases
    for array in (ecoli_index.occurrences, ecoli_index.jump, bases.planes, bases.others):
        assert not array.flags.writeable


@pytest.mark.parametrize(
    ("symbols", "length"),
    [
        (1, 4),
        (4**5 - 1, 4),
        (4**5, 5),
        (4_639_675, 11),
        (8_000_000, 11),
        (60_000_000, 12),
        (500_000_000, 12),
        (3_100_000_000, 14),
        (4_290_000_000, 14),
    ],
)
def test_jump_length(symbols: int, length: int) -> None:
    assert bwt.jump_length_for(symbols) == length


def test_reference_without_bases(tmp_path: Path) -> None:
    fasta = write_fasta(tmp_path / "empty.fa", ["NNNN", "RYN"])
    with pytest.raises(InputError, match=r"empty\.fa: contains no A, C, G or T"):
        build_index(fasta, CpuDevice())


def test_reference_with_too_many_bases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MAX_BASES", 1000)
    build_index(write_fasta(tmp_path / "just.fa", ["ACGTN" * 100, "ACGTT" * 100]), CpuDevice())
    fasta = write_fasta(tmp_path / "long.fa", ["ACGTN" * 100, "ACGTT" * 100, "A"])
    with pytest.raises(InputError, match=r"long\.fa: 1,001 bases, more than the 1,000"):
        build_index(fasta, CpuDevice())


def test_contig_name_that_sam_does_not_allow(tmp_path: Path) -> None:
    fasta = tmp_path / "named.fa"
    fasta.write_text(">fine\nACGT\n>a,b\nACGT\n", encoding="ascii")
    with pytest.raises(InputError, match=r"named\.fa: contig 'a,b': .*SAM does not allow"):
        build_index(fasta, CpuDevice())


@pytest.mark.parametrize("threads", [1, 3])
def test_protein(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "protein.fa"
    path.write_text(">dna\nACGTUNRYxX\n>long\n" + "ACGT" * 100 + "\n>insulin\nMALWMRLLPL\n")
    message = r"protein\.fa: contig 'insulin', base 3: 'L' is not a nucleotide; give a DNA"
    with pytest.raises(InputError, match=message):
        build_index(path, CpuDevice(), threads)


def test_missing_fasta(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.fa: no such file"):
        build_index(tmp_path / "none.fa", CpuDevice())


@pytest.mark.gpu
@pytest.mark.parametrize("low_memory", [False, True])
@pytest.mark.parametrize("contigs", CASES.values(), ids=CASES.keys())
def test_gpu_and_cpu_build_the_same(contigs: list[str], low_memory: bool) -> None:
    on_gpu = index_of(contigs, CudaDevice(0), low_memory=low_memory)
    assert_same(on_gpu, index_of(contigs, low_memory=low_memory))


@pytest.mark.gpu
def test_gpu_and_cpu_build_the_same_of_repeats_and_gaps() -> None:
    random = np.random.default_rng(4)
    piece = "".join(random.choice(list("ACGT"), 3_000))
    alike = "".join(random.choice(list("ACGTN"), 50_000, p=[0.3, 0.2, 0.2, 0.29, 0.01]))
    contigs = [piece * 700, alike, "A" * 100_000, "CA" * 60_000 + "N" * 70 + alike[:40_000]]
    for low_memory in (False, True):
        on_gpu = index_of(contigs, CudaDevice(0), low_memory=low_memory)
        assert_same(on_gpu, index_of(contigs, low_memory=low_memory))


@pytest.mark.gpu
@pytest.mark.parametrize("low_memory", [False, True])
def test_gpu_and_cpu_make_the_same_file_of_ecoli(
    ecoli: Path, tmp_path: Path, low_memory: bool
) -> None:
    for name, device in (("gpu.hgx", CudaDevice(0)), ("cpu.hgx", CpuDevice())):
        FM_INDEX_FILE.save(build_index(ecoli, device, low_memory=low_memory), tmp_path / name)
    assert (tmp_path / "gpu.hgx").read_bytes() == (tmp_path / "cpu.hgx").read_bytes()
