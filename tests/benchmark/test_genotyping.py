"""Data of `hapgpu bench genotype`, and its count of wrong genotypes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pysam
import pytest

from hapgpu.benchmark import genotyping, input_files
from hapgpu.benchmark.genotyping import benchmark_genotype
from hapgpu.benchmark.input_files import SimulatedFiles, simulated_files
from hapgpu.errors import InputError, UsageError
from hapgpu.runtime.devices import CpuDevice
from tests.haplotypes.made_references import random_text

TILE = random_text(12_000, 5)
COPIES = 3


@pytest.fixture
def fasta(tmp_path: Path) -> Path:
    """Return a reference whose longest contig has gaps, and letters of either case."""
    path = tmp_path / "made.fa"
    longest = f"nnNN{TILE[:5000]}n{TILE.lower()}NNNN"
    path.write_text(f">short\n{TILE[::-1]}\n>longest\n{longest}\n")
    return path


@pytest.fixture
def files(fasta: Path, tmp_path: Path) -> SimulatedFiles:
    directory = tmp_path / "files"
    directory.mkdir()
    return simulated_files(directory, fasta, COPIES, 2)


def test_the_reference_is_the_longest_run_of_bases_side_by_side(files: SimulatedFiles) -> None:
    with pysam.FastaFile(str(files.reference)) as fasta:
        [name] = fasta.references
        assert fasta.fetch(name) == TILE * COPIES


def test_reads_of_all_copies_have_equal_positions(files: SimulatedFiles) -> None:
    with pysam.AlignmentFile(str(files.reads)) as bam:
        positions = [
            [
                (read.query_name, read.reference_start - start, read.query_sequence)
                for read in bam.fetch(bam.references[0])
                if start <= read.reference_start < start + len(TILE)
            ]
            for start in range(0, COPIES * len(TILE), len(TILE))
        ]
    assert sum(map(len, positions)) == files.read_count
    assert all(position == positions[0] for position in positions)
    assert len(positions[0]) == pytest.approx(30 * len(TILE) / 148, rel=0.15)


def test_sites_fit_the_reference(files: SimulatedFiles) -> None:
    with pysam.VariantFile(str(files.sites)) as vcf:
        records = list(vcf)
    assert [record.start for record in records] == files.starts.tolist()
    assert all((TILE * COPIES)[record.start : record.stop] == record.ref for record in records)
    assert len(records) == len(files.genotypes) > COPIES * len(TILE) / 2000


def test_wrong_genotypes_are_counted(
    files: SimulatedFiles, fasta: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each changed true genotype adds one wrong genotype."""

    def measured(made: SimulatedFiles) -> float:
        monkeypatch.setattr(genotyping, "simulated_files", lambda *_: made)
        [line] = benchmark_genotype(CpuDevice(1), fasta, COPIES)
        return line.numbers["genotype_error_rate"] or 0

    changed = files.genotypes.copy()
    changed[:7] = [[5, 6]]
    right = measured(files)
    assert right < 0.1
    others = measured(replace(files, genotypes=changed))
    assert others == pytest.approx(right + 7 / len(changed))


def test_too_few_bases(tmp_path: Path) -> None:
    path = tmp_path / "made.fa"
    path.write_text(f">c\n{TILE[:3000]}N{TILE[:4000]}\n")
    with pytest.raises(InputError, match=r"4,000 bases in a row without N, of 5,000 needed"):
        list(benchmark_genotype(CpuDevice(1), path))


def test_too_many_copies(fasta: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_files, "_MAX_CONTIG", 40_000)
    with pytest.raises(UsageError, match=r"--copies 4: .* at most 3 copies of 12,000 bases"):
        list(benchmark_genotype(CpuDevice(1), fasta, 4))


def test_a_row_of_tiles_has_an_index_for_any_length(fasta: Path, tmp_path: Path) -> None:
    """BAI ends at 2**29 bases."""
    files = simulated_files(tmp_path, fasta, COPIES, 1)
    assert files.reads.with_suffix(".bam.csi").exists()
    with pysam.AlignmentFile(str(files.reads)) as bam:
        assert bam.count(bam.references[0]) == files.read_count
