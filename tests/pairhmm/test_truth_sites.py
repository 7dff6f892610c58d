"""The haplotypes that two people are known to have must explain their reads best.

Around each site of the truth, all haplotypes that the alleles there can make compete in pairs by
their diploid likelihood. The pair of the truth has to win wherever the truth is sure of itself
and more than a few reads can tell the winner from it. Both numbers and each miss are logged
(`--log-cli-level=INFO`).
"""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pysam
import pytest
from numpy.typing import NDArray

from tests.cli.pairhmm.command import Row, rows_of
from tests.pairhmm.truth_sites import TruthSite, truth_sites, write_haplotypes

READ_LENGTHS = {"NA12878": 101, "HG002": 148}
TOLERANCE = 1e-5  # of a likelihood: pairs that differ by less are equal
# The chance that so many reads of a heterozygous site all show the same allele is 1/4.
FEW_READS = 3
# What a read tells of two pairs that differ by a heterozygous site is log10 2.
TELLING = 0.1
ALMOST_EVERY = 0.95

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Miss:
    """A site where the truth does not win: by how much, and how many reads speak against it."""

    site: TruthSite
    excess: float
    reads: int
    telling: int
    is_confident: bool

    @property
    def reason(self) -> str | None:
        if self.telling <= FEW_READS:
            return f"only {self.telling} reads tell the winner from the truth"
        if not self.is_confident:
            return "the site lies outside the regions where the truth is confident"
        return None

    def __str__(self) -> str:
        record = self.site.record
        return (
            f"{self.site.contig}:{record.start + 1} {'/'.join(record.alleles)}"
            f" {record.genotype}: {self.excess:.2f} behind with {self.reads} reads: {self.reason}"
        )


def diploid_likelihoods(values: NDArray[np.float64], site: TruthSite) -> NDArray[np.float64]:
    """Sum up the haplotypes of each pair, float64[reads, pairs], log10."""
    first, second = np.array(site.pairs).T
    odds = values * np.log(10.0)
    return np.logaddexp(odds[:, first], odds[:, second]) / np.log(10.0) - np.log10(2.0)


def miss_of(site: TruthSite, rows: list[Row], *, is_confident: bool) -> Miss | None:
    values = np.array([row.likelihood for row in rows]).reshape(-1, len(site.haplotypes))
    by_read = diploid_likelihoods(values, site)
    total = by_read.sum(axis=0)
    true = [k for k, pair in enumerate(site.pairs) if frozenset(pair) in site.truth]
    best, best_true = int(total.argmax()), true[int(total[true].argmax())]
    excess = float(total[best] - total[best_true])
    if excess <= TOLERANCE * len(values):
        return None
    telling = int((np.abs(by_read[:, best] - by_read[:, best_true]) > TELLING).sum())
    return Miss(site, excess, len(values), telling, is_confident)


def confident_regions(path: Path) -> list[tuple[int, int]]:
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return [(int(start), int(end)) for _, start, end, *_ in rows]


@pytest.mark.parametrize("way", ["clipped", "extended"])
@pytest.mark.parametrize("sample", READ_LENGTHS)
def test_the_true_haplotypes_win(data_dir: Path, tmp_path: Path, sample: str, way: str) -> None:
    data = data_dir / "illumina_na12878"
    reference = data / "chr20.hg19.fa.gz"
    options = ["--reference", reference] if way == "extended" else []
    # Windows that hold the reads over their site whole.
    flank = READ_LENGTHS[sample]
    sites = truth_sites(reference, data / f"{sample}.truth.dev.vcf.gz", flank)
    reads = tmp_path / "reads.bam"
    # GATK HaplotypeCaller looks at no others.
    pysam.view(
        "-q", "20", "-o", str(reads), str(data / f"{sample}.chr20.dev.bam"), catch_stdout=False
    )
    pysam.index(str(reads))
    haplotypes = write_haplotypes(tmp_path / "haplotypes.fa", sites)
    rows = defaultdict(list)
    for row in rows_of(tmp_path, reads, haplotypes, "--normalize", *options):
        rows[row.locus].append(row)
    # There are none of NA12878; those of HG002 leave out what is hard to know in anyone.
    regions = confident_regions(data / "HG002.confident.dev.bed")
    misses = []
    for site in sites:
        is_confident = any(a <= site.record.start and site.record.end <= b for a, b in regions)
        if miss := miss_of(site, rows[site.locus], is_confident=is_confident):
            misses.append(miss)
    wins = len(sites) - len(misses)
    logger.info("%s, %s: truth wins at %d of %d sites", sample, way, wins, len(sites))
    for miss in misses:
        logger.info("%s", miss)
    assert not [str(miss) for miss in misses if miss.reason is None]
    assert wins >= ALMOST_EVERY * len(sites)
