"""Genotypes of real reads, against plain Python in float64 from the same files."""

from __future__ import annotations

import math
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu import genotype
from hapgpu.io.vcf.records import VcfRecord
from tests.genotyping.calls.reference import (
    SiteCall,
    allele_depths_reference,
    allele_likelihoods_reference,
    call_reference,
    fragment_reference,
    genotype_likelihoods_reference,
    genotypes_reference,
    used_fragments_reference,
)
from tests.haplotypes.haplotype_oracle import applied, edit_of, haplotypes
from tests.haplotypes.made_records import record
from tests.pairhmm.preparation_oracle import Prepared, Rules, array_of, prepare_record

CONTIG = "chr20"
LOCI = [
    ["10004193 G T", "10004222 CA CAAA,C", "10004225 A G"],  # an SNV within a homopolymer
    ["10004610 A C"],
    ["10004725 A G", "10004769 TAAAACTATGC T"],  # its right flank has an SNV of the next locus
    ["10004874 A C", "10004887 A G"],
    ["10006819 AAAAC A"],
    ["10008029 T TA,TAA"],
    ["10008146 TA T"],
    ["10008921 C CA", "10008948 TA T", "10008952 CACACACACACA CCACACACACA,C,CCA"],
    ["10009795 A G"],  # near the next locus, but together they have 96 combinations
    ["10009842 G GAA", "10009871 A G", "10009875 A AGGGAGG,G", "10009879 A G", "10009883 A G"],
    ["10012570 G GCA", "10012572 GT G"],
    ["10030931 C A"],
    ["10031254 A AT"],
    ["10031342 G A"],
    ["10037110 T TGATA", "10037144 T TGATAGATA", "10037144 TGATA TGATAGATA,T"],
    ["10041698 C CAT", "10041701 A ATATG", "10041756 T TA", "10041757 T TA"],
    ["10046178 AAGAAAGAAAG A"],
]
"""Sites of real samples, grouped by hand: at most 60 bases apart, except for one split."""

FLANK = 100
MARGIN = 60
MIN_BASES = 10
NO_EVIDENCE = 0xF04
MIN_MAPPING_QUALITY = 20
MAX_COMBINATIONS = 256
REFERENCE_WEIGHT, ALTERNATIVE_WEIGHT = 1.0, 0.145

AROUND = 400
"""Bases on either side of a site within which its shift range is searched."""

PER_READ = 1e-5
"""Largest error of a likelihood of the float32 pair-HMM, log10."""


@dataclass(frozen=True)
class Inputs:
    """Input files."""

    reads: list[Path]
    reference: Path
    sites: Path


@dataclass(frozen=True)
class Evidence:
    """Evidence of one sample at one site, from the fragments used."""

    fragments: int
    allele_depths: list[int]
    likelihoods: list[float]
    alleles: int


@pytest.fixture(scope="module")
def inputs(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Return every third read pair of two samples, and some of their sites."""
    directory = tmp_path_factory.mktemp("inputs")
    source = data_dir / "illumina_na12878"
    reads = [
        thinned(source / f"{sample}.chr20.dev.bam", directory / f"{sample}.bam")
        for sample in ("NA12878", "HG002")
    ]
    sites = directory / "sites.vcf"
    lines = [line.split() for line in chain(*LOCI)]
    assert {tuple(line) for line in lines} <= listed(source / "sites.dev.vcf.gz")
    rows = [f"{CONTIG}\t{at}\t.\t{ref}\t{alt}\t.\t.\t.\n" for at, ref, alt in lines]
    head = "##fileformat=VCFv4.3\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    sites.write_text(head + "".join(rows))
    return Inputs(reads, source / "chr20.hg19.fa.gz", sites)


def thinned(source: Path, target: Path) -> Path:
    with pysam.AlignmentFile(source) as reads, pysam.AlignmentFile(target, "wb", reads) as out:
        for read in reads:
            if zlib.crc32(read.query_name.encode()) % 3 == 0:
                out.write(read)
    pysam.index(str(target))
    return target


def listed(path: Path) -> set[tuple[str, str, str]]:
    with pysam.VariantFile(str(path)) as sites:
        return {(str(site.pos), site.ref, ",".join(site.alts)) for site in sites}


@pytest.fixture(scope="module")
def evidence(inputs: Inputs) -> list[list[Evidence]]:
    """Return the evidence at each site, sample by sample."""
    loci = [Locus(inputs.reference, lines) for lines in LOCI]
    samples = [usable_reads(path) for path in inputs.reads]
    by_locus = [[evidence_at(locus, reads) for reads in samples] for locus in loci]
    return [list(of_site) for of_samples in by_locus for of_site in zip(*of_samples, strict=True)]


class Locus:
    """Records with their shift ranges and haplotypes.

    `haplotypes` is the text of each haplotype, `carried` its allele at each site.
    """

    def __init__(self, fasta: Path, lines: Sequence[str]) -> None:
        self.records = [parsed(line) for line in lines]
        with pysam.FastaFile(str(fasta)) as reference:
            self.shift_ranges = [shift_range_of(one, reference) for one in self.records]
            self.start = min(shift_range.start for shift_range in self.shift_ranges)
            self.end = max(shift_range.stop for shift_range in self.shift_ranges)
            self.shown = range(self.start - FLANK, self.end + FLANK)
            window = reference.fetch(CONTIG, self.shown.start, self.shown.stop).upper()
        masked = set(snv_positions()) - set(range(self.start, self.end))
        window = "".join(
            "N" if at in masked else base for at, base in zip(self.shown, window, strict=True)
        )
        rows = allele_rows(self.records)
        groups = [[[], *([row] for row in of_site[1:])] for of_site in rows]
        found = haplotypes(window, self.shown.start, self.records, [groups], MAX_COMBINATIONS)
        self.haplotypes = [text for text, _ in found]
        self.carried = [
            [sum(row - of_site[0] for row in carried if row in of_site) for of_site in rows]
            for _, carried in found
        ]


def allele_rows(records: Sequence[VcfRecord]) -> list[range]:
    """Return the rows of the alleles of each record, numbered across records; REF is the first."""
    counts = [1 + len(one.alternatives) for one in records]
    ends = list(accumulate(counts))
    return [range(end - count, end) for end, count in zip(ends, counts, strict=True)]


def parsed(line: str) -> VcfRecord:
    position, reference, alternatives = line.split()
    return record(int(position) - 1, reference, *alternatives.split(","))


def snv_positions() -> list[int]:
    records = [parsed(line) for line in chain(*LOCI)]
    return [one.start for one in records if len(one.reference + "".join(one.alternatives)) == 2]


def shift_range_of(one: VcfRecord, reference: pysam.FastaFile) -> range:
    """Try each insertion and deletion at every position; keep positions with the same result."""
    first = one.start - AROUND
    window = reference.fetch(CONTIG, first, one.start + AROUND).upper()
    positions = {one.start, one.start + len(one.reference)}
    for alternative in one.alternatives:
        edit = edit_of(0, one.start, one.reference, alternative)
        result = applied(window, first, [edit])
        removed, added = edit.end - edit.start, len(edit.text)
        if removed and added:
            continue
        for at in range(len(window) - removed + 1):
            if window[:at] + result[at : at + added] + window[at + removed :] == result:
                positions |= {first + at, first + at + removed}
    return range(min(positions), max(positions))


class Read:
    """A read and the positions of its bases; inserted bases have the position after them."""

    def __init__(self, segment: pysam.AlignedSegment) -> None:
        self.segment = segment
        self.positions = list(positions_of(segment))
        self.covered = covered(self.positions)

    def part_at(self, locus: Locus) -> tuple[Prepared, range] | None:
        """Return the read clipped to a locus, and the positions that it covers."""
        if not (self.covered.start < locus.end and locus.start < self.covered.stop):
            return None
        near = range(locus.start - MARGIN, locus.end + MARGIN)
        rows = [row for row, (at, _) in enumerate(self.positions) if at in near]
        if len(rows) < MIN_BASES:
            return None
        first, last = rows[0], rows[-1] + 1
        whole = prepare_record(self.segment, Rules())
        base, insertion, deletion, gap = (column[first:last] for column in whole.qualities)
        part = Prepared(whole.bases[first:last], (base, insertion, deletion, gap))
        return part, covered(self.positions[first:last])


def covered(positions: Sequence[tuple[int, bool]]) -> range:
    return range(positions[0][0], max(at + (not inserted) for at, inserted in positions))


def usable_reads(path: Path) -> list[Read]:
    with pysam.AlignmentFile(path) as reads:
        return [
            Read(read)
            for read in reads
            if not read.flag & NO_EVIDENCE and MIN_MAPPING_QUALITY <= read.mapping_quality < 255
        ]


def positions_of(read: pysam.AlignedSegment) -> Iterator[tuple[int, bool]]:
    operations = [("MIDNSHP=X"[operation], length) for operation, length in read.cigartuples]
    at = read.reference_start - read.query_alignment_start
    for letter, length in operations:
        if letter in "M=XS":
            yield from ((position, False) for position in range(at, at + length))
        elif letter == "I":
            yield from [(at, True)] * length
        at += length if letter in "M=XSDN" else 0


def evidence_at(locus: Locus, reads: Sequence[Read]) -> list[Evidence]:
    """Return the evidence of one sample for each site of a locus."""
    fragments: dict[str, list[tuple[np.ndarray, int, range]]] = defaultdict(list)
    for read in reads:
        part = read.part_at(locus)
        if part is not None:
            value, length = forward(part[0], locus.haplotypes), len(part[0].bases)
            fragments[read.segment.query_name].append((value, length, part[1]))
    parts = [tuple(zip(*fragment, strict=True)) for fragment in fragments.values()]
    likelihoods = np.array([fragment_reference(values, lengths) for values, lengths, _ in parts])
    covers = [cover for _, _, cover in parts]
    return [site_evidence(locus, site, covers, likelihoods) for site in range(len(locus.records))]


def site_evidence(
    locus: Locus, site: int, covers: Sequence[Sequence[range]], likelihoods: np.ndarray
) -> Evidence:
    alleles = 1 + len(locus.records[site].alternatives)
    used = used_fragments_reference(covers, site, locus.shift_ranges, locus.shown)
    carried = [of_sites[site] for of_sites in locus.carried]
    by_allele = allele_likelihoods_reference(likelihoods[used], carried, alleles)
    return Evidence(
        len(used),
        allele_depths_reference(by_allele),
        genotype_likelihoods_reference(by_allele, 2),
        alleles,
    )


def forward(part: Prepared, texts: Sequence[str]) -> np.ndarray:
    """Compute log10 P(clipped read | haplotype) for all haplotypes, row by row, in float64."""
    lengths = np.array([len(text) for text in texts])
    widest = int(lengths.max())
    bases = np.array([array_of(text.ljust(widest)) for text in texts])
    is_base = np.arange(widest) < lengths[:, None]
    probabilities = 10.0 ** (np.array(part.qualities) / -10.0)
    match, insertion = np.zeros((2, len(texts), widest + 1))
    deletion = np.repeat(1.0 / lengths[:, None], widest + 1, axis=1)
    for base, (error, insert, delete, extend) in zip(part.bases, probabilities.T, strict=True):
        same = (bases == ord(base)) | (bases == ord("N")) | (base == "N")
        before = (1 - insert - delete) * match + (1 - extend) * (insertion + deletion)
        insertion = insert * match + extend * insertion
        match = np.zeros_like(match)
        match[:, 1:] = np.where(same, 1 - error, error / 3) * before[:, :-1]
        deletion = deletions(match, delete, extend)
    ends = (match + insertion)[:, 1:]
    return np.log10((ends * is_base).sum(axis=1))


def deletions(match: np.ndarray, delete: float, extend: float) -> np.ndarray:
    """Return the sum over deletions of all lengths: up to 1, 2, 4, 8 ... bases."""
    total = np.zeros_like(match)
    total[:, 1:] = delete * match[:, :-1]
    length = 1
    while length < match.shape[1]:
        total[:, length:] += extend**length * total[:, :-length]
        length *= 2
    return total


def log10_priors(prior: str, alleles: int) -> list[float]:
    """Return the priors of two draws: the allele of the first is more probable in the second."""
    if prior == "flat":
        return [0.0] * len(list(genotypes_reference(alleles, 2)))
    weights = [REFERENCE_WEIGHT] + [ALTERNATIVE_WEIGHT] * (alleles - 1)
    total = sum(weights)
    return [
        math.log10((1 + (a != b)) * weights[a] / total * (weights[b] + (a == b)) / (total + 1))
        for a, b in genotypes_reference(alleles, 2)
    ]


def test_row_by_row_equals_the_reference_implementation(inputs: Inputs) -> None:
    """Two reads at a locus whose haplotypes differ in length and have an N in a flank."""
    locus = Locus(inputs.reference, LOCI[2])
    assert any("N" in text for text in locus.haplotypes)
    parts = (read.part_at(locus) for read in usable_reads(inputs.reads[0]))
    for part, _ in [part for part in parts if part is not None][:2]:
        expected = [part.likelihood(text) for text in locus.haplotypes]
        assert forward(part, locus.haplotypes) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("prior", ["flat", "population"])
def test_genotypes_equal_the_reference_implementation(
    inputs: Inputs, evidence: list[list[Evidence]], prior: str
) -> None:
    """Rounded values may differ as far as float32 may have been rounded differently."""
    found = genotype(inputs.reads, inputs.reference, inputs.sites, prior=prior, device="cpu")
    for site, of_samples in enumerate(evidence):
        calls = [called(one, prior) for one in of_samples]
        off = [10 * PER_READ * one.fragments for one in of_samples]
        for sample, (one, call) in enumerate(zip(of_samples, calls, strict=True)):
            row = site * len(of_samples) + sample
            assert found.depths[site, sample] == one.fragments
            assert found.allele_depths[row].tolist() == one.allele_depths
            assert tuple(found.genotypes[site, sample]) == call.genotype
            likelihoods = found.phred_likelihoods[row].tolist()
            assert likelihoods == pytest.approx(call.phred_likelihoods, abs=0.5 + off[sample])
            lowest, highest = (min(99, int(call.quality + k * off[sample])) for k in (-1, 1))
            assert lowest <= found.genotype_qualities[site, sample] <= highest
        quality = sum(call.reference_quality for call in calls)
        assert found.qualities[site] == pytest.approx(quality, abs=sum(off))


def called(one: Evidence, prior: str) -> SiteCall:
    return call_reference(one.likelihoods, log10_priors(prior, one.alleles), one.alleles, 2)
