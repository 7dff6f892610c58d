"""What `hapgpu map` says when it cannot do what it was asked to."""

from __future__ import annotations

import gzip
from pathlib import Path

import pysam
import pytest

from tests.cli.in_process import status_of_command
from tests.cli.map_command import make_sample, status_of

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
    index = (folder / "reference.fa.hgx").read_bytes()
    (folder / "cut.hgx").write_bytes(index[: len(index) // 2])
    compressed = gzip.compress(GOOD.encode())
    (folder / "cut.fq.gz").write_bytes(compressed[: len(compressed) // 2])
    with pysam.BGZFile(str(folder / "cut.fq.bgz"), "wb") as out:
        out.write(GOOD.encode())
    blocks = (folder / "cut.fq.bgz").read_bytes()
    (folder / "cut.fq.bgz").write_bytes(blocks[:-28])
    for name, text in {
        "good.fq": GOOD,
        "empty.fq": "",
        "text.fq": "this is no sequence file\n",
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
    "missing reads": ("reference.fa good.fq absent.fq", 1, ["absent.fq: no such file"]),
    "missing reference": ("absent.fa good.fq", 1, ["absent.fa", "no such file"]),
    "missing index": ("reference.fa good.fq --index absent.hgx", 1, ["absent.hgx"]),
    "not reads": ("reference.fa text.fq", 1, ["text.fq"]),
    "no reads": ("reference.fa good.fq empty.fq", 1, ["empty.fq is empty"]),
    "cut gzip": ("reference.fa cut.fq.gz", 1, ["cut.fq.gz", "cut short"]),
    "cut bgzip": ("reference.fa cut.fq.bgz", 1, ["cut.fq.bgz", "truncated"]),
    "stale index": ("stale.fa good.fq", 1, ["stale.fa.hgx", "hapgpu index stale.fa"]),
    "foreign index": (
        "reference.fa good.fq --index other.fa.hgx",
        1,
        ["other.fa.hgx", "reference.fa", "hapgpu index"],
    ),
    "cut index": ("reference.fa good.fq --index cut.hgx", 1, ["cut.hgx", "hapgpu index"]),
    "not an index": ("reference.fa good.fq --index good.fq", 1, ["good.fq", "index"]),
    "name twice": ("twice.fa good.fq", 1, ["twice.fa", "one"]),
    "not DNA": ("protein.fa good.fq", 1, ["protein.fa"]),
    "standard input twice": ("reference.fa - -", 2, ["standard input"]),
    "read group without ID": (r"reference.fa good.fq --rg @RG\tSM:a", 2, ["ID:"]),
    "not a read group": ("reference.fa good.fq --rg run1", 2, ["'run1'", "@RG"]),
    "field of a read group": (r"reference.fa good.fq --rg @RG\tID:a\tb", 2, ["'b'"]),
    "field twice": (r"reference.fa good.fq --rg @RG\tID:a\tID:b", 2, ["twice"]),
    "unknown device": ("reference.fa good.fq --device tpu", 2, ["tpu"]),
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
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    notes = ("hapgpu map: device:", "hapgpu map: building the index")
    lines = [line for line in lines if not line.startswith(notes)]
    assert len(lines) == 1
    assert lines[0].startswith("hapgpu map: error: ")
    assert all(part in lines[0] for part in said), lines[0]
    assert "unexpected" not in lines[0]
    assert not captured.out
    assert not list(tmp_path.iterdir())
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    "options",
    [["--errors", "2"], ["--errors", "-1"], ["--max-hits", "0"], ["-O", "paf"], ["-t", "0"]],
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


@pytest.mark.parametrize("place", ["missing_folder/out.sam", "."])
def test_output_that_cannot_be_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    files = folder / "reference.fa", folder / "good.fq"
    assert status_of(*files, "-q", "--device", "cpu", "-o", tmp_path / place) == 4
    assert capsys.readouterr().err.startswith("hapgpu map: error: cannot write ")
