"""Outputs that cannot be written: no partial file remains, and an older file stays."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from tests.faults.commands import COMMANDS, Command
from tests.faults.made.damage import flipped_at
from tests.faults.table.messages import NO_DIRECTORY, NOT_WRITTEN
from tests.faults.table.row import Attempt, Cell, Fault, row

_OPTIONS = ("-o", "--json")
_FEW_BYTES = 200  # less than any output, more than the message
_OLDER = b"an older file"


def _cells(keeps: Callable[[Command], bool] = lambda _: True) -> list[Cell]:
    return [(command, "") for command in COMMANDS if keeps(command)]


def _without_directory(option: str) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        attempt.about = f"absent/{attempt.output}"
        attempt.write_to(option, attempt.about)

    return make


def _directory_instead(option: str) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        attempt.about = f"folder/{attempt.output}"
        attempt.path.mkdir(parents=True)
        attempt.write_to(option, attempt.about)

    return make


def _full(option: str) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        attempt.about = "/dev/full"
        attempt.write_to(option, attempt.about)
        attempt.options.append("-q")  # the run has nearly ended, and has printed warnings

    return make


def _older(attempt: Attempt, option: str) -> None:
    """Write an older file at the path of the output."""
    attempt.about = attempt.output if option == "-o" else attempt.statistics
    attempt.path.write_bytes(_OLDER)


def _older_output(attempt: Attempt) -> None:
    _older(attempt, "-o")


def _read_only(option: str) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        _older(attempt, option)
        attempt.directory.chmod(0o555)

    return make


def _directory_for_index(attempt: Attempt) -> None:
    _older(attempt, "-o")
    (attempt.directory / f"{attempt.output}{attempt.command.beside[0]}").mkdir()


def _damaged_last_input(option: str) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        _older(attempt, option)
        attempt.about = [*attempt.command.inputs][-1]
        attempt.path.write_bytes(bytes(range(256)))

    return make


def _damaged_and_no_directory(attempt: Attempt) -> None:
    """Damage an input, too, after its first bytes: a run that checks outputs first is not there."""
    flipped_at(0.6)(attempt.path)
    attempt.output = f"absent/{attempt.output}"


_SAM = "the output is SAM, BAM or CRAM; give .sam, .bam or .cram"
_OTHER_NAMES: Final = (
    ("out.vcf", "VCF", "realign* map* chain_sam call_bam_out", _SAM),
    ("OUT.PAF.GZ", "PAF", "realign map chain_sam", _SAM),
    ("out.vcf.bgz", "VCF", "chain", "the output is PAF, SAM, BAM or CRAM; give .paf, ..."),
    ("out.bam", "BAM", "genotype* call call_bgzip", "the output is VCF; give .vcf"),
    ("out.bam", "BAM", "haplotypes", "the output is FASTA; give .fa"),
    ("out.sam", "SAM", "pairhmm* alleles_table", "the output is TSV; give .tsv"),
    ("out.hgm", "hgm", "index", "the output is hgx; give .hgx"),
    ("out.hgx", "hgx", "index_minimizers", "the output is hgm; give .hgm"),
    ("out.paf", "PAF", "chain_anchors", "the output is npz; give .npz"),
)
"""Names, the format of each, commands, and the end of their message."""
_CONTRADICTED: Final = (
    ("chain", "-ax map-ont", "out.paf", f"a name of PAF, but {_SAM}"),
    ("chain", "--paf", "out.bam", "a name of BAM, but the output is PAF; give .paf"),
    ("chain", "-O bam", "out.paf", "a name of PAF, but the output is BAM; give .bam"),
    ("chain", "--output-fmt cram", "out.sam", "a name of SAM, but the output is CRAM; give .cram"),
    ("map realign", "-O sam", "out.bam", "a name of BAM, but the output is SAM; give .sam"),
    ("map realign", "-u", "out.sam", "a name of SAM, but the output is BAM; give .bam"),
    ("chain", "--uncompressed", "out.paf", "a name of PAF, but the output is BAM; give .bam"),
)
"""Commands, options that decide on the format, names of another one, and the end of the message."""


def _is_root() -> bool:
    return os.geteuid() == 0


ROWS: Final = [
    *(
        Fault(
            f"no_directory {o}",
            _cells(),
            4,
            f"{{about}} ... {NO_DIRECTORY}",
            _without_directory(o),
            changes=False,
            is_first=True,
        )
        for o in _OPTIONS
    ),
    *(
        Fault(f"is_a_directory {o}", _cells(), 4, "{about}", _directory_instead(o))
        for o in _OPTIONS
    ),
    Fault(
        "no_directory, damaged input",
        [
            (c, role)
            for c in COMMANDS
            for role in [*c.inputs][:1]
            if not c.inputs[role].name.endswith((".gz", ".in"))  # all of it is first bytes
        ],
        4,
        NO_DIRECTORY,
        _damaged_and_no_directory,
    ),
    Fault("disk_full -o", _cells(lambda c: not c.beside), 4, NOT_WRITTEN, _full("-o")),
    Fault("disk_full --json", _cells(), 4, NOT_WRITTEN, _full("--json"), leaves_output=True),
    *(
        Fault(f"read_only {o}", _cells(), 4, "{about}", _read_only(o), skip_if=_is_root)
        for o in _OPTIONS
    ),
    Fault(
        "file_size_limit",
        _cells(),
        4,
        "{about}",
        _older_output,
        limits={"RLIMIT_FSIZE": _FEW_BYTES},
    ),
    Fault(
        "index_not_writable", _cells(lambda c: bool(c.beside)), 4, "{about}", _directory_for_index
    ),
    *(Fault(f"older_file {o}", _cells(), 1, "{file}", _damaged_last_input(o)) for o in _OPTIONS),
    row("bcf_output", "genotype* call call_bgzip", "output=out.bcf", 2, "out.bcf: BCF cannot be"),
    *(
        row(f"name {name}", on, f"output={name}", 2, f"{name}: a name of {kind}, but {written}$")
        for name, kind, on, written in _OTHER_NAMES
    ),
    *(
        row(f"name {name}", on, f"output={name}", 2, f"{name}: {kind} is not written as .gz; drop")
        for name, kind, on in (
            ("out.bam.gz", "BAM", "realign map chain_sam call_bam_out"),
            ("out.gz", "hgx", "index"),
            ("out.npz.gz", "npz", "chain_anchors"),
        )
    ),
    row("sam of paf", "chain", "--paf output=out.sam.gz", 2, "out.sam.gz: a name of SAM"),
    *(
        row(f"{options} to {name}", on, f"{options} output={name}", 2, f"^{name}: {message}$")
        for on, options, name, message in _CONTRADICTED
    ),
    row(
        "name of statistics",
        "map chain genotype index",
        "statistics=run.tsv",
        2,
        "run.tsv: a name of TSV, but the output is JSON; give .json$",
    ),
]
