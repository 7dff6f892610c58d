"""Calls of a simulated diploid sample by `hapgpu call`, bcftools and freebayes, by class.

    python -m tests.calling.simulated_comparison REF.fa --depth 30 --keep /tmp/simulated

The sample is simulated for the longest run of bases without N; minimap2 aligns its reads. Options
unknown to this script are passed to `hapgpu call`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pysam
from numpy.typing import NDArray

from hapgpu.benchmark.genotyping_files import _tile_of
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.alignments.writer import open_writer
from hapgpu.simulation.fragments import PairedReadModel
from hapgpu.simulation.phased_variants import vcf_text
from hapgpu.simulation.sample import sample_header, simulated_reads
from hapgpu.simulation.sequences import tandem_repeats
from hapgpu.simulation.variants import VariantKind, VariantModel, drawn_variants
from tests.calling.truth_comparison import NAMES, called_copies, true_copies
from tests.realign.caller_comparison import Allele, Inputs, Prepared

CONTIG = "tile"
VARIANTS = VariantModel(
    frequencies={
        VariantKind.SNV: 0.55,
        VariantKind.MNV: 0.02,
        VariantKind.INSERTION: 0.15,
        VariantKind.DELETION: 0.15,
        VariantKind.REPEAT: 0.1,
        VariantKind.MULTI_SNV: 0.01,
        VariantKind.MULTI_REPEAT: 0.02,
    },
    spacing=500.0,
    longest_indel=50,
)
SIZES = (1, 2, 6, 16, 51)
MIN_UNITS = 5


def simulated(reference: Path, directory: Path, depth: float, seed: int, length: int) -> Prepared:
    """Write reference, truth and aligned reads of a sample with chromosomes of the tile."""
    directory.mkdir(parents=True, exist_ok=True)
    tile = ReferenceSlice(0, _tile_of(reference)[:length])
    variants, _ = drawn_variants(tile, 2, VARIANTS, seed)
    fasta, truth, reads = (directory / name for name in ("tile.fa", "truth.vcf", "reads.bam"))
    fasta.write_bytes(b">" + CONTIG.encode() + b"\n" + tile.bases.tobytes() + b"\n")
    pysam.faidx(str(fasta))
    truth.write_text(vcf_text(variants, CONTIG, tile.bases.size, "simulated"))
    drawn = directory / "drawn.bam"
    header = sample_header("simulated", CONTIG, tile.bases.size)
    with open_writer(str(drawn), header, threads=1) as writer:
        for batch in simulated_reads(
            tile, variants, "simulated", PairedReadModel(depth=depth), seed
        ):
            writer.write(batch)
    group = "@RG\\tID:simulated\\tSM:simulated\\tPL:ILLUMINA"
    align = (
        f"samtools collate -Ou {drawn} | samtools fastq -n - 2>/dev/null | "
        f"minimap2 -t 3 -ax sr -R '{group}' {fasta} - 2>/dev/null | "
        f"samtools sort -o {reads} - && samtools index {reads}"
    )
    subprocess.run(["bash", "-o", "pipefail", "-c", align], check=True)
    inputs = Inputs(reads, fasta, truth, region=f"{CONTIG}:1-{tile.bases.size}")
    return Prepared(inputs, directory, fasta, truth)


def class_of(allele: Allele, in_repeat: NDArray[np.bool_]) -> str:
    """Return the kind and the size of an allele, and whether it is an indel in a repeat."""
    position, ref, alt = allele
    size = abs(len(ref) - len(alt))
    if not size:
        return "SNV"
    if in_repeat[position]:  # the base after the base before an indel
        return "indel in a repeat"
    kind = "insertion" if len(alt) > len(ref) else "deletion"
    for low, end in pairwise(SIZES):
        if size < end:
            return f"{kind} {low}" if end == low + 1 else f"{kind} {low}-{end - 1}"
    return f"{kind} {SIZES[-1]}-"


def rows(
    called: Mapping[str, Mapping[Allele, int]],
    truth: Mapping[Allele, int],
    in_repeat: NDArray[np.bool_],
) -> Iterator[tuple[str, ...]]:
    """Yield class, number of alleles, and per caller: alleles found, genotypes right, false."""
    classes = {
        allele: class_of(allele, in_repeat)
        for allele in truth.keys() | {a for copies in called.values() for a in copies}
    }
    for name in sorted(set(classes.values()), key=_order):
        true = {a: n for a, n in truth.items() if classes[a] == name}
        cells = []
        for copies in called.values():
            found = {a: n for a, n in copies.items() if classes[a] == name}
            right = sum(found.get(a) == n for a, n in true.items())
            hits = sum(a in found for a in true)
            cells += [str(hits), str(right), str(len(found) - hits)]
        yield name, str(len(true)), *cells


def _order(name: str) -> tuple[int, int, str]:
    kinds = ("SNV", "insertion", "deletion", "indel")
    first, *rest = name.split()
    size = rest[0].partition("-")[0] if rest else ""
    return kinds.index(first), int(size) if size.isdigit() else 0, name


def main() -> None:
    """Print a table of all classes."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--depth", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--length", type=int, default=2**31, help="bases of the tile, at most")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY")
    parser.add_argument("--caller", choices=NAMES, action="append", help="default: all")
    given, options = parser.parse_known_args()
    callers = [x for x in given.caller or NAMES if x == "hapgpu" or shutil.which(x)]
    with tempfile.TemporaryDirectory() as temporary:
        directory = given.keep or Path(temporary)
        prepared = simulated(given.reference, directory, given.depth, given.seed, given.length)
        called = {caller: called_copies(caller, prepared, options) for caller in callers}
        repeats = tandem_repeats(_tile_of(given.reference)[: given.length], MIN_UNITS)
        in_repeat = np.zeros(int(repeats.ends.max(initial=0)) + 2**20, dtype=np.bool_)
        for start, end in zip(repeats.starts.tolist(), repeats.ends.tolist(), strict=True):
            in_repeat[start:end] = True
        print("class", "true", *(f"{c} found right false" for c in callers), sep="\t")
        for row in rows(called, true_copies(prepared), in_repeat):
            print(*row, sep="\t")


if __name__ == "__main__":
    main()
