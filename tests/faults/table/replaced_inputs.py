"""Outputs that would replace an input or another output, under any name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.faults.commands import COMMANDS, files, roles, streamed
from tests.faults.table.inputs import INDEXED
from tests.faults.table.messages import IS_INPUT, IS_OUTPUT
from tests.faults.table.row import Attempt, Fault, row

_STANDARD_INPUTS = ("/dev/stdin", "/proc/self/fd/0")
_FILES, _ROLES, _STREAMED = [*files()], [*roles()], [*streamed()]
_UNINDEXED = [cell for cell in _STREAMED if cell not in INDEXED]
"""Inputs that no index is needed for: beside `/dev/stdin` there is none."""
_TO_STDOUT = [(command, "") for command in COMMANDS if command.to_stdout]
_FRESH = "reference=small.fa output= statistics=small.fa"
_INDEXES = {"index": ".hgx", "index_minimizers": ".k15w10.hgm"}


def _direct(file: Path) -> str:
    return file.name


def _spelled(file: Path) -> str:
    return f"./../{file.parent.name}/./{file.name}"


def _symlink(file: Path) -> str:
    (file.parent / "link").symlink_to(file.name)
    return "link"


def _hardlink(file: Path) -> str:
    (file.parent / "hard").hardlink_to(file)
    return "hard"


def _linked_directory(file: Path) -> str:
    (file.parent / "folder").symlink_to(".")
    return f"folder/{file.name}"


_LINKS = {"symlink": _symlink, "hardlink": _hardlink}
_ALIASES = {"direct": _direct, "spelled": _spelled, **_LINKS, "linked_directory": _linked_directory}
"""Ways to make and write another name of a file."""


def _write(attempt: Attempt, option: str, path: str) -> None:
    """Write to a path that the message has to name, and without `-o` to another file."""
    attempt.output = "out"
    attempt.write_to(option, path)


def _to_input(option: str, alias: str) -> Callable[[Attempt], None]:
    return lambda attempt: _write(attempt, option, _ALIASES[alias](attempt.path))


def _to_input_of_link(option: str, alias: str) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        given = attempt.command.inputs[attempt.about]
        link = attempt.roles[attempt.about] = _LINKS[alias](attempt.path)
        for ending in given.beside:
            (attempt.directory / f"{link}{ending}").symlink_to(f"{given.name}{ending}")
        _write(attempt, option, given.name)

    return make


def _to_stdin(option: str, path: str) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        attempt.stdin = attempt.path
        _write(attempt, option, path)

    return make


def _from_stdin(option: str, given: str) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        attempt.stdin = attempt.path
        attempt.roles[attempt.about] = given
        _write(attempt, option, attempt.file)

    return make


def _stdout_is_input(mode: str) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        attempt.stdout = attempt.path, mode
        attempt.output = attempt.statistics = ""

    return make


def _index_over_input(attempt: Attempt) -> None:
    """Name an input as the index that is written beside the output."""
    _rename_input(attempt, attempt.command.beside[0])


def _dropped_over_input(attempt: Attempt) -> None:
    """Name an input as an older index that is removed."""
    _rename_input(attempt, attempt.command.dropped[0])


def _rename_input(attempt: Attempt, ending: str) -> None:
    name = f"{attempt.output}{ending}"
    paths = attempt.command.inputs[attempt.about].files
    for path in paths:
        (attempt.directory / path).rename(
            attempt.directory / f"{name}{path.removeprefix(paths[0])}"
        )
    attempt.roles[attempt.about] = name
    attempt.about = name


def _index_linked_to_input(alias: str) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        link = attempt.directory / _LINKS[alias](attempt.path)
        link.rename(attempt.directory / f"{attempt.output}{attempt.command.beside[0]}")

    return make


def _index_beside_is_link(alias: str) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        link = attempt.directory / _LINKS[alias](attempt.directory / "reference.fa")
        link.rename(attempt.directory / f"reference.fa{_INDEXES[attempt.command.name]}")
        attempt.output = ""

    return make


def _two_outputs(alias: str, exists: bool) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        out = attempt.directory / attempt.output
        if alias == "hardlink" or exists:
            out.write_text("older")
        attempt.statistics = _ALIASES[alias](out)

    return make


def _json_over_index(attempt: Attempt) -> None:
    attempt.statistics = attempt.about = f"{attempt.output}{attempt.command.beside[0]}"


def _both_to_stdout(alias: str) -> Callable[[Attempt], None]:
    def make(attempt: Attempt) -> None:
        both = attempt.directory / "both"
        both.write_bytes(b"")
        attempt.stdout = both, "r+b"
        attempt.output = ""
        attempt.statistics = _ALIASES[alias](both) if alias in _ALIASES else alias

    return make


def _index_of_another_spelling(attempt: Attempt) -> None:
    """Name the index of the reads without the ending of the reads."""
    (attempt.directory / "reads.bam.bai").rename(attempt.directory / "reads.bai")
    attempt.output = "reads.bai"


def _rows_of(option: str, output: str) -> list[Fault]:
    """Return the rows of an option whose path, `output` in messages, is an input."""
    message = f"{output}: {IS_INPUT}"
    return [
        *(
            Fault(f"{option} is input, {alias}", _FILES, 2, message, _to_input(option, alias))
            for alias in _ALIASES
        ),
        *(
            Fault(
                f"{option} is linked {alias}", _ROLES, 2, message, _to_input_of_link(option, alias)
            )
            for alias in _LINKS
        ),
        *(
            Fault(f"{option} is {path}", _FILES, 2, message, _to_stdin(option, path))
            for path in _STANDARD_INPUTS
        ),
        *(
            Fault(f"{option} is read as {given}", cells, 2, message, _from_stdin(option, given))
            for given, cells in {
                "-": _STREAMED,
                **dict.fromkeys(_STANDARD_INPUTS, _UNINDEXED),
            }.items()
        ),
    ]


ROWS: Final = [
    *_rows_of("-o", "{output}"),
    *_rows_of("--json", "{statistics}"),
    *(
        Fault(
            f"standard output is input, {mode}",
            [(command, file) for command, file in _FILES if command.to_stdout],
            2,
            f"standard output: {IS_INPUT}",
            _stdout_is_input(mode),
        )
        for mode in ("ab", "r+b")
    ),
    Fault(
        "index is input, direct",
        [(command, role) for command, role in _ROLES if command.beside],
        2,
        f"{{about}}: {IS_INPUT}",
        _index_over_input,
    ),
    *(
        Fault(
            f"index is input, {alias}",
            [(command, role) for command, role in _ROLES if command.beside],
            2,
            f"{{output}} ... {IS_INPUT} ... {{file}}",
            _index_linked_to_input(alias),
        )
        for alias in _LINKS
    ),
    Fault(
        "older index is input",
        [(command, role) for command, role in _ROLES if command.dropped],
        2,
        f"{{about}}: {IS_INPUT}",
        _dropped_over_input,
    ),
    *(
        Fault(
            f"index beside reference is input, {alias}",
            [(command, "") for command in COMMANDS if command.name in _INDEXES],
            2,
            f"reference.fa ... {IS_INPUT}",
            _index_beside_is_link(alias),
        )
        for alias in _LINKS
    ),
    Fault(
        "index of another spelling is input",
        [(command, "") for command in COMMANDS if "reads.bam.bai" in command.files],
        2,
        f"reads.bai: {IS_INPUT}",
        _index_of_another_spelling,
    ),
    *(
        Fault(
            f"--json is output, {alias}, {'older' if exists else 'new'}",
            [(command, "") for command in COMMANDS],
            2,
            f"{{statistics}}: {IS_OUTPUT}",
            _two_outputs(alias, exists),
        )
        for alias in _ALIASES
        for exists in (False, True)
    ),
    Fault(
        "--json is index",
        [(command, "") for command in COMMANDS if command.beside],
        2,
        f"{{about}} ... {IS_OUTPUT}",
        _json_over_index,
    ),
    *(
        row("--json is index beside reference", name, f"{_FRESH}{words}", 2, IS_OUTPUT)
        for name, words in (
            ("index", ".hgx"),
            ("index_minimizers", ".k15w10.hgm"),
            ("index_minimizers", ".k19w19.hgm -x map-hifi"),
        )
    ),
    *(
        Fault(
            f"--json is standard output, {alias}",
            _TO_STDOUT,
            2,
            f"{{statistics}}: {IS_OUTPUT}",
            _both_to_stdout(alias),
        )
        for alias in ("direct", "symlink", "/dev/stdout")
    ),
]
