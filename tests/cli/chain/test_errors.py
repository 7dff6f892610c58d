"""What `hapgpu chain` says when it cannot do what it was asked to."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from pathlib import Path

import pysam
import pytest

from tests.cli.chain.command import COMMAND, make_sample, status_of
from tests.cli.in_process import error_of_command, status_of_command

READ = "@r{0}\nACGTTTGACAAC\n+\nIIIIIIIIIIII\n"
GOOD = "".join(READ.format(number) for number in range(50))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a reference with its index, and files that something is wrong with."""
    folder = tmp_path_factory.mktemp("sample")
    make_sample(folder)
    for name in ("reference", "stale", "foreign"):
        path = folder / f"{name}.fa"
        if name != "reference":
            path.write_text(f">{name}\n{'ACGTTTGACAAC' * 9}\n")
        assert status_of_command("index", "--minimizers", path, "-q") == 0
    (folder / "stale.fa").write_text(f">stale\n{'ACGTTTGACAAT' * 9}\n")
    shutil.copy(folder / "reference.fa.k15w10.hgm", folder / "foreign.fa.k15w10.hgm")
    with pysam.BGZFile(str(folder / "cut.fq.bgz"), "wb") as out:
        out.write(GOOD.encode())
    blocks = (folder / "cut.fq.bgz").read_bytes()
    (folder / "cut.fq.bgz").write_bytes(blocks[:-28])
    with pysam.AlignmentFile(str(folder / "reads.bam"), "wb", header={"HD": {"VN": "1.6"}}):
        pass
    last = READ.format(50)
    for name, text in {
        "good.fq": GOOD,
        "long_quality.fq": GOOD + last.replace("II\n", "III\n"),
        "cut_in_bases.fq": GOOD + "@r50\nACGT",
        "digit.fq": GOOD + last.replace("GTT", "G7T"),
        "text.fa": "ACGT\n",
        "twice.fa": ">one\nACGTACGTACGT\n>one\nACGTTTGACAAC\n",
    }.items():
        (folder / name).write_text(text)
    return folder


INDEX_COMMAND = "hapgpu index --minimizers"
CASES = {
    "reference that is none": ("text.fa good.fq", 1, ["text.fa", "not FASTA"]),
    "name twice": ("twice.fa good.fq", 1, ["twice.fa", "'one'"]),
    "BAM": ("reference.fa reads.bam", 1, ["reads.bam looks like BAM", "samtools fastq"]),
    "cut bgzip": ("reference.fa cut.fq.bgz", 1, ["cut.fq.bgz", "truncated"]),
    "long quality": ("reference.fa good.fq long_quality.fq", 1, ["long_quality.fq", "record 51"]),
    "cut in bases": ("reference.fa good.fq cut_in_bases.fq", 1, ["cut_in_bases.fq", "record 51"]),
    "digit": ("reference.fa good.fq digit.fq", 1, ["digit.fq", "record 51"]),
    "stale index": ("stale.fa good.fq", 1, ["stale.fa.k15w10.hgm", f"{INDEX_COMMAND} stale.fa"]),
    "foreign index": ("foreign.fa good.fq", 1, ["foreign.fa", f"{INDEX_COMMAND} foreign.fa"]),
    "nothing": ("", 2, ["a reference and reads are needed"]),
    "no reads named": ("reference.fa", 2, ["a reference and reads are needed"]),
    "standard input twice": ("reference.fa - -", 2, ["standard input (-): can be read only once"]),
    "reference from a pipe": (
        "- good.fq",
        2,
        ["REFERENCE: cannot be standard input (-); give a file"],
    ),
    "anchors and reads": ("reference.fa good.fq --anchors a.npz", 2, ["--anchors takes neither"]),
    "anchors as PAF": ("--anchors a.npz --paf", 2, ["--anchors takes neither"]),
    **{
        f"preset {name}": (f"reference.fa good.fq -x {name}", 2, [f"-x {name}: ", "use minimap2"])
        for name in ("asm5", "splice", "sr", "ava-ont", "nonsense")
    },
    "all but secondary": ("reference.fa good.fq -P --secondary=no", 2, ["-P and --secondary=no"]),
    "all but any": ("reference.fa good.fq -P -N 0", 2, ["-N 0"]),
    "bandwidths": ("reference.fa good.fq -r 30k", 2, ["-r 30000,20000"]),
    "wide": ("reference.fa good.fq -r 1k,1m", 2, ["-r 1000,1000000", "more than 200,000"]),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_and_a_status(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    case: str,
) -> None:
    arguments, status, said = CASES[case]
    monkeypatch.chdir(folder)
    before = {path.name for path in folder.iterdir()}
    device = () if "--device" in arguments else ("--device", "cpu")
    outputs = ("-o", tmp_path / "out.paf", "--json", tmp_path / "run.json")
    assert status_of(*arguments.split(), *outputs, *device, "-t", "2") == status
    line = error_of_command("chain", capsys)
    assert all(part in line for part in said), line
    assert not list(tmp_path.iterdir())
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("-k", ["0", "29", "x"]),
        ("-w", ["0", "256"]),
        ("-f", ["-1", "nan", "x", "100,1000"]),
        ("-U", ["x", "1,", "1,2,3", "-1", "3g"]),
        ("-e", ["-1", "x"]),
        ("--q-occ-frac", ["-0.5", "1.1", "nan"]),
        ("-g", ["-5", "5kk", "5g", "1e400", ".", "", "5 k", "inf"]),
        ("-r", ["x", ",", "1,x"]),
        ("-n", ["-1", "3000m"]),
        ("-m", ["-1"]),
        ("-N", ["-1", "99999999999"]),
        ("--max-chain-skip", ["infinity", "-1"]),
        ("--max-chain-iter", ["-1"]),
        ("-M", ["-1", "2"]),
        ("-p", ["-1", "1.5", "nan"]),
        ("--secondary", ["maybe"]),
        ("--gpu-mem", ["lots"]),
    ],
)
def test_usage(
    folder: Path, capsys: pytest.CaptureFixture[str], option: str, values: list[str]
) -> None:
    for value in values:
        assert status_of(folder / "reference.fa", folder / "good.fq", option, value) == 2, value
        captured = capsys.readouterr()
        assert option in captured.err
        assert not captured.out


def test_an_interrupted_run_leaves_no_file(folder: Path, tmp_path: Path) -> None:
    """Standard input stays open: the run is still going on when it is interrupted."""
    files = folder / "reference.fa", "-", "-o", tmp_path / "out.paf"
    with subprocess.Popen(
        [*COMMAND, *files, "--device", "cpu", "-t", "2", "-q"],
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
