"""Options of `hapgpu call` on the reads that it uses: like files that hold only such reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pysam
import pytest

from tests.cli.call.command import Inputs, called, make_inputs, records_in, status_of
from tests.cli.call.made_reads import (
    Alignment,
    as_bam,
    random_bases,
    with_snps,
    write_reference,
    write_sam,
)
from tests.cli.in_process import error_of_command

Read = pysam.AlignedSegment
GROUPS = [
    {"ID": "a", "SM": "one", "PU": "lane1"},
    {"ID": "b", "SM": "two", "PU": "lane2"},
    {"ID": "c", "SM": "two", "PU": "lane1"},
]
NEEDED = ["--read-filter", "GoodCigarReadFilter", "--read-filter", "WellformedReadFilter"]
REGION = ("-r", "chr20:5000-5300", "-r", "chr20:15000-15300")


def rewritten(path: Path, source: Path, change: Callable[[Read], Read | None]) -> Path:
    """Write the reads that a function returns, with three read groups of two samples."""
    with pysam.AlignmentFile(str(source)) as file:
        header = file.header.to_dict()
        header["RG"] = GROUPS
        with pysam.AlignmentFile(str(path), "wb", header=header) as out:
            for read in file:
                if (changed := change(read)) is not None:
                    out.write(changed)
    pysam.index(str(path))
    return path


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Return the example with reads of all kinds."""
    directory = tmp_path_factory.mktemp("kinds")
    example = make_inputs(directory)
    random = np.random.default_rng(3)

    def changed(read: Read) -> Read:
        group, kind = random.choice(["a", "b", "c"]), random.integers(12)
        read.set_tag("RG", str(group))
        read.flag |= {1: 0x400, 2: 0x100, 3: 0x200, 4: 0x800, 5: 0x100 | 0x800}.get(int(kind), 0)
        read.mapping_quality = {6: 255, 7: 3, 8: 0}.get(int(kind), 60)
        if kind > 9 and read.cigarstring == f"{read.query_length}M":
            bases, qualities = read.query_sequence or "", read.query_qualities
            read.query_sequence, read.query_qualities = bases[:-9], qualities[:-9]
            read.cigarstring = f"{len(bases) - 9}M"
        return read

    return Inputs(rewritten(directory / "kinds.bam", example.reads, changed), example.reference)


def aligned(read: Read) -> int:
    return sum(length for operation, length in read.cigartuples or () if operation in {0, 1, 7, 8})


CHOICES = [
    (["--read-filter", "NotSupplementaryAlignmentReadFilter"], lambda r: not r.flag & 0x800),
    (["--read-filter", "ProperlyPairedReadFilter"], lambda r: r.flag & 3 == 3),
    (["--read-filter", "PrimaryLineReadFilter"], lambda r: not r.flag & 0x900),
    (
        ["--min-mapping-quality", "0", "--read-filter", "MappingQualityNotZeroReadFilter"],
        lambda r: r.mapping_quality > 0,
    ),
    (
        ["--read-filter", "ReadLengthReadFilter", "--max-read-length", "145"],
        lambda r: r.query_length <= 145,
    ),
    (
        [
            *("--read-filter", "OverclippedReadFilter", "--filter-too-short", "90"),
            "--dont-require-soft-clips-both-ends",
        ],
        lambda r: "S" not in r.cigarstring or aligned(r) >= 90,
    ),
    (["--read-filter", "SampleReadFilter", "--sample", "one"], lambda r: r.get_tag("RG") == "a"),
    (
        ["--read-filter", "ReadGroupReadFilter", "--keep-read-group", "c"],
        lambda r: r.get_tag("RG") == "c",
    ),
    (
        ["--read-filter", "ReadGroupBlackListReadFilter", "--read-group-black-list", "PU:lane1"],
        lambda r: r.get_tag("RG") == "b",
    ),
]


@pytest.mark.parametrize(("words", "is_kept"), CHOICES, ids=[words[-1] for words, _ in CHOICES])
def test_like_a_file_of_the_kept_reads(
    inputs: Inputs, tmp_path: Path, words: list[str], is_kept: Callable[[Read], bool]
) -> None:
    chosen = rewritten(
        tmp_path / "x.bam", inputs.reads, lambda read: read if is_kept(read) else None
    )
    shared = [word for word in words if word in {"--min-mapping-quality", "0"}]
    expected = called(tmp_path, chosen, inputs.reference, *shared, *REGION)
    assert records_in(expected)
    assert called(tmp_path, *inputs, *words, *REGION) == expected


LIFTED = {
    "NotDuplicateReadFilter": 0x400,
    "NotSecondaryAlignmentReadFilter": 0x100,
    "PassesVendorQualityCheckReadFilter": 0x200,
}


@pytest.mark.parametrize("name", LIFTED)
def test_default_filters_that_are_off(inputs: Inputs, tmp_path: Path, name: str) -> None:
    def cleared(read: Read) -> Read:
        read.flag &= ~LIFTED[name]
        return read

    expected = called(
        tmp_path, rewritten(tmp_path / "x.bam", inputs.reads, cleared), inputs.reference, *REGION
    )
    assert expected != called(tmp_path, *inputs, *REGION)
    assert called(tmp_path, *inputs, "--disable-read-filter", name, *REGION) == expected


def test_all_default_filters_off(inputs: Inputs, tmp_path: Path) -> None:
    """The filters named on the command line stay on; others are off, as one by one."""
    names = [
        *LIFTED,
        *("MappingQualityReadFilter", "MappingQualityAvailableReadFilter", "MappedReadFilter"),
        "NonZeroReferenceLengthAlignmentReadFilter",
    ]
    each = [word for name in names for word in ("--disable-read-filter", name)]
    expected = called(tmp_path, *inputs, *each, *REGION)
    words = ["--disable-tool-default-read-filters", *NEEDED]
    assert called(tmp_path, *inputs, *words, *REGION) == expected
    words += ["--read-filter", "MappingQualityReadFilter", "--min-mapping-quality", "61"]
    words += ["--read-filter", "MappingQualityAvailableReadFilter"]
    assert not records_in(called(tmp_path, *inputs, *words, *REGION))


@pytest.mark.parametrize("suffix", [".bam", ".sam", ".cram"])
def test_the_only_sample(inputs: Inputs, tmp_path: Path, suffix: str) -> None:
    """The output is the same as of a file with this sample only; also its counts."""
    own = rewritten(
        tmp_path / "x.bam",
        inputs.reads,
        lambda read: read if read.get_tag("RG") in {"b", "c"} else None,
    )
    single = tmp_path / "single.bam"
    header = tmp_path / "header.sam"
    text = pysam.view("-H", "--no-PG", str(own))
    header.write_text(
        "".join(line for line in text.splitlines(keepends=True) if "SM:one" not in line)
    )
    single.write_bytes(pysam.reheader("--no-PG", str(header), str(own)))
    pysam.index(str(single))
    words = ["-C", "-T", str(inputs.reference)] if suffix == ".cram" else ["-b"]
    several = tmp_path / f"several{suffix}"
    pysam.view(
        *(["-h"] if suffix == ".sam" else words),
        "--no-PG",
        *("-o", str(several), str(inputs.reads)),
        catch_stdout=False,
    )
    if suffix != ".sam":
        pysam.index(str(several))
    counts = []
    for mode in ([], ["--gvcf"]):
        name = str(tmp_path / "run.json")
        expected = called(tmp_path, single, inputs.reference, *mode, *REGION, "--json", name)
        counts.append(json.loads(Path(name).read_text())["counts"])
        sample = ["--sample-name", "two", *mode, *REGION, "--json", name]
        assert called(tmp_path, several, inputs.reference, *sample) == expected
        counts.append(json.loads(Path(name).read_text())["counts"])
        assert "\ttwo" in expected
    if suffix != ".sam":  # of a stream, all reads are counted
        assert counts[0] == counts[1]
        assert counts[2] == counts[3]


def test_the_name_of_the_one_sample_changes_nothing(tmp_path: Path) -> None:
    example = make_inputs(tmp_path)
    name = example.reads.with_suffix(".sam").read_text().split("\tSM:")[1].split()[0]
    expected = called(tmp_path, *example, *REGION)
    assert called(tmp_path, *example, "--sample-name", name, *REGION) == expected


def test_threads_processes_and_counts(inputs: Inputs, tmp_path: Path) -> None:
    words = ["--read-filter", "ProperlyPairedReadFilter", "--read-filter", "SampleReadFilter"]
    words += ["--sample", "two"]
    found = []
    for threads, processes in [(1, 1), (2, 1), (2, 2)]:
        name = tmp_path / "run.json"
        more = ["--processes", str(processes), "--json", str(name)]
        text = called(tmp_path, *inputs, *words, *more, threads=threads)
        found.append((text, json.loads(name.read_text())["counts"]))
    assert found[1:] == found[:1] * 2
    assert found[0][1]["excluded_by_SampleReadFilter"] > 100


def test_overlapping_mates_keep_their_qualities(tmp_path: Path) -> None:
    """As if no two reads had the same name."""
    random = np.random.default_rng(5)
    bases = random_bases(random, 600)
    fasta = write_reference(tmp_path / "r.fa", c=bases)
    pairs, others = [], []
    for number, start in enumerate(range(200, 320, 6)):
        own = with_snps(bases, [330]) if number % 2 else bases
        mates = [(start, start + 20, 0x63, 120), (start + 20, start, 0x93, -120)]
        for order, (position, mate, flag, length) in enumerate(mates):
            fields = position, "100M", own[position : position + 100], "I" * 100, flag, length, mate
            pairs.append(Alignment(f"f{number}", *fields))
            others.append(Alignment(f"f{number}.{order}", *fields))
    lengths = {"c": len(bases)}
    reads = as_bam(write_sam(tmp_path / "pairs.sam", pairs, lengths))
    renamed = as_bam(write_sam(tmp_path / "others.sam", others, lengths))
    found = called(tmp_path, reads, fasta, "--do-not-correct-overlapping-quality")
    expected, default = called(tmp_path, renamed, fasta), called(tmp_path, reads, fasta)
    of_default, of_found, of_expected = (
        [row[-1].split(":")[-1] for row in records_in(text)] for text in (default, found, expected)
    )
    # Depths count fragments, so only the likelihoods are the same.
    assert of_found == of_expected != of_default
    assert len(of_found) == len(of_default) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--read-filter", "Nothing"],
            "--read-filter Nothing: no such read filter of GATK; choose",
        ),
        (["--disable-read-filter", ""], "--disable-read-filter : no such read filter of GATK"),
        (["--read-filter", "PairedReadFilter"], "--read-filter PairedReadFilter: not supported"),
        (
            ["--read-filter", "PrimaryLineReadFilter"] * 2,
            "--read-filter PrimaryLineReadFilter: given twice; give it once",
        ),
        (
            ["--disable-read-filter", "PrimaryLineReadFilter"] * 2,
            "--disable-read-filter PrimaryLineReadFilter: given twice; give it once",
        ),
        (
            [
                *("--disable-read-filter", "PrimaryLineReadFilter"),
                *("--read-filter", "PrimaryLineReadFilter"),
            ],
            "PrimaryLineReadFilter: also in --disable-read-filter; drop one",
        ),
        (["--disable-read-filter", "GoodCigarReadFilter"], "cannot be used; drop it"),
        (["--disable-tool-default-read-filters", *NEEDED[:2]], "WellformedReadFilter; add both"),
        (["--sample", "one"], "--sample: no effect without --read-filter SampleReadFilter; add it"),
        (["--min-read-length", "3"], "without --read-filter ReadLengthReadFilter; add it"),
        (["--filter-too-short", "3"], "without --read-filter OverclippedReadFilter; add it"),
        (["--dont-require-soft-clips-both-ends"], "--read-filter OverclippedReadFilter; add it"),
        (
            ["--keep-read-group", "a", "--read-filter", "SampleReadFilter", "--sample", "one"],
            "--keep-read-group: no effect without --read-filter ReadGroupReadFilter; add it",
        ),
        (
            ["--read-filter", "ReadLengthReadFilter", "--min-read-length", "3"],
            "--read-filter ReadLengthReadFilter: needs --max-read-length; add it",
        ),
        (["--read-filter", "SampleReadFilter"], "needs --sample; add it"),
        (["--read-filter", "ReadGroupReadFilter"], "needs --keep-read-group; add it"),
        (["--read-filter", "ReadGroupBlackListReadFilter"], "needs --read-group-black-list"),
        (
            [
                *("--read-filter", "ReadLengthReadFilter"),
                *("--min-read-length", "9", "--max-read-length", "8"),
            ],
            "--min-read-length 9: above --max-read-length 8; correct one",
        ),
        (
            [
                *("--read-filter", "ReadGroupBlackListReadFilter"),
                *("--read-group-black-list", "lane1"),
            ],
            "--read-group-black-list lane1: not FIELD:VALUE; give",
        ),
        (["--sample-name", "three"], "no such sample in the reads; choose one of one, two"),
        (
            ["--read-filter", "SampleReadFilter", "--sample", "three"],
            "--sample three: no such sample in the reads; choose one of one, two",
        ),
        (
            ["--read-filter", "ReadGroupReadFilter", "--keep-read-group", "d"],
            "--keep-read-group d: no such read group in the reads; choose one of a, b, c",
        ),
        (["--gvcf"], "call each sample alone"),
    ],
)
def test_errors(
    inputs: Inputs, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert status_of(*inputs, *words) == 2
    assert message in error_of_command("call", capsys)


@pytest.mark.parametrize(
    ("words", "warning"),
    [
        (
            ["--read-filter", "NotDuplicateReadFilter"],
            "--read-filter NotDuplicateReadFilter: no effect, such reads are excluded by default",
        ),
        (["--read-filter", "SeqIsStoredReadFilter"], "such reads are excluded by default"),
        (
            ["--disable-read-filter", "AmbiguousBaseReadFilter"],
            "--disable-read-filter AmbiguousBaseReadFilter: no effect, off by default",
        ),
    ],
)
def test_names_without_effect(
    inputs: Inputs,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    warning: str,
) -> None:
    expected = called(tmp_path, *inputs, *REGION)
    assert status_of(*inputs, *words, *REGION) == 0
    captured = capsys.readouterr()
    assert warning in captured.err
    assert records_in(captured.out) == records_in(expected)


def test_a_mapping_quality_without_its_filter(
    inputs: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    off = ["--disable-read-filter", "MappingQualityReadFilter"]
    expected = called(tmp_path, *inputs, "--min-mapping-quality", "0", *REGION)
    assert called(tmp_path, *inputs, *off, *REGION) == expected
    assert status_of(*inputs, *off, "--min-mapping-quality", "30", *REGION) == 0
    warning = "--min-mapping-quality: no effect without MappingQualityReadFilter"
    assert warning in capsys.readouterr().err


def test_findings_before_the_run(
    inputs: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is a line, before what the run excludes; -q silences them, and streams have none."""

    def changed(read: Read) -> Read:
        read.query_qualities = pysam.qualitystring_to_array("I" * read.query_length)
        read.set_tag("RG", None)
        return read

    made = rewritten(tmp_path / "made.bam", inputs.reads, changed)
    header = tmp_path / "header.sam"
    lines = pysam.view("-H", "--no-PG", str(made)).splitlines(keepends=True)
    header.write_text("".join(line for line in lines if not line.startswith("@RG")))
    bam = tmp_path / "x.bam"
    bam.write_bytes(pysam.reheader("--no-PG", str(header), str(made)))
    pysam.index(str(bam))
    output = ["-o", str(tmp_path / "x.vcf"), *REGION]
    assert status_of(bam, inputs.reference, *output) == 0
    printed = capsys.readouterr().err.splitlines()
    assert printed[1] == (
        f"hapgpu call: {bam}: no sample (SM of an @RG line) in its header; called as sample 'x'"
    )
    assert printed[2].startswith(f"hapgpu call: {bam}: all bases of the first 2060 reads have qual")
    assert all("reads excluded: " in line for line in printed[3:])
    assert status_of(bam, inputs.reference, "-q", *output) == 0
    assert not capsys.readouterr().err
    assert status_of(made, inputs.reference, *output) == 1
    error = "no read group (RG), and the header has several samples"
    assert error in capsys.readouterr().err


def test_a_reference_with_another_sequence(
    inputs: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run stops; contigs that are not called do not matter."""
    reference = tmp_path / "r.fa"
    reference.write_bytes(inputs.reference.read_bytes())
    pysam.faidx(str(reference))
    header = tmp_path / "header.sam"
    text = pysam.view("-H", "--no-PG", str(inputs.reads))
    header.write_text(text.replace("LN:20000", f"LN:20000\tM5:{'a' * 32}"))
    bam = tmp_path / "x.bam"
    bam.write_bytes(pysam.reheader("--no-PG", str(header), str(inputs.reads)))
    pysam.index(str(bam))
    dictionary = tmp_path / "r.dict"
    dictionary.write_text(f"@HD\tVN:1.6\n@SQ\tSN:chr20\tLN:20000\tM5:{'b' * 32}\n")
    assert status_of(bam, reference, *REGION) == 1
    error = error_of_command("call", capsys)
    assert f"{bam}: chr20 has another sequence (M5) than in {dictionary}; give" in error
    dictionary.write_text(dictionary.read_text().replace("b" * 32, "A" * 32))
    assert records_in(called(tmp_path, bam, reference, *REGION))
    before = dictionary.read_bytes()
    assert status_of(bam, reference, "-o", dictionary) == 2
    assert dictionary.read_bytes() == before
