"""The declarations of the files that commands read and write."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

import pysam.samtools
import pytest

from hapgpu.cli.catalogue import COMMANDS, METHODS, command_module
from hapgpu.cli.options.files import (
    ALIGNMENT_INDEXES,
    STATISTICS,
    CommandFiles,
    Read,
    Written,
    standard_output,
)
from hapgpu.cli.parameters import one_parameter_per_option
from hapgpu.errors import OutputError, UsageError

FILES = CommandFiles(
    reads=(Read("reads", (".bai", ".k*.hgm"), standard=True), Read("fasta")),
    writes=(Written("output", (".csi",), standard_output), STATISTICS),
)


COMMAND_NAMES = [(name,) for name in COMMANDS if name != "bench"]
METHOD_NAMES = [("bench", name) for name in METHODS]


@pytest.mark.parametrize("names", [*COMMAND_NAMES, *METHOD_NAMES], ids=" ".join)
def test_every_parameter_that_is_a_file_is_declared(names: tuple[str, ...]) -> None:
    module = command_module(*names)
    command = one_parameter_per_option(getattr(module, names[-1]))
    parameters = inspect.signature(command).parameters.values()
    files = {option.name for option in parameters if _is_file(option.annotation)}
    declared = {file.parameter for file in (*module.FILES.reads, *module.FILES.writes)}
    assert declared == files


def _is_file(hint: Any) -> bool:
    """Return whether a parameter is a file, by its type or its help."""
    if not hasattr(hint, "__metadata__"):
        return False
    kind = str(hint.__origin__)
    info = hint.__metadata__[0]
    is_name = "str" in kind and ("standard input" in info.help or "VCF" in info.help)
    is_file = "Path" in kind or "NamedFile" in kind or is_name
    return is_file or str(info.metavar).startswith("FILE|")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("r.bam", "r.bam.bai", "r.k15.hgm", "x.bai", "f.fa"):
        Path(name).write_text(name)
    Path("near").symlink_to("r.bam")
    os.link("r.bam", "hard")
    Path("there").symlink_to(tmp_path)
    os.mkfifo("pipe")
    return tmp_path


@pytest.mark.parametrize(
    "output",
    ["r.bam", "./r.bam", "near", "hard", "there/r.bam", "r.bam.bai", "r.k15.hgm", "f.fa", "pipe"],
)
@pytest.mark.parametrize("option", ["output", "json"])
def test_an_input_is_no_output(directory: Path, option: str, output: str) -> None:
    reads = [directory / "r.bam", Path("pipe")]
    with pytest.raises(UsageError, match=f"^{output}: is also an input"):
        FILES.check_outputs({"reads": reads, "fasta": "f.fa", option: output})


@pytest.mark.usefixtures("directory")
def test_an_input_is_not_written_beside_an_output() -> None:
    os.link("r.bam", "out.csi")
    with pytest.raises(UsageError, match=r"out\.csi: is also an input, r\.bam"):
        FILES.check_outputs({"reads": "r.bam", "output": "out"})


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize(
    ("output", "json"),
    [("o", "o"), ("o", "./o"), ("o", "there/o"), ("o", "o.csi"), ("x.bai", "there/x.bai")],
)
def test_two_outputs_are_two_files(output: str, json: str) -> None:
    with pytest.raises(UsageError, match="is also an output"):
        FILES.check_outputs({"reads": "r.bam", "output": output, "json": json})


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize(
    "values",
    [
        {"reads": "r.bam", "output": "o", "json": "j"},
        {"reads": "r.bam", "output": "x.bai"},
        {"reads": "r.bam", "output": "/dev/null", "json": "/dev/null"},
        {"reads": ["-", "r.bam"], "output": "-"},
        {"reads": "/dev/null", "output": None},
        {"reads": "absent", "output": "o"},
    ],
)
def test_other_files_are_written(values: dict[str, Any]) -> None:
    FILES.check_outputs(values)


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"reads": ["-", "-"]}, "only once"),
        ({"reads": "r.bam", "fasta": "-"}, r"^FASTA: cannot be standard input"),
    ],
)
def test_standard_input_where_it_cannot_be(values: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        FILES.check_inputs(values)


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize("output", ["nowhere/o", "there"])
def test_a_path_that_cannot_be_written(output: str) -> None:
    with pytest.raises(OutputError, match=rf"^{output}: (no such|is a) directory"):
        FILES.check_outputs({"reads": "r.bam", "output": output})


def test_a_reference_that_only_the_cram_names_is_an_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --reference, samtools uses the reference in the header (UR)."""
    monkeypatch.chdir(tmp_path)
    fasta, sam = tmp_path / "f.fa", tmp_path / "r.sam"
    fasta.write_text(f">a\n{'ACGT' * 10}\n")
    sam.write_text("@SQ\tSN:a\tLN:40\nr\t0\ta\t1\t60\t4M\t*\t0\t0\tACGT\tIIII\n")
    pysam.samtools.view("-C", "-T", str(fasta), "-o", "r.cram", str(sam), catch_stdout=False)
    reads = Read("reads", ALIGNMENT_INDEXES)
    files = CommandFiles(reads=(reads,), writes=(Written("output"), STATISTICS))
    for output in ("f.fa", "f.fa.fai"):
        with pytest.raises(UsageError, match=rf"^{output}: is also an input"):
            files.check_outputs({"reads": "r.cram", "output": output})
    files.check_outputs({"reads": "r.cram", "output": "r.sam"})
