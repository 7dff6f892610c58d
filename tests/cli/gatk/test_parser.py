"""Command lines as Barclay takes them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.cli.gatk.parser import parse
from hapgpu.cli.gatk.table import ARGUMENTS
from hapgpu.errors import HapgpuError, InputError, UsageError


def parsed(*words: str) -> list[tuple[str, str]]:
    """Return the long name and the value of each argument."""
    return [(one.argument.name, one.value) for one in parse(words)]


@pytest.mark.parametrize("written", ["-I", "--I", "-input", "--input"])
def test_names_have_one_hyphen_or_two(written: str) -> None:
    assert parsed(written, "a.bam") == [("input", "a.bam")]
    assert parsed(f"{written}=a.bam") == [("input", "a.bam")]


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("--floor-blocks", "true"),
        ("--floor-blocks true", "true"),
        ("--floor-blocks T", "true"),
        ("--floor-blocks FALSE", "false"),
        ("--floor-blocks f", "false"),
        ("--floor-blocks=true", "true"),
        ("-floor-blocks=F", "false"),
    ],
)
def test_flags(words: str, value: str) -> None:
    assert parsed(*words.split()) == [("floor-blocks", value)]
    assert parsed(*words.split(), "-L", "1") == [("floor-blocks", value), ("intervals", "1")]


def test_lists_keep_their_order() -> None:
    assert parsed("-L", "b", "-I", "x", "--intervals", "a") == [
        ("intervals", "b"),
        ("input", "x"),
        ("intervals", "a"),
    ]


def test_values_may_start_with_a_hyphen_or_have_an_equals_sign() -> None:
    assert parsed("--stand-call-conf", "-1") == [
        ("standard-min-confidence-threshold-for-calling", "-1")
    ]
    assert parsed("-I=a=b.bam") == [("input", "a=b.bam")]
    assert parsed("--java-options", "-Xmx4g -Dx=y") == [("java-options", "-Xmx4g -Dx=y")]
    assert parsed("-L", "chr20:1-5") == [("intervals", "chr20:1-5")]
    assert parsed("-L=HLA-A*01:01:01:01:1-5") == [("intervals", "HLA-A*01:01:01:01:1-5")]


def test_names_of_tagged_files() -> None:
    (one,) = parse(["--comp:gold", "x.vcf.gz"])
    assert (one.argument.name, one.tag, one.value) == ("comparison", "gold", "x.vcf.gz")


def test_debug_is_an_option_of_hapgpu_with_two_hyphens() -> None:
    assert parsed("--debug") == [("debug", "true")]
    assert parsed("-debug") == [("debug-assembly", "true")]


def test_files_of_values(tmp_path: Path) -> None:
    for ending in ("list", "args"):
        path = tmp_path / f"reads.{ending}"
        path.write_text("a.bam\n# no.bam\n\n  b c.bam \n")
        assert parsed("-I", str(path), "-I", "d.bam") == [
            ("input", "a.bam"),
            ("input", "b c.bam"),
            ("input", "d.bam"),
        ]
        # `call` reads files of intervals; an output is no list.
        assert parsed("-L", str(path)) == [("intervals", str(path))]
        assert parsed("-O", str(path)) == [("output", str(path))]


def test_files_of_arguments(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.txt", tmp_path / "outer.txt"
    inner.write_text("-L 3\n")
    outer.write_text(f"# all\n-L 1 -L 2\n--arguments_file {inner}\n-ERC   GVCF\n")
    words = ["-I", "x", "--arguments_file", str(outer), "-L", "4"]
    assert parsed(*words) == [
        ("intervals", "3"),
        ("intervals", "1"),
        ("intervals", "2"),
        ("emit-ref-confidence", "GVCF"),
        ("input", "x"),
        ("intervals", "4"),
    ]
    outer.write_text(f"--arguments_file {outer} -L 1")  # read once
    assert parsed("--arguments_file", str(outer)) == [("intervals", "1")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-I", "-I: needs a value"),
        ("-I -O x", "-I: needs a value"),
        ("-R a --reference b", "-R and --reference: given twice"),
        ("-R a -R b", "-R: given twice"),
        ("--floor-blocks --floor-blocks", "--floor-blocks: given twice"),
        ("a.bam", "a.bam: not expected"),
        ("--floor-blocks 1", "1: not expected"),
        ("--floor-blocks=1", "--floor-blocks=1: is a flag; give true, false, or no value"),
        ("--", "--: not expected"),
        ("-", "-: not expected"),
        ("-Lchr20", "-Lchr20: no such argument; for -L, write -L chr20"),
        ("--comp x", "--comp: needs one name; write --comp:NAME FILE"),
        ("--comp:a,b=c x", "--comp:a,b=c: needs one name"),
        ("--dbsnp:a x", "--dbsnp:a: has no name after a colon; write --dbsnp"),
        ("--resource:a,known=true x", "--resource: no such argument"),
        ("--min-prunning 3", "--min-prunning: no such argument; did you mean --min-pruning?"),
        (
            "--max_alternate_alleles 3",
            "--max_alternate_alleles: an argument of GATK 3; give --max-",
        ),
        (
            "--read_filter OverclippedRead",
            "--read_filter: an argument of GATK 3; give --read-filter",
        ),
        ("-T HaplotypeCaller", "-T: an argument of GATK 3; drop it"),
        ("-o x", "-o: an argument of GATK 3; give -O"),
        ("-nct 4", "-nct: an argument of GATK 3; give --native-pair-hmm-threads"),
        ("--gvcf", "--gvcf: an option of hapgpu call; give -ERC GVCF"),
        ("--bam-out x", "--bam-out: an option of hapgpu call; give --bam-output"),
    ],
)
def test_errors(words: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(words.split())
    assert str(raised.value).startswith(message)


def test_errors_of_files(tmp_path: Path) -> None:
    empty, binary, missing = (tmp_path / f"{name}.list" for name in ("empty", "binary", "missing"))
    empty.write_text("# nothing\n")
    binary.write_bytes(b"\0\1")
    for path, message in [
        (empty, "no value"),
        (binary, "not a list"),
        (missing, "No such"),
        (tmp_path, "directory"),
    ]:
        for words in (["--arguments_file", str(path)], ["-I", f"{path}"]):
            if path == empty and words[0] != "-I":
                continue  # no arguments are no fault
            if path == tmp_path and words[0] == "-I":
                continue  # no list by its name
            with pytest.raises(InputError, match=message):
                parse(words)


words = st.one_of(
    st.sampled_from([f"{hyphens}{name}" for name in ARGUMENTS for hyphens in ("-", "--")]),
    st.sampled_from(["true", "GVCF", "1", "x.bam", "--comp:a", "-L=1", "--", "-", "", "=", ":"]),
    st.text(max_size=6),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(words, max_size=8))
def test_any_words_are_arguments_or_an_error(words: list[str]) -> None:
    with suppress(HapgpuError):
        assert all(one.written.startswith("-") for one in parse(words))
