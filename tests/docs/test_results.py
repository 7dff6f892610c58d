"""Files that the commands of the pages write, compared with what the example data hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pysam
import pytest

from tests.docs.pages import blocks, read_page
from tests.pairhmm.forward.reference import likelihood_reference

pytestmark = pytest.mark.exhaustive  # pages that are run
TOLERANCE = 1e-5
TRUTH = {5121: "1/1", 5206: "0/1", 5251: "0/0", 5291: "0/1", 10190: "0/1", 15180: "1/2"}
"""Alleles of the example's sample, by position (`examples/make_example.py`)."""

Ran = Callable[[str], Path]


def outputs(page: str, words: str) -> list[list[str]]:
    """Return the lines that a page shows after its commands with some words."""
    return [
        block.output.splitlines()
        for block in blocks(read_page(page))
        if block.output and words in block.text
    ]


def test_realigned_bam_is_whole_and_indexed(ran: Ran) -> None:
    directory = ran("docs/commands/realign.md")
    with (
        pysam.AlignmentFile(str(directory / "example" / "reads.bam")) as before,
        pysam.AlignmentFile(str(directory / "realigned.bam")) as after,
    ):
        assert after.check_index()
        old, new = [*before], [*after]
        locus = [*after.fetch("chr20", 17_500, 17_900)]
    assert sorted((r.query_name, r.flag) for r in new) == sorted(
        (r.query_name, r.flag) for r in old
    )
    assert [r.reference_start for r in new] == sorted(r.reference_start for r in new)
    assert sum("50D" in r.cigarstring and r.has_tag("OC") for r in locus) > 5
    assert not any("50D" in r.cigarstring for r in old)


def test_line_per_read_and_haplotype(ran: Ran) -> None:
    directory = ran("docs/commands/pairhmm.md")
    header, *lines = (directory / "likelihoods.tsv").read_text().splitlines()
    assert header == "read\tmate\tlocus\thaplotype\tlog10_likelihood"
    haplotypes = (directory / "example" / "haplotypes.fa").read_text().splitlines()
    loci = [line.split()[1] for line in haplotypes if line.startswith(">")]
    with pysam.AlignmentFile(str(directory / "example" / "reads.bam")) as reads:
        expected = sum(
            not read.flag & 0xF04 for locus in loci for read in reads.fetch(region=locus)
        )
    assert len(lines) == expected > 0


def test_text_batch() -> None:
    ((_, *lines),) = outputs("docs/commands/pairhmm.md", "--batches")
    texts = (b"ACGTTTGACA", b"ACGTTTGACA", b"ACGTATGACA")
    read, *haplotypes = (np.frombuffer(text, dtype=np.uint8) for text in texts)
    high, low = (np.full(read.size, quality, dtype=np.uint8) for quality in (40, 10))
    expected = [
        likelihood_reference(read, high, high, high, low, haplotype) for haplotype in haplotypes
    ]
    assert [line.split("\t")[:3] for line in lines] == [["0", "0", "0"], ["0", "0", "1"]]
    found = [float(line.split("\t")[3]) for line in lines]
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


def test_genotypes(ran: Ran) -> None:
    directory = ran("docs/commands/genotype.md")
    assert (directory / "genotypes.vcf.gz.tbi").exists()
    with pysam.VariantFile(str(directory / "genotypes.vcf.gz")) as records:
        called = {record.pos: record.samples["sample"]["GT"] for record in records}
    assert {position: "/".join(map(str, alleles)) for position, alleles in called.items()} == TRUTH


def test_candidate_haplotypes(ran: Ran) -> None:
    """Of six sites, the four SNVs are close enough to be combined."""
    text = (ran("docs/commands/haplotypes.md") / "haplotypes.fa").read_text()
    assert text.count(">chr20") == 2**4 + 2 + 3


def test_all_hits(ran: Ran) -> None:
    directory = ran("docs/commands/map.md")
    with (
        pysam.AlignmentFile(str(directory / "hits.sam")) as records,
        pysam.FastaFile(str(directory / "example" / "reference.fa")) as reference,
    ):
        chromosome = reference.fetch("chr20")
        hits = [record for record in records if not record.is_unmapped]
    assert len(hits) > 500
    for hit in hits:
        window = chromosome[hit.reference_start : hit.reference_end]
        is_exact = hit.is_secondary or hit.query_sequence == window
        assert is_exact or hit.get_tag("NM") == 1


def test_best_hits(ran: Ran) -> None:
    with pysam.AlignmentFile(str(ran("docs/commands/map.md") / "best.bam")) as records:
        assert records.header.to_dict()["RG"] == [{"ID": "run1", "SM": "sample"}]
        assert all(record.get_tag("RG") == "run1" for record in records)


def test_long_reads(ran: Ran) -> None:
    """Each read maps to the position in its header."""
    directory = ran("docs/commands/chain.md")
    lines = (directory / "long.paf").read_text().splitlines()
    rows = {line.split("\t")[0]: line.split("\t") for line in lines}
    with pysam.FastxFile(str(directory / "example" / "long_reads.fastq.gz")) as records:
        origins = {record.name: record.comment for record in records}
    assert rows.keys() == origins.keys()
    for name, origin in origins.items():
        found = re.fullmatch(r"(.+):(\d+)-(\d+) ([+-])", origin)
        assert found
        row = rows[name]
        assert (row[5], row[4]) == (found[1], found[4])
        assert abs(int(row[7]) + 1 - int(found[2])) < 200
        assert abs(int(row[8]) - int(found[3])) < 200
