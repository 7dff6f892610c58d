"""The true haplotypes of two samples must have the highest likelihood given their reads.

Around each site of the truth set, all pairs of haplotypes of the nearby alleles are compared by
diploid likelihood. The true pair must win where the truth set is confident and more than a few
reads distinguish it from the best pair. The number of wins and each miss are logged
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
# With probability 1/4, this many reads of a heterozygous site all have the same allele.
FEW_READS = 3
# The likelihoods of a read, for two pairs that differ by a heterozygous site, differ by log10 2.
MIN_DIFFERENCE = 0.1
ALMOST_EVERY = 0.95

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Miss:
    """A site where the true pair does not win; `informative` reads distinguish it from the best."""

    site: TruthSite
    excess: float
    reads: int
    informative: int
    is_confident: bool

    @property
    def reason(self) -> str | None:
        if self.informative <= FEW_READS:
            return f"only {self.informative} reads distinguish the best pair from the true pair"
        if not self.is_confident:
            return "the site is outside the confident regions"
        return None

    def __str__(self) -> str:
        record = self.site.record
        return (
            f"{self.site.contig}:{record.start + 1} {'/'.join(record.alleles)}"
            f" {record.genotype}: {self.excess:.2f} below, {self.reads} reads: {self.reason}"
        )


def diploid_likelihoods(values: NDArray[np.float64], site: TruthSite) -> NDArray[np.float64]:
    """Return the likelihoods of each pair of haplotypes, float64[reads, pairs], log10."""
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
    informative = int((np.abs(by_read[:, best] - by_read[:, best_true]) > MIN_DIFFERENCE).sum())
    return Miss(site, excess, len(values), informative, is_confident)


def confident_regions(path: Path) -> list[tuple[int, int]]:
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return [(int(start), int(end)) for _, start, end, *_ in rows]


@pytest.mark.parametrize(
    ("sample", "way"),
    [
        ("NA12878", "clipped"),
        ("HG002", "extended"),
        pytest.param("NA12878", "extended", marks=pytest.mark.exhaustive),
        pytest.param("HG002", "clipped", marks=pytest.mark.exhaustive),
    ],
)
def test_the_true_haplotypes_win(data_dir: Path, tmp_path: Path, sample: str, way: str) -> None:
    data = data_dir / "illumina_na12878"
    reference = data / "chr20.hg19.fa.gz"
    options = ["--reference", reference] if way == "extended" else []
    # Windows that contain the reads at their site.
    flank = READ_LENGTHS[sample]
    sites = truth_sites(reference, data / f"{sample}.truth.dev.vcf.gz", flank)
    reads = tmp_path / "reads.bam"
    # GATK HaplotypeCaller excludes all others.
    pysam.view(
        "-q", "20", "-o", str(reads), str(data / f"{sample}.chr20.dev.bam"), catch_stdout=False
    )
    pysam.index(str(reads))
    haplotypes = write_haplotypes(tmp_path / "haplotypes.fa", sites)
    rows = defaultdict(list)
    for row in rows_of(tmp_path, reads, haplotypes, "--normalize", *options):
        rows[row.locus].append(row)
    # NA12878 has no confident regions here; the regions of HG002 exclude difficult sequence.
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
