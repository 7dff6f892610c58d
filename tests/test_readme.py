"""The examples of the README and of docs/methods/pairhmm.md."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.pairhmm.forward.reference import likelihood_reference

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
RULES = (ROOT / "docs" / "methods" / "pairhmm.md").read_text()
TOLERANCE = 1e-5


def blocks(text: str, language: str, use: str) -> list[str]:
    """Return the code blocks of a language that match a regular expression."""
    found = re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)
    return [block for block in found if re.search(use, block)]


(FIRST,) = blocks(README, "sh", "make_example")
(REALIGN,) = blocks(README, "sh", "^hapgpu realign example/.*--reference")
SHOWN = re.findall(r"```sh\n((?:samtools tview|bcftools) [^`]*)```\n\n```\n([^`]*)```", README)
DELETION = "17675"
TABLE, MATRIX, BATCHES = blocks(README, "sh", "pairhmm ")
(GENOTYPE,) = blocks(README, "sh", "hapgpu genotype example/")
(HAPLOTYPES,) = blocks(README, "sh", "hapgpu haplotypes example/")
INDEX_AND_MAP, MAP_BEST = blocks(README, "sh", "hapgpu map example/")
(INDEX_AND_CHAIN,) = blocks(README, "sh", "hapgpu chain example/")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("readme")
    script = ROOT / "examples" / "make_example.py"
    subprocess.run([sys.executable, str(script), "example"], cwd=path, check=True)
    return path


def output_of(command: str, directory: Path) -> list[str]:
    """Run a command in a shell with this environment first on PATH; return its lines."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        ["sh", "-e", "-c", command],
        cwd=directory,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.splitlines()


@pytest.fixture(scope="module")
def realigned(directory: Path) -> Path:
    """Run the README's first realignment, on the example data that `directory` made."""
    command = FIRST.split("example && ", maxsplit=1)[1]
    assert command.strip() == REALIGN.strip()
    assert output_of(command, directory) == []
    return directory


def test_realigned_bam_is_whole_and_indexed(realigned: Path) -> None:
    with (
        pysam.AlignmentFile(str(realigned / "example" / "reads.bam")) as before,
        pysam.AlignmentFile(str(realigned / "realigned.bam")) as after,
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


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=["tview", "tview-2", "call", "call-2"])
def test_shown_output(realigned: Path, command: str, shown: str) -> None:
    """The picture and the calls, as the programs print them."""
    program = command.split(maxsplit=1)[0]
    if not shutil.which(program):
        pytest.skip(f"no {program}")
    printed = [line.rstrip() for line in output_of(command, realigned)]
    if program == "samtools":
        assert printed == shown.splitlines()
    else:
        calls = {line.split()[0]: line.split()[-1] for line in printed}
        assert calls == {line.split()[0]: line.split()[-1] for line in shown.splitlines()}


def test_deletion_is_missed_before_and_found_after() -> None:
    before, after = (shown.splitlines() for command, shown in SHOWN if "bcftools" in command)
    assert not any(line.startswith(DELETION) for line in before)
    assert [line for line in after if line not in before] == after[-1:]
    assert after[-1].startswith(DELETION)
    assert after[-1].endswith(" 1/1")


def test_line_per_read_and_haplotype(directory: Path) -> None:
    assert output_of(TABLE, directory) == []
    header, *lines = (directory / "likelihoods.tsv").read_text().splitlines()
    assert header == "read\tmate\tlocus\thaplotype\tlog10_likelihood"
    haplotypes = (directory / "example" / "haplotypes.fa").read_text().splitlines()
    loci = [line.split()[1] for line in haplotypes if line.startswith(">")]
    with pysam.AlignmentFile(str(directory / "example" / "reads.bam")) as reads:
        expected = sum(
            not read.flag & 0xF04 for locus in loci for read in reads.fetch(region=locus)
        )
    assert len(lines) == expected > 0


def test_the_reference_haplotype_has_the_lowest_likelihood(directory: Path) -> None:
    """The sample has both haplotypes with a variant here, and not the reference haplotype."""
    header, *lines = output_of(MATRIX, directory)
    names = header.split("\t")[2:]
    rows = [line.split("\t")[2:] for line in lines]
    of_site = [name.startswith("locus1_") for name in names]
    assert [[value != "NA" for value in row] for row in rows] == [of_site] * len(rows)
    values = np.array([row[: sum(of_site)] for row in rows], dtype=np.float64)
    assert np.ptp(values, axis=1).max() < 4.5 + TOLERANCE
    assert values.sum(axis=0).argmin() == names.index("locus1_ref")


def test_text_batch(directory: Path) -> None:
    _, *lines = output_of(BATCHES, directory)
    texts = (b"ACGTTTGACA", b"ACGTTTGACA", b"ACGTATGACA")
    read, *haplotypes = (np.frombuffer(text, dtype=np.uint8) for text in texts)
    high, low = (np.full(read.size, quality, dtype=np.uint8) for quality in (40, 10))
    expected = [
        likelihood_reference(read, high, high, high, low, haplotype) for haplotype in haplotypes
    ]
    assert [line.split("\t")[:3] for line in lines] == [["0", "0", "0"], ["0", "0", "1"]]
    found = [float(line.split("\t")[3]) for line in lines]
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


def test_output_of_the_batch_in_the_rules(tmp_path: Path) -> None:
    batch, table = re.findall(r"```\n((?:2 2|batch).*?)```", RULES, flags=re.DOTALL)
    (tmp_path / "batch.in").write_text(batch)
    found = output_of("hapgpu pairhmm --batches batch.in", tmp_path)
    header, *rows = (line.split("\t") for line in found)
    expected_header, *expected = (line.split("\t") for line in table.splitlines())
    assert header == expected_header
    np.testing.assert_allclose(
        np.array(rows, dtype=np.float64), np.array(expected, dtype=np.float64), atol=TOLERANCE
    )


@pytest.mark.parametrize("text", [README, RULES], ids=["README", "docs"])
def test_python(text: str) -> None:
    (block,) = blocks(text, "python", "pair_hmm")
    subprocess.run([sys.executable, "-c", f"import hapgpu\n{block}"], check=True)


TRUTH = {5121: "1/1", 5206: "0/1", 5251: "0/0", 5291: "0/1", 10190: "0/1", 15180: "1/2"}
"""Alleles of the example's sample, by position (`examples/make_example.py`)."""


def test_genotypes(directory: Path) -> None:
    assert output_of(GENOTYPE, directory) == []
    assert (directory / "genotypes.vcf.gz.tbi").exists()
    with pysam.VariantFile(str(directory / "genotypes.vcf.gz")) as records:
        called = {record.pos: record.samples["sample"]["GT"] for record in records}
    assert {position: "/".join(map(str, alleles)) for position, alleles in called.items()} == TRUTH


def test_candidate_haplotypes(directory: Path) -> None:
    """Of six sites, the four SNVs are close enough to be combined."""
    assert output_of(HAPLOTYPES, directory) == []
    lines = (directory / "haplotypes.fa").read_text().splitlines()
    assert sum(line.startswith(">") for line in lines) == 2**4 + 2 + 3


def test_python_genotypes(directory: Path) -> None:
    (block,) = blocks(README, "python", "hapgpu.genotype")
    command = f"import hapgpu\n{block}\nprint(*called.genotypes[:, 0].tolist())"
    run = subprocess.run(
        [sys.executable, "-c", command], cwd=directory, check=True, capture_output=True, text=True
    )
    assert run.stdout.split("\n")[0] == " ".join(
        f"[{genotype.replace('/', ', ')}]" for genotype in TRUTH.values()
    )


def test_all_hits(directory: Path) -> None:
    assert output_of(INDEX_AND_MAP, directory) == []
    assert (directory / "example" / "reference.fa.hgx").exists()
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


def test_best_hits(directory: Path) -> None:
    assert output_of(MAP_BEST, directory) == []
    with pysam.AlignmentFile(str(directory / "best.bam")) as records:
        assert records.header.to_dict()["RG"] == [{"ID": "run1", "SM": "sample"}]
        assert all(record.get_tag("RG") == "run1" for record in records)


def test_python_index(directory: Path) -> None:
    (block,) = blocks(README, "python", "FMIndex")
    command = f"import hapgpu\n{block}\nprint(len(hits))"
    run = subprocess.run(
        [sys.executable, "-c", command], cwd=directory, check=True, capture_output=True, text=True
    )
    assert int(run.stdout) > 0


def test_long_reads(directory: Path) -> None:
    """Each read maps to the position in its header."""
    assert output_of(INDEX_AND_CHAIN, directory) == []
    assert (directory / "example" / "reference.fa.k15w10.hgm").exists()
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


def test_python_chain() -> None:
    (block,) = blocks(README, "python", "hapgpu.chain")
    command = f"import hapgpu\n{block}\nprint(*chained.scores, *chained.chains.scores)"
    run = subprocess.run(
        [sys.executable, "-c", command], check=True, capture_output=True, text=True
    )
    assert run.stdout.split() == ["15", "30", "45", "60", "60"]
