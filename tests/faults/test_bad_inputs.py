"""Inputs that are not there, of another kind, cut short or damaged: one line and status 1."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hapgpu.io.bgzf.reader import EOF_BLOCK
from tests.faults.checks import contents, plain, refused
from tests.faults.commands import COMMANDS, KINDS, Command, cells, roles, streamed
from tests.faults.running import Done, run

IS_ROOT = os.geteuid() == 0


def missing(path: Path) -> None:
    path.unlink()


def folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def unreadable(path: Path) -> None:
    path.chmod(0)


def garbage(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 8)


def cut_at(share: float) -> Callable[[Path], None]:
    def cut(path: Path) -> None:
        data = path.read_bytes()
        path.write_bytes(data[: int(share * len(data))])

    return cut


def without_last_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def without_end_block(path: Path) -> None:
    path.write_bytes(path.read_bytes().removesuffix(EOF_BLOCK))


def flipped_at(share: float) -> Callable[[Path], None]:
    def flip(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(share * len(data))] ^= 0x10
        path.write_bytes(data)

    return flip


FAULTS = {
    "missing": missing,
    "folder": folder_instead,
    "empty": empty,
    "unreadable": unreadable,
    "garbage": garbage,
}
CUTS = {
    "cut_at_start": cut_at(0.05),
    "cut_in_middle": cut_at(0.5),
    "cut_near_end": cut_at(0.95),
    "last_byte": without_last_byte,
}
INDEX_FAULTS = {name: fault for name, fault in FAULTS.items() if name != "folder"} | CUTS
FLIPS = {f"flipped_at_{share}": flipped_at(share) for share in (0.4, 0.6, 0.8)}
CHECKSUMMED = (".bam", ".cram", ".fq.gz", ".vcf.gz", ".bcf", ".in", ".npz", ".hgx", ".hgm")
BGZIPPED = (".bam", ".vcf.gz", ".bcf")


def not_root(fault: str) -> None:
    if fault == "unreadable" and IS_ROOT:
        pytest.skip("root reads every file")


def checksummed() -> Iterator[tuple[Command, str]]:
    """Yield commands and their inputs whose format tells that something is wrong."""
    for command, role in roles():
        if command.inputs[role].name.endswith(CHECKSUMMED):
            yield command, role


def partly_read() -> Iterator[tuple[Command, str]]:
    """Yield commands and their files of which a run may need a part, or nothing."""
    for command in COMMANDS:
        for file in command.files:
            if file.endswith(".fa.gz") or file not in {i.name for i in command.inputs.values()}:
                yield command, file


def run_to_output(command: Command, folder: Path, **replaced: str) -> Done:
    return run([*command.with_output(**replaced), "--json", "run.json"], folder)


def fails(folder: Path, command: Command, file: str, **replaced: str) -> None:
    """Run; make sure that the file is named, and nothing written."""
    before = contents(folder)
    done = run_to_output(command, folder, **replaced)
    refused(done, command, 1, file)
    assert contents(folder) == before


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("command", "role"), cells(roles()))
def test_no_such_input(folder: Path, command: Command, role: str, fault: str) -> None:
    if (role, fault) == ("targets", "empty"):
        pytest.skip("no regions are no fault")
    not_root(fault)
    file = command.inputs[role].name
    FAULTS[fault](folder / file)
    fails(folder, command, file)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("command", "role"), cells(roles()))
def test_another_kind(folder: Path, command: Command, role: str, kind: str) -> None:
    if kind in command.inputs[role].kinds:
        pytest.skip("this kind may stand here")
    fails(folder, command, KINDS[kind], **{role: KINDS[kind]})


@pytest.mark.parametrize("fault", CUTS | FLIPS)
@pytest.mark.parametrize(("command", "role"), cells(checksummed()))
def test_damaged_input(folder: Path, command: Command, role: str, fault: str) -> None:
    file = command.inputs[role].name
    (CUTS | FLIPS)[fault](folder / file)
    fails(folder, command, file)


@pytest.mark.parametrize(
    ("command", "role"), cells((c, r) for c, r in roles() if c.inputs[r].name.endswith(BGZIPPED))
)
def test_no_end_block(folder: Path, command: Command, role: str) -> None:
    file = command.inputs[role].name
    without_end_block(folder / file)
    fails(folder, command, file)


@pytest.mark.parametrize("fault", ["empty", "garbage", "cut_in_middle", "last_byte"])
@pytest.mark.parametrize(("command", "role"), cells(streamed()))
def test_bad_standard_input(folder: Path, command: Command, role: str, fault: str) -> None:
    path = folder / command.inputs[role].name
    (FAULTS | CUTS)[fault](path)
    before = contents(folder)
    done = run(command.with_output(**{role: "-"}), folder, path)
    refused(done, command, 1, "standard input")
    assert contents(folder) == before


@pytest.mark.parametrize("fault", INDEX_FAULTS)
@pytest.mark.parametrize(("command", "file"), cells(partly_read()))
def test_bad_index(folder: Path, command: Command, file: str, fault: str) -> None:
    """What is damaged is named, or makes no difference."""
    not_root(fault)
    assert run_to_output(command, folder).status == 0
    out = folder / command.output
    expected = plain(out)
    INDEX_FAULTS[fault](folder / file)
    before = contents(folder)
    done = run_to_output(command, folder)
    if done.status:
        refused(done, command, 1, Path(file).stem, "reads.cram")  # `samtools index FILE` will do
        assert contents(folder) == before
    else:
        assert plain(out) == expected
