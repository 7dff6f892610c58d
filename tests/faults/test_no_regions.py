"""A BED file without regions selects nothing, and an empty file of reads has none."""

from __future__ import annotations

import gzip
from pathlib import Path

import pysam
import pytest

from hapgpu.io.bgzf.marks import EOF_BLOCK
from tests.faults.commands import COMMANDS, EMPTY_READS, Command, each
from tests.faults.processes.running import Done, run

EMPTY = {"plain": b"", "gzip": gzip.compress(b""), "bgzip": EOF_BLOCK, "standard input": b""}
BEDS = {"empty": "", "comments": "# none\ntrack name=none\n\n", "/dev/null": None}


def run_without_regions(directory: Path, command: Command, bed: str, *options: str) -> Done:
    """Run with a BED file of no regions, which replaces another or lies beside the inputs."""
    text = BEDS[bed]
    path = "none.bed" if text is not None else bed
    if text is not None:
        (directory / path).write_text(text)
    if "targets" in command.inputs:
        return run([*command.with_output(targets=path), *options], directory)
    return run([*command.with_output(), "-L", path, *options], directory)


def records(path: Path) -> int:
    """Count the records of an output."""
    if path.suffix in {".sam", ".bam", ".cram"}:
        return int(pysam.view("-c", "-T", str(path.with_name("reference.fa")), str(path)))
    if path.suffix == ".gz":
        with pysam.BGZFile(str(path)) as lines:
            return sum(not line.startswith(b"#") for line in lines)
    lines = path.read_text().splitlines()
    return sum(not line.startswith(("#", "read\t")) for line in lines)


@pytest.mark.parametrize("bed", BEDS)
@pytest.mark.parametrize("command", each(c for c in COMMANDS if c.selects))
def test_nothing_is_selected(directory: Path, command: Command, bed: str) -> None:
    done = run_without_regions(directory, command, bed)
    assert done.status == 0, done
    assert records(directory / command.output) == 0
    path = "none.bed" if BEDS[bed] is not None else bed
    warnings = [line for line in done.err.splitlines() if path in line]
    assert len(warnings) == 1, done.err


@pytest.mark.parametrize("command", each(c for c in COMMANDS if c.selects))
def test_regions_beside_it_change_nothing(directory: Path, command: Command) -> None:
    done = run_without_regions(directory, command, "empty", "-r", "chr20:5001-5400")
    assert done.status == 0, done
    assert records(directory / command.output) == 0
    assert "none.bed: no region, nothing selected" in done.err


@pytest.mark.parametrize("command", each(c for c in COMMANDS if c.selects))
def test_a_bed_file_apart_from_the_regions(directory: Path, command: Command) -> None:
    (directory / "apart.bed").write_text("chr20\t10000\t10400\n")
    words = command.with_output(**({"targets": "apart.bed"} if "targets" in command.inputs else {}))
    given = [] if "targets" in command.inputs else ["-L", "apart.bed"]
    done = run([*words, *given, "-r", "chr20:5001-5400"], directory)
    assert done.status == 0, done
    assert records(directory / command.output) == 0
    assert done.err.count("apart.bed: no base in common with -r") == 1


@pytest.mark.parametrize("kind", EMPTY)
@pytest.mark.parametrize("command", each(c for c in COMMANDS if c.name in EMPTY_READS))
def test_no_reads(directory: Path, command: Command, kind: str) -> None:
    """The output is a header, as samtools and minimap2 write, or nothing."""
    path = directory / "none.fq"
    path.write_bytes(EMPTY[kind])
    shown = kind if kind == "standard input" else path.name
    given = "-" if kind == "standard input" else path.name
    done = run(command.with_output(reads=given), directory, path)
    assert done.status == 0, done
    output = directory / command.output
    if command.output.endswith(".paf"):
        assert not output.read_bytes()
    else:
        assert records(output) == 0
        assert "@SQ" in pysam.view("-H", str(output))
    lines = [line for line in done.err.splitlines() if "empty" in line]
    assert lines == [f"hapgpu {command.subcommand}: {shown}: empty, no reads"]


def test_an_empty_file_among_others(directory: Path) -> None:
    (directory / "none.fq").touch()
    for name, reads in (("one.sam", ["reads.fq.gz"]), ("all.sam", ["none.fq", "reads.fq.gz"])):
        words = ["map", "reference.fa", *reads, "-o", name, "--device", "cpu", "--no-PG"]
        assert run(words, directory).status == 0
    assert (directory / "all.sam").read_bytes() == (directory / "one.sam").read_bytes()
