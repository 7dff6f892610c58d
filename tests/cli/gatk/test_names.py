"""Names of arguments in messages."""

from __future__ import annotations

import pytest

from hapgpu.cli.gatk.running import gatk_names, renamed
from hapgpu.cli.gatk.translation import translate
from hapgpu.errors import InputError, UsageError

LINE = "-R r.fa -I a.bam -O o.vcf -mbq 5 --minimum-mapping-quality 3 -GQB 5 -ERC GVCF -bamout b"
NAMES = translate(LINE.split()).names


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("--min-base-quality-score: must be 1; run: hapgpu call --help", "-mbq: must be 1; run: "),
        ("--min-mapping-quality: must be", "--minimum-mapping-quality: must be"),
        ("--gvcf: one sample", "-ERC GVCF: one sample"),
        ("--gvcf-gq-bands: malformed", "-GQB: malformed"),
        ("--bam-output: x", "-bamout: x"),
        ("--pcr-model x", "--pcr-indel-model x"),
        ("--max-haplotypes", "--max-num-haplotypes-in-population"),
        ("a--gvcf.bam: --gvcf-like", "a--gvcf.bam: --gvcf-like"),
    ],
)
def test_options_are_named_as_arguments(message: str, expected: str) -> None:
    assert renamed(message, NAMES).startswith(expected)


def test_commands_of_other_programs_stay() -> None:
    message = "--threads 3: x.bam; run: samtools index --threads 3 --output y x.bam"
    names = translate(["-R", "r", "-I", "a", "-O", "o", "--native-pair-hmm-threads", "3"]).names
    assert renamed(message, names) == message.replace("--threads", "--native-pair-hmm-threads", 1)
    assert renamed("x; run: hapgpu call --help", names) == "x; run: hapgpu HaplotypeCaller --help"


@pytest.mark.parametrize("kind", [UsageError, InputError])
def test_errors_keep_their_kind(kind: type[UsageError | InputError]) -> None:
    with pytest.raises(kind, match=r"^-mbq: wrong$"), gatk_names(NAMES):
        raise kind("--min-base-quality-score: wrong")
