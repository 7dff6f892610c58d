"""The files that `hapgpu genotype` reads and writes: kinds, pipes, several samples, indexes."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pysam
import pysam.bcftools
import pytest

from tests.cli.genotype.command import (
    ALT,
    BASES,
    COMMAND,
    CONTIG,
    REF,
    SITE,
    Read,
    calls_in,
    calls_of,
    header_of,
    pileup,
    status_of,
    text_of,
    write_bam,
    write_sam,
    write_sites,
)
from tests.cli.haplotypes.command import write_reference
from tests.cli.realign.command import make_example

CONTIGS = tuple(f"chr{number}" for number in range(1, 9))


class Inputs(NamedTuple):
    """Reads, reference and sites."""

    reads: Path
    reference: Path
    sites: Path


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Make the example with reads also as SAM and CRAM, sites also compressed and as BCF."""
    directory = make_example(tmp_path_factory.mktemp("example"))
    bam, fasta, vcf = (str(directory / name) for name in ("reads.bam", "reference.fa", "sites.vcf"))
    pysam.view("-h", "--no-PG", "-o", str(directory / "reads.sam"), bam, catch_stdout=False)
    cram = str(directory / "reads.cram")
    pysam.view("-C", "-T", fasta, "--no-PG", "-o", cram, bam, catch_stdout=False)
    pysam.index(cram)
    (directory / "sites.gzip.vcf.gz").write_bytes(gzip.compress(Path(vcf).read_bytes()))
    pysam.tabix_compress(vcf, str(directory / "sites.vcf.gz"))
    with (
        pysam.VariantFile(vcf) as records,
        pysam.VariantFile(str(directory / "sites.bcf"), "wb", header=records.header) as out,
    ):
        for record in records:
            out.write(record)
    return Inputs(Path(bam), Path(fasta), Path(vcf))


@pytest.fixture(scope="module")
def contigs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Make eight contigs of the same bases, hence several batches, with reads of two samples."""
    directory = tmp_path_factory.mktemp("contigs")
    reference = directory / "ref.fa"
    reference.write_text("".join(f">{contig}\n{BASES}\n" for contig in CONTIGS))
    pysam.faidx(str(reference))
    reads = [
        read._replace(contig=contig)
        for number, contig in enumerate(CONTIGS)
        for read in (
            *pileup("01" * (4 + number), "a", group="a"),
            *pileup("1" * number, "b", group="b"),
        )
    ]
    lengths = dict.fromkeys(CONTIGS, len(BASES))
    bam = write_bam(write_sam(directory / "reads.sam", reads, {"a": "NA1", "b": "NA 2"}, lengths))
    lines = ["##fileformat=VCFv4.3", "#CHROM POS ID REF ALT QUAL FILTER INFO".replace(" ", "\t")]
    for contig in CONTIGS[::-1]:
        for position in (20, SITE, 290):
            base = BASES[position - 1]
            alternative = ALT if position == SITE else "ACGT".replace(base, "")[0]
            lines.append(f"{contig}\t{position}\t.\t{base}\t{alternative}\t.\t.\t.")
    sites = directory / "sites.vcf"
    sites.write_text("\n".join([*lines, ""]))
    return Inputs(bam, reference, sites)


def without_commands(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("##hapgpu_genotypeCommand")]


@pytest.mark.parametrize("name", ["out.vcf", "out.vcf.gz", "out.vcf.bgz", "out", "out.txt"])
def test_outputs(
    example: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert status_of(*example, "-q") == 0
    expected = capsys.readouterr().out
    out = tmp_path / name
    assert status_of(*example, "-q", "-o", out) == 0
    assert without_commands(text_of(out)) == without_commands(expected)
    written = {path.name for path in tmp_path.iterdir()}
    if not name.endswith("gz"):
        assert written == {name}
        return
    assert written == {name, f"{name}.tbi"}
    with pysam.TabixFile(str(out)) as file:
        assert [line.split("\t")[1] for line in file.fetch("chr20", 5205, 5251)] == ["5206", "5251"]
        assert [line.split("\t")[1] for line in file.fetch("chr20", 10200, 10201)] == ["10190"]
        assert list(file.fetch("chr20", 16000, 20000)) == []


def test_an_earlier_output_is_replaced(example: Inputs, tmp_path: Path) -> None:
    out = tmp_path / "out.vcf.gz"
    for regions, count in ([], 6), (["-r", "chr20:10000"], 2):
        assert status_of(*example, *regions, "-q", "-o", out) == 0
        with pysam.TabixFile(str(out)) as file:
            assert len(list(file.fetch("chr20"))) == count


def test_header_lines_are_kept_and_extended(tmp_path: Path) -> None:
    kept = [
        '##FILTER=<ID=q10,Description="Quality below 10">',
        f"##contig=<ID={CONTIG},length={len(BASES)},assembly=made>",
        '##INFO=<ID=DB,Number=0,Type=Flag,Description="Known, ID=DP">',
        "##source=somebody else",
    ]
    replaced = [
        '##INFO=<ID=DP,Number=.,Type=Float,Description="Depth">',
        '##FORMAT=<ID=GQ,Number=1,Type=Float,Description="Quality">',
    ]
    sites = write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT}"], [*kept, *replaced])
    out = tmp_path / "out.vcf"
    reads = write_sam(tmp_path / "reads.sam", pileup("01"))
    assert status_of(reads, write_reference(tmp_path, BASES, CONTIG), sites, "-o", out) == 0
    lines = header_of(out.read_text())
    assert sites.read_text().startswith("##fileformat=VCFv4.2\n")
    assert lines[0] == "##fileformat=VCFv4.3"
    assert [line for line in lines if line in kept] == kept
    assert not set(lines) & set(replaced)
    with pysam.VariantFile(str(out)) as file:
        assert (file.header.info["DP"].type, file.header.formats["GQ"].type) == ("Integer",) * 2
        assert file.header.contigs[CONTIG].length == len(BASES)
        assert list(file.header.samples) == ["NA1"]


@pytest.mark.parametrize("reads", ["reads.bam", "reads.sam", "reads.cram"])
@pytest.mark.parametrize("sites", ["sites.vcf", "sites.vcf.gz", "sites.gzip.vcf.gz", "sites.bcf"])
def test_kinds_of_inputs(example: Inputs, tmp_path: Path, reads: str, sites: str) -> None:
    directory = example.reads.parent
    found = calls_of(tmp_path, directory / reads, example.reference, directory / sites)
    assert found == calls_of(tmp_path, *example)


def test_compressed_reference(example: Inputs, tmp_path: Path) -> None:
    reference = tmp_path / "reference.fa.gz"
    pysam.tabix_compress(str(example.reference), str(reference))
    pysam.faidx(str(reference))
    found = calls_of(tmp_path, example.reads, reference, example.sites)
    assert found == calls_of(tmp_path, *example)


@pytest.mark.parametrize(
    ("piped", "arguments"),
    [
        ("reads.bam", ["-", "reference.fa", "sites.bcf"]),
        ("sites.vcf.gz", ["reads.cram", "reference.fa", "-"]),
    ],
)
def test_pipes(example: Inputs, tmp_path: Path, piped: str, arguments: Sequence[str]) -> None:
    directory = example.reads.parent
    with (directory / piped).open("rb") as stream:
        done = subprocess.run(
            [*COMMAND, *arguments, "-q", "--device", "cpu"],
            stdin=stream,
            capture_output=True,
            cwd=directory,
            text=True,
            check=True,
        )
    assert calls_in(done.stdout) == calls_of(tmp_path, *example)
    assert not done.stderr


def test_a_reader_that_ends_early(tmp_path: Path) -> None:
    """A closed pipe ends the command without a message, with the status of SIGPIPE."""
    sites = write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT}"] * 4000)
    reads = write_sam(tmp_path / "reads.sam", [])
    reference = write_reference(tmp_path, BASES, CONTIG)
    command = [*COMMAND, *map(str, (reads, reference, sites)), "-q", "--device", "cpu"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b"#"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


@pytest.mark.parametrize("suffix", [".vcf", ".vcf.gz"])
def test_threads_change_nothing(contigs: Inputs, tmp_path: Path, suffix: str) -> None:
    written = []
    for threads in (1, 2, 3):
        out = tmp_path / f"{threads}{suffix}"
        assert status_of(*contigs, "-q", "-o", out, threads=threads) == 0
        written.append(without_commands(text_of(out)))
    assert written[0] == written[1] == written[2]
    assert len(calls_in("\n".join(written[0]))) == 3 * len(CONTIGS)


def test_sites_keep_their_order(contigs: Inputs, tmp_path: Path) -> None:
    """The contigs of the sites are in another order than in the reference and the reads."""
    calls = calls_of(tmp_path, *contigs)
    positions = [(call.contig, call.position) for call in calls]
    assert positions == list(product(CONTIGS[::-1], (20, SITE, 290)))
    for call in calls:
        first, second = call.samples
        if call.position == SITE:
            pairs = 4 + CONTIGS.index(call.contig)
            assert (first["GT"], first["AD"]) == ("0/1", f"{pairs},{pairs}")
            assert (second["DP"], second["AD"]) == (str(pairs - 4), f"0,{pairs - 4}")
        assert call.info == f"DP={int(first['DP']) + int(second['DP'])}"


def test_one_sample_in_several_files(example: Inputs, tmp_path: Path) -> None:
    """Read pairs give the same result in one file and in several."""
    with pysam.AlignmentFile(str(example.reads)) as file:
        names = ("0", "1.bam", "2.bam")
        parts = [
            pysam.AlignmentFile(str(tmp_path / name), "wb", template=file) for name in names[1:]
        ]
        for record in file:
            parts[int(record.query_name[-1]) % 2].write(record)
    for part in parts:
        part.close()
    for name in names[1:]:
        pysam.index(str(tmp_path / name))
    files = [tmp_path / name for name in names[1:]]
    found = calls_of(tmp_path, *files, example.reference, example.sites)
    assert found == calls_of(tmp_path, *example)


def samples_apart(directory: Path) -> Iterator[list[Path]]:
    """Yield the reads of two samples in two files, and in one."""
    first, second = pileup("0101010101", "a", group="a"), pileup("1111", "b", group="b")
    yield [
        write_sam(directory / "first.sam", first, {"a": "NA1"}),
        write_bam(write_sam(directory / "second.sam", second, {"b": "NA2"})),
    ]
    yield [write_bam(write_sam(directory / "both.sam", first + second, {"a": "NA1", "b": "NA2"}))]


def test_two_samples(tmp_path: Path) -> None:
    reference = write_reference(tmp_path, BASES, CONTIG)
    sites = write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT}", f"250 {BASES[249]} <DEL>"])
    apart, together = (
        calls_of(tmp_path, *files, reference, sites) for files in samples_apart(tmp_path)
    )
    assert apart == together
    call, missing = together
    assert [sample["GT"] for sample in call.samples] == ["0/1", "1/1"]
    assert [sample["GT"] for sample in missing.samples] == ["./.", "./."]
    alone = [
        calls_of(tmp_path, tmp_path / name, reference, sites)[0]
        for name in ("first.sam", "second.sam")
    ]
    assert call.samples == alone[0].samples + alone[1].samples
    # The samples are independent: the probability that none has ALT is the product.
    assert float(call.quality) == pytest.approx(sum(float(one.quality) for one in alone), abs=0.02)


def test_the_name_of_a_sample(tmp_path: Path) -> None:
    reference = write_reference(tmp_path, BASES, CONTIG)
    sites = write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT}"])
    out = tmp_path / "out.vcf"
    for groups, expected in [
        ({"run1": "with blanks, ünd so on"}, "with blanks, ünd so on"),
        ({"run1": ""}, "the file"),
        ({}, "the file"),
    ]:
        reads = write_sam(tmp_path / "the file.sam", pileup("0"), groups)
        assert status_of(reads, reference, sites, "-q", "-o", out) == 0
        assert header_of(out.read_text())[-1].split("\t")[9:] == [expected]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n"])
def test_line_ends(tmp_path: Path, line_end: str, last: str) -> None:
    reads = write_sam(tmp_path / "reads.sam", pileup("01"))
    reference = write_reference(tmp_path, BASES, CONTIG)
    sites = write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT}"])
    expected = calls_of(tmp_path, reads, reference, sites)
    text = sites.read_text().removesuffix("\n") + last
    sites.write_bytes(text.replace("\n", line_end).encode())
    assert calls_of(tmp_path, reads, reference, sites) == expected
    assert b"\r" not in (tmp_path / "calls_of.vcf").read_bytes()


ODD_SITES = [
    f"20 . {BASES[19]} . . . .",
    f"{SITE} rs1 {REF} {ALT},*,<DEL> 5 PASS DP=9;END=170",
    f"{SITE} . {REF} {REF}[{CONTIG}:5[ . . DB",
    f"{SITE + 1} . {BASES[SITE : SITE + 20]} {BASES[SITE]},{BASES[SITE]}TT . . .",
    f"300 . {BASES[299].lower()} acgtn . . .",
]
ODD_HEADER = [
    '##INFO=<ID=DB,Number=0,Type=Flag,Description="Known">',
    '##INFO=<ID=END,Number=1,Type=Integer,Description="Last base">',
    '##ALT=<ID=DEL,Description="Deletion">',
]


@pytest.mark.skipif(shutil.which("bcftools") is None, reason="needs bcftools")
@pytest.mark.parametrize(
    ("kind", "ploidy"),
    [("example", "2"), ("contigs", "1"), ("odd", "1"), ("odd", "2"), ("odd", "3")],
)
def test_others_can_read_it(
    example: Inputs, contigs: Inputs, tmp_path: Path, kind: str, ploidy: str
) -> None:
    odd = Inputs(
        write_sam(tmp_path / "reads.sam", pileup("01" * 5)),
        write_reference(tmp_path, BASES, CONTIG),
        write_sites(tmp_path / "odd.vcf", ODD_SITES, ODD_HEADER),
    )
    inputs = {"example": example, "contigs": contigs, "odd": odd}[kind]
    out = tmp_path / "out.vcf.gz"
    assert status_of(*inputs, "--ploidy", ploidy, "-q", "-o", out) == 0
    commands = [["view", "-Ob"], ["stats"], ["norm", "-f", str(inputs.reference)]]
    if int(ploidy) <= 2:  # bcftools 1.16 cannot split the PL of more
        commands.append(["norm", "-m-any"])
    for command in commands:
        arguments = ["bcftools", *command, str(out)]
        done = subprocess.run(arguments, capture_output=True, check=True)
        printed = done.stderr.decode().splitlines()
        assert [line for line in printed if not line.startswith("Lines   total/")] == []


def test_records_at_telomeres_are_passed_through(tmp_path: Path) -> None:
    """Records at POS 0 have no base that a read could cover; bcftools can read them."""
    reference = write_reference(tmp_path, BASES, CONTIG)
    whole = [Read(f"r{k}", 1, BASES, f"{len(BASES)}M") for k in range(9)]
    reads = write_sam(tmp_path / "reads.sam", whole)
    end = len(BASES) + 1
    inner = f"{SITE} {REF} {ALT}"
    records = ["0 N .[13:123[", "0 N A", "0 NN .", inner, f"{end} N <DEL>,C", f"{end} N ]2:9]."]
    out = tmp_path / "out.vcf.gz"
    sites = write_sites(tmp_path / "sites.vcf", records)
    assert status_of(reads, reference, sites, "-q", "-o", out) == 0
    calls = calls_in(pysam.bcftools.view("--no-version", str(out)))
    assert [f"{call.position} {call.reference} {call.alternatives}" for call in calls] == records
    missing = ["./."] * 3
    assert [call.genotype() for call in calls] == [*missing, "0/0", *missing[:2]]
    found = pysam.bcftools.view("-H", "-r", f"{CONTIG}:{end}-{end}", str(out)).splitlines()
    assert len(found) == 2
