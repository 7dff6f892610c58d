"""Damaged and malformed inputs give the same error and status on every device."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.devices.gpu_runs import GPU, RUNS, Run, make_inputs, names_in, status_of
from tests.cli.in_process import status_of_command

pytestmark = pytest.mark.gpu

Change = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Damage:
    """A file of the inputs, and how it is damaged."""

    file: str
    name: str
    change: Change


def cut(share: float) -> tuple[str, Change]:
    return f"cut at {share}", lambda content: content[: int(share * len(content))]


def flipped(share: float) -> tuple[str, Change]:
    def flip(content: bytes) -> bytes:
        at = int(share * len(content))
        return content[:at] + bytes([content[at] ^ 16]) + content[at + 1 :]

    return f"flipped at {share}", flip


def replaced(old: bytes, new: bytes) -> tuple[str, Change]:
    def replace(content: bytes) -> bytes:
        assert old in content
        return content.replace(old, new, 1)

    return f"{new[:12]!r} for {old[:12]!r}", replace


def followed_by(more: bytes) -> tuple[str, Change]:
    return f"and {more[:20]!r}", lambda content: content + more


def inflated_and(change: tuple[str, Change]) -> tuple[str, Change]:
    """Change the decompressed text of a file."""
    return change[0], lambda content: gzip.compress(change[1](gzip.decompress(content)))


def nothing() -> tuple[str, Change]:
    return "empty", lambda _: b""


WITHOUT_END = ("without its end", lambda content: content[:-28])
BAD_RECORDS = [
    inflated_and(followed_by(record))
    for record in (
        b"@bad\nACGTACGTACGT\n+\nIIII\n",
        b"@bad\nACGTACGTACGT\nIIIIIIIIIIII\n",
        b"bad\nACGTACGTACGT\n+\nIIIIIIIIIIII\n",
        b"@bad\nACGTACGTACGT\n+\nIIIIIIII\x07III\n",
        b"@bad\nACGTACGT\x00CGT\n+\nIIIIIIIIIIII\n",
        b"@bad\nACGTACGTACGT\n+other\nIIIIIIIIIIII\n",
        b"@\nACGTACGTACGT\n+\nIIIIIIIIIIII\n",
        b"@bad\nACGTACGTACGT\n",
    )
]
BAM = [cut(0.3), cut(0.9), flipped(0.2), flipped(0.6), flipped(0.9), WITHOUT_END]
COMPRESSED = [cut(0.4), flipped(0.5), nothing()]
DAMAGES: dict[str, list[tuple[str, list[tuple[str, Change]]]]] = {
    "realign": [
        ("reads.bam", BAM),
        ("haplotypes.fa", [nothing(), followed_by(b">a chr20:9-1\nACGT\n"), followed_by(b">z\n")]),
    ],
    "on-reference": [
        ("reads.bam", BAM[1:4]),
        ("reference.fa", [nothing(), cut(0.2)]),
    ],
    "amplicons": [("amplicons.fastq.gz", COMPRESSED + BAD_RECORDS[:4])],
    "pairhmm": [("reads.bam", BAM)],
    "batches": [
        (
            "hmm.in",
            [
                cut(0.503),
                nothing(),
                replaced(b"\n6 2\n", b"\n6 3\n"),
                replaced(b"\n6 2\n", b"\n-6 2\n"),
                replaced(b" IIII", b" III"),
                replaced(b" ????", b" ??\x01?"),
            ],
        )
    ],
    "genotype": [
        ("reads.bam", BAM[1:4]),
        (
            "sites.vcf",
            [
                nothing(),
                replaced(b"5206\t.\tT", b"5206\t.\tG"),
                replaced(b"5206", b"52o6"),
                replaced(b"\t5251", b"\t251"),
                replaced(b"TCACACACACA,T", b"TCACACACACA,!"),
            ],
        ),
        ("reference.fa", [cut(0.2)]),
    ],
    "map": [("reads.fastq.gz", COMPRESSED + BAD_RECORDS), ("reference.fa", [nothing()])],
    "chain": [("long_reads.fastq.gz", COMPRESSED + BAD_RECORDS), ("reference.fa", [nothing()])],
    "anchors": [("anchors.npz", [cut(0.5), flipped(0.3), nothing()])],
}
CASES = [
    pytest.param(RUNS[run], Damage(file, *change), id=f"{run} {file} {change[0]}")
    for run, files in DAMAGES.items()
    for file, changes in files
    for change in changes
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_inputs(tmp_path_factory.mktemp("inputs") / "inputs")


def damaged(sound: Path, directory: Path, damage: Damage) -> Path:
    """Return a directory with all inputs, one of them damaged."""
    directory.mkdir()
    for path in sound.iterdir():
        if path.name == damage.file:
            (directory / path.name).write_bytes(damage.change(path.read_bytes()))
        elif not path.name.startswith(damage.file):  # its index
            (directory / path.name).symlink_to(path)
    return directory


def outcome(
    run: Run, inputs: Path, directory: Path, device: str, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    output = run.output(directory)
    status = status_of(run, inputs, output, device)
    printed = capsys.readouterr().err
    assert (status == 0) == output.exists()
    assert names_in(directory) <= {output.name}
    output.unlink(missing_ok=True)
    return status, printed


@pytest.mark.parametrize(("run", "damage"), CASES)
def test_the_same_error_on_every_device(
    run: Run,
    damage: Damage,
    sound: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    inputs, outputs = damaged(sound, tmp_path / "inputs", damage), tmp_path / "outputs"
    outputs.mkdir()
    status, printed = outcome(run, inputs, outputs, "cpu", capsys)
    assert outcome(run, inputs, outputs, GPU, capsys) == (status, printed)
    if status:
        assert status == 1
        assert len(printed.splitlines()) == 1
        assert "unexpected" not in printed


@pytest.mark.parametrize("change", [cut(0.5), flipped(0.7), nothing()], ids=lambda pair: pair[0])
@pytest.mark.parametrize(("name", "suffix"), [("map", "hgx"), ("chain", "hgm")])
def test_damaged_indexes(
    name: str,
    suffix: str,
    change: tuple[str, Change],
    sound: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    inputs = damaged(sound, tmp_path / "inputs", Damage("none", *change))
    kind = ["--minimizers"] if suffix == "hgm" else []
    assert status_of_command("index", *kind, inputs / "reference.fa", "-q") == 0
    (index,) = inputs.glob(f"*.{suffix}")
    index.write_bytes(change[1](index.read_bytes()))
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    status, printed = outcome(RUNS[name], inputs, outputs, "cpu", capsys)
    assert status == 1
    assert outcome(RUNS[name], inputs, outputs, GPU, capsys) == (status, printed)
