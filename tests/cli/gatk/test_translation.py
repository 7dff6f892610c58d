"""Command lines of pipelines, and the arguments of `call` that they become."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.cli.gatk.table import ARGUMENTS, OWN_OPTIONS
from hapgpu.cli.gatk.tool import equivalent_command, program_of, tool_arguments
from hapgpu.cli.gatk.translation import Translation, translate
from hapgpu.errors import UsageError

FILES: Final = "-R ref.fa -I in.bam -O out.vcf.gz"


def translated(line: str) -> Translation:
    """Translate a whole command line of GATK, whose first word is `gatk`."""
    arguments = tool_arguments(shlex.split(line)[1:])
    assert arguments is not None
    return translate(arguments)


def pipelines() -> list[tuple[str, str, str]]:
    """Return the command lines of pipelines, with the arguments of `call` and those to note."""
    text = Path(__file__).with_name("pipelines.txt").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return list(zip(lines[::3], lines[1::3], lines[2::3], strict=True))


@pytest.mark.parametrize(("line", "expected", "noted"), pipelines())
def test_lines_of_pipelines(line: str, expected: str, noted: str) -> None:
    found = translated(line)
    assert [":", *found.arguments] == shlex.split(expected)
    assert ["!", *found.without_effect] == noted.split()


# Each argument that is obeyed, with a value other than GATK's default.
OBEYED: Final = {
    "-I b.bam": "in.bam b.bam ref.fa",
    "-L chr20:1-5 --intervals x.list": "-L chr20:1-5 -L x.list",
    "-XL chr20:1-5": "--exclude-intervals chr20:1-5",
    "-L 1 -ip 100": "-L 1 --interval-padding 100",
    "-XL 1 -ixp 100": "--exclude-intervals 1 --interval-exclusion-padding 100",
    "-L 1 -L 2 -isr INTERSECTION": "-L 1 -L 2 --interval-set-rule intersection",
    "-L 1 -imr OVERLAPPING_ONLY": "-L 1 --interval-merging-rule overlapping_only",
    "-ERC BP_RESOLUTION": "--bp-resolution",
    "-ERC GVCF -GQB 20 -GQB 60 --floor-blocks": "--gvcf --gvcf-gq-bands 20 --gvcf-gq-bands 60 "
    "--floor-blocks",
    "-ERC GVCF --do-not-run-physical-phasing": "--gvcf --do-not-run-physical-phasing",
    "-A TandemRepeat -AX QualByDepth": "--annotation TandemRepeat "
    "--annotations-to-exclude QualByDepth",
    "--disable-tool-default-annotations true": "--disable-tool-default-annotations",
    "--enable-all-annotations": "--enable-all-annotations",
    "--annotate-with-num-discovered-alleles": "--annotate-with-num-discovered-alleles",
    "-D d.vcf.gz --comp:gold g.vcf.gz -comp:hm3 h.vcf.gz": "--dbsnp d.vcf.gz "
    "--comp gold=g.vcf.gz --comp hm3=h.vcf.gz",
    "-contamination 0.05": "--contamination-fraction-to-filter 0.05",
    "-contamination-file c.txt --use-filtered-reads-for-annotations": (
        "--contamination-fraction-per-sample-file c.txt --use-filtered-reads-for-annotations"
    ),
    "-ploidy 4 --ploidy-regions p.bed": "--ploidy 4 --ploidy-regions p.bed",
    "--max-alternate-alleles 3 --max-genotype-count 15": "--max-alternate-alleles 3 "
    "--max-genotype-count 15",
    "-stand-call-conf 20": "--stand-call-conf 20",
    "--heterozygosity 0.002 --indel-heterozygosity 1e-4 --heterozygosity-stdev 0.02": (
        "--heterozygosity 0.002 --indel-heterozygosity 1e-4 --heterozygosity-stdev 0.02"
    ),
    "-ALIAS NA12878": "--sample-name NA12878",
    "--pcr-indel-model NONE": "--pcr-model none",
    "--min-pruning 1 --kmer-size 9 --kmer-size 25": "--min-pruning 1 --kmer-size 9 --kmer-size 25",
    "-mbq 15 --dont-use-soft-clipped-bases": "--min-base-quality-score 15 "
    "--dont-use-soft-clipped-bases",
    "--max-reads-per-alignment-start 0": "--max-reads-per-alignment-start 0",
    "--minimum-mapping-quality 30": "--min-mapping-quality 30",
    "-bamout b.bam --bam-writer-type CALLED_HAPLOTYPES": "--bam-out b.bam",
    "-DF NotDuplicateReadFilter -RF ProperlyPairedReadFilter": (
        "--disable-read-filter NotDuplicateReadFilter --read-filter ProperlyPairedReadFilter"
    ),
    "-RF OverclippedReadFilter --filter-too-short 25 --dont-require-soft-clips-both-ends": (
        "--read-filter OverclippedReadFilter --filter-too-short 25 "
        "--dont-require-soft-clips-both-ends"
    ),
    "--disable-tool-default-read-filters": "--disable-tool-default-read-filters",
    "--min-read-length 30 --max-read-length 400": "--min-read-length 30 --max-read-length 400",
    "--sample A --keep-read-group g --read-group-black-list PU:1": (
        "--sample A --keep-read-group g --read-group-black-list PU:1"
    ),
    "--native-pair-hmm-threads 8": "--threads 8",
    "--alleles a.vcf.gz -genotype-filtered-alleles": "--alleles a.vcf.gz "
    "--force-call-filtered-alleles",
    "-mnp-dist 2": "--max-mnp-distance 2",
    "--recover-all-dangling-branches": "--recover-all-dangling-branches",
    "--max-num-haplotypes-in-population 64": "--max-haplotypes 64",
    "--do-not-correct-overlapping-quality": "--do-not-correct-overlapping-quality",
    "--device cpu --sex xy --gatk-strict": "--device cpu --sex xy --gatk-strict",
}


@pytest.mark.parametrize("words", OBEYED)
def test_obeyed_arguments(words: str) -> None:
    found = translate(f"{FILES} {words}".split())
    own = ["--output", "out.vcf.gz"]
    expected = OBEYED[words].split()
    files = [] if "ref.fa" in expected else ["in.bam", "ref.fa"]
    assert list(found.arguments) == [*own, *expected, *files]
    assert not found.without_effect


@pytest.mark.parametrize(
    "words",
    [
        "-contamination 0",
        "-contamination 0.0",
        "-ERC NONE",
        "-ploidy 2",
        "-stand-call-conf 30.0",
        "--max-mnp-distance 0 -ERC NONE",
        "-OVI true -OVM false",
        "--output-mode EMIT_VARIANTS_ONLY",
        "--base-quality-score-threshold 18",
        "--smith-waterman-dangling-end-gap-open-penalty -110",
        "--dragen-mode false --pileup-detection=false --adaptive-pruning F",
        "--flow-mode NONE",
        "--dont-use-soft-clipped-bases false",
        "-isr UNION",
        "--spark-runner LOCAL",
    ],
)
def test_defaults_of_gatk_change_nothing(words: str) -> None:
    found = translate(f"{FILES} {words}".split())
    assert list(found.arguments) == ["--output", "out.vcf.gz", "in.bam", "ref.fa"]
    assert not found.without_effect


@pytest.mark.parametrize(
    ("words", "noted"),
    [
        ("--tmp-dir . --verbosity ERROR --QUIET", "--tmp-dir --verbosity --QUIET"),
        ("--use-jdk-deflater true -jdk-inflater", "--use-jdk-deflater -jdk-inflater"),
        ("-pairHMM AVX_LOGLESS_CACHING --smith-waterman JAVA", "-pairHMM --smith-waterman"),
        ("-GQB 20 -GQB 30", "-GQB"),
        ("--do-not-run-physical-phasing", "--do-not-run-physical-phasing"),
        ("-ip 100 -ixp 5 -imr OVERLAPPING_ONLY", "-ip -ixp -imr"),
        ("--bam-writer-type ALL_POSSIBLE_HAPLOTYPES -OBI false", "--bam-writer-type -OBI"),
        ("--pruning-lod-threshold 3", "--pruning-lod-threshold"),
        ("--pileup-detection-snp-alt-threshold 0.2", "--pileup-detection-snp-alt-threshold"),
        ("--use-filtered-reads-for-annotations", "--use-filtered-reads-for-annotations"),
        ("--gcs-max-retries 5 --read-index x.bai", "--gcs-max-retries --read-index"),
        ("--disable-sequence-dictionary-validation", "--disable-sequence-dictionary-validation"),
        ("--native-pair-hmm-use-double-precision", "--native-pair-hmm-use-double-precision"),
    ],
)
def test_arguments_without_effect_are_noted(words: str, noted: str) -> None:
    found = translate(f"{FILES} {words}".split())
    assert list(found.arguments) == ["--output", "out.vcf.gz", "in.bam", "ref.fa"]
    assert " ".join(found.without_effect) == noted


def test_arguments_without_effect_in_a_mode() -> None:
    found = translate(f"{FILES} -ERC GVCF -stand-call-conf 10".split())
    assert found.arguments[2] == "--gvcf"
    assert found.without_effect == ("-stand-call-conf",)
    found = translate(f"{FILES} -ERC BP_RESOLUTION -GQB 5 --floor-blocks".split())
    assert found.arguments[2:] == ("--bp-resolution", "in.bam", "ref.fa")
    assert found.without_effect == ("-GQB", "--floor-blocks")
    found = translate(f"{FILES} --native-pair-hmm-threads 4 --threads 2".split())
    assert found.arguments[2:4] == ("--threads", "2")
    assert found.without_effect == ("--native-pair-hmm-threads",)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--dragen-mode", "--dragen-mode: not supported (DRAGEN mode is not available); drop it"),
        ("--dragen-mode true", "--dragen-mode: not supported"),
        ("--dont-use-dragstr-pair-hmm-scores", "--dont-use-dragstr-pair-hmm-scores: not supp"),
        ("--dragen-378-concordance-mode", "--dragen-378-concordance-mode: not supported"),
        ("--pileup-detection", "--pileup-detection: not supported"),
        ("--linked-de-bruijn-graph", "--linked-de-bruijn-graph: not supported"),
        ("--adaptive-pruning", "--adaptive-pruning: not supported"),
        ("--flow-mode STANDARD", "--flow-mode STANDARD: not supported, only NONE (flow-based"),
        ("--use-pdhmm", "--use-pdhmm: not supported"),
        ("-population x.vcf", "-population x.vcf: not supported"),
        ("-ped x.ped", "-ped x.ped: not supported"),
        ("--founder-id x", "--founder-id x: not supported"),
        (
            "--output-mode EMIT_ALL_ACTIVE_SITES",
            "--output-mode EMIT_ALL_ACTIVE_SITES: not supported, only EMIT_VARIANTS_ONLY; drop it",
        ),
        ("-bamout b --bam-writer-type NO_HAPLOTYPES", "--bam-writer-type NO_HAPLOTYPES: not supp"),
        ("-OVI false", "-OVI false: not supported, only true"),
        ("-gp-qual", "-gp-qual: not supported"),
        ("--base-quality-score-threshold 20", "--base-quality-score-threshold 20: not supported"),
        ("--max-assembly-region-size 500", "--max-assembly-region-size 500: not supported"),
        ("-debug", "-debug: not supported"),
        ("-ERC gvcf", "-ERC gvcf: must be one of NONE, GVCF, BP_RESOLUTION"),
        ("--pcr-indel-model none", "--pcr-indel-model none: must be one of NONE, HOSTILE"),
        ("--floor-blocks", "--floor-blocks: no effect without reference blocks; add -ERC GVCF"),
    ],
)
def test_refused_arguments(words: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        translate(f"{FILES} {words}".split())
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize("missing", ["-R", "-I", "-O"])
def test_missing_files(missing: str) -> None:
    words = FILES.split()
    at = words.index(missing)
    with pytest.raises(UsageError, match=f"^{missing}: missing; usage: hapgpu HaplotypeCaller -R"):
        translate(words[:at] + words[at + 2 :])


def test_no_refused_argument_is_let_through() -> None:
    """Each argument alone, with a value that is no default, is obeyed, noted or refused."""
    for argument in {id(one): one for one in ARGUMENTS.values()}.values():
        if argument.name in {"input", "reference", "output", "arguments_file"}:
            continue
        name = f"--{argument.name}:x" if argument.has_tag else f"--{argument.name}"
        others = [one for one in argument.choices if one != argument.default]
        flag = [] if argument.default != "true" else ["false"]
        value = (others[:1] or ["7"]) if argument.value else flag
        message, found = outcome([*FILES.split(), name, *value])
        if found is None:
            assert message.startswith(name)
        else:
            assert len(found.arguments) > 4 or len(found.without_effect) == 1, name


def outcome(words: list[str]) -> tuple[str, Translation | None]:
    """Return the error of a command line, or its translation."""
    try:
        return "", translate(words)
    except UsageError as error:
        return str(error), None


_ALL: Final = [*ARGUMENTS.values(), *OWN_OPTIONS.values()]
_WORDS: Final = st.sampled_from(
    [
        *(f"-{name}" for name in ARGUMENTS),
        *["true", "false", "7", "x.bam", "GVCF", "UNION", "chr20:1-5", "BP_RESOLUTION", "NONE"],
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_WORDS, max_size=10))
def test_only_options_of_the_table_come_out(words: list[str]) -> None:
    """Whatever the line: an error, or options each of which an argument on it stands for."""
    message, found = outcome([*FILES.split(), *words])
    assert bool(message) == (found is None)
    if found is not None:
        known = {one.option for one in _ALL} | {"--gvcf", "--bp-resolution"}
        options = [word for word in found.arguments if word.startswith("-")]
        assert known.issuperset(options)
        written = [word for word in ["-O", *words] if word.startswith("-")]
        assert len(options) <= len(written)
        assert {*found.without_effect} <= {*written}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("HaplotypeCaller -R x", "call -R x"),
        ("--java-options -Xmx4g HaplotypeCaller -R x", "call --java-options -Xmx4g -R x"),
        ("--dry-run --spark-runner LOCAL HaplotypeCaller", "call --dry-run --spark-runner LOCAL"),
        ("map HaplotypeCaller", "map HaplotypeCaller"),
        ("--java-options HaplotypeCaller", "--java-options HaplotypeCaller"),
        ("--java-options", "--java-options"),
        ("", ""),
    ],
)
def test_the_tool_is_found_behind_the_launcher(line: str, expected: str) -> None:
    assert " ".join(equivalent_command(line.split())) == expected


def test_names_of_programs() -> None:
    assert program_of(["HaplotypeCaller"]) == "hapgpu HaplotypeCaller"
    assert program_of(["--java-options", "x", "HaplotypeCaller"]) == "hapgpu HaplotypeCaller"
    assert program_of(["map", "x"]) == "hapgpu map"
    assert program_of(["--version"]) == "hapgpu"
