"""Inputs that are missing, of another kind, cut short or damaged, for all commands."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.faults.commands import EMPTY_READS, KINDS, Command, roles, streamed
from tests.faults.made.damage import (
    CONTENTS,
    CUTS,
    FLIPS,
    Damage,
    directory_instead,
    missing,
    without_end_block,
)
from tests.faults.table.messages import UNKNOWN_KIND
from tests.faults.table.row import Attempt, Fault

_CHECKSUMMED = (".bam", ".cram", ".fq.gz", ".vcf.gz", ".bcf", ".in", ".npz", ".hgx", ".hgm")
_BGZIPPED = (".bam", ".vcf.gz", ".bcf")
_ROLES = [*roles()]


def _is_never_empty(command: Command, role: str) -> bool:
    """Tell whether an empty file is a fault; an empty BED is none."""
    return role != "targets" and not (role == "reads" and command.name in EMPTY_READS)


_NOT_EMPTY = [cell for cell in _ROLES if _is_never_empty(*cell)]
_STREAMED = [*streamed()]
_DAMAGED = [(command, r) for command, r in _ROLES if command.inputs[r].name.endswith(_CHECKSUMMED)]
_OTHER_KINDS = [
    (command, f"{role}={kind}")
    for command, role in _ROLES
    for kind in KINDS
    if kind not in command.inputs[role].kinds
    # The reference, FASTA, is then the reads, and the index in their place the reference.
    and (command.subcommand, role, kind) not in {("map", "reads", "hgx"), ("chain", "reads", "hgm")}
]
_WHOLE_READS = ("realign_reference", "realign_write_index", "realign_cram")
"""Commands that read all records of a BAM or CRAM, with an index or without."""
INDEXED = [
    (command, role)
    for command, role in _ROLES
    if {".bai", ".fai"} & {*command.inputs[role].beside}
    and not (role == "reads" and command.name in _WHOLE_READS)
]


def _is_root() -> bool:
    return os.geteuid() == 0


def _damaged(damage: Damage) -> Callable[[Attempt], None]:
    return lambda attempt: damage(attempt.path)


def _another_kind(attempt: Attempt) -> None:
    role, _, kind = attempt.about.partition("=")
    attempt.about = attempt.roles[role] = KINDS[kind]


def _index_of(attempt: Attempt) -> Path:
    ending = attempt.command.inputs[attempt.about].beside[0]
    return attempt.directory / f"{attempt.file}{ending}"


def _without_index(attempt: Attempt) -> None:
    missing(_index_of(attempt))


def _another_index(attempt: Attempt) -> None:
    _index_of(attempt).write_bytes((attempt.directory / KINDS["vcf"]).read_bytes())


def _through_stdin(damage: Damage) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        damage(attempt.path)
        attempt.stdin = attempt.path
        attempt.roles[attempt.about] = "-"

    return make


ROWS: Final = [
    Fault("missing", _ROLES, 1, "^{file}: no such file$", _damaged(missing), is_first=True),
    Fault(
        "directory",
        _ROLES,
        1,
        "^{file}: is a directory; give a file$",
        _damaged(directory_instead),
        is_first=True,
    ),
    Fault(
        "empty",
        _NOT_EMPTY,
        1,
        "^{file}: empty; give",
        _damaged(CONTENTS["empty"]),
        is_first=True,
    ),
    Fault(
        "unreadable",
        _ROLES,
        1,
        "^{file}: cannot be read (Permission denied)$",
        _damaged(CONTENTS["unreadable"]),
        is_first=True,
        skip_if=_is_root,
    ),
    Fault(
        "garbage",
        _ROLES,
        1,
        f"^{{file}}: {UNKNOWN_KIND}",
        _damaged(CONTENTS["garbage"]),
        is_first=True,
    ),
    Fault(
        "another_kind",
        _OTHER_KINDS,
        1,
        "^{file}: looks like ...; give",
        _another_kind,
        changes=False,
        is_first=True,
    ),
    *(
        Fault(name, _DAMAGED, 1, "{file}", _damaged(damage))
        for name, damage in (CUTS | FLIPS).items()
    ),
    Fault(
        "no_end_block",
        [cell for cell in _ROLES if cell[0].inputs[cell[1]].name.endswith(_BGZIPPED)],
        1,
        "^{file}: truncated (no closing EOF block)",
        _damaged(without_end_block),
        is_first=True,
    ),
    Fault(
        "no_index",
        INDEXED,
        1,
        "^{file}: no index ...; run: samtools",
        _without_index,
        is_first=True,
    ),
    Fault(
        "index_of_another_kind",
        INDEXED,
        1,
        "^{file}. ... : looks like VCF, expected ... ; run: samtools ... {file}$",
        _another_index,
        is_first=True,
    ),
    *(
        Fault(f"stdin_{name}", _STREAMED, 1, "standard input", _through_stdin(damage))
        for name, damage in (CONTENTS | CUTS).items()
        if name in {"garbage", "cut_in_middle", "last_byte"}
    ),
    Fault(
        "stdin_empty",
        [cell for cell in _STREAMED if _is_never_empty(*cell)],
        1,
        "standard input",
        _through_stdin(CONTENTS["empty"]),
    ),
]
