"""`hapgpu HaplotypeCaller` on the example: its outputs are those of `call`."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pysam
import pytest

from hapgpu.cli.catalogue import description_of
from hapgpu.cli.completion import bash_script
from hapgpu.cli.gatk.page import described_tool, page
from hapgpu.cli.run import words_of_command
from hapgpu.version import __version__
from tests.cli.call.command import Inputs, called, make_inputs, records_in, text_of
from tests.cli.in_process import status_of_command

PROGRAM: Final = [sys.executable, "-c", "from hapgpu.cli.app import main; main()"]
CPU: Final = ("--device", "cpu", "--native-pair-hmm-threads", "2")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    inputs = make_inputs(tmp_path_factory.mktemp("example"))
    directory = inputs.reads.parent
    (directory / "part.bed").write_text("chr20\t5000\t11000\n")
    header = "\n".join(f"@SQ\tSN:{n}\tLN:{m}" for n, m in contigs_of(inputs.reference))
    lines = f"@HD\tVN:1.6\n{header}\nchr20\t5001\t11000\t+\t.\n"
    (directory / "part.interval_list").write_text(lines)
    (directory / "reads.list").write_text(f"{inputs.reads}\n")
    pysam.tabix_index(str(directory / "sites.vcf"), preset="vcf", keep_original=True)
    return inputs


def contigs_of(reference: Path) -> list[tuple[str, int]]:
    with pysam.FastaFile(str(reference)) as file:
        return list(zip(file.references, file.lengths, strict=True))


def status_of(*words: str | Path) -> int:
    return status_of_command("HaplotypeCaller", *words)


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("mode", ["NONE", "GVCF"])
def test_the_output_is_that_of_call(example: Inputs, tmp_path: Path, mode: str) -> None:
    bed, out = example.reads.with_name("part.bed"), tmp_path / "out.vcf.gz"
    files = ("-R", example.reference, "-I", example.reads, "-O", out, "-L", bed)
    assert status_of(*files, "-ERC", mode, "-bamout", tmp_path / "a.bam", *CPU, "--quiet") == 0
    own = ["--gvcf"] if mode == "GVCF" else []
    bam = tmp_path / "b.bam"
    assert text_of(out) == called(tmp_path, *example, "-L", bed, "--bam-out", bam, *own)
    assert Path(f"{out}.tbi").exists()
    assert pysam.view(str(tmp_path / "a.bam")) == pysam.view(str(bam))


def test_the_header_has_the_command_line_as_written(example: Inputs, tmp_path: Path) -> None:
    out, bed = tmp_path / "out.vcf", example.reads.with_name("part.bed")
    line = f"--java-options '-Xmx4g -Dx=y' HaplotypeCaller -R {example.reference} -O {out} "
    line += f"-I {example.reads.with_name('reads.list')} -L {bed} --tmp-dir . --device cpu"
    done = run(*shlex.split(line))
    assert done.returncode == 0, done.stderr
    notes = [text for text in done.stderr.splitlines() if "no effect" in text]
    assert notes == ["hapgpu HaplotypeCaller: no effect: --java-options --tmp-dir"]
    text = out.read_text()
    assert f"##hapgpu_callCommand=hapgpu {line}\n" in text
    assert len(records_in(text)) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "-mbq 100",
            "-mbq: must be a whole number from 0 to 93; run: hapgpu HaplotypeCaller --help",
        ),
        ("-stand-call-conf x", "-stand-call-conf 'x'"),
        ("--heterozygosity 2", "--heterozygosity '2'"),
        ("--minimum-mapping-quality x", "--minimum-mapping-quality: must be a whole number"),
        ("--max-num-haplotypes-in-population 0", "--max-num-haplotypes-in-population: must be"),
        ("--native-pair-hmm-threads 0", "--native-pair-hmm-threads: must be a whole number"),
        ("--device gpu", "device 'gpu': unknown"),
        ("--dragen-mode", "--dragen-mode: not supported (DRAGEN mode is not available); drop it"),
        (
            "--annotaton x",
            "--annotaton: no such argument; did you mean --annotation? Run: hapgpu Haplo",
        ),
    ],
)
def test_errors_have_the_names_of_gatk(
    example: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    out = tmp_path / "out.vcf"
    files = ("-R", example.reference, "-I", example.reads, "-O", out)
    assert status_of(*files, *words.split()) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"hapgpu HaplotypeCaller: error: {message}")
    assert len(captured.err.splitlines()) == 1
    assert not captured.out
    assert not out.exists()


def test_outputs_that_are_inputs_or_other_formats(
    example: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for out, status, message in [
        (example.reads, 2, "is also an input"),
        (tmp_path / "x.bcf", 2, "BCF cannot be written"),
        (tmp_path / "no" / "x.vcf", 4, "no such directory"),
    ]:
        assert status_of("-R", example.reference, "-I", example.reads, "-O", out) == status
        assert message in capsys.readouterr().err


def test_help_and_version() -> None:
    shown = run("HaplotypeCaller", "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == page(description_of("call"))
    assert run("HaplotypeCaller", "-I", "x", "-h").stdout == shown.stdout
    assert run("help", "HaplotypeCaller").stdout == shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert run("HaplotypeCaller", "--version").stdout == f"hapgpu {__version__}\n"
    assert "hapgpu HaplotypeCaller: " in run("--help").stdout


def test_other_tools_are_refused() -> None:
    done = run("Haplotypecaller", "-R", "x")
    assert done.returncode == 2
    assert "did you mean HaplotypeCaller? Run: hapgpu --help" in done.stderr
    assert run("--java-options", "-Xmx4g", "Mutect2").returncode == 2


def test_help_names_every_obeyed_argument_once() -> None:
    text = page(description_of("call"))
    for name in ("--input, -I", "--emit-ref-confidence, -ERC", "--gvcf-gq-bands, -GQB"):
        assert len(re.findall(rf"^  {name}\b", text, re.MULTILINE)) == 1
    for name in ("--dragen-mode", "--tmp-dir", "--base-quality-score-threshold 18"):
        assert len(re.findall(rf"(?<!\S){name}(?!\S)", text)) == 1


def test_shells_complete_long_names() -> None:
    script = bash_script(described_tool(description_of("call")))
    assert " --native-pair-hmm-threads " in script
    assert "--dragen-mode" not in script


def test_the_start_imports_nothing_heavy() -> None:
    command = [sys.executable, "-X", "importtime", *PROGRAM[1:], "HaplotypeCaller", "-R", "x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "hapgpu.cli.gatk.translation" in imported
    assert not {"numpy", "cupy", "numba", "pysam"} & imported
    done = subprocess.run([*command[:-3], "map", "-x"], capture_output=True, text=True, check=False)
    assert "hapgpu.cli.gatk.table" not in done.stderr


def test_regions(example: Inputs, tmp_path: Path) -> None:
    out, bed = tmp_path / "out.vcf", example.reads.with_name("part.bed")
    files = ("-R", example.reference, "-I", example.reads, "-O", out)
    assert status_of(*files, "-L", "chr20:5,001-11000", *CPU, "--quiet") == 0
    assert text_of(out) == called(tmp_path, *example, "-L", bed)


@pytest.mark.parametrize("mode", ["", "-ERC GVCF -G AS_StandardAnnotation"])
def test_the_line_of_warp(example: Inputs, tmp_path: Path, mode: str) -> None:
    bands = " ".join(f"-GQB {band}" for band in range(10, 100, 10))
    line = f"""-R {example.reference} -I {example.reads} -O {tmp_path / "out.g.vcf.gz"}
    -L {example.reads.with_name("part.interval_list")} -contamination 0 -G StandardAnnotation
    -G StandardHCAnnotation {bands} {mode} --device cpu --quiet"""
    assert status_of(*line.split()) == 0
    assert records_in(text_of(tmp_path / "out.g.vcf.gz"))


@pytest.mark.parametrize("mode", ["", "-ERC GVCF"])
def test_the_line_of_sarek(example: Inputs, tmp_path: Path, mode: str) -> None:
    directory = example.reads.parent
    line = f"""--input {directory / "reads.cram"} --output {tmp_path / "out.vcf.gz"}
    --reference {example.reference} --native-pair-hmm-threads 2
    --dbsnp {directory / "sites.vcf.gz"} --intervals {directory / "part.bed"}
    --tmp-dir {tmp_path} {mode} --pcr-indel-model CONSERVATIVE --device cpu --quiet"""
    assert status_of(*line.split()) == 0
    assert records_in(text_of(tmp_path / "out.vcf.gz"))


def test_a_first_run_knows_the_options_of_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """They decide which functions are compiled."""
    line = "hapgpu --java-options -Xmx1g HaplotypeCaller -R r -I a -O o -ERC GVCF -bamout b"
    monkeypatch.setattr(sys, "argv", line.split())
    assert {"--gvcf", "--bam-out"} <= {*words_of_command()}
    monkeypatch.setattr(sys, "argv", ["hapgpu", "call", "--gvcf"])
    assert words_of_command() == sys.argv
