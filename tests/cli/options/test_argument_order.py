"""Arguments in another order than declared."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from hapgpu.cli.catalogue import command_function, command_module
from hapgpu.cli.options.argument_order import in_order
from hapgpu.cli.parameters import arguments_of
from tests.cli.in_process import status_of_command

TEXTS = {
    "ref.fa": ">chr1\nACGTACGTAC\n",
    "more.fa": ">chr2\nACGTACGTAC\n",
    "reads.fq": "@r\nACGT\n+\nIIII\n",
    "a.sam": "@SQ\tSN:chr1\tLN:10\n",
    "b.sam": "@SQ\tSN:chr1\tLN:10\n",
    "sites.vcf": "##fileformat=VCFv4.2\n",
    "unknown": "?",
}


@pytest.mark.parametrize(
    ("command", "given", "expected"),
    [
        ("map", "ref.fa reads.fq", "ref.fa reads.fq"),
        ("map", "reads.fq ref.fa", "ref.fa reads.fq"),
        ("map", "reads.fq a.sam ref.fa", "ref.fa reads.fq a.sam"),
        ("map", "more.fa ref.fa", "more.fa ref.fa"),  # reads may be FASTA
        ("map", "reads.fq more.fa ref.fa", "reads.fq more.fa ref.fa"),  # which is the reference?
        ("map", "reads.fq -", "reads.fq -"),
        ("map", "reads.fq unknown", "reads.fq unknown"),
        ("map", "reads.fq missing.fa", "reads.fq missing.fa"),
        ("chain", "a.sam ref.fa", "ref.fa a.sam"),
        ("call", "a.sam b.sam ref.fa", "a.sam b.sam ref.fa"),
        ("call", "ref.fa a.sam b.sam", "a.sam b.sam ref.fa"),
        ("call", "a.sam b.sam", "a.sam b.sam"),
        ("genotype", "ref.fa sites.vcf b.sam a.sam", "b.sam a.sam ref.fa sites.vcf"),
        ("genotype", "sites.vcf a.sam ref.fa", "a.sam ref.fa sites.vcf"),
        ("haplotypes", "sites.vcf ref.fa", "ref.fa sites.vcf"),
        ("realign", "ref.fa reads.fq", "reads.fq ref.fa"),
        ("pairhmm", "ref.fa a.sam", "a.sam ref.fa"),
    ],
)
def test_order(
    command: str, given: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in TEXTS.items():
        Path(name).write_text(text)
    names = [*arguments_of(command_function(command))]
    several = [name for name in names if name == "reads" and command not in {"realign", "pairhmm"}]

    def assigned(line: str) -> dict[str, object]:
        """Return the values as Typer assigns them: one that takes several files gets the rest."""
        files = line.split()
        rest = len(files) - len(names) + 1
        options = inspect.signature(command_function(command)).parameters
        values: dict[str, object] = dict.fromkeys(options)  # none is given
        for name in names:
            if name in several:
                values[name], files = files[:rest], files[rest:]
            else:
                path = files.pop(0)
                values[name] = Path(path) if name in {"reference", "haplotypes"} else path
        return values

    found = in_order(command_module(command).FILES, assigned(given), names)
    assert found == assigned(expected)


def test_a_run_with_swapped_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference, sites = tmp_path / "ref.fa", tmp_path / "sites.vcf"
    reference.write_text(">chr1\n" + "ACGTTGCA" * 40 + "\n")
    sites.write_text(
        "##fileformat=VCFv4.2\n##contig=<ID=chr1>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
        "chr1\t161\t.\tA\tG\t.\t.\t.\n"
    )
    Path(f"{reference}.fai").write_text("chr1\t320\t6\t320\t321\n")
    assert status_of_command("haplotypes", reference, sites) == 0
    expected = capsys.readouterr().out
    assert expected.startswith(">chr1_61_1 chr1:61-261\n")
    assert status_of_command("haplotypes", sites, reference) == 0
    assert capsys.readouterr().out == expected
