"""`hapgpu genotype`: calls of a known sample, and the effects of options and sites."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.cli.genotype.command import (
    ALT,
    BASES,
    CONTIG,
    OTHER,
    REF,
    SITE,
    Read,
    calls_in,
    calls_of,
    genotypes_of,
    header_of,
    pileup,
    status_of,
    text_of,
    write_sam,
    write_sites,
)
from tests.cli.haplotypes.command import write_reference
from tests.cli.realign.command import make_example

# Of the sample that examples/make_example.py simulates.
TRUTH = {5121: "1/1", 5206: "0/1", 5251: "0/0", 5291: "0/1", 10190: "0/1", 15180: "1/2"}
REPEAT = 15180


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Make reads, reference and sites."""
    directory = make_example(tmp_path_factory.mktemp("example"))
    return directory / "reads.bam", directory / "reference.fa", directory / "sites.vcf"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Make twenty reads, every second with ALT at `SITE`, and the reference."""
    directory = tmp_path_factory.mktemp("made")
    reads = write_sam(directory / "reads.sam", pileup("01" * 10))
    return reads, write_reference(directory, BASES, CONTIG)


def test_genotypes_of_a_known_sample(example: tuple[Path, Path, Path], tmp_path: Path) -> None:
    calls = calls_of(tmp_path, *example)
    assert {call.position: call.genotype() for call in calls} == TRUTH
    for call in calls:
        (sample,) = call.samples
        depths = [int(text) for text in sample["AD"].split(",")]
        likelihoods = [int(text) for text in sample["PL"].split(",")]
        assert call.info == f"DP={sample['DP']}"
        assert 80 < int(sample["DP"]) < 200
        assert sum(depths) <= int(sample["DP"])
        carried = set(map(int, sample["GT"].split("/")))
        for allele, depth in enumerate(depths):
            assert (depth > 20) == (allele in carried)
        assert likelihoods.count(0) == 1
        assert min(text for text in likelihoods if text) > 99
        assert sample["GQ"] == "99"
        assert (float(call.quality) > 1000) == (carried != {0})


def test_the_header(example: tuple[Path, Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out.vcf"
    arguments = [*map(str, example), "--ploidy", "2", "-o", str(out)]
    assert status_of(*arguments, "-q") == 0
    *lines, columns = header_of(out.read_text())
    assert lines[0] == "##fileformat=VCFv4.3"
    assert "##contig=<ID=chr20,length=20000>" in lines
    for kind, name, number in [
        ("FORMAT", "GT", "1"),
        ("FORMAT", "GQ", "1"),
        ("FORMAT", "DP", "1"),
        ("FORMAT", "AD", "R"),
        ("FORMAT", "PL", "G"),
        ("INFO", "DP", "1"),
    ]:
        assert sum(line.startswith(f"##{kind}=<ID={name},Number={number},") for line in lines) == 1
    (command,) = (line for line in lines if line.startswith("##hapgpu_genotypeCommand="))
    assert " ".join(arguments) in command
    assert columns.split("\t")[8:] == ["FORMAT", "sample"]


@pytest.mark.parametrize("ploidy", [1, 2, 3, 4])
def test_ploidy(example: tuple[Path, Path, Path], tmp_path: Path, ploidy: int) -> None:
    """Any ploidy gives the same alleles, in similar fractions."""
    calls = calls_of(tmp_path, *example, "--ploidy", str(ploidy))
    for call in calls:
        carried = {int(text) for text in call.genotype().split("/")}
        truth = [int(text) for text in TRUTH[call.position].split("/")]
        assert len(call.genotype().split("/")) == ploidy
        assert carried == set(truth) or (ploidy == 1 and carried < set(truth))
        alleles = 2 + call.alternatives.count(",")
        genotypes = math.comb(alleles + ploidy - 1, ploidy)
        assert len(call.samples[0]["PL"].split(",")) == genotypes
        if ploidy == 4:
            assert call.genotype() == "/".join(map(str, sorted(truth * 2)))


# The sample has REF and ALT at SITE; its reads cover bases 101 to 200.
SITES = {
    "SNV": (f"{SITE} {REF} {ALT}", "0/1"),
    "lower case": (f"{SITE} {REF.lower()} {ALT.lower()}", "0/1"),
    "another ALT": (f"{SITE} {REF} {OTHER}", "0/0"),
    "several ALTs": (f"{SITE} {REF} {OTHER},{ALT}", "0/2"),
    "the same ALT twice": (f"{SITE} {REF} {ALT},{ALT}", "0/1"),
    "MNV": (f"{SITE} {BASES[SITE - 1 : SITE + 1]} {ALT}{BASES[SITE]}", "0/1"),
    "insertion not carried": (f"{SITE} {REF} {REF}{ALT}{REF}{ALT}", "0/0"),
    "deletion not carried": (f"{SITE} {BASES[SITE - 1 : SITE + 9]} {REF}", "0/0"),
    "spanned": (f"{SITE} {REF} {ALT},*", "0/1"),
    "symbolic beside": (f"{SITE} {REF} <DEL>,{ALT},<NON_REF>", "0/2"),
    "an ALT with N": (f"{SITE} {REF} {ALT},{REF}N", "0/1"),
    "only symbolic": (f"{SITE} {REF} <DEL>", "./."),
    "only spanned": (f"{SITE} {REF} *", "./."),
    "breakend": (f"{SITE} {REF} {REF}[chr1:5[", "./."),
    "no ALT": (f"{SITE} {REF} .", "./."),
    "reference as ALT": (f"{SITE} {REF} {REF}", "./."),
    "first covered base": (f"101 {BASES[100]} {'ACGT'.replace(BASES[100], '')[0]}", "0/0"),
    "last covered base": (f"200 {BASES[199]} {'ACGT'.replace(BASES[199], '')[0]}", "0/0"),
    "before the reads": (f"100 {BASES[99]} {'ACGT'.replace(BASES[99], '')[0]}", "./."),
    "after the reads": (f"201 {BASES[200]} {'ACGT'.replace(BASES[200], '')[0]}", "./."),
    "first base of the contig": (f"1 {BASES[0]} {BASES[0]}G", "./."),
    "last base of the contig": (f"300 {BASES[299]} {BASES[299]}G", "./."),
}


@pytest.mark.parametrize("case", SITES)
def test_kinds_of_sites(made: tuple[Path, Path], tmp_path: Path, case: str) -> None:
    record, expected = SITES[case]
    sites = write_sites(tmp_path / "sites.vcf", [record])
    (call,) = calls_of(tmp_path, *made, sites)
    assert [str(call.position), call.reference, call.alternatives] == record.split()
    assert call.genotype() == expected
    (sample,) = call.samples
    assert len(sample["AD"].split(",")) == 1 + (call.alternatives != ".") * (
        1 + call.alternatives.count(",")
    )
    if expected == "./.":
        assert (call.quality, sample["GQ"], sample["PL"]) == (".", ".", ".")
        assert set(sample["AD"].split(",")) == {"0"}


def test_sites_without_reads(made: tuple[Path, Path], tmp_path: Path) -> None:
    record = f"20 {BASES[19]} {'ACGT'.replace(BASES[19], '')[0]}"
    out = tmp_path / "out.vcf"
    assert status_of(*made, write_sites(tmp_path / "sites.vcf", [record]), "-o", out) == 0
    (line,) = (text for text in out.read_text().splitlines() if not text.startswith("#"))
    assert line.split("\t")[5:] == [
        ".", ".", "DP=0", "GT:GQ:DP:AD:PL", "./.:.:0:0,0:.",
    ]  # fmt: skip


def test_no_sites(made: tuple[Path, Path], tmp_path: Path) -> None:
    assert calls_of(tmp_path, *made, write_sites(tmp_path / "sites.vcf", [])) == []


def test_columns_are_kept(made: tuple[Path, Path], tmp_path: Path) -> None:
    records = [
        f"{SITE - 9} rs1;rs2 {BASES[SITE - 10]} {BASES[SITE - 10]}GGA 7 PASS DB;DP=7;AF=0.5;XDP=3",
        f"{SITE} . {REF} {ALT} . q10;s50 .",
        f"{SITE} id {REF} {OTHER} 1e3 . DPX=1;END=151",
    ]
    calls = calls_of(tmp_path, *made, write_sites(tmp_path / "sites.vcf", records))
    assert [(call.identifier, call.filters, call.info) for call in calls] == [
        ("rs1;rs2", "PASS", "DB;DP=20;AF=0.5;XDP=3"),
        (".", "q10;s50", "DP=20"),
        ("id", ".", "DPX=1;END=151;DP=20"),
    ]
    assert [call.genotype() for call in calls] == ["0/0", "0/1", "0/0"]


def test_records_at_one_position_keep_their_order(made: tuple[Path, Path], tmp_path: Path) -> None:
    alternatives = [ALT, OTHER, f"{REF}GT", ALT]
    records = [f"{SITE} {REF} {alternative}" for alternative in alternatives]
    calls = calls_of(tmp_path, *made, write_sites(tmp_path / "sites.vcf", records))
    assert [call.alternatives for call in calls] == alternatives
    assert [call.genotype() for call in calls] == ["0/1", "0/0", "0/0", "0/1"]


def test_a_code_in_the_reference(made: tuple[Path, Path], tmp_path: Path) -> None:
    """An ambiguous base in REF is its first base, in VCF 4.3 as in the haplotypes."""
    codes = {"AC": "M", "AG": "R", "AT": "W", "CG": "S", "CT": "Y", "GT": "K"}
    first, second = sorted((REF, ALT))
    bases = BASES[: SITE - 1] + codes[first + second] + BASES[SITE:]
    reference = write_reference(tmp_path, bases, CONTIG)
    sites = write_sites(tmp_path / "sites.vcf", [f"{SITE} {first} {second}"])
    (call,) = calls_of(tmp_path, made[0], reference, sites)
    assert (call.genotype(), call.samples[0]["AD"]) == ("0/1", "10,10")


def test_a_site_at_every_base(made: tuple[Path, Path], tmp_path: Path) -> None:
    """Neighbouring sites do not shorten the flanks of a site."""
    other = {base: next(letter for letter in "ACGT" if letter != base) for base in "ACGT"}
    records = [
        f"{position} {base} {ALT if position == SITE else other[base]}"
        for position, base in enumerate(BASES, 1)
    ]
    calls = calls_of(tmp_path, *made, write_sites(tmp_path / "sites.vcf", records))
    assert calls[SITE - 1].genotype() == "0/1"
    near = [call for call in calls[100:200] if call.position != SITE]
    assert {call.genotype() for call in near} == {"0/0"}


def test_names_are_from_their_file(tmp_path: Path) -> None:
    """Reads of two lanes may have the same name, but are not mates."""
    inputs = (
        write_sam(tmp_path / "lane1.sam", pileup("0" * 10)),
        write_sam(tmp_path / "lane2.sam", pileup("1" * 10)),
        write_reference(tmp_path, BASES, CONTIG),
        write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT}"]),
    )
    (call,) = calls_of(tmp_path, *inputs)
    (sample,) = call.samples
    assert (sample["GT"], sample["DP"], sample["AD"]) == ("0/1", "20", "10,10")


def test_mates_that_overlap_count_once(tmp_path: Path) -> None:
    """Ten read pairs with ALT in both mates are ten fragments."""
    pairs = [
        *pileup("1" * 10, flag=99),
        *(read._replace(position=111, bases=read.bases[10:] + BASES[200:210], flag=147)
          for read in pileup("1" * 10)),
    ]  # fmt: skip
    inputs = (
        write_sam(tmp_path / "reads.sam", pairs),
        write_reference(tmp_path, BASES, CONTIG),
        write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT}"]),
    )
    (call,) = calls_of(tmp_path, *inputs)
    (sample,) = call.samples
    assert (sample["GT"], sample["DP"], sample["AD"]) == ("1/1", "10", "0,10")
    # Each fragment is half as likely of a heterozygous sample.
    assert sample["PL"].split(",")[1] == str(round(100 * math.log10(2)))


def test_reads_that_are_no_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = {4: "unmapped", 256: "secondary", 512: "failed", 1024: "duplicate", 2048: "split"}
    reads = [
        *pileup("11", "good"),
        *(read for flag, name in flags.items() for read in pileup("0", name, flag=flag)),
        *pileup("000", "unknown", mapping_quality=255),
        *pileup("0000", "low", mapping_quality=19),
        *pileup("1", "enough", mapping_quality=20),
    ]
    out, report = tmp_path / "out.vcf", tmp_path / "run.json"
    arguments = (
        write_sam(tmp_path / "reads.sam", reads),
        write_reference(tmp_path, BASES, CONTIG),
        write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT}"]),
    )
    assert status_of(*arguments, "-o", out, "--json", report) == 0
    (call,) = calls_in(out.read_text())
    assert call.samples[0]["AD"] == "0,3"
    _, *messages = capsys.readouterr().err.splitlines()
    assert messages == [
        "hapgpu genotype: 3 reads excluded: mapping quality unknown (255)",
        "hapgpu genotype: 4 reads excluded: mapping quality below --min-mapping-quality",
    ]
    counts = json.loads(report.read_text())["counts"]
    assert counts["reads"] == len(reads)
    assert counts["excluded_by_flags"] == len(flags)
    assert (counts["without_mapping_quality"], counts["low_mapping_quality"]) == (3, 4)
    assert (counts["sites"], counts["calls"], counts["no_calls"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("minimum", "depth"), [("18", "8"), ("19", "5"), ("31", "0"), ("255", "0")]
)
def test_min_mapping_quality(tmp_path: Path, minimum: str, depth: str) -> None:
    reads = [*pileup("000", "a", mapping_quality=18), *pileup("00000", "b", mapping_quality=30)]
    (call,) = calls_of(
        tmp_path,
        write_sam(tmp_path / "reads.sam", reads),
        write_reference(tmp_path, BASES, CONTIG),
        write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT}"]),
        "--min-mapping-quality",
        minimum,
    )
    assert call.samples[0]["DP"] == depth


def test_the_prior(tmp_path: Path) -> None:
    """The prior decides how much a single weak read counts."""
    reads = write_sam(tmp_path / "reads.sam", pileup("1", base_quality="5"))
    reference = write_reference(tmp_path, BASES, CONTIG)
    calls = {}
    for counts in ("AC=0;AN=1000", "AC=999;AN=1000", "AF=0.999", "."):
        record = f"{SITE} . {REF} {ALT} . . {counts}"
        sites = write_sites(tmp_path / "sites.vcf", [record])
        for prior in ("flat", "population"):
            (calls[prior, counts],) = calls_of(tmp_path, reads, reference, sites, "--prior", prior)
    likelihoods = {call.samples[0]["PL"] for call in calls.values()}
    assert likelihoods == {"25,3,0"}
    flat = [call.samples[0] for (prior, _), call in calls.items() if prior == "flat"]
    assert all(sample == flat[0] for sample in flat)
    assert flat[0]["GT"] == "1/1"
    assert calls["population", "AC=0;AN=1000"].genotype() == "0/0"
    assert calls["population", "AC=999;AN=1000"].genotype() == "1/1"
    assert calls["population", "AF=0.999"].genotype() == "1/1"


def test_pcr_models(example: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """A stronger PCR model lowers the genotype quality in a repeat."""
    differences = []
    for model in ("none", "conservative", "aggressive", "hostile"):
        calls = calls_of(tmp_path, *example, "--pcr-model", model, "-r", f"chr20:{REPEAT}-{REPEAT}")
        assert [call.genotype() for call in calls] == [TRUTH[REPEAT]]
        differences.append(int(calls[0].samples[0]["PL"].split(",")[0]))
    assert differences == sorted(differences, reverse=True)
    assert len(set(differences)) > 2


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-r", "chr20:5121-5206"], [5121, 5206]),
        (["-r", "chr20:10,195-10,195"], [10190]),  # its REF covers 10190 to 10208
        (["-r", "chr20:10209-10300"], []),
        (["-r", "chr20:15000", "-r", "chr20:5290-5300", "-r", "chr20:5291-5291"], [5291, 15180]),
        (["-r", "chr20:10000"], [10190, 15180]),
        (["-r", "chr20"], list(TRUTH)),
        (["-L", "targets.bed"], [5121, 5251]),
        (["-L", "targets.bed", "-r", "chr20:5200-15180"], [5251]),
        (["-L", "targets.bed", "-r", "chr20:5200-5251", "-r", "chr20:1-5121"], [5121, 5251]),
        (["-L", "targets.bed", "-r", "chr20:15180-15180"], []),
    ],
)
def test_regions(
    example: tuple[Path, Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    expected: list[int],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("targets.bed").write_text("chr20\t5250\t5251\nchr20\t5000\t5122\n")
    calls = calls_of(tmp_path, *example, *options)
    assert [call.position for call in calls] == expected
    assert all(call.genotype() == TRUTH[call.position] for call in calls)


@pytest.mark.parametrize(
    "unlisted", [(), (141,), (130, 141), (128, 143, 152, 189), (147, 149, 153)]
)
def test_reads_with_unlisted_variants_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], unlisted: tuple[int, ...]
) -> None:
    """As in real data: 25 reads have REF, and 14 have ALT with SNVs that are not listed.

    No read is lost to the pileup, and the run reports the number that no haplotype explains.
    """
    reads = [*pileup("0" * 25, "a"), *(changed(read, unlisted) for read in pileup("1" * 14, "b"))]
    out, report = tmp_path / "out.vcf", tmp_path / "run.json"
    inputs = (
        write_sam(tmp_path / "reads.sam", reads),
        write_reference(tmp_path, BASES, CONTIG),
        write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT}"]),
    )
    assert status_of(*inputs, "-o", out, "--json", report) == 0
    (call,) = calls_in(out.read_text())
    (sample,) = call.samples
    assert (sample["GT"], sample["DP"], sample["AD"]) == ("0/1", "39", "25,14")
    assert int(sample["GQ"]) > 60
    poor = 14 if len(unlisted) > 1 else 0
    _, *messages = capsys.readouterr().err.splitlines()
    assert messages == [
        "hapgpu genotype: 14 fragments fit no haplotype: counted in full in DP and AD only"
    ] * (poor > 0)
    counts = json.loads(report.read_text())["counts"]
    assert (counts["fragments"], counts["poorly_modelled_fragments"]) == (39, poor)


def changed(read: Read, positions: tuple[int, ...]) -> Read:
    """Replace the bases of a read from position 101 on at some positions."""
    bases = list(read.bases)
    for position in positions:
        bases[position - 101] = "C" if bases[position - 101] in "AT" else "A"
    return read._replace(bases="".join(bases))


def test_a_few_reads_from_elsewhere_make_no_genotype(tmp_path: Path) -> None:
    """A fifth of the reads has ALT, with so many other differences that they may be mismapped."""
    elsewhere = tuple(range(105, 200, 10))
    reads = [*pileup("0" * 32, "a"), *(changed(read, elsewhere) for read in pileup("1" * 8, "b"))]
    inputs = (
        write_sam(tmp_path / "reads.sam", reads),
        write_reference(tmp_path, BASES, CONTIG),
        write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT}"]),
    )
    (call,) = calls_of(tmp_path, *inputs)
    (sample,) = call.samples
    assert (sample["GT"], sample["DP"], sample["AD"]) == ("0/0", "40", "32,8")


def test_its_own_output_as_sites(example: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """Genotypes of an earlier run are ignored: the output is the same, with both command lines."""
    reads, reference, sites = example
    first, second = tmp_path / "first.vcf.gz", tmp_path / "second.vcf.gz"
    assert status_of(reads, reference, sites, "-q", "-o", first) == 0
    assert status_of(reads, reference, first, "-q", "-o", second) == 0
    assert calls_in(text_of(second)) == calls_in(text_of(first))
    earlier, later = (text for text in header_of(text_of(second)) if "_genotypeCommand=" in text)
    assert str(sites) in earlier
    assert str(second) in later


def test_a_call_of_quality_0_is_counted(tmp_path: Path) -> None:
    """One read with REF: of 15 genotypes, the best has a fifth of the probability."""
    out, report = tmp_path / "out.vcf", tmp_path / "run.json"
    arguments = (
        write_sam(tmp_path / "reads.sam", pileup("0")),
        write_reference(tmp_path, BASES, CONTIG),
        write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT},{OTHER}"]),
    )
    options = ("-q", "--ploidy", "4", "--prior", "flat", "-o", out, "--json", report)
    assert status_of(*arguments, *options) == 0
    (call,) = calls_in(out.read_text())
    assert (call.genotype(), call.samples[0]["GQ"]) == ("0/0/0/0", "0")
    counts = json.loads(report.read_text())["counts"]
    assert (counts["calls"], counts["no_calls"]) == (1, 0)


def test_statistics(example: tuple[Path, Path, Path], tmp_path: Path) -> None:
    report = tmp_path / "run.json"
    assert status_of(*example, "-q", "-o", tmp_path / "out.vcf", "--json", report) == 0
    statistics = json.loads(report.read_text())
    assert statistics["command"] == "genotype"
    counts = statistics["counts"]
    assert (counts["sites"], counts["calls"], counts["no_calls"]) == (6, 6, 0)
    assert counts["loci"] <= 6 < counts["haplotypes"]
    assert 0 <= counts["poorly_modelled_fragments"] < counts["fragments"] < counts["likelihoods"]
    assert set(statistics["seconds"]) == {"read", "genotype", "pairhmm", "write", "total"}


def test_messages(
    made: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal there is no progress; with -q there are no messages."""
    sites = write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT}", f"250 {BASES[249]} <DEL>"])
    out = ("-o", tmp_path / "out.vcf")
    assert status_of(*made, sites, *out) == 0
    device, missing, symbolic = capsys.readouterr().err.splitlines()
    assert device.startswith("hapgpu genotype: device: CPU")
    assert missing == "hapgpu genotype: 1 genotypes missing: no read supports them"
    assert symbolic.startswith("hapgpu genotype: 1 symbolic or missing alleles")
    assert status_of(*made, sites, *out, "-q") == 0
    assert capsys.readouterr() == ("", "")


def test_odd_reads(tmp_path: Path) -> None:
    """Reads with few or no usable bases do not change the calls."""
    odd = [
        Read("clipped", SITE, BASES[140:190], "50S"),
        Read("one", SITE, REF, "1M"),
        Read("inserted", SITE, BASES[100:150], "50I"),
        Read("deleted first", 101, BASES[105:155], "5D50M"),
        Read("deleted last", 121, BASES[120:170], "50M5D"),
        Read("skipped", 121, BASES[120:140] + BASES[200:220], "20M60N20M"),
        Read("hard", 111, BASES[110:150], "10H40M5H"),
        Read("padded", 121, BASES[120:170], "20M2P30M"),
        Read("no base", 121, "*", "50M", base_quality="*"),
        Read("nothing read", 121, "N" * 50, "50M"),
        Read("no length", 121, BASES[120:170], "0M50M0D"),
        Read("the end", 291, BASES[290:], "10M"),
    ]
    reference = write_reference(tmp_path, BASES, CONTIG)
    sites = write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT}", f"300 {BASES[299]} <DEL>"])
    for read in odd:
        reads = sorted([*pileup("01" * 10), read], key=lambda read: read.position)
        path = write_sam(tmp_path / "reads.sam", reads)
        first, _ = genotypes_of(tmp_path, path, reference, sites)
        assert first == "0/1", read


def test_two_records_at_one_position(made: tuple[Path, Path], tmp_path: Path) -> None:
    """No read has the allele of the second."""
    sites = write_sites(tmp_path / "sites.vcf", [f"{SITE} {REF} {ALT}", f"{SITE} {REF} {OTHER}"])
    assert status_of(*made, sites, "-q", "-o", tmp_path / "out.vcf") == 0
