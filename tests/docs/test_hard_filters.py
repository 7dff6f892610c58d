"""GATK's hard thresholds, as the pages apply them to calls: records on either side of each."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import blocks, read_page

PAGES = ("docs/commands/call.md", "docs/tutorial.md")
COMMAND = re.compile(r"bcftools filter -s hard -e '([^']+)'")
HEADER = """##fileformat=VCFv4.2
##contig=<ID=1,length=1000>
##INFO=<ID=QD,Number=1,Type=Float,Description="">
##INFO=<ID=SOR,Number=1,Type=Float,Description="">
##INFO=<ID=FS,Number=1,Type=Float,Description="">
##INFO=<ID=MQ,Number=1,Type=Float,Description="">
##INFO=<ID=MQRankSum,Number=1,Type=Float,Description="">
##INFO=<ID=ReadPosRankSum,Number=1,Type=Float,Description="">
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO
"""
SNV, INDEL = ("A", "T"), ("AC", "A")
AT_THRESHOLDS = {
    SNV: ("30", "QD=2;SOR=3;FS=60;MQ=40;MQRankSum=-12.5;ReadPosRankSum=-8"),
    INDEL: ("30", "QD=2;SOR=9;FS=200;MQ=1;MQRankSum=-99;ReadPosRankSum=-20"),
}
"""QUAL and INFO that just pass; indels have no limit on SOR, MQ and MQRankSum."""
BEYOND = {
    SNV: ("QD=1.9", "SOR=3.1", "FS=60.1", "MQ=39.9", "MQRankSum=-12.6", "ReadPosRankSum=-8.1"),
    INDEL: ("QD=1.9", "FS=200.1", "ReadPosRankSum=-20.1"),
}
WITHOUT_ANNOTATIONS = (SNV, "30", "MQ=40"), (INDEL, "30", "MQ=40")
MANY_ALLELES = {  # the indel decides; `*` does not
    (("AC", "A,TC"), "30", "QD=2;SOR=9"): "PASS",
    (("A", "T,*"), "30", "QD=2;SOR=9"): "hard",
}


def cases() -> list[tuple[tuple[str, str], str, str, str]]:
    """Return REF and ALT, QUAL, INFO and the expected FILTER."""
    found = [(*record, "PASS") for record in WITHOUT_ANNOTATIONS]
    found += [(*record, expected) for record, expected in MANY_ALLELES.items()]
    for alleles, (quality, fields) in AT_THRESHOLDS.items():
        found += [(alleles, quality, fields, "PASS"), (alleles, "29.9", fields, "hard")]
        for field in BEYOND[alleles]:
            name = field.partition("=")[0]
            beyond = re.sub(rf"\b{name}=[^;]+", field, fields)
            found.append((alleles, quality, beyond, "hard"))
    return found


def expressions() -> set[str]:
    """Return the expressions of all pages."""
    texts = [block.text for page in PAGES for block in blocks(read_page(page))]
    return {expression for text in texts for expression in COMMAND.findall(text)}


def test_pages_have_one_expression() -> None:
    assert len(expressions()) == 1
    assert all(COMMAND.search(read_page(page)) for page in PAGES)


@pytest.mark.skipif(shutil.which("bcftools") is None, reason="needs bcftools")
def test_thresholds(tmp_path: Path) -> None:
    expected = cases()
    records = tmp_path / "records.vcf"
    records.write_text(
        HEADER
        + "".join(
            f"1\t{i}\t.\t{reference}\t{alternatives}\t{quality}\t.\t{fields}\n"
            for i, ((reference, alternatives), quality, fields, _) in enumerate(expected, 1)
        )
    )
    (expression,) = expressions()
    command = ["bcftools", "filter", "-s", "hard", "-e", expression, str(records)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    found = [line.split("\t")[6] for line in run.stdout.splitlines() if line[0] != "#"]
    assert found == [filters for *_, filters in expected]
