"""What `hapgpu chain` says when it cannot do what it was asked to."""

from __future__ import annotations

import gzip
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pysam
import pytest

from tests.cli.chain_command import COMMAND, make_sample, status_of
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
    _damage_index(folder)
    compressed = gzip.compress(GOOD.encode())
    (folder / "cut.fq.gz").write_bytes(compressed[: len(compressed) // 2])
    with pysam.BGZFile(str(folder / "cut.fq.bgz"), "wb") as out:
        out.write(GOOD.encode())
    blocks = (folder / "cut.fq.bgz").read_bytes()
    (folder / "cut.fq.bgz").write_bytes(blocks[:-28])
    with pysam.AlignmentFile(str(folder / "reads.bam"), "wb", header={"HD": {"VN": "1.6"}}):
        pass
    last = READ.format(50)
    for name, text in {
        "good.fq": GOOD,
        "empty.fq": "",
        "text.fq": "this is no sequence file\n",
        "long_quality.fq": GOOD + last.replace("II\n", "III\n"),
        "cut_in_bases.fq": GOOD + "@r50\nACGT",
        "digit.fq": GOOD + last.replace("GTT", "G7T"),
        "empty.fa": "",
        "text.fa": "ACGT\n",
        "twice.fa": ">one\nACGTACGTACGT\n>one\nACGTTTGACAAC\n",
    }.items():
        (folder / name).write_text(text)
    return folder


def _damage_index(folder: Path) -> None:
    index = bytearray((folder / "reference.fa.k15w10.hgm").read_bytes())
    (folder / "cut.hgm").write_bytes(index[: len(index) // 2])
    index[len(index) // 2] ^= 0xFF
    (folder / "damaged.hgm").write_bytes(index)


INDEX_COMMAND = "hapgpu index --minimizers"
CASES = {
    "missing reads": ("reference.fa good.fq absent.fq", 1, ["absent.fq: no such file"]),
    "missing reference": ("absent.fa good.fq", 1, ["absent.fa: no such file"]),
    "empty reference": ("empty.fa good.fq", 1, ["empty.fa", "no FASTA record"]),
    "reference that is none": ("text.fa good.fq", 1, ["text.fa", "not FASTA"]),
    "reads as reference": ("good.fq good.fq", 1, ["good.fq", "not FASTA"]),
    "folder as reference": (". good.fq", 1, [".: cannot be read"]),
    "name twice": ("twice.fa good.fq", 1, ["twice.fa", "'one'"]),
    "not reads": ("reference.fa text.fq", 1, ["text.fq", "unknown kind"]),
    "no reads": ("reference.fa good.fq empty.fq", 1, ["empty.fq is empty"]),
    "folder as reads": ("reference.fa .", 1, [".: cannot be read"]),
    "BAM": ("reference.fa reads.bam", 1, ["reads.bam looks like BAM", "samtools fastq"]),
    "index as reads": ("reference.fa cut.hgm", 1, ["cut.hgm", "FASTQ or FASTA expected"]),
    "cut gzip": ("reference.fa cut.fq.gz", 1, ["cut.fq.gz", "cut short"]),
    "cut bgzip": ("reference.fa cut.fq.bgz", 1, ["cut.fq.bgz", "truncated"]),
    "long quality": ("reference.fa good.fq long_quality.fq", 1, ["long_quality.fq", "record 51"]),
    "cut in bases": ("reference.fa good.fq cut_in_bases.fq", 1, ["cut_in_bases.fq", "record 51"]),
    "digit": ("reference.fa good.fq digit.fq", 1, ["digit.fq", "record 51"]),
    "stale index": ("stale.fa good.fq", 1, ["stale.fa.k15w10.hgm", f"{INDEX_COMMAND} stale.fa"]),
    "foreign index": ("foreign.fa good.fq", 1, ["foreign.fa", f"{INDEX_COMMAND} foreign.fa"]),
    "cut index": ("cut.hgm good.fq", 1, ["cut.hgm: cut short or damaged", INDEX_COMMAND]),
    "damaged index": ("damaged.hgm good.fq", 1, ["damaged.hgm: damaged", INDEX_COMMAND]),
    "nothing": ("", 2, ["a reference and reads are needed"]),
    "no reads named": ("reference.fa", 2, ["a reference and reads are needed"]),
    "standard input twice": ("reference.fa - -", 2, ["standard input (-) can be read only once"]),
    "reference from a pipe": (
        "- good.fq",
        2,
        ["REFERENCE cannot be standard input (-); give a file"],
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
    "unknown device": ("reference.fa good.fq --device tpu", 2, ["tpu"]),
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
        ("-t", ["0"]),
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


@pytest.mark.parametrize(
    ("option", "place", "said"),
    [
        ("-o", "missing/out.paf", "there is no folder"),
        ("--json", "missing/run.json", "there is no folder"),
        ("-o", ".", "it is a folder"),
    ],
)
def test_output_that_cannot_be_written(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    option: str,
    place: str,
    said: str,
) -> None:
    """It is said before the reads are read."""
    files = folder / "reference.fa", folder / "text.fq"
    assert status_of(*files, "-q", "--device", "cpu", option, tmp_path / place) == 4
    error = capsys.readouterr().err
    assert error.startswith("hapgpu chain: error: cannot write ")
    assert said in error


@pytest.fixture
def inputs(folder: Path, tmp_path: Path) -> Path:
    """Copy what a run reads, for tests that might destroy it."""
    for name in ("reference.fa", "reference.fa.k15w10.hgm", "good.fq"):
        shutil.copy(folder / name, tmp_path)
    (tmp_path / "link.fq").symlink_to("good.fq")
    return tmp_path


@pytest.mark.parametrize("option", ["-o", "--json"])
@pytest.mark.parametrize(
    ("reference", "reads", "output"),
    [
        ("reference.fa", "good.fq", "reference.fa"),
        ("reference.fa", "good.fq", "reference.fa.k15w10.hgm"),
        ("reference.fa.k15w10.hgm", "good.fq", "reference.fa.k15w10.hgm"),
        ("reference.fa", "good.fq", "good.fq"),
        ("reference.fa", "good.fq", "./link.fq"),
        ("reference.fa", "link.fq", "good.fq"),
    ],
)
def test_no_input_is_replaced(
    inputs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    option: str,
    reference: str,
    reads: str,
    output: str,
) -> None:
    monkeypatch.chdir(inputs)
    before = {path: path.read_bytes() for path in inputs.iterdir()}
    assert status_of(reference, reads, option, output, "--device", "cpu") == 2
    assert capsys.readouterr().err.startswith(
        f"hapgpu chain: error: {Path(output)}: is also an input"
    )
    assert {path: path.read_bytes() for path in inputs.iterdir()} == before


def test_one_file_for_two_outputs(
    inputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(inputs)
    assert status_of("reference.fa", "good.fq", "-o", "out", "--json", inputs / "out") == 2
    assert "is also an output" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = folder / "reference.fa", folder / "reads.fq"
    assert status_of(*files, "-q", "--device", "cpu", "-o", "/dev/full") == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("hapgpu chain: error: cannot write /dev/full")


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
