"""Names of outputs: which are accepted, for which command line."""

from __future__ import annotations

from typing import Any

import pytest

from hapgpu.cli.catalogue import command_module
from hapgpu.cli.options.file_kinds import check_name
from hapgpu.errors import UsageError


@pytest.mark.parametrize(
    ("path", "formats"),
    [
        *((name, ("PAF",)) for name in ("x.paf", "x.PAF.gz", "x.gz", "x", "x.out", "x.txt")),
        *(
            (name, ("SAM", "BAM"))
            for name in ("a.vcf/x.bam", "x.sam.bgz", "/dev/stdout", "x.paf.1")
        ),
        ("x.g.vcf.gz", ("VCF",)),
        ("x.vcf", ()),
        ("x.fasta.gz", ("FASTA",)),
    ],
)
def test_accepted(path: str, formats: tuple[str, ...]) -> None:
    check_name(path, formats)


@pytest.mark.parametrize(
    ("path", "formats", "message"),
    [
        ("x.vcf", ("PAF",), "x.vcf: a name of VCF, but the output is PAF; give .paf"),
        ("X.Fq.Gz", ("TSV",), "X.Fq.Gz: a name of FASTQ, but the output is TSV; give .tsv"),
        ("x.bcf", ("PAF",), "x.bcf: a name of BCF, but the output is PAF; give .paf"),
        (
            "x.bcf",
            ("VCF",),
            "x.bcf: BCF cannot be written; write .vcf.gz and run: bcftools view -Ob",
        ),
        ("x.cram.GZ", ("SAM", "CRAM"), "x.cram.GZ: CRAM is not written as .GZ; drop .GZ"),
        ("x.gz", ("HTML",), "x.gz: HTML is not written as .gz; drop .gz"),
    ],
)
def test_refused(path: str, formats: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as error:
        check_name(path, formats)
    assert str(error.value) == message


ALL = {"x.paf", "x.sam", "x.bam", "x.cram", "x.paf.gz", "x.sam.gz"}


@pytest.mark.parametrize(
    ("command", "values", "accepted"),
    [
        ("chain", {}, ALL),
        ("chain", {"cigar": True}, ALL),
        ("chain", {"paf": True}, {"x.paf", "x.paf.gz"}),
        ("chain", {"sam": True}, {"x.sam", "x.bam", "x.cram", "x.sam.gz"}),
        ("chain", {"sam": True, "output_fmt": "bam"}, {"x.bam"}),
        ("chain", {"gap_open_or_format": ["4,24", "sam"]}, {"x.sam", "x.sam.gz"}),
        ("chain", {"uncompressed": True}, {"x.bam"}),
        ("chain", {"anchors": "a.npz"}, {"x.npz"}),
        ("map", {}, {"x.sam", "x.bam", "x.cram", "x.sam.gz"}),
        ("map", {"output_fmt": "sam"}, {"x.sam", "x.sam.gz"}),
        ("realign", {"output_fmt": "cram"}, {"x.cram"}),
        ("realign", {"uncompressed": True}, {"x.bam"}),
        ("realign", {}, {"x.sam", "x.bam", "x.cram", "x.sam.gz"}),
        ("genotype", {}, {"x.vcf"}),
        ("call", {"gvcf": True}, {"x.vcf"}),
        ("index", {"minimizers": True}, {"x.hgm"}),
        ("index", {}, {"x.hgx"}),
        ("report", {}, {"x.html"}),
        ("haplotypes", {}, {"x.fa"}),
        ("pairhmm", {}, {"x.tsv"}),
    ],
)
def test_by_options(command: str, values: dict[str, Any], accepted: set[str]) -> None:
    """An option that names the format and the name agree."""
    (written,) = (w for w in command_module(command).FILES.writes if w.parameter == "output")
    names = {*ALL, "x.vcf", "x.fa", "x.tsv", "x.npz", "x.hgx", "x.hgm", "x.html"}

    def is_accepted(name: str) -> bool:
        try:
            written.check_name({**values, "output": name})
        except UsageError:
            return False
        return True

    assert {name for name in names if is_accepted(name)} == accepted
