"""Calls of simulated diploid samples by `hapgpu call`, bcftools and freebayes, by class.

    python -m tests.calling.accuracy.simulated_comparison REF.fa --keep /tmp/simulated --list

The samples are simulated for the longest run of bases without N; minimap2 or bwa aligns their
reads. With `--structural`, a sample also has tandem duplications and deletions of up to 150 bases,
and its reference segmental copies that differ in 1 to 3 % of their bases.
Options unknown to this script are passed to `hapgpu call`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pysam
from numpy.typing import NDArray

from hapgpu.benchmark.input_files import _tile_of
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.alignments.writer import open_writer
from hapgpu.simulation.paired_reads import PairedReadModel
from hapgpu.simulation.phased_variants import vcf_text
from hapgpu.simulation.sample import sample_header, simulated_reads
from hapgpu.simulation.sequences import tandem_repeats
from hapgpu.simulation.variants import VariantKind, VariantModel, drawn_variants
from tests.calling.accuracy.truth_comparison import NAMES, calls_of_hapgpu
from tests.calling.accuracy.variant_matching import Matched, Placed, matched, placed_alleles
from tests.realign.caller_comparison import Inputs, Prepared, calls_of
from tests.simulation.segmental_copies import with_segmental_copies

CONTIG = "tile"
VARIANTS = VariantModel(
    frequencies={
        VariantKind.SNV: 0.45,
        VariantKind.MNV: 0.02,
        VariantKind.INSERTION: 0.2,
        VariantKind.DELETION: 0.2,
        VariantKind.REPEAT: 0.1,
        VariantKind.MULTI_SNV: 0.01,
        VariantKind.MULTI_REPEAT: 0.02,
    },
    spacing=500.0,
    longest_indel=50,
    mean_indel=10.0,
)
STRUCTURAL_VARIANTS = replace(
    VARIANTS,
    frequencies={
        **VARIANTS.frequencies,
        VariantKind.TANDEM_DUPLICATION: 0.03,
        VariantKind.LONG_DELETION: 0.03,
    },
    spacing=400.0,
)
COPIED_FRACTION = 0.1
COPY_LENGTHS = (2_000, 10_000)
COPY_DIVERGENCES = (0.01, 0.03)
DUPLICATION_SIZES = (60, 85, 120, 151)
MIN_SIZES = (1, 2, 6, 16, 51, 85, 120)
MIN_UNITS = 5
REPEAT_UNITS = 3
"""Seeds in turn vary repeats of any unit, of two bases and more, of three and more."""
SIZE_CLASSES = ("1", "2-5", "6-15", "16-50", "51-84", "85-119", "120-")
DUPLICATION_CLASSES = ("60-84", "85-119", "120-150")
CLASSES = (
    "SNV",
    "MNV",
    *(f"insertion {size}" for size in SIZE_CLASSES),
    *(f"deletion {size}" for size in SIZE_CLASSES),
    *(f"tandem duplication {size}" for size in DUPLICATION_CLASSES),
    *(f"indel in repeat of unit {unit}" for unit in ("1", "2", "3-6")),
)
ALIGNERS = {
    "minimap2": "minimap2 -t 3 -ax sr -R '{group}' {fasta} -",
    "bwa": "bwa index {fasta} && bwa mem -t 3 -p -R '{group}' {fasta} -",
}


@dataclass(frozen=True, slots=True)
class Tile:
    """A reference, and the unit of the tandem repeat that each base lies in, or 0."""

    bases: NDArray[np.uint8]
    units: NDArray[np.uint8]

    @classmethod
    def of(cls, path: Path, length: int, copied_fraction: float = 0.0) -> Tile:
        bases = _tile_of(path)[:length]
        copies = int(bases.size * copied_fraction / np.mean(COPY_LENGTHS))
        bases = with_segmental_copies(bases, copies, COPY_LENGTHS, COPY_DIVERGENCES)
        units = np.zeros(bases.size, dtype=np.uint8)
        repeats = tandem_repeats(bases, MIN_UNITS)
        for start, end, unit in zip(repeats.starts, repeats.ends, repeats.units, strict=True):
            units[start:end] = unit
        return cls(bases, units)

    def class_of(self, allele: Placed) -> str:
        """Return the kind and the size of an allele, or the unit of the repeat of an indel."""
        replaced = allele.end - allele.start
        size = abs(len(allele.text) - replaced)
        if not size:
            return "SNV" if replaced == 1 else "MNV"
        if unit := int(self.units[allele.start]):
            return f"indel in repeat of unit {unit if unit < 3 else '3-6'}"
        kind = "insertion" if len(allele.text) > replaced else "deletion"
        if kind == "insertion" and self._is_duplication(allele):
            size_class = DUPLICATION_CLASSES[bisect_right(DUPLICATION_SIZES, size) - 1]
            return f"tandem duplication {size_class}"
        return f"{kind} {SIZE_CLASSES[bisect_right(MIN_SIZES, size) - 1]}"

    def _is_duplication(self, allele: Placed) -> bool:
        """Tell whether an insertion of 60 to 150 bases repeats the bases after or before it."""
        start, size = allele.start, len(allele.text)
        near = self.bases[max(start - size, 0) : start + size].tobytes().decode()
        is_long = DUPLICATION_SIZES[0] <= size < DUPLICATION_SIZES[-1]
        return is_long and start == allele.end and allele.text in near


@dataclass(frozen=True, slots=True)
class Sample:
    """Models of a sample and its reads, and the program that aligns them."""

    variants: VariantModel
    reads: PairedReadModel
    aligner: str


def simulated(tile: Tile, directory: Path, sample: Sample, seed: int) -> Prepared:
    """Write reference, truth and aligned reads of a sample with chromosomes of the tile."""
    directory.mkdir(parents=True, exist_ok=True)
    bases = ReferenceSlice(0, tile.bases)
    fasta, truth, reads = (directory / name for name in ("tile.fa", "truth.vcf", "reads.bam"))
    inputs = Inputs(reads, fasta, truth, region=f"{CONTIG}:1-{tile.bases.size}")
    prepared = Prepared(inputs, directory, fasta, truth)
    if reads.with_suffix(".bam.bai").exists():
        return prepared
    variants, _ = drawn_variants(
        bases, 2, replace(sample.variants, min_repeat_unit=1 + seed % REPEAT_UNITS), seed
    )
    fasta.write_bytes(b">" + CONTIG.encode() + b"\n" + tile.bases.tobytes() + b"\n")
    pysam.faidx(str(fasta))
    truth.write_text(vcf_text(variants, CONTIG, tile.bases.size, "simulated"))
    drawn = directory / "drawn.bam"
    header = sample_header("simulated", CONTIG, tile.bases.size)
    with open_writer(str(drawn), header, threads=1) as writer:
        for batch in simulated_reads(bases, variants, "simulated", sample.reads, seed):
            writer.write(batch)
    group = "@RG\\tID:simulated\\tSM:simulated\\tPL:ILLUMINA"
    aligner = ALIGNERS[sample.aligner].format(group=group, fasta=fasta)
    align = (
        f"samtools collate -Ou {drawn} | samtools fastq -n - 2>/dev/null | "
        f"({aligner}) 2>/dev/null | "
        f"samtools sort -o {reads} - && samtools index {reads}"
    )
    subprocess.run(["bash", "-o", "pipefail", "-c", align], check=True)
    return prepared


def compared(caller: str, prepared: Prepared, options: Sequence[str], tile: Tile) -> Matched:
    """Run a caller, unless its calls are kept, and compare them with the truth."""
    reads = prepared.inputs.reads
    calls = prepared.directory / f"{reads.name}.{caller}.vcf"
    if caller == "hapgpu":
        calls = calls_of_hapgpu(prepared, options)
    elif not calls.exists():
        calls = calls_of(caller, reads, prepared)
    truth = placed_alleles(prepared.haplotypes, CONTIG, is_true=True)
    found = placed_alleles(calls, CONTIG, is_true=False)
    return matched(truth, found, tile.bases.tobytes().decode())


def counts_of(result: Matched, tile: Tile) -> Counter[tuple[str, str]]:
    """Count the alleles of each class that are right, found, missed and false."""
    return Counter(
        (tile.class_of(allele), what)
        for what in ("right", "found", "missed", "false")
        for allele in getattr(result, what)
    )


def lines_of(caller: str, result: Matched, tile: Tile) -> Iterator[str]:
    """Yield a line for each allele that is missed, false, or has another number of copies."""
    kinds = (("missed", result.missed), ("genotype", result.found), ("false", result.false))
    for allele, what in sorted((allele, what) for what, alleles in kinds for allele in alleles):
        ref = tile.bases[allele.start : allele.end].tobytes().decode()
        change = f"{ref or '-'}>{allele.text or '-'}"
        yield f"{caller}\t{what}\t{tile.class_of(allele)}\t{allele.start + 1}\t{change}"


def rows(counts: Mapping[str, Counter[tuple[str, str]]]) -> Iterator[str]:
    """Yield class, true alleles, and per caller: alleles found, genotypes right, false."""
    for name in CLASSES:
        cells = []
        total = 0
        for counted in counts.values():
            right, found = counted[name, "right"], counted[name, "found"]
            total = right + found + counted[name, "missed"]
            cells += [str(right + found), str(right), str(counted[name, "false"])]
        yield "\t".join([name, str(total), *cells])


def main() -> None:
    """Print a table of all classes."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--depth", type=float, default=30.0)
    parser.add_argument("--read-length", type=int, default=148)
    parser.add_argument("--seed", type=int, action="append", help="default: 1 to 6")
    parser.add_argument("--length", type=int, default=2**31, help="bases of the tile, at most")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="keep and reuse files")
    parser.add_argument("--caller", choices=NAMES, action="append", help="default: all")
    parser.add_argument("--list", action="store_true", help="list alleles that differ")
    parser.add_argument("--structural", action="store_true", help="with long variants and copies")
    parser.add_argument("--aligner", choices=ALIGNERS, default="minimap2")
    given, options = parser.parse_known_args()
    callers = [x for x in given.caller or NAMES if x == "hapgpu" or shutil.which(x)]
    tile = Tile.of(given.reference, given.length, COPIED_FRACTION if given.structural else 0.0)
    sample = Sample(
        STRUCTURAL_VARIANTS if given.structural else VARIANTS,
        PairedReadModel(depth=given.depth, read_length=given.read_length),
        given.aligner,
    )
    counts: dict[str, Counter[tuple[str, str]]] = {caller: Counter() for caller in callers}
    with tempfile.TemporaryDirectory() as temporary:
        for seed in given.seed or range(1, 7):
            name = f"{given.depth:g}x{given.read_length}.{seed}"
            prepared = simulated(tile, (given.keep or Path(temporary)) / name, sample, seed)
            for caller in callers:
                result = compared(caller, prepared, options, tile)
                counts[caller] += counts_of(result, tile)
                if given.list:
                    for line in lines_of(caller, result, tile):
                        print(f"{seed}\t{line}")
    print("class", "true", *(f"{c} found right false" for c in callers), sep="\t")
    print(*rows(counts), sep="\n")


if __name__ == "__main__":
    main()
