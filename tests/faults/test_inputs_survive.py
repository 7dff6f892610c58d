"""No output replaces an input or another output, under whatever name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.checks import contents, refused
from tests.faults.commands import COMMANDS, Command, cells, each, files, roles, streamed
from tests.faults.running import run

OUTPUTS = ["-o", "--json"]
STANDARD_INPUTS = ["/dev/stdin", "/proc/self/fd/0"]
WITH_INDEX = [command for command in COMMANDS if command.beside]
TO_STDOUT = [command for command in COMMANDS if command.to_stdout]


def spelled(file: Path) -> str:
    return f"./../{file.parent.name}/./{file.name}"


def symlink(file: Path) -> str:
    (file.parent / "link").symlink_to(file.name)
    return "link"


def hardlink(file: Path) -> str:
    (file.parent / "hard").hardlink_to(file)
    return "hard"


def linked_folder(file: Path) -> str:
    (file.parent / "folder").symlink_to(".")
    return f"folder/{file.name}"


def direct(file: Path) -> str:
    return file.name


ALIASES: dict[str, Callable[[Path], str]] = {
    function.__name__: function for function in (direct, spelled, symlink, hardlink, linked_folder)
}
"""Ways to make and write another name of a file."""


def with_outputs(command: Command, option: str, path: str, **replaced: str) -> list[str]:
    """Return a command line with a path for one of its outputs."""
    words = command.words(**replaced)
    return [*words, option, path] if option == "-o" else [*words, "-o", "out", option, path]


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("alias", ALIASES)
@pytest.mark.parametrize(("command", "file"), cells(files()))
def test_an_input(folder: Path, command: Command, file: str, alias: str, option: str) -> None:
    path = ALIASES[alias](folder / file)
    before = contents(folder)
    done = run(with_outputs(command, option, path), folder)
    assert contents(folder) == before
    refused(done, command, 2, file, path)


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("alias", ["symlink", "hardlink"])
@pytest.mark.parametrize(("command", "role"), cells(roles()))
def test_an_input_given_by_a_link(
    folder: Path, command: Command, role: str, alias: str, option: str
) -> None:
    given = command.inputs[role]
    link = ALIASES[alias](folder / given.name)
    for ending in given.beside:
        (folder / f"{link}{ending}").symlink_to(f"{given.name}{ending}")
    before = contents(folder)
    done = run(with_outputs(command, option, given.name, **{role: link}), folder)
    assert contents(folder) == before
    refused(done, command, 2, given.name, link)


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("path", STANDARD_INPUTS)
@pytest.mark.parametrize(("command", "file"), cells(files()))
def test_an_input_that_is_standard_input(
    folder: Path, command: Command, file: str, path: str, option: str
) -> None:
    before = contents(folder)
    done = run(with_outputs(command, option, path), folder, stdin=folder / file)
    assert contents(folder) == before
    refused(done, command, 2, file, path)


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("given", ["-", *STANDARD_INPUTS])
@pytest.mark.parametrize(("command", "role"), cells(streamed()))
def test_an_input_read_from_standard_input(
    folder: Path, command: Command, role: str, given: str, option: str
) -> None:
    name = command.inputs[role].name
    before = contents(folder)
    done = run(with_outputs(command, option, name, **{role: given}), folder, folder / name)
    assert contents(folder) == before
    refused(done, command, 2, name)


@pytest.mark.parametrize("mode", ["ab", "r+b"])
@pytest.mark.parametrize(
    ("command", "file"), cells((c, file) for c, file in files() if c.to_stdout)
)
def test_an_input_that_is_standard_output(
    folder: Path, command: Command, file: str, mode: str
) -> None:
    before = contents(folder)
    with (folder / file).open(mode) as stdout:
        done = run(command.words(), folder, stdout=stdout)
    assert contents(folder) == before
    refused(done, command, 2, file, "standard output")


@pytest.mark.parametrize("alias", ["direct", "symlink", "hardlink"])
@pytest.mark.parametrize(("command", "role"), cells((c, role) for c, role in roles() if c.beside))
def test_an_index_that_would_replace_an_input(
    folder: Path, command: Command, role: str, alias: str
) -> None:
    """`direct` is an input that bears the name of the index."""
    given = command.inputs[role]
    index = f"{command.output}{command.beside[0]}"
    if alias == "direct":
        _rename(folder, given.files, index)
        words = command.with_output(**{role: index})
    else:
        (folder / ALIASES[alias](folder / given.name)).rename(folder / index)
        words = command.with_output()
    before = contents(folder)
    done = run(words, folder)
    assert contents(folder) == before
    refused(done, command, 2, given.name, index)


@pytest.mark.parametrize(("command", "role"), cells((c, role) for c, role in roles() if c.dropped))
def test_an_older_index_that_is_an_input(folder: Path, command: Command, role: str) -> None:
    name = f"{command.output}{command.dropped[0]}"
    _rename(folder, command.inputs[role].files, name)
    before = contents(folder)
    done = run(command.with_output(**{role: name}), folder)
    assert contents(folder) == before
    refused(done, command, 2, name)


def _rename(folder: Path, files: list[str], name: str) -> None:
    """Rename a file and those beside it."""
    for file in files:
        (folder / file).rename(folder / f"{name}{file.removeprefix(files[0])}")


@pytest.mark.parametrize("alias", ["symlink", "hardlink"])
@pytest.mark.parametrize(
    ("command", "ending"),
    [
        pytest.param(command, ending, id=command.name)
        for command, ending in zip(
            [c for c in COMMANDS if c.subcommand == "index"], [".hgx", ".k15w10.hgm"], strict=True
        )
    ],
)
def test_an_index_beside_the_reference_that_is_a_link_to_it(
    folder: Path, command: Command, ending: str, alias: str
) -> None:
    index = folder / f"reference.fa{ending}"
    (folder / ALIASES[alias](folder / "reference.fa")).rename(index)
    before = contents(folder)
    done = run(command.words(), folder)
    assert contents(folder) == before
    refused(done, command, 2, "reference.fa")


@pytest.mark.parametrize("alias", ALIASES)
@pytest.mark.parametrize("is_there", [False, True], ids=["new", "older"])
@pytest.mark.parametrize("command", each())
def test_the_other_output(folder: Path, command: Command, alias: str, is_there: bool) -> None:
    out = folder / command.output
    if alias == "hardlink" or is_there:
        out.write_text("older")
    path = ALIASES[alias](out)
    before = contents(folder)
    done = run([*command.with_output(), "--json", path], folder)
    assert contents(folder) == before
    refused(done, command, 2, path, out.name)


@pytest.mark.parametrize("command", each(WITH_INDEX))
def test_the_index_of_the_other_output(folder: Path, command: Command) -> None:
    path = f"{command.output}{command.beside[0]}"
    before = contents(folder)
    done = run([*command.with_output(), "--json", path], folder)
    assert contents(folder) == before
    refused(done, command, 2, path)


@pytest.mark.parametrize("alias", ["direct", "symlink", "/dev/stdout"])
@pytest.mark.parametrize("command", each(TO_STDOUT))
def test_statistics_in_standard_output(folder: Path, command: Command, alias: str) -> None:
    with (folder / "both").open("wb") as stdout:
        path = ALIASES[alias](folder / "both") if alias in ALIASES else alias
        done = run([*command.words(), "--json", path], folder, stdout=stdout)
    refused(done, command, 2, path, "both", "standard output")
    assert not (folder / "both").read_bytes()
