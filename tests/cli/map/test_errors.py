"""What `hapgpu map` says when it cannot do what it was asked to."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from pathlib import Path

import pysam
import pytest

from tests.cli.in_process import error_of_command, status_of_command
from tests.cli.map.command import COMMAND, make_sample, status_of

READ = "@r{0}\nACGTTTGACAAC\n+\nIIIIIIIIIIII\n"
GOOD = "".join(READ.format(number) for number in range(50))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a reference with its index, and files that something is wrong with."""
    folder = tmp_path_factory.mktemp("sample")
    make_sample(folder)
    for name in ("reference", "other", "stale"):
        path = folder / f"{name}.fa"
        if name != "reference":
            path.write_text(f">{name}\n{'ACGTTTGACAAC' * 9}\n")
        assert status_of_command("index", path, "-q", "--device", "cpu") == 0
    (folder / "stale.fa").write_text(f">stale\n{'ACGTTTGACAAT' * 9}\n")
    with pysam.BGZFile(str(folder / "cut.fq.bgz"), "wb") as out:
        out.write(GOOD.encode())
    blocks = (folder / "cut.fq.bgz").read_bytes()
    (folder / "cut.fq.bgz").write_bytes(blocks[:-28])
    for name, text in {
        "good.fq": GOOD,
        "third_block.fq": GOOD * 1200 + READ.format(0).replace("+", "-"),
        "no_index.fa": f">one\n{'ACGTTTGACAAC' * 9}\n",
        "twice.fa": ">one\nACGTACGTACGT\n>one\nACGTTTGACAAC\n",
        "protein.fa": ">one\nACGT*-ACGT\n",
        **_malformed(),
    }.items():
        (folder / name).write_text(text)
    return folder


def _malformed() -> dict[str, str]:
    """Make files whose record 51 is malformed."""
    last = READ.format(50)
    name, bases, plus, qualities = last.splitlines()
    return {
        "other_id.fq": GOOD + last.replace("+", "+r7"),
        "long_quality.fq": GOOD + last.replace(qualities, qualities + "I"),
        "short_quality.fq": GOOD + last.replace(qualities, qualities[1:]),
        "no_quality.fq": GOOD + last.replace(qualities, ""),
        "cut_in_name.fq": GOOD + name,
        "cut_in_bases.fq": GOOD + f"{name}\n{bases[:5]}",
        "cut_in_plus.fq": GOOD + f"{name}\n{bases}\n{plus}",
        "cut_in_qualities.fq": GOOD + f"{name}\n{bases}\n{plus}\n{qualities[:5]}",
        "null_in_bases.fq": GOOD + last.replace("GTT", "G\0T"),
        "null_in_qualities.fq": GOOD + last.replace("II", "I\0", 1),
        "space.fq": GOOD + last.replace("GTT", "G T"),
        "tab.fq": GOOD + last.replace("GTT", "G\tT"),
        "no_at.fq": GOOD + last.replace("@", "a"),
    }


CASES = {
    **{
        name.removesuffix(".fq"): (f"reference.fa good.fq {name}", 1, [name, "record 51"])
        for name in _malformed()
    },
    "cut bgzip": ("reference.fa cut.fq.bgz", 1, ["cut.fq.bgz", "truncated"]),
    "stale index": ("stale.fa good.fq", 1, ["stale.fa.hgx", "hapgpu index stale.fa"]),
    "foreign index": (
        "reference.fa good.fq --index other.fa.hgx",
        1,
        ["other.fa.hgx", "reference.fa", "hapgpu index"],
    ),
    "later block": ("reference.fa good.fq third_block.fq", 1, ["third_block.fq", "record 60001"]),
    "name twice": ("twice.fa good.fq", 1, ["twice.fa", "one"]),
    "not DNA": ("protein.fa good.fq", 1, ["protein.fa"]),
    "standard input twice": ("reference.fa - -", 2, ["standard input"]),
    "read group without ID": (r"reference.fa good.fq --rg @RG\tSM:a", 2, ["ID:"]),
    "not a read group": ("reference.fa good.fq --rg run1", 2, ["'run1'", "@RG"]),
    "field of a read group": (r"reference.fa good.fq --rg @RG\tID:a\tb", 2, ["'b'"]),
    "field twice": (r"reference.fa good.fq --rg @RG\tID:a\tID:b", 2, ["twice"]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["out.sam", "out.bam"])
def test_one_line_and_a_status(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    case: str,
    name: str,
) -> None:
    arguments, status, said = CASES[case]
    monkeypatch.chdir(folder)
    before = {path.name for path in folder.iterdir()}
    device = () if "--device" in arguments else ("--device", "cpu")
    assert status_of(*arguments.split(), "-o", tmp_path / name, *device, "-t", "2") == status
    line = error_of_command("map", capsys)
    assert all(part in line for part in said), line
    assert not list(tmp_path.iterdir())
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    "options",
    [["--errors", "2"], ["--errors", "-1"], ["--max-hits", "0"], ["-O", "paf"]],
)
def test_usage(folder: Path, capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert status_of(folder / "reference.fa", folder / "good.fq", *options) == 2
    assert options[0] in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["reference.fa"]])
def test_inputs_that_are_not_named(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    monkeypatch.chdir(folder)
    assert status_of(*arguments) == 2
    assert "Missing argument" in capsys.readouterr().err


@pytest.fixture
def inputs(folder: Path, tmp_path: Path) -> Path:
    """Copy what a run reads, for tests that might destroy it."""
    for name in ("reference.fa", "reference.fa.hgx", "good.fq"):
        shutil.copy(folder / name, tmp_path)
    (tmp_path / "link.fq").symlink_to("good.fq")
    shutil.copy(folder / "reference.fa.hgx", tmp_path / "kept.hgx")
    pysam.faidx(str(tmp_path / "reference.fa"))
    return tmp_path


@pytest.mark.parametrize(
    ("index", "command"),
    [
        ("good.fq", "hapgpu index REF.fa"),
        ("absent.hgx", "hapgpu index REF.fa -o absent.hgx"),
        ("reference.fa", "hapgpu index REF.fa"),
    ],
)
def test_the_command_that_is_advised_replaces_no_reads(
    inputs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    index: str,
    command: str,
) -> None:
    monkeypatch.chdir(inputs)
    assert status_of("reference.fa", "good.fq", "--index", index, "--device", "cpu", "-q") == 1
    assert capsys.readouterr().err.endswith(f"; run: {command}\n")


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("name", ["out.sam", "out.bam"])
def test_an_interrupted_run_leaves_no_file(
    folder: Path, tmp_path: Path, threads: str, name: str
) -> None:
    """Standard input stays open: the run is still going on when it is interrupted."""
    output = ("-o", tmp_path / name)
    resources = ("--device", "cpu", "-t", threads)
    with subprocess.Popen(
        [*COMMAND, folder / "reference.fa", folder / "good.fq", "-", *output, *resources, "-q"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stderr
        process.stdin.write(GOOD.encode())
        process.stdin.flush()
        while process.poll() is None and not list(tmp_path.iterdir()):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read() == b""
    assert not list(tmp_path.iterdir())
