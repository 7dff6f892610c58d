"""Loci with very many reads: genotyped in pieces, with the results of all reads at once."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path

import pysam
import pytest

from hapgpu.genotyping import deep_loci, pipeline
from hapgpu.genotyping.batches import LocusReads
from hapgpu.genotyping.deep_loci import DeepLoci
from hapgpu.genotyping.options import GenotypeOptions
from hapgpu.genotyping.pipeline import GenotypeInputs, GenotypeSession
from hapgpu.genotyping.reads import locus_groups
from hapgpu.genotyping.reads.aligned_reads import AlignedReads
from hapgpu.haplotypes import locus_batches
from hapgpu.haplotypes.locus_batches import LocusLimits
from hapgpu.runtime.devices import CpuDevice
from tests.cli.in_process import status_of_command
from tests.deep_reads import SITE, made_files, made_reads, made_reference, made_sites
from tests.peak_memory import GIBIBYTE, measured

READS = 5000
POSITIONS = [5000, SITE - 40, SITE - 3, SITE, SITE + 20, SITE + 85, 15_000]
PIECES = [1, 150_000]
BATCH_BASES = 65_536
MASK = 2**64 - 1


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_files(tmp_path_factory.mktemp("deep"), POSITIONS, READS)


def genotyped(
    reads: list[Path], reference: Path, sites: Path, directory: Path, *options: str
) -> tuple[str, dict[str, int]]:
    """Return the records and the counts of a run."""
    out, counts = directory / "calls.vcf", directory / "counts.json"
    files = [*reads, reference, sites, "-o", out, "--json", counts]
    assert status_of_command("genotype", *files, "-q", "--device", "cpu", *options) == 0
    lines = out.read_text().splitlines()
    records = "\n".join(line for line in lines if not line.startswith("##"))
    return records, json.loads(counts.read_text())["counts"]


def limit_pieces(monkeypatch: pytest.MonkeyPatch, bases: int) -> list[int]:
    """Lower the bases that are held, and return a list of the bases that are scored together."""
    added: list[int] = []
    add = DeepLoci.add

    def noted(self: DeepLoci, reads: LocusReads, first: int) -> None:
        added.append(reads.reads.bases.data.size)
        add(self, reads, first)

    monkeypatch.setattr(DeepLoci, "add", noted)
    monkeypatch.setattr(pipeline, "AlignedReads", partial(AlignedReads, max_bases=bases))
    return added


@pytest.mark.parametrize(
    ("kind", "bases"),
    [
        ("sam", PIECES[0]),
        ("bam", PIECES[1]),
        pytest.param("bam", PIECES[0], marks=pytest.mark.exhaustive),
        pytest.param("sam", PIECES[1], marks=pytest.mark.exhaustive),
    ],
)
def test_pieces_change_nothing(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, bases: int
) -> None:
    files = [made / f"deep.{kind}"], made / "ref.fa", made / "sites.vcf"
    expected = genotyped(*files, tmp_path)
    assert "\t0/1:99:2500:" in expected[0]
    added = limit_pieces(monkeypatch, bases)
    assert genotyped(*files, tmp_path, "-t", "2") == expected
    assert len(added) > 1
    assert max(added) <= bases + BATCH_BASES


@pytest.mark.parametrize("kind", ["bam", "sam"])
def test_small_groups_change_nothing(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Reads at the end of a group are needed by the next."""
    files = [made / f"deep.{kind}"], made / "ref.fa", made / "sites.vcf"
    expected = genotyped(*files, tmp_path)
    limit_pieces(monkeypatch, 1)
    monkeypatch.setattr(locus_groups, "_MAX_BYTES", 1)
    monkeypatch.setattr(locus_batches, "DEFAULT_LOCUS_LIMITS", LocusLimits(loci=1))
    assert genotyped(*files, tmp_path) == expected


def test_reads_may_be_held(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added = limit_pieces(monkeypatch, 1)
    files = [str(made / "deep.bam")], made / "ref.fa", str(made / "sites.vcf")
    device = CpuDevice(1)
    with GenotypeSession(GenotypeInputs(*files), GenotypeOptions(), [device], 1) as opened:
        found = [reads for group in opened.groups(in_pieces=False) for reads in group]
    assert all(isinstance(reads, LocusReads) for reads in found)
    assert max(len(reads.reads) for reads in found) == READS
    assert not added


@pytest.mark.parametrize("bases", [1, 200_000])
def test_pieces_of_real_reads_change_nothing(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bases: int
) -> None:
    source = data_dir / "illumina_na12878"
    reads = [source / f"{sample}.chr20.dev.bam" for sample in ("NA12878", "HG002")]
    files = reads, source / "chr20.hg19.fa.gz", source / "sites.dev.vcf.gz"
    region = ("-r", "chr20:10000000-10010000")
    expected = genotyped(*files, tmp_path, *region)
    limit_pieces(monkeypatch, bases)
    assert genotyped(*files, tmp_path, *region) == expected


@pytest.mark.parametrize("bases", [*PIECES, 8_000_000])
def test_the_reads_of_smallest_hash_are_used(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bases: int
) -> None:
    bases_of_site = made / "one.vcf"
    made_sites(bases_of_site, made_reference(made / "ref.fa"), [SITE])
    kept = 1500
    with pysam.AlignmentFile(str(made / "deep.bam")) as source:
        reads = list(source)
        path = tmp_path / "kept.bam"
        names = names_kept([read.query_name or "" for read in reads], kept)
        with pysam.AlignmentFile(str(path), "wb", source) as out:
            for read in reads:
                if read.query_name in names:
                    out.write(read)
    pysam.index(str(path))
    expected, counts = genotyped([path], made / "ref.fa", bases_of_site, tmp_path)
    assert counts["reads_over_limit"] == 0
    row = 40 + 2 * 8
    monkeypatch.setattr(deep_loci, "MAX_LOCUS_BYTES", kept * row)
    limit_pieces(monkeypatch, bases)
    found, counts = genotyped([made / "deep.bam"], made / "ref.fa", bases_of_site, tmp_path)
    assert found == expected
    assert counts["reads_over_limit"] == READS - sum(read.query_name in names for read in reads)


def test_reads_without_a_name_are_used_up_to_the_limit(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a fragment by itself, with a hash of its own."""
    used, unnamed = 100, 300
    sites, path = tmp_path / "one.vcf", tmp_path / "unnamed.bam"
    made_sites(sites, made_reference(tmp_path / "ref.fa"), [SITE])
    with (
        pysam.AlignmentFile(str(made / "deep.bam")) as source,
        pysam.AlignmentFile(str(path), "wb", source) as out,
    ):
        for read in source.head(unnamed):
            read.query_name = "*"
            out.write(read)
    pysam.index(str(path))
    monkeypatch.setattr(deep_loci, "MAX_LOCUS_BYTES", used * (40 + 2 * 8))
    found, counts = genotyped([path], tmp_path / "ref.fa", sites, tmp_path)
    assert f"\tDP={used}\t" in found
    assert counts["reads_over_limit"] == unnamed - used


def names_kept(names: list[str], reads: int) -> set[str]:
    """Return the names with the smallest hashes that have at most so many reads."""
    counts = Counter(names)
    kept: set[str] = set()
    for name in sorted(counts, key=name_hash):
        reads -= counts[name]
        if reads < 0:
            break
        kept.add(name)
    return kept


def name_hash(name: str) -> int:
    """Return SplitMix64 (Steele et al. 2014) of FNV-1a (draft-eastlake-fnv)."""
    value = 0xCBF29CE484222325
    for letter in name.encode():
        value = (value ^ letter) * 0x100000001B3 & MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


@pytest.mark.exhaustive
def test_memory_of_a_million_reads(tmp_path: Path) -> None:
    bases = made_reference(tmp_path / "ref.fa")
    made_sites(tmp_path / "sites.vcf", bases, [SITE])
    made_reads(tmp_path / "deep.bam", bases, 1_000_000)
    files = [tmp_path / name for name in ("deep.bam", "ref.fa", "sites.vcf")]
    usage = measured("genotype", *files, "--device", "cpu", "-t", "2", "-o", tmp_path / "x.vcf")
    assert usage.status == 0, usage.messages
    assert usage.memory < GIBIBYTE
    assert "DP=500000\t" in (tmp_path / "x.vcf").read_text()
