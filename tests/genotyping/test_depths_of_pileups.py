"""DP and AD of real samples, compared with pileups of the same reads."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu import genotype

NO_EVIDENCE = 0xF04
MIN_MAPPING_QUALITY = 20


def bases_at(reads: pysam.AlignmentFile, contig: str, position: int) -> list[set[str]]:
    """Return the base of each fragment at a position, `*` within a deletion."""
    fragments: dict[str, set[str]] = defaultdict(set)
    for read in reads.fetch(contig, position, position + 1):
        if read.flag & NO_EVIDENCE or not MIN_MAPPING_QUALITY <= read.mapping_quality < 255:
            continue
        bases = {at: row for row, at in read.get_aligned_pairs(matches_only=True)}
        row = bases.get(position)
        fragments[read.query_name].add("*" if row is None else read.query_sequence[row])
    return list(fragments.values())


@pytest.mark.parametrize("sample", ["NA12878", "HG002"])
def test_snvs(data_dir: Path, sample: str) -> None:
    """No fragment is missing, except at a few sites in repeats, which fragments have to span.

    There may be more of them: clipped bases count as if they were aligned.
    """
    directory = data_dir / "illumina_na12878"
    files = [directory / name for name in (f"{sample}.chr20.dev.bam", "chr20.hg19.fa.gz")]
    calls = genotype(*files, directory / "sites.dev.vcf.gz", device="cpu")
    more, off = [], []
    with pysam.AlignmentFile(files[0]) as reads:
        for row, alleles in enumerate(calls.alleles):
            if set(map(len, alleles)) == {1} and "*" not in alleles:
                contig = calls.contig_names[calls.contigs[row]]
                fragments = bases_at(reads, contig, int(calls.positions[row]))
                support = [sum(bases == {allele} for bases in fragments) for allele in alleles]
                more.append(calls.depths[row, 0] - len(fragments))
                off.append(np.abs(calls.allele_depths[row] - support).max())
    assert len(more) > 140
    assert np.mean(np.array(more) >= 0) >= 0.98
    assert np.mean(np.array(more) == 0) > 0.8
    assert np.mean(np.array(off) <= 1) > 0.9
