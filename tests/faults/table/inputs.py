"""Inputs that are missing, of another kind, cut short or damaged, for all commands."""

from __future__ import annotations

import os
from collections.abc import Callable
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


def _is_root() -> bool:
    return os.geteuid() == 0


def _damaged(damage: Damage) -> Callable[[Attempt], None]:
    return lambda attempt: damage(attempt.path)


def _another_kind(attempt: Attempt) -> None:
    role, _, kind = attempt.about.partition("=")
    attempt.about = attempt.roles[role] = KINDS[kind]


def _through_stdin(damage: Damage) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        damage(attempt.path)
        attempt.stdin = attempt.path
        attempt.roles[attempt.about] = "-"

    return make


ROWS: Final = [
    Fault("missing", _ROLES, 1, "{file}", _damaged(missing)),
    Fault("directory", _ROLES, 1, "{file}", _damaged(directory_instead)),
    Fault("empty", _NOT_EMPTY, 1, "{file}", _damaged(CONTENTS["empty"])),
    Fault("unreadable", _ROLES, 1, "{file}", _damaged(CONTENTS["unreadable"]), skip_if=_is_root),
    Fault("garbage", _ROLES, 1, "{file}", _damaged(CONTENTS["garbage"])),
    Fault("another_kind", _OTHER_KINDS, 1, "{file}", _another_kind, changes=False),
    *(
        Fault(name, _DAMAGED, 1, "{file}", _damaged(damage))
        for name, damage in (CUTS | FLIPS).items()
    ),
    Fault(
        "no_end_block",
        [cell for cell in _ROLES if cell[0].inputs[cell[1]].name.endswith(_BGZIPPED)],
        1,
        "{file}",
        _damaged(without_end_block),
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
